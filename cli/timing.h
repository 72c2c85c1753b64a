/* timing.h: the clock, and what a handful of samples says. */
#ifndef TIMING_H
#define TIMING_H

#include <stddef.h>

/* Seconds on a clock that only runs forward; and CPU seconds of all threads of this process. */
double timing_now(void);
double timing_cpu(void);
void timing_sleep(double seconds);

typedef struct timing_summary {
    size_t samples;
    double median, p10, p90; /* seconds */
    double noise;            /* (p90 - p10) / median, in percent */
    /* Half the width of an interval that holds the true median in 95 of 100 cases, as a share of it, if
     * the samples are independent. Infinite for fewer than two. */
    double interval;
} timing_summary;

/* Sorts the samples. All NaN if there are none. */
timing_summary timing_summarize(double *samples, size_t count);
#endif
