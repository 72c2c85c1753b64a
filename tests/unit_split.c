/* unit_split.c: what split_prepare.cu writes, bit by bit: the parts of every line, the factors that undo their scaling,
 * and the way that the data takes. The parts are worked out here in double, where every step is exact. */
#include "harness.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_split_aid.h"
#include "../src/numeric.h"

/* ---- What must be there ---- */

static uint16_t half_of(tess_type type, double value) {
    uint16_t half;
    numeric_store(type, &half, value);
    return half;
}

/* The exponent of the largest element of a line, and of the smallest that is not 0. Returns 0 if all are. */
static int exponents_of(const float *line, int64_t step, int64_t k, int *top, int *least) {
    int some = 0;
    for (int64_t i = 0; i < k; i++) {
        float x = fabsf(line[i * step]);
        if (x == 0) continue;
        int e = ilogbf(x);
        if (!some || e > *top) *top = e;
        if (!some || e < *least) *least = e;
        some = 1;
    }
    return some;
}

static void check_fp16x3(const char *what, const uint16_t *parts, double x, int64_t k) {
    const uint16_t *at = parts + k / 32 * 64 + k % 32;
    uint16_t high = half_of(TESS_F16, x), low = half_of(TESS_F16, x - numeric_load(TESS_F16, &high));
    CHECK(at[0] == high && at[32] == low, "%s, k %d, %a: parts %04x %04x, not %04x %04x", what, (int)k, x,
          at[0], at[32], high, low);
}

static void check_bf16x6(const char *what, const uint16_t *parts, double x, int64_t k) {
    const uint16_t *at = parts + k / 64 * SPLIT_CHUNK + k % 64;
    double rest = x;
    for (int p = 0; p < 3; p++) {
        uint16_t part = half_of(TESS_BF16, rest);
        if ((part & 0x7fff) == 0x7f80) part--;
        CHECK(at[64 * p] == part, "%s, k %d, %a: part %d is %04x, not %04x", what, (int)k, x, p + 1,
              at[64 * p], part);
        rest -= numeric_load(TESS_BF16, &part);
    }
    CHECK(rest == 0, "%s, k %d: %a is not all of %a", what, (int)k, x - rest, x);
}

/* One line: its factors, all of its parts, and zeros up to the end of its last chunk. */
static void check_line(const char *what, const split_bench *bench, const split_side *side, int64_t product,
                       int64_t line) {
    const split_arguments *s = &bench->last;
    const float *from = side->from + product * side->batch + line * side->line;
    int64_t chunks = (s->k + 63) / 64, number = product * side->lines + line;
    const uint16_t *parts = side->parts + number * chunks * SPLIT_CHUNK;
    const float *undo = side->undo + 2 * number;
    int top = 14, least = 14;
    exponents_of(from, side->step, s->k, &top, &least);
    CHECK((double)undo[0] * (double)undo[1] == ldexp(1, top - 14), "%s, line %d: factors %a and %a, not 2^%d",
          what, (int)line, (double)undo[0], (double)undo[1], top - 14);
    for (int64_t k = 0; k < chunks * 64; k++) {
        double x = k < s->k ? (double)from[k * side->step] : 0;
        if (s->state[0] == SPLIT_FP16X3)
            check_fp16x3(what, parts, ldexp(x, 14 - top), k);
        else
            check_bf16x6(what, parts, x, k);
    }
}

static void check_side(const char *what, const split_bench *bench, const split_side *side) {
    for (int64_t product = 0; product < side->products; product++)
        for (int64_t line = 0; line < side->lines; line++) check_line(what, bench, side, product, line);
}

/* ---- Shapes and orders ---- */

static float random_float(int span) {
    return (float)ldexp(rng_real(test_random()), (int)rng_range(test_random(), -span, span));
}

static void fill(split_matrix *m, int64_t count, int span) {
    for (int64_t product = 0; product < count; product++)
        for (int64_t i = 0; i < m->rows; i++)
            for (int64_t j = 0; j < m->cols; j++) *split_at(m, product, i, j) = random_float(span);
}

