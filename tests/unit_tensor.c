/* unit_tensor.c: the arithmetic of tensor cores: small integers are exact in every type, and where bits are
 * lost it is those that the hardware loses. Every case of the table was worked out by hand from the rule in
 * src/sim/tensor_core.h. */
#include "harness.h"

#include <string.h>

#include "../src/numeric.h"
#include "../src/sim/tensor_core.h"

static tess_type type_of(int type) {
    return type == SIM_F16 ? TESS_F16 : type == SIM_BF16 ? TESS_BF16 : type == SIM_I8 ? TESS_I8 : TESS_F32;
}

static const char *name_of(int type) {
    return type == SIM_TF32 ? "tf32" : tess_type_name(type_of(type));
}

/* Element k of a row of A or a column of B. */
static void put(uint8_t *line, int type, int k, double value) {
    numeric_store(type_of(type), line + k * tensor_size(type), value);
}

/* ---- Small integers ---- */

TEST(tensor_small_integers_are_exact) {
    static const int architectures[] = {75, 80, 89, 90, 100};
    for (int type = SIM_F16; type <= SIM_I8; type++)
        for (size_t arch = 0; arch < 5; arch++) {
            tensor_tile t = {.type = type, .bytes = type == SIM_TF32 && arch % 2 ? 16 : 32};
            int depth = t.bytes / tensor_size(type), a[16][32], b[8][32], c[16][8];
            for (int k = 0; k < depth; k++) {
                for (int row = 0; row < 16; row++)
                    put(t.a[row], type, k, a[row][k] = (int)rng_range(test_random(), -9, 9));
                for (int col = 0; col < 8; col++)
                    put(t.b[col], type, k, b[col][k] = (int)rng_range(test_random(), -9, 9));
            }
            for (int row = 0; row < 16; row++)
                for (int col = 0; col < 8; col++) {
                    c[row][col] = (int)rng_range(test_random(), -1000, 1000);
                    t.sums[row][col] =
                        type == SIM_I8 ? (uint32_t)c[row][col] : numeric_bits((float)c[row][col]);
                }
            tensor_multiply(tensor_rule_of(architectures[arch]), &t);
            for (int row = 0; row < 16; row++)
                for (int col = 0; col < 8; col++) {
                    int want = c[row][col];
                    for (int k = 0; k < depth; k++) want += a[row][k] * b[col][k];
                    uint32_t bits = type == SIM_I8 ? (uint32_t)want : numeric_bits((float)want);
                    CHECK(t.sums[row][col] == bits, "%s, sm_%d, sum [%d][%d]: %08x, not %08x (%d)",
                          name_of(type), architectures[arch], row, col, (unsigned)t.sums[row][col],
                          (unsigned)bits, want);
                }
        }
}

TEST(tensor_integers_wrap) {
    tensor_tile t = {.type = SIM_I8, .bytes = 32};
    t.sums[3][2] = 0x7fffffffu;
    t.sums[4][2] = 0x80000000u;
    t.a[3][31] = 1, t.a[4][31] = (uint8_t)-1, t.b[2][31] = 1;
    for (int k = 0; k < 32; k++) t.a[5][k] = 0x80, t.b[7][k] = 0x80;
    tensor_multiply(tensor_rule_of(90), &t);
    CHECK(t.sums[3][2] == 0x80000000u && t.sums[4][2] == 0x7fffffffu, "%08x, %08x", (unsigned)t.sums[3][2],
          (unsigned)t.sums[4][2]);
    CHECK(t.sums[5][7] == 32u * 128 * 128, "-128 times itself, 32 times: %u", (unsigned)t.sums[5][7]);
}

/* ---- Cases worked by hand ---- */

typedef struct sum_case {
    const char *what;
    int type, architecture;
    struct {
        int k, times; /* elements k ... k + times - 1 */
        double a, b;
    } products[3];
    double before, want;
} sum_case;

