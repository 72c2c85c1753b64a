/* unit_shares.c: products whose k is shared. The planner shares it where C has few tiles, and what the shares give is added
 * up to all of C, whatever way the matrices lie. No GPU is needed: the shares run in the simulator, every access watched. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/cuda/cuda.h"
#include "../src/numeric.h"
#include "../src/plan.h"
#include "../src/product.h"

/* ---- Where k is shared ---- */

typedef struct share_case {
    tess_type type;
    int64_t m, n, k, count;
    int shared;
} share_case;

static const char *text_of(const share_case *t) {
    static char text[96];
    snprintf(text, sizeof text, "%s %lldx%lldx%lld, %lld times", tess_type_name(t->type), (long long)t->m,
             (long long)t->n, (long long)t->k, (long long)t->count);
    return text;
}

/* With the multiprocessors of an H200. */
static int64_t share_of(const share_case *t) {
    static cuda_facts facts = {.architecture = 90, .gpu = {.sms = 132, .shared_per_block_most = 232448}};
    cuda_device self = {.facts = &facts};
    choice_cut cut = {.share = 0};
    problem p = {.in = t->type, .out = t->type, .acc = t->type, .m = t->m, .n = t->n, .k = t->k};
    if (t->type == TESS_F32) p.compute = TESS_COMPUTE_F32_STRICT;
    p.a_row = t->k, p.b_row = p.c_row = t->n, p.a_col = p.b_col = p.c_col = 1;
    p.batch = (tess_batch){t->count, t->m * t->k, t->k * t->n, t->m * t->n};
    double time;
    choice chosen =
        t->type == TESS_F32 ? cuda_choose_simt(&self, &p, &cut, &time) : cuda_choose_f64(&self, &p, &cut);
    CHECK(chosen.kernel, "%s: no kernel", text_of(t));
    return cut.share;
}

TEST(shares_are_for_few_tiles_and_a_long_k) {
    static const share_case cases[] = {
        {TESS_F32, 32, 32, 65536, 1, 1},   {TESS_F32, 128, 128, 16384, 1, 1},
        {TESS_F32, 256, 256, 65536, 1, 1}, {TESS_F32, 4096, 4096, 4096, 1, 0},
        {TESS_F32, 512, 512, 512, 1, 0},   {TESS_F32, 64, 64, 64, 1, 0},
        {TESS_F32, 32, 32, 65536, 2, 0},   {TESS_F64, 32, 32, 65536, 1, 1},
        {TESS_F64, 128, 128, 65536, 1, 1}, {TESS_F64, 2048, 2048, 65536, 1, 0},
        {TESS_F64, 256, 256, 256, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t share = share_of(&cases[i]);
        CHECK((share > 0) == cases[i].shared, "%s: a share is %lld", text_of(&cases[i]), (long long)share);
    }
}

/* Cards for which no kernel's times are known. */
TEST(shares_are_for_other_cards_too) {
    static const tess_type types[] = {TESS_F16, TESS_BF16, TESS_I8, TESS_I32, TESS_F64};
    static cuda_facts facts = {.architecture = 86, .gpu = {.sms = 84, .shared_per_block_most = 101376}};
    cuda_device self = {.facts = &facts};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int large = 0; large < 2; large++) {
            int64_t edge = large ? 2048 : 64, k = large ? 4096 : 32768;
            choice_cut cut = {.share = 0};
            problem p = {.in = types[i],
                         .out = types[i] == TESS_I8 ? TESS_I32 : types[i],
                         .m = edge,
                         .n = edge,
                         .k = k};
            p.acc = numeric_accumulator(types[i]);
            p.a_row = k, p.b_row = p.c_row = edge, p.a_col = p.b_col = p.c_col = p.batch.count = 1;
            choice chosen = cuda_choose((const device *)&self, &p, &cut);
            CHECK(chosen.kernel && (cut.share > 0) == !large && cut.share * numeric_size(types[i]) % 128 == 0,
                  "%s %lld: %s, a share is %lld", tess_type_name(types[i]), (long long)edge, chosen.kernel,
                  (long long)cut.share);
        }
}

TEST(shares_keep_lines_aligned) {
    test_rng *rng = test_random();
    int shared = 0;
    for (int i = 0; i < 2000; i++) {
        share_case t = {i % 2 ? TESS_F32 : TESS_F64,
                        rng_range(rng, 2, 600),
                        rng_range(rng, 2, 600),
                        rng_range(rng, 1, 100000),
                        1,
                        0};
        int64_t share = share_of(&t);
        shared += share > 0;
        CHECK(share * numeric_size(t.type) % 32 == 0 && share < t.k && (share == 0 || t.k / share <= 2 * 132),
              "%s: a share is %lld", text_of(&t), (long long)share);
    }
    CHECK(shared > 500, "k is shared in %d of 2000 products", shared);
}

/* ---- That shares are all of k ---- */

typedef struct run_case {
    const char *kernel;
    tess_type in, out;
    int64_t m, n, k, share;
    int columns[3]; /* whether A, B and C lie in columns */
    double beta;
} run_case;

/* New memory with integers in it. */
static tess_matrix view_of(tess_type type, int64_t rows, int64_t cols, int by_columns, uint64_t seed) {
    void *data = test_alloc((size_t)(rows * cols * numeric_size(type)));
    tess_matrix m = by_columns ? tess_view_col_major(type, rows, cols, data, 0)
                               : tess_view_row_major(type, rows, cols, data, 0);
    tess_fill(&m, TESS_FILL_INTEGER, 3, seed);
    return m;
}

