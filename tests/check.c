/* check.c: tess_check_gemm passes what is right and catches what is wrong, wherever it is; tess_exact_range is right
 * at its very edge. Right and wrong are decided here by the tests' own oracle. */
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* C = the oracle's idea of the product, by the naive sum: exact data only, so there is but one right answer. */
static void multiply_by_hand(problem *p) {
    const problem_spec *s = &p->spec;
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < s->k; l++)
                sum += oracle_get(&p->A.view, i, l) * oracle_get(&p->B.view, l, j);
            double before = s->beta != 0 ? s->beta * oracle_get(&p->C.view, i, j) : 0;
            oracle_set(&p->C.view, i, j, s->alpha * sum + before);
        }
}

static tess_matrix c_before(const problem *p) {
    tess_matrix C0 = p->C.view;
    C0.data = p->C.copy + ((unsigned char *)p->C.view.data - p->C.block);
    return C0;
}

static tess_check check_with(problem *p, double alpha, tess_check_method method) {
    tess_check check;
    memset(&check, 0, sizeof check);
    tess_matrix C0 = c_before(p);
    CHECK_STATUS(tess_check_gemm(alpha, &p->A.view, &p->B.view, p->spec.beta, p->spec.beta != 0 ? &C0 : NULL,
                                 &p->C.view, method, 5, &check),
                 TESS_OK, NULL);
    return check;
}

/* The reference is not rounded to C's type; the right element is. */
static double rounded_as(const tess_matrix *C, double value) {
    double element[1];
    tess_matrix one = {element, C->type, TESS_HOST, 1, 1, 1, 1};
    oracle_set(&one, 0, 0, value);
    return oracle_get(&one, 0, 0);
}

static const tess_check_method methods[] = {TESS_CHECK_AUTO, TESS_CHECK_ORACLE, TESS_CHECK_CHECKSUM,
                                            TESS_CHECK_EXACT};
static const char *const method_names[] = {"auto", "oracle", "checksum", "exact"};

TEST(check_passes_what_is_right) {
    test_rng *rng = test_random();
    for (sampling s = sampling_start(64, 320, 2); sampling_next(&s);) {
        problem_spec spec = draw_spec(rng, 0, 40);
        spec.types = type_pairs[s.index % TYPE_PAIRS];
        spec.data = DATA_EXACT;
        spec.alpha = draw_scalar(rng, spec.types.in, spec.data, 1 + (int)(s.index & 1));
        spec.beta = draw_scalar(rng, spec.types.in, spec.data, (int)(s.index % 3));
        problem p;
        problem_make(&p, &spec, rng);
        multiply_by_hand(&p);
        for (int method = 0; method < 4; method++) {
            tess_check check = check_with(&p, spec.alpha, methods[method]);
            CHECK(check.passed && check.wrong == 0, "%s: %s says %lld are wrong, (%lld, %lld) is %g, want %g",
                  problem_text(&p), method_names[method], (long long)check.wrong, (long long)check.row,
                  (long long)check.col, check.got, check.want);
        }
        problem_free(&p);
    }
}

/* Random data multiplied by the library, which the oracle has approved: the bound must not be too tight. */
TEST(check_passes_rounded_results) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (sampling s = sampling_start(60, 240, 2); sampling_next(&s);) {
        problem_spec spec = draw_spec(rng, 1, 120);
        spec.types = type_pairs[s.index % TYPE_PAIRS];
        spec.data = DATA_RANDOM;
        spec.alpha = draw_scalar(rng, spec.types.in, spec.data, 1 + (int)(s.index & 1));
        spec.beta = draw_scalar(rng, spec.types.in, spec.data, (int)(s.index % 3));
        problem p;
        problem_make(&p, &spec, rng);
        CHECK_STATUS(problem_run(&p, ctx, NULL), TESS_OK, ctx);
        problem_check(&p, "before checking");
        for (int method = 0; method < 3; method++) {
            tess_check check = check_with(&p, spec.alpha, methods[method]);
            CHECK(check.passed && check.used <= 1, "%s: %s says %lld are wrong, (%lld, %lld) is %g, want %g",
                  problem_text(&p), method_names[method], (long long)check.wrong, (long long)check.row,
                  (long long)check.col, check.got, check.want);
        }
        problem_free(&p);
    }
    tess_close(ctx);
}

