/* counters.c: charging instructions.
 *
 * Global memory: one request an instruction that any lane accesses anything by; as many sectors as its lanes
 * touch 32-byte pieces. Shared memory: the wavefronts of banks.h. Loads of shared memory are kept until the
 * barrier in the compiled view, because what the compiler makes of them shows only in all warps together. */
#include "counters.h"

#include <string.h>

#include "../memory.h"
#include "banks.h"
#include "trace.h"

enum { SECTOR_SHIFT = 5, SECTOR = 1 << SECTOR_SHIFT, LINE_SHIFT = 7 };

tess_status counters_begin(counters *c, const module *m, tess_count_view view, sentence *why) {
    *c = (counters){.m = m, .view = view};
    int last = 0;
    for (int i = 0; i < m->where.count; i++)
        if (m->where.rows[i].line > last) last = m->where.rows[i].line;
    c->tally.line_count = last + 1;
    c->tally.lines = memory_alloc_zeroed((size_t)c->tally.line_count * sizeof *c->tally.lines);
    if (c->tally.lines) return TESS_OK;
    return status_fail(why, TESS_ERROR_MEMORY, "no memory for the counters of %d lines", last);
}

void counters_free(counters *c) {
    memory_free(c->tally.lines);
    memory_free(c->loads);
    warps_free(&c->running);
    memset(c, 0, sizeof *c);
}

/* ---- Instructions ---- */

static uint64_t *line_of(counters *c, uint32_t site) {
    int line = lines_find(&c->m->where, site);
    return c->tally.lines[line];
}

static uint64_t lanes_of(uint32_t mask) {
    return (uint64_t)__builtin_popcount(mask);
}

/* The sectors of a request and which of their bytes are asked for; returns how many. An element lies within
 * one sector, because it begins at a multiple of its size. */
static int sectors_of(const warps_request *r, uint64_t sectors[WARPS_LANES], uint32_t used[WARPS_LANES]) {
    int count = 0, last = 0;
    uint32_t bytes = (1u << (r->kind & WARPS_BYTES)) - 1;
    for (uint32_t left = r->mask; left; left &= left - 1) {
        uint64_t at = r->at[__builtin_ctz(left)], sector = at >> SECTOR_SHIFT;
        if (count == 0 || sectors[last] != sector)
            for (last = 0; last < count && sectors[last] != sector;) last++;
        if (last == count) {
            sectors[count] = sector;
            used[count++] = 0;
        }
        used[last] |= bytes << (at & (SECTOR - 1));
    }
    return count;
}

/* Passes of a request through L1: one for each 128-byte line that a group of lanes touches which could be
 * served at once; 32 lanes are one group, or two of 8-byte elements, or four of 16-byte ones. */
static uint64_t wavefronts_of(const warps_request *r) {
    uint32_t bytes = r->kind & WARPS_BYTES, group = bytes > 4 ? WARPS_LANES * 4 / bytes : WARPS_LANES;
    uint64_t seen[WARPS_LANES], sum = 0;
    int count = 0;
    for (uint32_t lane = 0; lane < WARPS_LANES; lane++) {
        if (lane % group == 0) count = 0;
        if (!(r->mask >> lane & 1)) continue;
        uint64_t line = r->at[lane] >> LINE_SHIFT;
        int at = 0;
        while (at < count && seen[at] != line) at++;
        if (at < count) continue;
        seen[count++] = line;
        sum++;
    }
    return sum;
}

static void add_global(counters *c, const warps_request *r) {
    uint64_t sectors[WARPS_LANES], *line = line_of(c, r->site);
    uint32_t used[WARPS_LANES];
    int writes = (r->kind & WARPS_WRITE) != 0, count = sectors_of(r, sectors, used);
    uint64_t *three = line + (writes ? COUNTERS_GLOBAL_STORE : COUNTERS_GLOBAL_LOAD);
    three[0] += r->mask != 0;
    three[1] += (uint64_t)count;
    line[COUNTERS_WAVEFRONTS] += wavefronts_of(r);
    three[2] += lanes_of(r->mask) * (r->kind & WARPS_BYTES);
    for (int i = 0; i < count; i++) line[COUNTERS_DISTINCT] += lanes_of(used[i]);
}

void counters_add_shared(counters *c, const warps_request *r) {
    uint32_t offsets[WARPS_LANES];
    int least, writes = (r->kind & WARPS_WRITE) != 0;
    for (int lane = 0; lane < WARPS_LANES; lane++) offsets[lane] = (uint32_t)r->at[lane];
    int bytes = (int)(r->kind & WARPS_BYTES);
    int wavefronts = r->kind & WARPS_COPY
                         ? banks_copy_wavefronts(&c->copied, r, &least)
                         : banks_wavefronts(offsets, r->mask, bytes, banks_are_apart(r->kind), &least);
    uint32_t site = r->kind & WARPS_COPY ? r->site - 1 : r->site; /* of a copy it was put one byte behind */
    uint64_t *line = line_of(c, site);
    uint64_t *three = line + (writes ? COUNTERS_SHARED_STORE : COUNTERS_SHARED_LOAD);
    if (r->kind & WARPS_COPY)
        line[COUNTERS_GLOBAL_LOAD + 1] += (uint64_t)banks_copy_split_sectors(&c->copied, r);
    three[0]++;
    three[1] += (uint64_t)wavefronts;
    three[2] += (uint64_t)(wavefronts - least);
}

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
        add_global(c, r);
        return 1;
    }
    if (!writes && !(r->kind & WARPS_FIXED) && c->view == TESS_COUNT_COMPILED) return keep_load(c, r);
    c->stores[c->warp] += writes;
    counters_add_shared(c, r);
    return 1;
}

/* ---- What happens in a block ---- */

static void give_up(sim_worker *worker) {
    status_fail(worker->why, TESS_ERROR_MEMORY, "no memory for the events of a warp");
    block_stop(worker, TESS_ERROR_MEMORY);
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
    block_stop(worker, TESS_OK);
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
    uint64_t *line = line_of(worker->trace->counting, (uint32_t)((uintptr_t)site - worker->trace->base));
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
