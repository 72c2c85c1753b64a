/* trace.c: every event of a block, judged.
 *
 * An access is announced before it is made, so that one that must not be made is not: its block is given up
 * there. */
#include "trace.h"

#include <stdatomic.h>
#include <string.h>

#include "../memory.h"
#include "counters_events.h"
#include "report.h"

/* Offsets of dynamic shared memory follow those of the static, each beginning at a multiple of this. */
enum { SHARED_UNIT = 16 };

tess_status trace_begin(sim_worker *worker, trace_checks *checks, char *shared, sentence *why) {
    trace *t = memory_alloc_zeroed(sizeof *t);
    worker->trace = t;
    if (!t) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the checks of a worker");
    t->checks = checks;
    t->base = checks->m->base;
    t->shared = shared;
    t->dynamic = worker->dynamic;
    t->static_bytes = ((uint32_t)checks->m->shared_bytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    t->dynamic_bytes = (uint32_t)worker->launch->shared;
    t->end = t->static_bytes + t->dynamic_bytes;
    t->counting = checks->counting;
    if (t->counting) {
        worker->here.access = counters_access;
        return TESS_OK;
    }
    t->shift = checks->cell_shift;
    t->cell = 1u << t->shift;
    size_t cells = (size_t)t->end >> t->shift;
    t->cells = memory_alloc_zeroed((cells + 1) * sizeof *t->cells);
    if (!t->cells)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory to watch %zu cells of shared memory", cells);
    return TESS_OK;
}

void trace_end(sim_worker *worker) {
    if (!worker->trace) return;
    memory_free(worker->trace->cells);
    warps_free(&worker->trace->lanes);
    memory_free(worker->trace);
    worker->trace = NULL;
}

void trace_block(sim_worker *worker) {
    trace *t = worker->trace;
    const sim_index *b = &worker->here.block, *grid = &worker->here.grid_dim;
    uint32_t number = (b->z * grid->y + b->y) * grid->x + b->x;
    t->now.epoch++;
    t->now.block++;
    t->early.bytes = 0;
    t->thread_base = number * (uint32_t)worker->threads + 1;
    t->watched = number == 0 && t->checks->banks != NULL;
}

/* ---- Accesses ---- */

void trace_goes_on(sim_worker *worker) {
    const sim_thread *me = worker->running;
    worker->trace->now.thread = (uint16_t)me->number;
    worker->trace->now.meeting = (uint16_t)worker->warps[me->warp].meetings;
}

/* Notes are made of what is kept; without memory there are fewer. */
static void keep_event(sim_worker *worker, uint64_t offset, unsigned kind, uint32_t site) {
    warps_event event = {offset, site, trace_event_kind(kind) | WARPS_SHARED};
    warps_note(&worker->trace->lanes, worker->running->lane, &event);
}

static void count_banks(trace *t) {
    if (t->watched) warps_gather(&t->lanes, banks_add, t->checks->banks);
}

/* A kernel that moves smaller things than a cell must be watched in smaller cells: the launch is run again.
 */
static void ask_for_finer(sim_worker *worker) {
    atomic_store(&worker->trace->checks->finer, 1);
    worker_stop(worker, TESS_ERROR_INTERNAL);
}

static void note_early_read(sim_worker *worker, uint32_t offset, unsigned bytes, uint32_t site) {
    trace_early_read *early = &worker->trace->early;
    if (early->bytes == 0) *early = (trace_early_read){offset, site, bytes, worker->running->number};
}

static inline void shared_access(sim_worker *worker, uint32_t offset, unsigned kind, uint32_t site) {
    trace *t = worker->trace;
    const int shift = t->shift, writes = (kind & SIM_WRITE) != 0;
    const unsigned bytes = kind & (SIM_WRITE - 1);
    if (offset & (bytes - 1)) report_misaligned(worker, offset, bytes, writes, site);
    if (offset + bytes > t->end) report_past_shared(worker, offset, bytes, writes, site);
    if (bytes >> shift == 0) ask_for_finer(worker);
    t->now.site = site;
    for (uint32_t i = offset >> shift, end = (offset + bytes) >> shift; i < end; i++) {
        shadow_fault fault =
            writes ? shadow_write(&t->cells[i], &t->now) : shadow_read(&t->cells[i], &t->now);
        if (fault == SHADOW_NEVER_WRITTEN)
            note_early_read(worker, i << shift, bytes, site);
        else if (fault != SHADOW_FINE)
            report_shared(worker, fault, i << shift, writes, &t->cells[i], site);
    }
    if (t->watched) keep_event(worker, offset, kind, site);
}

static void global_access(sim_worker *worker, const char *at, unsigned bytes, int writes, uint32_t site) {
    trace *t = worker->trace;
    const region *found;
    if (!writes && regions_can_read(&t->checks->memory, at, bytes)) return;
    region_fault fault = regions_access(&t->checks->memory, at, bytes, writes,
                                        t->thread_base + (uint32_t)worker->running->number, &found);
    if (fault != REGION_FINE) report_global(worker, fault, found, at, bytes, writes, site);
}

static __attribute__((noinline)) void judge_access(sim_worker *worker, const void *at, unsigned kind,
                                                   uint32_t site) {
    const trace *t = worker->trace;
    const unsigned bytes = kind & (SIM_WRITE - 1);
    int writes = (kind & SIM_WRITE) != 0;
    int64_t offset = trace_shared_offset(t, at);
    if (offset >= 0) {
        shared_access(worker, (uint32_t)offset, kind, site);
        return;
    }
    /* A thread's own variables, and the constants of the module. */
    if ((uintptr_t)at - (uintptr_t)worker->running->context.stack < SIM_STACK) return;
    if (!writes && (uintptr_t)at - t->base < t->checks->m->span) return;
    if ((uintptr_t)at & (bytes - 1)) report_misaligned(worker, (uintptr_t)at, bytes, writes, site);
    global_access(worker, at, bytes, writes, site);
}

/* Most accesses read a cell of shared memory that others have read before; they take the short way. */
void trace_access(sim_here *here, const void *at, unsigned kind, const void *site) {
    sim_worker *worker = (sim_worker *)here;
    const trace *t = worker->trace;
    uintptr_t offset = (uintptr_t)at - (uintptr_t)t->shared;
    if (kind == t->cell && offset < t->static_bytes && !(offset & (kind - 1)) && !t->watched &&
        shadow_knows_read(&t->cells[offset >> t->shift], &t->now))
        return;
    judge_access(worker, at, kind, (uint32_t)((uintptr_t)site - t->base));
}

void trace_no_access(sim_worker *worker, unsigned kind, const void *site) {
    const trace *t = worker->trace;
    if (t->counting) counters_no_access(worker, kind, site);
    if (t->watched) keep_event(worker, WARPS_NOWHERE, kind, (uint32_t)((uintptr_t)site - t->base));
}

void trace_bounds(sim_here *here, unsigned line, long long index) {
    report_bounds((sim_worker *)here, report_line((int)line), index);
}

/* ---- cp.async ---- */

/* From now on until it arrives the copy may write at any moment. */
void trace_copy_queued(sim_worker *worker, const async_copy *copy) {
    trace *t = worker->trace;
    if (t->counting) {
        counters_copy(worker, copy);
        return;
    }
    const int shift = t->shift;
    int64_t offset = trace_shared_offset(t, copy->to);
    unsigned bytes = (unsigned)copy->bytes, present = (unsigned)copy->present;
    uint32_t site = report_line(copy->line);
    if (offset < 0 || (bytes != 4 && bytes != 8 && bytes != 16) || offset % bytes || present > bytes)
        report_copy_target(worker, site);
    if (present && (uintptr_t)copy->from % bytes)
        report_misaligned(worker, (uintptr_t)copy->from, bytes, 0, site);
    if (present) global_access(worker, copy->from, present, 0, site);
    shared_access(worker, (uint32_t)offset, bytes | SIM_WRITE, site);
    for (uint32_t i = (uint32_t)offset >> shift, end = ((uint32_t)offset + bytes) >> shift; i < end; i++)
        t->cells[i].in_flight = 1;
}

void trace_copy_arrives(sim_worker *worker, const async_copy *copy) {
    trace *t = worker->trace;
    if (t->counting) return;
    const int shift = t->shift;
    uint32_t offset = (uint32_t)trace_shared_offset(t, copy->to);
    t->now.site = report_line(copy->line);
    for (uint32_t i = offset >> shift, end = (offset + (uint32_t)copy->bytes) >> shift; i < end; i++) {
        t->cells[i].in_flight = 0;
        shadow_write(&t->cells[i], &t->now);
    }
}

/* ---- Waiting ---- */

void trace_warp_stops(sim_worker *worker) {
    if (worker->trace->counting) counters_warp_stops(worker);
    count_banks(worker->trace);
}

void trace_barrier(sim_worker *worker) {
    if (worker->trace->counting) counters_barrier(worker);
    const sim_thread *waiting = NULL;
    for (int i = 0; i < worker->threads; i++) {
        const sim_thread *t = &worker->all[i];
        int alive = worker->warps[t->warp].alive >> t->lane & 1;
        if (alive && !waiting) waiting = t;
        if (alive && t->line != waiting->line) report_divergent(worker, waiting, t, 0);
    }
    for (int i = 0; worker->alive < worker->threads && i < worker->threads; i++) {
        const sim_thread *t = &worker->all[i];
        if (!(worker->warps[t->warp].alive >> t->lane & 1)) report_divergent(worker, waiting, t, 1);
    }
    count_banks(worker->trace);
    if (worker->trace->early.bytes) report_early_read(worker, &worker->trace->early);
    worker->trace->now.epoch++;
}

void trace_block_ends(sim_worker *worker) {
    if (worker->trace->early.bytes) report_early_read(worker, &worker->trace->early);
}

void trace_meeting(sim_worker *worker, unsigned mask) {
    const sim_thread *me = worker->running;
    int exist = worker->threads - me->warp * BLOCK_LANES;
    uint32_t lanes = exist >= BLOCK_LANES ? 0xffffffffu : (1u << exist) - 1;
    uint32_t ended = lanes & ~worker->warps[me->warp].alive & mask;
    if (!(mask >> me->lane & 1)) report_mask(worker, mask, me->lane, "calls it without being named");
    if (ended) report_mask(worker, mask, __builtin_ctz(ended), "has ended");
}

void trace_deadlock(sim_worker *worker) {
    report_deadlock(worker);
}
