/* compute.c: what the kernels compute, in plain loops and in f64 (or modulo 2^32). */
#include <stdlib.h>
#include <string.h>

#include "../harness.h"
#include "../oracle.h"
#include "standin.h"

enum { SUCCESS = 0, OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700, MISALIGNED_ADDRESS = 716 };

/* The types a file was compiled for. */
typedef struct pair {
    const char *name;
    tess_type in, out;
} pair;

static const pair *find_pair(const char *name) {
    static const pair pairs[] = {{"F32", TESS_F32, TESS_F32},       {"F64", TESS_F64, TESS_F64},
                                 {"I32", TESS_I32, TESS_I32},       {"F16", TESS_F16, TESS_F16},
                                 {"F16_F32", TESS_F16, TESS_F32},   {"BF16", TESS_BF16, TESS_BF16},
                                 {"BF16_F32", TESS_BF16, TESS_F32}, {"I8_I32", TESS_I8, TESS_I32},
                                 {"F32_F16", TESS_F32, TESS_F16},   {"F32_BF16", TESS_F32, TESS_BF16}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i].name, name) == 0) return &pairs[i];
    abort();
}

/* The oracle asks the library and the harness for these; neither is here. */
void *test_alloc(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) abort();
    return memory;
}
size_t tess_type_size(tess_type type) {
    static const size_t sizes[] = {4, 8, 2, 2, 4, 1};
    return sizes[type];
}

static int is_integer(const pair *types) {
    return types->out == TESS_I32;
}

/* A view whose every element must be device memory. */
static int view(tess_matrix *out, char *data, tess_type type, int64_t rows, int64_t cols, int64_t row,
                int64_t col) {
    int64_t low = 0, high = 0, size = (int64_t)tess_type_size(type);
    *(row < 0 ? &low : &high) += (rows - 1) * row * size;
    *(col < 0 ? &low : &high) += (cols - 1) * col * size;
    *out = (tess_matrix){data, type, TESS_HOST, rows, cols, row, col};
    return standin_is_device(data, low, high + size);
}

/* All elements in row order, as doubles. */
static double *load(const tess_matrix *m) {
    double *all = malloc((size_t)(m->rows * m->cols) * sizeof *all);
    for (int64_t i = 0; all && i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++) all[i * m->cols + j] = oracle_get(m, i, j);
    return all;
}

static double alpha_of(const standin_gemm *g, const pair *types) {
    return types->out == TESS_F64 ? g->alpha.d : is_integer(types) ? (double)g->alpha.i : (double)g->alpha.f;
}
static double beta_of(const standin_gemm *g, const pair *types) {
    return types->out == TESS_F64 ? g->beta.d : is_integer(types) ? (double)g->beta.i : (double)g->beta.f;
}

/* C = alpha*sum + beta*C for one element. */
static void store(const standin_gemm *g, const pair *types, const tess_matrix *C, int64_t i, int64_t j,
                  double sum, uint32_t integer) {
    double alpha = alpha_of(g, types), beta = beta_of(g, types);
    if (is_integer(types)) {
        uint32_t value = (uint32_t)g->alpha.i * integer, old;
        memcpy(&old, oracle_at(C, i, j), sizeof old);
        if (g->beta.i != 0) value += (uint32_t)g->beta.i * old;
        memcpy(oracle_at(C, i, j), &value, sizeof value);
        return;
    }
    double value = alpha * sum;
    if (beta != 0) value += beta * oracle_get(C, i, j);
    oracle_set(C, i, j, value);
}

/* Row i of C: sums of the rows of B. */
static void multiply_row(const standin_gemm *g, const pair *types, const tess_matrix *C, int64_t i,
                         const double *a, const double *b, double *sums, uint32_t *integers) {
    for (int64_t j = 0; j < g->n; j++) sums[j] = 0, integers[j] = 0;
    for (int64_t l = 0; l < g->k; l++) {
        double x = a[i * g->k + l];
        const double *row = b + l * g->n;
        if (is_integer(types))
            for (int64_t j = 0; j < g->n; j++)
                integers[j] += (uint32_t)(int32_t)x * (uint32_t)(int32_t)row[j];
        else
            for (int64_t j = 0; j < g->n; j++) sums[j] += x * row[j];
    }
    for (int64_t j = 0; j < g->n; j++) store(g, types, C, i, j, sums[j], integers[j]);
}

