/* unit_split_accuracy.c: the error of products that are split, with tensor cores that add as Hopper's do (and for
 * split_03_mma as Ampere's), against sums in double and beside f32 multiply-adds in order: never worse than those for k
 * of 256 and more, and within (k + 8) u of |A||B| for every k. What is exact in f32 is exact here. */
#include "harness.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_split_aid.h"

static const double U = 0x1p-24;

/* ---- Data ---- */

typedef enum data_kind {
    NORMAL,
    UNIFORM,
    ELEMENTS_20, /* times 2^-20 ... 2^20, drawn for every element */
    ELEMENTS_40,
    ROWS_20, /* for every row of A and column of B */
    ROWS_40,
    RAMPS, /* A grows by 2^80 along k, and B shrinks by as much */
    CANCELS,
    KINDS
} data_kind;
static const char *const names[KINDS] = {"N(0,1)",        "U(0,1)",        "exponents ±20", "exponents ±40",
                                         "rows of 2^±20", "rows of 2^±40", "opposed ramps", "cancellation"};
static const int expected[KINDS] = {SPLIT_FP16X3, SPLIT_FP16X3, 0,           SPLIT_BF16X6, SPLIT_FP16X3,
                                    SPLIT_FP16X3, SPLIT_BF16X6, SPLIT_FP16X3};

/* From which k on the error must not be larger than that of f32 in order. Where a few terms are all of a sum, that has
 * hardly any. */
static int64_t judged_from(data_kind kind) {
    return kind == ELEMENTS_40 ? 1024 : 256;
}

static double normal(void) {
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += rng_real(test_random());
    return sum / 2; /* the variance of each is a third */
}

static int exponent(int most) {
    return (int)rng_range(test_random(), -most, most);
}

/* Element k of a line; `line_exponent` is the line's own. */
static double draw(data_kind kind, int line_exponent, int64_t k, int64_t depth, int is_b) {
    switch (kind) {
    case UNIFORM: return rng_real(test_random()) / 2 + 0.5;
    case ELEMENTS_20: return ldexp(normal(), exponent(20));
    case ELEMENTS_40: return ldexp(normal(), exponent(40));
    case ROWS_20:
    case ROWS_40: return ldexp(normal(), line_exponent);
    case RAMPS: return ldexp(normal(), (int)(depth > 1 ? 80 * k / (depth - 1) - 40 : 0) * (is_b ? -1 : 1));
    default: return normal();
    }
}

static void fill_line(data_kind kind, float *line, int64_t step, int64_t depth, int is_b) {
    int own = kind == ROWS_20 ? exponent(20) : kind == ROWS_40 ? exponent(40) : 0;
    for (int64_t k = 0; k < depth; k++) line[k * step] = (float)draw(kind, own, k, depth, is_b);
    for (int64_t k = 0; kind == CANCELS && k < depth / 2; k++) /* the second half undoes the first, nearly */
        line[(depth - 1 - k) * step] =
            is_b ? line[k * step] : -line[k * step] * (float)(1 + 0x1p-20 * rng_real(test_random()));
}

static void fill(data_kind kind, split_matrix *a, split_matrix *b) {
    for (int64_t i = 0; i < a->rows; i++) fill_line(kind, split_at(a, 0, i, 0), a->col, a->cols, 0);
    for (int64_t j = 0; j < b->cols; j++) fill_line(kind, split_at(b, 0, 0, j), b->row, b->rows, 1);
}

/* ---- Errors ---- */

typedef struct errors {
    double frobenius, component,
        bias; /* relative to C, to |A||B|, and the mean relative to C with its sign */
} errors;

typedef struct tally {
    double squares, all, most, signed_sum;
    int count;
} tally;

/* `unit` is what elements are measured in: where rows and columns have scales of their own, a few would decide alone. */
static void count_error(tally *t, double got, double exact, double magnitude, double unit) {
    double error = got - exact;
    t->squares += error / unit * (error / unit);
    t->all += exact / unit * (exact / unit);
    if (magnitude > 0 && !(fabs(error) / magnitude <= t->most)) t->most = fabs(error) / magnitude;
    if (exact != 0) t->signed_sum += error / exact;
    t->count++;
}

static errors errors_of(const tally *t) {
    return (errors){t->all > 0 ? sqrt(t->squares / t->all) : 0, t->most, t->signed_sum / t->count};
}

