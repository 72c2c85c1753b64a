/* bench_options.h: the command line of `tessera bench`. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench.h"

/* Reads everything, opens the device and the peers. Returns EXIT_FINE, or what to exit with after a sentence.
 * bench_free_options is due in both cases. */
int bench_read_options(bench_request *r, const args *a);
void bench_free_options(bench_request *r);

/* Shared with other commands: --type and the types' names; --sizes, --shape and --shapes; --compute. */
bool bench_read_types(const args *a, problem_types *types, size_t most, size_t *count);
bool bench_read_sizes(const args *a, sizes_list *sizes);
bool bench_read_compute(const args *a, tess_compute *compute);

#endif
