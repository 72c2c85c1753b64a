/* unit_split_aid.c: the launches of a split product, one after the other. */
#include "unit_split_aid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "../src/memory.h"
#include "../src/numeric.h"
#include "../src/sim/tensor_core.h"

enum { ROWS = TENSOR_ROWS, COLS = TENSOR_COLS, STEP = 16 };

/* ---- Tensor cores ---- */

/* 16 by 8 sums, of the parts of some rows and columns. */
typedef struct tile {
    const uint16_t *a[ROWS], *b[COLS]; /* NULL: there is no such line */
    float sums[ROWS][COLS], totals[ROWS][COLS];
    int keeps_rest; /* of sums of bf16: what is rounded off is where the next begin */
} tile;

/* Adds the products of 16 elements of k, `from_a` and `from_b` elements on in their lines. */
static void add_step(tile *t, int type, int64_t from_a, int64_t from_b) {
    tensor_tile step = {.type = type, .bytes = 2 * STEP};
    for (int i = 0; i < ROWS; i++)
        if (t->a[i]) memcpy(step.a[i], t->a[i] + from_a, 2 * STEP);
    for (int j = 0; j < COLS; j++)
        if (t->b[j]) memcpy(step.b[j], t->b[j] + from_b, 2 * STEP);
    memcpy(step.sums, t->sums, sizeof t->sums);
    tensor_multiply(tensor_rule_of(90), &step);
    memcpy(t->sums, step.sums, sizeof t->sums);
}

/* Adds the sums to the totals; what is left of them is where the next begin. */
static void promote(tile *t, int keeps_rest) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            float before = t->totals[i][j];
            t->totals[i][j] += t->sums[i][j];
            float rest = t->sums[i][j] - (t->totals[i][j] - before);
            t->sums[i][j] = keeps_rest && isfinite(rest) ? rest : 0;
        }
}

/* The same products in the same order as in kernels/split.h, which the simulator cannot run. */
static void add_chunk_fp16x3(tile *t, int64_t at) {
    for (int64_t line = at; line < at + 128; line += 64) {
        add_step(t, SIM_F16, line + 32, line);
        add_step(t, SIM_F16, line + 48, line + 16);
        add_step(t, SIM_F16, line, line + 32);
        add_step(t, SIM_F16, line + 16, line + 48);
    }
    for (int64_t line = at; line < at + 128; line += 64) {
        add_step(t, SIM_F16, line, line);
        add_step(t, SIM_F16, line + 16, line + 16);
    }
    promote(t, 0);
}

static void add_chunk_bf16x6(tile *t, int64_t at) {
    static const int parts[6][2] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
    for (int p = 0; p < 6; p++)
        for (int k = 0; k < 64; k += STEP)
            add_step(t, SIM_BF16, at + parts[p][0] * 64 + k, at + parts[p][1] * 64 + k);
    promote(t, t->keeps_rest);
}

static void set_lines(const uint16_t **of, int count, const split_side *side, int64_t product, int64_t first,
                      int64_t length) {
    if (side->products == 1) product = 0;
    for (int i = 0; i < count; i++)
        of[i] = first + i < side->lines ? side->parts + (product * side->lines + first + i) * length : NULL;
}

static const float *undo_of(const split_side *side, int64_t product, int64_t line) {
    return side->undo + 2 * ((side->products == 1 ? 0 : product) * side->lines + line);
}

static void store_tile(const split_arguments *s, const tile *t, int64_t product, int64_t row, int64_t col) {
    for (int64_t i = 0; i < ROWS && row + i < s->a.lines; i++)
        for (int64_t j = 0; j < COLS && col + j < s->b.lines; j++) {
            const float *a = undo_of(&s->a, product, row + i), *b = undo_of(&s->b, product, col + j);
            float *c = s->c + product * s->batch_c + (row + i) * s->c_row + (col + j) * s->c_col;
            float sum = t->totals[i][j];
            if (s->state[0] == SPLIT_FP16X3) sum = sum * (a[0] * b[0]) * (a[1] * b[1]);
            *c = s->beta == 0 ? s->alpha * sum : fmaf(s->beta, *c, s->alpha * sum);
        }
}

static void multiply_parts(const split_arguments *s, int keeps_rest) {
    int64_t chunks = (s->k + SPLIT_DEPTH - 1) / SPLIT_DEPTH, length = chunks * SPLIT_CHUNK;
    for (int64_t product = 0; product < s->count; product++)
        for (int64_t row = 0; row < s->a.lines; row += ROWS)
            for (int64_t col = 0; col < s->b.lines; col += COLS) {
                tile t = {.keeps_rest = keeps_rest};
                set_lines(t.a, ROWS, &s->a, product, row, length);
                set_lines(t.b, COLS, &s->b, product, col, length);
                for (int64_t c = 0; c < chunks; c++)
                    if (s->state[0] == SPLIT_FP16X3)
                        add_chunk_fp16x3(&t, c * 128);
                    else
                        add_chunk_bf16x6(&t, c * SPLIT_CHUNK);
                store_tile(s, &t, product, row, col);
            }
}

