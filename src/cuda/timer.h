/* timer.h: what timing and measuring share: a stream of their own, two events, and memory to empty the
 * caches with. */
#ifndef TIMER_H
#define TIMER_H

#include "cuda.h"

enum { TIMER_GRAPHS = 4 };

/* Runs of one product, kept while the same are asked for again. */
typedef struct timed_runs {
    int used, plain; /* plain: so long that they are launched one by one */
    problem what;
    const kernel_row *kernel;
    int64_t params[REGISTRY_PARAMS];
    plan_rest rest;
    int64_t share;
    operands data;
    int64_t runs;
    cu_executable graph;
} timed_runs;

typedef struct cuda_timer {
    cu_stream stream;
    cu_event start, end;
    cuda_buffer flush;
    timed_runs kept[TIMER_GRAPHS];
    int next; /* the one to be replaced */
} cuda_timer;

/* Makes it on first use. Returns when everything queued on the context's stream is done. */
tess_status timer_ready(cuda_device *self, sentence *why);
/* Waits, and gives the seconds between the two events. */
tess_status timer_seconds(cuda_device *self, double *seconds, sentence *why);
/* Queues a write over twice the second-level cache. */
tess_status timer_flush(cuda_device *self, sentence *why);

#endif
