/* problem.c: allocates, fills, runs and checks one product.
 *
 * Invariant: `c0` is a byte-for-byte copy of C's whole buffer as it was filled, guards and row gaps included,
 * so that restoring C is a copy and a write outside C's elements is a difference.
 */
#include "problem.h"
#include "say.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes before and after C; whole cache lines, so that C starts on one. */
enum { GUARD = 256, GUARD_BYTE = 0xa5 };

const problem_types problem_all_types[PROBLEM_TYPE_COUNT] = {
    {TESS_F32, TESS_F32},   {TESS_F64, TESS_F64},  {TESS_F16, TESS_F16}, {TESS_F16, TESS_F32},
    {TESS_BF16, TESS_BF16}, {TESS_BF16, TESS_F32}, {TESS_I32, TESS_I32}, {TESS_I8, TESS_I32},
};
const char *const problem_layouts[4] = {"nn", "nt", "tn", "tt"};
const char *const problem_computes[4] = {"default", "f32-strict", "tf32", "bf16"};

static tess_type default_output(tess_type in) {
    return in == TESS_I8 ? TESS_I32 : in;
}

bool problem_parse_types(const char *text, problem_types *types) {
    char in[8];
    size_t length = strcspn(text, ":");
    problem_types found;
    if (snprintf(in, sizeof in, "%.*s", (int)length, text) >= (int)sizeof in) return false;
    if (tess_find_type(in, &found.in) != TESS_OK) return false;
    found.out = default_output(found.in);
    if (text[length] == ':' && tess_find_type(text + length + 1, &found.out) != TESS_OK) return false;
    for (size_t i = 0; i < PROBLEM_TYPE_COUNT; i++) {
        if (problem_all_types[i].in != found.in || problem_all_types[i].out != found.out) continue;
        *types = found;
        return true;
    }
    return false;
}

void problem_show_types(problem_types types, char out[16]) {
    bool usual = types.out == default_output(types.in);
    snprintf(out, 16, "%s%s%s", tess_type_name(types.in), usual ? "" : ":",
             usual ? "" : tess_type_name(types.out));
}

double problem_flops(const problem_spec *s) {
    return 2.0 * (double)s->m * (double)s->n * (double)s->k * (double)s->batch;
}

double problem_bytes(const problem_spec *s) {
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    double in = (double)tess_type_size(s->types.in), out = (double)tess_type_size(s->types.out);
    return (double)s->batch * ((m * k + k * n) * in + m * n * out * (s->beta != 0 ? 2 : 1));
}

bool problem_is_vector(int64_t m, int64_t n) {
    return m == 1 || n == 1;
}

/* Bytes of `batch` matrices of `lines` lines, `ld` elements each. */
static bool matrix_bytes(int64_t batch, int64_t lines, int64_t ld, tess_type type, size_t *bytes) {
    int64_t total;
    return !__builtin_mul_overflow(lines, ld, &total) && !__builtin_mul_overflow(total, batch, &total) &&
           !__builtin_mul_overflow(total, (int64_t)tess_type_size(type), &total) && total < INT64_MAX / 8 &&
           (*bytes = (size_t)total, true);
}

static bool too_large(const problem_spec *s, double bytes) {
    say_error("the product %" PRId64 "x%" PRId64 "x%" PRId64 " (batch %" PRId64
              ") needs %.3g GB of matrices, more than this machine's memory; use smaller sizes",
              s->m, s->n, s->k, s->batch, bytes / 1e9);
    return false;
}

static unsigned char *allocate(size_t bytes) {
    void *memory = NULL;
    return posix_memalign(&memory, 64, bytes + 2 * GUARD) == 0 ? memory : NULL;
}

static void make_views(problem *p) {
    const problem_spec *s = &p->spec;
    p->A = s->layout & 2 ? tess_view_col_major(s->types.in, s->m, s->k, p->a + GUARD, p->lda)
                         : tess_view_row_major(s->types.in, s->m, s->k, p->a + GUARD, p->lda);
    p->B = s->layout & 1 ? tess_view_col_major(s->types.in, s->k, s->n, p->b + GUARD, p->ldb)
                         : tess_view_row_major(s->types.in, s->k, s->n, p->b + GUARD, p->ldb);
    p->C = tess_view_row_major(s->types.out, s->m, s->n, p->c + GUARD, p->ldc);
    p->C0 = tess_view_row_major(s->types.out, s->m, s->n, p->c0 + GUARD, p->ldc);
}