static int multiply_one(const standin_gemm *g, const pair *types) {
    tess_matrix A, B, C;
    if (!view(&A, g->a, types->in, g->m, g->k, g->lda, g->a_step) ||
        !view(&B, g->b, types->in, g->k, g->n, g->ldb, g->b_step) ||
        !view(&C, g->c, types->out, g->m, g->n, g->ldc, g->c_step))
        return ILLEGAL_ADDRESS;
    double *a = load(&A), *b = load(&B), *sums = malloc((size_t)g->n * sizeof *sums);
    uint32_t *integers = malloc((size_t)g->n * sizeof *integers);
    int there = a && b && sums && integers;
    for (int64_t i = 0; there && i < g->m; i++) multiply_row(g, types, &C, i, a, b, sums, integers);
    free(a), free(b), free(sums), free(integers);
    return there ? SUCCESS : OUT_OF_MEMORY;
}

/* The product of a batch with that number. */
static standin_gemm product_at(const standin_gemm *g, const pair *types, int64_t index) {
    standin_gemm one = *g;
    int64_t in = (int64_t)tess_type_size(types->in), out = (int64_t)tess_type_size(types->out);
    one.a += index * g->batch_a * in;
    one.b += index * g->batch_b * in;
    one.c += index * g->batch_c * out;
    return one;
}

/* Whether lines of `length` elements, `distance` apart, can be copied `bytes` at a time. */
static int has_pieces(const char *data, int64_t step, int64_t length, int64_t lines, int64_t distance,
                      int64_t batch, int64_t products, int64_t size, int64_t vec) {
    return (step == 1 || length == 1) && (uintptr_t)data % (uintptr_t)(vec * size) == 0 &&
           (lines == 1 || distance % vec == 0) && (products == 1 || batch % vec == 0);
}

/* Whether A, B and C lie as a kernel was compiled to find them. */
static int lies_as_told(const standin_gemm *g, const standin_order *o, int64_t size, int64_t products) {
    if (o->along_k && size != 2 && (o->at || !o->bt)) return 0;
    if (o->cvec > 0 && (g->n % o->cvec != 0 || !has_pieces(g->c, g->c_step, g->n, g->m, g->ldc, g->batch_c,
                                                           products, size, o->cvec)))
        return 0;
    int64_t turned = o->cvec > 0 ? 1 : o->vec; /* kernels with a CVEC turn element by element */
    return (o->at ? has_pieces(g->a, g->lda, g->m, g->k, g->a_step, g->batch_a, products, size, turned)
                  : has_pieces(g->a, g->a_step, g->k, g->m, g->lda, g->batch_a, products, size, o->vec)) &&
           (o->bt ? has_pieces(g->b, g->ldb, g->k, g->n, g->b_step, g->batch_b, products, size, turned)
                  : has_pieces(g->b, g->b_step, g->n, g->k, g->ldb, g->batch_b, products, size, o->vec));
}

int standin_multiply(const standin_gemm *g, const char *names, const standin_order *order, int64_t products) {
    const pair *types = find_pair(names);
    int result = SUCCESS;
    if (order->vec > 0 && !lies_as_told(g, order, (int64_t)tess_type_size(types->in), products))
        return MISALIGNED_ADDRESS;
    for (int64_t i = 0; i < products && result == SUCCESS; i++) {
        standin_gemm one = product_at(g, types, i);
        result = multiply_one(&one, types);
    }
    return result;
}

/* Takes a matrix from its map: lines of `length` elements, `lines` of them, one for each of `products` products. Returns 0
 * if the map says anything else. */
static int take_map(const standin_map *m, int type, int64_t size, int64_t length, int64_t lines,
                    int64_t products, const char *data, int64_t *distance, int64_t *batch) {
    const uint64_t want[] = {(uint64_t)length, (uint64_t)lines, (uint64_t)(*batch ? products : 1)};
    if (memcmp(want, m->dimensions, sizeof want) != 0 || m->address != data || m->type != type) return 0;
    if (lines > 1) *distance = (int64_t)m->strides[0] / size;
    if (want[2] > 1) *batch = (int64_t)m->strides[1] / size;
    return m->box[0] * (uint64_t)size == 128 && m->box[2] == 1;
}

static const int input_maps[] = {11, -1, 6, 9, -1, 0}; /* by tess_type */