/* C against sums in double (long, so that what they lose does not matter), and f32 in order beside it. */
static void measure(const split_matrix *a, const split_matrix *b, const split_matrix *c, int by_magnitude,
                    errors *split, errors *plain) {
    tally by_parts = {0}, in_order = {0};
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->cols; j++) {
            long double exact = 0, magnitude = 0;
            float sum = 0;
            for (int64_t k = 0; k < a->cols; k++) {
                float x = *split_at(a, 0, i, k), y = *split_at(b, 0, k, j);
                exact += (long double)x * (long double)y;
                magnitude += fabsl((long double)x * (long double)y);
                sum = fmaf(x, y, sum);
            }
            double unit = by_magnitude && magnitude > 0 ? (double)magnitude : 1;
            count_error(&by_parts, (double)*split_at(c, 0, i, j), (double)exact, (double)magnitude, unit);
            count_error(&in_order, (double)sum, (double)exact, (double)magnitude, unit);
        }
    *split = errors_of(&by_parts);
    *plain = errors_of(&in_order);
}

static void free_all(split_matrix *a, split_matrix *b, split_matrix *c) {
    free(a->data), free(b->data), free(c->data);
}

/* ---- Random data ---- */

static void try_data(split_bench *bench, const char *kernel, data_kind kind, int64_t depth, int order) {
    split_matrix a = split_matrix_make(32, depth, order & 1, 0, 1),
                 b = split_matrix_make(depth, 24, order & 2, 0, 1), c = split_matrix_make(32, 24, 0, 0, 1);
    char what[96];
    errors split, plain;
    fill(kind, &a, &b);
    int way = split_multiply(bench, kernel, 1, &a, &b, 0, &c, 1);
    snprintf(what, sizeof what, "%s, %s, k = %d (way %d)", kernel, names[kind], (int)depth, way);
    if (strcmp(kernel, "split_02_bf16x6") != 0 && depth >= 64 && expected[kind])
        CHECK(way == expected[kind], "%s: the way is not %d", what, expected[kind]);
    measure(&a, &b, &c, kind == ROWS_20 || kind == ROWS_40, &split, &plain);
    CHECK(depth < judged_from(kind) || split.frobenius <= plain.frobenius,
          "%s: Frobenius %.2f u, in order %.2f u", what, split.frobenius / U, plain.frobenius / U);
    CHECK(split.component <= fmax(plain.component, ((double)depth + 8) * U),
          "%s: of |A||B| %.2f u, in order %.2f u", what, split.component / U, plain.component / U);
    if (kind == UNIFORM)
        CHECK(fabs(split.bias) <= 4 * U && (depth < 256 || fabs(split.bias) <= plain.frobenius),
              "%s: mean %.2f u, in order Frobenius %.2f u", what, split.bias / U, plain.frobenius / U);
    free_all(&a, &b, &c);
}

TEST(split_error_is_at_most_that_of_f32) {
    static const int depths[] = {1, 2, 17, 33, 64, 100, 256, 1024, 4096, 16384};
    int most = harness_tier() == TIER_LONG ? 10 : harness_tier() == TIER_SHORT ? 7 : 9;
    split_bench bench = {0};
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < most; i++) {
            if (depths[i] > 1024 && kind > UNIFORM && harness_tier() != TIER_LONG) continue;
            try_data(&bench, "split_01_fp16x3", (data_kind)kind, depths[i], i % 4);
            if (expected[kind] == SPLIT_FP16X3 && i % 2)
                try_data(&bench, "split_02_bf16x6", (data_kind)kind, depths[i], i % 4);
        }
    split_bench_close(&bench);
}

/* Tensor cores of Ampere add half as many products at a time as Hopper's, and cut off a bit earlier. */
TEST(split_error_with_mma) {
    static const int depths[] = {33, 256, 1024, 4096};
    int is_long = harness_tier() == TIER_LONG;
    for (int architecture = 80; architecture <= (is_long ? 90 : 80); architecture += 10) {
        split_bench bench = {.architecture = architecture};
        for (int kind = 0; kind < KINDS; kind++)
            for (int i = 0; i < 4; i++)
                if (is_long || i == kind % 2)
                    try_data(&bench, "split_03_mma", (data_kind)kind, depths[i], i % 4);
        split_bench_close(&bench);
    }
}

/* ---- The limit of the span ---- */

/* Data that f16 has to carry at its worst. WIDEST: the largest element of a row meets a zero, and all others are as small
 * as a line without many of one size may have them; the same for columns. FEWEST: a quarter of k is all that elements of
 * A and of B have in common that are not small, and the largest of the others meet the smallest there are. */
typedef enum worst { WIDEST, FEWEST } worst;

