/* sim.c: the simulator through the public header: every GPU kernel computes what tess_gemm promises, thread
 * by thread, whatever the shape, the layout and the number of workers; and its checks find nothing in kernels
 * that are right. */
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tiny, around tiles, primes, tall, wide, deep, and vectors for the kernel that takes nothing else. */
static const int64_t shapes[][3] = {{1, 1, 1},      {5, 7, 3},    {16, 16, 16}, {31, 33, 32},
                                    {33, 31, 1},    {61, 67, 71}, {65, 63, 66}, {127, 129, 17},
                                    {128, 128, 32}, {300, 3, 17}, {3, 300, 17}, {2, 3, 517},
                                    {1, 257, 65},   {257, 1, 65}, {64, 100, 40}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A context, or NULL and the test is skipped. */
static tess_context *open_sim(const char *name) {
    tess_context *ctx = NULL;
    if (tess_open(&ctx, name) != TESS_OK) harness_skip("%s: %s", name, tess_error(NULL));
    return ctx;
}

static problem_spec spec_of(int shape, const type_pair *types, int turn) {
    static const storage stores[] = {STORE_ROW,      STORE_ROW_PADDED, STORE_COL, STORE_GENERAL,
                                     STORE_NEGATIVE, STORE_COL_PADDED, STORE_ROW};
    static const double scalars[][2] = {{1, 0}, {2, -1}, {-1, 1}, {3, 0}};
    problem_spec spec = {.types = *types,
                         .m = shapes[shape][0],
                         .n = shapes[shape][1],
                         .k = shapes[shape][2]};
    spec.store_a = stores[turn % 7];
    spec.store_b = stores[turn / 2 % 7];
    spec.store_c = stores[turn / 3 % 7];
    spec.alpha = scalars[turn % 4][0];
    spec.beta = scalars[turn % 4][1];
    spec.count = turn % 5 == 4 ? 2 : 0;
    spec.data = DATA_EXACT;
    return spec;
}

/* All shapes, or every `step`-th, but one at least. Returns how many the kernel took. */
static int try_type(tess_context *ctx, const tess_kernel_info *info, const type_pair *types, int step,
                    int turn) {
    tess_options options = {.kernel = info->name};
    if (strncmp(info->name, "mma", 3) == 0 && types->in == TESS_F32) options.compute = TESS_COMPUTE_TF32;
    int taken = 0;
    for (int shape = turn % (step < SHAPES ? step : SHAPES); shape < SHAPES; shape += step, turn++) {
        problem_spec spec = spec_of(shape, types, turn);
        problem p;
        problem_make(&p, &spec, test_random());
        tess_status status = problem_run(&p, ctx, &options);
        if (status == TESS_ERROR_KERNEL && strncmp(info->name, "vector", 6) == 0 && spec.m > 1 &&
            spec.n > 1) {
            problem_check_untouched(&p, info->name);
        } else if (CHECK(status == TESS_OK, "%s on %s: %s", info->name, problem_text(&p), tess_error(ctx))) {
            problem_check(&p, info->name);
            taken++;
        }
        problem_free(&p);
    }
    return taken;
}

/* They use what the simulator does not have. */
static int is_for_hopper(const tess_kernel_info *info) {
    return strstr(info->needs, " alone") != NULL;
}

TEST(sim_refuses_kernels_for_hopper) {
    tess_context *ctx = open_sim("sim");
    int seen = 0;
    for (int i = 0; ctx && i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL);
        if (!is_for_hopper(&info)) continue;
        tess_matrix A = tess_view_row_major(TESS_F32, 8, 8, NULL, 0);
        tess_plan *plan = NULL;
        CHECK_STATUS(tess_plan_gemm(ctx, &A, &A, &A, NULL, &(tess_options){.kernel = info.name}, &plan),
                     TESS_ERROR_KERNEL, ctx);
        CHECK(strstr(tess_error(ctx), "which the simulator does not have; run it on an sm_90 card"), "%s",
              tess_error(ctx));
        int wgmma = strncmp(info.name, "wgmma_", 6) == 0, split = strncmp(info.name, "split_", 6) == 0;
        CHECK(wgmma || split, "%s needs %s", info.name, info.needs);
        seen++;
    }
    CHECK(seen > 0, "there is no kernel for Hopper");
    tess_close(ctx);
}

