/* check_special.c: tess_check_gemm where numbers are not finite, or so large or small that sums of them are not. */
#include "harness.h"
#include "oracle.h"

#include <math.h>
#include <stdlib.h>

/* C = A·B of small integers, row-major: every type here holds them exactly. */
typedef struct product {
    tess_matrix A, B, C0, C;
    double beta;
} product;

static tess_matrix filled(tess_type type, int64_t rows, int64_t cols) {
    void *data = test_alloc((size_t)(rows * cols) * tess_type_size(type));
    tess_matrix M = tess_view_row_major(type, rows, cols, data, 0);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) oracle_set(&M, i, j, (double)rng_range(test_random(), 1, 3));
    return M;
}

static product make(tess_type type, int64_t m, int64_t n, int64_t k) {
    product p = {.A = filled(type, m, k), .B = filled(type, k, n)};
    p.C0 = filled(type, m, n), p.C = filled(type, m, n);
    return p;
}

static void multiply(product *p) {
    for (int64_t i = 0; i < p->C.rows; i++)
        for (int64_t j = 0; j < p->C.cols; j++) {
            double sum = p->beta == 0 ? 0 : p->beta * oracle_get(&p->C0, i, j);
            for (int64_t l = 0; l < p->A.cols; l++) sum += oracle_get(&p->A, i, l) * oracle_get(&p->B, l, j);
            oracle_set(&p->C, i, j, sum);
        }
}

static void release(product *p) {
    free(p->A.data), free(p->B.data), free(p->C0.data), free(p->C.data);
}

static tess_check check_product(const product *p, tess_check_method method, uint64_t seed) {
    tess_check check = {0};
    CHECK_STATUS(tess_check_gemm(1, &p->A, &p->B, p->beta, &p->C0, &p->C, method, seed, &check), TESS_OK,
                 NULL);
    return check;
}

/* Every seed must find that C(row, col) is wrong, whether it is drawn or not. */
static void expect_found(product *p, int64_t row, int64_t col, double wrong) {
    double right = oracle_get(&p->C, row, col);
    oracle_set(&p->C, row, col, wrong);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        tess_check check = check_product(p, TESS_CHECK_CHECKSUM, seed);
        CHECK(!check.passed && check.row == row && (check.col == col || check.col == -1),
              "%s seed %d: C(%lld, %lld) = %g instead of %g; passed %d, worst (%lld, %lld)",
              tess_type_name(p->C.type), (int)seed, (long long)row, (long long)col, wrong, right,
              check.passed, (long long)check.row, (long long)check.col);
    }
    oracle_set(&p->C, row, col, right);
}

static void expect_passed(const product *p, const char *what) {
    tess_check check = check_product(p, TESS_CHECK_CHECKSUM, 1);
    CHECK(check.passed && check.wrong == 0, "%s, %s: %lld wrong, (%lld, %lld) is %g, want %g",
          tess_type_name(p->C.type), what, (long long)check.wrong, (long long)check.row, (long long)check.col,
          check.got, check.want);
}

static const tess_type types[] = {TESS_F32, TESS_F64, TESS_F16, TESS_BF16};

/* NaN and infinities in some columns of B, a row of A and an element of C0: what is wrong beside them is found, what
 * is wrong among them too, and what belongs there passes. */
TEST(check_special_hides_nothing_from_the_checksum) {
    for (int t = 0; t < 4; t++) {
        product p = make(types[t], 260, 330, 5);
        p.beta = 1;
        oracle_set(&p.B, 1, 7, TEST_NAN);
        oracle_set(&p.B, 4, 8, TEST_INF);
        oracle_set(&p.B, 0, 301, -TEST_INF);
        oracle_set(&p.A, 77, 2, TEST_NAN);
        oracle_set(&p.A, 200, 3, TEST_INF);
        oracle_set(&p.C0, 140, 9, TEST_NAN);
        multiply(&p);
        expect_passed(&p, "rightful NaN and infinities");
        expect_found(&p, 31, 100, 99);       /* an ordinary element */
        expect_found(&p, 31, 100, TEST_NAN); /* where there is nothing to make it so */
        expect_found(&p, 31, 100, TEST_INF);
        expect_found(&p, 111, 7, 4); /* in columns left out */
        expect_found(&p, 253, 8, -TEST_INF);
        expect_found(&p, 111, 301, TEST_NAN);
        expect_found(&p, 77, 113, 5); /* in rows that are not finite */
        expect_found(&p, 200, 313, 6);
        expect_found(&p, 140, 200, 7);
        release(&p);
    }
}

/* More rows and columns that are not finite than are checked whole: the rest is still checked, and nothing right is
 * refused. */
TEST(check_special_passes_many_lines) {
    product p = make(TESS_F64, 200, 210, 3);
    for (int64_t i = 50; i < 200; i++) oracle_set(&p.A, i, 1, TEST_INF);
    for (int64_t j = 60; j < 210; j++) oracle_set(&p.B, 2, j, TEST_NAN);
    multiply(&p);
    expect_passed(&p, "150 rows and columns");
    expect_found(&p, 5, 59, 1000);
    expect_found(&p, 60, 30, 1000);
    expect_found(&p, 150, 70, 1000);
    release(&p);
}

