/* choose_batched.c: where batches are for simt_16_batched, whose blocks have several small products or one: where that takes
 * less time than the tiles of other kernels.
 *
 * Several blocks are on a multiprocessor at once, so that there are no rounds: what a product takes is mostly its share of
 * the time that memory takes. */
#include <math.h>

#include "../numeric.h"
#include "cuda.h"

/* Tiles of edge×edge, and the nanoseconds that a multiprocessor of an H200 takes for one in f32, and for a step of k of
 * it, while it works on as many as it has room for: fewer take no less time. Up to 32×32 that is what memory takes for their
 * elements, at 4 TB/s; what the second-level cache holds comes sooner, which is not reckoned with. */
typedef struct tiling {
    int edge;
    double step, start, at_once;
    const char *params;
} tiling;
static const tiling tilings[] = {
    {64, 27, 400, 5, "BM=64,BN=64,BK=32,TM=8,TN=4,PRODUCTS=1,KUNROLL=1"},
    {32, 8.4, 134, 9, "BM=32,BN=32,BK=32,TM=4,TN=4,PRODUCTS=1"},
    {16, 4.2, 33.6, 40, NULL},
    {8, 2.1, 8.4, 128, "BM=8,BN=8,BK=8,TM=2,TN=4,PRODUCTS=16"},
    {4, 1.05, 2.1, 640, "BM=4,BN=4,BK=4,TM=2,TN=4,PRODUCTS=64"},
};
enum { TILINGS = sizeof tilings / sizeof *tilings };
/* Nanoseconds before the first products are copied and after the last. */
static const double launch = 1200;

/* Memory and ordinary cores take twice as long for elements of 8 bytes. */
static double time_of(const tiling *t, const problem *what, int sms) {
    double each = fmax(ceil(cuda_tiles(what, t->edge, t->edge) / sms), t->at_once);
    return launch + each * (t->start + t->step * (double)what->k) * (double)numeric_size(what->in) / 4;
}

choice cuda_choose_batched(const cuda_device *self, const problem *what, double *time) {
    choice best = {NULL, NULL, NULL};
    if (what->batch.count == 1) return best;
    for (int i = 0; i < TILINGS; i++) {
        const tiling *t = &tilings[i];
        double needs = time_of(t, what, self->facts->gpu.sms);
        if (needs >= *time) continue;
        best = (choice){"simt_16_batched", t->params,
                        "small products of a batch keep memory busy where many are in work at once"};
        *time = needs;
    }
    return best;
}
