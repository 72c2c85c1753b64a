/* verify.c: is this C right? The arithmetic here shares nothing with the kernels it judges; docs/NUMERICS.md
 * derives the bounds. Small products are computed again, every element of them; large ones are checked in
 * O(n²) (verify_checksum.c). Comparisons are written so that NaN fails. */
#include "verify.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "memory.h"
#include "numeric.h"
#include "plan.h"

void verify_record(verdict *v, int64_t row, int64_t col, double got, double want, int right, double share) {
    tess_check *check = v->check;
    if (isnan(share)) share = right ? 0 : (double)INFINITY; /* infinities and NaN have no distance */
    if (right && share > 1) share = 1;
    if (!right && share <= 1) share = (double)INFINITY;
    check->wrong += !right;
    if (v->seen++ == 0 || share > check->used) {
        check->used = share;
        check->row = row, check->col = col;
        check->got = got, check->want = want;
    }
}

void verify_element(verdict *v, int64_t row, int64_t col, double got, double want, double scale) {
    double error = fabs(got - want);
    double allowed = v->exact ? 0 : v->sum_error * scale + v->out_error * fabs(want) + v->underflow;
    int right;
    if (isnan(want))
        right = isnan(got);
    else if (v->exact || isinf(want))
        right = got == want;
    else if (error <= allowed)
        right = 1;
    else if (!(scale < v->acc_largest))
        right = !isfinite(got); /* a partial sum may have overflowed */
    else
        right = isinf(got) && (got > 0) == (want > 0) &&
                fabs(want) * (1 + v->out_error) + allowed >= v->out_largest;
    if (isfinite(want) && isfinite(got)) {
        v->square_error += error * error;
        v->square_want += want * want;
        if (scale > 0 && error / scale > v->check->max_error) v->check->max_error = error / scale;
    }
    verify_record(v, row, col, got, want, right,
                  allowed > 0 ? error / allowed
                  : error > 0 ? (double)INFINITY
                              : 0);
}

/* Sums of ROWS rows at a time, so that a row of B is converted once for all of them. */
enum { ROWS = 8 };

tess_status verify_make_oracle(oracle *o, int64_t cols, sentence *why) {
    size_t count = (size_t)(ROWS * cols);
    size_t size = (size_t)cols * sizeof(double) + count * (3 * sizeof(double) + sizeof(uint32_t));
    double *memory = memory_alloc(size);
    if (!memory)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for the oracle's sums (%zu bytes)", size);
    o->b = memory;
    o->sum = memory + cols;
    o->low = o->sum + count;
    o->scale = o->low + count;
    o->wrapped = (uint32_t *)(void *)(o->scale + count);
    return TESS_OK;
}

/* Products of two f32 (or narrower) are exact in f64, so plain sums err by k·2^-53, far below what is
 * allowed. */
static void add_products(double a, const double *restrict b, double *restrict sum, double *restrict scale,
                         int64_t cols) {
    for (int64_t j = 0; j < cols; j++) {
        sum[j] += a * b[j];
        scale[j] += fabs(a * b[j]);
    }
}

/* For f64: the sum and, apart, all that its roundings took (Ogita, Rump and Oishi, 2005: as if in twice f64).
 */
static void add_products_twice(double a, const double *restrict b, double *restrict sum, double *restrict low,
                               double *restrict scale, int64_t cols) {
    for (int64_t j = 0; j < cols; j++) {
        double product = a * b[j], rest = fma(a, b[j], -product);
        double next = sum[j] + product, back = next - sum[j];
        low[j] += rest + ((sum[j] - (next - back)) + (product - back));
        sum[j] = next;
        scale[j] += fabs(product);
    }
}

static void add_wrapped(double a, const double *restrict b, uint32_t *restrict wrapped, int64_t cols) {
    uint32_t factor = (uint32_t)(int64_t)a;
    for (int64_t j = 0; j < cols; j++) wrapped[j] += factor * (uint32_t)(int64_t)b[j];
}

