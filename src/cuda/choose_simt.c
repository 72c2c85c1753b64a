/* choose_simt.c: the tiles that an f32 product gets where ordinary cores multiply it: those whose time is the least.
 *
 * Multiprocessors compute tiles in rounds, one each at a time, so that the time has steps. Large tiles take the least for
 * a multiply-add; small ones, whose depth groups of warps split among them, reach more multiprocessors. Where large tiles
 * would leave most of the last round idle, they get as many rows or columns of C as fill the rounds before it, and the
 * rest is a product of its own. Where even small tiles are few, they get shares of k. */
#include <math.h>

#include "../route.h"
#include "cuda.h"

/* A tile, and the nanoseconds that a multiprocessor of an H200 takes for a step of k of it, and for beginning and ending
 * it. (Tiles of 32×64 begin and end in 1050 where each multiprocessor has one; with that they would be taken for batches of
 * tiny products too, where 32×32 takes half the time.) Some need shared memory that not every card has, or rows that begin
 * at multiples of 16 bytes. Shallow stages are as fast where the cache holds A and B; where it does not, they have too
 * little on its way. */
typedef struct tiling {
    int rows, cols;
    double step, start;
    int kilobytes, aligned; /* 1: of A and B; 2: of C too */
    int paired; /* two run at once, and take so long together as two after each other are said to */
    const char *kernel, *params;
} tiling;
static const tiling tilings[] = {
    {128, 128, 81.2, 2800, 108, 2, 1, "simt_14_ahead", "BK=32,BLOCKS=2"},
    {128, 128, 81.4, 2800, 108, 1, 1, "simt_14_ahead", "BK=32,ROWS=2,BLOCKS=2"},
    {128, 128, 81.7, 2800, 48, 0, 1, "simt_14_ahead", NULL},
    {64, 128, 43.6, 2650, 151, 1, 0, "simt_15_split", "BM=64,SPLIT=4,BK=16,STAGES=3"},
    {64, 128, 43.9, 2650, 128, 0, 0, "simt_15_split", "BM=64,SPLIT=4"},
    {128, 64, 44.4, 2600, 159, 1, 0, "simt_15_split", "BM=128,BN=64,SPLIT=4,BK=16,STAGES=3"},
    {48, 96, 27.5, 2050, 113, 1, 0, "simt_15_split", "BM=48,BN=96,TM=12,TN=4,SPLIT=4,BK=16,ROWS=3,STAGES=3"},
    {32, 64, 12.7, 1800, 151, 1, 0, "simt_15_split", "BM=32,BN=64,TM=8,SPLIT=8,BK=16,STAGES=3"},
    {32, 64, 12.9, 1850, 78, 0, 0, "simt_15_split", "BM=32,BN=64,TM=8,SPLIT=8,STAGES=3"},
    {32, 32, 6.7, 1250, 99, 0, 1, "simt_15_split", "BM=32,BN=32,TM=8,TN=4,SPLIT=8,BK=16,STAGES=3"},
    {16, 32, 4.2, 1600, 76, 0, 0, "simt_15_split", "BM=16,BN=32,TM=4,TN=4,SPLIT=16,STAGES=3"},
    {8, 32, 3.3, 1170, 64, 0, 0, "simt_15_split", "BM=8,BN=32,TM=2,TN=4,SPLIT=8,BK=16,ROWS=1,STAGES=3"},
};
/* The first are fastest for all but small products; those up to the second number may leave a rest. */
enum { TILINGS = sizeof tilings / sizeof *tilings, LARGE = 3, CUTTING = 6 };
/* What a step takes longer with 128 columns of a B whose rows do not begin where lines of the cache do. */
static const double off_lines = 1.03;
/* What a tile of a pair takes longer that is alone; nanoseconds of a second launch behind the first; and what a cut must
 * save, for the model is not exact. */
static const double alone = 0.75, second_launch = 2000, worth_cutting = 0.995;
/* Bytes of A and B that the second-level cache has for the next product too; and those of more that come in a nanosecond, to
 * multiprocessors with one block each, and with several. */
static const double cached = 40e6, few_rate = 2350, many_rate = 3400;

/* What a step takes longer, and what beginning and ending does, where rows of A or B are not aligned. */
static const double loose_step = 1.9, loose_start = 1.4;

/* What there is to choose for: the product as the kernel sees it, and the card. */
typedef struct asked {
    problem run;
    int aligned, sms, kilobytes;
    double copies; /* nanoseconds */
} asked;

/* A tiling and its time; and where C is cut, the rows or columns that it gets, and the tiling of the rest. */
typedef struct found {
    const tiling *tiles, *rest_tiles;
    int64_t rows, cols, share;
    double time;
} found;

/* Of A and B. */
static double bytes_of(const problem *run) {
    return 4.0 * (double)(run->m + run->n) * (double)run->k * (double)run->batch.count;
}

static int is_possible(const tiling *t, const asked *ask) {
    return t->kilobytes <= ask->kilobytes && t->aligned <= ask->aligned;
}

