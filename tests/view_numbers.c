/* view_numbers.c: tess_get is exact, tess_set rounds once to nearest even, for every bit pattern of the 16-bit types
 * and the cases that go wrong; tess_fill depends on what it says it depends on and nothing else. */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

static tess_matrix one_element(tess_type type, void *data) {
    return tess_view_row_major(type, 1, 1, data, 0);
}

/* All 65536 patterns of f16 and bf16: read exactly, and written back as they were. */
TEST(view_every_16_bit_pattern) {
    for (unsigned pattern = 0; pattern <= 0xffff; pattern++) {
        uint16_t bits = (uint16_t)pattern;
        for (int t = 0; t < 2; t++) {
            tess_matrix M = one_element(t ? TESS_BF16 : TESS_F16, &bits);
            bits = (uint16_t)pattern;
            double want = t ? oracle_bf16_to_double(bits) : oracle_f16_to_double(bits),
                   got = tess_get(M, 0, 0);
            if (isnan(want)) {
                if (!CHECK(isnan(got), "%04x is %g, want NaN", pattern, got)) return;
                continue;
            }
            if (!CHECK(got == want && signbit(got) == signbit(want), "%04x is %g, want %g", pattern, got,
                       want))
                return;
            bits = 0x1234;
            if (!CHECK(tess_set(M, 0, 0, got) == TESS_OK && bits == pattern,
                       "%g was stored as %04x, want %04x", got, bits, pattern))
                return;
        }
    }
}

/* Between every two neighbours: the midpoint goes to the even one, a hair beside it to the nearer. */
TEST(view_rounding_between_neighbours) {
    for (unsigned pattern = 0; pattern < 0x7fff; pattern++)
        for (int t = 0; t < 2; t++) {
            if (pattern >= (t ? 0x7f80u : 0x7c00u)) continue;
            uint16_t bits;
            tess_matrix M = one_element(t ? TESS_BF16 : TESS_F16, &bits);
            double low =
                t ? oracle_bf16_to_double((uint16_t)pattern) : oracle_f16_to_double((uint16_t)pattern);
            double high = t ? oracle_bf16_to_double((uint16_t)(pattern + 1))
                            : oracle_f16_to_double((uint16_t)(pattern + 1));
            if (isinf(high)) high = t ? 0x1p128 : 65536.0; /* where the next number would be */
            double middle = low + (high - low) / 2;
            const struct {
                double value;
                unsigned want;
            } cases[] = {{nextafter(middle, 0), pattern},
                         {middle, pattern + (pattern & 1)},
                         {nextafter(middle, TEST_INF), pattern + 1},
                         {-middle, (pattern + (pattern & 1)) | 0x8000u}};
            for (int i = 0; i < 4; i++)
                if (!CHECK(tess_set(M, 0, 0, cases[i].value) == TESS_OK && bits == cases[i].want,
                           "%s: %.17g was stored as %04x, want %04x", t ? "bf16" : "f16", cases[i].value,
                           bits, cases[i].want))
                    return;
        }
}