bool problem_open(problem *p, const problem_spec *s) {
    int64_t lines_a = s->layout & 2 ? s->k : s->m, lines_b = s->layout & 1 ? s->n : s->k;
    *p = (problem){.spec = *s,
                   .lda = (s->layout & 2 ? s->m : s->k) + s->ld_pad,
                   .ldb = (s->layout & 1 ? s->k : s->n) + s->ld_pad,
                   .ldc = s->n + s->ld_pad};
    p->batch = (tess_batch){s->batch, lines_a * p->lda, lines_b * p->ldb, s->m * p->ldc};
    if (!matrix_bytes(s->batch, lines_a, p->lda, s->types.in, &p->size_a) ||
        !matrix_bytes(s->batch, lines_b, p->ldb, s->types.in, &p->size_b) ||
        !matrix_bytes(s->batch, s->m, p->ldc, s->types.out, &p->size_c))
        return too_large(s, 1e19);
    double needed = (double)p->size_a + (double)p->size_b + 2 * (double)p->size_c;
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (memory > 0 && needed > memory) return too_large(s, needed);
    p->a = allocate(p->size_a);
    p->b = allocate(p->size_b);
    p->c = allocate(p->size_c);
    p->c0 = allocate(p->size_c);
    if (p->a == NULL || p->b == NULL || p->c == NULL || p->c0 == NULL) return too_large(s, needed);
    /* A and B have gaps between their rows too: whoever reads those must not get zeros. */
    memset(p->a, 0xff, p->size_a + 2 * GUARD);
    memset(p->b, 0xff, p->size_b + 2 * GUARD);
    make_views(p);
    return true;
}

void problem_free(problem *p) {
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->c0);
    *p = (problem){0};
}

/* View i of a batch whose products are `stride` elements apart. */
static tess_matrix batch_view(tess_matrix M, int64_t stride, int64_t i) {
    M.data = (unsigned char *)M.data + i * stride * (int64_t)tess_type_size(M.type);
    return M;
}

static bool is_integer(tess_type type) {
    return type == TESS_I32 || type == TESS_I8;
}

/* The range of integers whose products are exact, small enough for the output type to hold; 0 if none. */
static double exact_range(const problem_spec *s) {
    double range = (double)tess_exact_range(s->types.in, s->k, s->alpha, s->beta);
    double most = s->types.in == TESS_I8 ? 127 : 1000;
    if (s->types.out == TESS_F16)
        most = floor(sqrt(60000 / (fabs(s->alpha) * (double)s->k + fabs(s->beta) + 1)));
    return fmin(range, most);
}

static bool fill_one(tess_matrix M, problem_data data, double exact, uint64_t seed) {
    tess_status status;
    if (data == PROBLEM_EXACT)
        status = tess_fill(&M, TESS_FILL_INTEGER, exact, seed);
    else if (is_integer(M.type))
        status = tess_fill(&M, TESS_FILL_INTEGER, M.type == TESS_I8 ? 127 : 1000000, seed);
    else
        status = tess_fill(&M, TESS_FILL_UNIFORM, 1, seed);
    if (status != TESS_OK) say_error("the matrices could not be filled: %s", tess_error(NULL));
    return status == TESS_OK;
}

/* beta = 0 must not read C: NaN shows it if somebody does. Integers have no NaN; the guard byte stays. */
static bool fill_result(tess_matrix C, const problem_spec *s, problem_data data, double exact,
                        uint64_t seed) {
    if (s->beta != 0) return fill_one(C, data, exact, seed);
    if (is_integer(C.type)) return true;
    return tess_fill(&C, TESS_FILL_VALUE, (double)NAN, 0) == TESS_OK;
}

bool problem_fill(problem *p, problem_data data) {
    const problem_spec *s = &p->spec;
    double exact = data == PROBLEM_EXACT ? exact_range(s) : 0;
    if (data == PROBLEM_EXACT && exact < 1) return false;
    memset(p->c, GUARD_BYTE, p->size_c + 2 * GUARD);
    for (int64_t i = 0; i < s->batch; i++) {
        uint64_t seed = s->seed + 3 * (uint64_t)i;
        if (!fill_one(batch_view(p->A, p->batch.stride_a, i), data, exact, seed) ||
            !fill_one(batch_view(p->B, p->batch.stride_b, i), data, exact, seed + 1) ||
            !fill_result(batch_view(p->C, p->batch.stride_c, i), s, data, exact, seed + 2))
            return false;
    }
    memcpy(p->c0, p->c, p->size_c + 2 * GUARD);
    return true;
}

