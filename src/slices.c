/* slices.c: cuts a product along k. Every slice but the last is as deep as any, and a multiple of a chunk, so that all fit
 * the workspace of one, and lines that were aligned stay so. */
#include "slices.h"

/* Of a slice, for what is added by writing C and reading it again to be little beside the product itself. */
enum { LEAST_DEPTH = 1024 };

/* How many there are, if it must be at least so many. */
static int64_t count_of(const problem *run, int least) {
    int64_t own = (run->k + SLICES_LONGEST - 1) / SLICES_LONGEST;
    return own > least ? own : least;
}

static int64_t depth_of(const problem *run, int64_t slices) {
    int64_t each = (run->k + slices - 1) / slices;
    return (each + SPLIT_DEPTH - 1) / SPLIT_DEPTH * SPLIT_DEPTH;
}

int64_t slices_workspace(const problem *run, const operands *data, int least) {
    int64_t slices = count_of(run, least);
    problem one = *run;
    if (slices > 1) one.k = depth_of(run, slices), data = NULL;
    return least > 1 && one.k < LEAST_DEPTH ? 0 : split_workspace(&one, data);
}

tess_status slices_run(const product_target *target, product_launch *launch, const problem *run,
                       const operands *data, char *workspace, sentence *why) {
    int64_t slices = count_of(run, target->slices);
    if (slices < 2) return split_run(target, launch, run, data, workspace, why);
    int64_t depth = depth_of(run, slices);
    for (int64_t k = 0; k < run->k; k += depth) {
        problem slice = *run;
        operands part = *data;
        slice.k = run->k - k < depth ? run->k - k : depth;
        part.a = (const float *)data->a + k * run->a_col;
        part.b = (const float *)data->b + k * run->b_row;
        part.kept_a = part.kept_b = NULL;
        if (k > 0) part.beta = 1;
        TRY(split_run(target, launch, &slice, &part, workspace, why));
    }
    return TESS_OK;
}
