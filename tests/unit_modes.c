/* unit_modes.c: how f32 may be computed: by parts on tensor cores only where the mode, the card, k and the size allow it
 * and somebody has switched it on; strictly by multiply-adds if that is asked for. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#include "standin/standin.h"

typedef struct mode_case {
    const char *what, *kernel; /* the planner's, as it begins */
    tess_compute compute;
    int64_t m, n, k;
} mode_case;

/* The stand-in has 4 multiprocessors of an H200. */
static const mode_case with_split[] = {
    {"large", "split_01_fp16x3 BN=128 ", TESS_COMPUTE_DEFAULT, 512, 512, 512},
    {"few tiles", "split_01_fp16x3 BN=64 ", TESS_COMPUTE_DEFAULT, 256, 128, 1024},
    {"larger", "split_01_fp16x3 BN=192 ", TESS_COMPUTE_DEFAULT, 1024, 1536, 512},
    {"strict", "simt_", TESS_COMPUTE_F32_STRICT, 512, 512, 512},
    {"TF32", "wgmma_", TESS_COMPUTE_TF32, 512, 512, 512},
    {"k too small", "simt_", TESS_COMPUTE_DEFAULT, 2048, 2048, 255},
    {"k just large enough", "split_01_fp16x3 ", TESS_COMPUTE_DEFAULT, 2048, 2048, 256},
    {"small", "simt_", TESS_COMPUTE_DEFAULT, 128, 128, 256},
    {"thin", "simt_", TESS_COMPUTE_DEFAULT, 8, 4096, 4096},
    {"a vector", "vector_", TESS_COMPUTE_DEFAULT, 1, 4096, 4096},
};

static void check_plan(tess_context *ctx, tess_type type, const mode_case *t, const char *kernel) {
    tess_matrix A = tess_view_row_major(type, t->m, t->k, NULL, 0),
                B = tess_view_row_major(type, t->k, t->n, NULL, 0),
                C = tess_view_row_major(type, t->m, t->n, NULL, 0);
    tess_options options = {.compute = t->compute};
    tess_plan *plan = NULL;
    if (!CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan), TESS_OK, ctx)) return;
    const char *sentence = tess_plan_sentence(plan);
    CHECK(strncmp(sentence, kernel, strlen(kernel)) == 0, "%s: %s", t->what, sentence);
    if (strncmp(kernel, "split_", 6) == 0)
        CHECK(strstr(sentence, "because from k = 256 on parts of f32"), "%s: no rule in %s", t->what,
              sentence);
    tess_free_plan(plan);
}

STANDIN_TEST(gpu_standin_modes_choose_parts_where_they_pay) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (size_t i = 0; i < sizeof with_split / sizeof *with_split; i++) {
        const mode_case *t = &with_split[i];
        setenv("TESSERA_SPLIT", "1", 1);
        check_plan(ctx, TESS_F32, t, t->kernel);
        if (t->compute == TESS_COMPUTE_DEFAULT)
            check_plan(ctx, TESS_F64, t, t->m == 1 ? "vector_" : "mma_08_f64 ");
        setenv("TESSERA_SPLIT", "0", 1);
        check_plan(ctx, TESS_F32, t, strncmp(t->kernel, "split_", 6) == 0 ? "simt_" : t->kernel);
    }
    unsetenv("TESSERA_SPLIT");
    tess_close(ctx);
}

/* What was planned runs, on memory of either side. */
STANDIN_TEST(gpu_standin_modes_run_what_they_choose) {
    static const gpu_place places[][3] = {{GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE},
                                          {GPU_ON_HOST, GPU_ON_DEVICE, GPU_ON_HOST}};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    setenv("TESSERA_SPLIT", "1", 1);
    for (int i = 0; i < 2; i++) {
        problem_spec spec = {.types = type_pairs[0],
                             .m = 300,
                             .n = 320,
                             .k = 270,
                             .alpha = 2,
                             .beta = i,
                             .store_b = STORE_COL_PADDED,
                             .data = DATA_EXACT};
        tess_way way = TESS_WAY_ONLY;
        gpu_try(&spec, ctx, &(tess_options){.kernel = NULL}, places[i], 0, NULL);
        CHECK_STATUS(tess_way_taken(ctx, &way), TESS_OK, ctx);
        CHECK(way == TESS_WAY_F32, "way %d: the stand-in has but one", (int)way);
    }
    unsetenv("TESSERA_SPLIT");
    tess_close(ctx);
}

GPU_TEST(gpu_strict_refuses_kernels_that_split) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    tess_matrix A = tess_view_row_major(TESS_F32, 64, 64, NULL, 0);
    tess_plan *plan = NULL;
    tess_options options = {.kernel = "split_02_bf16x6", .compute = TESS_COMPUTE_F32_STRICT};
    CHECK_STATUS(tess_plan_gemm(ctx, &A, &A, &A, NULL, &options, &plan), TESS_ERROR_KERNEL, NULL);
    CHECK(strstr(tess_error(ctx), "split_02_bf16x6 splits f32 into parts, but options.compute is"), "%s",
          tess_error(ctx));
    tess_close(ctx);
}