/* One element off by the least amount that shows, at every position: the oracle and the exact check name it. */
TEST(check_catches_one_wrong_element) {
    for (int t = 0; t < TYPE_PAIRS; t++) {
        problem_spec spec = {.types = type_pairs[t],
                             .m = 9,
                             .n = 7,
                             .k = 5,
                             .alpha = 1,
                             .beta = 1,
                             .store_c = STORE_COL_PADDED,
                             .data = DATA_EXACT};
        problem p;
        problem_make(&p, &spec, test_random());
        multiply_by_hand(&p);
        for (int64_t i = 0; i < spec.m; i++)
            for (int64_t j = 0; j < spec.n; j++) {
                double right = oracle_get(&p.C.view, i, j);
                oracle_set(&p.C.view, i, j, right + 16 + fabs(right) / 8);
                double wrong = oracle_get(&p.C.view, i, j);
                for (int method = 0; method < 4; method++) {
                    tess_check check = check_with(&p, 1, methods[method]);
                    CHECK(!check.passed && check.wrong >= 1, "%s: %s misses C(%lld, %lld) = %g instead of %g",
                          spec.types.name, method_names[method], (long long)i, (long long)j, wrong, right);
                    CHECK(check.row == i, "%s: the worst row is %lld, want %lld", method_names[method],
                          (long long)check.row, (long long)i);
                    if (method != 1) continue;
                    double reference = rounded_as(&p.C.view, check.want);
                    CHECK(check.col == j && check.got == wrong && reference == right && check.wrong == 1,
                          "(%lld, %lld) %g %g, want (%lld, %lld) %g %g", (long long)check.row,
                          (long long)check.col, check.got, check.want, (long long)i, (long long)j, wrong,
                          right);
                }
                oracle_set(&p.C.view, i, j, right);
            }
        problem_free(&p);
    }
}

/* The exact checksum of a product too large for the oracle sees a single unit in a single element. All rows of A are
 * one row, so all rows of C are, and one row by hand is the whole product. */
TEST(check_exact_checksum_sees_one_unit) {
    static const int pairs[] = {0, 1, 6, 7};
    for (int t = 0; t < 4; t += harness_tier() == TIER_SHORT ? 3 : 1) {
        problem_spec spec = {.types = type_pairs[pairs[t]],
                             .m = 1100,
                             .n = 1100,
                             .k = 1100,
                             .alpha = 1,
                             .store_a = STORE_ZERO_ROW,
                             .data = DATA_EXACT};
        problem p;
        problem_make(&p, &spec, test_random());
        tess_matrix C = p.C.view;
        p.spec.m = 1;
        multiply_by_hand(&p);
        p.spec.m = spec.m;
        for (int64_t i = 1; i < spec.m; i++)
            memcpy(oracle_at(&C, i, 0), C.data, (size_t)spec.n * tess_type_size(C.type));
        tess_check check = check_with(&p, 1, TESS_CHECK_EXACT);
        CHECK(check.passed && check.method == TESS_CHECK_CHECKSUM, "%s: passed %d by method %d",
              problem_text(&p), check.passed, (int)check.method);
        for (int i = 0; i < 3; i++) {
            int64_t row = rng_range(test_random(), 0, spec.m - 1),
                    col = rng_range(test_random(), 0, spec.n - 1);
            double right = oracle_get(&C, row, col), half = C.type == TESS_I32 ? 1 : 0.5;
            oracle_set(&C, row, col, right + (i == 0 ? -1 : i == 1 ? 1 : half));
            check = check_with(&p, 1, TESS_CHECK_EXACT);
            CHECK(!check.passed && check.row == row,
                  "%s: C(%lld, %lld) is off by %g and passes; worst row %lld", spec.types.name,
                  (long long)row, (long long)col, oracle_get(&C, row, col) - right, (long long)check.row);
            oracle_set(&C, row, col, right);
        }
        problem_free(&p);
    }
}

