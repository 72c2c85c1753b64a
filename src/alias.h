/* alias.h: do two strided sets of elements share a byte? Exact, so that disjoint parts of one buffer can be
 * A, B and C of one product. */
#ifndef ALIAS_H
#define ALIAS_H

#include "tessera.h"

typedef enum overlap {
    OVERLAP_NONE,
    OVERLAP_SOME,
    OVERLAP_UNKNOWN /* strides too irregular to decide in reasonable time: to be refused */
} overlap;

/* The elements of a batch of `count` views, `stride` elements apart: {base + Σ index·step}, `width` bytes
 * each. Invariant: steps are positive and descend; dimensions of one index have step 0 and count 1 and come
 * first. */
typedef struct footprint {
    uintptr_t base;
    int64_t width;
    struct {
        int64_t step, count;
    } dim[3];
    int empty;   /* no element at all */
    int repeats; /* a stride of 0: some indices reach the same element */
} footprint;

/* The view must have passed matrix_check, and its batch must fit 64-bit offsets. */
footprint alias_footprint(const tess_matrix *M, int64_t count, int64_t stride);

overlap alias_between(const footprint *x, const footprint *y);

/* Whether two different indices of one footprint reach the same element. */
overlap alias_within(const footprint *x);

#endif
