/* choose_simt.c: the tiles that an f32 product gets where ordinary cores multiply it: those whose time is the least.
 *
 * Multiprocessors compute tiles in rounds, one each at a time, so that the time has steps. Large tiles take the least for
 * a multiply-add; small ones, whose depth groups of warps split among them, reach more multiprocessors. */
#include <math.h>

#include "../launch.h"
#include "cuda.h"

/* A tile, and the nanoseconds that a multiprocessor of an H200 takes for a step of k of it, and for beginning and ending
 * it. Some need shared memory that not every card has, or rows that begin at multiples of 16 bytes. */
typedef struct tiling {
    int rows, cols;
    double step, start;
    int kilobytes, aligned;
    const char *kernel, *params;
} tiling;
static const tiling tilings[] = {
    {256, 128, 171.0, 4000, 96, 1, "simt_14_ahead", "BM=256,BK=16,ROWS=1"},
    {128, 128, 86.7, 4000, 32, 0, "simt_14_ahead", NULL},
    {64, 128, 45.7, 2800, 151, 1, "simt_15_split", "BM=64,SPLIT=4,BK=16,ROWS=1,STAGES=3"},
    {64, 128, 47.1, 2800, 80, 0, "simt_15_split", "BM=64,SPLIT=4,ROWS=1,STAGES=3"},
    {32, 64, 12.4, 1850, 151, 0, "simt_15_split", "BM=32,BN=64,TM=8,SPLIT=8,BK=16,ROWS=1,STAGES=3"},
    {32, 64, 13.2, 1850, 78, 0, "simt_15_split", "BM=32,BN=64,TM=8,SPLIT=8,ROWS=1,STAGES=3"},
    {32, 32, 8.0, 1250, 99, 0, "simt_15_split", "BM=32,BN=32,TM=8,TN=4,SPLIT=8,BK=16,ROWS=1,STAGES=3"},
    {16, 32, 5.4, 1400, 76, 0, "simt_15_split", "BM=16,BN=32,TM=4,TN=4,SPLIT=16,ROWS=1,STAGES=3"},
    {8, 32, 3.1, 1300, 64, 0, "simt_15_split", "BM=8,BN=32,TM=2,TN=4,SPLIT=8,BK=16,ROWS=1,STAGES=3"},
};
enum { TILINGS = sizeof tilings / sizeof *tilings, LARGE = 2 };

static double time_of(const tiling *t, const problem *what, int sms) {
    return ceil(cuda_tiles(what, t->rows, t->cols) / sms) * (t->start + t->step * (double)what->k);
}

choice cuda_choose_simt(const cuda_device *self, const problem *what) {
    const tess_gpu_info *gpu = &self->facts->gpu;
    const tiling *best = NULL;
    int aligned = launch_is_aligned(what, NULL, 4);
    for (int i = 0; i < TILINGS; i++) {
        const tiling *t = &tilings[i];
        if (t->kilobytes > gpu->shared_per_block_most >> 10 || t->aligned > aligned) continue;
        if (!best || time_of(t, what, gpu->sms) < time_of(best, what, gpu->sms)) best = t;
    }
    return (choice){best->kernel, best->params,
                    best < tilings + LARGE ? "it is the fastest kernel of those that use multiply-adds alone"
                                           : "tiles of this size give multiprocessors the most equal work"};
}
