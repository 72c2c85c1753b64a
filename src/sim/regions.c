/* regions.c: which bytes are elements of which matrix. */
#include "regions.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../memory.h"
#include "../numeric.h"
#include "../split.h"

/* Checking keeps a few bytes for each element; beyond this many it would take the machine's memory. */
static const uint64_t MOST_ELEMENTS = UINT64_C(1) << 30;

static int64_t lesser(int64_t x, int64_t y) {
    return x < y ? x : y;
}

/* From the lowest to the highest element, in elements from `data`. */
static void find_extent(const region *r, int64_t *low, int64_t *high) {
    int64_t ends[3] = {(r->rows - 1) * r->row_stride, (r->cols - 1) * r->col_stride,
                       (r->count - 1) * r->batch_stride};
    *low = *high = 0;
    for (int i = 0; i < 3; i++) {
        *low += lesser(ends[i], 0);
        *high += ends[i] > 0 ? ends[i] : 0;
    }
}

static uint64_t slot_of(const region *r, int64_t index, int64_t row, int64_t col) {
    const char *at =
        r->data + ((index * r->batch_stride + row * r->row_stride + col * r->col_stride) * (1 << r->shift));
    return (uint64_t)(at - r->low) >> r->shift;
}

/* Marks the elements; `held` says whether they hold anything to begin with, as far as `blocks` does not know
 * better. */
static void mark_elements(region *r, int held, const block_list *blocks) {
    for (int64_t index = 0; index < r->count; index++)
        for (int64_t row = 0; row < r->rows; row++)
            for (int64_t col = 0; col < r->cols; col++) {
                uint64_t slot = slot_of(r, index, row, col);
                int written =
                    held && blocks_written(blocks, r->low + (slot << r->shift), (size_t)1 << r->shift);
                r->state[slot] = (uint8_t)(REGION_ELEMENT | (written ? REGION_WRITTEN : 0));
            }
}

static tess_status add_region(regions *all, region r, int held, const block_list *blocks, sentence *why) {
    int64_t low, high;
    find_extent(&r, &low, &high);
    uint64_t slots = (uint64_t)(high - low) + 1;
    if (slots > MOST_ELEMENTS)
        return status_fail(why, TESS_ERROR_MEMORY,
                           "%s covers %" PRIu64 " elements of memory, more than can be checked (%" PRIu64
                           "); use the device sim, or a smaller product",
                           r.name, slots, MOST_ELEMENTS);
    r.low = r.data + low * (1 << r.shift);
    r.bytes = slots << r.shift;
    r.state = memory_alloc_zeroed(slots);
    r.writer = r.writable ? memory_alloc_zeroed(slots * sizeof *r.writer) : NULL;
    region *kept = &all->list[all->count++];
    *kept = r;
    if (!r.state || (r.writable && !r.writer))
        return status_fail(why, TESS_ERROR_MEMORY, "no memory to check %" PRIu64 " elements of %s", slots,
                           r.name);
    mark_elements(kept, held, blocks);
    return TESS_OK;
}

static int shift_of(tess_type type) {
    return __builtin_ctz((unsigned)numeric_size(type));
}

static tess_status add_move(const product_launch *launch, const block_list *blocks, regions *out,
                            sentence *why) {
    const launch_move *v = launch->arguments;
    region from = {.name = "the matrix moved from",
                   .data = v->from,
                   .shift = shift_of(launch->from),
                   .rows = v->rows,
                   .cols = v->cols,
                   .row_stride = v->from_row,
                   .col_stride = v->from_col,
                   .count = launch->grid[2],
                   .batch_stride = v->batch_from};
    region to = {.name = "the matrix moved to",
                 .data = v->to,
                 .shift = shift_of(launch->in),
                 .rows = v->rows_to,
                 .cols = v->cols_to,
                 .row_stride = v->to_row,
                 .col_stride = v->to_col,
                 .count = launch->grid[2],
                 .batch_stride = v->batch_to,
                 .writable = 1};
    TRY(add_region(out, from, 1, blocks, why));
    return add_region(out, to, 1, blocks, why);
}

