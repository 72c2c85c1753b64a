/* report.c: who, where, what, and what to do about it. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WHO = 96, PLACE = 96 };

static void describe_thread(const sim_worker *worker, int number, char text[WHO]) {
    const sim_index *i = &worker->all[number].index;
    if (worker->launch->block_y == 1)
        snprintf(text, WHO, "thread %u", i->x);
    else
        snprintf(text, WHO, "thread (%u,%u)", i->x, i->y);
}

/* "thread (3,1) of block (0,2)". */
static void describe_in_block(const sim_worker *worker, int number, char text[WHO]) {
    char thread[WHO];
    const sim_index *b = &worker->here.block;
    describe_thread(worker, number, thread);
    if (worker->launch->grid[2] > 1)
        snprintf(text, WHO, "%.40s of block (%u,%u,%u)", thread, b->x, b->y, b->z);
    else
        snprintf(text, WHO, "%.40s of block (%u,%u)", thread, b->x, b->y);
}

static void describe_running(const sim_worker *worker, char text[WHO]) {
    describe_in_block(worker, worker->running->number, text);
}

static const char *file_of(const module *m) {
    const char *slash = strrchr(m->file, '/');
    return slash ? slash + 1 : m->file;
}

static int line_of(const trace_checks *checks, uint32_t site) {
    return site & (uint32_t)REPORT_IS_LINE ? (int)(site & 0x7fffffffu) : lines_find(&checks->m->where, site);
}

/* "simt_05_shared.cu:27". */
static void describe_place(const trace_checks *checks, uint32_t site, char text[PLACE]) {
    snprintf(text, PLACE, "%.60s:%d", file_of(checks->m), line_of(checks, site));
}

static void describe_shared(const sim_worker *worker, uint32_t offset, char text[PLACE]) {
    const trace *t = worker->trace;
    const lines_name *name = lines_find_name(&t->checks->m->where, offset);
    if (name)
        snprintf(text, PLACE, "byte %u of %s", offset - name->offset, name->name);
    else if (offset >= t->static_bytes)
        snprintf(text, PLACE, "byte %u of the dynamic shared memory", offset - t->static_bytes);
    else
        snprintf(text, PLACE, "byte %u of shared memory", offset);
}

/* ---- Shared memory ---- */

/* The sentence of two accesses that conflict: what this one does, and what the other did. */
static void race(sim_worker *worker, const char *does, const char *did, unsigned other, uint32_t other_site,
                 uint32_t offset, uint32_t site) {
    char who[WHO], where[PLACE], what[PLACE], them[WHO];
    const trace_checks *checks = worker->trace->checks;
    describe_running(worker, who);
    describe_place(checks, site, where);
    describe_shared(worker, offset, what);
    describe_thread(worker, (int)other, them);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "shared-memory race at %s: %s %s %s, which %s %s at line %d with no barrier between; put "
                "__syncthreads() between the two",
                where, who, does, what, them, did, line_of(checks, other_site));
}

void report_shared(sim_worker *worker, shadow_fault fault, uint32_t offset, int writes,
                   const shadow_cell *cell, uint32_t site) {
    char who[WHO], where[PLACE], what[PLACE], them[WHO];
    const trace_checks *checks = worker->trace->checks;
    if (fault == SHADOW_WRITE_AFTER_READ) {
        race(worker, "writes", "read", cell->reader, cell->read_site, offset, site);
    } else if (fault != SHADOW_IN_FLIGHT) {
        race(worker, writes ? "writes" : "reads", "wrote", cell->writer, cell->wrote_site, offset, site);
    } else {
        describe_running(worker, who);
        describe_place(checks, site, where);
        describe_shared(worker, offset, what);
        describe_thread(worker, cell->writer, them);
        status_fail(worker->why, TESS_ERROR_DEVICE,
                    "shared memory in flight at %s: %s %s %s, where the cp_async of %s at line %d has not "
                    "arrived; cp_wait and then __syncthreads() must come first",
                    where, who, writes ? "writes" : "reads", what, them, line_of(checks, cell->wrote_site));
    }
    worker_stop(worker, TESS_ERROR_DEVICE);
}

