/* gpu_calls.c: what tessera.h promises of a GPU beside the products themselves: streams, graphs,
 * workspaces, timing, facts, forks. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A product of small integers in device memory, whose result is known. */
enum { SIZE = 150 };
typedef struct resident {
    tess_matrix A, B, C;
    float a[SIZE * SIZE], b[SIZE * SIZE];
} resident;

static void fill(tess_context *ctx, resident *r) {
    for (int i = 0; i < SIZE * SIZE; i++) {
        r->a[i] = (float)rng_range(test_random(), -4, 4);
        r->b[i] = (float)rng_range(test_random(), -4, 4);
    }
    CHECK_STATUS(tess_copy(ctx, r->A.data, r->a, sizeof r->a), TESS_OK, ctx);
    CHECK_STATUS(tess_copy(ctx, r->B.data, r->b, sizeof r->b), TESS_OK, ctx);
}

/* A lies by columns if `turned`, so that the kernel needs a workspace. */
static resident *make_resident(tess_context *ctx, int turned) {
    resident *r = test_alloc(sizeof *r);
    tess_matrix *views[3] = {&r->A, &r->B, &r->C};
    for (int i = 0; i < 3; i++) {
        void *memory = gpu_alloc(ctx, NULL, sizeof r->a);
        *views[i] = tess_view_row_major(TESS_F32, SIZE, SIZE, memory, 0);
        views[i]->place = TESS_DEVICE;
    }
    if (turned) r->A = tess_transpose(r->A);
    fill(ctx, r);
    return r;
}

static void free_resident(tess_context *ctx, resident *r) {
    tess_free(ctx, r->A.data), tess_free(ctx, r->B.data), tess_free(ctx, r->C.data);
    free(r);
}

static int check_resident(tess_context *ctx, const resident *r, const char *what) {
    float *c = test_alloc(sizeof r->a);
    CHECK_STATUS(tess_copy(ctx, c, r->C.data, sizeof r->a), TESS_OK, ctx);
    tess_matrix A = r->A, B = r->B, C = r->C;
    A.data = (void *)(uintptr_t)r->a, B.data = (void *)(uintptr_t)r->b, C.data = c;
    A.place = B.place = C.place = TESS_HOST;
    oracle_verdict v = oracle_check(&(oracle_product){.alpha = 1, .A = A, .B = B, .C = C, .exact = 1});
    free(c);
    return CHECK(v.wrong == 0, "%s: %lld wrong, C(%lld, %lld) is %g, want %g", what, (long long)v.wrong,
                 (long long)v.row, (long long)v.col, v.got, v.want);
}

static int says(const tess_context *ctx, const char *words) {
    return CHECK(strstr(tess_error(ctx), words), "the sentence is \"%s\", without \"%s\"", tess_error(ctx),
                 words);
}

/* Once a product has run, it runs again inside a graph, and the graph again on other data. */
static void capture(tess_context *ctx, const char *kernel, int turned) {
    GPU_FUNCTION(create, "cuStreamCreate", void **, unsigned);
    GPU_FUNCTION(destroy, "cuStreamDestroy_v2", void *);
    GPU_FUNCTION(begin, "cuStreamBeginCapture_v2", void *, int);
    GPU_FUNCTION(end, "cuStreamEndCapture", void *, void **);
    GPU_FUNCTION(instantiate, "cuGraphInstantiateWithFlags", void **, void *, unsigned long long);
    GPU_FUNCTION(launch, "cuGraphLaunch", void *, void *);
    GPU_FUNCTION(destroy_graph, "cuGraphDestroy", void *);
    GPU_FUNCTION(destroy_executable, "cuGraphExecDestroy", void *);
    void *stream = NULL, *graph = NULL, *executable = NULL;
    resident *r = make_resident(ctx, turned);
    tess_plan *plan = NULL;
    CHECK(create(&stream, 1) == 0, "no stream");
    CHECK_STATUS(tess_set_stream(ctx, stream), TESS_OK, ctx);
    CHECK_STATUS(tess_plan_gemm(ctx, &r->A, &r->B, &r->C, NULL, &(tess_options){.kernel = kernel}, &plan),
                 TESS_OK, ctx);
    CHECK_STATUS(tess_run(plan, 1, &r->A, &r->B, 0, &r->C), TESS_OK, ctx);
    check_resident(ctx, r, "own stream");
    CHECK(begin(stream, 0) == 0, "no capture");
    CHECK_STATUS(tess_run(plan, 1, &r->A, &r->B, 0, &r->C), TESS_OK, ctx);
    CHECK(end(stream, &graph) == 0 && instantiate(&executable, graph, 0) == 0, "the capture of %s failed",
          kernel);
    for (int i = 0; executable && i < 3; i++) {
        fill(ctx, r);
        CHECK(launch(executable, stream) == 0, "the graph does not run");
        CHECK_STATUS(tess_wait(ctx), TESS_OK, ctx);
        if (!check_resident(ctx, r, kernel)) break;
    }
    if (executable) destroy_executable(executable);
    if (graph) destroy_graph(graph);
    tess_free_plan(plan);
    CHECK_STATUS(tess_set_stream(ctx, NULL), TESS_OK, ctx);
    destroy(stream);
    free_resident(ctx, r);
}

