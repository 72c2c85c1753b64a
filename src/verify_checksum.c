/* verify_checksum.c: checking a large product in O(n²), after Freivalds.
 *
 * With x of random signs, row i of C·x − (alpha·A·(B·x) + beta·C0·x) is a sum of that row's errors with
 * random signs. By Hoeffding's inequality it exceeds t times the Euclidean norm of what each element may err
 * with a probability below 2·exp(−t²/2), whatever the errors are; t is chosen so that one right product in
 * 10^9 is refused. The norm of |A||B| along a row is at most ‖a_i‖·‖B‖. The sums of this file are taken in
 * f64, and their own worst case is allowed on top.
 *
 * Where all numbers are integers the same sums are taken modulo 2^64 with random 64-bit x, and must be equal.
 *
 * Beside that, elements drawn at random and the corners are checked one by one: they also give the error
 * measures. */
#include <math.h>

#include "fill.h"
#include "memory.h"
#include "numeric.h"
#include "verify.h"

enum { SAMPLES = 2048 };

/* Some elements of C, each as the oracle would. */
static tess_status check_samples(verdict *v, uint64_t seed, sentence *why) {
    uint64_t m = (uint64_t)v->C->rows, n = (uint64_t)v->C->cols;
    oracle *o = NULL;
    TRY(verify_make_oracle(&o, why));
    for (uint64_t s = 0; s < SAMPLES; s++) {
        uint64_t row = fill_bits(seed, 2 * s) % m, col = fill_bits(seed, 2 * s + 1) % n;
        if (s < 4) row = s & 1 ? m - 1 : 0, col = s & 2 ? n - 1 : 0;
        verify_by_oracle(v, o, (int64_t)row, 1, (int64_t)col, 1);
    }
    memory_free(o);
    return TESS_OK;
}

/* Sums over one row of a view: with the signs of x, of magnitudes, of squares. */
typedef struct row_sums {
    double signed_sum, magnitude, square;
} row_sums;

static double sign_at(uint64_t seed, int64_t index) {
    return fill_bits(seed, (uint64_t)index) >> 63 ? -1 : 1;
}

static row_sums sum_row(const tess_matrix *M, int64_t row, const double *x) {
    row_sums sums = {0, 0, 0};
    for (int64_t j = 0; j < M->cols; j++) {
        double value = numeric_load(M->type, matrix_at(M, row, j));
        sums.signed_sum += value * x[j];
        sums.magnitude += fabs(value);
        sums.square += value * value;
    }
    return sums;
}

static void check_row(verdict *v, int64_t row, const double *x, const double *bx, const double *b_magnitude,
                      double b_norm, double deviations) {
    row_sums c = sum_row(v->C, row, x), before = {0, 0, 0};
    double product = 0, product_magnitude = 0, a_square = 0;
    for (int64_t p = 0; p < v->A->cols && v->alpha != 0; p++) {
        double a = numeric_load(v->A->type, matrix_at(v->A, row, p));
        product += a * bx[p];
        product_magnitude += fabs(a) * b_magnitude[p];
        a_square += a * a;
    }
    if (v->beta != 0) before = sum_row(v->C0, row, x);
    double want = (v->alpha == 0 ? 0 : v->alpha * product) + (v->beta == 0 ? 0 : v->beta * before.signed_sum);
    double spread =
        v->sum_error * (fabs(v->alpha) * sqrt(a_square) * b_norm + fabs(v->beta) * sqrt(before.square)) +
        v->out_error * sqrt(c.square) + v->underflow * sqrt((double)v->C->cols);
    double own = (double)(v->C->cols + v->A->cols + 8) * 0x1p-53 *
                 (fabs(v->alpha) * product_magnitude + fabs(v->beta) * before.magnitude + c.magnitude);
    double allowed = deviations * spread + own, error = fabs(c.signed_sum - want);
    int right = isfinite(want) ? error <= allowed : !isfinite(c.signed_sum);
    verify_record(v, row, -1, c.signed_sum, want, right, error / allowed);
}

static tess_status check_rows(verdict *v, uint64_t seed, sentence *why) {
    int64_t k = v->A->cols, n = v->C->cols;
    double *memory = memory_alloc((size_t)(n + 2 * k) * sizeof *memory);
    if (!memory) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the checksum's vectors");
    double *x = memory, *bx = x + n, *b_magnitude = bx + k, b_square = 0;
    for (int64_t j = 0; j < n; j++) x[j] = sign_at(seed, j);
    for (int64_t p = 0; p < k && v->alpha != 0; p++) {
        row_sums b = sum_row(v->B, p, x);
        bx[p] = b.signed_sum, b_magnitude[p] = b.magnitude;
        b_square += b.square;
    }
    double deviations = sqrt(2 * log(2e9 * (double)v->C->rows));
    for (int64_t i = 0; i < v->C->rows; i++) check_row(v, i, x, bx, b_magnitude, sqrt(b_square), deviations);
    memory_free(memory);
    return TESS_OK;
}

/* One row of an integer-valued view times x, modulo 2^64. A value that is no integer sets *broken. */
static uint64_t sum_integers(const tess_matrix *M, int64_t row, const uint64_t *x, int *broken) {
    uint64_t sum = 0;
    for (int64_t j = 0; j < M->cols; j++) {
        double value = numeric_load(M->type, matrix_at(M, row, j));
        if (!(fabs(value) <= 0x1p53) || value != floor(value))
            *broken = 1;
        else
            sum += (uint64_t)(int64_t)value * x[j];
    }
    return sum;
}

static tess_status check_rows_exactly(verdict *v, uint64_t seed, sentence *why) {
    int64_t k = v->A->cols, n = v->C->cols;
    uint64_t *memory = memory_alloc((size_t)(n + k) * sizeof *memory), *x = memory, *bx = memory + n;
    if (!memory) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the checksum's vectors");
    uint64_t alpha = (uint64_t)(int64_t)v->alpha, beta = (uint64_t)(int64_t)v->beta;
    uint64_t mask = numeric_is_integer(v->C->type) ? UINT32_MAX : UINT64_MAX; /* integers wrap modulo 2^32 */
    int broken_input = 0;
    for (int64_t j = 0; j < n; j++) x[j] = fill_bits(seed, (uint64_t)j) | 1;
    for (int64_t p = 0; p < k && alpha; p++) bx[p] = sum_integers(v->B, p, x, &broken_input);
    for (int64_t i = 0; i < v->C->rows; i++) {
        int broken = broken_input;
        uint64_t got = sum_integers(v->C, i, x, &broken);
        uint64_t want = alpha ? alpha * sum_integers(v->A, i, bx, &broken) : 0;
        if (beta) want += beta * sum_integers(v->C0, i, x, &broken);
        int right = !broken && (got & mask) == (want & mask);
        verify_record(v, i, -1, (double)(int64_t)(got & mask), (double)(int64_t)(want & mask), right,
                      right ? 0 : (double)INFINITY);
    }
    memory_free(memory);
    return TESS_OK;
}

int verify_can_be_exact(const verdict *v) {
    tess_type acc = numeric_accumulator(v->A->type);
    return v->exact && tess_type_size(v->C->type) >= tess_type_size(acc) && v->alpha == floor(v->alpha) &&
           v->beta == floor(v->beta) && fabs(v->alpha) <= 0x1p53 && fabs(v->beta) <= 0x1p53;
}

tess_status verify_by_checksum(verdict *v, uint64_t seed, sentence *why) {
    TRY(verify_can_be_exact(v) ? check_rows_exactly(v, seed, why) : check_rows(v, seed, why));
    return check_samples(v, ~seed, why);
}