void report_early_read(sim_worker *worker, const trace_early_read *read) {
    char who[WHO], where[PLACE], what[PLACE];
    describe_in_block(worker, read->thread, who);
    describe_place(worker->trace->checks, read->site, where);
    describe_shared(worker, read->offset, what);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "uninitialised shared memory at %s: %s reads %u bytes at %s, which no thread of its block "
                "has written; write it, or wait for the copy that brings it, and then __syncthreads()",
                where, who, read->bytes, what);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

void report_past_shared(sim_worker *worker, uint32_t offset, unsigned bytes, int writes, uint32_t site) {
    char who[WHO], where[PLACE];
    describe_running(worker, who);
    describe_place(worker->trace->checks, site, where);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "out of bounds at %s: %s %s %u bytes at byte %u of shared memory, beyond its end; the block "
                "has %u bytes",
                where, who, writes ? "writes" : "reads", bytes, offset, worker->trace->end);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

void report_copy_target(sim_worker *worker, uint32_t site) {
    char who[WHO], where[PLACE];
    describe_running(worker, who);
    describe_place(worker->trace->checks, site, where);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "cp_async at %s: %s copies to memory that is not shared, or not aligned to the copy, or not "
                "4, 8 or 16 bytes, or more bytes than that are said to be present; the target must be a "
                "__shared__ variable",
                where, who);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

/* ---- Global memory ---- */

void report_global(sim_worker *worker, region_fault fault, const region *found, const char *at,
                   unsigned bytes, int writes, uint32_t site) {
    char who[WHO], where[PLACE], what[160];
    const char *verb = writes ? "writes" : "reads";
    describe_running(worker, who);
    describe_place(worker->trace->checks, site, where);
    regions_describe(found, at, what);
    switch (fault) {
    case REGION_READ_ONLY:
        status_fail(worker->why, TESS_ERROR_DEVICE,
                    "write to an input at %s: %s writes %s; only C may be written", where, who, what);
        break;
    case REGION_UNWRITTEN:
        status_fail(worker->why, TESS_ERROR_DEVICE, "uninitialised global memory at %s: %s reads %s, %s",
                    where, who, what,
                    found->writable && worker->trace->checks->memory.beta_is_zero
                        ? "though beta is 0: C may hold anything and must not be read"
                        : "which has never been written; fill it with tess_copy first");
        break;
    case REGION_TWICE:
        status_fail(worker->why, TESS_ERROR_DEVICE,
                    "global-memory race at %s: %s writes %s, which another thread has written too; guard the "
                    "store so that each element has one thread",
                    where, who, what);
        break;
    default:
        status_fail(worker->why, TESS_ERROR_DEVICE,
                    "out of bounds at %s: %s %s %u bytes %s%s; guard the access with the matrix's sizes",
                    where, who, verb, bytes, writes && found->writable ? "outside C: " : "", what);
    }
    worker_stop(worker, TESS_ERROR_DEVICE);
}

void report_misaligned(sim_worker *worker, uintptr_t at, unsigned bytes, int writes, uint32_t site) {
    char who[WHO], where[PLACE];
    describe_running(worker, who);
    describe_place(worker->trace->checks, site, where);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "misaligned access at %s: %s %s %u bytes at an address %u bytes past a multiple of %u; an "
                "access must begin at a multiple of its size",
                where, who, writes ? "writes" : "reads", bytes, (unsigned)(at % bytes), bytes);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

void report_bounds(sim_worker *worker, uint32_t site, long long index) {
    char who[WHO], where[PLACE];
    describe_running(worker, who);
    describe_place(worker->trace->checks, site, where);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "out of bounds at %s: %s uses index %lld, which its array does not have; make the loop or "
                "the array one that fits the other",
                where, who, index);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

tess_status report_unwritten(const trace_checks *checks, sentence *why) {
    const region *found;
    const char *at;
    char what[160];
    if (!regions_unwritten(&checks->memory, &found, &at)) return TESS_OK;
    regions_describe(found, at, what);
    return status_fail(why, TESS_ERROR_DEVICE,
                       "%s was written by no thread of %s; every element must be, so look at the guard of "
                       "the store and at the tile the row says a block computes",
                       what, file_of(checks->m));
}

/* ---- Waiting ---- */