/* One in how many shapes a kernel gets: those of tensor cores are compiled anew for most views, and the last of the first
 * ladder for most shapes. */
static int shapes_apart(const tess_kernel_info *info) {
    if (harness_tier() == TIER_LONG) return 1;
    if (strncmp(info->name, "mma", 3) == 0) return 11;
    return strncmp(info->name, "simt", 4) == 0 && info->number >= 14 ? 3 : 1;
}

static void try_ladder(const char *device, int step, int turn) {
    tess_context *ctx = open_sim(device);
    for (int i = 0; ctx && i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL);
        if (strcmp(info.device, "gpu") != 0 || info.number == 0 || is_for_hopper(&info)) continue;
        for (int t = 0; t < TYPE_PAIRS; t++) {
            if (!type_is_listed(info.types, type_pairs[t].name)) continue;
            int apart = shapes_apart(&info) * step;
            int taken = try_type(ctx, &info, &type_pairs[t], apart, turn++);
            CHECK(taken > 0 || strncmp(info.name, "vector", 6) == 0, "%s took no product of %s", info.name,
                  type_pairs[t].name);
        }
    }
    tess_close(ctx);
}

/* Each takes every other of a kernel's shapes, and not the same; with TESSERA_TEST_LONG=1 both take all. */
TEST(sim_every_kernel_is_exact) {
    try_ladder("sim", harness_tier() == TIER_SHORT ? 7 : harness_tier() == TIER_LONG ? 1 : 2, 1);
}

TEST(sim_checks_find_nothing_in_the_ladder) {
    try_ladder("sim:checked", harness_tier() == TIER_SHORT ? 15 : harness_tier() == TIER_LONG ? 1 : 2, 0);
}

/* What every rung of the first ladder computes: one fused multiply-add after the other, in the order of k. */
static void multiply_in_order(const problem_spec *spec, const float *a, const float *b, float *c) {
    for (int64_t i = 0; i < spec->m; i++)
        for (int64_t j = 0; j < spec->n; j++) {
            float sum = 0;
            for (int64_t k = 0; k < spec->k; k++) sum = fmaf(a[i * spec->k + k], b[k * spec->n + j], sum);
            c[i * spec->n + j] = (float)spec->alpha * sum;
        }
}

TEST(sim_rungs_have_the_bits_of_a_fused_loop) {
    tess_context *ctx = open_sim("sim");
    if (!ctx) return;
    const problem_spec spec = {.m = 67, .n = 45, .k = 211, .alpha = 1.25};
    float *a = test_alloc(4 * 67 * 211), *b = test_alloc(4 * 211 * 45), *c = test_alloc(4 * 67 * 45),
          *want = test_alloc(4 * 67 * 45);
    tess_matrix A = tess_view_row_major(TESS_F32, 67, 211, a, 0),
                B = tess_view_row_major(TESS_F32, 211, 45, b, 0),
                C = tess_view_row_major(TESS_F32, 67, 45, c, 0);
    tess_fill(&A, TESS_FILL_UNIFORM, 1, 1);
    tess_fill(&B, TESS_FILL_UNIFORM, 1, 2);
    multiply_in_order(&spec, a, b, want);
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        tess_describe_kernel(i, &info);
        if (strncmp(info.name, "simt_", 5) != 0) continue;
        tess_options options = {.kernel = info.name};
        for (int threads = 1; threads <= 3; threads += 2) {
            CHECK_STATUS(tess_set_threads(ctx, threads), TESS_OK, ctx);
            memset(c, 0xff, 4 * 67 * 45);
            CHECK_STATUS(tess_gemm(ctx, spec.alpha, &A, &B, 0, &C, &options), TESS_OK, ctx);
            CHECK(memcmp(c, want, 4 * 67 * 45) == 0, "%s with %d workers has other bits", info.name, threads);
        }
    }
    free(a), free(b), free(c), free(want);
    tess_close(ctx);
}