static float worst_element(worst kind, int64_t k, int is_b) {
    double mantissa = 1.5 + rng_real(test_random()) / 2;
    int small = is_b ? k % 8 >= 5 : k % 8 < 3, large = is_b ? k % 8 < 3 : k % 8 >= 5;
    if (kind == WIDEST) return k == is_b ? 1 : k == 1 - is_b ? 0 : (float)ldexp(mantissa, -16);
    return (float)ldexp(mantissa, small ? -40 : large ? 0 : -5);
}

TEST(split_limits_of_f16_keep_the_bound) {
    static const int depths[] = {64, 1000, 4096};
    split_bench bench = {0};
    for (int d = 0; d < 6; d++) {
        int depth = depths[d % 3], kind = d / 3;
        split_matrix a = split_matrix_make(24, depth, 0, 0, 1), b = split_matrix_make(depth, 16, 0, 0, 1),
                     c = split_matrix_make(24, 16, 0, 0, 1);
        errors split, plain;
        for (int64_t k = 0; k < depth; k++) {
            for (int64_t i = 0; i < 24; i++) *split_at(&a, 0, i, k) = worst_element((worst)kind, k, 0);
            for (int64_t j = 0; j < 16; j++) *split_at(&b, 0, k, j) = worst_element((worst)kind, k, 1);
        }
        int way = split_multiply(&bench, "split_01_fp16x3", 1, &a, &b, 0, &c, 1);
        CHECK(way == SPLIT_FP16X3, "k = %d, %d: way %d", depth, kind, way);
        measure(&a, &b, &c, 0, &split, &plain);
        CHECK(split.component <= 60 * U, "k = %d, %d: %.2f u of |A||B|", depth, kind, split.component / U);
        free_all(&a, &b, &c);
    }
    split_bench_close(&bench);
}

/* ---- What is exact ---- */

static void try_integers(split_bench *bench, const char *kernel) {
    enum { DEPTH = 300 };
    split_matrix a = split_matrix_make(20, DEPTH, 0, 0, 1), b = split_matrix_make(DEPTH, 12, 1, 0, 1),
                 c = split_matrix_make(20, 12, 1, 5, 1);
    for (int64_t i = 0; i < 20 * DEPTH; i++) a.data[i] = (float)rng_range(test_random(), -200, 200);
    for (int64_t i = 0; i < 12 * DEPTH; i++) b.data[i] = (float)rng_range(test_random(), -200, 200);
    for (int64_t i = 0; i < 20 * 12; i++) *split_at(&c, 0, i % 20, i / 20) = (float)(i - 100);
    split_multiply(bench, kernel, -1, &a, &b, 3, &c, 1);
    for (int64_t i = 0; i < 20; i++)
        for (int64_t j = 0; j < 12; j++) {
            double want = 3 * (double)(j * 20 + i - 100);
            for (int64_t k = 0; k < DEPTH; k++)
                want -= (double)*split_at(&a, 0, i, k) * (double)*split_at(&b, 0, k, j);
            CHECK((double)*split_at(&c, 0, i, j) == want, "%s: C[%d][%d] is %g, not %g", kernel, (int)i,
                  (int)j, (double)*split_at(&c, 0, i, j), want);
        }
    free_all(&a, &b, &c);
}

/* Numbers of all 24 bits times the identity, and the other way round. */
static void try_identity(split_bench *bench, const char *kernel, int top, double allowed) {
    enum { SIZE = 70 };
    split_matrix a = split_matrix_make(SIZE, SIZE, 0, 0, 1), b = split_matrix_make(SIZE, SIZE, 0, 0, 1),
                 c = split_matrix_make(SIZE, SIZE, 0, 0, 1);
    for (int64_t i = 0; i < SIZE * SIZE; i++) {
        float x = (float)ldexp(rng_real(test_random()), top);
        a.data[i] = fabsf(x) > FLT_MAX ? FLT_MAX : x;
        b.data[i] = i / SIZE == i % SIZE;
    }
    a.data[0] = (float)ldexp(1 - 0x1p-24, top);
    for (int turned = 0; turned < 2; turned++) {
        split_multiply(bench, kernel, 1, turned ? &b : &a, turned ? &a : &b, 0, &c, 1);
        for (int64_t i = 0; i < SIZE * SIZE; i++)
            CHECK(fabs((double)c.data[i] - (double)a.data[i]) <= allowed * U * fabs((double)a.data[i]),
                  "%s, up to 2^%d: element %d is %a, not %a", kernel, top, (int)i, (double)c.data[i],
                  (double)a.data[i]);
    }
    free_all(&a, &b, &c);
}

