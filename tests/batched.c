/* batched.c: batches of small products, several to a block (simt_16_batched): right however they lie, on the simulator,
 * which sees every access; and taken by the planner for such batches and for nothing else. */
#include "gpu.h"

#include <stdio.h>

/* Tiles of one product and of several, deeper than k and less deep, and threads of all shapes. */
static const char *const params[] = {"", "BM=4,BN=4,BK=4,TM=1,PRODUCTS=32", "BM=8,BN=8,BK=8,TM=1,PRODUCTS=8",
                                     "BM=32,BN=32,BK=16,TM=4,TN=8,PRODUCTS=2"};
enum { PARAMS = sizeof params / sizeof *params };

static problem_spec spec_of(int index, int64_t count) {
    static const int types[] = {0, 1, 6}; /* f32, f64, i32 */
    problem_spec spec = {.types = type_pairs[types[index % 3]],
                         .m = rng_range(test_random(), 1, 19),
                         .n = rng_range(test_random(), 1, 19),
                         .k = rng_range(test_random(), 1, 35),
                         .alpha = 2,
                         .beta = index % 2,
                         .count = count,
                         .store_a = index % 5 == 1 ? STORE_ROW_PADDED : STORE_ROW,
                         .store_b = index % 5 == 2 ? STORE_COL : STORE_ROW,
                         .store_c = index % 5 == 3 ? STORE_COL : STORE_ROW,
                         .batch_a = (batching)(index % BATCHINGS),
                         .batch_b = (batching)(index / 2 % BATCHINGS),
                         .batch_c = index % 7 == 3 ? BATCH_BACKWARDS : BATCH_APART,
                         .data = DATA_EXACT};
    if (index % 4 == 0) spec.m = spec.n = spec.k = 8; /* aligned, and side by side but for a gap */
    return spec;
}

TEST(batched_products_are_right_on_the_simulator) {
    static const int64_t counts[] = {1, 7, 8, 9, 33};
    tess_context *ctx;
    if (!CHECK_STATUS(tess_open(&ctx, "sim"), TESS_OK, NULL)) return;
    for (int i = 0; i < 5 * PARAMS; i++) {
        problem_spec spec = spec_of(i, counts[i % 5]);
        const tess_options options = {.kernel = "simt_16_batched", .params = params[i / 5]};
        if (spec.types.in == TESS_F64 && i / 5 > 0) spec.types = type_pairs[0];
        problem_try(&spec, ctx, &options, test_random());
    }
    tess_close(ctx);
}

/* A or B in columns is not copied first, and the other one is still moved by vectors. */
TEST(batched_products_are_taken_as_they_lie) {
    static const char *const orders[] = {"VEC=4 CVEC=4 AT=0 BT=0", "VEC=4 CVEC=4 AT=1 BT=0",
                                         "VEC=4 CVEC=4 AT=0 BT=1", "VEC=4 CVEC=4 AT=1 BT=1"};
    const tess_batch batch = {100, 19 * 8, 8 * 12, 19 * 12};
    const tess_options options = {.kernel = "simt_16_batched"};
    tess_context *ctx;
    if (!CHECK_STATUS(tess_open(&ctx, "sim"), TESS_OK, NULL)) return;
    for (int i = 0; i < 4; i++) {
        tess_plan *plan = NULL;
        tess_matrix A = i & 1 ? tess_view_col_major(TESS_F32, 19, 8, NULL, 0)
                              : tess_view_row_major(TESS_F32, 19, 8, NULL, 0),
                    B = i & 2 ? tess_view_col_major(TESS_F32, 8, 12, NULL, 0)
                              : tess_view_row_major(TESS_F32, 8, 12, NULL, 0),
                    C = tess_view_row_major(TESS_F32, 19, 12, NULL, 0);
        if (!CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, &batch, &options, &plan), TESS_OK, ctx)) break;
        CHECK(strstr(tess_plan_sentence(plan), orders[i]) && !strstr(tess_plan_sentence(plan), "copied"),
              "not %s: %s", orders[i], tess_plan_sentence(plan));
        tess_free_plan(plan);
    }
    tess_close(ctx);
}

/* ---- The planner ---- */

static const char *plan_text(tess_context *ctx, const int64_t shape[4], tess_compute compute, char *text,
                             size_t size) {
    tess_plan *plan = NULL;
    int64_t m = shape[0], n = shape[1], k = shape[2];
    tess_matrix A = tess_view_row_major(TESS_F32, m, k, NULL, 0),
                B = tess_view_row_major(TESS_F32, k, n, NULL, 0),
                C = tess_view_row_major(TESS_F32, m, n, NULL, 0);
    const tess_batch batch = {shape[3], m * k, k * n, m * n};
    text[0] = '\0';
    if (!CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, &batch, &(tess_options){.compute = compute}, &plan),
                      TESS_OK, ctx))
        return text;
    snprintf(text, size, "%s", tess_plan_sentence(plan));
    tess_free_plan(plan);
    return text;
}

/* The same tiles whether f32 may be computed by parts or not: these products are not deep enough for those. */
STANDIN_TEST(gpu_standin_batches_of_small_products_share_blocks) {
    static const struct {
        int64_t shape[4];
        const char *begins;
    } cases[] = {{{4, 4, 4, 100000}, "simt_16_batched BM=4 BN=4 "},
                 {{8, 8, 8, 50000}, "simt_16_batched BM=8 BN=8 "},
                 {{16, 16, 16, 20000}, "simt_16_batched BM=16 BN=16 "},
                 {{15, 13, 16, 20000}, "simt_16_batched BM=16 BN=16 "},
                 {{32, 32, 32, 5000}, "simt_16_batched BM=32 BN=32 "},
                 {{64, 64, 64, 1}, "simt_15_split "},
                 {{512, 512, 512, 8}, "simt_1"}};
    tess_context *ctx = gpu_open();
    char text[1024];
    if (!ctx) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *begins = cases[i].begins;
        plan_text(ctx, cases[i].shape, TESS_COMPUTE_F32_STRICT, text, sizeof text);
        CHECK(strncmp(text, begins, strlen(begins)) == 0, "not %s: %s", begins, text);
        if (cases[i].shape[2] >= 256) {
            CHECK(!strstr(text, "simt_16"), "%s", text);
            continue;
        }
        plan_text(ctx, cases[i].shape, TESS_COMPUTE_DEFAULT, text, sizeof text);
        CHECK(strncmp(text, begins, strlen(begins)) == 0, "not %s: %s", begins, text);
    }
    tess_close(ctx);
}
