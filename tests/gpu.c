/* gpu.c: every kernel of the GPU keeps the promise of tess_gemm, wherever its operands lie; see gpu.h. */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gpu_is_asked_for(void) {
    const char *asked = getenv("TESSERA_DEVICE");
    return asked && strncmp(asked, "cuda", 4) == 0;
}

int gpu_is_standin(void) {
    const char *path = getenv("TESSERA_LIBRARY_PATH");
    return path && strstr(path, "standin");
}

tess_context *gpu_open(void) {
    tess_context *ctx = NULL;
    CHECK_STATUS(tess_open(&ctx, "auto"), TESS_OK, NULL);
    return ctx;
}

void *gpu_symbol(const char *name) {
    tess_library_info info = {.path = ""};
    CHECK_STATUS(tess_describe_library(0, &info), TESS_OK, NULL);
    void *library = dlopen(info.path, RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    CHECK(found, "the driver %s has no %s", info.path, name);
    return found;
}

int gpu_enter(void) {
    void *context = NULL;
    GPU_FUNCTION(retain, "cuDevicePrimaryCtxRetain", void **, int);
    GPU_FUNCTION(push, "cuCtxPushCurrent_v2", void *);
    return CHECK(retain && retain(&context, 0) == 0, "no primary context") &&
           CHECK(push && push(context) == 0, "the context cannot be made current");
}

void gpu_leave(void) {
    void *context = NULL;
    GPU_FUNCTION(pop, "cuCtxPopCurrent_v2", void **);
    GPU_FUNCTION(release, "cuDevicePrimaryCtxRelease_v2", int);
    pop(&context);
    release(0);
}

void *gpu_alloc(tess_context *ctx, const void *from, size_t bytes) {
    void *memory = NULL;
    if (!CHECK_STATUS(tess_alloc(ctx, bytes, &memory), TESS_OK, ctx)) return NULL;
    if (from) CHECK_STATUS(tess_copy(ctx, memory, from, bytes), TESS_OK, ctx);
    return memory;
}

static int lies_on_device(gpu_place place) {
    return place == GPU_ON_DEVICE || place == GPU_ASK_DEVICE;
}

/* The buffer's view, in device memory if it is to be there. */
static tess_matrix place_view(tess_context *ctx, const problem_buffer *b, gpu_place place, void **memory) {
    static const tess_place places[GPU_PLACES] = {TESS_HOST, TESS_DEVICE, TESS_ASK, TESS_ASK};
    tess_matrix view = b->view;
    view.place = places[place];
    *memory = NULL;
    if (!lies_on_device(place) || !view.data) return view;
    *memory = gpu_alloc(ctx, b->block, b->bytes);
    if (*memory) view.data = (char *)*memory + ((char *)b->view.data - (char *)b->block);
    return view;
}

tess_status gpu_run(problem *p, tess_context *ctx, const tess_options *options, const gpu_place places[3]) {
    void *memory[3];
    tess_matrix A = place_view(ctx, &p->A, places[0], &memory[0]),
                B = place_view(ctx, &p->B, places[1], &memory[1]),
                C = place_view(ctx, &p->C, places[2], &memory[2]);
    tess_status status = p->spec.count > 0 ? tess_gemm_batched(ctx, p->spec.alpha, &A, &B, p->spec.beta, &C,
                                                               &p->batch, options)
                                           : tess_gemm(ctx, p->spec.alpha, &A, &B, p->spec.beta, &C, options);
    problem_buffer *buffers[3] = {&p->A, &p->B, &p->C};
    for (int i = 0; i < 3; i++) {
        if (!memory[i]) continue;
        CHECK_STATUS(tess_copy(ctx, buffers[i]->block, memory[i], buffers[i]->bytes), TESS_OK, ctx);
        CHECK_STATUS(tess_free(ctx, memory[i]), TESS_OK, ctx);
    }
    return status;
}

int gpu_try(const problem_spec *spec, tess_context *ctx, const tess_options *options,
            const gpu_place places[3], int may_refuse, int *taken) {
    problem p;
    problem_make(&p, spec, test_random());
    const char *name = options && options->kernel ? options->kernel : "the planner's choice";
    tess_status status = gpu_run(&p, ctx, options, places);
    int right;
    if (may_refuse && status == TESS_ERROR_KERNEL) {
        right = problem_check_untouched(&p, name);
    } else {
        right = CHECK(status == TESS_OK, "%s: %s: %s: %s", name, problem_text(&p), tess_status_name(status),
                      tess_error(ctx)) &&
                problem_check(&p, name);
        if (taken) ++*taken;
    }
    problem_free(&p);
    return right;
}

static void draw_places(gpu_place places[3]) {
    for (int i = 0; i < 3; i++) places[i] = (gpu_place)rng_range(test_random(), 0, GPU_PLACES - 1);
}

/* A product drawn for sample `index`, with a batch now and then. */
static problem_spec draw(int64_t index, int64_t high) {
    test_rng *rng = test_random();
    problem_spec spec = draw_spec(rng, 0, high);
    if (index % 5 == 0) *(index % 2 ? &spec.m : &spec.n) = 1;
    if (index % 3 == 0) {
        spec.count = rng_range(rng, 1, 4);
        spec.batch_a = (batching)rng_range(rng, 0, BATCHINGS - 1);
        spec.batch_b = (batching)rng_range(rng, 0, BATCHINGS - 1);
        spec.batch_c = (batching)rng_range(rng, 0, BATCH_SAME - 1);
    }
    return spec;
}

GPU_TEST(gpu_products_wherever_they_lie) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (sampling s = sampling_start(20, 600, 8.0); sampling_next(&s);) {
        gpu_place places[3];
        problem_spec spec = draw(s.index, s.index % 7 ? 60 : 200);
        draw_places(places);
        if (!gpu_try(&spec, ctx, NULL, places, 0, NULL)) break;
    }
    tess_close(ctx);
}