static void try_shape(split_bench *bench, const char *kernel, int64_t m, int64_t n, int64_t k, int order,
                      int64_t count, int span, int way) {
    char what[96];
    split_matrix a = split_matrix_make(m, k, order & 1, order & 2 ? 3 : 0, count),
                 b = split_matrix_make(k, n, order & 4, order & 8 ? 1 : 0, count),
                 c = split_matrix_make(m, n, order & 2, 0, count);
    snprintf(what, sizeof what, "%s %dx%dx%d, order %d, %d times", kernel, (int)m, (int)n, (int)k, order,
             (int)count);
    fill(&a, count, span);
    fill(&b, count, span);
    int taken = split_multiply(bench, kernel, 1, &a, &b, 0, &c, count);
    CHECK(taken == way, "%s: way %d, not %d", what, taken, way);
    CHECK(bench->launches == 2, "%s: %d launches", what, bench->launches);
    if (taken == way) {
        check_side(what, bench, &bench->last.a);
        check_side(what, bench, &bench->last.b);
    }
    free(a.data), free(b.data), free(c.data);
}

/* Of lines that lie across, a block of split_prepare holds up to 544 elements: the last of these are pieces. */
TEST(split_parts_of_every_order_and_shape) {
    static const int sizes[][3] = {{1, 1, 1},     {3, 5, 7},     {64, 64, 64},   {65, 63, 129},
                                   {17, 130, 31}, {129, 1, 200}, {2, 200, 1000}, {5, 34, 1500}};
    split_bench bench = {0};
    for (int i = 0; i < 8; i++)
        for (int order = i % 2; order < 16; order += 3 + i % 3) {
            const int *s = sizes[i];
            try_shape(&bench, "split_01_fp16x3", s[0], s[1], s[2], order, 1, 3, SPLIT_FP16X3);
            try_shape(&bench, "split_02_bf16x6", s[0], s[1], s[2], order, 1, 30, SPLIT_BF16X6);
        }
    try_shape(&bench, "split_01_fp16x3", 33, 9, 70, 5, 3, 2, SPLIT_FP16X3);
    try_shape(&bench, "split_01_fp16x3", 33, 9, 70, 0, 3, 60, SPLIT_BF16X6);
    split_bench_close(&bench);
}

/* Blocks that share a strip, and what each holds of it at a time. */
TEST(split_clusters_are_as_large_as_lines_are_long) {
    static const struct {
        int64_t k;
        int most, cluster, rows;
    } cases[] = {{300, 16, 4, 96},     {2176, 16, 4, 544},  {2177, 16, 8, 288},  {4352, 8, 8, 544},
                 {4352, 16, 8, 544},   {4353, 16, 16, 288}, {8192, 16, 16, 512}, {8192, 8, 8, 512},
                 {16384, 16, 16, 512}, {16384, 8, 8, 512},  {100, 0, 1, 128}};
    sentence why;
    const kernel_row *kernel = registry_find("gpu", "split_01_fp16x3", &why);
    for (size_t i = 0; kernel && i < sizeof cases / sizeof *cases; i++) {
        problem run = {.in = TESS_F32,
                       .out = TESS_F32,
                       .m = 64,
                       .n = 64,
                       .k = cases[i].k,
                       .a_row = 1,
                       .a_col = 64,
                       .b_row = 64,
                       .b_col = 1,
                       .batch = {1, 0, 0, 0}};
        split_arguments s = split_arguments_of(&run, &(operands){0}, kernel, cases[i].most, NULL);
        CHECK(s.cluster == cases[i].cluster && s.a.rows == cases[i].rows,
              "k = %d, clusters of %d at most: %d blocks that hold %d elements", (int)cases[i].k,
              cases[i].most, s.cluster, s.a.rows);
        CHECK(s.strip_blocks == 4 * s.cluster && s.blocks == s.strip_blocks, "%d blocks", s.blocks);
    }
}

TEST(split_parts_are_written_without_races) {
    static const int sizes[][3] = {{33, 70, 100}, {9, 40, 600}};
    char why[256];
    if (!module_can_trace(why)) {
        harness_skip("%s", why);
        return;
    }
    split_bench bench = {.checked = 1};
    for (int i = 0; i < 2; i++)
        for (int order = i; order < 16; order += 5) {
            const int *s = sizes[i];
            try_shape(&bench, "split_01_fp16x3", s[0], s[1], s[2], order, 2, 2, SPLIT_FP16X3);
            try_shape(&bench, "split_01_fp16x3", s[0], s[1], s[2], order, 1, 60, SPLIT_BF16X6);
        }
    split_bench_close(&bench);
}

/* ---- Ways ---- */

/* A product of ones, with row 2 of A and column 1 of B replaced: their elements at k = 0, 1 and the last are given, and
 * the others are ones, zeros, or every second one a zero. */
