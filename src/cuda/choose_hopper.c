/* choose_hopper.c: the tiles that a product gets on wgmma and TMA: those whose time is the least.
 *
 * Multiprocessors compute tiles in rounds, so that the time has steps; and TMA takes a time for every line of 128 bytes of
 * a tile, twice of it where lines do not begin at multiples of those. Two blocks that share the columns of their tiles
 * fetch half of B each; or A and B are copied beforehand (route.c), where they are large enough. */
#include <math.h>

#include "../numeric.h"
#include "../route.h"
#include "cuda.h"

#define WGMMA  "wgmma with tiles that TMA brings is the fastest for this type"
#define SHARED "; pairs of blocks share tiles, since lines of A and B do not begin at multiples of 128 bytes"
#define LONG   "; pairs of blocks share tiles, which saves power in a product as large as this"

/* Blocks form pairs for lines that begin anywhere; or for the power that this saves: where it limits the clocks, which takes
 * some rounds of tiles, they gain a hundredth. */
typedef enum pairs { ALONE, FOR_LINES, FOR_POWER } pairs;
enum { LONG_ROUNDS = 8 };

/* A tile of wgmma_07_fitted, and the nanoseconds that a multiprocessor of an H200 takes for 128 bytes of k of it. */
typedef struct tiling {
    int rows, cols;
    pairs shared;
    double time;
    const char *params, *reason;
} tiling;
#define TILES(rows, cols, time, params)                                                                \
    {rows,                                                                                             \
     cols,                                                                                             \
     ALONE,                                                                                            \
     time,                                                                                             \
     "BM=" #rows ",BN=" #cols "," params,                                                              \
     WGMMA ", and tiles of " #rows "×" #cols " give multiprocessors the most equal work"},             \
    {                                                                                                  \
        rows, cols, FOR_LINES, time, "BM=" #rows ",BN=" #cols ",CM=2,GROUP=8," params,                 \
            WGMMA ", and tiles of " #rows "×" #cols " give multiprocessors the most equal work" SHARED \
    }
static const tiling tilings[] = {
    TILES(128, 256, 672, "STAGES=4"),
    TILES(192, 192, 750, "STAGES=4,TURN=0,BOXES=1"),
    TILES(128, 192, 524, "STAGES=4,TURN=0"),
    TILES(128, 128, 376, "STAGES=6,TURN=0"),
    TILES(64, 128, 222, "STAGES=8,TURN=0"),
    TILES(128, 64, 222, "STAGES=8,TURN=0"),
    {128, 256, FOR_POWER, 665, "BM=128,BN=256,CM=2,GROUP=8,STAGES=4", WGMMA LONG},
};
enum { TILINGS = sizeof tilings / sizeof *tilings, LEAST_SIDE = 64, LEAST_ROWS = 128, LEAST_COLS = 64 };

/* Nanoseconds that TMA takes for a line of a tile, bytes that a copy moves in one, and what a tile and a copy take
 * whatever their size. */
static const double line_time = 1.5, copy_rate = 3600, tile_start = 1500, copy_start = 8000;

/* How lines of A or B begin: at multiples of 128 bytes, of 16, or they will be copied to such. */
typedef enum lines { LINES_WHOLE, LINES_LOOSE, LINES_COPIED } lines;

/* `along` is the distance along k, `across` that along m or n. Elements of 2 bytes may lie either way. */
static lines lines_of(int64_t along, int64_t across, int64_t size) {
    int64_t distance = along == 1 ? across : along;
    if ((along != 1 && (across != 1 || size != 2)) || distance * size % 16 != 0) return LINES_COPIED;
    return distance * size % 128 == 0 ? LINES_WHOLE : LINES_LOOSE;
}

/* Nanoseconds that the product takes with such tiles. */
static double time_of(const problem *run, const tiling *t, int sms, int loose) {
    double size = (double)numeric_size(run->in), count = (double)run->batch.count, copy = 0;
    double fetched = t->rows + (t->shared ? t->cols / 2.0 : t->cols), step = t->time;
    if (loose && !t->shared && route_copies_loose(run)) {
        copy = copy_start + 2 * size * count * (double)run->k * (double)(run->m + run->n) / copy_rate;
        loose = 0;
    }
    step = fmax(step, fetched * line_time * (loose ? 2 : 1));
    int together = t->shared ? 2 : 1;
    double tiles = cuda_tiles(run, t->rows * together, t->cols) * together;
    return copy + ceil(tiles / sms) * (tile_start + step * (double)run->k * size / 128);
}

/* Whether tiles may be shared for that reason. */
static int is_for(const tiling *t, const problem *run, int sms, int loose) {
    if (t->shared == FOR_LINES) return loose;
    return t->shared == ALONE || (!loose && cuda_tiles(run, t->rows, t->cols) >= LONG_ROUNDS * sms);
}

/* The kernel may compute the transposed product. Products of few tiles, or narrower than one, are not for it. */
choice cuda_choose_hopper(const cuda_device *self, const problem *what) {
    const choice none = {NULL, NULL, NULL};
    problem run = *what;
    int sms = self->facts->gpu.sms;
    if (self->facts->architecture != 90 || !driver.cuTensorMapEncodeTiled) return none;
    if (what->c_col != 1 && what->c_row == 1) run = route_transposed(what);
    const tiling *best = NULL;
    if (run.m < LEAST_SIDE || run.n < LEAST_SIDE || cuda_tiles(&run, LEAST_ROWS, LEAST_COLS) < 0.25 * sms)
        return none;
    int64_t size = numeric_size(run.in);
    lines a = lines_of(run.a_col, run.a_row, size), b = lines_of(run.b_row, run.b_col, size);
    int loose = a == LINES_LOOSE || b == LINES_LOOSE;
    double time = 0;
    for (int i = 0; i < TILINGS; i++) {
        double needs = time_of(&run, &tilings[i], sms, loose);
        if (!is_for(&tilings[i], &run, sms, loose) || (best && needs >= time)) continue;
        best = &tilings[i];
        time = needs;
    }
    return (choice){"wgmma_07_fitted", best->params, best->reason};
}