void problem_reset(problem *p) {
    memcpy(p->c, p->c0, p->size_c + 2 * GUARD);
}

/* Whether the bytes that belong to no element of C are as they were. */
static bool surroundings_intact(const problem *p) {
    size_t element = tess_type_size(p->spec.types.out);
    size_t row = (size_t)p->ldc * element, used = (size_t)p->spec.n * element;
    if (memcmp(p->c, p->c0, GUARD) != 0) return false;
    for (size_t at = GUARD; row > used && at < GUARD + p->size_c; at += row)
        if (memcmp(p->c + at + used, p->c0 + at + used, row - used) != 0) return false;
    return memcmp(p->c + GUARD + p->size_c, p->c0 + GUARD + p->size_c, GUARD) == 0;
}

static void keep_worst(tess_check *worst, const tess_check *one) {
    tess_check merged = one->passed && !(one->used > worst->used) ? *worst : *one;
    merged.passed = worst->passed && one->passed;
    merged.rel_error = fmax(worst->rel_error, one->rel_error);
    merged.max_error = fmax(worst->max_error, one->max_error);
    merged.used = fmax(worst->used, one->used);
    merged.wrong = worst->wrong + one->wrong;
    *worst = merged;
}

static void describe_failure(const tess_check *check, problem_data data, int64_t product, char why[256]) {
    if (why == NULL) return;
    snprintf(why, 256,
             "%" PRId64 " wrong with %s data; the worst in product %" PRId64 " at row %" PRId64
             ", column %" PRId64 ": got %.9g, want %.9g",
             check->wrong, data == PROBLEM_EXACT ? "exact" : "random", product, check->row, check->col,
             check->got, check->want);
}

bool problem_check(const problem *p, problem_data data, tess_check *worst, char why[256]) {
    const problem_spec *s = &p->spec;
    tess_check_method method = data == PROBLEM_EXACT ? TESS_CHECK_EXACT : TESS_CHECK_AUTO;
    *worst = (tess_check){.passed = 1, .col = -1};
    for (int64_t i = 0; i < s->batch; i++) {
        tess_matrix A = batch_view(p->A, p->batch.stride_a, i), B = batch_view(p->B, p->batch.stride_b, i);
        tess_matrix C = batch_view(p->C, p->batch.stride_c, i), C0 = batch_view(p->C0, p->batch.stride_c, i);
        tess_check one;
        if (tess_check_gemm(s->alpha, &A, &B, s->beta, s->beta == 0 ? NULL : &C0, &C, method, s->seed,
                            &one) != TESS_OK) {
            if (why != NULL) snprintf(why, 256, "it could not be checked: %s", tess_error(NULL));
            worst->passed = 0;
            return false;
        }
        if (!one.passed && worst->passed) describe_failure(&one, data, i, why);
        keep_worst(worst, &one);
    }
    if (!surroundings_intact(p)) {
        if (why != NULL) snprintf(why, 256, "memory outside C's elements was written");
        worst->passed = 0;
    }
    return worst->passed != 0;
}

static const tess_batch *batch_or_null(const problem *p) {
    return p->spec.batch == 1 ? NULL : &p->batch;
}

tess_status problem_call(const problem *p, tess_context *ctx, const tess_options *options) {
    const problem_spec *s = &p->spec;
    if (s->batch == 1) return tess_gemm(ctx, s->alpha, &p->A, &p->B, s->beta, &p->C, options);
    return tess_gemm_batched(ctx, s->alpha, &p->A, &p->B, s->beta, &p->C, &p->batch, options);
}

tess_status problem_plan(const problem *p, tess_context *ctx, const tess_options *options, tess_plan **plan) {
    return tess_plan_gemm(ctx, &p->A, &p->B, &p->C, batch_or_null(p), options, plan);
}

tess_status problem_run(const problem *p, tess_plan *plan) {
    return tess_run(plan, p->spec.alpha, &p->A, &p->B, p->spec.beta, &p->C);
}