/* What docs/NUMERICS.md allows of sums of ones, and not a hundredth more. `used` is the share of it. */
TEST(check_bound_is_as_wide_as_promised) {
    static const tess_type types[] = {TESS_F32, TESS_F64};
    static const double shares[] = {0.5, 0.98, 1.02, 1.5};
    for (int t = 0; t < 2; t++)
        for (int64_t k = 1; k <= 4096; k *= 8)
            for (int i = 0; i < 4; i++) {
                double one = 1, C_data[1], sum = (double)k, unit = types[t] == TESS_F32 ? 0x1p-24 : 0x1p-53;
                float one_f32 = 1;
                const void *ones = types[t] == TESS_F32 ? (const void *)&one_f32 : &one;
                tess_matrix A = tess_view_strided(types[t], 1, k, ones, 0, 0),
                            B = tess_view_strided(types[t], k, 1, ones, 0, 0),
                            C = tess_view_strided(types[t], 1, 1, C_data, 1, 1);
                double allowed = ((double)(k + 8) + 1) * unit * sum;
                tess_check check = {.passed = 0};
                oracle_set(&C, 0, 0, sum + shares[i] * allowed);
                double share = (oracle_get(&C, 0, 0) - sum) / allowed;
                CHECK_STATUS(tess_check_gemm(1, &A, &B, 0, NULL, &C, TESS_CHECK_ORACLE, 1, &check), TESS_OK,
                             NULL);
                CHECK(check.passed == (share <= 1) && fabs(check.used - share) <= 1e-6 * share,
                      "%s, k = %lld: %g of what is allowed; passed %d, used %g", tess_type_name(types[t]),
                      (long long)k, share, check.passed, check.used);
            }
}

/* An error that a row's checksum has room for: samples may miss it, but not in a corner (docs/NUMERICS.md). */
TEST(check_looks_at_the_corners) {
    enum { EDGE = 300 };
    problem_spec spec =
        {.types = type_pairs[0], .m = EDGE, .n = EDGE, .k = 4, .alpha = 1, .data = DATA_EXACT};
    problem p;
    problem_make(&p, &spec, test_random());
    tess_fill(&p.A.view, TESS_FILL_VALUE, 1, 1);
    tess_fill(&p.B.view, TESS_FILL_VALUE, 1, 1);
    multiply_by_hand(&p);
    for (int corner = 0; corner < 4; corner++) {
        int64_t row = corner & 1 ? EDGE - 1 : 0, col = corner & 2 ? EDGE - 1 : 0;
        oracle_set(&p.C.view, row, col, 4 + 100 * 0x1p-24 * 4);
        tess_check check = check_with(&p, 1, TESS_CHECK_CHECKSUM);
        CHECK(!check.passed && check.row == row && check.col == col,
              "C(%lld, %lld) is wrong; passed %d, worst (%lld, %lld)", (long long)row, (long long)col,
              check.passed, (long long)check.row, (long long)check.col);
        oracle_set(&p.C.view, row, col, 4);
    }
    problem_free(&p);
}

/* Exact sums are rounded once where C is narrower: that is no error, however the product is checked. */
TEST(check_exact_passes_what_c_has_to_round) {
    enum { EDGE = 330 };
    problem_spec spec = {.types = type_pairs[2],
                         .m = EDGE,
                         .n = EDGE,
                         .k = EDGE,
                         .alpha = 1,
                         .store_a = STORE_ZERO_ROW,
                         .data = DATA_EXACT};
    problem p;
    problem_make(&p, &spec, test_random());
    tess_fill(&p.A.view, TESS_FILL_VALUE, 3, 1);
    for (int64_t i = 0; i < EDGE * EDGE; i++)
        oracle_set(&p.B.view, i / EDGE, i % EDGE, (double)rng_range(test_random(), 3, 9));
    p.spec.m = 1;
    multiply_by_hand(&p);
    p.spec.m = EDGE;
    for (int64_t i = 1; i < EDGE; i++)
        memcpy(oracle_at(&p.C.view, i, 0), p.C.view.data, EDGE * tess_type_size(p.C.view.type));
    tess_check check = check_with(&p, 1, TESS_CHECK_EXACT);
    CHECK(check.passed, "%s: %lld wrong, C(%lld, %lld) is %g, want %g", problem_text(&p),
          (long long)check.wrong, (long long)check.row, (long long)check.col, check.got, check.want);
    problem_free(&p);
}

