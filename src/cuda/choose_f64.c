/* choose_f64.c: the tiles that an f64 product gets where tensor cores multiply it: those whose time is the least.
 *
 * Multiprocessors compute tiles in rounds, one each at a time, so that the time has steps. Large tiles take the least for a
 * multiply-add; small ones, whose depth groups of warps split among them, reach more multiprocessors; and where they are
 * few, they get shares of k. */
#include <math.h>

#include "../route.h"
#include "cuda.h"

#define KERNEL  "mma_08_f64"
#define FASTEST "tensor cores multiply f64 twice as fast as ordinary cores, by the same multiply-adds"

/* A tile, and the nanoseconds that a multiprocessor of an H200 takes for a step of k of it, and for beginning and ending it. */
typedef struct tiling {
    int rows, cols;
    double step, start;
    double loose;  /* factor of a step where lines are not aligned to 16 bytes; 1.1 is a guess */
    int kilobytes; /* of shared memory that a block needs */
    int in_rows;   /* A must lie in rows: threads do not copy whole columns of such tiles */
    const char *params;
} tiling;
static const tiling tilings[] = {
    {128, 128, 68.1, 5586, 1.21, 128, 0, NULL},
    {96, 128, 51.3, 4455, 1.04, 112, 1, "BM=96,WM=48,WN=32"},
    {128, 64, 34.5, 3446, 1.1, 96, 0, "BN=64,WM=32,WN=32"},
    {64, 64, 17.8, 3056, 1.1, 128, 0, "BM=64,BN=64,WM=32,WN=32,SPLIT=2"},
    {64, 32, 9.38, 2631, 1.1, 192, 0, "BM=64,BN=32,WM=32,WN=32,SPLIT=4"},
    {32, 32, 6.61, 1894, 1.1, 128, 0, "BM=32,BN=32,WM=16,WN=32,SPLIT=4,KSTEP=16"},
    {16, 32, 4.42, 1491, 1.1, 96, 0, "BM=16,BN=32,WM=16,WN=32,SPLIT=4,KSTEP=16"},
    {16, 16, 2.63, 1562, 1.1, 64, 0, "BM=16,BN=16,WM=16,WN=16,SPLIT=4"},
};
enum { TILINGS = sizeof tilings / sizeof *tilings };
/* Bytes of A and B that the second-level cache has for the next product too, and those of more that come in a nanosecond;
 * and how much of what takes less time is not hidden by the other. */
static const double cached = 40e6, memory_rate = 3800, apart = 0.1;

/* Those for graphics emulate them, at the rate of their ordinary cores. */
int cuda_has_tensor_f64(const cuda_device *self) {
    int architecture = self->facts->architecture;
    return architecture == 80 || architecture == 90 || architecture == 100;
}

/* A tiling and the card, and how A and B lie. */
typedef struct timed {
    const tiling *tiles;
    int sms, is_loose;
} timed;

static double time_of(const void *with, const problem *run) {
    const timed *w = with;
    const tiling *t = w->tiles;
    double rounds = ceil(cuda_tiles(run, t->rows, t->cols) / w->sms),
           bytes = 8.0 * (double)(run->m + run->n) * (double)run->k * (double)run->batch.count;
    double memory = bytes > cached ? bytes / memory_rate : 0,
           tiles = rounds * (t->start + t->step * (w->is_loose ? t->loose : 1) * (double)run->k);
    return fmax(memory, tiles) + apart * fmin(memory, tiles);
}

static int is_possible(const cuda_device *self, const route *way, const tiling *t) {
    return t->kilobytes <= self->facts->gpu.shared_per_block_most >> 10 && !(t->in_rows && way->a.by_columns);
}

/* The tiles that take the least time, with all of k or with shares of it. */
static const tiling *find_best(const cuda_device *self, const route *way, double *time, int64_t *share) {
    const tiling *best = NULL;
    int sms = self->facts->gpu.sms, is_loose = route_widest(way, NULL) == 1;
    for (int i = 0; i < TILINGS; i++) {
        const timed with = {&tilings[i], sms, is_loose};
        double needs = time_of(&with, &way->run);
        if (is_possible(self, way, with.tiles) && (!best || needs < *time)) best = with.tiles, *time = needs;
    }
    double shared = cuda_worth_sharing(*time);
    for (int i = 0; best && i < TILINGS; i++) {
        const timed with = {&tilings[i], sms, is_loose};
        double tiles = cuda_tiles(&way->run, with.tiles->rows, with.tiles->cols);
        if (!is_possible(self, way, with.tiles)) continue;
        const cuda_sharing by = {tiles, sms, 4, time_of, &with};
        int64_t part = cuda_choose_share(&way->run, &by, &shared);
        if (part > 0) best = with.tiles, *time = shared, *share = part;
    }
    return best;
}

choice cuda_choose_f64(const cuda_device *self, const problem *what, choice_cut *cut) {
    const choice none = {NULL, NULL, NULL};
    int64_t params[REGISTRY_PARAMS];
    double time = 0;
    sentence why;
    route way;
    const kernel_row *kernel = registry_find("gpu", KERNEL, &why);
    for (int i = 0; i < REGISTRY_PARAMS; i++) params[i] = REGISTRY_UNSET;
    if (!cuda_has_tensor_f64(self) || !kernel || route_of(what, kernel, params, NULL, &way, &why) != TESS_OK)
        return none;
    const tiling *best = find_best(self, &way, &time, &cut->share);
    if (!best) return none;
    choice several = cuda_choose_batched(self, &way.run, &time);
    if (several.kernel) return several;
    if (cut->share > 0) return (choice){KERNEL, best->params, FASTEST ", k is long, and C has few tiles"};
    return (choice){KERNEL, best->params,
                    best == tilings ? FASTEST
                                    : FASTEST
                        ", and tiles of this size give multiprocessors the most equal work"};
}
