/* counters_events.c: from what the threads of a block do to instructions of its warps.
 *
 * Loads of shared memory are kept until the barrier in the compiled view, because what the compiler makes of them shows only in
 * all warps together. */
#include "counters_events.h"

#include <string.h>

#include "../memory.h"
#include "counters_widen.h"
#include "trace_state.h"

static int keep_load(counters *c, const warps_request *r) {
    if (c->load_count == c->load_room) {
        int room = c->load_room ? 2 * c->load_room : 256;
        counters_shared_load *larger = memory_alloc((size_t)room * sizeof *larger);
        if (!larger) return 0;
        if (c->load_count) memcpy(larger, c->loads, (size_t)c->load_count * sizeof *larger);
        memory_free(c->loads);
        c->loads = larger;
        c->load_room = room;
    }
    c->loads[c->load_count++] = (counters_shared_load){*r, c->warp, c->stores[c->warp]};
    return 1;
}

static int add_request(void *self, const warps_request *r) {
    counters *c = self;
    int writes = (r->kind & WARPS_WRITE) != 0;
    if (!(r->kind & WARPS_SHARED)) {
        if (r->kind & WARPS_COPY) c->copied = *r;
        counters_add_global(c, r);
        return 1;
    }
    if (!writes && !(r->kind & WARPS_FIXED) && c->view == TESS_COUNT_COMPILED) return keep_load(c, r);
    c->stores[c->warp] += writes;
    counters_add_shared(c, r);
    return 1;
}

static void give_up(sim_worker *worker) {
    status_fail(worker->why, TESS_ERROR_MEMORY, "no memory for the events of a warp");
    worker_stop(worker, TESS_ERROR_MEMORY);
}

static void note(sim_worker *worker, uint64_t at, uint32_t kind, uint32_t site) {
    warps_event event = {at, site, kind};
    if (worker->trace->counting->until_store) return;
    if (!warps_note(&worker->trace->counting->running, worker->running->lane, &event)) give_up(worker);
}

/* A thread's own variables and the constants of the module are no memory that a GPU would count. */
static int is_own(const sim_worker *worker, const void *at) {
    const trace *t = worker->trace;
    return (uintptr_t)at - (uintptr_t)worker->running->context.stack < SIM_STACK ||
           (uintptr_t)at - t->base < t->checks->m->span;
}

static void stop_at_store(sim_worker *worker, const void *at) {
    counters *c = worker->trace->counting;
    if (!c->until_store) return;
    c->first_store = at;
    worker_stop(worker, TESS_OK);
}

void counters_access(sim_here *here, const void *at, unsigned kind, const void *site) {
    sim_worker *worker = (sim_worker *)here;
    uint32_t place = (uint32_t)((uintptr_t)site - worker->trace->base), what = trace_event_kind(kind);
    if (kind == 0) {
        note(worker, WARPS_NOWHERE, 0, place);
        return;
    }
    int64_t offset = trace_shared_offset(worker->trace, at);
    if (offset >= 0)
        note(worker, (uint64_t)offset, what | WARPS_SHARED, place);
    else if (!is_own(worker, at)) {
        if (what & WARPS_WRITE) stop_at_store(worker, at);
        note(worker, (uintptr_t)at, what, place);
    }
}

/* A load and a store in one instruction; the store is put one byte behind, where no other instruction is. */
void counters_copy(sim_worker *worker, const async_copy *copy) {
    uint32_t place = (uint32_t)(copy->site - worker->trace->base), kind = (uint32_t)copy->bytes | WARPS_COPY;
    int64_t offset = trace_shared_offset(worker->trace, copy->to);
    note(worker, copy->present > 0 ? (uintptr_t)copy->from : WARPS_NOWHERE, kind, place);
    note(worker, offset < 0 ? WARPS_NOWHERE : (uint64_t)offset, kind | WARPS_WRITE | WARPS_SHARED, place + 1);
}

void counters_no_access(sim_worker *worker, unsigned kind, const void *site) {
    note(worker, WARPS_NOWHERE, trace_event_kind(kind) | WARPS_SHARED,
         (uint32_t)((uintptr_t)site - worker->trace->base));
}

void counters_mma(sim_worker *worker, const void *site, unsigned operations) {
    uint64_t *line =
        counters_line(worker->trace->counting, (uint32_t)((uintptr_t)site - worker->trace->base));
    line[COUNTERS_MMA]++;
    line[COUNTERS_MMA + 1] += operations;
}

void counters_warp_stops(sim_worker *worker) {
    counters *c = worker->trace->counting;
    c->warp = worker->running->warp;
    if (!warps_gather(&c->running, add_request, c)) give_up(worker);
}

void counters_barrier(sim_worker *worker) {
    counters *c = worker->trace->counting;
    counters_warp_stops(worker);
    if (!counters_add_widened(c)) give_up(worker);
    memset(c->stores, 0, sizeof c->stores);
    c->tally.barriers++;
}

int counters_finish(counters *c) {
    return counters_add_widened(c);
}