TEST(check_catches_the_usual_mistakes) {
    problem_spec spec =
        {.types = type_pairs[0], .m = 40, .n = 30, .k = 20, .alpha = 2, .beta = 1, .data = DATA_EXACT};
    problem p;
    problem_make(&p, &spec, test_random());
    multiply_by_hand(&p);
    for (int method = 0; method < 4; method++) {
        tess_check check = check_with(&p, 3, methods[method]);
        CHECK(!check.passed, "%s: alpha 3 instead of 2 passes", method_names[method]);
        double kept = oracle_get(&p.C.view, 39, 29);
        static const double poison[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
        for (int i = 0; i < 3; i++) {
            oracle_set(&p.C.view, 39, 29, poison[i]);
            check = check_with(&p, 2, methods[method]);
            CHECK(!check.passed, "%s: %g in C passes", method_names[method], poison[i]);
        }
        oracle_set(&p.C.view, 39, 29, kept);
        double left = oracle_get(&p.C.view, 7, 3), right = oracle_get(&p.C.view, 7, 4);
        oracle_set(&p.C.view, 7, 3, right);
        oracle_set(&p.C.view, 7, 4, left);
        check = check_with(&p, 2, methods[method]);
        /* Random signs see a swap only where they differ; every element sees it. */
        if (left != right && method != 2)
            CHECK(!check.passed, "%s: swapped elements pass", method_names[method]);
        oracle_set(&p.C.view, 7, 3, left);
        oracle_set(&p.C.view, 7, 4, right);
        check = check_with(&p, 2, methods[method]);
        CHECK(check.passed, "%s: what is right again does not pass", method_names[method]);
    }
    problem_free(&p);
}

/* NaN and infinities where they belong are right; elsewhere they are wrong. */
TEST(check_passes_rightful_nan) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    static const int pairs[] = {0, 1, 2, 4};
    for (int t = 0; t < 4; t++) {
        problem_spec spec = {.types = type_pairs[pairs[t]],
                             .m = 12,
                             .n = 13,
                             .k = 14,
                             .alpha = 1,
                             .beta = 1,
                             .data = DATA_SPECIAL};
        problem p;
        problem_make(&p, &spec, test_random());
        CHECK_STATUS(problem_run(&p, ctx, NULL), TESS_OK, ctx);
        problem_check(&p, "before checking");
        CHECK(check_with(&p, 1, TESS_CHECK_ORACLE).passed, "%s: rightful NaN do not pass", spec.types.name);
        for (int64_t i = 0; i < spec.m; i++) {
            double kept = oracle_get(&p.C.view, i, 5);
            oracle_set(&p.C.view, i, 5, isnan(kept) ? 0 : TEST_NAN);
            CHECK(!check_with(&p, 1, TESS_CHECK_ORACLE).passed, "%s: %g instead of %g passes",
                  spec.types.name, oracle_get(&p.C.view, i, 5), kept);
            oracle_set(&p.C.view, i, 5, kept);
        }
        problem_free(&p);
    }
    tess_close(ctx);
}

