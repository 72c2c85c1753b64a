/* gpu_faults.c: when a call of the driver fails, the library says which, C is as it was, nothing is lost,
 * and the context goes on working, or says that it cannot. The stand-in driver fails where it is told to
 * (tests/standin/cuda.c). */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_fault(const char *function, int at, int error) {
    char text[96];
    snprintf(text, sizeof text, "%s:%d:%d", function, at, error);
    if (at > 0)
        setenv("STANDIN_FAULT", text, 1);
    else
        unsetenv("STANDIN_FAULT");
}

static void clear_fault(void) {
    unsetenv("STANDIN_FAULT");
}

static int live(void) {
    GPU_FUNCTION(count, "standin_live", void);
    return count();
}

static problem_spec small_product(void) {
    /* Rows that begin at odd places, an A by columns, a C that is read: copies, moves and several lines. */
    return (problem_spec){.types = type_pairs[0],
                          .m = 37,
                          .n = 29,
                          .k = 41,
                          .alpha = 1,
                          .beta = 2,
                          .store_a = STORE_COL,
                          .store_b = STORE_ROW_PADDED,
                          .store_c = STORE_ROW_PADDED,
                          .data = DATA_EXACT};
}

/* One product in which that call fails. Returns 0 when the product has fewer such calls. */
static int fail_once(const char *function, int at, int error, const gpu_place places[3],
                     const problem_spec *spec, int untouched) {
    tess_context *ctx = gpu_open();
    if (!ctx) return 0;
    problem p;
    problem_make(&p, spec, test_random());
    void *memory = NULL;
    set_fault(function, at, error);
    tess_status status = places ? gpu_run(&p, ctx, NULL, places) : tess_alloc(ctx, 1000, &memory);
    clear_fault();
    int failed = status != TESS_OK;
    if (failed) {
        CHECK(strstr(tess_error(ctx), function) || strstr(tess_error(ctx), "memory"),
              "%s:%d:%d: the sentence is \"%s\"", function, at, error, tess_error(ctx));
        if (untouched) problem_check_untouched(&p, function);
    }
    problem_reset(&p);
    int lost = failed && error >= 700;
    tess_status again = places ? gpu_run(&p, ctx, NULL, places) : TESS_OK;
    if (lost)
        CHECK(again == TESS_ERROR_DEVICE && strstr(tess_error(ctx), "lost earlier"),
              "%s after an error %d: \"%s\"", tess_status_name(again), error, tess_error(ctx));
    else if (CHECK(again == TESS_OK, "%s:%d:%d, and then: %s", function, at, error, tess_error(ctx)) &&
             places)
        problem_check(&p, function);
    problem_free(&p);
    tess_free(ctx, memory);
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
    CHECK(live() == 0, "%s:%d:%d: %d things were not given back", function, at, error, live());
    return failed;
}

static const char *const functions[] = {
    "cuMemAlloc",         "cuMemHostAlloc",      "cuModuleLoadData",   "cuModuleGetFunction",
    "cuLaunchKernel",     "cuStreamCreate",      "cuEventCreate",      "cuEventRecord",
    "cuMemcpyHtoDAsync",  "cuMemcpyDtoHAsync",   "cuMemcpy2DAsync",    "cuStreamWaitEvent",
    "cuEventSynchronize", "cuStreamSynchronize", "cuFuncSetAttribute", "cuLaunchKernelEx",
};

STANDIN_TEST(gpu_standin_every_call_fails_once) {
    static const gpu_place host[3] = {GPU_ON_HOST, GPU_ON_HOST, GPU_ON_HOST};
    problem_spec spec = small_product();
    int failures = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        /* The last waits come after C is written, one for each stream. */
        int is_wait = strcmp(functions[i], "cuStreamSynchronize") == 0, before = failures;
        for (int at = 1; at < 100; at++) {
            if (!fail_once(functions[i], at, i == 0 ? 2 : 1, host, &spec, !is_wait)) break;
            failures++;
        }
        CHECK(!is_wait || failures - before > 2, "%d failed waits were told of", failures - before);
    }
    CHECK(failures > 40, "only %d calls failed: the faults are not where the product is", failures);
}

