/* trace.h: watching a block.
 *
 * Every access of a traced kernel, and every barrier, meeting and copy, comes by here, in the order in which
 * the block does them. What a kernel must not do stops the product, with a sentence that says who did it,
 * where, and what to do. The accesses of one block are also kept, lane by lane, and looked at warp by warp
 * (banks.h). */
#ifndef TRACE_H
#define TRACE_H

#include "banks.h"
#include "block.h"
#include "counters.h"
#include "module.h"
#include "regions.h"
#include "shadow.h"

/* What the workers of one launch have in common. */
typedef struct trace_checks {
    const module *m;
    regions memory;
    int cell_shift; /* shared memory is watched in cells of 1 << cell_shift bytes */
    _Atomic int
        finer; /* an access was smaller than a cell: the launch must be run again with cells of a byte */
    banks_tally *banks; /* of the first block; NULL: it is not looked at */
    counters *counting; /* not NULL: nothing is checked, accesses are counted */
} trace_checks;

/* A read of shared memory that holds nothing. If another thread writes there before the next barrier it was a
 * race, and is reported as one; if not, nobody has written it. */
typedef struct trace_early_read {
    uint32_t offset, site;
    unsigned bytes; /* 0: there was none */
    int thread;
} trace_early_read;

/* What one worker remembers. What every access needs comes first. */
typedef struct trace {
    char *shared;
    uint32_t static_bytes;
    uint32_t cell; /* bytes of a cell: 1 << shift, as checks->cell_shift says */
    int shift;
    int watched;        /* this block's accesses are kept for `banks` */
    shadow_cell *cells; /* of static, then of dynamic shared memory */
    shadow_moment now;  /* of the running thread; the site is that of its last access */
    uintptr_t base;     /* of the module */
    char *dynamic;
    uint32_t dynamic_bytes, end; /* end: of static and dynamic shared memory */
    uint32_t thread_base;        /* of this block's threads, in the numbers regions.h wants */
    trace_early_read early;      /* the first one of this epoch */
    trace_checks *checks;
    counters *counting; /* as in checks */
    warps_lanes lanes;  /* of the running warp, if `watched` */
} trace;

/* The offset in shared memory, dynamic after static; -1 if `at` is elsewhere. */
static inline int64_t trace_shared_offset(const trace *t, const void *at) {
    uintptr_t offset = (uintptr_t)at - (uintptr_t)t->shared;
    if (offset < t->static_bytes) return (int64_t)offset;
    offset = (uintptr_t)at - (uintptr_t)t->dynamic;
    return offset < t->dynamic_bytes ? (int64_t)(t->static_bytes + offset) : -1;
}

/* An announced access (port_sim.h) as an event (warps.h), but for the memory it is in. */
static inline uint32_t trace_event_kind(unsigned kind) {
    return (kind & (SIM_WRITE - 1)) | (kind & SIM_WRITE ? WARPS_WRITE : 0) |
           (kind & SIM_FIXED ? WARPS_FIXED : 0);
}

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