TEST(view_set_extremes) {
    uint16_t bits = 0;
    float single = 0;
    tess_matrix half = one_element(TESS_F16, &bits), brain = one_element(TESS_BF16, &bits);
    tess_matrix f32 = one_element(TESS_F32, &single);
    CHECK(tess_set(half, 0, 0, 1e300) == TESS_OK && bits == 0x7c00, "1e300 is %04x, want Inf", bits);
    CHECK(tess_set(half, 0, 0, -65520) == TESS_OK && bits == 0xfc00, "-65520 is %04x, want -Inf", bits);
    CHECK(tess_set(half, 0, 0, 1e-300) == TESS_OK && bits == 0, "1e-300 is %04x, want 0", bits);
    CHECK(tess_set(brain, 0, 0, -1e300) == TESS_OK && bits == 0xff80, "-1e300 is %04x, want -Inf", bits);
    CHECK(tess_set(brain, 0, 0, TEST_NAN) == TESS_OK && isnan(tess_get(brain, 0, 0)), "NaN is %04x", bits);
    CHECK(tess_set(half, 0, 0, TEST_NAN) == TESS_OK && isnan(tess_get(half, 0, 0)), "NaN is %04x", bits);
    /* A double that would round twice: first to a float tie, then wrongly away. */
    double twice = 1.0 + 0x1p-8 + 0x1p-40;
    CHECK(tess_set(brain, 0, 0, twice) == TESS_OK && bits == 0x3f81, "1 + 2^-8 + 2^-40 is %04x, want 3f81",
          bits);
    CHECK(tess_set(half, 0, 0, 1.0 + 0x1p-11 + 0x1p-40) == TESS_OK && bits == 0x3c01, "%04x, want 3c01",
          bits);
    CHECK(tess_set(f32, 0, 0, 1.0 + 0x1p-24) == TESS_OK && single == 1.0f, "1 + 2^-24 is %.9g",
          (double)single);
    CHECK(tess_set(f32, 0, 0, 1e300) == TESS_OK && isinf(single), "1e300 is %g", (double)single);
}

TEST(view_set_integers) {
    int32_t word = 5;
    int8_t byte = 5;
    tess_matrix i32 = one_element(TESS_I32, &word), i8 = one_element(TESS_I8, &byte);
    CHECK(tess_set(i32, 0, 0, -2147483648.0) == TESS_OK && word == INT32_MIN, "%d", (int)word);
    CHECK(tess_set(i32, 0, 0, 2147483647.0) == TESS_OK && word == INT32_MAX, "%d", (int)word);
    CHECK(tess_set(i8, 0, 0, -128) == TESS_OK && byte == -128, "%d", (int)byte);
    CHECK(tess_set(i8, 0, 0, 127) == TESS_OK && byte == 127, "%d", (int)byte);
    static const double never[] = {2147483648.0, -2147483649.0, 0.5, 1e300};
    for (int i = 0; i < 4; i++)
        CHECK(tess_set(i32, 0, 0, never[i]) == TESS_ERROR_ARGUMENT && word == INT32_MAX, "i32 took %g",
              never[i]);
    CHECK(tess_set(i32, 0, 0, TEST_NAN) == TESS_ERROR_ARGUMENT, "i32 took NaN");
    CHECK(tess_set(i32, 0, 0, -TEST_INF) == TESS_ERROR_ARGUMENT, "i32 took -Inf");
    static const double never_byte[] = {128, -129, -0.25};
    for (int i = 0; i < 3; i++)
        CHECK(tess_set(i8, 0, 0, never_byte[i]) == TESS_ERROR_ARGUMENT && byte == 127, "i8 took %g",
              never_byte[i]);
}

/* The same numbers whatever the strides and, once rounded, whatever the type; others for another seed or kind. */
TEST(view_fill_depends_on_seed_only) {
    enum { ROWS = 9, COLS = 13 };
    double dense[ROWS * COLS] = {0}, spread[ROWS * COLS * 4] = {0}, other[ROWS * COLS] = {0};
    float single[ROWS * COLS] = {0};
    tess_matrix D = tess_view_row_major(TESS_F64, ROWS, COLS, dense, 0);
    tess_matrix S = tess_view_strided(TESS_F64, ROWS, COLS, spread + (ROWS - 1) * 2, -2, 2 * ROWS);
    tess_matrix O = tess_view_col_major(TESS_F64, ROWS, COLS, other, 0);
    tess_matrix F = tess_view_col_major(TESS_F32, ROWS, COLS, single, 0);
    static const tess_fill_kind kinds[] = {TESS_FILL_UNIFORM, TESS_FILL_NORMAL, TESS_FILL_INTEGER};
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(tess_fill(&D, kinds[i], 50, 7), TESS_OK, NULL);
        CHECK_STATUS(tess_fill(&S, kinds[i], 50, 7), TESS_OK, NULL);
        CHECK_STATUS(tess_fill(&O, kinds[i], 50, 8), TESS_OK, NULL);
        CHECK_STATUS(tess_fill(&F, kinds[i], 50, 7), TESS_OK, NULL);
        int same = 0;
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLS; c++) {
                double value = tess_get(D, r, c);
                CHECK(value == tess_get(S, r, c), "kind %d: strides change (%d, %d)", i, r, c);
                CHECK((double)(float)value == tess_get(F, r, c), "kind %d: the type changes (%d, %d)", i, r,
                      c);
                same += value == tess_get(O, r, c);
            }
        CHECK(same < ROWS * COLS / 4, "kind %d: seeds 7 and 8 agree in %d of %d elements", i, same,
              ROWS * COLS);
    }
}

