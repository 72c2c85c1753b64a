/* choose_hopper.c: the tiles that a product gets on wgmma and TMA: those whose time is the least.
 *
 * Multiprocessors compute tiles in rounds, so that the time has steps; and TMA takes a time for every line of 128 bytes of
 * a tile, twice of it where lines do not begin at multiples of those. Two blocks that share the columns of their tiles
 * fetch half of B each, or half of A if they share rows; where rows of A begin within sectors by turns, tiles have every
 * second row of C; or A and B are copied beforehand (route.c), where they are large enough. Where tiles are few and k is
 * long, blocks that have the same tile split k; where it is longer still, tiles get shares of it. Where a tile's end takes
 * long beside its products, warpgroups have tiles of their own, and one writes while the other multiplies. */
#include <math.h>

#include "../numeric.h"
#include "../route.h"
#include "cuda.h"

#define WGMMA      "wgmma with tiles that TMA brings is the fastest for this type"
#define SHARED     "; pairs of blocks share tiles, since lines of A and B do not begin at multiples of 128 bytes"
#define APART      "; tiles have every second row of C, so that those of A begin at multiples of 32"
#define ROWS_APART "; tiles have every eighth row of C, so that rows of A that begin anywhere are not copied"
#define LONG       "; pairs of blocks share tiles, which saves power in a product as large as this"
#define DEEP       "; tiles are few, and blocks of a cluster split k"
#define ROWS       "; B lies in rows, and its columns are multiplied from registers"
#define TURNED     ", as C is computed transposed"
#define ENDS       "; one warpgroup writes its tile while the other multiplies"

/* Blocks form pairs for lines that begin anywhere, and may have every second row of C then (EVERY), so that only lines of B do;
 * or for the power that this saves: where it limits the clocks, which takes some rounds of tiles, they gain a hundredth. */
typedef enum pairs { ALONE, FOR_LINES, FOR_LACED_LINES, FOR_POWER } pairs;

/* Tiles whose rows, or columns, are no multiples of 64 are for an A, or B, that lies along k: lines across k would begin anywhere. */
typedef enum lying { ANYHOW, ALONG_A, ALONG_B } lying;

/* A tile, and the nanoseconds that a multiprocessor of an H200 takes for 128 bytes of k of it. `deep` blocks split k; 0: none
 * does. */
