/* choose_split.c: where f32 is multiplied by parts on tensor cores (split.h) without being asked for: where that is faster
 * than multiply-adds of f32, and its error is not larger than theirs.
 *
 * The error does not depend on the shape but on k (docs/NUMERICS.md): so does what is allowed. */
#include <math.h>
#include <stdlib.h>

#include "cuda.h"

/* Whether the planner takes such kernels where $TESSERA_SPLIT does not say. */
enum { SPLIT_BY_DEFAULT = 1 };

/* From this k on parts have less error than multiply-adds in order, on all data tried. */
enum { LEAST_K = 256 };
#define REASON                                                                                               \
    "from k = 256 on parts of f32 on tensor cores have no more error than f32 multiply-adds, and here they " \
    "take less time"

/* Widths of a tile of 128 rows; and the seconds that a multiprocessor of an H200 takes for one of k. */
typedef struct split_tiling {
    int cols;
    double time;
    const char *params;
} split_tiling;
static const split_tiling tilings[] = {
    {192, 24.5e-9, NULL},
    {128, 16.9e-9, "BN=128,STAGES=6,CM=2,GROUP=8"},
    {64, 11e-9, "BN=64,STAGES=8,CM=1,GROUP=16,BOXES=2"},
};
enum { TILINGS = sizeof tilings / sizeof *tilings, TILE_ROWS = 128 };
/* Where fewer than half of the multiprocessors have a tile, each takes that much longer for it. */
static const double alone = 1.9;

/* What comes before takes: the launches, and 12 bytes for each element of A and B. And what multiply-adds take, at the best
 * rate that a multiprocessor reaches on any shape: a choice that is wrong must not be slower. */
static const double parts_start = 8e-6, parts_bytes = 4.9e12, plain_start = 3e-6, plain_rate = 0.4e12;

/* Of the product alone, with tiles of that width. */
static double tile_time(const problem *what, const split_tiling *t, int sms) {
    double tiles = cuda_tiles(what, TILE_ROWS, t->cols);
    return (tiles < 0.5 * sms ? alone : ceil(tiles / sms)) * (double)what->k * t->time;
}

static double pack_time(const problem *what) {
    double count = (double)what->batch.count, of_a = what->batch.stride_a ? count : 1,
           of_b = what->batch.stride_b ? count : 1,
           elements = ((double)what->m * of_a + (double)what->n * of_b) * (double)what->k;
    return parts_start + 12 * elements / parts_bytes;
}

static double plain_time(const problem *what, int sms) {
    double operations = 2 * (double)what->m * (double)what->n * (double)what->k * (double)what->batch.count;
    return plain_start + operations / (plain_rate * sms);
}

static int is_wanted(void) {
    const char *text = getenv("TESSERA_SPLIT");
    return text && *text ? atoi(text) != 0 : SPLIT_BY_DEFAULT;
}

choice cuda_choose_split(const cuda_device *self, const problem *what) {
    const choice none = {NULL, NULL, NULL};
    if (what->in != TESS_F32 || what->compute != TESS_COMPUTE_DEFAULT || what->k < LEAST_K) return none;
    if (self->facts->architecture != 90 || !driver.cuTensorMapEncodeTiled || !is_wanted()) return none;
    const split_tiling *best = &tilings[0];
    int sms = self->facts->gpu.sms;
    for (int i = 1; i < TILINGS; i++)
        if (tile_time(what, &tilings[i], sms) < tile_time(what, best, sms)) best = &tilings[i];
    if (pack_time(what) + tile_time(what, best, sms) >= plain_time(what, sms)) return none;
    return (choice){"split_01_fp16x3", best->params, REASON};
}
