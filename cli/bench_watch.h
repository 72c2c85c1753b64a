/* bench_watch.h: what the device says of itself while a case is sampled. */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

#include "bench.h"

typedef struct bench_watch {
    double last; /* when it was looked at; 0: never */
    double clock_sum, power_sum;
    int clocks, powers;
    char reasons[96]; /* every reason given for clocks that are held back, once each */
} bench_watch;

/* Looks, unless it did so just before: asking takes time, too. */
void bench_watch_look(bench_watch *w, const bench_request *r);
/* The mean of what was seen, NaN where the device does not tell, and every reason. If none is given though
 * the clock was well below the highest this device has shown since the program began, that is the reason. */
tess_device_state bench_watch_end(bench_watch *w, const bench_request *r);

#endif