GPU_TEST(gpu_graph_of_a_product) {
    tess_context *ctx = gpu_open();
    tess_library_info cublas;
    if (!ctx || !gpu_enter()) return;
    CHECK_STATUS(tess_describe_library(3, &cublas), TESS_OK, NULL);
    capture(ctx, "simt_12_pipelined", 0);
    capture(ctx, "simt_09_tile2d", 1);
    if (!cublas.problem[0]) capture(ctx, "cublas", 1);
    if (!cublas.problem[0]) capture(ctx, "cublaslt", 0);
    gpu_leave();
    tess_close(ctx);
}

GPU_TEST(gpu_no_allocation_after_the_first_run) {
    tess_context *ctx = gpu_open();
    if (!ctx || !gpu_enter()) return;
    GPU_FUNCTION(memory_info, "cuMemGetInfo_v2", size_t *, size_t *);
    resident *r = make_resident(ctx, 1);
    size_t first = 0, last = 0, total;
    for (int i = 0; i < 50; i++) {
        CHECK_STATUS(tess_gemm(ctx, 1, &r->A, &r->B, 0, &r->C, NULL), TESS_OK, ctx);
        if (i == 0) memory_info(&first, &total);
    }
    CHECK_STATUS(tess_wait(ctx), TESS_OK, ctx);
    memory_info(&last, &total);
    CHECK(first == last, "%zu bytes were free after the first run, %zu after the last", first, last);
    free_resident(ctx, r);
    gpu_leave();
    tess_close(ctx);
}

GPU_TEST(gpu_workspace_of_the_caller) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    resident *r = make_resident(ctx, 1);
    tess_plan *plan = NULL;
    CHECK_STATUS(tess_plan_gemm(ctx, &r->A, &r->B, &r->C, NULL, NULL, &plan), TESS_OK, ctx);
    int64_t bytes = tess_plan_workspace(plan);
    CHECK(bytes >= SIZE * SIZE * 4, "the workspace is %lld bytes", (long long)bytes);
    void *memory = gpu_alloc(ctx, NULL, (size_t)bytes);
    CHECK_STATUS(tess_set_workspace(ctx, memory, (size_t)bytes - 1), TESS_OK, ctx);
    CHECK_STATUS(tess_run(plan, 1, &r->A, &r->B, 0, &r->C), TESS_ERROR_MEMORY, ctx);
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)bytes);
    says(ctx, number);
    CHECK_STATUS(tess_set_workspace(ctx, memory, (size_t)bytes), TESS_OK, ctx);
    CHECK_STATUS(tess_run(plan, 1, &r->A, &r->B, 0, &r->C), TESS_OK, ctx);
    check_resident(ctx, r, "the caller's workspace");
    CHECK_STATUS(tess_set_workspace(ctx, (char *)memory + 4, 16), TESS_ERROR_ARGUMENT, ctx);
    CHECK_STATUS(tess_set_workspace(ctx, NULL, 0), TESS_OK, ctx);
    CHECK_STATUS(tess_free(ctx, memory), TESS_OK, ctx);
    fill(ctx, r);
    CHECK_STATUS(tess_run(plan, 1, &r->A, &r->B, 0, &r->C), TESS_OK, ctx);
    check_resident(ctx, r, "the context's own workspace again");
    tess_free_plan(plan);
    free_resident(ctx, r);
    tess_close(ctx);
}