typedef enum other { ONES, ZEROS, HALF } other;
typedef struct way_case {
    const char *what;
    int k;
    other others_a, others_b;
    double a[3], b[3];
    int way[2]; /* by split_01 and by split_02 */
} way_case;

#define F16 SPLIT_FP16X3
#define B16 SPLIT_BF16X6
#define FMA SPLIT_FMA
#define TOP (double)FLT_MAX
static const way_case way_cases[] = {
    {"ones", 64, ONES, ONES, {1, 1, 1}, {1, 1, 1}, {F16, B16}},
    {"zeros do not count", 64, ZEROS, ZEROS, {0, 0, 1}, {0, -0.0, 1}, {F16, B16}},
    {"all of them", 64, ZEROS, ZEROS, {0, 0, 0}, {0, 0x1p-40, 1}, {B16, B16}},
    {"16 octaves", 64, ZEROS, ONES, {1, 0x1p-16, 1}, {1, 1, 1}, {F16, B16}},
    {"and 17", 64, ZEROS, ONES, {1, 0x1p-17, 1}, {1, 1, 1}, {B16, B16}},
    {"judged by exponents", 64, ZEROS, ONES, {1.99, 0x1p-16, 1}, {1, 1, 1}, {F16, B16}},
    {"of B", 64, ONES, ZEROS, {1, 1, 1}, {1, 1, -0x1p-17}, {B16, B16}},
    {"which do not matter where others are many", 64, ONES, ONES, {1, 0x1p-60, 1}, {1, 1, 1}, {F16, B16}},
    {"in A or in B", 1000, ONES, HALF, {1, 1, 1}, {1, 0x1p-60, 1}, {F16, B16}},
    {"but not in neither", 1000, HALF, HALF, {1, 1, 1}, {1, 0x1p-60, 1}, {B16, B16}},
    {"or in only one", 1000, ONES, ZEROS, {1, 1, 0x1p-60}, {1, 1, 1}, {B16, B16}},
    {"nor where they are small", 64, ONES, ONES, {0x1p9, 0x1p-60, 1}, {1, 1, 1}, {B16, B16}},
    {"not too small", 64, ONES, ONES, {0x1p8, 0x1p-60, 1}, {1, 1, 1}, {F16, B16}},
    {"the largest number", 64, ONES, ONES, {TOP, TOP, 0x1p97}, {-TOP, 1, 0x1p97}, {B16, B16}},
    {"and others like it", 3, ONES, ONES, {TOP, TOP, TOP / 3}, {-TOP, TOP / 5, TOP}, {F16, B16}},
    {"small numbers alone", 3, ONES, ONES, {0x1p-112, 0x1p-109, 0x1p-107}, {1, 1, 1}, {F16, FMA}},
    {"and smaller ones", 3, ONES, ONES, {0x1p-113, 0x1p-113, 0x1p-113}, {1, 1, 1}, {FMA, FMA}},
    {"small and large ones", 64, ZEROS, ONES, {0x1p-149, 1, 1}, {1, 1, 1}, {FMA, FMA}},
    {"as small as bf16 carries", 64, ZEROS, ONES, {0x1p-110, 1, 1}, {1, 1, 1}, {B16, B16}},
    {"and smaller", 64, ONES, ZEROS, {1, 1, 1}, {0x1.fffp-111, 1, 1}, {FMA, FMA}},
    {"an infinity", 64, ONES, ONES, {1, 1, TEST_INF}, {1, 1, 1}, {FMA, FMA}},
    {"of B", 65, ONES, ONES, {1, 1, 1}, {1, -TEST_INF, 1}, {FMA, FMA}},
    {"a NaN", 64, ZEROS, ZEROS, {TEST_NAN, 1, 1}, {1, 1, 1}, {FMA, FMA}},
};

static float element_of(const double given[3], other others, int64_t k, int64_t depth) {
    if (k < 2) return (float)given[k];
    if (k == depth - 1) return (float)given[2];
    return others == ZEROS || (others == HALF && k % 2) ? 0 : 1;
}