/* With r, the largest sum alpha*k*r² + beta*r is exact in the accumulation type; with r + 1 it might not be. */
TEST(check_exact_range_at_its_edge) {
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-2, 1}, {0, 1}, {3, -5}};
    static const int64_t lengths[] = {1, 2, 7, 100, 4096, 100000};
    static const struct {
        tess_type type;
        double most, input; /* integers exact in the accumulation type, and in the inputs' */
    } types[] = {{TESS_F32, 0x1p24, 0x1p24},
                 {TESS_F64, 0x1p53, 0x1p53},
                 {TESS_F16, 0x1p24, 0x1p11},
                 {TESS_BF16, 0x1p24, 0x1p8}};
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 6; j++) {
                double alpha = scalars[i][0], beta = scalars[i][1], k = (double)lengths[j];
                double r = (double)tess_exact_range(types[t].type, lengths[j], alpha, beta);
                double larger = r + 1, now = k * r * r, next = k * larger * larger;
                if (alpha != 0) now = fabs(alpha) * now + fabs(beta) * r;
                if (alpha != 0) next = fabs(alpha) * next + fabs(beta) * larger;
                CHECK(r >= 0 && r <= types[t].input && now <= types[t].most,
                      "%s k=%g alpha=%g beta=%g: range %g reaches %g, beyond %g",
                      tess_type_name(types[t].type), k, alpha, beta, r, now, types[t].most);
                CHECK(alpha == 0 || larger > types[t].input || next > types[t].most,
                      "%s k=%g alpha=%g beta=%g: range %g could be larger", tess_type_name(types[t].type), k,
                      alpha, beta, r);
            }
    CHECK(tess_exact_range(TESS_F32, 1, 1, 0) == 4096, "f32, one product: %lld, want 4096",
          (long long)tess_exact_range(TESS_F32, 1, 1, 0));
    /* Integers wrap, and so stay exact modulo 2^32 as far as their elements reach. */
    CHECK(tess_exact_range(TESS_I32, 1000, 3, 1) == INT32_MAX, "i32: %lld",
          (long long)tess_exact_range(TESS_I32, 1000, 3, 1));
    CHECK(tess_exact_range(TESS_I8, 1, 1, 0) == 127, "i8: %lld, want 127",
          (long long)tess_exact_range(TESS_I8, 1, 1, 0));
    CHECK(tess_exact_range(TESS_BF16, 1, 1, 0) <= 256, "bf16 does not hold every integer up to %lld",
          (long long)tess_exact_range(TESS_BF16, 1, 1, 0));
    CHECK(tess_exact_range(TESS_F16, 1, 1, 0) <= 2048, "f16 does not hold every integer up to %lld",
          (long long)tess_exact_range(TESS_F16, 1, 1, 0));
    CHECK(tess_exact_range(TESS_F32, INT64_C(1) << 40, 1, 0) == 0, "2^40 products of 1 are not exact in f32");
    CHECK(tess_exact_range(TESS_F32, 1, TEST_NAN, 0) == 0, "alpha NaN is exact up to %lld",
          (long long)tess_exact_range(TESS_F32, 1, TEST_NAN, 0));
}

/* What tess_gemm does not multiply has no reference either. */
TEST(check_refuses_what_a_product_would) {
    int32_t one = 1;
    float number = 1;
    const int64_t far = (int64_t)1 << 61;
    tess_check found;
    tess_matrix M = tess_view_row_major(TESS_I32, 1, 1, &one, 0),
                f = tess_view_row_major(TESS_F32, 1, 1, &number, 0),
                wide = tess_view_strided(TESS_F32, 1, far, &number, 0, 0),
                tall = tess_view_strided(TESS_F32, far, 1, &number, 0, 0);
    CHECK_STATUS(tess_check_gemm(0.5, &M, &M, 0, NULL, &M, TESS_CHECK_ORACLE, 1, &found), TESS_ERROR_ARGUMENT,
                 NULL);
    CHECK_STATUS(tess_check_gemm((double)NAN, &M, &M, 0, NULL, &M, TESS_CHECK_ORACLE, 1, &found),
                 TESS_ERROR_ARGUMENT, NULL);
    CHECK_STATUS(tess_check_gemm(1, &f, &wide, 0, NULL, &wide, TESS_CHECK_CHECKSUM, 1, &found),
                 TESS_ERROR_ARGUMENT, NULL);
    CHECK(tess_exact_range(TESS_I32, 1, 0.5, 0) == 0 && tess_exact_range(TESS_I8, 1, 1, -2) == INT8_MAX,
          "alpha 0.5: %lld", (long long)tess_exact_range(TESS_I32, 1, 0.5, 0));
    tess_context *ctx = open_cpu(2);
    if (!ctx) return;
    CHECK_STATUS(tess_gemm(ctx, 1, &wide, &tall, 0, &f, NULL), TESS_ERROR_ARGUMENT, ctx);
    CHECK(number == 1, "C is %g", (double)number);
    tess_close(ctx);
}
