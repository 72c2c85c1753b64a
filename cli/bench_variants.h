/* bench_variants.h: kernels with their parameters, as --params, --tile and --sweep ask for them. */
#ifndef BENCH_VARIANTS_H
#define BENCH_VARIANTS_H

#include "bench.h"

/* Fills r->variants from r->kernels. Returns EXIT_FINE, or what to exit with after a sentence. */
int bench_make_variants(bench_request *r, const args *a);

#endif