static void try_way(split_bench *bench, const way_case *t, int second) {
    split_matrix a = split_matrix_make(5, t->k, second, 0, 1), b = split_matrix_make(t->k, 3, second, 0, 1),
                 c = split_matrix_make(5, 3, 0, 0, 1);
    for (int64_t k = 0; k < t->k; k++) {
        for (int i = 0; i < 5; i++)
            *split_at(&a, 0, i, k) = i == 2 ? element_of(t->a, t->others_a, k, t->k) : 1;
        for (int j = 0; j < 3; j++)
            *split_at(&b, 0, k, j) = j == 1 ? element_of(t->b, t->others_b, k, t->k) : 1;
    }
    int taken = split_multiply(bench, second ? "split_02_bf16x6" : "split_01_fp16x3", 1, &a, &b, 0, &c, 1);
    CHECK(taken == t->way[second], "%s (split_0%d): way %d, not %d", t->what, second + 1, taken,
          t->way[second]);
    if (taken == t->way[second] && taken != FMA) {
        check_side(t->what, bench, &bench->last.a);
        check_side(t->what, bench, &bench->last.b);
    }
    free(a.data), free(b.data), free(c.data);
}

TEST(split_way_follows_from_the_data) {
    split_bench bench = {0};
    for (size_t i = 0; i < sizeof way_cases / sizeof *way_cases; i++)
        for (int second = 0; second < 2; second++) try_way(&bench, &way_cases[i], second);
    split_bench_close(&bench);
}

/* Where k is not smaller than a chunk. */
TEST(split_workspace_is_at_most_twice_the_operands) {
    static const int64_t sizes[][3] = {{1024, 1024, 1024},
                                       {8192, 8192, 8192},
                                       {4097, 4099, 4101},
                                       {512, 512, 256}};
    for (int i = 0; i < 4; i++) {
        problem run = {.in = TESS_F32,
                       .m = sizes[i][0],
                       .n = sizes[i][1],
                       .k = sizes[i][2],
                       .batch = {1, 0, 0, 0}};
        double bytes = 4.0 * (double)run.k * (double)(run.m + run.n);
        CHECK((double)split_workspace(&run, NULL) <= 2 * bytes, "%d: %.0f bytes for matrices of %.0f", i,
              (double)split_workspace(&run, NULL), bytes);
    }
}

/* Room for pieces of tiles: also where all parts are kept elsewhere, and none where nothing could be cut. */
TEST(split_workspace_has_room_for_pieces) {
    problem run = {.in = TESS_F32, .m = 4096, .n = 4096, .k = 4096, .batch = {1, 0, 0, 0}}, small = run;
    split_kept kept = {.memory = NULL};
    operands data = {.kept_a = &kept, .kept_b = &kept};
    small.m = small.n = small.k = 512;
    CHECK(split_room(&run) >= (66 + 22) * 2 * 128 * 192 * 4, "%lld bytes", (long long)split_room(&run));
    CHECK(split_room(&small) == 0, "%lld bytes", (long long)split_room(&small));
    CHECK(split_workspace(&run, &data) > split_room(&run) &&
              split_workspace(&run, &data) < split_room(&run) + (1 << 20),
          "%lld bytes", (long long)split_workspace(&run, &data));
    char *memory = test_alloc((size_t)split_workspace(&run, NULL));
    sentence why;
    const kernel_row *kernel = registry_find("gpu", "split_01_fp16x3", &why);
    split_arguments s = split_arguments_of(&run, &(operands){.a = memory, .b = memory}, kernel, 8, memory);
    CHECK((char *)s.sums + s.room == memory + split_workspace(&run, NULL), "the sums end %lld bytes before",
          (long long)(memory + split_workspace(&run, NULL) - (char *)s.sums - s.room));
    free(memory);
}

/* Parts of f32 are counted in 32 bits. */
TEST(split_refuses_more_lines_than_parts_have) {
    const int64_t most = INT32_MAX;
    sentence why = {""};
    const kernel_row *row = registry_find("gpu", "split_01_fp16x3", &why);
    if (!CHECK(row, "%s", why.text)) return;
    for (int which = 0; which < 4; which++) {
        problem what = {.in = TESS_F32, .out = TESS_F32, .acc = TESS_F32, .k = 1, .a_col = 1, .b_row = 1};
        what.m = which == 1 ? most + 1 : 1, what.n = which == 2 ? most + 1 : 1;
        what.batch = (tess_batch){which == 3 ? most + 1 : 1, 0, 0, 0};
        what.c_row = what.n, what.c_col = 1;
        int64_t params[REGISTRY_PARAMS];
        route way;
        registry_defaults(row, TESS_F32, params);
        tess_status status = route_of(&what, row, params, NULL, &way, &why);
        CHECK(status == (which ? TESS_ERROR_KERNEL : TESS_OK), "%d: %s", which, why.text);
        CHECK(!which || strstr(why.text, "split_01_fp16x3 takes at most 2147483647 of each"), "%s", why.text);
    }
}
