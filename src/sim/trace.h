/* trace.h: watching a block.
 *
 * Every access of a traced kernel, and every barrier, meeting and copy, comes by here, in the order in which
 * the block does them. What a kernel must not do stops the product, with a sentence that says who did it,
 * where, and what to do. The accesses of one block are also kept, lane by lane, and looked at warp by warp
 * (banks.h). */
#ifndef TRACE_H
#define TRACE_H

#include "trace_state.h"

/* Before the first block of a worker, and after its last. `shared` is the worker's copy of the __shared__
 * variables. */
tess_status trace_begin(sim_worker *worker, trace_checks *checks, char *shared, sentence *why);
void trace_end(sim_worker *worker);

/* What happens in a block, in order. */
void trace_block(sim_worker *worker);
void trace_access(sim_here *here, const void *at, unsigned kind, const void *site);
/* The running lane takes part in an instruction of its warp that accesses shared memory, but accesses nothing.
 */
void trace_no_access(sim_worker *worker, unsigned kind, const void *site);
void trace_bounds(sim_here *here, unsigned line, long long index);
/* The running thread begins, or goes on after waiting. */
void trace_goes_on(sim_worker *worker);
/* All threads that are alive have come to a barrier. */
void trace_barrier(sim_worker *worker);
void trace_meeting(sim_worker *worker, unsigned mask);
void trace_copy_queued(sim_worker *worker, const async_copy *copy);
void trace_copy_arrives(sim_worker *worker, const async_copy *copy);
/* No thread of the running warp can go on for now. */
void trace_warp_stops(sim_worker *worker);
/* The last thread of the block has ended. */
void trace_block_ends(sim_worker *worker);
/* No thread of the block can go on, ever. */
void trace_deadlock(sim_worker *worker) __attribute__((noreturn));

#endif