static tess_status add_product(const product_launch *launch, const block_list *blocks, regions *out,
                               sentence *why) {
    const launch_gemm *g = launch->arguments;
    int64_t count = g->count;
    region a = {.name = "A",
                .data = g->a,
                .shift = shift_of(launch->in),
                .rows = g->m,
                .cols = g->k,
                .row_stride = g->lda,
                .col_stride = g->a_step,
                .count = count,
                .batch_stride = g->batch_a};
    region b = {.name = "B",
                .data = g->b,
                .shift = shift_of(launch->in),
                .rows = g->k,
                .cols = g->n,
                .row_stride = g->ldb,
                .col_stride = g->b_step,
                .count = count,
                .batch_stride = g->batch_b};
    region c = {.name = "C",
                .data = g->c,
                .shift = shift_of(launch->out),
                .rows = g->m,
                .cols = g->n,
                .row_stride = g->ldc,
                .col_stride = g->c_step,
                .count = count,
                .batch_stride = g->batch_c,
                .writable = 1};
    int64_t beta;
    memcpy(&beta, &g->beta, sizeof beta);
    out->beta_is_zero = (beta & INT64_MAX) == 0 ||
                        (launch->out != TESS_F64 && launch->out != TESS_I32 && (beta & INT32_MAX) == 0);
    if (g->k > 0) {
        TRY(add_region(out, a, 1, blocks, why));
        TRY(add_region(out, b, 1, blocks, why));
    }
    return add_region(out, c, !out->beta_is_zero, blocks, why);
}

/* Lines of the workspace: parts or factors. The kernels beside the product write them. */
static tess_status add_lines(const product_launch *launch, const char *name, const void *data, int shift,
                             int64_t lines, int64_t length, regions *out, sentence *why) {
    region r = {.name = name,
                .data = data,
                .shift = shift,
                .rows = lines,
                .cols = length,
                .row_stride = length,
                .col_stride = 1,
                .count = 1,
                .writable = !launch->row,
                .partly = 1};
    return add_region(out, r, 1, &(block_list){0}, why);
}

/* A or B as it lies, and what is made of it. */
static tess_status add_side(const product_launch *launch, const split_side *side, int is_b,
                            const block_list *blocks, regions *out, sentence *why) {
    int64_t k = launch->split->k, lines = (int64_t)side->lines * side->products,
            length = (k + SPLIT_DEPTH - 1) / SPLIT_DEPTH * SPLIT_CHUNK;
    region from = {.name = is_b ? "B" : "A",
                   .data = (const char *)side->from,
                   .shift = 2,
                   .rows = is_b ? k : side->lines,
                   .cols = is_b ? side->lines : k,
                   .row_stride = is_b ? side->step : side->line,
                   .col_stride = is_b ? side->line : side->step,
                   .count = side->products,
                   .batch_stride = side->batch};
    TRY(add_region(out, from, 1, blocks, why));
    TRY(add_lines(launch, is_b ? "the factors of B" : "the factors of A", side->undo, 2, lines + SPLIT_SPARE,
                  2, out, why));
    return add_lines(launch, is_b ? "the parts of B" : "the parts of A", side->parts, 1, lines, length, out,
                     why);
}

static tess_status add_split(const product_launch *launch, const block_list *blocks, regions *out,
                             sentence *why) {
    const split_arguments *s = launch->split;
    region c = {.name = "C",
                .data = (const char *)s->c,
                .shift = 2,
                .rows = s->a.lines,
                .cols = s->b.lines,
                .row_stride = s->c_row,
                .col_stride = s->c_col,
                .count = s->count,
                .batch_stride = s->batch_c,
                .writable = 1};
    TRY(add_side(launch, &s->a, 0, blocks, out, why));
    TRY(add_side(launch, &s->b, 1, blocks, out, why));
    TRY(add_lines(launch, "the state", s->state, 2, 1, 1 + s->blocks + SPLIT_COUNTERS, out, why));
    out->beta_is_zero = s->beta == 0;
    return launch->row ? add_region(out, c, !out->beta_is_zero, blocks, why) : TESS_OK;
}

tess_status regions_make(const product_launch *launch, const block_list *blocks, regions *out,
                         sentence *why) {
    memset(out, 0, sizeof *out);
    if (launch->split) return add_split(launch, blocks, out, why);
    return launch->moves ? add_move(launch, blocks, out, why) : add_product(launch, blocks, out, why);
}

void regions_close(regions *r, block_list *blocks) {
    for (int i = 0; i < r->count; i++) {
        region *it = &r->list[i];
        uint64_t slots = it->bytes >> it->shift;
        for (uint64_t slot = 0; blocks->first && it->writer && it->state && slot < slots; slot++)
            if (it->writer[slot]) blocks_note(blocks, it->low + (slot << it->shift), (size_t)1 << it->shift);
        memory_free((void *)(uintptr_t)it->state);
        memory_free((void *)(uintptr_t)it->writer);
    }
    r->count = 0;
}

