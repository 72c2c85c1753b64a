/* verify_oracle.c: every element computed again, in f64 (in twice f64 for f64), and judged. The arithmetic here
 * shares nothing with the kernels it judges. Comparisons are written so that NaN fails. */
#include "verify.h"

#include <math.h>
#include <string.h>

#include "memory.h"
#include "numeric.h"

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