GPU_TEST(gpu_time_leaves_the_right_result) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    resident *r[2] = {make_resident(ctx, 0), make_resident(ctx, 1)};
    tess_plan *plans[2];
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(tess_plan_gemm(ctx, &r[i]->A, &r[i]->B, &r[i]->C, NULL, NULL, &plans[i]), TESS_OK, ctx);
    for (int turn = 0; turn < 8; turn++) { /* in turns, warm and cold, with repeats that change */
        resident *now = r[turn % 2];
        double seconds = 0;
        CHECK_STATUS(tess_time(plans[turn % 2], 1, &now->A, &now->B, 0, &now->C, turn < 4 ? 3 : 4, turn == 2,
                               &seconds),
                     TESS_OK, ctx);
        CHECK(seconds > 0 && seconds < 1, "a product took %g s", seconds);
        check_resident(ctx, now, "after timing");
        if (turn > 4) fill(ctx, now);
    }
    tess_matrix A = r[0]->A;
    A.data = r[0]->a, A.place = TESS_ASK;
    tess_plan *asking = NULL;
    double seconds;
    CHECK_STATUS(tess_plan_gemm(ctx, &A, &r[0]->B, &r[0]->C, NULL, NULL, &asking), TESS_OK, ctx);
    CHECK_STATUS(tess_time(asking, 1, &A, &r[0]->B, 0, &r[0]->C, 1, 0, &seconds), TESS_ERROR_ARGUMENT, ctx);
    says(ctx, "A lies in host memory");
    tess_free_plan(asking);
    for (int i = 0; i < 2; i++) {
        tess_free_plan(plans[i]);
        free_resident(ctx, r[i]);
    }
    tess_close(ctx);
}

GPU_TEST(gpu_facts) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    tess_device_info info;
    tess_gpu_info gpu;
    tess_kernel_facts facts;
    tess_device_state state;
    CHECK_STATUS(tess_device_facts(ctx, &info), TESS_OK, ctx);
    CHECK(info.own_memory == 1 && info.cores > 0 && info.memory > 0 && strncmp(info.isa, "sm_", 3) == 0,
          "own memory %d, %d multiprocessors, %s", info.own_memory, info.cores, info.isa);
    CHECK_STATUS(tess_describe_gpu(0, &gpu), TESS_OK, NULL);
    CHECK(gpu.sms == info.cores && gpu.warp == 32 && gpu.compute_major >= 7 &&
              gpu.shared_per_block_most >= 49152 && gpu.f32_flops > 0 && gpu.memory_bytes > 0 &&
              gpu.driver_version > 0 && gpu.compiler_version > 0,
          "%d multiprocessors, peak %g, bandwidth %g", gpu.sms, gpu.f32_flops, gpu.memory_bytes);
    resident *r = make_resident(ctx, 0);
    tess_plan *plan = NULL;
    CHECK_STATUS(tess_plan_gemm(ctx, &r->A, &r->B, &r->C, NULL, &(tess_options){.kernel = "simt_05_shared"},
                                &plan),
                 TESS_OK, ctx);
    CHECK_STATUS(tess_plan_facts(plan, &facts), TESS_OK, ctx);
    CHECK(facts.registers > 0 && facts.shared_bytes > 0 && facts.blocks_per_sm > 0 &&
              facts.block_threads >= 32 && facts.blocks > 0 && facts.spill_bytes == 0,
          "%d registers, %d bytes, %d blocks of %d threads", facts.registers, facts.shared_bytes,
          facts.blocks_per_sm, facts.block_threads);
    CHECK_STATUS(tess_read_state(ctx, &state), TESS_OK, ctx);
    tess_free_plan(plan);
    free_resident(ctx, r);
    tess_close(ctx);
}

GPU_TEST(gpu_measurements) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    double f32 = 0, f64 = 0, bytes = 0;
    CHECK_STATUS(tess_measure_peak(ctx, TESS_F32, &f32), TESS_OK, ctx);
    CHECK_STATUS(tess_measure_peak(ctx, TESS_F64, &f64), TESS_OK, ctx);
    CHECK_STATUS(tess_measure_bandwidth(ctx, &bytes), TESS_OK, ctx);
    CHECK(f32 > 0 && f64 > 0 && bytes > 0, "%g, %g operations and %g bytes a second", f32, f64, bytes);
    for (int level = TESS_LEVEL_REGISTERS; level <= TESS_LEVEL_MEMORY; level++) {
        tess_level_info info;
        CHECK_STATUS(tess_measure_level(ctx, (tess_level)level, &info), TESS_OK, ctx);
        CHECK(info.bytes > 0 && info.cycles > 0 && info.nanoseconds > 0 && info.bytes_per_second > 0,
              "level %d: %lld bytes, %g cycles, %g ns, %g bytes a second", level, (long long)info.bytes,
              info.cycles, info.nanoseconds, info.bytes_per_second);
    }
    tess_close(ctx);
}

