/* verify_checksum.c: checking a large product in O(n²), after Freivalds.
 *
 * With x of random signs, row i of C·x − (alpha·A·(B·x) + beta·C0·x) is a sum of that row's errors with
 * random signs. By Hoeffding's inequality it exceeds t times the Euclidean norm of what each element may err
 * with a probability below 2·exp(−t²/2), whatever the errors are; t is chosen so that one right product in
 * 10^9 is refused. The norm of |A||B| along a row is at most ‖a_i‖·‖B‖. The sums of this file are taken in
 * f64, and their own worst case is allowed on top.
 *
 * A number that is not finite would hide all others of its sum. Columns of B that hold one are therefore left out of the
 * sums, and they and the rows that no sum can decide are checked element by element, up to LINES of each; of those
 * beyond, only the elements drawn are.
 *
 * Where all numbers are integers the same sums are taken modulo 2^64 with random 64-bit x, and must be equal.
 *
 * Beside that, elements drawn at random and the corners are checked one by one: they also give the error
 * measures. */
#include "fill.h"
#include "memory.h"
#include "numeric.h"
#include "verify.h"

enum { SAMPLES = 2048, LINES = 64 };

/* Some elements of C, each as the oracle would. */
static void check_samples(verdict *v, oracle *o, uint64_t seed) {
    uint64_t m = (uint64_t)v->C->rows, n = (uint64_t)v->C->cols;
    for (uint64_t s = 0; s < SAMPLES; s++) {
        uint64_t row = fill_bits(seed, 2 * s) % m, col = fill_bits(seed, 2 * s + 1) % n;
        if (s < 4) row = s & 1 ? m - 1 : 0, col = s & 2 ? n - 1 : 0;
        verify_by_oracle(v, o, (lines){.first = (int64_t)row, .count = 1},
                         (lines){.first = (int64_t)col, .count = 1});
    }
}

/* Rows or columns left to the oracle. */
typedef struct line_list {
    int64_t count, list[LINES];
} line_list;

static void add_line(line_list *l, int64_t line) {
    if (l->count < LINES) l->list[l->count++] = line;
}

typedef struct checksum {
    verdict *v;
    double *x;                 /* random signs; 0 for the columns left out */
    double *bx, *b_magnitude;  /* B·x and |B|·|x| */
    double b_norm, deviations; /* ‖B‖ and t */
    line_list rows, cols;
} checksum;

/* Sums over one row of a view: with the factors of x, of magnitudes, of squares. */
typedef struct row_sums {
    double signed_sum, magnitude;
    norm norm;
    int not_finite; /* an element is not */
} row_sums;

static double sign_at(uint64_t seed, int64_t index) {
    return fill_bits(seed, (uint64_t)index) >> 63 ? -1 : 1;
}

static row_sums sum_row(const tess_matrix *M, int64_t row, const double *x) {
    row_sums sums = {0};
    for (int64_t j = 0; j < M->cols; j++) {
        if (x[j] == 0) continue;
        double value = numeric_load(M->type, matrix_at(M, row, j)), magnitude = fabs(value);
        sums.signed_sum += value * x[j];
        sums.magnitude += magnitude;
        sums.not_finite |= !isfinite(value);
        norm_add(&sums.norm, magnitude);
    }
    return sums;
}

/* The same of A·(B·x). */
static row_sums sum_product(const checksum *s, int64_t row) {
    const tess_matrix *A = s->v->A;
    row_sums sums = {0};
    for (int64_t p = 0; p < A->cols && s->v->alpha != 0; p++) {
        double a = numeric_load(A->type, matrix_at(A, row, p)), magnitude = fabs(a);
        sums.signed_sum += a * s->bx[p];
        sums.magnitude += magnitude * s->b_magnitude[p];
        norm_add(&sums.norm, magnitude);
    }
    return sums;
}

/* Returns whether an element of B is not finite. */
static int sum_b(checksum *s) {
    int64_t k = s->v->alpha != 0 ? s->v->A->cols : 0;
    norm rows = {0, 0};
    int not_finite = 0;
    for (int64_t p = 0; p < k; p++) {
        row_sums b = sum_row(s->v->B, p, s->x);
        s->bx[p] = b.signed_sum, s->b_magnitude[p] = b.magnitude;
        norm_add(&rows, norm_of(b.norm));
        not_finite |= b.not_finite;
    }
    s->b_norm = norm_of(rows);
    return not_finite;
}

static void leave_out_columns(checksum *s) {
    const tess_matrix *B = s->v->B;
    for (int64_t p = 0; p < B->rows; p++)
        for (int64_t j = 0; j < B->cols; j++) {
            if (s->x[j] == 0 || isfinite(numeric_load(B->type, matrix_at(B, p, j)))) continue;
            s->x[j] = 0;
            add_line(&s->cols, j);
        }
}

static void check_row(checksum *s, int64_t row) {
    verdict *v = s->v;
    double alpha = fabs(v->alpha), beta = fabs(v->beta), n = (double)v->C->cols, k = (double)v->A->cols;
    row_sums c = sum_row(v->C, row, s->x), product = sum_product(s, row), before = {0};
    if (v->beta != 0) before = sum_row(v->C0, row, s->x);
    double want = v->alpha * product.signed_sum + v->beta * before.signed_sum;
    double scale = alpha * product.magnitude + beta * before.magnitude;
    double reach = alpha * norm_of(product.norm) * s->b_norm + beta * norm_of(before.norm);
    double spread = v->sum_error * reach + v->out_error * norm_of(c.norm) + v->underflow * sqrt(n);
    double allowed = s->deviations * spread + (n + k + 8) * 0x1p-53 * (scale + c.magnitude);
    double error = fabs(c.signed_sum - want), largest = (2 + v->sum_error) * reach + v->underflow;
    /* No element exceeds `largest`, so that one which is not finite has no excuse where that is. */
    int lost = c.not_finite && isfinite(scale) && largest < fmin(v->acc_largest, v->out_largest);
    if (isfinite(allowed) || lost)
        verify_record(v, row, -1, c.signed_sum, want, !lost && error <= allowed, error / allowed);
    else
        add_line(&s->rows, row);
}

static tess_status check_rows(verdict *v, oracle *o, uint64_t seed, sentence *why) {
    int64_t m = v->C->rows, n = v->C->cols, k = v->A->cols;
    double *memory = memory_alloc((size_t)(n + 2 * k) * sizeof *memory);
    if (!memory) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the checksum's vectors");
    checksum s = {.v = v, .x = memory, .bx = memory + n, .b_magnitude = memory + n + k};
    s.deviations = sqrt(2 * log(2e9 * (double)m));
    for (int64_t j = 0; j < n; j++) s.x[j] = sign_at(seed, j);
    if (sum_b(&s)) {
        leave_out_columns(&s);
        sum_b(&s);
    }
    for (int64_t i = 0; i < m; i++) check_row(&s, i);
    memory_free(memory);
    verify_by_oracle(v, o, (lines){.count = s.rows.count, .list = s.rows.list}, (lines){.count = n});
    verify_by_oracle(v, o, (lines){.count = m}, (lines){.count = s.cols.count, .list = s.cols.list});
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
    oracle *o = NULL;
    TRY(verify_make_oracle(&o, why));
    tess_status status =
        verify_can_be_exact(v) ? check_rows_exactly(v, seed, why) : check_rows(v, o, seed, why);
    if (status == TESS_OK) check_samples(v, o, ~seed);
    memory_free(o);
    return status;
}
