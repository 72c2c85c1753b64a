/* counters_events.h: what is counted of a block, in the order in which it happens (trace.h watches instead where a block is
 * checked); `worker->trace->counting` is where it is added. */
#ifndef COUNTERS_EVENTS_H
#define COUNTERS_EVENTS_H

#include "counters.h"

void counters_access(sim_here *here, const void *at, unsigned kind, const void *site);
void counters_copy(sim_worker *worker, const async_copy *copy);
/* A lane takes part in an instruction, but accesses nothing. */
void counters_no_access(sim_worker *worker, unsigned kind, const void *site);
/* A product of fragments. */
void counters_mma(sim_worker *worker, const void *site, unsigned operations);
void counters_warp_stops(sim_worker *worker);
void counters_barrier(sim_worker *worker);
/* After the last thread: what is left is added. Returns 0 if there is no memory. */
int counters_finish(counters *c);

#endif