int standin_multiply_mapped(const standin_tma *t, const char *names, const standin_order *o) {
    static const int outputs[] = {7, -1, 6, 9, 3, -1}; /* by tess_type */
    const pair *types = find_pair(names);
    standin_gemm g = t->g;
    int64_t in = (int64_t)tess_type_size(types->in), out = (int64_t)tess_type_size(types->out);
    if (o->along_k && in != 2 && (o->at || o->bt == o->b_rows)) return MISALIGNED_ADDRESS;
    int good = take_map(&t->a.map, input_maps[types->in], in, o->at ? g.m : g.k, o->at ? g.k : g.m, g.count,
                        g.a, o->at ? &g.a_step : &g.lda, &g.batch_a) &&
               take_map(&t->b.map, input_maps[types->in], in, o->bt ? g.k : g.n, o->bt ? g.n : g.k, g.count,
                        g.b, o->bt ? &g.b_step : &g.ldb, &g.batch_b) &&
               (!o->store || (g.n * out % 16 == 0 && take_map(&t->c.map, outputs[types->out], out, g.n, g.m,
                                                              g.count, g.c, &g.ldc, &g.batch_c)));
    *(o->at ? &g.lda : &g.a_step) = 1;
    *(o->bt ? &g.ldb : &g.b_step) = 1;
    return good ? standin_multiply(&g, names, &(standin_order){.vec = 0}, g.count) : MISALIGNED_ADDRESS;
}

int standin_scale(const standin_gemm *g, const char *names, int64_t products) {
    const pair *types = find_pair(names);
    for (int64_t index = 0; index < products; index++) {
        standin_gemm one = product_at(g, types, index);
        tess_matrix C;
        if (!view(&C, one.c, types->out, g->m, g->n, g->ldc, g->c_step)) return ILLEGAL_ADDRESS;
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t j = 0; j < g->n; j++) store(&one, types, &C, i, j, 0, 0);
    }
    return SUCCESS;
}

/* Every product is a row of C: the sum of the rows of B. */
int standin_add(const standin_gemm *g, const char *names) {
    const pair *types = find_pair(names);
    for (int64_t index = 0; index < g->count; index++) {
        standin_gemm one = product_at(g, types, index);
        tess_matrix B, C;
        if (!view(&B, one.b, types->in, g->k, g->n, g->ldb, g->b_step) ||
            !view(&C, one.c, types->out, 1, g->n, g->ldc, g->c_step))
            return ILLEGAL_ADDRESS;
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0;
            for (int64_t i = 0; i < g->k; i++) sum += oracle_get(&B, i, j);
            store(&one, types, &C, 0, j, sum, (uint32_t)(int64_t)sum);
        }
    }
    return SUCCESS;
}

/* f32 with the 11 significant bits of TF32; ties go away from zero. */
static float to_tf32(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    if ((word & 0x7f800000u) != 0x7f800000u) word = (word + 0x1000u) & ~0x1fffu;
    memcpy(&value, &word, sizeof word);
    return value;
}

/* Each element from `in` to `out`, as bits unless it is rounded; zeros where there is none. */
static int copy_as(const standin_move *v, tess_type in, tess_type out, int rounded, int64_t products) {
    size_t size = tess_type_size(in);
    for (int64_t index = 0; index < products; index++) {
        tess_matrix from, to;
        if (!view(&from, v->from + index * v->batch_from * (int64_t)size, in, v->rows, v->cols, v->from_row,
                  v->from_col) ||
            !view(&to, v->to + index * v->batch_to * (int64_t)tess_type_size(out), out, v->rows_to,
                  v->cols_to, v->to_row, v->to_col))
            return ILLEGAL_ADDRESS;
        for (int64_t i = 0; i < v->rows_to; i++)
            for (int64_t j = 0; j < v->cols_to; j++)
                if (i >= v->rows || j >= v->cols)
                    memset(oracle_at(&to, i, j), 0, tess_type_size(out));
                else if (!rounded)
                    memcpy(oracle_at(&to, i, j), oracle_at(&from, i, j), size);
                else if (out == TESS_F32)
                    oracle_set(&to, i, j, (double)to_tf32((float)oracle_get(&from, i, j)));
                else
                    oracle_set(&to, i, j, oracle_get(&from, i, j));
    }
    return SUCCESS;
}

int standin_copy(const standin_move *v, const char *names, int64_t products) {
    const pair *types = find_pair(names);
    return copy_as(v, types->in, types->in, 0, products);
}