STANDIN_TEST(gpu_standin_context_lost) {
    static const gpu_place host[3] = {GPU_ON_HOST, GPU_ON_HOST, GPU_ON_HOST};
    static const int errors[] = {700, 719};
    problem_spec spec = small_product();
    for (int i = 0; i < 2; i++) {
        CHECK(fail_once("cuLaunchKernelEx", 1, errors[i], host, &spec, 1), "error %d did not fail the launch",
              errors[i]);
        CHECK(fail_once("cuEventSynchronize", 1, errors[i], host, &spec, 1), "error %d did not fail the wait",
              errors[i]);
    }
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    set_fault("cuLaunchKernelEx", 1, 700);
    problem p;
    problem_make(&p, &spec, test_random());
    CHECK_STATUS(gpu_run(&p, ctx, NULL, host), TESS_ERROR_DEVICE, ctx);
    clear_fault();
    CHECK(strstr(tess_error(ctx), "cuLaunchKernelEx failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)") &&
              strstr(tess_error(ctx), "open it again"),
          "the sentence is \"%s\"", tess_error(ctx));
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
    ctx = gpu_open();
    if (!ctx) return;
    problem_reset(&p);
    CHECK_STATUS(gpu_run(&p, ctx, NULL, host), TESS_OK, ctx);
    problem_check(&p, "the context that was opened again");
    problem_free(&p);
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
}

STANDIN_TEST(gpu_standin_out_of_memory) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    void *memory;
    CHECK_STATUS(tess_alloc(ctx, (size_t)1 << 40, &memory), TESS_ERROR_MEMORY, ctx);
    CHECK(strstr(tess_error(ctx), "1099511627776 bytes were asked for") &&
              strstr(tess_error(ctx), "are free"),
          "the sentence is \"%s\"", tess_error(ctx));
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
}

/* Threads and streams are in the middle of a product when one of them fails: nothing hangs, and the next
 * one is right. */
STANDIN_TEST(gpu_standin_failure_among_threads) {
    static const gpu_place host[3] = {GPU_ON_HOST, GPU_ON_HOST, GPU_ON_HOST};
    static const char *const among[] = {"cuMemcpyHtoDAsync", "cuMemcpy2DAsync",    "cuEventRecord",
                                        "cuLaunchKernel",    "cuEventSynchronize", "cuStreamWaitEvent"};
    problem_spec spec =
        {.types = type_pairs[0], .m = 1600, .n = 1500, .k = 6, .alpha = 1, .beta = 1, .data = DATA_EXACT};
    for (int i = 0; i < 6; i++)
        for (int at = 2; at < 12; at += 4) fail_once(among[i], at, 1, host, &spec, 0);
}

STANDIN_TEST(gpu_standin_state) {
    tess_context *ctx = gpu_open();
    tess_device_state state;
    if (!ctx) return;
    CHECK_STATUS(tess_read_state(ctx, &state), TESS_OK, ctx);
    CHECK(state.clock_mhz == 1755 && state.memory_clock_mhz == 3201, "clocks %g and %g MHz", state.clock_mhz,
          state.memory_clock_mhz);
    CHECK(state.power_w == 698.5 && state.temperature_c == 61, "%g W, %g C", state.power_w,
          state.temperature_c);
    CHECK(strcmp(state.throttled, "power cap, heat") == 0, "held back by \"%s\"", state.throttled);
    tess_close(ctx);
}

/* A capture for timing is ended even if something in it fails. */
STANDIN_TEST(gpu_standin_failure_in_a_capture) {
    enum { N = 20 };
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    float zeros[N * N] = {0};
    tess_matrix M[3];
    for (int i = 0; i < 3; i++) {
        M[i] = tess_view_row_major(TESS_F32, N, N, gpu_alloc(ctx, zeros, sizeof zeros), 0);
        M[i].place = TESS_DEVICE;
    }
    tess_plan *plan = NULL;
    double seconds;
    CHECK_STATUS(tess_plan_gemm(ctx, &M[0], &M[1], &M[2], NULL, NULL, &plan), TESS_OK, ctx);
    for (int at = 1; at < 12; at++) {
        set_fault("cuLaunchKernelEx", at, 1);
        tess_status status = tess_time(plan, 1, &M[0], &M[1], 0, &M[2], 5, 0, &seconds);
        clear_fault();
        CHECK(status == TESS_OK || strstr(tess_error(ctx), "cuLaunchKernel"), "%s", tess_error(ctx));
        CHECK(status != TESS_OK || at > 7, "the launch %d of a product's timing did not fail", at);
        if (status == TESS_OK) break;
    }
    CHECK_STATUS(tess_time(plan, 1, &M[0], &M[1], 0, &M[2], 5, 0, &seconds), TESS_OK, ctx);
    tess_free_plan(plan);
    for (int i = 0; i < 3; i++) tess_free(ctx, M[i].data);
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
    CHECK(live() == 0, "%d things were not given back", live());
}
