/* first_call.c: how long a new process waits for its first product on a GPU, beyond what CUDA itself takes to start.
 *
 *     first_call [N] [KERNEL]      f32, N×N×N, default 1024; the planner's kernel if none is named
 *
 * Prints milliseconds: CUDA's own start (cuInit and the primary context, through the driver alone), then opening a
 * context, planning, the first product and the second. Run it twice: the second process finds the kernel in the cache.
 * With TESSERA_CACHE_DIR=/nowhere it is compiled each time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tessera.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* What every CUDA program waits for. Returns 0 without a driver or a card. */
static int start_cuda(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    if (!library) return 0;
    int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), card;
    *(void **)&init = dlsym(library, "cuInit");
    *(void **)&get = dlsym(library, "cuDeviceGet");
    *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    return init && get && retain && init(0) == 0 && get(&card, 0) == 0 && retain(&context, card) == 0;
}

static int fail(const char *what, const tess_context *ctx) {
    fprintf(stderr, "first_call: %s: %s\n", what, tess_error(ctx));
    return 1;
}

/* Two products on the device's memory. */
static int run(tess_context *ctx, int64_t n, const char *kernel, double begun) {
    size_t bytes = (size_t)(n * n) * sizeof(float);
    void *a, *b, *c;
    if (tess_alloc(ctx, bytes, &a) || tess_alloc(ctx, bytes, &b) || tess_alloc(ctx, bytes, &c))
        return fail("no memory", ctx);
    tess_matrix A = tess_view_row_major(TESS_F32, n, n, a, n), B = A, C = A;
    A.place = B.place = C.place = TESS_DEVICE;
    B.data = b, C.data = c;
    tess_options options = {.kernel = kernel};
    double times[3] = {now()};
    for (int i = 1; i < 3; i++) {
        if (tess_gemm(ctx, 1, &A, &B, 0, &C, &options) || tess_wait(ctx))
            return fail("the product failed", ctx);
        times[i] = now();
    }
    printf("tess_open and memory %.1f ms, first product %.1f ms, second %.3f ms\n", times[0] - begun,
           times[1] - times[0], times[2] - times[1]);
    printf("beyond CUDA's own start: %.1f ms\n", times[1] - begun);
    return 0;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 1024;
    double start = now();
    if (n < 1 || n > 32768 || !start_cuda()) {
        fputs("first_call: there is no CUDA driver or no card here, or N is not 1 to 32768\n", stderr);
        return 1;
    }
    double begun = now();
    printf("CUDA's own start %.1f ms\n", begun - start);
    tess_context *ctx;
    if (tess_open(&ctx, "cuda") != TESS_OK) return fail("no context", NULL);
    return run(ctx, n, argc > 2 ? argv[2] : NULL, begun) || tess_close(ctx) != TESS_OK;
}
