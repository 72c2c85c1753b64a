/* count.c: which blocks are run, how deep, and how they add up.
 *
 * Blocks of one kind do the same but for multiples of a sector in their addresses, so one stands for all.
 * Along k a kernel repeats itself: three depths a period apart are traced, and if the third adds exactly what
 * the second added, on every line, so do all others up to k. If it does not, the block is traced whole.
 *
 * A block whose warps all went one way is done. Where lanes parted it is run again by a module that records
 * every step (warps.h says what for). */
#include "count.h"

#include <stdatomic.h>
#include <string.h>

#include "../memory.h"
#include "../numeric.h"
#include "count_block.h"
#include "count_kinds.h"
#include "count_tiles.h"
#include "tensor_core.h"

/* k repeats itself after so many elements: a whole number of sectors of any type, times the tiles' depth. */
enum { PERIOD = 32, PERIODS_BEFORE = 2, ALIGNMENT = 256 };

/* One count under way. */
typedef struct counting {
    sim_device *self;
    const plan *decided;
    tess_count_view view;
    tess_counters *sum;
    double (*lines)[COUNTERS_VALUES];
    int line_count;
    int64_t depth; /* of the kernel's tiles; 0: it has none */
} counting;

static _Atomic int every_block;

void count_every_block(int yes) {
    atomic_store(&every_block, yes);
}

/* ---- One block ---- */

/* Runs block `at` with the depth in `args`. */
static tess_status run_block(const counting *count, const product_launch *launch, const launch_gemm *args,
                             const unsigned at[3], int steps, counters *out, sentence *why) {
    const count_run how = {args, {at[0], at[1], at[2]}, count->view, steps, 0};
    return count_run_block(count->self, launch, &how, out, why);
}

/* ---- Depths ---- */

/* What a line of a block counts, deeper by `more` times what the second depth has over the first. */
static uint64_t at_depth(uint64_t first, uint64_t second, uint64_t more) {
    return first + more * (second - first);
}

/* Whether the third depth adds what the second did. */
static int goes_on(const counters_tally t[3]) {
    if (t[0].line_count != t[1].line_count || t[1].line_count != t[2].line_count) return 0;
    for (int line = 0; line < t[0].line_count; line++)
        for (int i = 0; i < COUNTERS_VALUES; i++)
            if (at_depth(t[0].lines[line][i], t[1].lines[line][i], 2) != t[2].lines[line][i]) return 0;
    return at_depth(t[0].barriers, t[1].barriers, 2) == t[2].barriers;
}

static void extend(counters_tally *t, const counters_tally *second, uint64_t more) {
    for (int line = 0; line < t->line_count; line++)
        for (int i = 0; i < COUNTERS_VALUES; i++)
            t->lines[line][i] = at_depth(t->lines[line][i], second->lines[line][i], more);
    t->barriers = at_depth(t->barriers, second->barriers, more);
}

static int64_t common_multiple(int64_t x, int64_t y) {
    int64_t a = x, b = y;
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return x / a * y;
}

/* Traces three depths and extends the first. *done is 0 if the block does not go on as it began. */
static tess_status trace_some(const counting *count, const product_launch *launch, const unsigned at[3],
                              int steps, counters *out, int *done, sentence *why) {
    launch_gemm args = *(const launch_gemm *)launch->arguments;
    int64_t k = args.k, period = common_multiple(PERIOD, count->depth ? count->depth : 1);
    int64_t first = k % period + PERIODS_BEFORE * period;
    counters three[3];
    tess_status status = TESS_OK;
    *done = 0;
    if (k <= first + 2 * period || atomic_load(&every_block)) return TESS_OK;
    memset(three, 0, sizeof three);
    for (int i = 0; status == TESS_OK && i < 3; i++) {
        args.k = (int32_t)(first + i * period);
        status = run_block(count, launch, &args, at, steps, &three[i], why);
    }
    const counters_tally tallies[3] = {three[0].tally, three[1].tally, three[2].tally};
    if (status == TESS_OK && goes_on(tallies)) {
        extend(&three[0].tally, &three[1].tally, (uint64_t)((k - first) / period));
        three[0].running.diverged |= three[1].running.diverged | three[2].running.diverged;
        *out = three[0];
        memset(&three[0], 0, sizeof three[0]);
        *done = 1;
    }
    for (int i = 0; i < 3; i++) counters_free(&three[i]);
    return status;
}

static tess_status trace_block_at(const counting *count, const product_launch *launch, const unsigned at[3],
                                  int steps, counters *out, sentence *why) {
    int done;
    TRY(trace_some(count, launch, at, steps, out, &done, why));
    return done ? TESS_OK : run_block(count, launch, launch->arguments, at, steps, out, why);
}

/* ---- Sums ---- */

