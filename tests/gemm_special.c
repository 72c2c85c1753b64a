/* gemm_special.c: NaN and infinities as IEEE 754 and BLAS say: what is read propagates, where it is read and
 * nowhere else; what must not be read leaves no trace. */
#include "problem.h"

#include <string.h>

static const int float_pairs[] = {0, 1, 2, 3, 4, 5};

/* A small product of ones whose every element is k, to spoil in one place. */
typedef struct ones {
    type_pair types;
    int64_t m, n, k;
    double a[16 * 16], b[16 * 16], c[16 * 16]; /* storage for any type: 8 bytes an element */
    tess_matrix A, B, C;
} ones;

static void make_ones(ones *o, const type_pair *types, int64_t m, int64_t n, int64_t k) {
    o->types = *types;
    o->m = m, o->n = n, o->k = k;
    o->A = tess_view_row_major(types->in, m, k, o->a, 0);
    o->B = tess_view_row_major(types->in, k, n, o->b, 0);
    o->C = tess_view_row_major(types->out, m, n, o->c, 0);
    tess_fill(&o->A, TESS_FILL_VALUE, 1, 0);
    tess_fill(&o->B, TESS_FILL_VALUE, 1, 0);
    tess_fill(&o->C, TESS_FILL_VALUE, TEST_NAN, 0);
}

/* Runs C = A*B (beta 0, C was NaN) and checks each element against `want`. */
static void check_ones(tess_context *ctx, ones *o, const char *what, double (*want)(int64_t i, int64_t j)) {
    if (!CHECK_STATUS(tess_gemm(ctx, 1, &o->A, &o->B, 0, &o->C, NULL), TESS_OK, ctx)) return;
    for (int64_t i = 0; i < o->m; i++)
        for (int64_t j = 0; j < o->n; j++) {
            double got = oracle_get(&o->C, i, j), expected = want(i, j);
            if (!CHECK(got == expected || (isnan(got) && isnan(expected)),
                       "%s %s: C(%lld, %lld) is %g, want %g", o->types.name, what, (long long)i, (long long)j,
                       got, expected))
                return;
        }
}

static double nan_in_row_3(int64_t i, int64_t j) {
    return i == 3 || j < 0 ? TEST_NAN : 9.0;
}
static double nan_in_col_4(int64_t i, int64_t j) {
    return j == 4 || i < 0 ? TEST_NAN : 9.0;
}
static double inf_in_row_3(int64_t i, int64_t j) {
    if (i != 3) return j == 4 ? 8.0 : 9.0;
    return j == 4 ? TEST_NAN : TEST_INF;
}
static double opposite_infinities(int64_t i, int64_t j) {
    if (i != 3) return j == 4 ? 7.0 : 9.0;
    return j == 4 ? TEST_INF : TEST_NAN;
}

TEST(gemm_small_nan_stays_in_its_row) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int t = 0; t < 6; t++) {
        ones o;
        make_ones(&o, &type_pairs[float_pairs[t]], 13, 11, 9);
        oracle_set(&o.A, 3, 8, TEST_NAN);
        check_ones(ctx, &o, "NaN in A(3, 8)", nan_in_row_3);
        make_ones(&o, &type_pairs[float_pairs[t]], 13, 11, 9);
        oracle_set(&o.B, 0, 4, TEST_NAN);
        check_ones(ctx, &o, "NaN in B(0, 4)", nan_in_col_4);
        make_ones(&o, &type_pairs[float_pairs[t]], 13, 11, 9);
        oracle_set(&o.A, 3, 2, TEST_INF);
        oracle_set(&o.B, 2, 4, 0);
        check_ones(ctx, &o, "Inf in A(3, 2) times 0 in B(2, 4)", inf_in_row_3);
        make_ones(&o, &type_pairs[float_pairs[t]], 13, 11, 9);
        oracle_set(&o.A, 3, 2, TEST_INF);
        oracle_set(&o.A, 3, 7, -TEST_INF);
        oracle_set(&o.B, 7, 4, -1);
        check_ones(ctx, &o, "Inf - Inf in row 3, Inf + Inf in (3, 4)", opposite_infinities);
    }
    tess_close(ctx);
}

/* Strewn NaN and infinities, every storage, against the oracle; inputs' padding is NaN throughout. */
TEST(gemm_special_values) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (sampling s = sampling_start(200, 1000, 2); sampling_next(&s);) {
        problem_spec spec = draw_spec(rng, 1, s.index % 8 ? 40 : 150);
        spec.types = type_pairs[float_pairs[s.index % 6]];
        spec.data = DATA_SPECIAL;
        spec.alpha = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
        spec.beta = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
        if (!problem_try(&spec, ctx, NULL, rng)) break;
    }
    tess_close(ctx);
}

/* alpha = 0 and k = 0 give beta*C, NaN in C included; beta = 0 as well gives zeros. */
TEST(gemm_small_nothing_to_add) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int t = 0; t < 6; t++)
        for (int beta = 0; beta < 3; beta++)
            for (int empty = 0; empty < 2; empty++) {
                ones o;
                make_ones(&o, &type_pairs[float_pairs[t]], 5, 6, empty ? 0 : 4);
                tess_fill(&o.A, TESS_FILL_VALUE, TEST_NAN, 0);
                tess_fill(&o.B, TESS_FILL_VALUE, TEST_INF, 0);
                tess_fill(&o.C, TESS_FILL_VALUE, 3, 0);
                oracle_set(&o.C, 1, 2, TEST_NAN);
                oracle_set(&o.C, 4, 5, -TEST_INF);
                if (!CHECK_STATUS(tess_gemm(ctx, empty ? 1 : 0, &o.A, &o.B, beta, &o.C, NULL), TESS_OK, ctx))
                    break;
                CHECK(oracle_get(&o.C, 0, 0) == 3 * beta, "%s: C(0, 0) is %g, want %d", o.types.name,
                      oracle_get(&o.C, 0, 0), 3 * beta);
                double nan = oracle_get(&o.C, 1, 2), inf = oracle_get(&o.C, 4, 5);
                CHECK(beta ? isnan(nan) : nan == 0, "%s, beta %d: NaN became %g", o.types.name, beta, nan);
                CHECK(inf == (beta ? -TEST_INF : 0), "%s, beta %d: -Inf became %g", o.types.name, beta, inf);
            }
    tess_close(ctx);
}