/* Every kernel whose name begins so. On a card each type and order is compiled anew, for seconds: few have to do. */
static void try_kernels(const char *family) {
    tess_context *ctx = gpu_open();
    tess_device_info device;
    if (!ctx || !CHECK_STATUS(tess_device_facts(ctx, &device), TESS_OK, ctx)) return;
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL);
        if (strcmp(info.device, "gpu") != 0 || info.number == 0) continue;
        if (strncmp(info.name, family, strlen(family)) != 0) continue;
        if (strcmp(info.needs, "sm_90 alone") == 0 && strcmp(device.isa, "sm_90a") != 0) continue;
        int taken = 0;
        tess_options options = {.kernel = info.name};
        for (sampling s = sampling_start(3, 100, 1.0); sampling_next(&s);) {
            gpu_place places[3];
            problem_spec spec = draw(s.index, 140);
            int pair = (int)(s.index % TYPE_PAIRS);
            while (!type_is_listed(info.types, type_pairs[pair].name)) pair = (pair + 1) % TYPE_PAIRS;
            spec.types = type_pairs[pair];
            /* Tensor cores take f32 where it may be rounded, which small integers are not. */
            options.compute = pair == 0 && s.index % 2 ? TESS_COMPUTE_TF32 : TESS_COMPUTE_DEFAULT;
            if (options.compute == TESS_COMPUTE_TF32) spec.data = DATA_EXACT;
            spec.alpha = draw_scalar(test_random(), spec.types.in, spec.data, (int)(s.index / 3 % 3));
            spec.beta = draw_scalar(test_random(), spec.types.in, spec.data, (int)(s.index / 2 % 3));
            draw_places(places);
            if (!gpu_try(&spec, ctx, &options, places, 1, &taken)) break;
        }
        CHECK(taken > 0, "%s took none of the products it was asked for", info.name);
    }
    tess_close(ctx);
}

GPU_TEST(gpu_kernels_by_name_simt) {
    try_kernels("simt_");
}
GPU_TEST(gpu_kernels_by_name_vector) {
    try_kernels("vector_");
}
GPU_TEST(gpu_kernels_by_name_mma) {
    try_kernels("mma_");
}
GPU_TEST(gpu_kernels_by_name_wgmma) {
    try_kernels("wgmma_");
}
GPU_TEST(gpu_kernels_by_name_split) {
    try_kernels("split_");
}

