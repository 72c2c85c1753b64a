/* problem.c: allocates, fills, runs and checks one product.
 *
 * Invariant: `c0` is a byte-for-byte copy of C's whole buffer as it was filled, guards and row gaps included,
 * so that restoring C is a copy and a write outside C's elements is a difference.
 */
#include "problem.h"
#include "filling.h"
#include "say.h"
#include "special.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes before and after a matrix; whole cache lines, so that it starts on one unless it is to be misaligned. */
enum { GUARD = 256, GUARD_BYTE = 0xa5 };

const problem_types problem_all_types[PROBLEM_TYPE_COUNT] = {
    {TESS_F32, TESS_F32},   {TESS_F64, TESS_F64},  {TESS_F16, TESS_F16}, {TESS_F16, TESS_F32},
    {TESS_BF16, TESS_BF16}, {TESS_BF16, TESS_F32}, {TESS_I32, TESS_I32}, {TESS_I8, TESS_I32},
};
const char *const problem_layouts[PROBLEM_LAYOUTS] = {"nn", "nt", "tn", "tt", "ss"};
const char *const problem_computes[PROBLEM_COMPUTES + 1] = {"default", "f32-strict", "tf32", "bf16", "f32"};

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

/* Bytes of a whole buffer: the guards are part of it. */
static size_t whole_a(const problem *p) {
    return p->skip_in + p->size_a + GUARD;
}

static size_t whole_b(const problem *p) {
    return p->skip_in + p->size_b + GUARD;
}

static size_t whole_c(const problem *p) {
    return p->skip_out + p->size_c + GUARD;
}

static unsigned char *allocate(size_t bytes) {
    void *memory = NULL;
    return posix_memalign(&memory, 64, bytes) == 0 ? memory : NULL;
}

/* From one element of a line of A or B to the next. */
static int64_t step_of(const problem_spec *s) {
    return s->layout == PROBLEM_STRIDED ? 2 : 1;
}

static void make_views(problem *p) {
    const problem_spec *s = &p->spec;
    p->A = s->layout & 2 ? tess_view_col_major(s->types.in, s->m, s->k, NULL, p->lda)
                         : tess_view_strided(s->types.in, s->m, s->k, NULL, p->lda, step_of(s));
    p->B = s->layout & 1 ? tess_view_col_major(s->types.in, s->k, s->n, NULL, p->ldb)
                         : tess_view_strided(s->types.in, s->k, s->n, NULL, p->ldb, step_of(s));
    p->C = tess_view_row_major(s->types.out, s->m, s->n, p->c + p->skip_out, p->ldc);
    p->C0 = tess_view_row_major(s->types.out, s->m, s->n, p->c0 + p->skip_out, p->ldc);
}

static bool allocate_on_device(problem *p, tess_context *ctx) {
    if (ctx == NULL) return true;
    p->ctx = ctx;
    if (tess_alloc(ctx, whole_a(p), &p->device_a) == TESS_OK &&
        tess_alloc(ctx, whole_b(p), &p->device_b) == TESS_OK &&
        tess_alloc(ctx, whole_c(p), &p->device_c) == TESS_OK)
        return true;
    say_error("the matrices do not fit the device: %s", tess_error(ctx));
    return false;
}

bool problem_open(problem *p, const problem_spec *s, tess_context *ctx) {
    int64_t lines_a = s->layout & 2 ? s->k : s->m, lines_b = s->layout & 1 ? s->n : s->k;
    *p = (problem){.spec = *s,
                   .lda = (s->layout & 2 ? s->m : s->k) * step_of(s) + s->ld_pad,
                   .ldb = (s->layout & 1 ? s->k : s->n) * step_of(s) + s->ld_pad,
                   .ldc = s->n + s->ld_pad,
                   .filled = PROBLEM_EMPTY};
    p->batch = (tess_batch){s->batch, lines_a * p->lda, lines_b * p->ldb, s->m * p->ldc};
    if (!matrix_bytes(s->batch, lines_a, p->lda, s->types.in, &p->size_a) ||
        !matrix_bytes(s->batch, lines_b, p->ldb, s->types.in, &p->size_b) ||
        !matrix_bytes(s->batch, s->m, p->ldc, s->types.out, &p->size_c))
        return too_large(s, 1e19);
    p->skip_in = GUARD + (size_t)s->misalign * tess_type_size(s->types.in);
    p->skip_out = GUARD + (size_t)s->misalign * tess_type_size(s->types.out);
    double needed = 2 * ((double)p->size_a + (double)p->size_b + (double)p->size_c);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (memory > 0 && needed > memory) return too_large(s, needed);
    p->c = allocate(whole_c(p));
    p->c0 = allocate(whole_c(p));
    if (p->c == NULL || p->c0 == NULL) return too_large(s, needed);
    make_views(p);
    return allocate_on_device(p, ctx);
}

