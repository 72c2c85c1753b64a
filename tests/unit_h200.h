/* unit_h200.h: a device with the facts of an H200, for tests that ask the planner without a card. */
#ifndef UNIT_H200_H
#define UNIT_H200_H

#include "../src/cuda/cuda.h"

/* From the first to the second: with a driver that has tensor maps. */
const cuda_device *h200_begin(void);
void h200_end(void);

/* A product in rows. */
problem h200_problem(tess_type type, tess_compute compute, int64_t m, int64_t n, int64_t k, int64_t count);

/* A kernel, and how its parameters begin. */
typedef struct h200_tiling {
    const char *kernel, *params;
} h200_tiling;

/* Which of so many times, of those tilings, is the chosen one's, and *best: the least. 0: not measured. */
double h200_time_of(choice chosen, const h200_tiling *tilings, const double *times, int count, double *best);

#endif