/* The peers take what lies by rows or by columns, in any mixture. */
GPU_TEST(gpu_peers) {
    static const storage stores[] = {STORE_ROW, STORE_COL, STORE_ROW_PADDED, STORE_COL_PADDED};
    static const char *const peers[] = {"cublas", "cublaslt"};
    static const gpu_place places[3] = {GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int i = 0; i < 2; i++) {
        tess_library_info library;
        CHECK_STATUS(tess_describe_library(3 + i, &library), TESS_OK, NULL);
        if (library.problem[0]) {
            harness_skip("%s", library.problem);
            continue;
        }
        int taken = 0;
        for (sampling s = sampling_start(40, 150, 2.0); sampling_next(&s);) {
            test_rng *rng = test_random();
            problem_spec spec = draw_spec(rng, 1, 90);
            spec.types = type_pairs[s.index % 6]; /* all floating types */
            spec.store_a = stores[rng_range(rng, 0, 3)];
            spec.store_b = stores[rng_range(rng, 0, 3)];
            spec.store_c = stores[rng_range(rng, 0, 3)];
            if (s.index % 4 == 0) spec.count = 3;
            spec.alpha = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 1, 2));
            spec.beta = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
            if (!gpu_try(&spec, ctx, &(tess_options){.kernel = peers[i]}, places, 1, &taken)) break;
        }
        CHECK(taken > 5, "%s took only %d products", peers[i], taken);
    }
    tess_close(ctx);
}

/* Operands that begin one element off: kernels that move vectors must do without. */
GPU_TEST(gpu_addresses_off_by_one) {
    enum { M = 65, N = 68, K = 72 };
    static const char *const kernels[] = {"simt_10_vectorized", "simt_11_warptile", "simt_12_pipelined",
                                          "simt_13_along_k",    "simt_15_split",    "simt_16_batched"};
    enum { KERNELS = sizeof kernels / sizeof *kernels };
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    float *host = test_alloc((M * K + K * N + M * N + 3) * sizeof *host);
    for (int i = 0; i < M * K + K * N + 3; i++) host[i] = (float)rng_range(test_random(), -8, 8);
    float *memory = gpu_alloc(ctx, host, (M * K + K * N + M * N + 3) * sizeof *host);
    for (int i = 0; memory && i < KERNELS; i++)
        for (int off = 0; off < 2; off++) {
            CHECK_STATUS(tess_copy(ctx, memory, host, (M * K + K * N + 3) * sizeof *host), TESS_OK, ctx);
            float *a = memory + off, *b = a + M * K, *c = b + K * N + off;
            tess_matrix A = tess_view_row_major(TESS_F32, M, K, a, 0),
                        B = tess_view_row_major(TESS_F32, K, N, b, 0),
                        C = tess_view_row_major(TESS_F32, M, N, c, 0);
            A.place = B.place = C.place = TESS_DEVICE;
            CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, &(tess_options){.kernel = kernels[i]}), TESS_OK,
                         ctx);
            float got[M * N];
            CHECK_STATUS(tess_copy(ctx, got, c, sizeof got), TESS_OK, ctx);
            A.data = host + off, B.data = host + off + M * K, C.data = got;
            A.place = B.place = C.place = TESS_HOST;
            oracle_verdict v =
                oracle_check(&(oracle_product){.alpha = 1, .A = A, .B = B, .C = C, .exact = 1});
            CHECK(v.wrong == 0, "%s, off by %d: %lld wrong, C(%lld, %lld) is %g, want %g", kernels[i], off,
                  (long long)v.wrong, (long long)v.row, (long long)v.col, v.got, v.want);
        }
    tess_free(ctx, memory);
    free(host);
    tess_close(ctx);
}

/* Grids have at most 65535 blocks in two of their dimensions. */
GPU_TEST(gpu_more_blocks_than_a_grid_holds) {
    static const gpu_place places[3] = {GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE};
    static const gpu_place host[3] = {GPU_ON_HOST, GPU_ON_HOST, GPU_ON_HOST};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    problem_spec tall =
        {.types = type_pairs[0], .m = 16 * 65535 + 40, .n = 3, .k = 2, .alpha = 1, .data = DATA_EXACT};
    gpu_try(&tall, ctx, &(tess_options){.kernel = "simt_05_shared", .params = "TILE=16"}, places, 0, NULL);
    problem_spec many =
        {.types = type_pairs[0], .m = 3, .n = 2, .k = 4, .alpha = 1, .beta = 2, .data = DATA_EXACT};
    many.count = 65535 + 700;
    gpu_try(&many, ctx, NULL, places, 0, NULL);
    gpu_try(&many, ctx, &(tess_options){.kernel = "simt_05_shared"}, places, 0, NULL);
    many.store_a = STORE_COL; /* which is copied to rows first */
    gpu_try(&many, ctx, NULL, places, 0, NULL);
    gpu_try(&many, ctx, NULL, host, 0, NULL);
    tess_close(ctx);
}
