/* special.h: NaN, infinities, zeros of both signs and sums that overflow, for a check of what becomes of them. */
#ifndef SPECIAL_H
#define SPECIAL_H

#include "tessera.h"

/* The largest k and scalar with which every sum below is exact. */
enum { SPECIAL_LARGEST_K = 65536, SPECIAL_LARGEST_SCALAR = 4 };

/* Fill A, B and C of one product, all with the same seed. C is a result of A's type, or a wider one. */
tess_status special_fill_a(tess_matrix A, uint64_t seed);
tess_status special_fill_b(tess_matrix B, uint64_t seed);
tess_status special_fill_c(tess_matrix C, uint64_t seed);

#endif
