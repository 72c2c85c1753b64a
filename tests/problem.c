/* problem.c: see problem.h. The layout of a buffer is worked out from strides alone: the lowest and the highest
 * offset any element has, and a guard band on both sides. */
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 96 }; /* elements on each side: more than any vector a kernel could overrun by */

const type_pair type_pairs[TYPE_PAIRS] = {
    {"f32", TESS_F32, TESS_F32},     {"f64", TESS_F64, TESS_F64},    {"f16", TESS_F16, TESS_F16},
    {"f16:f32", TESS_F16, TESS_F32}, {"bf16", TESS_BF16, TESS_BF16}, {"bf16:f32", TESS_BF16, TESS_F32},
    {"i32", TESS_I32, TESS_I32},     {"i8:i32", TESS_I8, TESS_I32},
};

int type_is_listed(const char *types, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(types, name); at; at = strstr(at + 1, name))
        if ((at == types || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return 1;
    return 0;
}

const char *const storage_names[STORAGES] = {
    "row",           "col",      "row_padded", "col_padded", "general", "general_col", "negative_rows",
    "negative_cols", "negative", "zero_row",   "zero_col",   "zero",    "overlapping",
};
static const char *const batching_names[BATCHINGS] = {"apart", "interleaved", "backwards", "same"};

static int is_integer(tess_type type) {
    return type == TESS_I32 || type == TESS_I8;
}

static void choose_strides(storage store, int64_t rows, int64_t cols, test_rng *rng, int64_t *rs,
                           int64_t *cs) {
    int64_t pad = rng_range(rng, 1, 9), step = rng_range(rng, 2, 3);
    int64_t wide = (cols > 0 ? cols : 1), tall = (rows > 0 ? rows : 1);
    switch (store) {
    case STORE_ROW: *rs = wide, *cs = 1; break;
    case STORE_COL: *rs = 1, *cs = tall; break;
    case STORE_ROW_PADDED: *rs = wide + pad, *cs = 1; break;
    case STORE_COL_PADDED: *rs = 1, *cs = tall + pad; break;
    case STORE_GENERAL: *rs = wide * step + pad, *cs = step; break;
    case STORE_GENERAL_COL: *rs = step, *cs = tall * step + pad; break;
    case STORE_NEGATIVE_ROWS: *rs = -(wide + pad), *cs = 1; break;
    case STORE_NEGATIVE_COLS: *rs = wide + pad, *cs = -1; break;
    case STORE_NEGATIVE: *rs = -1, *cs = -(tall + pad); break;
    case STORE_ZERO_ROW: *rs = 0, *cs = 1; break;
    case STORE_ZERO_COL: *rs = 1, *cs = 0; break;
    case STORE_ZERO: *rs = 0, *cs = 0; break;
    case STORE_OVERLAPPING:
    case STORAGES: break; /* both are 1 */
    }
}

static int64_t lowest(int64_t stride, int64_t count) {
    return stride < 0 && count > 0 ? stride * (count - 1) : 0;
}
static int64_t highest(int64_t stride, int64_t count) {
    return stride > 0 && count > 0 ? stride * (count - 1) : 0;
}

/* Allocates `b` around a rows×cols matrix (times count) and fills all of it with `poison`'s pattern: NaN for the
 * floating types, bytes that depend on their place for integers and for C. */
static void make_buffer(problem_buffer *b, tess_type type, int64_t rows, int64_t cols, storage store,
                        int64_t count, batching how, int canary, test_rng *rng) {
    int64_t rs = 1, cs = 1;
    choose_strides(store, rows, cols, rng, &rs, &cs);
    int64_t batch = 0, products = count > 0 ? count : 1;
    if (count > 0 && how == BATCH_INTERLEAVED) rs *= count, cs *= count, batch = 1;
    int64_t low = lowest(rs, rows) + lowest(cs, cols), high = highest(rs, rows) + highest(cs, cols);
    if (count > 0 && how == BATCH_APART) batch = high - low + 1 + rng_range(rng, 0, 5);
    if (count > 0 && how == BATCH_BACKWARDS) batch = -(high - low + 1 + rng_range(rng, 0, 5));
    low += lowest(batch, products);
    high += highest(batch, products);
    size_t size = tess_type_size(type);
    int64_t elements = high - low + 1 + 2 * GUARD;
    b->bytes = (size_t)elements * size;
    b->block = test_alloc(b->bytes);
    b->copy = test_alloc(b->bytes);
    b->batch_stride = batch;
    tess_matrix all = {b->block, type, TESS_HOST, elements, 1, 1, 0};
    if (canary || is_integer(type))
        for (size_t i = 0; i < b->bytes; i++) b->block[i] = (unsigned char)(0x5a ^ (i * 37));
    else
        for (int64_t i = 0; i < elements; i++) oracle_set(&all, i, 0, TEST_NAN);
    b->view = (tess_matrix){b->block + (size_t)(GUARD - low) * size, type, TESS_HOST, rows, cols, rs, cs};
}

static tess_matrix product_view(const problem_buffer *b, int64_t index, const unsigned char *base) {
    tess_matrix view = b->view;
    int64_t offset = (const unsigned char *)b->view.data - b->block;
    offset += index * b->batch_stride * (int64_t)tess_type_size(view.type);
    /* A view holds a plain pointer, whatever it is used for. */
    view.data = (unsigned char *)(uintptr_t)(base + offset);
    return view;
}

static double draw_element(const problem_spec *spec, tess_type type, int64_t exact_range, test_rng *rng) {
    if (spec->data == DATA_SPECIAL && !is_integer(type) && rng_range(rng, 0, 39) == 0) {
        int which = (int)rng_range(rng, 0, 3);
        return which == 0 ? TEST_NAN : which == 1 ? TEST_INF : which == 2 ? -TEST_INF : -0.0;
    }
    if (type == TESS_I8) return (double)rng_range(rng, -128, 127);
    if (type == TESS_I32) {
        if (spec->data == DATA_RANDOM) return (double)rng_range(rng, INT32_MIN, INT32_MAX);
        return (double)rng_range(rng, -99, 99);
    }
    if (spec->data == DATA_RANDOM) return rng_real(rng);
    return (double)rng_range(rng, -exact_range, exact_range);
}

/* Small enough for every sum to be exact in f32, and every element in f16 and bf16. */
static int64_t exact_range_of(const problem_spec *spec) {
    return spec->k <= 4096 ? 15 : spec->k <= 65536 ? 3 : 1;
}

static void fill_buffer(problem_buffer *b, const problem_spec *spec, int64_t count, test_rng *rng) {
    int64_t range = exact_range_of(spec);
    for (int64_t p = 0; p < count; p++) {
        tess_matrix view = product_view(b, p, b->block);
        for (int64_t i = 0; i < view.rows; i++)
            for (int64_t j = 0; j < view.cols; j++)
                oracle_set(&view, i, j, draw_element(spec, view.type, range, rng));
    }
}

/* What must never be read is NaN: C when beta is 0, A and B when alpha is 0. */
static void poison_unread(problem_buffer *b, int64_t count) {
    if (is_integer(b->view.type)) return;
    for (int64_t p = 0; p < count; p++) {
        tess_matrix view = product_view(b, p, b->block);
        for (int64_t i = 0; i < view.rows; i++)
            for (int64_t j = 0; j < view.cols; j++) oracle_set(&view, i, j, TEST_NAN);
    }
}

void problem_make(problem *p, const problem_spec *spec, test_rng *rng) {
    *p = (problem){.spec = *spec};
    int64_t count = spec->count > 0 ? spec->count : 1;
    tess_type in = spec->types.in, out = spec->types.out;
    make_buffer(&p->A, in, spec->m, spec->k, spec->store_a, spec->count, spec->batch_a, 0, rng);
    make_buffer(&p->B, in, spec->k, spec->n, spec->store_b, spec->count, spec->batch_b, 0, rng);
    make_buffer(&p->C, out, spec->m, spec->n, spec->store_c, spec->count, spec->batch_c, 1, rng);
    problem_buffer *all[3] = {&p->A, &p->B, &p->C};
    for (int i = 0; i < 3; i++) {
        int unread = i == 2 ? spec->beta == 0 : spec->alpha == 0;
        fill_buffer(all[i], spec, all[i]->batch_stride ? count : 1, rng);
        if (unread) poison_unread(all[i], count);
        memcpy(all[i]->copy, all[i]->block, all[i]->bytes);
    }
    p->batch = (tess_batch){spec->count, p->A.batch_stride, p->B.batch_stride, p->C.batch_stride};
}

void problem_free(problem *p) {
    problem_buffer *all[3] = {&p->A, &p->B, &p->C};
    for (int i = 0; i < 3; i++) {
        free(all[i]->block);
        free(all[i]->copy);
    }
}

void problem_reset(problem *p) {
    memcpy(p->C.block, p->C.copy, p->C.bytes);
}

tess_status problem_run(problem *p, tess_context *ctx, const tess_options *options) {
    const problem_spec *s = &p->spec;
    if (s->count > 0)
        return tess_gemm_batched(ctx, s->alpha, &p->A.view, &p->B.view, s->beta, &p->C.view, &p->batch,
                                 options);
    return tess_gemm(ctx, s->alpha, &p->A.view, &p->B.view, s->beta, &p->C.view, options);
}

static int check_same_bytes(const problem *p, const problem_buffer *b, const char *name, const char *what,
                            const unsigned char *expected) {
    if (memcmp(b->block, expected, b->bytes) == 0) return 1;
    size_t at = 0;
    while (b->block[at] == expected[at]) at++;
    long long element = (long long)(at / tess_type_size(b->view.type)) -
                        (long long)(((const unsigned char *)b->view.data - b->block) /
                                    (ptrdiff_t)tess_type_size(b->view.type));
    return CHECK(0,
                 "%s: %s: a byte of %s's buffer that was nobody's to write changed: element %lld from its "
                 "first, %s",
                 what, problem_text(p), name, element, b == &p->C ? "outside C" : "an input");
}

int problem_check(problem *p, const char *what) {
    const problem_spec *s = &p->spec;
    int64_t count = s->count > 0 ? s->count : 1;
    int right = 1;
    for (int64_t i = 0; i < count && right; i++) {
        oracle_product product = {.alpha = s->alpha,
                                  .beta = s->beta,
                                  .A = product_view(&p->A, i, p->A.block),
                                  .B = product_view(&p->B, i, p->B.block),
                                  .C0 = product_view(&p->C, i, p->C.copy),
                                  .C = product_view(&p->C, i, p->C.block),
                                  .exact = s->data != DATA_RANDOM};
        oracle_verdict v = oracle_check(&product);
        right =
            CHECK(v.wrong == 0, "%s: %s: product %lld: %lld wrong, C(%lld, %lld) is %.17g, want %.17g ± %g",
                  what, problem_text(p), (long long)i, (long long)v.wrong, (long long)v.row, (long long)v.col,
                  v.got, v.want, v.allowed);
    }
    /* Lay C's new elements over a copy of the old buffer: what differs then is a canary. */
    unsigned char *expected = test_alloc(p->C.bytes);
    memcpy(expected, p->C.copy, p->C.bytes);
    for (int64_t i = 0; i < count; i++) {
        tess_matrix old = product_view(&p->C, i, expected), new = product_view(&p->C, i, p->C.block);
        for (int64_t row = 0; row < old.rows; row++)
            for (int64_t col = 0; col < old.cols; col++)
                memcpy(oracle_at(&old, row, col), oracle_at(&new, row, col), tess_type_size(old.type));
    }
    right &= check_same_bytes(p, &p->C, "C", what, expected);
    free(expected);
    right &= check_same_bytes(p, &p->A, "A", what, p->A.copy);
    right &= check_same_bytes(p, &p->B, "B", what, p->B.copy);
    return right;
}

int problem_check_untouched(problem *p, const char *what) {
    return check_same_bytes(p, &p->A, "A", what, p->A.copy) &
           check_same_bytes(p, &p->B, "B", what, p->B.copy) &
           check_same_bytes(p, &p->C, "C", what, p->C.copy);
}

const char *problem_text(const problem *p) {
    static _Thread_local char text[400];
    const problem_spec *s = &p->spec;
    int length = snprintf(text, sizeof text, "%s m=%lld n=%lld k=%lld alpha=%g beta=%g A %s B %s C %s %s",
                          s->types.name, (long long)s->m, (long long)s->n, (long long)s->k, s->alpha, s->beta,
                          storage_names[s->store_a], storage_names[s->store_b], storage_names[s->store_c],
                          s->data == DATA_RANDOM  ? "random"
                          : s->data == DATA_EXACT ? "exact"
                                                  : "special");
    if (s->count > 0)
        snprintf(text + length, sizeof text - (size_t)length, " batch=%lld (A %s, B %s, C %s)",
                 (long long)s->count, batching_names[s->batch_a], batching_names[s->batch_b],
                 batching_names[s->batch_c]);
    return text;
}

int problem_try(const problem_spec *spec, tess_context *ctx, const tess_options *options, test_rng *rng) {
    problem p;
    problem_make(&p, spec, rng);
    tess_status status = problem_run(&p, ctx, options);
    int right =
        CHECK(status == TESS_OK, "%s: %s: %s", problem_text(&p), tess_status_name(status), tess_error(ctx));
    if (right)
        right = problem_check(&p, options && options->kernel ? options->kernel : "the planner's choice");
    problem_free(&p);
    return right;
}

double draw_scalar(test_rng *rng, tess_type in, data_kind data, int choice) {
    if (choice < 2) return choice;
    if (is_integer(in)) {
        static const double integers[] = {-1, 2, -7, 1000003, -2147483648.0, 2147483647.0};
        return integers[rng_range(rng, 0, data == DATA_RANDOM ? 5 : 2)];
    }
    static const double exact[] = {-1, 2, 0.5, -4}, others[] = {-1, 0.1, -1.7, 3.25};
    return (data == DATA_RANDOM ? others : exact)[rng_range(rng, 0, 3)];
}

problem_spec draw_spec(test_rng *rng, int64_t low, int64_t high) {
    problem_spec s = {.types = type_pairs[rng_range(rng, 0, TYPE_PAIRS - 1)],
                      .m = rng_range(rng, low, high),
                      .n = rng_range(rng, low, high),
                      .k = rng_range(rng, low, high),
                      .store_a = (storage)rng_range(rng, 0, STORAGES - 1),
                      .store_b = (storage)rng_range(rng, 0, STORAGES - 1),
                      .store_c = (storage)rng_range(rng, 0, STORAGES_OF_C - 1),
                      .data = (data_kind)rng_range(rng, DATA_RANDOM, DATA_EXACT)};
    s.alpha = draw_scalar(rng, s.types.in, s.data, (int)rng_range(rng, 0, 2));
    s.beta = draw_scalar(rng, s.types.in, s.data, (int)rng_range(rng, 0, 2));
    return s;
}

tess_context *open_cpu(int threads) {
    tess_context *ctx = NULL;
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return NULL;
    if (!CHECK_STATUS(tess_set_threads(ctx, threads), TESS_OK, ctx)) {
        tess_close(ctx);
        return NULL;
    }
    return ctx;
}