void problem_free(problem *p) {
    for (int kind = 0; kind < PROBLEM_DATA_KINDS; kind++) {
        free(p->inputs[kind].a);
        free(p->inputs[kind].b);
    }
    free(p->c);
    free(p->c0);
    free(p->right_c);
    void *const on_device[] = {p->device_a, p->device_b, p->device_c};
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        if (on_device[i] != NULL) tess_free(p->ctx, on_device[i]);
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

/* The largest relative error of an input rounded as the compute mode allows; 0 where it allows none. */
static double input_error(const problem_spec *s) {
    if (s->compute == TESS_COMPUTE_TF32) return 0x1p-11;
    return s->compute == TESS_COMPUTE_BF16 ? 0x1p-8 : 0;
}

/* The range of integers whose products are exact, small enough for the output type to hold and for a less
 * exact arithmetic to keep; 0 if none. */
static double exact_range(const problem_spec *s) {
    double range = (double)tess_exact_range(s->types.in, s->k, s->alpha, s->beta);
    double most = s->types.in == TESS_I8 ? 127 : 1000;
    if (input_error(s) > 0) most = fmin(most, 1 / input_error(s));
    if (s->types.out == TESS_F16)
        most = floor(sqrt(60000 / (fabs(s->alpha) * (double)s->k + fabs(s->beta) + 1)));
    return fmin(range, most);
}

/* Which matrix of a product is filled. */
typedef enum operand_role { ROLE_A, ROLE_B, ROLE_C, ROLES } operand_role;

static tess_status fill_special(tess_matrix M, operand_role role, uint64_t seed) {
    return role == ROLE_A   ? special_fill_a(M, seed)
           : role == ROLE_B ? special_fill_b(M, seed)
                            : special_fill_c(M, seed);
}

/* One matrix of product i of the batch. */
static tess_status fill_one(const problem_spec *s, tess_matrix M, problem_data data, operand_role role,
                            int64_t i) {
    uint64_t seed = s->seed + ROLES * (uint64_t)i + role;
    if (data == PROBLEM_SPECIAL) return fill_special(M, role, s->seed + (uint64_t)i);
    if (data == PROBLEM_EXACT) return fill_matrix(M, TESS_FILL_INTEGER, exact_range(s), seed);
    if (is_integer(M.type)) return fill_matrix(M, TESS_FILL_INTEGER, M.type == TESS_I8 ? 127 : 1000000, seed);
    return fill_matrix(M, TESS_FILL_UNIFORM, 1, seed);
}

/* One input of every product of the batch. Between its rows lie NaNs: whoever reads those must not get
 * zeros. */
static unsigned char *make_input(const problem *p, tess_matrix M, int64_t stride, size_t bytes,
                                 problem_data data, operand_role role) {
    unsigned char *memory = allocate(bytes);
    if (memory == NULL) return NULL;
    memset(memory, 0xff, bytes);
    M.data = memory + p->skip_in;
    for (int64_t i = 0; i < p->spec.batch; i++) {
        if (fill_one(&p->spec, batch_view(M, stride, i), data, role, i) == TESS_OK) continue;
        free(memory);
        return NULL;
    }
    return memory;
}

/* Inputs are made once for each kind of data: many kernels may follow on the same product. */
static bool make_inputs(problem *p, problem_data data) {
    problem_inputs *in = &p->inputs[data];
    if (in->a == NULL) in->a = make_input(p, p->A, p->batch.stride_a, whole_a(p), data, ROLE_A);
    if (in->b == NULL) in->b = make_input(p, p->B, p->batch.stride_b, whole_b(p), data, ROLE_B);
    if (in->a == NULL || in->b == NULL) return false;
    p->A.data = in->a + p->skip_in;
    p->B.data = in->b + p->skip_in;
    return true;
}

/* beta = 0 must not read C: NaN shows it if somebody does. Integers have no NaN; the guard byte stays. */
static tess_status fill_result(tess_matrix C, const problem_spec *s, problem_data data, int64_t i) {
    if (s->beta != 0) return fill_one(s, C, data, ROLE_C, i);
    return is_integer(C.type) ? TESS_OK : fill_matrix(C, TESS_FILL_VALUE, (double)NAN, 0);
}

/* C as it is before a run, into C0. */
static bool make_result(problem *p, problem_data data) {
    const problem_spec *s = &p->spec;
    if (p->filled == (int)data || (p->filled != PROBLEM_EMPTY && s->beta == 0)) return true;
    p->filled = PROBLEM_EMPTY;
    memset(p->c0, GUARD_BYTE, whole_c(p));
    for (int64_t i = 0; i < s->batch; i++) {
        tess_matrix one = batch_view(p->C0, p->batch.stride_c, i);
        if (fill_result(one, s, data, i) != TESS_OK) return false;
    }
    p->filled = (int)data;
    return true;
}

/* Both ways whole buffers are copied, guards included. */
static tess_status copy_to_device(const problem *p, problem_data data) {
    if (p->ctx == NULL) return TESS_OK;
    const problem_inputs *in = &p->inputs[data];
    tess_status status = tess_copy(p->ctx, p->device_a, in->a, whole_a(p));
    if (status == TESS_OK) status = tess_copy(p->ctx, p->device_b, in->b, whole_b(p));
    return status == TESS_OK ? tess_copy(p->ctx, p->device_c, p->c0, whole_c(p)) : status;
}

static tess_status copy_from_device(problem *p) {
    return p->ctx == NULL ? TESS_OK : tess_copy(p->ctx, p->c, p->device_c, whole_c(p));
}

static bool is_for_special(double scalar) {
    return scalar == floor(scalar) && fabs(scalar) <= SPECIAL_LARGEST_SCALAR;
}

/* Small, because every element is checked by the oracle and special data are filled one by one. */
static bool has_special(const problem_spec *s) {
    return s->special && !is_integer(s->types.in) && is_for_special(s->alpha) && is_for_special(s->beta) &&
           s->k <= SPECIAL_LARGEST_K && problem_flops(s) <= 0x1p23;
}

bool problem_has_data(const problem_spec *s, problem_data data) {
    if (data == PROBLEM_SPECIAL) return has_special(s);
    return data != PROBLEM_EXACT || exact_range(s) >= 1;
}

bool problem_fill(problem *p, problem_data data, char why[PROBLEM_SENTENCE]) {
    p->undone = true;
    if (!make_inputs(p, data) || !make_result(p, data)) {
        snprintf(why, PROBLEM_SENTENCE, "the matrices could not be filled; most likely memory has run out");
        return false;
    }
    memcpy(p->c, p->c0, whole_c(p));
    p->undone = copy_to_device(p, data) != TESS_OK;
    if (!p->undone) return true;
    snprintf(why, PROBLEM_SENTENCE, "the matrices could not be copied to the device: %s", tess_error(p->ctx));
    return false;
}

/* Whether the bytes that belong to no element of C are as they were. */
static bool surroundings_intact(const problem *p) {
    size_t element = tess_type_size(p->spec.types.out);
    size_t row = (size_t)p->ldc * element, used = (size_t)p->spec.n * element;
    size_t end = p->skip_out + p->size_c;
    if (memcmp(p->c, p->c0, p->skip_out) != 0) return false;
    for (size_t at = p->skip_out; row > used && at < end; at += row)
        if (memcmp(p->c + at + used, p->c0 + at + used, row - used) != 0) return false;
    return memcmp(p->c + end, p->c0 + end, GUARD) == 0;
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

/* Which sign a NaN has is the processor's matter: x86 makes -nan of 0 * infinity, Arm nan. */
static double unsigned_nan(double value) {
    return isnan(value) ? fabs(value) : value;
}

static void describe_failure(const tess_check *check, problem_data data, int64_t product,
                             char why[PROBLEM_SENTENCE]) {
    static const char *const names[PROBLEM_DATA_KINDS] =
        {[PROBLEM_RANDOM] = "random", [PROBLEM_EXACT] = "exact", [PROBLEM_SPECIAL] = "special"};
    snprintf(why, PROBLEM_SENTENCE,
             "%" PRId64 " wrong with %s data; the worst in product %" PRId64 " at row %" PRId64
             ", column %" PRId64 ": got %.9g, want %.9g",
             check->wrong, names[data], product, check->row, check->col, unsigned_nan(check->got),
             unsigned_nan(check->want));
}

/* A compute mode is a permission to round inputs, which the library's bound does not count. Twice the
 * error of rounding, for hardware that cuts off instead, in each of two inputs. */
static void allow_rounded_inputs(const problem_spec *s, tess_check *check) {
    double counted = (double)(s->k + 8) * 0x1p-24;
    check->used /= 1 + 4 * input_error(s) / counted;
    check->passed = check->used <= 1;
    if (check->passed) check->wrong = 0;
}

static bool check_products(problem *p, problem_data data, tess_check *worst, char why[PROBLEM_SENTENCE]) {
    const problem_spec *s = &p->spec;
    tess_check_method method = data == PROBLEM_RANDOM ? TESS_CHECK_AUTO : TESS_CHECK_EXACT;
    for (int64_t i = 0; i < s->batch; i++) {
        tess_matrix A = batch_view(p->A, p->batch.stride_a, i), B = batch_view(p->B, p->batch.stride_b, i);
        tess_matrix C = batch_view(p->C, p->batch.stride_c, i), C0 = batch_view(p->C0, p->batch.stride_c, i);
        tess_check one;
        if (tess_check_gemm(s->alpha, &A, &B, s->beta, s->beta == 0 ? NULL : &C0, &C, method, s->seed,
                            &one) != TESS_OK) {
            snprintf(why, PROBLEM_SENTENCE, "%s", tess_error(NULL));
            p->undone = true;
            return false;
        }
        if (data == PROBLEM_RANDOM && input_error(s) > 0) allow_rounded_inputs(s, &one);
        if (!one.passed && worst->passed) describe_failure(&one, data, i, why);
        keep_worst(worst, &one);
    }
    return worst->passed != 0;
}

/* Right results of exact data are equal bit for bit, what surrounds them included. */
static bool equals_right_one(const problem *p, problem_data data) {
    return data == PROBLEM_EXACT && p->right_c != NULL && memcmp(p->c, p->right_c, whole_c(p)) == 0;
}

static void keep_right_one(problem *p, problem_data data) {
    if (data != PROBLEM_EXACT || p->right_c != NULL) return;
    p->right_c = allocate(whole_c(p));
    if (p->right_c != NULL) memcpy(p->right_c, p->c, whole_c(p));
}

bool problem_check(problem *p, problem_data data, tess_check *worst, char why[PROBLEM_SENTENCE]) {
    *worst = (tess_check){.passed = 1, .col = -1};
    if (copy_from_device(p) != TESS_OK) {
        snprintf(why, PROBLEM_SENTENCE, "the result could not be had: %s", tess_error(p->ctx));
        worst->passed = 0;
        return false;
    }
    if (equals_right_one(p, data)) return true;
    if (!check_products(p, data, worst, why)) {
        worst->passed = 0;
        return false;
    }
    if (!surroundings_intact(p)) {
        snprintf(why, PROBLEM_SENTENCE, "memory outside C's elements was written");
        worst->passed = 0;
        return false;
    }
    keep_right_one(p, data);
    return true;
}

/* The operands as a call takes them: the host's views, or the same ones in device memory. */
typedef struct operands {
    tess_matrix A, B, C;
} operands;

static tess_matrix on_device(tess_matrix M, void *memory, size_t skip) {
    M.data = (unsigned char *)memory + skip;
    M.place = TESS_DEVICE;
    return M;
}

static operands operands_of(const problem *p) {
    if (p->ctx == NULL) return (operands){p->A, p->B, p->C};
    return (operands){on_device(p->A, p->device_a, p->skip_in), on_device(p->B, p->device_b, p->skip_in),
                      on_device(p->C, p->device_c, p->skip_out)};
}

tess_status problem_call(const problem *p, tess_context *ctx, const tess_options *options) {
    const problem_spec *s = &p->spec;
    operands on = operands_of(p);
    if (s->batch == 1) return tess_gemm(ctx, s->alpha, &on.A, &on.B, s->beta, &on.C, options);
    return tess_gemm_batched(ctx, s->alpha, &on.A, &on.B, s->beta, &on.C, &p->batch, options);
}

tess_status problem_plan(const problem *p, tess_context *ctx, const tess_options *options, tess_plan **plan) {
    operands on = operands_of(p);
    const tess_batch *batch = p->spec.batch == 1 ? NULL : &p->batch;
    return tess_plan_gemm(ctx, &on.A, &on.B, &on.C, batch, options, plan);
}

tess_status problem_run(const problem *p, tess_plan *plan) {
    operands on = operands_of(p);
    return tess_run(plan, p->spec.alpha, &on.A, &on.B, p->spec.beta, &on.C);
}

tess_status problem_prepare(const problem *p, tess_context *ctx, tess_plan *plan, tess_operand *prepared[2]) {
    operands on = operands_of(p);
    tess_status status = tess_prepare(ctx, TESS_ROLE_A, &on.A, &prepared[0]);
    if (status == TESS_OK) status = tess_prepare(ctx, TESS_ROLE_B, &on.B, &prepared[1]);
    return status == TESS_OK ? tess_use_operands(plan, prepared[0], prepared[1]) : status;
}

tess_status problem_time(const problem *p, tess_plan *plan, int64_t repeats, bool cold, double *seconds) {
    operands on = operands_of(p);
    return tess_time(plan, p->spec.alpha, &on.A, &on.B, p->spec.beta, &on.C, repeats, cold, seconds);
}