static double time_of(const tiling *t, const problem *run, const asked *ask) {
    double rounds = ceil(cuda_tiles(run, t->rows, t->cols) / ask->sms), bytes = bytes_of(run);
    double start = t->start * (ask->aligned ? 1 : loose_start),
           step = t->step * (ask->aligned ? 1 : loose_step);
    if (t->cols >= 128 && run->b_row * 4 % 128 != 0) step *= off_lines;
    double memory = bytes > cached ? start + bytes / (rounds > 1 ? many_rate : few_rate) : 0;
    if (t->paired && fmod(rounds, 2) == 1) rounds += alone;
    return fmax(memory, rounds * (start + step * (double)run->k));
}

static found find_one(const asked *ask, const problem *run) {
    found best = {.tiles = NULL, .rows = run->m, .cols = run->n};
    for (int i = 0; i < TILINGS; i++) {
        if (!is_possible(&tilings[i], ask)) continue;
        double time = time_of(&tilings[i], run, ask);
        if (best.tiles && time >= best.time) continue;
        best.tiles = &tilings[i], best.time = time;
    }
    return best;
}

/* As many rows of tiles, or columns, as fill all rounds but the last; and the best for what is left. */
static void try_cut(const asked *ask, const tiling *t, int by_rows, found *best) {
    problem first = ask->run, rest = ask->run;
    int64_t *length = by_rows ? &first.m : &first.n, *left = by_rows ? &rest.m : &rest.n;
    double rounds = ceil(cuda_tiles(&ask->run, t->rows, t->cols) / ask->sms) - 1;
    *length = 1; /* one line of tiles */
    int64_t lines = (int64_t)(rounds * ask->sms / cuda_tiles(&first, t->rows, t->cols));
    if (lines < 1) return;
    *length = lines * (by_rows ? t->rows : t->cols);
    *left -= *length;
    if (*left < 1) return;
    found after = find_one(ask, &rest);
    double time = time_of(t, &first, ask) + second_launch + after.time;
    if (time >= best->time * (best->rest_tiles ? 1 : worth_cutting)) return;
    *best = (found){t, after.tiles, first.m, first.n, 0, time};
}

/* A tiling, and what it is asked for. */
typedef struct timed {
    const tiling *tiles;
    const asked *ask;
} timed;

static double time_of_share(const void *with, const problem *run) {
    const timed *t = with;
    return time_of(t->tiles, run, t->ask);
}

static void try_shares(const asked *ask, found *best) {
    double time = cuda_worth_sharing(best->time);
    for (int i = 0; i < TILINGS; i++) {
        const tiling *t = &tilings[i];
        const timed with = {t, ask};
        if (!is_possible(t, ask)) continue;
        double tiles = cuda_tiles(&ask->run, t->rows, t->cols);
        const cuda_sharing by = {tiles, ask->sms, 8, time_of_share, &with};
        int64_t share = cuda_choose_share(&ask->run, &by, &time);
        if (share > 0) *best = (found){t, NULL, ask->run.m, ask->run.n, share, time};
    }
}

static found find_best(const asked *ask) {
    found best = find_one(ask, &ask->run);
    for (int i = 0; i < CUTTING; i++)
        for (int by_rows = 1; by_rows >= 0; by_rows--)
            if (is_possible(&tilings[i], ask)) try_cut(ask, &tilings[i], by_rows, &best);
    try_shares(ask, &best);
    return best;
}

/* How the kernels of the table will get the matrices. */
static asked ask_for(const cuda_device *self, const problem *what, route *way) {
    int64_t params[REGISTRY_PARAMS];
    sentence why;
    const kernel_row *kernel = registry_find("gpu", tilings[0].kernel, &why);
    for (int i = 0; i < REGISTRY_PARAMS; i++) params[i] = REGISTRY_UNSET;
    asked ask = {.run = *what,
                 .sms = self->facts->gpu.sms,
                 .kilobytes = self->facts->gpu.shared_per_block_most >> 10};
    if (!kernel || route_of(what, kernel, params, NULL, way, &why) != TESS_OK) return ask;
    ask.run = way->run;
    ask.aligned = route_can_read(way, NULL, 4) ? 1 + route_can_write(way, NULL, 4) : 0;
    if (way->a.copied || way->b.copied) ask.copies = cuda_copy_time(bytes_of(&ask.run));
    return ask;
}

choice cuda_choose_simt(const cuda_device *self, const problem *what, choice_cut *cut, double *time) {
    route way = {.swapped = 0};
    asked ask = ask_for(self, what, &way);
    found best = find_best(&ask);
    const tiling *t = best.tiles;
    *time = best.time + ask.copies;
    choice several = cuda_choose_batched(self, &ask.run, time);
    if (several.kernel) return several;
    if (best.rest_tiles) {
        *cut = (choice_cut){best.rest_tiles->kernel, best.rest_tiles->params,
                            way.swapped ? best.cols : best.rows, way.swapped ? best.rows : best.cols, 0};
        return (choice){t->kernel, t->params, "tiles of this size fill whole rounds of the multiprocessors"};
    }
    cut->share = best.share;
    if (best.share > 0) return (choice){t->kernel, t->params, "k is long, and C has few tiles"};
    return (choice){t->kernel, t->params,
                    t < tilings + LARGE ? "it is the fastest kernel of those that use multiply-adds alone"
                                        : "tiles of this size give multiprocessors the most equal work"};
}