TEST(view_fill_distributions) {
    enum { SIDE = 300 };
    double *data = test_alloc(sizeof(double) * SIDE * SIDE);
    tess_matrix M = tess_view_row_major(TESS_F64, SIDE, SIDE, data, 0);
    const double count = (double)SIDE * SIDE;
    CHECK_STATUS(tess_fill(&M, TESS_FILL_UNIFORM, 2, 1), TESS_OK, NULL);
    double sum = 0, squares = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        CHECK(data[i] >= -2 && data[i] < 2, "uniform gave %g", data[i]);
        sum += data[i], squares += data[i] * data[i];
    }
    CHECK(fabs(sum / count) < 0.03 && fabs(squares / count - 4.0 / 3) < 0.03, "uniform: mean %g, square %g",
          sum / count, squares / count);
    CHECK_STATUS(tess_fill(&M, TESS_FILL_NORMAL, 3, 1), TESS_OK, NULL);
    sum = squares = 0;
    for (int i = 0; i < SIDE * SIDE; i++) sum += data[i], squares += data[i] * data[i];
    CHECK(fabs(sum / count) < 0.06 && fabs(squares / count - 9) < 0.25, "normal: mean %g, square %g",
          sum / count, squares / count);
    CHECK_STATUS(tess_fill(&M, TESS_FILL_INTEGER, 3, 1), TESS_OK, NULL);
    int seen[7] = {0};
    for (int i = 0; i < SIDE * SIDE; i++)
        if (CHECK(data[i] == rint(data[i]) && fabs(data[i]) <= 3, "integer gave %g", data[i]))
            seen[(int)data[i] + 3]++;
    for (int i = 0; i < 7; i++)
        CHECK(seen[i] > SIDE * SIDE / 10, "integer gave %d only %d times", i - 3, seen[i]);
    CHECK_STATUS(tess_fill(&M, TESS_FILL_VALUE, TEST_NAN, 1), TESS_OK, NULL);
    CHECK(isnan(data[0]) && isnan(data[SIDE * SIDE - 1]), "NaN does not poison");
    free(data);
}

/* Filling a view writes its elements and nothing beside them, for every type. */
TEST(view_fill_stays_inside) {
    for (int t = 0; t < TYPE_PAIRS; t++)
        for (int store = 0; store < STORAGES_OF_C; store++) {
            problem_spec spec =
                {.types = type_pairs[t], .m = 5, .n = 6, .k = 1, .store_c = (storage)store, .beta = 1};
            problem p;
            problem_make(&p, &spec, test_random());
            CHECK_STATUS(tess_fill(&p.C.view, TESS_FILL_INTEGER, 9, 3), TESS_OK, NULL);
            for (int64_t i = 0; i < 5; i++)
                for (int64_t j = 0; j < 6; j++) {
                    CHECK(fabs(oracle_get(&p.C.view, i, j)) <= 9, "%s: %g", spec.types.name,
                          oracle_get(&p.C.view, i, j));
                    unsigned char *at = oracle_at(&p.C.view, i, j);
                    memcpy(at, p.C.copy + (at - p.C.block), tess_type_size(spec.types.out));
                }
            problem_check_untouched(&p, "tess_fill");
            problem_free(&p);
        }
}
