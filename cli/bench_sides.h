/* bench_sides.h: several ways to compute one product, timed in turns. */
#ifndef BENCH_SIDES_H
#define BENCH_SIDES_H

#include "bench.h"
#include "bench_watch.h"

enum { BENCH_SAMPLES_MAX = 2000 };

/* One of the things that are timed: a plan, or a BLAS of the host. */
typedef struct bench_side {
    const problem *p;
    tess_plan *plan;
    const peer *blas; /* if there is no plan */
    tess_operand *prepared[2];
    double seconds; /* of one product, roughly */
    int64_t repeats;
    double calibration_cpu; /* CPU seconds */
    double cpu, spent;      /* CPU seconds and seconds of all samples */
    int64_t calls;
    double samples[BENCH_SAMPLES_MAX];
    double to_device[BENCH_SAMPLES_MAX], to_host[BENCH_SAMPLES_MAX]; /* with transfers */
} bench_side;

/* Starts the product; on device memory it is only queued. */
tess_status bench_side_run(const bench_side *s);
/* Whether the library takes this product. */
bool bench_side_takes(const peer *blas, const problem *p);
/* Samples the sides in turns, and looks at the device after samples of the first. Returns how many each
 * has: 0 if interrupted, or if *status says that one failed. */
size_t bench_sides_sample(const bench_request *r, bench_side *sides, size_t count, bench_watch *watch,
                          tess_status *status);
/* Seconds of one product, timed once. */
tess_status bench_side_time(const bench_request *r, const bench_side *s, int64_t repeats, double *seconds);
/* Overwrites the caches of the host, if that was asked for. */
void bench_flush(const bench_request *r);

#endif