TEST(sim_is_opened_by_name_only) {
    tess_context *ctx;
    tess_device_info info;
    CHECK_STATUS(tess_open(&ctx, "auto"), TESS_OK, NULL);
    CHECK_STATUS(tess_device_facts(ctx, &info), TESS_OK, ctx);
    CHECK(strncmp(info.name, "sim", 3) != 0, "auto took %s", info.name);
    tess_close(ctx);
    ctx = open_sim("sim");
    if (!ctx) return;
    CHECK_STATUS(tess_device_facts(ctx, &info), TESS_OK, ctx);
    CHECK(strcmp(info.name, "sim") == 0 && strcmp(info.kernels, "gpu") == 0, "%s runs kernels of %s",
          info.name, info.kernels);
    tess_options peer = {.kernel = "cublas"};
    float one = 1, c = 0;
    tess_matrix A = tess_view_row_major(TESS_F32, 1, 1, &one, 1),
                C = tess_view_row_major(TESS_F32, 1, 1, &c, 1);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &A, 0, &C, &peer), TESS_ERROR_KERNEL, ctx);
    tess_close(ctx);
}

/* Other parameters than a kernel's own are compiled when they are asked for. */
TEST(sim_takes_parameters) {
    static const char *const tries[][2] = {{"simt_05_shared", "TILE=16"},
                                           {"simt_07_tile1d", "TM=4"},
                                           {"simt_10_vectorized", "PAD=5"},
                                           {"simt_12_pipelined", "STAGES=4,BK=8"},
                                           {"simt_15_split", "BM=16,BN=32,TM=4,TN=4,SPLIT=8"},
                                           {"simt_02_coalesced", "BX=16,BY=4"}};
    tess_context *ctx = open_sim("sim");
    if (!ctx) return;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        problem_spec spec = spec_of(6, &type_pairs[0], 0);
        tess_options options = {.kernel = tries[i][0], .params = tries[i][1]};
        problem_try(&spec, ctx, &options, test_random());
    }
    tess_options wrong = {.kernel = "simt_05_shared", .params = "TILE=64"};
    float one = 1, c = 0;
    tess_matrix A = tess_view_row_major(TESS_F32, 1, 1, &one, 1),
                C = tess_view_row_major(TESS_F32, 1, 1, &c, 1);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &A, 0, &C, &wrong), TESS_ERROR_KERNEL, ctx);
    tess_close(ctx);
}

/* C = beta*C is a multiplication: nothing is added that would make -0 a 0. */
TEST(sim_scaling_keeps_minus_zero) {
    tess_context *ctx = open_sim("sim");
    float a = 1, c = -0.0f;
    tess_matrix A = tess_view_row_major(TESS_F32, 1, 1, &a, 1),
                C = tess_view_row_major(TESS_F32, 1, 1, &c, 1);
    if (!ctx) return;
    CHECK_STATUS(tess_gemm(ctx, 0, &A, &A, 2, &C, NULL), TESS_OK, ctx);
    CHECK(c == 0 && signbit(c), "2 times -0 is %g", (double)c);
    tess_close(ctx);
}

/* Kernels count k in 32 bits, and go beyond its end by up to a tile. */
TEST(sim_refuses_more_k_than_kernels_count) {
    enum { MOST = 1 << 30 };
    tess_context *ctx = open_sim("sim");
    tess_plan *plan = NULL;
    int32_t one = 1, c;
    tess_matrix C = tess_view_row_major(TESS_I32, 1, 1, &c, 1);
    if (!ctx) return;
    for (int more = 0; more < 2; more++) {
        tess_matrix A = tess_view_strided(TESS_I32, 1, MOST + more, &one, 0, 0),
                    B = tess_view_strided(TESS_I32, MOST + more, 1, &one, 0, 0);
        const tess_options options = {.kernel = "simt_12_pipelined"};
        tess_status status = tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan);
        CHECK(status == (more ? TESS_ERROR_KERNEL : TESS_OK), "2^30 + %d: %s", more, tess_error(ctx));
        CHECK(!more || strstr(tess_error(ctx), "k is 1073741825; kernels of a GPU take at most 1073741824"),
              "%s", tess_error(ctx));
        if (!more) tess_free_plan(plan);
    }
    tess_close(ctx);
}
