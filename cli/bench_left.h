/* bench_left.h: how long a run will still take. */
#ifndef BENCH_LEFT_H
#define BENCH_LEFT_H

#include "bench.h"

typedef struct bench_left {
    double began;
    double all,
        done; /* what all cases, and those done, were expected to take: right in proportion, not in seconds */
} bench_left;

void bench_left_begin(bench_left *l, const bench_request *r);
/* One kernel on this product is done. */
void bench_left_take(bench_left *l, const bench_request *r, const problem_spec *spec);
/* ", 40 s left", or "" while there is nothing to judge it by. */
void bench_left_show(const bench_left *l, char *out, size_t room);

#endif
