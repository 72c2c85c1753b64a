/* plan.h: from views and options to a decision. */
#ifndef PLAN_H
#define PLAN_H

#include "context.h"

struct tess_plan {
    tess_context *ctx;
    plan decided;
    tess_matrix A, B, C;                 /* the views it was made for */
    uintptr_t low_bits_in, low_bits_out; /* that are 0 in addresses of elements: of A and B, of C */
    char text[1024], params[256];
};

/* Checks the views against each other, chooses a kernel and completes its parameters. Allocates nothing.
 * `batch` and `options` may be NULL. The context's lock must be held. */
tess_status plan_make(const device *dev, const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                      const tess_batch *batch, const tess_options *options, plan *out, sentence *why);

/* Refuses shapes that do not fit together or are beyond any machine, mixes of types there is no product for, and compute modes that do
 * not apply. */
tess_status plan_check_product(const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                               tess_compute compute, sentence *why);

/* Refuses what the type of the sums cannot hold of alpha or beta. */
tess_status plan_check_scalars(double alpha, double beta, tess_type acc, sentence *why);

/* One sentence: which kernel, with which parameters, on what, and why; and why no better device is used, if
 * `instead` is not NULL. */
void plan_describe(const plan *decided, const char *device_name, const char *instead, char *text,
                   size_t size);

#endif