static tess_status make_lines(counting *count, int wanted, sentence *why) {
    if (wanted <= count->line_count) return TESS_OK;
    double(*larger)[COUNTERS_VALUES] = memory_alloc_zeroed((size_t)wanted * sizeof *larger);
    if (!larger) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the counters of %d lines", wanted);
    if (count->line_count) memcpy(larger, count->lines, (size_t)count->line_count * sizeof *larger);
    memory_free(count->lines);
    count->lines = larger;
    count->line_count = wanted;
    return TESS_OK;
}

static tess_status add_tally(counting *count, const counters_tally *t, double blocks, sentence *why) {
    TRY(make_lines(count, t->line_count, why));
    for (int line = 0; line < t->line_count; line++)
        for (int i = 0; i < COUNTERS_VALUES; i++) count->lines[line][i] += blocks * (double)t->lines[line][i];
    if ((double)t->barriers > count->sum->barriers) count->sum->barriers = (double)t->barriers;
    return TESS_OK;
}

/* What the block must load at least: its rows of A and its columns of B, of each of its products. */
static double panel_sectors(const product_launch *launch, const unsigned at[3]) {
    const launch_gemm *g = launch->arguments;
    const launch_shape *s = &launch->shape;
    int64_t in = numeric_size(launch->in), row = (int64_t)at[1] * s->tile_rows,
            col = (int64_t)at[0] * s->tile_cols;
    int64_t rows = g->m - row < s->tile_rows ? g->m - row : s->tile_rows;
    int64_t cols = g->n - col < s->tile_cols ? g->n - col : s->tile_cols;
    double sectors = 0;
    for (int64_t product = (int64_t)at[2] * s->products, end = product + s->products;
         product < end && product < g->count; product++) {
        const count_matrix a = {product * g->batch_a + row * g->lda, rows, g->k, g->lda, g->a_step, in};
        const count_matrix b = {product * g->batch_b + col * g->b_step, g->k, cols, g->ldb, g->b_step, in};
        sectors += (double)count_sectors(&a) + (double)count_sectors(&b);
    }
    return sectors;
}

/* Traces a block whose lanes parted again, with its steps. Where no steps can be recorded, what was found
 * without them stays, which is nearly right. */
static tess_status trace_parted(counting *count, const product_launch *launch, const unsigned at[3],
                                counters *found, sentence *why) {
    counters parted;
    memset(&parted, 0, sizeof parted);
    tess_status status = trace_block_at(count, launch, at, 1, &parted, why);
    if (status == TESS_OK) {
        counters_free(found);
        *found = parted;
        return TESS_OK;
    }
    counters_free(&parted);
    if (status != TESS_ERROR_KERNEL) return status;
    count->sum->estimated = 1;
    return TESS_OK;
}

/* Traces the block `at`, which computes `tile`, and adds it as often as there are others like it. */
static tess_status add_kind(counting *count, const product_launch *launch, const unsigned at[3],
                            const unsigned tile[3], double blocks, sentence *why) {
    counters found;
    memset(&found, 0, sizeof found);
    tess_status status = trace_block_at(count, launch, at, 0, &found, why);
    if (status == TESS_OK && found.running.diverged) status = trace_parted(count, launch, at, &found, why);
    if (status == TESS_OK) status = add_tally(count, &found.tally, blocks, why);
    counters_free(&found);
    count->sum->l2_sectors_least += blocks * panel_sectors(launch, tile);
    count->sum->blocks += blocks;
    count->sum->blocks_traced++;
    return status;
}

/* ---- Launches ---- */

/* The kinds along each axis of the grid. */
typedef struct grid_kinds {
    count_kind x[COUNT_KINDS], y[COUNT_KINDS], z[COUNT_KINDS];
    int nx, ny, nz;
} grid_kinds;

static void find_kinds(const product_launch *launch, const launch_gemm *g, grid_kinds *out) {
    const launch_shape *s = &launch->shape;
    int64_t in = numeric_size(launch->in), c = numeric_size(launch->out);
    const count_axis x = {launch->grid[0],
                          s->tile_cols,
                          g->n,
                          {0, s->tile_cols * g->b_step * in, s->tile_cols * g->c_step * c}};
    const count_axis y = {launch->grid[1],
                          s->tile_rows,
                          g->m,
                          {s->tile_rows * g->lda * in, 0, s->tile_rows * g->ldc * c}};
    const count_axis z = {launch->grid[2],
                          s->products,
                          g->count,
                          {s->products * g->batch_a * in, s->products * g->batch_b * in,
                           s->products * g->batch_c * c}};
    out->nx = count_kinds(&x, out->x);
    out->ny = count_kinds(&y, out->y);
    out->nz = count_kinds(&z, out->z);
}

