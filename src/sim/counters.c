/* counters.c: charging instructions.
 *
 * Global memory: one request an instruction that any lane accesses anything by; as many sectors as its lanes
 * touch 32-byte pieces. Shared memory: the wavefronts of banks.h. */
#include "counters.h"

#include <string.h>

#include "../memory.h"
#include "banks.h"

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

uint64_t *counters_line(counters *c, uint32_t site) {
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

void counters_add_global(counters *c, const warps_request *r) {
    uint64_t sectors[WARPS_LANES], *line = counters_line(c, r->site);
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
    uint64_t *line = counters_line(c, site);
    uint64_t *three = line + (writes ? COUNTERS_SHARED_STORE : COUNTERS_SHARED_LOAD);
    if (r->kind & WARPS_COPY)
        line[COUNTERS_GLOBAL_LOAD + 1] += (uint64_t)banks_copy_split_sectors(&c->copied, r);
    three[0]++;
    three[1] += (uint64_t)wavefronts;
    three[2] += (uint64_t)(wavefronts - least);
}
