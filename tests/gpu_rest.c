/* gpu_rest.c: products of f32 whose rest has a kernel of its own are right wherever their matrices lie, say so, and can be
 * captured and timed. The stand-in has few multiprocessors, so that small products are cut there; a card cuts larger ones.
 * Large ones whose rows are not aligned are copied once for both kernels. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

static const char told[] = "are a product of their own, by simt_";

/* Cut by rows, by columns, by rows that are copied four bytes at a time. */
static const int64_t shapes[][3] = {{258, 128, 300}, {64, 516, 300}, {257, 127, 303}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static problem_spec spec_of(const int64_t shape[3], int order) {
    problem_spec spec = {.types = type_pairs[0],
                         .m = shape[0],
                         .n = shape[1],
                         .k = shape[2],
                         .alpha = 2,
                         .beta = order % 3,
                         .store_a = order & 1 ? STORE_COL : STORE_ROW,
                         .store_b = order & 2 ? STORE_COL_PADDED : STORE_ROW_PADDED,
                         .data = DATA_EXACT};
    return spec;
}

/* On the stand-in the shapes above are cut; `turned`: as the products of C transposed. */
static void check_sentence(tess_context *ctx, const int64_t shape[3], int turned) {
    int64_t m = shape[turned ? 1 : 0], n = shape[turned ? 0 : 1], k = shape[2];
    tess_matrix A = tess_view_row_major(TESS_F32, m, k, NULL, 0),
                B = tess_view_row_major(TESS_F32, k, n, NULL, 0),
                C = turned ? tess_view_col_major(TESS_F32, m, n, NULL, 0)
                           : tess_view_row_major(TESS_F32, m, n, NULL, 0);
    tess_plan *plan = NULL;
    tess_options options = {.compute = TESS_COMPUTE_F32_STRICT};
    if (!CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan), TESS_OK, ctx)) return;
    CHECK(strstr(tess_plan_sentence(plan), told), "%s", tess_plan_sentence(plan));
    tess_free_plan(plan);
}

STANDIN_TEST(gpu_standin_rest_is_told) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int i = 0; i < SHAPES; i++) {
        check_sentence(ctx, shapes[i], 0);
        check_sentence(ctx, shapes[i], 1);
    }
    tess_close(ctx);
}

/* With other tiles than the planner's the same cut would be anywhere. */
STANDIN_TEST(gpu_standin_rest_is_for_the_planners_tiles) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    tess_matrix A = tess_view_row_major(TESS_F32, shapes[0][0], shapes[0][2], NULL, 0),
                B = tess_view_row_major(TESS_F32, shapes[0][2], shapes[0][1], NULL, 0),
                C = tess_view_row_major(TESS_F32, shapes[0][0], shapes[0][1], NULL, 0);
    tess_plan *plan = NULL;
    tess_options options = {.compute = TESS_COMPUTE_F32_STRICT, .params = "BK=16"};
    if (CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan), TESS_OK, ctx))
        CHECK(!strstr(tess_plan_sentence(plan), told), "%s", tess_plan_sentence(plan));
    tess_free_plan(plan);
    tess_close(ctx);
}

GPU_TEST(gpu_rest_wherever_matrices_lie) {
    static const gpu_place places[][3] = {{GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE},
                                          {GPU_ON_HOST, GPU_ON_DEVICE, GPU_ON_HOST}};
    static const tess_options strict = {.compute = TESS_COMPUTE_F32_STRICT};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int i = 0; i < SHAPES; i++)
        for (int order = 0; order < 8; order++) {
            problem_spec spec = spec_of(shapes[i], order);
            spec.store_c = order & 4 ? STORE_COL : i == 1 ? STORE_ROW_PADDED : STORE_ROW;
            if (order == 5) spec.count = 2;
            if (!gpu_try(&spec, ctx, &strict, places[order % 3 == 0], 0, NULL)) break;
        }
    tess_close(ctx);
}