/* Judges one row, whose sums are complete. */
static void judge_row(verdict *v, int64_t row, int64_t col, int64_t cols, const oracle *o, int64_t at) {
    for (int64_t j = 0; j < cols; j++) {
        double got = numeric_load(v->C->type, matrix_at(v->C, row, col + j));
        double before = v->beta == 0 ? 0 : numeric_load(v->C0->type, matrix_at(v->C0, row, col + j));
        if (numeric_is_integer(v->C->type)) {
            uint32_t want = (uint32_t)(int64_t)v->alpha * o->wrapped[at + j] +
                            (uint32_t)(int64_t)v->beta * (uint32_t)(int64_t)before;
            verify_element(v, row, col + j, got, (int32_t)want, 0);
            continue;
        }
        double sum = o->sum[at + j];
        if (isfinite(sum)) sum += o->low[at + j];
        double want = v->alpha == 0 ? 0 : v->alpha * sum,
               scale = v->alpha == 0 ? 0 : fabs(v->alpha) * o->scale[at + j];
        if (v->beta != 0) {
            want = v->alpha == 0 ? v->beta * before : want + v->beta * before;
            scale += fabs(v->beta * before);
        }
        if (v->exact) { /* the sum is exact, and the type of C rounds it once */
            double rounded;
            numeric_store(v->C->type, &rounded, want);
            want = numeric_load(v->C->type, &rounded);
        }
        verify_element(v, row, col + j, got, want, scale);
    }
}

/* Rows [row, row+rows), at most ROWS of them. */
static void judge_rows(verdict *v, int64_t row, int64_t rows, int64_t col, int64_t cols, const oracle *o) {
    size_t count = (size_t)(ROWS * cols);
    memset(o->sum, 0, count * sizeof *o->sum);
    memset(o->low, 0, count * sizeof *o->low);
    memset(o->scale, 0, count * sizeof *o->scale);
    memset(o->wrapped, 0, count * sizeof *o->wrapped);
    for (int64_t p = 0; p < v->A->cols && v->alpha != 0; p++) {
        for (int64_t j = 0; j < cols; j++) o->b[j] = numeric_load(v->B->type, matrix_at(v->B, p, col + j));
        for (int64_t i = 0; i < rows; i++) {
            double a = numeric_load(v->A->type, matrix_at(v->A, row + i, p));
            int64_t at = i * cols;
            if (numeric_is_integer(v->A->type))
                add_wrapped(a, o->b, o->wrapped + at, cols);
            else if (v->A->type == TESS_F64)
                add_products_twice(a, o->b, o->sum + at, o->low + at, o->scale + at, cols);
            else
                add_products(a, o->b, o->sum + at, o->scale + at, cols);
        }
    }
    for (int64_t i = 0; i < rows; i++) judge_row(v, row + i, col, cols, o, i * cols);
}

void verify_by_oracle(verdict *v, const oracle *o, int64_t row, int64_t rows, int64_t col, int64_t cols) {
    for (int64_t i = 0; i < rows; i += ROWS)
        judge_rows(v, row + i, rows - i < ROWS ? rows - i : ROWS, col, cols, o);
}

static tess_status check_all(verdict *v, sentence *why) {
    oracle o = {NULL, NULL, NULL, NULL, NULL};
    TRY(verify_make_oracle(&o, v->C->cols, why));
    verify_by_oracle(v, &o, 0, v->C->rows, 0, v->C->cols);
    memory_free(o.b);
    return TESS_OK;
}