/* ---- Little memory ---- */

enum { SIDE = 40, DEPTH = 4100 };

/* A product of small integers in device memory, SIDE×SIDE×DEPTH, times 2 plus 3 times C. */
typedef struct short_case {
    float *data[3];
    void *device[3];
    tess_matrix views[3];
    tess_plan *plan;
} short_case;

static void open_short(short_case *t, tess_context *ctx) {
    static const int64_t sizes[3][2] = {{SIDE, DEPTH}, {DEPTH, SIDE}, {SIDE, SIDE}};
    tess_options options = {.kernel = "split_01_fp16x3"};
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)(sizes[i][0] * sizes[i][1]) * sizeof(float);
        t->data[i] = test_alloc(bytes);
        t->views[i] = tess_view_row_major(TESS_F32, sizes[i][0], sizes[i][1], t->data[i], 0);
        CHECK_STATUS(tess_fill(&t->views[i], TESS_FILL_INTEGER, 9, (uint64_t)i), TESS_OK, NULL);
        t->device[i] = gpu_alloc(ctx, t->data[i], bytes);
        t->views[i].data = t->device[i];
        t->views[i].place = TESS_DEVICE;
    }
    t->plan = NULL;
    CHECK_STATUS(tess_plan_gemm(ctx, &t->views[0], &t->views[1], &t->views[2], NULL, &options, &t->plan),
                 TESS_OK, ctx);
}

static void close_short(short_case *t, tess_context *ctx) {
    tess_free_plan(t->plan);
    for (int i = 0; i < 3; i++) {
        tess_free(ctx, t->device[i]);
        free(t->data[i]);
    }
}

/* Runs it on a card that has no piece of memory larger than so many bytes. */
static void run_short(short_case *t, tess_context *ctx, const char *largest) {
    const size_t bytes = SIDE * SIDE * sizeof(float);
    float *c = test_alloc(bytes);
    CHECK_STATUS(tess_copy(ctx, t->device[2], t->data[2], bytes), TESS_OK, ctx);
    setenv("STANDIN_LARGEST", largest, 1);
    CHECK_STATUS(tess_run(t->plan, 2, &t->views[0], &t->views[1], 3, &t->views[2]), TESS_OK, ctx);
    unsetenv("STANDIN_LARGEST");
    CHECK_STATUS(tess_copy(ctx, c, t->device[2], bytes), TESS_OK, ctx);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double want = 3 * (double)t->data[2][i];
        for (int k = 0; k < DEPTH; k++)
            want += 2 * (double)t->data[0][i / SIDE * DEPTH + k] * (double)t->data[1][k * SIDE + i % SIDE];
        if (!CHECK((double)c[i] == want, "%s bytes: element %d is %g, not %g", largest, i, (double)c[i],
                   want))
            break;
    }
    free(c);
}

static void check_last(const char *what, int k, double beta) {
    standin_seen seen = {.grid = {0}};
    GPU_FUNCTION(last, "standin_last_tma", standin_seen *);
    CHECK(last(&seen) && seen.with.g.k == k && (double)seen.with.g.beta.f == beta,
          "%s: the last launch has k = %d and beta = %g", what, seen.with.g.k, (double)seen.with.g.beta.f);
}

/* Parts of all k take 2.1 MB here. */
STANDIN_TEST(gpu_standin_short_of_memory_cuts_k) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    short_case t;
    tess_way way;
    open_short(&t, ctx);
    double bytes = (double)tess_plan_workspace(t.plan), operands = 2.0 * SIDE * DEPTH * sizeof(float);
    CHECK(bytes > 1.5 * operands && bytes < 2 * operands, "%.0f bytes for matrices of %.0f", bytes, operands);
    CHECK(strstr(tess_plan_sentence(t.plan), "bytes of workspace, or less in slices of k"), "%s",
          tess_plan_sentence(t.plan));
    run_short(&t, ctx, "10000"); /* not even for a slice */
    CHECK_STATUS(tess_way_taken(ctx, &way), TESS_OK, ctx);
    CHECK(way == TESS_WAY_F32, "without memory: way %d", (int)way);
    CHECK_STATUS(tess_set_workspace(ctx, NULL, 0), TESS_OK, ctx);
    run_short(&t, ctx, "700000");
    check_last("four slices", DEPTH - 3 * 1088, 1);
    run_short(&t, ctx, "20000000"); /* what was refused is not asked for again */
    check_last("again", DEPTH - 3 * 1088, 1);
    CHECK_STATUS(tess_set_workspace(ctx, NULL, 0), TESS_OK, ctx);
    run_short(&t, ctx, "1200000");
    check_last("two slices", DEPTH - 2112, 1);
    CHECK_STATUS(tess_set_workspace(ctx, NULL, 0), TESS_OK, ctx);
    run_short(&t, ctx, "20000000");
    check_last("all at once", DEPTH, 3);
    close_short(&t, ctx);
    tess_close(ctx);
}
