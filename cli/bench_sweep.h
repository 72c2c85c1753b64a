/* bench_sweep.h: --sweep BM=64,128:BN=128,256: every combination of the values of several parameters. */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "tessera.h"

#include <stdbool.h>

enum { SWEEP_NAMES = 12, SWEEP_VALUES = 16, SWEEP_MOST = 4096 };

typedef struct bench_sweep {
    char names[SWEEP_NAMES][16];
    int64_t values[SWEEP_NAMES][SWEEP_VALUES];
    size_t value_counts[SWEEP_NAMES];
    size_t name_count;
    size_t combinations;
} bench_sweep;

/* Returns false after a sentence. */
bool bench_sweep_read(const char *text, bench_sweep *out);
/* Whether the kernel has all of the parameters; if not, a sentence names one that it lacks. */
bool bench_sweep_fits(const bench_sweep *sweep, const tess_kernel_info *kernel);
/* The combination number `index`, as "BM=64,BN=128" after `before` (NULL: nothing). NULL: no memory. */
char *bench_sweep_params(const bench_sweep *sweep, size_t index, const char *before);

#endif
