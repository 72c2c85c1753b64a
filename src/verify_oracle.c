/* verify_oracle.c: every element computed again, in f64 (in twice f64 for f64), and judged. The arithmetic here
 * shares nothing with the kernels it judges. Comparisons are written so that NaN fails. */
#include "verify.h"

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

/* Takes an element into rel_error and max_error. A wrong one that has no distance from what it should be makes both
 * infinite; a right one, such as a sum that may overflow, is left out. */
static void measure(verdict *v, double got, double want, double scale, int right) {
    double error = fabs(got - want), *most = &v->check->max_error;
    if (isfinite(got) && isfinite(want)) {
        norm_add(&v->error, error);
        norm_add(&v->want, fabs(want));
        if (scale > 0 && error / scale > *most) *most = error / scale;
    } else if (!right) {
        norm_add(&v->error, (double)INFINITY);
        *most = (double)INFINITY;
    }
}

/* Whether the oracle's own sum overflowed: what it wants is not finite, but everything it was made of is. Only f64 can. */
static int has_overflowed(const verdict *v, int64_t row, int64_t col, double want) {
    if (isfinite(want) || v->acc_largest < numeric_largest(TESS_F64)) return 0;
    if (!isfinite(v->alpha) || !isfinite(v->beta)) return 0;
    if (v->beta != 0 && !isfinite(numeric_load(v->C0->type, matrix_at(v->C0, row, col)))) return 0;
    for (int64_t p = 0; p < v->A->cols; p++)
        if (!isfinite(numeric_load(v->A->type, matrix_at(v->A, row, p))) ||
            !isfinite(numeric_load(v->B->type, matrix_at(v->B, p, col))))
            return 0;
    return 1;
}

void verify_element(verdict *v, int64_t row, int64_t col, double got, double want, double scale) {
    double error = fabs(got - want);
    double allowed = v->exact ? 0 : v->sum_error * scale + v->out_error * fabs(want) + v->underflow;
    int right;
    if (has_overflowed(v, row, col, want))
        right = 1; /* by another order of the sums it may be anything */
    else if (isnan(want))
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
    measure(v, got, want, scale, right);
    verify_record(v, row, col, got, want, right,
                  allowed > 0 ? error / allowed
                  : error > 0 ? (double)INFINITY
                              : 0);
}

/* Sums of ROWS rows and COLS columns at a time, from DEPTH elements of k at a time, which are converted once for all of
 * them. GROUP neighbours in a row of C stay in registers meanwhile. */
enum { ROWS = 64, COLS = 128, DEPTH = 96, GROUP = 16 };

struct oracle {
    double a[ROWS][DEPTH], b[DEPTH][COLS];                   /* pieces of A and B */
    double sum[ROWS][COLS];                                  /* Σ a·b */
    double low[ROWS][COLS];                                  /* what rounding took from sum, for f64 */
    double scale[ROWS][COLS];                                /* Σ |a·b| */
    uint32_t wrapped_a[ROWS][DEPTH], wrapped_b[DEPTH][COLS]; /* the pieces modulo 2^32, for integers */
    uint32_t wrapped[ROWS][COLS];                            /* Σ a·b modulo 2^32 */
};

tess_status verify_make_oracle(oracle **o, sentence *why) {
    *o = memory_alloc_zeroed(sizeof **o);
    if (*o) return TESS_OK;
    return status_fail(why, TESS_ERROR_MEMORY, "no memory for the oracle's sums (%zu bytes)", sizeof **o);
}

/* Vectors as wide as registers are: sums in arrays of numbers would be kept in memory. */
#if defined(__x86_64__)
enum { WIDTH = 4 };
#else
enum { WIDTH = 2 };
#endif
typedef double vector __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));
typedef int64_t vector_bits __attribute__((vector_size(8 * WIDTH)));

/* Compiled where it is called from, for the machine that is compiled for there. */
#define HERE static inline __attribute__((always_inline))

/* GROUP sums of row i from column `col` on; some may lie beyond the last, and are not looked at. Products of two f32 (or
 * narrower) are exact in f64, so plain sums err by k·2^-53, far below what is allowed. */
HERE void add_group(oracle *o, int64_t i, int64_t col, int64_t depth) {
    vector *sums = (vector *)&o->sum[i][col], *scales = (vector *)&o->scale[i][col], sum[GROUP / WIDTH],
           scale[GROUP / WIDTH];
    for (int j = 0; j < GROUP / WIDTH; j++) sum[j] = sums[j], scale[j] = scales[j];
    for (int64_t p = 0; p < depth; p++) {
        const vector *b = (const vector *)&o->b[p][col];
        for (int j = 0; j < GROUP / WIDTH; j++) {
            vector product = o->a[i][p] * b[j];
            sum[j] += product;
            scale[j] += (vector)((vector_bits)product & INT64_MAX); /* without its sign */
        }
    }
    for (int j = 0; j < GROUP / WIDTH; j++) sums[j] = sum[j], scales[j] = scale[j];
}

/* For f64: sums and, apart, all that their roundings took (Ogita, Rump and Oishi, 2005: as if in twice f64). */
HERE void add_twice(oracle *o, int64_t i, int64_t cols, int64_t depth) {
    for (int64_t p = 0; p < depth; p++) {
        double a = o->a[i][p];
        for (int64_t j = 0; j < cols; j++) {
            double b = o->b[p][j], sum = o->sum[i][j], product = a * b, rest = fma(a, b, -product);
            double next = sum + product, back = next - sum;
            o->low[i][j] += rest + ((sum - (next - back)) + (product - back));
            o->sum[i][j] = next;
            o->scale[i][j] += fabs(product);
        }
    }
}