static tess_status add_every_block(counting *count, const product_launch *launch, sentence *why) {
    for (unsigned z = 0; z < launch->grid[2]; z++)
        for (unsigned y = 0; y < launch->grid[1]; y++)
            for (unsigned x = 0; x < launch->grid[0]; x++) {
                const unsigned at[3] = {x, y, z};
                TRY(add_kind(count, launch, at, at, 1, why));
            }
    return TESS_OK;
}

/* A block for each kind of tile: at[y][x]. *found is 0 if there is none for one of them. Where all are of one
 * kind any block will do; the vector kernel's are in order. */
static tess_status find_blocks(const counting *count, const product_launch *launch, const grid_kinds *kinds,
                               unsigned at[COUNT_KINDS][COUNT_KINDS][3], int *found, sentence *why) {
    count_order order = {NULL};
    tess_status status = TESS_OK;
    int in_order = launch->row->vector_only || kinds->nx * kinds->ny == 1;
    *found = 1;
    for (int y = 0; y < kinds->ny; y++)
        for (int x = 0; x < kinds->nx && status == TESS_OK && *found; x++) {
            const unsigned tile[3] = {kinds->x[x].first, kinds->y[y].first, 0};
            if (in_order)
                memcpy(at[y][x], tile, sizeof tile);
            else
                status = count_block_of(count->self, launch, &order, tile, at[y][x], found, why);
        }
    count_order_free(&order);
    return status;
}

static tess_status add_kinds(counting *count, const product_launch *launch, const launch_gemm *g,
                             sentence *why) {
    grid_kinds kinds;
    unsigned blocks_at[COUNT_KINDS][COUNT_KINDS][3];
    int found;
    find_kinds(launch, g, &kinds);
    TRY(find_blocks(count, launch, &kinds, blocks_at, &found, why));
    if (!found) return add_every_block(count, launch, why);
    for (int z = 0; z < kinds.nz; z++)
        for (int y = 0; y < kinds.ny; y++)
            for (int x = 0; x < kinds.nx; x++) {
                const unsigned tile[3] = {kinds.x[x].first, kinds.y[y].first, kinds.z[z].first};
                const unsigned at[3] = {blocks_at[y][x][0], blocks_at[y][x][1], tile[2]};
                double blocks =
                    (double)kinds.x[x].blocks * (double)kinds.y[y].blocks * (double)kinds.z[z].blocks;
                TRY(add_kind(count, launch, at, tile, blocks, why));
            }
    return TESS_OK;
}

/* Every matrix once. Products of a batch may share the sectors where they touch. */
static double memory_sectors(const product_launch *launch, const launch_gemm *g) {
    int64_t in = numeric_size(launch->in), c = numeric_size(launch->out);
    double count = g->count;
    const count_matrix A = {0, g->m, g->k, g->lda, g->a_step, in}, B = {0, g->k, g->n, g->ldb, g->b_step, in},
                       C = {0, g->m, g->n, g->ldc, g->c_step, c};
    return (double)count_sectors(&A) * (g->batch_a ? count : 1) +
           (double)count_sectors(&B) * (g->batch_b ? count : 1) + (double)count_sectors(&C) * count;
}

static tess_status count_launch(void *target, const product_launch *launch, sentence *why) {
    counting *count = target;
    if (!launch->row) return TESS_OK;
    const launch_gemm *g = launch->arguments;
    const launch_shape *s = &launch->shape;
    double tiles = (double)launch->grid[0] * launch->grid[1] * launch->grid[2] * s->products;
    int64_t step = s->step ? s->step : count->depth;
    double depth = step ? (double)((g->k + step - 1) / step * step) : 0;
    double flops = 2.0 * g->m * g->n * g->k * g->count;
    count->sum->flops += flops;
    count->sum->flops_issued += depth > 0 ? 2 * tiles * s->tile_rows * s->tile_cols * depth : flops;
    count->sum->dram_sectors_least += memory_sectors(launch, g);
    return atomic_load(&every_block) ? add_every_block(count, launch, why) : add_kinds(count, launch, g, why);
}

/* ---- The product ---- */

/* Memory that is never filled: what is in it does not matter, and what is not touched takes no room. */
static tess_status make_operand(extent bytes, void **block, void **data, sentence *why) {
    size_t size = (size_t)(bytes.high - bytes.low);
    *block = memory_alloc(size + 2 * ALIGNMENT);
    if (!*block)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for a matrix to count on: %zu bytes", size);
    uintptr_t low = (uintptr_t)*block + ALIGNMENT - (uintptr_t)bytes.low;
    *data = (void *)(low / ALIGNMENT * ALIGNMENT);
    return TESS_OK;
}