typedef struct tiling {
    int rows, cols;
    pairs shared;
    double time;
    const char *params, *reason;
    int deep;
    int size; /* the bytes of elements that it was measured with, and without shares of k; 0: it was with all */
    lying must_lie;
} tiling;
#define EQUAL(rows, cols) WGMMA ", and tiles of " #rows "×" #cols " give multiprocessors the most equal work"
#define TILE(rows, cols, time, params, words) \
    { rows, cols, ALONE, time, "BM=" #rows ",BN=" #cols "," params, EQUAL(rows, cols) words, 0, 0, ANYHOW }
#define PAIR(rows, cols, time, params, words)                                                                \
    {                                                                                                        \
        rows, cols, FOR_LINES, time, "BM=" #rows ",BN=" #cols "," params, EQUAL(rows, cols) words SHARED, 0, \
            0, ANYHOW                                                                                        \
    }
#define LACED(rows, cols, time, params)                                                 \
    {                                                                                   \
        rows, cols, FOR_LACED_LINES, time, "BM=" #rows ",BN=" #cols ",EVERY=2," params, \
            EQUAL(rows, cols) SHARED APART, 0, 0, ANYHOW                                \
    }
#define PAIRS(rows, cols, time, params) PAIR(rows, cols, time, params, ""), LACED(rows, cols, time, params)
#define WIDE(rows, cols, time, params) \
    { rows, cols, ALONE, time, "BM=" #rows ",BN=" #cols "," params, EQUAL(rows, cols), 0, 0, ALONG_B }
#define TILES(rows, cols, time, params) \
    TILE(rows, cols, time, params, ""), PAIRS(rows, cols, time, "CM=2,GROUP=8," params)
static const tiling fitted_tilings[] = {
    TILE(64, 64, 128, "STAGES=8,TURN=0", ""),
    TILES(128, 256, 672, "STAGES=4"),
    TILE(192, 192, 755, "STAGES=4,TURN=0,BOXES=1", ""),
    PAIRS(192, 192, 765, "CM=2,GROUP=8,STAGES=4,TURN=1,BOXES=1"),
    TILE(128, 192, 512, "STAGES=4,TURN=2", ""),
    PAIRS(128, 192, 524, "CM=2,GROUP=8,STAGES=4,TURN=0"),
    TILES(128, 128, 376, "STAGES=6,TURN=0"),
    WIDE(128, 144, 415, "STAGES=4,TURN=0"),
    WIDE(128, 160, 466, "STAGES=4,TURN=0"),
    WIDE(128, 208, 571, "STAGES=4,TURN=2"),
    WIDE(128, 224, 616, "STAGES=4,TURN=2"),
    TILE(64, 128, 222, "STAGES=8,TURN=0", ""),
    PAIRS(64, 128, 222, "CM=2,GROUP=8,STAGES=6,TURN=0"),
    TILES(128, 64, 222, "STAGES=8,TURN=0"),
    {64, 192, ALONE, 312, "BM=64,BN=192,STAGES=6,TURN=0", EQUAL(64, 192), 0, 2, ANYHOW},
    {128, 256, FOR_POWER, 665, "BM=128,BN=256,CM=2,GROUP=8,STAGES=4,PACE=8", WGMMA LONG, 0, 0, ANYHOW},
};
#define HIGH(rows, cols, shared, time, params, words)                                                        \
    {                                                                                                        \
        rows, cols, shared, time, "BM=" #rows ",BN=" #cols "," params, EQUAL(rows, cols) TURNED words, 0, 2, \
            ALONG_A                                                                                          \
    }
#define HALVES(rows, cols, time, params) \
    HIGH(rows, cols, ALONE, time, params, ""), HIGH(rows, cols, FOR_LINES, time, "CN=2," params, SHARED)
#define WIDE_HALVES(rows, cols, time) HIGH(rows, cols, ALONE, time, "STAGES=4,TURN=1", "")
static const tiling halves_tilings[] = {
    HALVES(144, 128, 418, "STAGES=5"),
    HALVES(160, 128, 438, "STAGES=5"),
    HALVES(208, 128, 568, "STAGES=4"),
    HALVES(216, 128, 588, "STAGES=4"),
    HALVES(224, 128, 600, "STAGES=4"),
    HALVES(240, 128, 640, "STAGES=4"),
    HALVES(144, 192, 588, "STAGES=4,TURN=1"),
    HALVES(176, 192, 710, "STAGES=4,TURN=1"),
    HALVES(208, 192, 825, "STAGES=4,TURN=1"),
    WIDE_HALVES(136, 256, 722),
    WIDE_HALVES(152, 256, 810),
    WIDE_HALVES(160, 256, 833),
    HIGH(176, 192, FOR_POWER, 700, "CN=2,STAGES=4", LONG),
};
/* Pairs that share B instead of A: the more columns a tile has, the more lines then come for two blocks. Tiles of 192 columns share
 * either, as fills the rounds; those of 256 share B alone. */
#define BELOW(rows, cols, time) HIGH(rows, cols, FOR_LINES, time, "CM=2,STAGES=4,TURN=1", SHARED)
static const tiling below_tilings[] = {
    BELOW(144, 192, 540), BELOW(176, 192, 665), BELOW(208, 192, 788),
    BELOW(136, 256, 715), BELOW(152, 256, 800), BELOW(160, 256, 827),
};
#define RELAY(time, group, size) \
    { 128, 128, ALONE, time, "BM=128,BN=128,STAGES=6,GROUP=" #group, WGMMA ENDS, 0, size, ANYHOW }
static const tiling relay_tilings[] = {RELAY(358, 32, 1), RELAY(356, 16, 2), RELAY(356, 16, 4)};
#define TILES_IN_ROWS(rows, cols, time, params) \
    TILE(rows, cols, time, params, ROWS), PAIR(rows, cols, time, "CN=2," params, ROWS)
static const tiling registers_tilings[] = {
    TILE(64, 64, 150, "STAGES=8,TURN=0", ROWS),
    TILES_IN_ROWS(256, 128, 672, "STAGES=4,TURN=0"),
    TILE(192, 192, 740, "STAGES=4,TURN=0,BOXES=1", ROWS),
    TILES_IN_ROWS(192, 128, 500, "STAGES=4,TURN=0"),
    TILES_IN_ROWS(128, 128, 376, "STAGES=6,TURN=0"),
    TILES_IN_ROWS(64, 128, 230, "STAGES=8,TURN=0"),
    {256, 128, FOR_POWER, 645, "BM=256,BN=128,CN=2,STAGES=4,PACE=8", WGMMA ROWS LONG, 0, 0, ANYHOW},
};
#define SPLIT(rows, cols, deep, stages) \
    "BM=" #rows ",BN=" #cols ",CK=" #deep ",STAGES=" #stages, WGMMA DEEP, deep
static const tiling split_tilings[] = {
    {64, 64, ALONE, 128, SPLIT(64, 64, 2, 8), 0, ANYHOW},
    {64, 64, ALONE, 128, SPLIT(64, 64, 4, 8), 0, ANYHOW},
    {128, 64, ALONE, 222, SPLIT(128, 64, 2, 6), 0, ANYHOW},
    {128, 128, ALONE, 400, SPLIT(128, 128, 2, 5), 2, ANYHOW},
    {128, 192, ALONE, 524, SPLIT(128, 192, 2, 4), 2, ANYHOW},
};

/* A kernel and its tiles. Two blocks share a tile of B, or one of A; for power from so many rounds on. Beyond `most_rounds`, if there
 * is such a bound, its blocks are no more in step, and fetch much from memory again. `hides_ends`: it writes a tile while it
 * multiplies the next. */
typedef struct tiled {
    const char *kernel;
    const tiling *tilings;
    int count, shares_a, long_rounds, most_rounds, hides_ends;
} tiled;
#define LENGTH(array)      ((int)(sizeof(array) / sizeof *(array)))
#define TILED(name, array) .kernel = name, .tilings = array, .count = LENGTH(array)
static const tiled fitted = {TILED("wgmma_07_fitted", fitted_tilings), .long_rounds = 8};
static const tiled split = {TILED("wgmma_09_split", split_tilings)};
static const tiled relay = {TILED("wgmma_10_relay", relay_tilings), .most_rounds = 8, .hides_ends = 1};
static const tiled halves = {TILED("wgmma_11_halves", halves_tilings), .shares_a = 1, .long_rounds = 4,
                             .most_rounds = 8};
static const tiled halves_below = {TILED("wgmma_11_halves", below_tilings), .most_rounds = 8};
static const tiled registers = {TILED("wgmma_08_registers", registers_tilings), .shares_a = 1,
                                .long_rounds = 3};

/* Nanoseconds that TMA takes for a line of a tile, and how many times that where lines begin within sectors of 32 bytes (of_shared:
 * those of an A that come for two blocks), at multiples of those and not of 128 bytes, or beyond the end of the matrix; bytes that
 * a copy moves in a nanosecond, and what a launch, pairs of blocks, blocks that split k (and each of them) and a copy take whatever
 * their size. */
static const double line_time = 1.2, of_loose = 2, of_shared = 1.6, of_laced = 1.6, of_none = 2.3,
                    copy_rate = 3600, launch_start = 1000, pair_start = 600, split_start = 700,
                    split_each = 275, copy_start = 8000;
/* What is multiplied in i8 takes less of a stage's time. In products of several rounds it is the less, the fewer of the
 * multiprocessors are at work: the power that the others leave raises the clock. */
static const double of_bytes = 0.85, of_rounds = 0.72, of_blocks = 0.26;
/* Warpgroups with tiles of their own take turns from the second round on; beyond so many bytes of A and B they are no more in step,
 * and with fewer bytes along k they were not measured. */
static const double relay_bytes = 100e6, relay_least = 1536;
/* Bytes of A and B that the second-level cache holds, and those that it and memory give in a nanosecond. */
static const double cached = 60e6, cache_rate = 10000, memory_rate = 4200;
/* So many multiprocessors belong to no cluster of four blocks or more. */
enum { LARGE_CLUSTER = 4, LEFT_OUT = 12 };
/* The rows of C of which a tile has one (EVERY). */
enum { EVERY = 2 };

/* How lines of A or B begin: at multiples of 128 bytes, of 16, or they will be copied to such. */
typedef enum lines { LINES_WHOLE, LINES_LOOSE, LINES_COPIED } lines;

/* `along` is the distance along k, `across` that along m or n. Elements of 2 bytes may lie either way. */
static lines lines_of(int64_t along, int64_t across, int64_t size) {
    int64_t distance = along == 1 ? across : along;
    if ((along != 1 && (across != 1 || size != 2)) || distance * size % 16 != 0) return LINES_COPIED;
    return distance * size % 128 == 0 ? LINES_WHOLE : LINES_LOOSE;
}

/* Two multiprocessors share one way to memory. So where fewer than all have a block, and more than half, those that are alone on
 * their way are done first, and the others have half of their bytes left, which come as fast as TMA asks for lines.
 * Nanoseconds until they have, if B comes from memory, of whose lines the share `of_b` is B's. */
static double uneven_time(const problem *run, double blocks, int sms, double of_b) {
    double size = (double)numeric_size(run->in), half = sms / 2,
           bytes = size * (double)run->k * (double)(run->m + run->n);
    if (size != 2 || run->m > run->n || run->batch.count > 1 || bytes <= cached || blocks <= half ||
        blocks > 0.9 * sms)
        return 0; /* of others nothing was measured */
    double each = bytes / blocks;
    return half * each / memory_rate + each / 2 * line_time / 128 / of_b;
}

/* Nanoseconds from the last product of a tile to the first of the next. Results of 4 bytes take longer to write; and where
 * elements have one, both are as long as most of the products. */
static double end_of(const problem *run, const tiled *by, const tiling *t) {
    double area = (double)t->rows * t->cols / (128 * 256);
    if (numeric_size(run->in) == 1 && !by->hides_ends) return 1500 + 3500 * area;
    return 500 + (numeric_size(run->out) == 4 ? 2100 * area : 0);
}

/* Nanoseconds of a stage whose products and lines take so long by themselves: the longer, and somewhat more if both do. */
static double beside_lines(double products, double fetches) {
    double longer = fmax(products, fetches), shorter = fmin(products, fetches);
    return longer * pow(1 + pow(shorter / longer, 8), 1.0 / 8);
}

/* What so many lines of A cost that do not begin at multiples of 128 bytes. `shared`: they come for two blocks, which was measured
 * with elements of 16 bits. Lines beyond the end of a matrix cost most, so that a product of one round takes as long as its last
 * rows. */
static double cost_of_a(const problem *laced, int every, int shared, double lines_of_tile, double rounds) {
    if (every == 1) return (shared ? of_shared : of_loose) * lines_of_tile;
    double there = fmod((double)laced->m, lines_of_tile),
           none = rounds == 1 && there > 0 ? lines_of_tile - there : 0;
    return of_laced * (lines_of_tile - none) + of_none * none;
}

/* What a product may wait for beside its tiles' products and lines: nothing; the way to memory that two multiprocessors share; or,
 * where it is shares of k, of which every tile fetches lines that few others need, the second-level cache or memory. */
typedef enum waits { FOR_NOTHING, FOR_ITS_WAY, FOR_THE_CACHE } waits;

/* Nanoseconds that it does, if it fetches so many lines, of which the share `of_b` is B's. */
static double wait_of(const problem *run, waits what, double blocks, int sms, double lines_fetched,
                      double of_b) {
    double bytes =
        (double)numeric_size(run->in) * (double)run->batch.count * (double)run->k * (double)(run->m + run->n);
    if (what == FOR_NOTHING) return 0;
    if (what == FOR_ITS_WAY) return uneven_time(run, blocks, sms, of_b);
    return fmax(128 * lines_fetched / cache_rate, bytes > cached ? bytes / memory_rate : 0);
}

/* Nanoseconds that the product takes with such tiles. */
static double time_of(const problem *run, const tiled *by, const tiling *t, int sms, int loose, waits what) {
    double size = (double)numeric_size(run->in), count = (double)run->batch.count, copy = 0;
    int below = t->shared && !by->shares_a ? 2 : 1, beside = t->shared && by->shares_a ? 2 : 1;
    double rows = fmin(t->rows, t->shared ? t->rows : (double)run->m),
           step = size == 1 && !t->size ? t->time * of_bytes : t->time;
    double of_a = rows / beside, of_b = (double)t->cols / below;
    problem laced = *run;
    int every = t->shared == FOR_LACED_LINES ? EVERY : 1;
    laced.m /= every, laced.batch.count *= every;
    if (loose && !t->shared && route_copies_loose(run)) {
        copy = copy_start + 2 * size * count * (double)run->k * (double)(run->m + run->n) / copy_rate;
        loose = 0;
    }
    int deep = t->deep ? t->deep : 1;
    double stages = ceil(ceil(((double)run->k * size + 16 * (every - 1)) / 128) / deep);
    double tiles = cuda_tiles(&laced, t->rows * below, t->cols * beside) * below * beside * deep;
    double at_once = deep < LARGE_CLUSTER || sms <= LEFT_OUT ? sms : sms - LEFT_OUT,
           rounds = ceil(tiles / at_once);
    if (rounds > 1 && !t->deep) step *= of_rounds + of_blocks * tiles / rounds / at_once;
    step = loose ? beside_lines(step,
                                line_time * (cost_of_a(&laced, every, beside > 1 && size == 2, of_a, rounds) +
                                             of_loose * of_b))
                 : fmax(step, line_time * (of_a + of_b));
    double start = launch_start + (t->shared ? pair_start
                                   : t->deep ? split_start + t->deep * split_each
                                             : 0),
           ends = by->hides_ends ? 1 : rounds;
    return copy + start + ends * end_of(run, by, t) +
           fmax(rounds * step * stages,
                wait_of(run, what, tiles, sms, tiles * stages * (of_a + of_b), of_b / (of_a + of_b)));
}

/* Whether warpgroups with tiles of their own were measured on such a product, and gained. */
static int has_ends_to_hide(const problem *run, const tiling *t, int sms) {
    double along = (double)numeric_size(run->in) * (double)run->k;
    return run->m >= t->rows && run->n >= t->cols && along >= relay_least &&
           cuda_tiles(run, t->rows, t->cols) > sms && along * (double)(run->m + run->n) <= relay_bytes;
}

/* Whether every second row of A begins within a sector of 32 bytes. */
static int has_lines_to_lace(const problem *run) {
    int64_t bytes = run->a_row * numeric_size(run->in);
    return run->a_col == 1 && run->batch.count == 1 && run->m % EVERY == 0 && bytes % 16 == 0 &&
           bytes % 32 != 0;
}

/* Whether tiles may be of that kind, and shared for that reason. */
static int is_for(const tiled *by, const tiling *t, const problem *run, int sms, int loose) {
    int64_t size = numeric_size(run->in);
    double tiles = cuda_tiles(run, t->rows, t->cols);
    if (t->size && t->size != size) return 0;
    if (by->most_rounds && tiles > by->most_rounds * sms) return 0;
    if (t->must_lie == ALONG_A && run->a_col != 1) return 0;
    if (t->must_lie == ALONG_B && size == 2 && (run->b_row != 1 || run->a_col == 1)) return 0;
    if (by->hides_ends && !has_ends_to_hide(run, t, sms)) return 0;
    if (t->shared == FOR_LACED_LINES && !has_lines_to_lace(run)) return 0;
    if (t->shared == FOR_LINES || t->shared == FOR_LACED_LINES) return loose;
    return t->shared == ALONE || (!loose && tiles >= by->long_rounds * sms);
}

/* The tile that takes the least time so far, with all of k or with shares of it. */
typedef struct choosing {
    const char *kernel;
    const tiling *tile;
    int64_t share;
    double time;
    double least; /* of all tiles, if memory were no matter: what shares of k were measured beside */
} choosing;

static void choose_from(choosing *best, const tiled *by, const problem *run, int sms, int loose) {
    for (int i = 0; i < by->count; i++) {
        const tiling *t = &by->tilings[i];
        if (!is_for(by, t, run, sms, loose)) continue;
        double needs = time_of(run, by, t, sms, loose, FOR_ITS_WAY),
               least = time_of(run, by, t, sms, loose, FOR_NOTHING);
        if (best->tile) least = fmin(least, best->least);
        if (!best->tile || needs < best->time) *best = (choosing){by->kernel, t, 0, needs, least};
        best->least = least;
    }
}

/* What a time depends on beside the product. */
typedef struct timed {
    const tiled *by;
    const tiling *tile;
    int sms, loose;
    waits what;
} timed;

static double time_of_share(const void *with, const problem *run) {
    const timed *t = with;
    return time_of(run, t->by, t->tile, t->sms, t->loose, t->what);
}

/* The share of k that takes less than *time: with tiles that are shared for that reason, or with a certain one. */
static void try_shares(choosing *best, double *time, timed with, const problem *run, pairs shared,
                       const tiling *certain) {
    for (int i = 0; i < with.by->count; i++) {
        const tiling *t = with.tile = &with.by->tilings[i];
        if ((t->shared != shared && t != certain) || t->size || t->must_lie != ANYHOW) continue;
        const cuda_sharing how = {cuda_tiles(run, t->rows, t->cols), with.sms,
                                  128 / (int)numeric_size(run->in), time_of_share, &with};
        int64_t share = cuda_choose_share(run, &how, time);
        if (share > 0) *best = (choosing){with.by->kernel, t, share, *time, *time};
    }
}

/* Whether k is shared, and by which blocks that share no tiles, was measured beside times that know nothing of the cache. Pairs were
 * measured since, of products in 16 bits with 128 rows and columns or more: they mostly take a tenth less. */
static void choose_share(choosing *best, const tiled *by, const problem *run, int sms, int loose) {
    double time = cuda_worth_sharing(best->least), any = (double)INFINITY;
    try_shares(best, &time, (timed){by, NULL, sms, loose, FOR_NOTHING}, run, ALONE, NULL);
    if (best->share == 0 || numeric_size(run->in) != 2 || run->m < 128 || run->n < 128) return;
    try_shares(best, &any, (timed){by, NULL, sms, loose, FOR_THE_CACHE}, run, FOR_LINES, best->tile);
    best->time = best->least = time; /* beside those of other kernels, which know nothing of it either */
}

/* Nanoseconds of the launch that copies A and B where TMA cannot move them, or as bf16: whatever the tiles, so that it counts only
 * beside kernels of other families. */
static double time_to_copy(const problem *run, lines a, lines b) {
    int rounds = run->in == TESS_F32 && run->compute == TESS_COMPUTE_BF16;
    double copied = (rounds || a == LINES_COPIED ? (double)run->m : 0) +
                    (rounds || b == LINES_COPIED ? (double)run->n : 0);
    double bytes = copied * (double)(run->k * run->batch.count * numeric_size(run->in));
    return copied > 0 ? cuda_copy_time(bytes) : 0;
}

/* Rows of A that begin anywhere, where they lie: tiles have every eighth row of C, and only B is copied. What a multiprocessor takes
 * for 128 bytes of k of its tile of 128×256, and for the tile's end; with A, B and C of 16 bits, as long as blocks are in step, and
 * from where on it was measured. Tiles that have the rim of C beside their own take longer, which costs nothing if there are blocks
 * with a tile less than others. Of the copy, where most of it is made beside the products, so much is left. */
static const double apart_time = 695, apart_end = 2000, apart_edge = 0.5, apart_bytes = 100e6,
                    apart_late = 0.6;
enum { APART_LEAST = 2049, APART_LEAST_K = 501 };

/* Nanoseconds of that, with the copy; or infinitely many. */
static double time_apart(const problem *run, lines a, int sms) {
    const launch_rim rim = launch_rim_of(run);
    const int64_t rows = LACES * launch_pieces(launch_pieces(run->m - rim.rows, LACES), LACED_ROWS / LACES),
                  cols = launch_pieces(run->n - rim.cols, LACED_COLS), tiles = rows * cols,
                  rounds = launch_pieces(tiles, sms), room = (rounds * sms - tiles) * (tiles / sms),
                  edges = rim.rows + rim.cols > 0 ? rows + cols - 1 : 0;
    const double size = (double)numeric_size(run->in), k = (double)run->k,
                 stages = ceil((k * size + 14) / 128);
    if (size != 2 || numeric_size(run->out) != 2 || run->batch.count > 1 || a != LINES_COPIED ||
        run->a_col != 1 || run->b_col != 1 || run->m < APART_LEAST || run->n < APART_LEAST ||
        run->k < APART_LEAST_K || size * k * (double)(run->m + run->n) > apart_bytes)
        return (double)INFINITY;
    const double step =
        apart_time * (of_rounds + of_blocks * (double)tiles / (double)(rounds * sms)) * stages;
    return launch_start + (double)rounds * (apart_end + step) + (edges > room ? apart_edge * step : 0) +
           (launch_late_of(run, 1).whole > 0 ? apart_late : 1) * cuda_copy_time(size * k * (double)run->n);
}

/* The kernel may compute the transposed product. */
choice cuda_choose_hopper(const cuda_device *self, const problem *what, choice_cut *cut, double *time) {
    const choice none = {NULL, NULL, NULL};
    problem run = *what;
    int sms = self->facts->gpu.sms;
    if (self->facts->architecture != 90 || !driver.cuTensorMapEncodeTiled) return none;
    if (what->c_col != 1 && what->c_row == 1) run = route_transposed(what);
    int in_rows = run.in == TESS_F32 && run.compute == TESS_COMPUTE_TF32 && run.b_col == 1;
    int64_t size = numeric_size(run.in);
    lines a = lines_of(run.a_col, run.a_row, size),
          b = in_rows ? lines_of(run.b_col, run.b_row, size) : lines_of(run.b_row, run.b_col, size);
    int loose = a == LINES_LOOSE || b == LINES_LOOSE;
    const tiled *most = in_rows ? &registers : &fitted;
    choosing best = {NULL, NULL, 0, 0, 0};
    choose_from(&best, most, &run, sms, loose);
    if (!in_rows) {
        choose_from(&best, &halves, &run, sms, loose);
        choose_from(&best, &halves_below, &run, sms, loose);
        choose_from(&best, &split, &run, sms, loose);
        if (size > 1 || (a != LINES_COPIED && b != LINES_COPIED)) /* i8 took longer behind a copy */
            choose_from(&best, &relay, &run, sms, loose);
    }
    choose_share(&best, most, &run, sms, loose);
    *time = best.time + time_to_copy(&run, a, b);
    const double apart = time_apart(&run, a, sms);
    if (apart < *time) {
        *time = apart;
        return (choice){"wgmma_12_apart", "", WGMMA ROWS_APART};
    }
    cut->share = best.share;
    return (choice){best.kernel, best.tile->params, best.share ? WGMMA : best.tile->reason};
}
