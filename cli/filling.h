/* filling.h: data for large matrices, by all cores. */
#ifndef FILLING_H
#define FILLING_H

#include "tessera.h"

/* As tess_fill, which it is for matrices of up to 256 rows. */
tess_status fill_matrix(tess_matrix M, tess_fill_kind kind, double range, uint64_t seed);

#endif