/* Judges an access to [first, last] of a region that it lies in. */
static region_fault access_slots(const region *it, uint64_t first, uint64_t last, int writes,
                                 uint32_t thread) {
    for (uint64_t slot = first; slot <= last; slot++)
        if (!(atomic_load_explicit(&it->state[slot], memory_order_relaxed) & REGION_ELEMENT))
            return REGION_OUTSIDE;
    if (writes && !it->writable) return REGION_READ_ONLY;
    for (uint64_t slot = first; slot <= last; slot++) {
        if (!writes) {
            if (!(atomic_load_explicit(&it->state[slot], memory_order_relaxed) & REGION_WRITTEN))
                return REGION_UNWRITTEN;
            continue;
        }
        uint32_t before = atomic_exchange_explicit(&it->writer[slot], thread, memory_order_relaxed);
        if (before && before != thread) return REGION_TWICE;
        atomic_store_explicit(&it->state[slot], REGION_ELEMENT | REGION_WRITTEN, memory_order_relaxed);
    }
    return REGION_FINE;
}

/* How far an address is from a region; 0 inside. */
static uint64_t distance(const region *r, const char *at) {
    if ((uintptr_t)at < (uintptr_t)r->low) return (uintptr_t)r->low - (uintptr_t)at;
    uint64_t offset = (uintptr_t)at - (uintptr_t)r->low;
    return offset < r->bytes ? 0 : offset - r->bytes + 1;
}

/* Regions may interleave, so that what is no element of one may be one of another. */
region_fault regions_access(const regions *r, const char *at, unsigned bytes, int writes, uint32_t thread,
                            const region **found) {
    region_fault fault = REGION_OUTSIDE;
    *found = NULL;
    for (int i = 0; i < r->count; i++) {
        const region *it = &r->list[i];
        uint64_t offset = (uintptr_t)at - (uintptr_t)it->low;
        if (offset >= it->bytes || bytes > it->bytes - offset) continue;
        region_fault here =
            access_slots(it, offset >> it->shift, (offset + bytes - 1) >> it->shift, writes, thread);
        if (here == REGION_FINE) return REGION_FINE;
        if (!*found || here > fault) *found = it, fault = here;
    }
    for (int i = 0; !*found && i < r->count; i++) *found = &r->list[i];
    for (int i = 0; fault == REGION_OUTSIDE && i < r->count; i++)
        if (distance(&r->list[i], at) < distance(*found, at)) *found = &r->list[i];
    return fault;
}

/* The element a slot belongs to; 0 if it is none. */
static int find_element(const region *r, uint64_t slot, int64_t *index, int64_t *row, int64_t *col) {
    for (*index = 0; *index < r->count; ++*index)
        for (*row = 0; *row < r->rows; ++*row)
            for (*col = 0; *col < r->cols; ++*col)
                if (slot_of(r, *index, *row, *col) == slot) return 1;
    return 0;
}

void regions_describe(const region *of, const char *at, char text[160]) {
    int64_t index, row, col;
    char shape[64];
    snprintf(shape, sizeof shape, "%s is %" PRId64 "×%" PRId64, of->name, of->rows, of->cols);
    if ((uintptr_t)at < (uintptr_t)of->low)
        snprintf(text, 160, "%" PRIu64 " bytes before %s (%s)", distance(of, at), of->name, shape);
    else if (distance(of, at) == 1)
        snprintf(text, 160, "just past the end of %s (%s)", of->name, shape);
    else if (distance(of, at) > 1)
        snprintf(text, 160, "%" PRIu64 " bytes past the end of %s (%s)", distance(of, at) - 1, of->name,
                 shape);
    else if (!find_element(of, (uint64_t)(at - of->low) >> of->shift, &index, &row, &col))
        snprintf(text, 160, "between the rows of %s, %" PRIu64 " bytes after its first element (%s)",
                 of->name, (uint64_t)(at - of->low), shape);
    else if (of->count > 1)
        snprintf(text, 160, "%s[%" PRId64 "][%" PRId64 "] of product %" PRId64 " (%s)", of->name, row, col,
                 index, shape);
    else
        snprintf(text, 160, "%s[%" PRId64 "][%" PRId64 "] (%s)", of->name, row, col, shape);
}

int regions_unwritten(const regions *r, const region **found, const char **at) {
    for (int i = 0; i < r->count; i++) {
        const region *it = &r->list[i];
        uint64_t slots = it->bytes >> it->shift;
        for (uint64_t slot = 0; it->writable && !it->partly && slot < slots; slot++)
            if (it->state[slot] && !it->writer[slot]) {
                *found = it;
                *at = it->low + (slot << it->shift);
                return 1;
            }
    }
    return 0;
}
