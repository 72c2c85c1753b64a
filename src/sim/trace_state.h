/* trace_state.h: what is remembered of a block that is watched (trace.h): by all workers, and by each. */
#ifndef TRACE_STATE_H
#define TRACE_STATE_H

#include "banks.h"
#include "module.h"
#include "regions.h"
#include "shadow.h"
#include "worker.h"

struct counters;

/* What the workers of one launch have in common. */
typedef struct trace_checks {
    const module *m;
    regions memory;
    int cell_shift; /* shared memory is watched in cells of 1 << cell_shift bytes */
    _Atomic int
        finer; /* an access was smaller than a cell: the launch must be run again with cells of a byte */
    banks_tally *banks;        /* of the first block; NULL: it is not looked at */
    struct counters *counting; /* not NULL: nothing is checked, accesses are counted */
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
    struct counters *counting; /* as in checks */
    warps_lanes lanes;         /* of the running warp, if `watched` */
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

#endif