/* ---- Launches ---- */

/* A region of elements of 1 << shift bytes; all of them, or those of A's or B's lines, are there and hold something. */
static region region_of(const char *name, const void *low, int64_t elements, int shift, int writable) {
    size_t slots = (size_t)elements;
    return (region){.name = name,
                    .low = low,
                    .data = low,
                    .bytes = slots << shift,
                    .shift = shift,
                    .writable = writable,
                    .state = memory_alloc_zeroed(slots),
                    .writer = writable ? memory_alloc_zeroed(slots * sizeof(uint32_t)) : NULL};
}

static region region_of_side(const char *name, const split_side *side, int64_t k) {
    int64_t last = (side->lines - 1) * side->line + (k - 1) * side->step + (side->products - 1) * side->batch;
    region r = region_of(name, side->from, last + 1, 2, 0);
    for (int64_t p = 0; p < side->products; p++)
        for (int64_t i = 0; i < side->lines; i++)
            for (int64_t j = 0; j < k; j++)
                r.state[p * side->batch + i * side->line + j * side->step] = REGION_ELEMENT | REGION_WRITTEN;
    return r;
}

/* Watched: no races, nothing read outside of A and B, nothing in the workspace written by two threads. */
static tess_status run_checked(split_bench *bench, const product_launch *launch, const module *m,
                               const sim_launch *run, sentence *why) {
    const split_arguments *s = launch->split;
    trace_checks checks = {.m = m};
    block_list none = {0};
    int64_t words = bench->workspace_bytes / 2;
    checks.memory = (regions){.list = {region_of_side("A", &s->a, s->k), region_of_side("B", &s->b, s->k),
                                       region_of("the workspace", bench->workspace, words, 1, 1)},
                              .count = 3};
    for (int64_t i = 0; i < words; i++) checks.memory.list[2].state[i] = REGION_ELEMENT | REGION_WRITTEN;
    tess_status status = grid_run(&bench->workers, 2, m, run, &checks, why);
    regions_close(&checks.memory, &none);
    return status;
}

/* A kernel of split_prepare.cu, or a product's that the simulator has. */
static tess_status run_launch(split_bench *bench, const product_launch *launch, sentence *why) {
    char file[64];
    snprintf(file, sizeof file, "%s%s", launch->row ? launch->row->info.name : launch->file,
             launch->row ? ".cu" : "");
    module_request request = {.file = file,
                              .row = launch->row,
                              .params = launch->params,
                              .in = launch->in,
                              .out = launch->out,
                              .traced = bench->checked};
    sim_launch run = {.arguments = launch->split,
                      .splits = 1,
                      .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                      .block_x = launch->shape.block_x,
                      .block_y = launch->shape.block_y,
                      .shared = launch->shape.shared,
                      .rule = tensor_rule_of(bench->architecture ? bench->architecture : 90)};
    module *m;
    if (launch->row) launch_fit_grid(launch->row, &launch->shape, 3, run.grid);
    TRY(module_get(&bench->modules, &request, &m, why));
    TRY(module_kernel(m, launch->entry, &run.kernel, why));
    if (bench->checked) return run_checked(bench, launch, m, &run, why);
    return grid_run(&bench->workers, 2, m, &run, NULL, why);
}

/* What the kernel on tensor cores, which is not simulated, has beside them split_prepare.cu has too: plain multiply-adds,
 * and how the way is decided and parts are written anew. */
static tess_status run_helper(split_bench *bench, const char *entry, const product_launch *launch,
                              sentence *why) {
    product_launch helper = {.file = "split_prepare.cu",
                             .entry = entry,
                             .in = launch->in,
                             .out = launch->out,
                             .shape = {.block_x = 256, .block_y = 1, .shared = 256 * 32 * (int)sizeof(float)},
                             .split = launch->split,
                             .grid = {4, 1, 1}};
    return run_launch(bench, &helper, why);
}

/* Tiles of more columns leave no registers for it. */
static int keeps_rest(const product_launch *launch) {
    return launch->params[registry_find_param(launch->row, "BN")] <= 128;
}

/* A kernel that cuts tiles counts on them. */
static void check_tickets(const split_arguments *s) {
    const int32_t *tickets = s->state + 1 + s->blocks + 2;
    int used = 0;
    for (int i = 0; i < SPLIT_COUNTERS - 2; i++) used += tickets[i] != 0;
    CHECK(s->room == 0 || used == 0, "%d of %d tickets are not 0", used, SPLIT_COUNTERS - 2);
}