/* A view that says host memory is not believed when it is device memory: reading it would end the process. */
GPU_TEST(gpu_device_memory_called_host) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    resident *r = make_resident(ctx, 0);
    r->B.place = TESS_HOST;
    CHECK_STATUS(tess_gemm(ctx, 1, &r->A, &r->B, 0, &r->C, NULL), TESS_ERROR_ARGUMENT, ctx);
    says(ctx, "which is device memory");
    free_resident(ctx, r);
    tess_close(ctx);
}

/* What a child finds: 0 if all is as promised. */
static int child(tess_context *inherited, const resident *r) {
    tess_context *other;
    if (tess_gemm(inherited, 1, &r->A, &r->B, 0, &r->C, NULL) != TESS_ERROR_DEVICE) return 1;
    if (!strstr(tess_error(inherited), "fork")) return 2;
    if (tess_wait(inherited) != TESS_ERROR_DEVICE) return 3;
    if (tess_open(&other, "cuda") != TESS_ERROR_DEVICE || !strstr(tess_error(NULL), "fork")) return 4;
    if (tess_open(&other, "cpu") != TESS_OK) return 5;
    float x = 3, y = 5, z = 0;
    tess_matrix X = tess_view_row_major(TESS_F32, 1, 1, &x, 0),
                Y = tess_view_row_major(TESS_F32, 1, 1, &y, 0),
                Z = tess_view_row_major(TESS_F32, 1, 1, &z, 0);
    if (tess_gemm(other, 1, &X, &Y, 0, &Z, NULL) != TESS_OK || (int)z != 15) return 6;
    if (tess_close(other) != TESS_OK || tess_close(inherited) != TESS_OK) return 7;
    return 0;
}

GPU_TEST(gpu_fork) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    resident *r = make_resident(ctx, 1);
    CHECK_STATUS(tess_gemm(ctx, 1, &r->A, &r->B, 0, &r->C, NULL), TESS_OK, ctx);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(child(ctx, r));
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child ended with status %d",
          status);
    CHECK(WEXITSTATUS(status) == 0, "the child's step %d was not as promised", WEXITSTATUS(status));
    CHECK_STATUS(tess_gemm(ctx, 1, &r->A, &r->B, 0, &r->C, NULL), TESS_OK, ctx);
    check_resident(ctx, r, "the parent after the fork");
    free_resident(ctx, r);
    tess_close(ctx);
}

/* More than 2^31 elements in C: 9 GB, so only in the slow tier. */
GPU_TEST(gpu_more_than_2_to_the_31_elements) {
    enum { M = 46400, N = 46400, K = 8 };
    if (harness_tier() != TIER_LONG || gpu_is_standin()) {
        harness_skip("it needs 9 GB of device memory; TESSERA_TEST_LONG=1 runs it on a card");
        return;
    }
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    float *a = test_alloc(sizeof(float) * M * K), *b = test_alloc(sizeof(float) * K * N),
          *row = test_alloc(sizeof(float) * N);
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 13 - 6);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 11 - 5);
    void *da = gpu_alloc(ctx, a, sizeof(float) * M * K), *db = gpu_alloc(ctx, b, sizeof(float) * K * N),
         *dc = gpu_alloc(ctx, NULL, sizeof(float) * M * (size_t)N);
    tess_matrix A = tess_view_row_major(TESS_F32, M, K, da, 0),
                B = tess_view_row_major(TESS_F32, K, N, db, 0),
                C = tess_view_row_major(TESS_F32, M, N, dc, 0);
    A.place = B.place = C.place = TESS_DEVICE;
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL), TESS_OK, ctx);
    for (int i = 0; i < M; i += M / 7) {
        CHECK_STATUS(tess_copy(ctx, row, (char *)dc + (size_t)i * N * sizeof *row, sizeof(float) * N),
                     TESS_OK, ctx);
        for (int j = 0; j < N; j += 97) {
            float want = 0;
            for (int l = 0; l < K; l++) want += a[i * K + l] * b[l * N + j];
            if (!CHECK(row[j] == want, "C(%d, %d) is %g, want %g", i, j, (double)row[j], (double)want)) break;
        }
    }
    tess_free(ctx, da), tess_free(ctx, db), tess_free(ctx, dc);
    free(a), free(b), free(row);
    tess_close(ctx);
}
