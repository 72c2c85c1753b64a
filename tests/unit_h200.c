/* unit_h200.c: a device that exists in name only. */
#include "unit_h200.h"

#include <string.h>

static driver_table had;

/* Which nothing calls here: that there is one decides. */
static int encode(void *map, int type, unsigned rank, void *address, const uint64_t *dimensions,
                  const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                  int swizzle, int promotion, int fill) {
    (void)map, (void)type, (void)rank, (void)address, (void)dimensions, (void)strides, (void)box, (void)steps;
    (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    return 1;
}

const cuda_device *h200_begin(void) {
    static cuda_facts facts = {.architecture = 90, .gpu = {.sms = 132, .shared_per_block_most = 232448}};
    static cuda_device self = {.facts = &facts};
    had = driver;
    driver.cuTensorMapEncodeTiled = encode;
    return &self;
}

void h200_end(void) {
    driver = had;
}

problem h200_problem(tess_type type, tess_compute compute, int64_t m, int64_t n, int64_t k, int64_t count) {
    problem p = {.in = type, .out = type, .acc = TESS_F32, .compute = compute};
    p.m = m, p.n = n, p.k = k;
    p.a_row = k, p.b_row = p.c_row = n, p.a_col = p.b_col = p.c_col = 1;
    p.batch = (tess_batch){count, m * k, k * n, m * n};
    return p;
}

double h200_time_of(choice chosen, const h200_tiling *tilings, const double *times, int count, double *best) {
    double taken = 0;
    *best = 0;
    for (int i = 0; i < count; i++) {
        const h200_tiling *t = &tilings[i];
        if (times[i] > 0 && (*best == 0 || times[i] < *best)) *best = times[i];
        if (chosen.params && strcmp(chosen.kernel, t->kernel) == 0 &&
            strncmp(chosen.params, t->params, strlen(t->params)) == 0)
            taken = times[i];
    }
    return taken;
}