static tess_status run_counted(counting *count, void *blocks[4], sentence *why) {
    const problem *what = &count->decided->what;
    void *a = NULL, *b = NULL, *c = NULL, *workspace = NULL;
    TRY(make_operand(what->bytes_a, &blocks[0], &a, why));
    TRY(make_operand(what->bytes_b, &blocks[1], &b, why));
    TRY(make_operand(what->bytes_c, &blocks[2], &c, why));
    TRY(make_operand((extent){0, count->decided->workspace}, &blocks[3], &workspace, why));
    const product_target target = {.self = count, .launch = count_launch};
    return product_run(&target, count->decided, &(operands){.a = a, .b = b, .c = c, .alpha = 1}, workspace,
                       why);
}

/* How much of k is multiplied at a time, where the row does not say it: the depth of the tiles, which is the parameter BK, or TILE
 * where tiles are square, or KSTEPS times that of one instruction of tensor cores. */
static int64_t tile_depth(const plan *decided) {
    for (int i = 0; registry_param_name(decided->kernel, i); i++) {
        const char *name = registry_param_name(decided->kernel, i);
        int64_t value = decided->params[i];
        if ((strcmp(name, "BK") == 0 || strcmp(name, "TILE") == 0) && value > 0) return value;
        if (strcmp(name, "KSTEPS") == 0 && value > 0)
            return value * TENSOR_BYTES / numeric_size(route_input(&decided->what, decided->kernel));
    }
    return 0;
}

static void fill_counters(const double *values, tess_counters *out) {
    out->global_load_requests = values[COUNTERS_GLOBAL_LOAD];
    out->global_load_sectors = values[COUNTERS_GLOBAL_LOAD + 1];
    out->global_load_bytes = values[COUNTERS_GLOBAL_LOAD + 2];
    out->global_store_requests = values[COUNTERS_GLOBAL_STORE];
    out->global_store_sectors = values[COUNTERS_GLOBAL_STORE + 1];
    out->global_store_bytes = values[COUNTERS_GLOBAL_STORE + 2];
    out->shared_load_instructions = values[COUNTERS_SHARED_LOAD];
    out->shared_load_wavefronts = values[COUNTERS_SHARED_LOAD + 1];
    out->shared_load_conflicts = values[COUNTERS_SHARED_LOAD + 2];
    out->shared_store_instructions = values[COUNTERS_SHARED_STORE];
    out->shared_store_wavefronts = values[COUNTERS_SHARED_STORE + 1];
    out->shared_store_conflicts = values[COUNTERS_SHARED_STORE + 2];
    out->distinct_bytes = values[COUNTERS_DISTINCT];
    out->global_wavefronts = values[COUNTERS_WAVEFRONTS];
    out->mma_instructions = values[COUNTERS_MMA];
}

/* The lines that have anything, into `by_line` as far as there is room; and all of them into the sum. */
static void finish(const counting *count, tess_line_counters *by_line, size_t *line_count) {
    double all[COUNTERS_VALUES] = {0};
    size_t used = 0;
    for (int line = 0; line < count->line_count; line++) {
        double any = 0;
        for (int i = 0; i < COUNTERS_VALUES; i++)
            all[i] += count->lines[line][i], any += count->lines[line][i];
        if (any == 0) continue;
        if (by_line && used < *line_count) {
            by_line[used] = (tess_line_counters){.line = line};
            fill_counters(count->lines[line], &by_line[used].counters);
        }
        used++;
    }
    if (line_count) *line_count = used;
    fill_counters(all, count->sum);
    if (all[COUNTERS_MMA] > 0) count->sum->flops_issued = all[COUNTERS_MMA + 1];
    count->sum->l2_sectors_least += count->sum->global_store_sectors;
    count->sum->l2_sectors_most = count->sum->global_load_sectors + count->sum->global_store_sectors;
}

tess_status count_product(sim_device *self, const plan *decided, tess_count_view view, tess_counters *sum,
                          tess_line_counters *by_line, size_t *line_count, sentence *why) {
    counting count = {.self = self,
                      .decided = decided,
                      .view = view,
                      .sum = sum,
                      .depth = tile_depth(decided)};
    void *blocks[4] = {NULL};
    char reason[256];
    if (!module_can_trace(reason)) return status_fail(why, TESS_ERROR_DEVICE, "%s", reason);
    if (decided->kernel->splits)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s multiplies parts of the matrices' elements, which a count does not have: what "
                           "it does depends on them",
                           decided->kernel->info.name);
    tess_status status = run_counted(&count, blocks, why);
    if (status == TESS_OK) finish(&count, by_line, line_count);
    /* A file of the user's may treat its blocks as it likes. */
    if (decided->kernel->path && sum->blocks_traced < sum->blocks) sum->estimated = 1;
    for (int i = 0; i < 4; i++) memory_free(blocks[i]);
    memory_free(count.lines);
    return status;
}