/* A NaN or infinite alpha or beta is a number like another. */
TEST(gemm_small_scalars_not_finite) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int t = 0; t < 6; t++) {
        ones o;
        make_ones(&o, &type_pairs[float_pairs[t]], 5, 6, 4);
        CHECK_STATUS(tess_gemm(ctx, TEST_NAN, &o.A, &o.B, 0, &o.C, NULL), TESS_OK, ctx);
        CHECK(isnan(oracle_get(&o.C, 4, 5)), "%s: NaN times 4 is %g", o.types.name, oracle_get(&o.C, 4, 5));
        CHECK_STATUS(tess_gemm(ctx, -TEST_INF, &o.A, &o.B, 0, &o.C, NULL), TESS_OK, ctx);
        CHECK(oracle_get(&o.C, 4, 5) == -TEST_INF, "%s: -Inf times 4 is %g", o.types.name,
              oracle_get(&o.C, 4, 5));
        tess_fill(&o.C, TESS_FILL_VALUE, 1, 0);
        CHECK_STATUS(tess_gemm(ctx, 1, &o.A, &o.B, TEST_INF, &o.C, NULL), TESS_OK, ctx);
        CHECK(oracle_get(&o.C, 4, 5) == TEST_INF, "%s: 4 + Inf is %g", o.types.name, oracle_get(&o.C, 4, 5));
    }
    tess_close(ctx);
}

/* 16-bit results are rounded once, from f32, to nearest even; and overflow to infinity. */
TEST(gemm_small_rounds_once) {
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    static const struct {
        int pair;
        double a, b, c, want;
    } cases[] = {
        {2, 2048, 1, 1, 2048},           /* f16: 2049 is a tie, to even */
        {2, 2050, 1, 1, 2052},           /* 2051 is a tie, to even */
        {2, 256, 255, 15, 65280},        /* 65295 lies nearer 65280 */
        {2, 256, 255.875, 15, 65504},    /* 65519: the last before infinity */
        {2, 256, 255.875, 16, TEST_INF}, /* 65520 */
        {2, 0x1p-13, 0x1p-12, 0, 0},     /* 2^-25: half the smallest, to even */
        {2, 0x1.8p-13, 0x1p-12, 0, 0x1p-24},
        {4, 256, 1, 1, 256}, /* bf16: 257 is a tie */
        {4, 258, 1, 1, 260}, /* 259 is a tie */
        {4, 0x1p100, 0x1p27, 0, 0x1p127},
        {4, 0x1p100, 0x1.fep27, 0x1p119, TEST_INF},
        {3, 256, 255.875, 16, 65520}, /* f16 to f32: no rounding */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ones o;
        make_ones(&o, &type_pairs[cases[i].pair], 1, 1, 1);
        oracle_set(&o.A, 0, 0, cases[i].a);
        oracle_set(&o.B, 0, 0, cases[i].b);
        oracle_set(&o.C, 0, 0, cases[i].c);
        if (!CHECK_STATUS(tess_gemm(ctx, 1, &o.A, &o.B, 1, &o.C, NULL), TESS_OK, ctx)) continue;
        double got = oracle_get(&o.C, 0, 0);
        CHECK(got == cases[i].want, "%s: %g * %g + %g is %.17g, want %.17g", o.types.name, cases[i].a,
              cases[i].b, cases[i].c, got, cases[i].want);
    }
    tess_close(ctx);
}

/* Integers wrap modulo 2^32, by hand. */
TEST(gemm_small_integers_wrap) {
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    int32_t a[2] = {INT32_MAX, INT32_MIN}, b[2] = {INT32_MAX, INT32_MIN}, c = INT32_MAX;
    tess_matrix A = tess_view_row_major(TESS_I32, 1, 2, a, 0), B = tess_view_row_major(TESS_I32, 2, 1, b, 0);
    tess_matrix C = tess_view_row_major(TESS_I32, 1, 1, &c, 0);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 1, &C, NULL), TESS_OK, ctx);
    CHECK(c == INT32_MIN, "(2^31-1)^2 + (-2^31)^2 + 2^31-1 is %d modulo 2^32, want -2^31", (int)c);
    CHECK_STATUS(tess_gemm(ctx, -1, &A, &B, INT32_MIN, &C, NULL), TESS_OK, ctx);
    CHECK(c == -1, "-(1) + (-2^31)(-2^31) is %d modulo 2^32, want -1", (int)c);
    int8_t bytes[64];
    memset(bytes, -128, sizeof bytes);
    int32_t sum = 0;
    A = tess_view_row_major(TESS_I8, 1, 64, bytes, 0), B = tess_view_row_major(TESS_I8, 64, 1, bytes, 0);
    C = tess_view_row_major(TESS_I32, 1, 1, &sum, 0);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL), TESS_OK, ctx);
    CHECK(sum == 64 * 16384, "64 times (-128)^2 is %d, want %d", (int)sum, 64 * 16384);
    tess_close(ctx);
}
