/* timing.c: reads the clock and summarizes samples.
 *
 * Invariant: a summary depends on the set of samples only, not on their order; between two samples
 * percentiles are interpolated.
 */
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static double read_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double timing_now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

double timing_cpu(void) {
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void timing_sleep(double seconds) {
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const double *sorted, size_t count, double share) {
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* The samples whose ranks lie within the error of the middle rank, sqrt(n) / 2, twice that far on either
 * side, hold the true median whatever the distribution: one far value changes nothing. Of few samples even
 * all are too narrow; the factor for that was fitted to simulated ones, from two up. */
static double interval_of_median(const double *sorted, size_t count, double median) {
    if (count < 2) return (double)INFINITY;
    if (!(median > 0)) return 0;
    double n = (double)count, reach = fmin(0.98 / sqrt(n), 0.5), few = 1.15 + 25 / pow(n - 0.8, 3.2);
    double width = percentile(sorted, count, 0.5 + reach) - percentile(sorted, count, 0.5 - reach);
    return few * width / 2 / median;
}

timing_summary timing_summarize(double *samples, size_t count) {
    double none = (double)NAN;
    timing_summary s = {.samples = count,
                        .median = none,
                        .p10 = none,
                        .p90 = none,
                        .noise = none,
                        .interval = (double)INFINITY};
    if (count == 0) return s;
    qsort(samples, count, sizeof *samples, compare);
    s.median = percentile(samples, count, 0.5);
    s.p10 = percentile(samples, count, 0.1);
    s.p90 = percentile(samples, count, 0.9);
    s.noise = s.median > 0 ? 100 * (s.p90 - s.p10) / s.median : 0;
    s.interval = interval_of_median(samples, count, s.median);
    return s;
}