/* Rows to rows at multiples of 16 bytes, in whole pieces: what is behind a row is written too. */
static int copy_lines(const standin_move *v, const pair *types, int64_t products) {
    int64_t size = (int64_t)tess_type_size(types->in), bytes = v->cols * size,
            behind = (16 - bytes % 16) % 16;
    if (v->from_col != (v->from ? 1 : 0) || v->to_col != 1 || (uintptr_t)v->to % 16 != 0 ||
        v->to_row * size % 16 != 0 || v->batch_to * size % 16 != 0)
        return MISALIGNED_ADDRESS;
    standin_move zeros = *v;
    if (!v->from) zeros.from = v->to, zeros.rows = zeros.cols = 0; /* from nowhere */
    int result = copy_as(v->from ? v : &zeros, types->in, types->in, 0, products);
    for (int64_t index = 0; result == SUCCESS && index < products; index++)
        for (int64_t i = 0; i < v->rows; i++) {
            char *end = v->to + (index * v->batch_to + i * v->to_row) * size + bytes;
            if (!standin_is_device(end - bytes, 0, bytes + behind)) return ILLEGAL_ADDRESS;
            memset(end, 0, (size_t)behind);
        }
    return result;
}

int standin_copy_lines(const standin_move *moves, unsigned count, const char *names, int64_t products) {
    int result = count >= 1 && count <= 5 ? SUCCESS : ILLEGAL_ADDRESS;
    for (unsigned i = 0; i < count && result == SUCCESS; i++)
        result = copy_lines(&moves[i], find_pair(names), products);
    return result;
}

int standin_round(const standin_move *v, int to_tf32, int64_t products) {
    return copy_as(v, TESS_F32, to_tf32 ? TESS_F32 : TESS_BF16, 1, products);
}

/* ---- Rows of A apart ---- */

enum { LACES = 8, UNIT = 16 };

/* Every eighth row of A from that one on, from a multiple of 16 bytes on that lies ahead of it; or, if there is none, of the
 * first. */
static int is_class(const standin_map *m, int type, int64_t size, const standin_gemm *g, int64_t rows,
                    int64_t first) {
    if (first >= rows) first = 0;
    int64_t ahead = first * g->lda * size % UNIT, distance = 0, batch = g->batch_a;
    int64_t lines = (rows - first + LACES - 1) / LACES;
    return take_map(m, type, size, g->k + ahead / size, lines, g->count, g->a + first * g->lda * size - ahead,
                    &distance, &batch) &&
           (lines == 1 || distance == LACES * g->lda) && (g->count == 1 || batch == g->batch_a) &&
           m->box[1] == 128;
}

/* The columns of the rim are brought eight at a time. */
static int is_rim_of(const standin_map *m, const standin_map *all, int64_t size) {
    return m->address == all->address && m->type == all->type && m->box[0] * (uint64_t)size == UNIT &&
           memcmp(m->dimensions, all->dimensions, sizeof m->dimensions) == 0 && m->box[1] == all->box[1] &&
           memcmp(m->strides, all->strides, sizeof m->strides) == 0;
}

/* Whether the rim is one that kernels/apart.h takes. */
static int is_rim(const standin_gemm *g, int64_t rows, int64_t cols) {
    return (rows == 0 || ((g->m - rows) % (LACES * 128) == 0 && rows <= 8 && rows < g->m && g->count == 1)) &&
           (cols == 0 || ((g->n - cols) % 256 == 0 && cols <= 8 && cols < g->n && g->count == 1));
}

/* The rows of the rim, from their copy. */
static int multiply_rim(const standin_apart *t, const char *names, standin_gemm g, int type) {
    const pair *types = find_pair(names);
    int64_t none = 0;
    g.c += (g.m - t->rim_rows) * g.ldc * (int64_t)tess_type_size(types->out);
    g.m = t->rim_rows, g.a = t->rim_a.map.address;
    if (!take_map(&t->rim_a.map, type, (int64_t)tess_type_size(types->in), g.k, g.m, 1, g.a, &g.lda, &none))
        return MISALIGNED_ADDRESS;
    return standin_multiply(&g, names, &(standin_order){.vec = 0}, 1);
}