/* The largest f32, and its last bit. */
#define LARGEST 0x1.fffffep127
static const sum_case cases[] = {
    {"1 is the last bit kept beside 2^25", SIM_BF16, 90, {{0, 4, 1, 1}}, 0x1p25, 0x1p25 + 4},
    {"and one too small before Hopper", SIM_BF16, 80, {{0, 4, 1, 1}}, 0x1p25, 0x1p25},
    {"1 is lost beside 2^26", SIM_BF16, 90, {{0, 16, 1, 1}}, 0x1p26, 0x1p26},
    {"the sum is cut, not rounded", SIM_BF16, 90, {{0, 3, 1, 1}}, 0x1p25, 0x1p25},
    {"toward zero from above", SIM_BF16, 90, {{0, 1, -1, 1}}, 0x1p25, 0x1p25 - 2},
    {"a small negative product is cut to nothing", SIM_BF16, 90, {{5, 1, -0.5, 1}}, 0x1p25, 0x1p25},
    {"toward zero below it", SIM_F16, 90, {{0, 3, -1, 1}}, -0x1p25, -0x1p25},
    {"cancelled, 25 bits stay",
     SIM_F16,
     90,
     {{0, 1, 1024, 1024}, {9, 1, -1024, 1024}, {3, 1, 0x1p-5, 1}},
     0,
     0x1p-5},
    {"and the 26th does not",
     SIM_F16,
     90,
     {{0, 1, 1024, 1024}, {9, 1, -1024, 1024}, {3, 1, 0x1p-6, 1}},
     0,
     0},
    {"16 at once", SIM_F16, 90, {{0, 1, 1024, 1024}, {1, 1, -1024, 1024}, {8, 1, 0x1p-6, 1}}, 0, 0},
    {"8 at once on Ampere",
     SIM_F16,
     80,
     {{0, 1, 1024, 1024}, {1, 1, -1024, 1024}, {8, 1, 0x1p-6, 1}},
     0,
     0x1p-6},
    {"4 of TF32 at once on Ampere",
     SIM_TF32,
     86,
     {{0, 1, 1024, 1024}, {3, 1, -1024, 1024}, {4, 1, 0x1p-6, 1}},
     0,
     0x1p-6},
    {"8 of TF32 at once on Hopper",
     SIM_TF32,
     90,
     {{0, 1, 1024, 1024}, {3, 1, -1024, 1024}, {4, 1, 0x1p-6, 1}},
     0,
     0},
    {"a product is not normalised before it is shifted",
     SIM_BF16,
     90,
     {{0, 1, 1.5, 1.5}, {1, 1, 0x1p-13, 0x1p-12}},
     0,
     2.25},
    {"and is exact", SIM_F16, 90, {{0, 1, 0x1.ffcp0, 0x1.ffcp0}}, 0, 0x1.ffcp0 * 0x1.ffcp0},
    {"zeros have no exponent", SIM_BF16, 90, {{0, 1, 0x1p100, 0}, {1, 1, 0x1p-20, 0x1p-20}}, 0, 0x1p-40},
    {"subnormal f16", SIM_F16, 90, {{0, 2, 0x1p-24, 1}}, 0, 0x1p-23},
    {"subnormal sums", SIM_BF16, 90, {{0, 1, 0x1p-70, 0x1p-70}}, 0x1p-149, 0x1p-140 + 0x1p-149},
    {"below the smallest", SIM_BF16, 90, {{0, 1, 0x1p-75, 0x1p-75}}, 0, 0},
    {"halves of the smallest add up", SIM_BF16, 90, {{0, 2, 0x1p-75, 0x1p-75}}, 0, 0x1p-149},
    {"subnormal bf16", SIM_BF16, 90, {{0, 1, 0x1p-133, 0x1p100}}, 0, 0x1p-33},
    {"too large", SIM_BF16, 90, {{0, 1, 0x1p64, -0x1p64}}, 0, -TEST_INF},
    {"just too large", SIM_BF16, 90, {{0, 1, 0x1p52, 0x1p52}}, LARGEST, TEST_INF},
    {"cut to the largest", SIM_BF16, 90, {{0, 1, 0x1p51, 0x1p52}}, LARGEST, LARGEST},
    {"minus zero", SIM_F16, 90, {{0, 2, -1, 0}}, -0.0, 0},
    {"an infinity stays", SIM_F16, 90, {{0, 1, TEST_INF, 2}, {1, 1, 3, 3}}, 1, TEST_INF},
    {"with its sign", SIM_BF16, 90, {{0, 1, TEST_INF, -2}}, 1, -TEST_INF},
    {"that of the sum too", SIM_BF16, 90, {{0, 1, 1, 1}}, -TEST_INF, -TEST_INF},
    {"infinity times zero", SIM_F16, 90, {{2, 1, 0, TEST_INF}}, 1, TEST_NAN},
    {"two infinities", SIM_F16, 90, {{2, 1, 1, TEST_INF}, {7, 1, -TEST_INF, 1}}, 1, TEST_NAN},
    {"an infinity against the sum", SIM_BF16, 90, {{2, 1, 1, TEST_INF}}, -TEST_INF, TEST_NAN},
    {"a NaN", SIM_BF16, 90, {{2, 1, 0, TEST_NAN}}, 1, TEST_NAN},
    {"a NaN before", SIM_TF32, 90, {{2, 1, 1, 1}}, TEST_NAN, TEST_NAN},
};

static uint32_t wanted_bits(double want) {
    return want != want ? 0x7fffffffu : numeric_bits((float)want);
}

TEST(tensor_sums_lose_what_the_hardware_loses) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sum_case *c = &cases[i];
        tensor_tile t = {.type = c->type, .bytes = 32};
        for (int j = 0; j < 3; j++)
            for (int k = c->products[j].k; k < c->products[j].k + c->products[j].times; k++) {
                put(t.a[13], c->type, k, c->products[j].a);
                put(t.b[6], c->type, k, c->products[j].b);
            }
        t.sums[13][6] = numeric_bits((float)c->before);
        tensor_multiply(tensor_rule_of(c->architecture), &t);
        CHECK(t.sums[13][6] == wanted_bits(c->want), "%s: %08x (%a), not %08x (%a)", c->what,
              (unsigned)t.sums[13][6], (double)numeric_float(t.sums[13][6]), (unsigned)wanted_bits(c->want),
              c->want);
        CHECK(t.sums[12][5] == 0, "%s: another sum is %08x", c->what, (unsigned)t.sums[12][5]);
    }
}

TEST(tensor_cores_do_not_see_the_last_bits_of_tf32) {
    tensor_tile t = {.type = SIM_TF32, .bytes = 32};
    const uint32_t one = 0x3f801fffu, nearly_nan = 0x7f800001u;
    memcpy(t.a[0], &one, 4);
    memcpy(t.b[0], &one, 4);
    memcpy(t.b[1], &nearly_nan, 4);
    tensor_multiply(tensor_rule_of(90), &t);
    CHECK(t.sums[0][0] == 0x3f800000u, "1 times 1 is %08x", (unsigned)t.sums[0][0]);
    CHECK(t.sums[0][1] == 0x7f800000u, "what looks like an infinity gives %08x", (unsigned)t.sums[0][1]);
}
