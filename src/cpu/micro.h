/* micro.h: the contract of a micro-kernel.
 *
 * It multiplies a packed panel of A (for each p: `mr` elements of column p) by a packed panel of B (for each p: `nr`
 * elements of row p) and writes the mr×nr sums to `tile`, row by row. The panels are 64-byte aligned and padded with
 * zeros, so it never meets an edge; the sums of each element are added up in order of p, from zero. */
#ifndef MICRO_H
#define MICRO_H

#include "../device.h"

typedef struct micro_kernel {
    int mr, nr;
    void (*run)(int64_t depth, const void *a, const void *b, void *tile);
} micro_kernel;

/* At least as many as the elements of any tile. */
enum { MICRO_LARGEST_TILE = 512 };

/* The micro-kernel for sums of type `acc` (f32, f64 or i32). */
const micro_kernel *micro_for(tess_type acc);
/* The instruction set they are compiled for: "128-bit vectors". */
const char *micro_isa(void);

#endif