static tess_status launch_one(void *self, const product_launch *launch, sentence *why) {
    split_bench *bench = self;
    bench->launches++;
    bench->last = *launch->split;
    if (!launch->row || !launch->row->box) return run_launch(bench, launch, why);
    check_tickets(launch->split);
    if (!launch->split->packs) TRY(run_helper(bench, "split_pack", launch, why));
    if (launch->split->state[0] == SPLIT_FMA) return run_helper(bench, "split_multiply", launch, why);
    multiply_parts(launch->split, keeps_rest(launch));
    if (launch->split->a.kept) *launch->split->a.kept = launch->split->state[0];
    if (launch->split->b.kept) *launch->split->b.kept = launch->split->state[0];
    return TESS_OK;
}

/* ---- Products ---- */

split_matrix split_matrix_make(int64_t rows, int64_t cols, int by_columns, int gap, int64_t count) {
    split_matrix m = {NULL, rows, cols, by_columns ? 1 : cols + gap, by_columns ? rows + gap : 1, 0};
    m.batch = (by_columns ? cols : rows) * (by_columns ? m.col : m.row);
    m.data = test_alloc((size_t)(m.batch * count) * sizeof(float));
    memset(m.data, 0xff, (size_t)(m.batch * count) * sizeof(float)); /* NaN between the lines */
    return m;
}

float *split_at(const split_matrix *m, int64_t product, int64_t row, int64_t col) {
    return m->data + product * m->batch + row * m->row + col * m->col;
}

static problem problem_of(const split_matrix *a, const split_matrix *b, const split_matrix *c,
                          int64_t count) {
    return (problem){.in = TESS_F32,
                     .out = TESS_F32,
                     .acc = TESS_F32,
                     .m = c->rows,
                     .n = c->cols,
                     .k = a->cols,
                     .a_row = a->row,
                     .a_col = a->col,
                     .b_row = b->row,
                     .b_col = b->col,
                     .c_row = c->row,
                     .c_col = c->col,
                     .batch = {count, a->batch, b->batch, c->batch}};
}

int split_multiply(split_bench *bench, const char *kernel, double alpha, const split_matrix *a,
                   const split_matrix *b, double beta, const split_matrix *c, int64_t count) {
    sentence why;
    plan decided = {.what = problem_of(a, b, c, count), .kernel = registry_find("gpu", kernel, &why)};
    operands data = {.a = a->data,
                     .b = b->data,
                     .c = c->data,
                     .alpha = alpha,
                     .beta = beta,
                     .kept_a = bench->kept_a,
                     .kept_b = bench->kept_b};
    if (!CHECK(decided.kernel, "%s", why.text)) return 0;
    for (int i = 0; i < REGISTRY_PARAMS; i++) decided.params[i] = REGISTRY_UNSET;
    if (!CHECK(product_prepare(&decided, &why) == TESS_OK, "%s", why.text)) return 0;
    free(bench->workspace);
    bench->workspace = test_alloc((size_t)decided.workspace + 1);
    memset(bench->workspace, 0xff, (size_t)decided.workspace);
    bench->workspace_bytes = decided.workspace;
    bench->launches = 0;
    product_target target = {.self = bench, .launch = launch_one, .slices = bench->slices};
    tess_status status = product_run(&target, &decided, &data, bench->workspace, &why);
    return CHECK(status == TESS_OK, "%s", why.text) ? bench->last.state[0] : 0;
}

int split_keep_matrix(split_bench *bench, const split_matrix *m, int is_a, split_kept *kept) {
    sentence why;
    line_matrix from = {.type = TESS_F32,
                        .data = m->data,
                        .lines = is_a ? m->rows : m->cols,
                        .k = is_a ? m->cols : m->rows,
                        .line = is_a ? m->row : m->col,
                        .step = is_a ? m->col : m->row};
    product_target target = {.self = bench, .launch = launch_one};
    const kernel_row *kernel = registry_find("gpu", "split_01_fp16x3", &why);
    int64_t words;
    *kept = (split_kept){.alone = split_alone(&from)};
    kept->memory = test_alloc((size_t)split_workspace(&kept->alone, NULL));
    if (!CHECK(kernel && split_keep(&target, kernel, &from, kept->memory, &words, &why) == TESS_OK, "%s",
               why.text))
        return 0;
    kept->found = split_found((const int32_t *)(const void *)kept->memory, words);
    return 1;
}

void split_bench_close(split_bench *bench) {
    module_close(&bench->modules);
    grid_close(&bench->workers);
    free(bench->workspace);
}
