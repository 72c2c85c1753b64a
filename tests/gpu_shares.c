/* gpu_shares.c: products whose k is shared (product.h) are right wherever their matrices lie, in all types, say so, and give
 * the same bits in every run. The stand-in has few multiprocessors: k must be long beside C on a card too. */
#include "gpu.h"

#include <stdlib.h>

static const char told[] = "; k is shared among ";

/* Few tiles and a long k; with a remainder; rows that are not aligned; and what the stand-in shares on wgmma, where a cluster
 * of four blocks is all it has, and by parts. */
static const int64_t shapes[][3] = {{32, 32, 32768}, {40, 24, 20003}, {33, 31, 16387}, {128, 128, 16384}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static problem_spec spec_of(int pair, const int64_t shape[3], int order) {
    problem_spec spec = {.types = type_pairs[pair],
                         .m = shape[0],
                         .n = shape[1],
                         .k = shape[2],
                         .alpha = 2,
                         .beta = order % 3,
                         .store_a = order & 1 ? STORE_COL : STORE_ROW,
                         .store_b = order & 2 ? STORE_COL_PADDED : STORE_ROW_PADDED,
                         .store_c = order & 4 ? STORE_COL : STORE_ROW,
                         .data = DATA_EXACT};
    return spec;
}

/* The product planned, in device memory; NULL after a failed check. */
static tess_plan *plan_of(tess_context *ctx, const type_pair *types, const int64_t shape[3],
                          const tess_options *options) {
    tess_matrix A = tess_view_row_major(types->in, shape[0], shape[2], NULL, 0),
                B = tess_view_row_major(types->in, shape[2], shape[1], NULL, 0),
                C = tess_view_row_major(types->out, shape[0], shape[1], NULL, 0);
    tess_plan *plan = NULL;
    A.place = B.place = C.place = TESS_DEVICE;
    CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, options, &plan), TESS_OK, ctx);
    return plan;
}

GPU_TEST(gpu_shares_are_told) {
    static const tess_options strict = {.compute = TESS_COMPUTE_F32_STRICT};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int i = 0; i < TYPE_PAIRS; i++) {
        if (type_pairs[i].in == TESS_I8 && gpu_is_standin()) continue;
        int wide = tess_type_size(type_pairs[i].in) > 2;
        tess_plan *plan = plan_of(ctx, &type_pairs[i], shapes[wide || !gpu_is_standin() ? 0 : SHAPES - 1],
                                  i == 0 ? &strict : NULL);
        if (!plan) continue;
        CHECK(strstr(tess_plan_sentence(plan), told), "%s", tess_plan_sentence(plan));
        CHECK(tess_plan_workspace(plan) >= 2 * 32 * 32 * 4, "%lld bytes of workspace",
              (long long)tess_plan_workspace(plan));
        tess_free_plan(plan);
    }
    tess_close(ctx);
}

STANDIN_TEST(gpu_standin_shares_by_parts_are_told) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    tess_plan *plan = plan_of(ctx, &type_pairs[0], shapes[SHAPES - 1], NULL);
    if (plan) {
        const char *text = tess_plan_sentence(plan);
        CHECK(strstr(text, "split_01_fp16x3 ") == text && strstr(text, told), "%s", text);
    }
    tess_free_plan(plan);
    tess_close(ctx);
}

GPU_TEST(gpu_shares_wherever_matrices_lie) {
    static const gpu_place places[][3] = {{GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE},
                                          {GPU_ON_HOST, GPU_ON_DEVICE, GPU_ON_HOST}};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int pair = 0; pair < TYPE_PAIRS; pair++)
        for (int i = 0; i < SHAPES; i++) {
            problem_spec spec = spec_of(pair, shapes[i], 3 * pair + i);
            if (i == SHAPES - 1 && pair > 0 && tess_type_size(type_pairs[pair].in) != 2) continue;
            if (!gpu_try(&spec, ctx, NULL, places[(pair + i) % 3 == 0], 0, NULL)) break;
        }
    tess_close(ctx);
}

/* Without memory for the sums a product is computed with all of k at once; a workspace that is lent must be large enough. */
STANDIN_TEST(gpu_standin_shares_without_memory) {
    static const gpu_place places[3] = {GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE};
    static const tess_options strict = {.compute = TESS_COMPUTE_F32_STRICT};
    tess_context *ctx = gpu_open();
    problem p;
    problem_spec spec = spec_of(0, shapes[0], 0);
    if (!ctx) return;
    problem_make(&p, &spec, test_random());
    setenv("STANDIN_FAULT", "cuMemAlloc:4:2", 1); /* after A, B and C */
    CHECK_STATUS(gpu_run(&p, ctx, &strict, places), TESS_OK, ctx);
    unsetenv("STANDIN_FAULT");
    problem_check(&p, "without memory for sums");
    problem_reset(&p);
    void *little = gpu_alloc(ctx, NULL, 256);
    CHECK_STATUS(tess_set_workspace(ctx, little, 256), TESS_OK, ctx);
    CHECK_STATUS(gpu_run(&p, ctx, &strict, places), TESS_ERROR_MEMORY, ctx);
    CHECK(strstr(tess_error(ctx), "the workspace has 256 bytes, but this product needs "), "%s",
          tess_error(ctx));
    problem_check_untouched(&p, "a workspace that is too small");
    CHECK_STATUS(tess_set_workspace(ctx, NULL, 0), TESS_OK, ctx);
    tess_free(ctx, little);
    problem_free(&p);
    tess_close(ctx);
}

/* The sums have no fixed order but that of k: runs of random data must agree to the last bit. */
static void check_same_bits(tess_context *ctx, const int64_t shape[3], const tess_options *options,
                            int checks) {
    static const gpu_place places[3] = {GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE};
    problem p;
    problem_spec spec = spec_of(0, shape, 0);
    spec.data = DATA_RANDOM;
    problem_make(&p, &spec, test_random());
    unsigned char *first = test_alloc(p.C.bytes);
    CHECK_STATUS(gpu_run(&p, ctx, options, places), TESS_OK, ctx);
    memcpy(first, p.C.block, p.C.bytes);
    if (checks) problem_check(&p, "once");
    for (int i = 0; i < 3; i++) {
        problem_reset(&p);
        CHECK_STATUS(gpu_run(&p, ctx, options, places), TESS_OK, ctx);
        CHECK(memcmp(first, p.C.block, p.C.bytes) == 0, "two runs differ");
    }
    free(first);
    problem_free(&p);
}

/* Shares of k, each in a launch; and of f32 by parts a last round of tiles that are cut along k, and whose pieces come in any
 * order (`verify` checks what comes out). */
GPU_TEST(gpu_shares_give_the_same_bits) {
    static const tess_options strict = {.compute = TESS_COMPUTE_F32_STRICT};
    static const tess_options cut = {.kernel = "split_01_fp16x3", .params = "SHARE=1"};
    static const int64_t of_many_tiles[3] = {2310, 1530, 4160};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    check_same_bits(ctx, shapes[1], &strict, 1);
    if (!gpu_is_standin()) check_same_bits(ctx, of_many_tiles, &cut, 0);
    tess_close(ctx);
}