/* Times it, which captures it in a graph, and looks at what it has made. */
static void time_one(tess_context *ctx, const int64_t shape[3]) {
    const int64_t sizes[3][2] = {{shape[0], shape[2]}, {shape[2], shape[1]}, {shape[0], shape[1]}};
    tess_matrix host[3], views[3];
    tess_plan *plan = NULL;
    tess_check check = {.passed = 0};
    double seconds = -1;
    tess_options strict = {.compute = TESS_COMPUTE_F32_STRICT};
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)(sizes[i][0] * sizes[i][1]) * sizeof(float);
        host[i] = tess_view_row_major(TESS_F32, sizes[i][0], sizes[i][1], test_alloc(bytes), 0);
        tess_fill(&host[i], TESS_FILL_INTEGER, 5, (uint64_t)i);
        views[i] = host[i];
        views[i].place = TESS_DEVICE;
        views[i].data = gpu_alloc(ctx, host[i].data, bytes);
    }
    if (CHECK_STATUS(tess_plan_gemm(ctx, &views[0], &views[1], &views[2], NULL, &strict, &plan), TESS_OK,
                     ctx)) {
        CHECK_STATUS(tess_time(plan, 1, &views[0], &views[1], 0, &views[2], 3, 0, &seconds), TESS_OK, ctx);
        CHECK_STATUS(tess_copy(ctx, host[2].data, views[2].data,
                               (size_t)(shape[0] * shape[1]) * sizeof(float)),
                     TESS_OK, ctx);
        CHECK_STATUS(tess_check_gemm(1, &host[0], &host[1], 0, NULL, &host[2], TESS_CHECK_ORACLE, 1, &check),
                     TESS_OK, NULL);
        CHECK(check.passed && seconds >= 0, "%s: %g s, C(%lld, %lld) is %g, want %g",
              tess_plan_sentence(plan), seconds, (long long)check.row, (long long)check.col, check.got,
              check.want);
    }
    tess_free_plan(plan);
    for (int i = 0; i < 3; i++) {
        tess_free(ctx, views[i].data);
        free(host[i].data);
    }
}

GPU_TEST(gpu_rest_is_timed_and_captured) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int i = 0; i < SHAPES; i++) time_one(ctx, shapes[i]);
    tess_close(ctx);
}

/* Rows that are not aligned are copied first where that pays, once for both kernels. */
GPU_TEST(gpu_rest_of_what_is_copied_first) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    tess_matrix A = tess_view_row_major(TESS_F32, 4097, 4101, NULL, 0),
                B = tess_view_row_major(TESS_F32, 4101, 4099, NULL, 0),
                C = tess_view_row_major(TESS_F32, 4097, 4099, NULL, 0);
    tess_options strict = {.compute = TESS_COMPUTE_F32_STRICT};
    tess_plan *plan = NULL;
    if (CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &strict, &plan), TESS_OK, ctx)) {
        const char *sentence = tess_plan_sentence(plan);
        int64_t copies = (4097 + 4101) * (int64_t)4128 * 4; /* rows at multiples of 128 bytes */
        CHECK(strstr(sentence, "A and B are copied to aligned rows first") &&
                  strstr(sentence, "VEC=4 CVEC=1"),
              "%s", sentence);
        CHECK(tess_plan_workspace(plan) >= copies && tess_plan_workspace(plan) < copies + (1 << 16),
              "%lld bytes of workspace for copies of %lld", (long long)tess_plan_workspace(plan),
              (long long)copies);
    }
    tess_free_plan(plan);
    tess_close(ctx);
}

/* A kernel of the rest that cannot be had is missed before C is written to. */
STANDIN_TEST(gpu_standin_rest_without_its_kernel) {
    static const gpu_place places[3] = {GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE};
    tess_options strict = {.compute = TESS_COMPUTE_F32_STRICT};
    int failed = 0;
    for (int i = 0; i < SHAPES; i++)
        for (int at = 1; at <= 3; at++) {
            tess_context *ctx = gpu_open();
            char fault[32];
            problem p;
            problem_spec spec = spec_of(shapes[i], 0);
            if (!ctx) return;
            problem_make(&p, &spec, test_random());
            snprintf(fault, sizeof fault, "cuModuleLoadData:%d:2", at);
            setenv("STANDIN_FAULT", fault, 1);
            if (gpu_run(&p, ctx, &strict, places) != TESS_OK) {
                problem_check_untouched(&p, fault);
                failed++;
            }
            unsetenv("STANDIN_FAULT");
            problem_free(&p);
            tess_close(ctx);
        }
    CHECK(failed == 2 * SHAPES, "%d products failed, not %d: two kernels each", failed, 2 * SHAPES);
}