/* What of B the kernel copies: counts must be 0, and what it reads there. */
static int copy_late(const standin_apart *t) {
    const standin_gemm *g = &t->all.g;
    const int64_t whole = (int64_t)t->late_whole * 256, width = whole + (int64_t)t->late_some * 256,
                  chunk = t->late_chunk;
    if (width == 0) return SUCCESS;
    if (chunk < 16 || chunk % 16 != 0 || width > g->n - t->rim_cols || t->late_to != g->b ||
        t->late_to_row != g->ldb || (uintptr_t)t->late_to % UNIT != 0 || g->count != 1)
        return ILLEGAL_ADDRESS;
    const int64_t counts = 1 + width / 256 * ((g->k + chunk - 1) / chunk);
    if (!standin_is_device(t->late_counts, 0, 4 * counts)) return ILLEGAL_ADDRESS;
    for (int64_t i = 0; i < counts; i++)
        if (t->late_counts[i] != 0) return MISALIGNED_ADDRESS;
    for (int64_t k = 0; k < g->k; k++) {
        const int64_t bytes = 2 * (k < chunk ? whole : width);
        const char *from = t->late_from + k * t->late_from_row * 2;
        char *to = t->late_to + k * t->late_to_row * 2;
        if (!standin_is_device(from, 0, bytes) || !standin_is_device(to, 0, bytes)) return ILLEGAL_ADDRESS;
        memcpy(to, from, (size_t)bytes);
    }
    for (int64_t i = 0; i < counts; i++) t->late_counts[i] = 1 + (int32_t)g->k;
    return SUCCESS;
}

int standin_multiply_apart(const standin_apart *t, const char *names) {
    const pair *types = find_pair(names);
    standin_gemm g = t->all.g;
    int64_t in = (int64_t)tess_type_size(types->in);
    int type = input_maps[types->in], result;
    if (in != 2 || (g.k > 1 && g.a_step != 1) || (g.n > 1 && g.b_step != 1) ||
        !is_rim(&g, t->rim_rows, t->rim_cols))
        return MISALIGNED_ADDRESS;
    for (int64_t i = 0; i < LACES; i++)
        if (!is_class(&t->rows[i].map, type, in, &g, g.m - t->rim_rows, i)) return MISALIGNED_ADDRESS;
    if (!take_map(&t->all.b.map, type, in, g.n, g.k, g.count, g.b, &g.ldb, &g.batch_b) ||
        (t->rim_cols > 0 && !is_rim_of(&t->rim_b.map, &t->all.b.map, in)))
        return MISALIGNED_ADDRESS;
    if ((result = copy_late(t)) != SUCCESS) return result;
    if (t->rim_rows > 0 && (result = multiply_rim(t, names, g, type)) != SUCCESS) return result;
    g.m -= t->rim_rows;
    return standin_multiply(&g, names, &(standin_order){.vec = 0}, g.count);
}

/* ---- Products that are split ---- */

/* Nothing is found. */
int standin_prepare_split(const standin_split *s) {
    int64_t words = 1 + s->blocks + 2;
    if (!standin_is_device(s->state, 0, words * (int64_t)sizeof *s->state)) return ILLEGAL_ADDRESS;
    memset(s->state + 1, 0, (size_t)(words - 1) * sizeof *s->state);
    return SUCCESS;
}

/* Where parts would be written there must be memory. */
static int has_parts(const standin_side *side, int64_t k) {
    int64_t line = (k + 63) / 64 * 384, lines = (int64_t)side->lines * side->products;
    return lines == 0 ||
           (standin_is_device(side->parts, 0, lines * line) && standin_is_device(side->undo, 0, lines * 8) &&
            (!side->kept || standin_is_device(side->kept, 0, 4)));
}

int standin_pack_split(const standin_split *s) {
    enum { FMA = 3 };
    if (!has_parts(&s->a, s->k) || !has_parts(&s->b, s->k)) return ILLEGAL_ADDRESS;
    s->state[0] = FMA;
    return SUCCESS;
}

int standin_multiply_split(const standin_split *s) {
    static const standin_order any = {.vec = 0};
    if (!s->packs && s->state && standin_pack_split(s) != SUCCESS) return ILLEGAL_ADDRESS;
    standin_gemm g = {.a = s->a.from,
                      .b = s->b.from,
                      .c = s->c,
                      .m = s->a.lines,
                      .n = s->b.lines,
                      .k = s->k,
                      .count = s->count,
                      .lda = s->a.line,
                      .a_step = s->a.step,
                      .ldb = s->b.step,
                      .b_step = s->b.line,
                      .ldc = s->c_row,
                      .c_step = s->c_col,
                      .batch_a = s->a.batch,
                      .batch_b = s->b.batch,
                      .batch_c = s->batch_c,
                      .alpha.f = s->alpha,
                      .beta.f = s->beta};
    return standin_multiply(&g, "F32", &any, s->count);
}