HERE void add_wrapped(oracle *o, int64_t i, int64_t cols, int64_t depth) {
    for (int64_t p = 0; p < depth; p++)
        for (int64_t j = 0; j < cols; j++) o->wrapped[i][j] += o->wrapped_a[i][p] * o->wrapped_b[p][j];
}

HERE void add_any(oracle *o, tess_type type, int64_t rows, int64_t cols, int64_t depth) {
    if (numeric_is_integer(type)) {
        for (int64_t i = 0; i < rows; i++) add_wrapped(o, i, cols, depth);
    } else if (type == TESS_F64) {
        for (int64_t i = 0; i < rows; i++) add_twice(o, i, cols, depth);
    } else {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j += GROUP) add_group(o, i, j, depth);
    }
}

static void add_piece(oracle *o, tess_type type, int64_t rows, int64_t cols, int64_t depth) {
    add_any(o, type, rows, cols, depth);
}

/* The same bits. Without AVX2 an x86-64 has no registers for all sums of a group, and calls a function for fma. */
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void add_piece_wide(oracle *o, tess_type type, int64_t rows,
                                                               int64_t cols, int64_t depth) {
    add_any(o, type, rows, cols, depth);
}
#define WIDE (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
#define add_piece_wide add_piece
#define WIDE           0
#endif

static int64_t line_at(lines all, int64_t i) {
    return all.list ? all.list[i] : all.first + i;
}

/* At most `most` of them, from the `from`th on. */
static lines some_lines(lines all, int64_t from, int64_t most) {
    int64_t left = all.count - from;
    return (lines){all.first + from, left < most ? left : most, all.list ? all.list + from : NULL};
}

/* Judges one row, whose sums are complete. */
static void judge_row(verdict *v, int64_t row, lines cols, const oracle *o, int64_t at) {
    for (int64_t j = 0; j < cols.count; j++) {
        int64_t col = line_at(cols, j);
        double got = numeric_load(v->C->type, matrix_at(v->C, row, col));
        double before = v->beta == 0 ? 0 : numeric_load(v->C0->type, matrix_at(v->C0, row, col));
        if (numeric_is_integer(v->C->type)) {
            uint32_t want = (uint32_t)(int64_t)v->alpha * o->wrapped[at][j] +
                            (uint32_t)(int64_t)v->beta * (uint32_t)(int64_t)before;
            verify_element(v, row, col, got, (int32_t)want, 0);
            continue;
        }
        double sum = o->sum[at][j];
        if (isfinite(sum)) sum += o->low[at][j];
        double want = v->alpha == 0 ? 0 : v->alpha * sum,
               scale = v->alpha == 0 ? 0 : fabs(v->alpha) * o->scale[at][j];
        if (v->beta != 0) {
            want = v->alpha == 0 ? v->beta * before : want + v->beta * before;
            scale += fabs(v->beta * before);
        }
        if (v->exact) { /* the sum is exact, and the type of C rounds it once */
            double rounded;
            numeric_store(v->C->type, &rounded, want);
            want = numeric_load(v->C->type, &rounded);
        }
        verify_element(v, row, col, got, want, scale);
    }
}

/* Some columns of a row, converted. */
static void load_row(const tess_matrix *M, int64_t row, lines cols, double *to) {
    if (!cols.list)
        numeric_load_line(M->type, matrix_at(M, row, cols.first), M->col_stride, cols.count, to);
    else
        for (int64_t j = 0; j < cols.count; j++)
            to[j] = numeric_load(M->type, matrix_at(M, row, cols.list[j]));
}

/* A piece of A or B, converted. */
static void load_piece(const tess_matrix *M, lines rows, lines cols, double *to, uint32_t *wrapped,
                       int64_t pitch) {
    for (int64_t i = 0; i < rows.count; i++) {
        load_row(M, line_at(rows, i), cols, to + i * pitch);
        if (numeric_is_integer(M->type))
            for (int64_t j = 0; j < cols.count; j++)
                wrapped[i * pitch + j] = (uint32_t)(int64_t)to[i * pitch + j];
    }
}

/* At most ROWS rows and COLS columns. */
static void judge_block(verdict *v, oracle *o, lines rows, lines cols) {
    memset(o->sum, 0, (size_t)rows.count * sizeof o->sum[0]);
    memset(o->low, 0, (size_t)rows.count * sizeof o->low[0]);
    memset(o->scale, 0, (size_t)rows.count * sizeof o->scale[0]);
    memset(o->wrapped, 0, (size_t)rows.count * sizeof o->wrapped[0]);
    for (int64_t p = 0; p < v->A->cols && v->alpha != 0; p += DEPTH) {
        lines depth = some_lines((lines){.count = v->A->cols}, p, DEPTH);
        load_piece(v->A, rows, depth, o->a[0], o->wrapped_a[0], DEPTH);
        load_piece(v->B, depth, cols, o->b[0], o->wrapped_b[0], COLS);
        (WIDE ? add_piece_wide : add_piece)(o, v->A->type, rows.count, cols.count, depth.count);
    }
    for (int64_t i = 0; i < rows.count; i++) judge_row(v, line_at(rows, i), cols, o, i);
}

void verify_by_oracle(verdict *v, oracle *o, lines rows, lines cols) {
    for (int64_t i = 0; i < rows.count; i += ROWS)
        for (int64_t j = 0; j < cols.count; j += COLS)
            judge_block(v, o, some_lines(rows, i, ROWS), some_lines(cols, j, COLS));
}