TEST(split_what_is_exact_in_f32) {
    split_bench bench = {0};
    try_integers(&bench, "split_01_fp16x3");
    try_integers(&bench, "split_02_bf16x6");
    try_integers(&bench, "split_03_mma");
    try_identity(&bench, "split_01_fp16x3", 0, 2);
    try_identity(&bench, "split_01_fp16x3", 128, 2);
    try_identity(&bench, "split_01_fp16x3", -100, 2);
    try_identity(&bench, "split_03_mma", 128, 2);
    try_identity(&bench, "split_03_mma", -100, 2);
    try_identity(&bench, "split_02_bf16x6", 0, 0);
    try_identity(&bench, "split_02_bf16x6", 128, 0);
    try_identity(&bench, "split_02_bf16x6", -60, 0);
    split_bench_close(&bench);
}

/* Subnormal numbers times large ones: normal results, and nothing is lost to their smallness. */
TEST(split_subnormal_numbers_keep_their_bits) {
    split_bench bench = {0};
    split_matrix a = split_matrix_make(20, 64, 0, 0, 1), b = split_matrix_make(64, 12, 0, 0, 1),
                 c = split_matrix_make(20, 12, 0, 0, 1);
    errors split, plain;
    for (int64_t i = 0; i < 20 * 64; i++) a.data[i] = (float)ldexp(rng_real(test_random()), -127);
    for (int64_t i = 0; i < 12 * 64; i++) b.data[i] = (float)ldexp(rng_real(test_random()), 120);
    int way = split_multiply(&bench, "split_01_fp16x3", 1, &a, &b, 0, &c, 1);
    CHECK(way == SPLIT_FMA, "way %d", way);
    measure(&a, &b, &c, 0, &split, &plain);
    CHECK(split.frobenius <= plain.frobenius && split.component <= 72 * U,
          "%.2f u (in order %.2f u), %.2f u of |A||B|", split.frobenius / U, plain.frobenius / U,
          split.component / U);
    free_all(&a, &b, &c);
    split_bench_close(&bench);
}

/* ---- Special values ---- */

static int same_value(float x, float y) {
    return (isnan(x) && isnan(y)) || x == y;
}

/* One infinity or NaN: every element is what multiply-adds in order give, to the bit. */
TEST(split_special_values_come_out_as_in_f32) {
    static const float specials[] = {INFINITY, -INFINITY, NAN};
    static const char *const kernels[] = {"split_01_fp16x3", "split_02_bf16x6", "split_03_mma"};
    split_bench bench = {0};
    for (int turn = 0; turn < 12; turn++) {
        int64_t m = 130, n = 20 + turn, depth = 70;
        split_matrix a = split_matrix_make(m, depth, turn & 1, 0, 2),
                     b = split_matrix_make(depth, n, turn & 2, 0, 2),
                     c = split_matrix_make(m, n, turn & 4, 0, 2),
                     before = split_matrix_make(m, n, turn & 4, 0, 2);
        for (int64_t i = 0; i < a.batch * 2; i++) a.data[i] = (float)normal();
        for (int64_t i = 0; i < b.batch * 2; i++) b.data[i] = i % 7 ? (float)normal() : 0;
        for (int64_t i = 0; i < c.batch * 2; i++) before.data[i] = c.data[i] = (float)normal();
        if (turn & 1)
            *split_at(&a, 1, 129, turn) = specials[turn % 3];
        else
            *split_at(&b, 0, 69 - turn, 3) = specials[turn % 3];
        int way = split_multiply(&bench, kernels[turn / 2 % 3], 2, &a, &b, turn % 3 ? 0.5 : 0, &c, 2);
        CHECK(way == SPLIT_FMA, "turn %d: way %d", turn, way);
        for (int64_t p = 0; p < 2; p++)
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    float sum = 0, got = *split_at(&c, p, i, j);
                    for (int64_t k = 0; k < depth; k++)
                        sum = fmaf(*split_at(&a, p, i, k), *split_at(&b, p, k, j), sum);
                    float want = turn % 3 ? fmaf(0.5f, *split_at(&before, p, i, j), 2 * sum) : 2 * sum;
                    CHECK(same_value(got, want), "turn %d: C[%d][%d] of product %d is %g, not %g", turn,
                          (int)i, (int)j, (int)p, (double)got, (double)want);
                }
        free_all(&a, &b, &c);
        free(before.data);
    }
    split_bench_close(&bench);
}