/* B·x overflows and the product does not. */
TEST(check_special_passes_sums_beyond_f64) {
    product p = make(TESS_F64, 70, 70, 64);
    tess_fill(&p.A, TESS_FILL_VALUE, 1e-308, 0);
    tess_fill(&p.B, TESS_FILL_VALUE, 1e308, 0);
    multiply(&p);
    expect_passed(&p, "1e-308 times 1e308");
    expect_found(&p, 40, 33, 65);
    release(&p);
}

/* Results too large for f16 are infinities of both signs, whose sum along a row is NaN. */
TEST(check_special_passes_rightful_overflow) {
    product p = make(TESS_F16, 60, 60, 4);
    for (int64_t i = 0; i < 60; i++) oracle_set(&p.A, i, 0, 60000);
    for (int64_t j = 0; j < 60; j++) oracle_set(&p.B, 0, j, j % 2 ? 40 : -40);
    multiply(&p);
    expect_passed(&p, "overflow to both infinities");
    expect_found(&p, 50, 31, -TEST_INF);
    release(&p);
}

/* The error measures hold where squares of the numbers overflow or vanish, and tell where there is no distance. */
TEST(check_special_errors_over_the_whole_range) {
    static const double sizes[] = {1e-300, 1e-200, 1, 1e200, 1e300};
    for (int s = 0; s < 5; s++) {
        product p = make(TESS_F64, 20, 20, 1);
        tess_fill(&p.A, TESS_FILL_VALUE, sizes[s], 0);
        tess_fill(&p.B, TESS_FILL_VALUE, 4, 0);
        multiply(&p);
        tess_check check = check_product(&p, TESS_CHECK_ORACLE, 1);
        CHECK(check.passed && check.rel_error == 0 && check.max_error == 0, "%g: errors %g and %g", sizes[s],
              check.rel_error, check.max_error);
        oracle_set(&p.C, 11, 3, 6 * sizes[s]);
        oracle_set(&p.C, 13, 4, 2 * sizes[s]); /* two of 400 are off by half: √(2·0.25/400) */
        check = check_product(&p, TESS_CHECK_ORACLE, 1);
        CHECK(!check.passed && fabs(check.rel_error - sqrt(0.5 / 400)) <= 1e-12 &&
                  fabs(check.max_error - 0.5) <= 1e-12,
              "%g: errors %g and %g, want %g and 0.5", sizes[s], check.rel_error, check.max_error,
              sqrt(0.5 / 400));
        oracle_set(&p.C, 13, 4, 4 * sizes[s]);
        expect_found(&p, 11, 3, 6 * sizes[s]);
        release(&p);
    }
}

TEST(check_special_errors_without_distance) {
    for (int t = 0; t < 4; t++) {
        product p = make(types[t], 9, 8, 7);
        multiply(&p);
        for (int i = 0; i < 3; i++) {
            oracle_set(&p.C, 8, 7, i == 0 ? TEST_NAN : i == 1 ? TEST_INF : -TEST_INF);
            for (int method = TESS_CHECK_ORACLE; method <= TESS_CHECK_CHECKSUM; method++) {
                tess_check check = check_product(&p, (tess_check_method)method, 1);
                CHECK(!check.passed && check.rel_error == TEST_INF && check.max_error == TEST_INF,
                      "%s: %g in C, errors %g and %g", tess_type_name(types[t]), oracle_get(&p.C, 8, 7),
                      check.rel_error, check.max_error);
            }
        }
        tess_fill(&p.C, TESS_FILL_VALUE, TEST_NAN, 0);
        tess_check check = check_product(&p, TESS_CHECK_ORACLE, 1);
        CHECK(check.wrong == 72 && check.rel_error == TEST_INF && check.max_error == TEST_INF,
              "%s: all NaN, %lld wrong, errors %g and %g", tess_type_name(types[t]), (long long)check.wrong,
              check.rel_error, check.max_error);
        release(&p);
    }
}

/* Sums of f64 that overflow on their way are infinite or NaN by one order, and finite by another. */
TEST(check_special_sums_that_overflow) {
    static const double found[] = {0, 1e300, TEST_INF, -TEST_INF, TEST_NAN};
    product p = make(TESS_F64, 1, 1, 2);
    oracle_set(&p.A, 0, 0, 1e200), oracle_set(&p.A, 0, 1, -1e200);
    oracle_set(&p.B, 0, 0, 1e200), oracle_set(&p.B, 1, 0, 1e200);
    for (int i = 0; i < 5; i++) {
        oracle_set(&p.C, 0, 0, found[i]);
        tess_check check = check_product(&p, TESS_CHECK_ORACLE, 1);
        CHECK(check.passed, "1e400 - 1e400 may be %g", found[i]);
    }
    oracle_set(&p.A, 0, 1, TEST_INF);
    oracle_set(&p.C, 0, 0, 0);
    CHECK(!check_product(&p, TESS_CHECK_ORACLE, 1).passed, "an infinity in A passes for an overflow");
    oracle_set(&p.A, 0, 1, 1);
    oracle_set(&p.C0, 0, 0, TEST_INF);
    p.beta = 1;
    CHECK(!check_product(&p, TESS_CHECK_ORACLE, 1).passed, "an infinity in C0 passes for an overflow");
    release(&p);
}