/* Refuses what cannot be read. */
static tess_status check_views(const verdict *v, double alpha, double beta, sentence *why) {
    TRY(matrix_check(v->A, "A", why));
    TRY(matrix_check(v->B, "B", why));
    TRY(matrix_check(v->C, "C", why));
    TRY(plan_check_product(v->A, v->B, v->C, TESS_COMPUTE_DEFAULT, why));
    if (beta != 0) {
        if (!v->C0)
            return status_fail(why, TESS_ERROR_ARGUMENT, "C0 is NULL, but beta is %g: C as it was is needed",
                               beta);
        TRY(matrix_check(v->C0, "C0", why));
        if (v->C0->type != v->C->type || v->C0->rows != v->C->rows || v->C0->cols != v->C->cols)
            return status_fail(why, TESS_ERROR_SHAPE,
                               "C0 is %" PRId64 "×%" PRId64 " %s but C is %" PRId64 "×%" PRId64
                               " %s; they must be alike",
                               v->C0->rows, v->C0->cols, tess_type_name(v->C0->type), v->C->rows, v->C->cols,
                               tess_type_name(v->C->type));
    }
    int reads = alpha != 0 && v->C->rows > 0 && v->C->cols > 0;
    const tess_matrix *views[4] = {reads ? v->A : NULL, reads ? v->B : NULL, beta != 0 ? v->C0 : NULL, v->C};
    static const char *const names[4] = {"A", "B", "C0", "C"};
    for (int i = 0; i < 4; i++) {
        if (!views[i] || views[i]->rows == 0 || views[i]->cols == 0) continue;
        if (!views[i]->data) return status_fail(why, TESS_ERROR_ARGUMENT, "%s.data is NULL", names[i]);
        if (views[i]->place == TESS_DEVICE)
            return status_fail(why, TESS_ERROR_ARGUMENT, "%s lies in device memory; check a copy on the host",
                               names[i]);
    }
    return TESS_OK;
}

/* What the bound allows for these types and this k. */
static void set_bounds(verdict *v, double alpha, double beta, int64_t k) {
    tess_type acc = numeric_accumulator(v->A->type), out = v->C->type;
    int is_f32 = acc == TESS_F32;
    v->alpha = k == 0 ? 0 : is_f32 ? (double)(float)alpha : alpha;
    v->beta = is_f32 ? (double)(float)beta : beta;
    v->exact = v->exact || numeric_is_integer(out);
    v->sum_error = (double)(k + 8) * numeric_unit_roundoff(acc);
    v->out_error = numeric_unit_roundoff(out);
    v->underflow = numeric_underflow(out) + (double)(k + 8) * numeric_underflow(acc) * (1 + fabs(v->alpha));
    v->acc_largest = numeric_largest(acc);
    v->out_largest = numeric_largest(out);
}

tess_status tess_check_gemm(double alpha, const tess_matrix *A, const tess_matrix *B, double beta,
                            const tess_matrix *C0, const tess_matrix *C, tess_check_method method,
                            uint64_t seed, tess_check *check) {
    static const double oracle_limit = 1e9; /* multiply-adds: about a second */
    sentence *why = status_of_thread();
    if (!check) return status_fail(why, TESS_ERROR_ARGUMENT, "check is NULL");
    memset(check, 0, sizeof *check);
    if ((int)method < TESS_CHECK_AUTO || (int)method > TESS_CHECK_EXACT)
        return status_fail(why, TESS_ERROR_ARGUMENT, "method is %d, which is no tess_check_method",
                           (int)method);
    verdict v = {.A = A, .B = B, .C0 = C0, .C = C, .exact = method == TESS_CHECK_EXACT, .check = check};
    TRY(check_views(&v, alpha, beta, why));
    set_bounds(&v, alpha, beta, A->cols);

    double work = (double)C->rows * (double)C->cols * (double)A->cols;
    int small = method == TESS_CHECK_ORACLE || (method != TESS_CHECK_CHECKSUM && work <= oracle_limit);
    check->method = small ? TESS_CHECK_ORACLE : TESS_CHECK_CHECKSUM;
    if (C->rows > 0 && C->cols > 0) TRY(small ? check_all(&v, why) : verify_by_checksum(&v, seed, why));
    if (v.square_error > 0) check->rel_error = sqrt(v.square_error / v.square_want);
    check->passed = check->wrong == 0;
    return TESS_OK;
}
