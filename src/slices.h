/* slices.h: a product of f32 by parts (split.h) in slices of k, one after the other, each with parts of its own in the same
 * workspace: where there is not enough memory for more, and where k is so large that the sums of all of it would have more
 * error than those of slices together. The first slice reads C as beta says; the others add to it. */
#ifndef SLICES_H
#define SLICES_H

#include "split.h"

/* From there on k is cut for the sake of its sums. */
enum { SLICES_LONGEST = 16384 };

/* Bytes of workspace for a product in at least so many slices; 0 if they would be too thin to be worth it. Parts that are
 * kept are of all k: slices do without them. */
int64_t slices_workspace(const problem *run, const operands *data, int slices);

/* The launches of all slices. */
tess_status slices_run(const product_target *target, product_launch *launch, const problem *run,
                       const operands *data, char *workspace, sentence *why);

#endif