static void try_shares(device *dev, const run_case *t) {
    tess_matrix A = view_of(t->in, t->m, t->k, t->columns[0], 1),
                B = view_of(t->in, t->k, t->n, t->columns[1], 2),
                C = view_of(t->out, t->m, t->n, t->columns[2], 3), before = C;
    size_t bytes = (size_t)(t->m * t->n * numeric_size(t->out));
    tess_check check = {.passed = 0};
    tess_options options = {.kernel = t->kernel};
    plan decided;
    sentence why = {""};
    before.data = memcpy(test_alloc(bytes), C.data, bytes);
    if (CHECK(plan_make(dev, &A, &B, &C, NULL, &options, &decided, &why) == TESS_OK, "%s", why.text)) {
        operands data = {.a = A.data, .b = B.data, .c = C.data, .alpha = 2, .beta = t->beta};
        int64_t least = (t->k + t->share - 1) / t->share * t->m * t->n * numeric_size(decided.what.acc);
        decided.share = t->share;
        CHECK(dev->ops->prepare(dev, &decided, &why) == TESS_OK &&
                  dev->ops->run(dev, &decided, &data, &why) == TESS_OK,
              "%s %lldx%lldx%lld: %s", t->kernel, (long long)t->m, (long long)t->n, (long long)t->k,
              why.text);
        CHECK(decided.workspace >= least, "%lld bytes of workspace for %lld of sums",
              (long long)decided.workspace, (long long)least);
        CHECK(tess_check_gemm(2, &A, &B, t->beta, &before, &C, TESS_CHECK_ORACLE, 1, &check) == TESS_OK &&
                  check.passed,
              "%s %lldx%lldx%lld, shares of %lld, columns %d %d %d: C(%lld, %lld) is %g, want %g", t->kernel,
              (long long)t->m, (long long)t->n, (long long)t->k, (long long)t->share, t->columns[0],
              t->columns[1], t->columns[2], (long long)check.row, (long long)check.col, check.got,
              check.want);
    }
    free(A.data), free(B.data), free(C.data), free(before.data);
}

TEST(shares_are_added_to_all_of_c) {
    static const run_case cases[] = {
        {"simt_15_split", TESS_F32, TESS_F32, 33, 35, 200, 64, {0, 0, 0}, 0},
        {"simt_15_split", TESS_F32, TESS_F32, 20, 36, 192, 64, {0, 0, 0}, 3},
        {"simt_15_split", TESS_F32, TESS_F32, 20, 36, 193, 64, {0, 0, 1}, 3}, /* the transposed product */
        {"simt_15_split", TESS_F32, TESS_F32, 17, 40, 256, 128, {1, 0, 0}, 0},
        {"simt_14_ahead",
         TESS_F32,
         TESS_F32,
         3,
         70,
         1300,
         64,
         {1, 1, 1},
         1}, /* more than are added at a time */
        {"simt_12_pipelined", TESS_I32, TESS_I32, 33, 31, 140, 64, {0, 0, 0}, 3},
        {"mma_08_f64", TESS_F64, TESS_F64, 34, 33, 135, 64, {0, 1, 0}, 2},
        {"mma_08_f64", TESS_F64, TESS_F64, 16, 64, 256, 64, {1, 0, 1}, 0},
        {"mma_07_raster", TESS_BF16, TESS_BF16, 33, 40, 200, 64, {0, 0, 0}, 3},
        {"mma_07_raster", TESS_F16, TESS_F16, 16, 33, 192, 64, {0, 0, 0}, 0},
        {"mma_07_raster", TESS_I8, TESS_I32, 33, 40, 192, 64, {0, 1, 0}, 3},
        {"split_03_mma", TESS_F32, TESS_F32, 33, 34, 256, 128, {0, 0, 0}, 3}, /* in parts, share by share */
        {"split_03_mma", TESS_F32, TESS_F32, 17, 20, 200, 64, {1, 1, 1}, 0},
    };
    device *dev = NULL;
    sentence why = {""};
    if (!CHECK(sim_checked_device_ops.open(&dev, 0, &why) == TESS_OK, "%s", why.text)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) try_shares(dev, &cases[i]);
    dev->ops->close(dev);
}

/* ---- The sentence ---- */

TEST(shares_are_told) {
    plan decided = {.what = {.in = TESS_F32, .out = TESS_F32, .acc = TESS_F32, .m = 32, .n = 32, .k = 65536},
                    .reason = "of a test",
                    .share = 512};
    sentence why = {""};
    char text[1024];
    decided.what.a_row = 65536, decided.what.b_row = decided.what.c_row = 32;
    decided.what.a_col = decided.what.b_col = decided.what.c_col = decided.what.batch.count = 1;
    decided.kernel = registry_find("gpu", "simt_15_split", &why);
    for (int i = 0; i < REGISTRY_PARAMS; i++) decided.params[i] = REGISTRY_UNSET;
    CHECK(product_prepare(&decided, &why) == TESS_OK, "%s", why.text);
    CHECK(decided.workspace == 128 * 32 * 32 * 4, "%lld bytes", (long long)decided.workspace);
    plan_describe(&decided, "cuda:0", NULL, text, sizeof text);
    CHECK(strstr(text, "; k is shared among 128 products of 512, whose sums are added"), "%s", text);
}