void report_divergent(sim_worker *worker, const sim_thread *waiting, const sim_thread *other, int ended) {
    char who[WHO], them[WHO], does[64];
    const sim_index *b = &worker->here.block;
    describe_thread(worker, waiting->number, who);
    describe_thread(worker, other->number, them);
    if (ended)
        snprintf(does, sizeof does, "has ended");
    else
        snprintf(does, sizeof does, "waits at line %d", other->line);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "divergent barrier at %s:%d: %s of block (%u,%u) waits there, but %s %s; every thread of a "
                "block must come to the same __syncthreads()",
                file_of(worker->trace->checks->m), waiting->line, who, b->x, b->y, them, does);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

void report_mask(sim_worker *worker, unsigned mask, int lane, const char *what) {
    char who[WHO];
    describe_running(worker, who);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "warp operation at %s:%d: %s names lanes %#x, but lane %d %s; a mask must name the lanes "
                "that come, and all of them must come",
                file_of(worker->trace->checks->m), worker->running->line, who, mask, lane, what);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

/* ---- Tensor cores ---- */

static const char *name_of(const sim_tensor *ask) {
    static const char *const names[] = {"ldmatrix", "mma", "wmma_load", "wmma_multiply", "wmma_store"};
    return names[ask->operation];
}

/* Also found where nothing is traced; then the file is not known. */
void report_apart(sim_worker *worker, int lane, int other, const char *does) {
    int first = worker->running->warp * BLOCK_LANES;
    char who[WHO], them[WHO] = "", where[PLACE];
    const trace *t = worker->trace;
    uint32_t line = report_line(worker->all[first + lane].line);
    if (t)
        describe_place(t->checks, line, where);
    else
        snprintf(where, PLACE, "line %d", worker->all[first + lane].line);
    describe_in_block(worker, first + lane, who);
    if (first + other < worker->threads) describe_thread(worker, first + other, them);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "warp operation at %s: %s comes there, but lane %d of its warp%s%s%s %s; all 32 lanes must "
                "come to the same instruction of tensor cores, and ask for the same",
                where, who, other, them[0] ? " (" : "", them, them[0] ? ")" : "", does);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

void report_space(sim_worker *worker, const sim_tensor *ask) {
    char who[WHO], where[PLACE];
    describe_running(worker, who);
    describe_place(worker->trace->checks, report_line(ask->line), where);
    status_fail(worker->why, TESS_ERROR_DEVICE, "%s at %s: %s gives an address that is %s shared memory; %s",
                name_of(ask), where, who, ask->shared ? "not in" : "in",
                ask->shared ? "it must be that of a __shared__ variable"
                            : "say that it is shared, or give one of global memory");
    worker_stop(worker, TESS_ERROR_DEVICE);
}

void report_wmma_address(sim_worker *worker, const sim_tensor *ask, unsigned past, unsigned unit,
                         int64_t distance) {
    char who[WHO], where[PLACE];
    describe_running(worker, who);
    describe_place(worker->trace->checks, report_line(ask->line), where);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "misaligned matrix at %s: %s calls %s with an address %u bytes past a multiple of %u and "
                "rows "
                "%" PRId64
                " bytes apart; it must begin at a multiple of %u bytes, with rows a multiple of 16 "
                "apart",
                where, who, name_of(ask), past, unit, distance, unit);
    worker_stop(worker, TESS_ERROR_DEVICE);
}

/* ---- Deadlock ---- */

/* One thread at the barrier and one that waits for its warp, if there are such. */
void report_deadlock(sim_worker *worker) {
    const sim_thread *at_barrier = NULL, *in_warp = NULL;
    char who[WHO] = "none", them[WHO] = "none";
    const sim_index *b = &worker->here.block;
    for (int i = 0; i < worker->threads; i++) {
        const sim_thread *t = &worker->all[i];
        const sim_warp *warp = &worker->warps[t->warp];
        if (!(warp->alive >> t->lane & 1)) continue;
        if (warp->met >> t->lane & 1)
            in_warp = in_warp ? in_warp : t;
        else
            at_barrier = at_barrier ? at_barrier : t;
    }
    if (at_barrier) describe_thread(worker, at_barrier->number, who);
    if (in_warp) describe_thread(worker, in_warp->number, them);
    status_fail(worker->why, TESS_ERROR_DEVICE,
                "deadlock in block (%u,%u): %s waits at the barrier of line %d and %s at the warp operation "
                "of line %d; all threads must come to the barrier, and all lanes named to the warp operation",
                b->x, b->y, who, at_barrier ? at_barrier->line : 0, them, in_warp ? in_warp->line : 0);
    worker_stop(worker, TESS_ERROR_DEVICE);
}
