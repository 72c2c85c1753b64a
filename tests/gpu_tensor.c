/* gpu_tensor.c: kernels for tensor cores get their matrices as they want them, and f32 is rounded only where
 * that is allowed. The stand-in driver refuses what does not lie as AT, BT and VEC say. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls `try` for every kernel of a family. */
static void each_kernel(tess_context *ctx, const char *family,
                        void (*try)(tess_context *ctx, const tess_kernel_info *kernel)) {
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL);
        if (strncmp(info.name, family, strlen(family)) == 0) try(ctx, &info);
    }
}

/* Operands in memory of the device, `off` elements after where it begins. */
typedef struct shifted {
    char *memory[3];
    tess_matrix views[3];
} shifted;

static int shift(tess_context *ctx, const problem *p, int64_t off, shifted *out) {
    const problem_buffer *buffers[3] = {&p->A, &p->B, &p->C};
    for (int i = 0; i < 3; i++) {
        int64_t size = (int64_t)tess_type_size(buffers[i]->view.type);
        out->memory[i] = gpu_alloc(ctx, NULL, buffers[i]->bytes + 256);
        if (!out->memory[i]) return 0;
        /* The guards are no multiple of 16 bytes: begin where the matrix then does. */
        int64_t lead = (char *)buffers[i]->view.data - (char *)buffers[i]->block;
        char *block = out->memory[i] + (256 - lead % 256) % 256 + off * size;
        CHECK_STATUS(tess_copy(ctx, block, buffers[i]->block, buffers[i]->bytes), TESS_OK, ctx);
        out->views[i] = buffers[i]->view;
        out->views[i].data = block + lead;
        out->views[i].place = TESS_DEVICE;
    }
    return 1;
}

/* The product with its matrices off by so many elements; C comes back to where the host has it. */
static void run_shifted(tess_context *ctx, problem *p, const tess_options *options, int64_t off) {
    shifted s = {.memory = {NULL}};
    int64_t lead = (char *)p->C.view.data - (char *)p->C.block;
    if (shift(ctx, p, off, &s)) {
        CHECK_STATUS(tess_gemm(ctx, p->spec.alpha, &s.views[0], &s.views[1], p->spec.beta, &s.views[2],
                               options),
                     TESS_OK, ctx);
        CHECK_STATUS(tess_copy(ctx, p->C.block, (char *)s.views[2].data - lead, p->C.bytes), TESS_OK, ctx);
        char what[96];
        snprintf(what, sizeof what, "%s off by %lld elements", options->kernel, (long long)off);
        problem_check(p, what);
    }
    for (int i = 0; i < 3; i++)
        if (s.memory[i]) CHECK_STATUS(tess_free(ctx, s.memory[i]), TESS_OK, ctx);
}

static void try_shifted(tess_context *ctx, const problem_spec *spec, const tess_options *options,
                        int64_t off) {
    problem p;
    problem_make(&p, spec, test_random());
    run_shifted(ctx, &p, options, off);
    problem_free(&p);
}

/* A real compiler takes seconds for each order: one of a type will do there, another for the next kernel. */
static int is_tried(int number, int type, int layout) {
    return gpu_is_standin() || layout == (number + type) % 4;
}

static void try_addresses(tess_context *ctx, const tess_kernel_info *kernel) {
    static const int pairs[] = {0, 1, 3, 7}; /* f32 f64 f16:f32 i8:i32 */
    for (int t = 0; t < 4; t++)
        for (int64_t off = 0; off <= 16; off = off ? 2 * off : 1)
            for (int layout = 0; layout < 4; layout++) {
                problem_spec spec = {.types = type_pairs[pairs[t]],
                                     .m = 64,
                                     .n = 80,
                                     .k = 48,
                                     .alpha = 1,
                                     .beta = layout == 0,
                                     .store_a = layout & 2 ? STORE_COL : STORE_ROW,
                                     .store_b = layout & 1 ? STORE_COL : STORE_ROW,
                                     .data = DATA_EXACT};
                if (!is_tried(kernel->number, t, layout) || !type_is_listed(kernel->types, spec.types.name))
                    continue;
                tess_options options = {.kernel = kernel->name,
                                        .compute = pairs[t] == 0 ? TESS_COMPUTE_TF32 : TESS_COMPUTE_DEFAULT};
                try_shifted(ctx, &spec, &options, off);
            }
}

static void try_addresses_of(const char *family) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    each_kernel(ctx, family, try_addresses);
    tess_close(ctx);
}

GPU_TEST(gpu_mma_addresses_off_by_some) {
    try_addresses_of("mma_");
}
GPU_TEST(gpu_wgmma_addresses_off_by_some) {
    try_addresses_of("wgmma_");
}

/* A and B in rows; and which types of type_pairs. */
enum { F16 = 2, F16_TO_F32 = 3 };
static problem_spec in_rows(int types, int64_t m, int64_t n, int64_t k, data_kind data) {
    return (problem_spec){.types = type_pairs[types],
                          .m = m,
                          .n = n,
                          .k = k,
                          .alpha = 1,
                          .store_a = STORE_ROW,
                          .store_b = STORE_ROW,
                          .data = data};
}

/* However far the matrices begin from an aligned address. */
static void try_bits(tess_context *ctx, const problem_spec *spec, const tess_options *options) {
    problem p;
    problem_make(&p, spec, test_random());
    unsigned char *first = test_alloc(p.C.bytes);
    for (int64_t off = 0; off <= 16; off = off ? 2 * off : 1) {
        problem_reset(&p);
        run_shifted(ctx, &p, options, off);
        if (off == 0) memcpy(first, p.C.block, p.C.bytes);
        CHECK(memcmp(first, p.C.block, p.C.bytes) == 0, "%s: bits differ %lld elements further on",
              options->kernel, (long long)off);
    }
    free(first);
    problem_free(&p);
}

/* Rows taken apart, whose k begins earlier for some: whether A begins with a sector, within one, or is copied since it begins
 * anywhere. */
GPU_TEST(gpu_bits_do_not_depend_on_addresses) {
    static const struct {
        tess_options options;
        int64_t m, n, k;
    } cases[] = {
        {{.kernel = "wgmma_07_fitted", .params = "BM=64,BN=128,STAGES=6,TURN=0,EVERY=2"}, 264, 136, 1000},
        {{.kernel = "wgmma_12_apart"}, 1027, 261, 203},
        {{.kernel = "wgmma_12_apart"}, 300, 136, 156},
    };
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const problem_spec spec = in_rows(F16_TO_F32, cases[i].m, cases[i].n, cases[i].k, DATA_RANDOM);
        try_bits(ctx, &spec, &cases[i].options);
    }
    tess_close(ctx);
}

/* B is copied beside the products, in two pieces of k, from lines of which every second one begins in the middle of a word; ahead go
 * A, which begins anywhere, and its rows of the rim, two parts of B, and the counts. Of a product without k nothing is copied. */
GPU_TEST(gpu_copies_beside_products) {
    static const struct { int64_t m, n, k, off; } cases[] = {{4099, 3075, 17, 1}, {300, 137, 0, 0}};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const problem_spec spec = in_rows(F16, cases[i].m, cases[i].n, cases[i].k, DATA_EXACT);
        try_shifted(ctx, &spec, &(tess_options){.kernel = "wgmma_12_apart"}, cases[i].off);
    }
    tess_close(ctx);
}

/* A matrix of bf16 in device memory, row after row. */
static tess_matrix make_resident(tess_context *ctx, int64_t rows, int64_t cols, const uint16_t *from) {
    void *memory = gpu_alloc(ctx, from, (size_t)(rows * cols) * sizeof *from);
    tess_matrix M = tess_view_row_major(TESS_BF16, rows, cols, memory, 0);
    M.place = TESS_DEVICE;
    return M;
}

/* B moves every column of A one further on: many products, each of the one before, move it so far, and nobody waits between. A card
 * that does not have the kernel says so. */
static void try_chain(tess_context *ctx, const tess_options *options) {
    enum { ROWS = 264, EDGE = 256, PRODUCTS = 40 };
    static uint16_t a[ROWS * EDGE], b[EDGE * EDGE], c[ROWS * EDGE];
    memset(b, 0, sizeof b);
    for (int i = 0; i < ROWS * EDGE; i++)
        a[i] = oracle_bf16_from_double((double)rng_range(test_random(), -100, 100));
    for (int i = 0; i < EDGE; i++) b[i * EDGE + (i + 1) % EDGE] = oracle_bf16_from_double(1);
    tess_matrix B = make_resident(ctx, EDGE, EDGE, b), turns[2];
    for (int i = 0; i < 2; i++) turns[i] = make_resident(ctx, ROWS, EDGE, a);
    tess_status status = TESS_OK;
    for (int i = 0; i < PRODUCTS && status == TESS_OK; i++)
        status = tess_gemm(ctx, 1, &turns[i % 2], &B, 0, &turns[(i + 1) % 2], options);
    if (status != TESS_ERROR_KERNEL || !strstr(tess_error(ctx), "sm_90 alone")) {
        CHECK_STATUS(status, TESS_OK, ctx);
        CHECK_STATUS(tess_copy(ctx, c, turns[PRODUCTS % 2].data, sizeof c), TESS_OK, ctx);
        int wrong = 0;
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < EDGE; j++) wrong += c[i * EDGE + (j + PRODUCTS) % EDGE] != a[i * EDGE + j];
        CHECK(wrong == 0, "%s %s: %d of %d elements are wrong", options->kernel, options->params, wrong,
              ROWS * EDGE);
    }
    tess_free(ctx, B.data), tess_free(ctx, turns[0].data), tess_free(ctx, turns[1].data);
}

/* A launch may begin while the one ahead of it still runs, whose blocks leave without waiting for each other, or for what they
 * have written. */
GPU_TEST(gpu_products_of_products) {
    static const tess_options ways[] = {
        {.kernel = "wgmma_07_fitted", .params = "BM=64,BN=128,STAGES=8,TURN=0"},
        {.kernel = "wgmma_07_fitted", .params = "BM=64,BN=128,CM=2,STAGES=6,TURN=0"},
        {.kernel = "wgmma_07_fitted", .params = "BM=64,BN=128,EVERY=2,CM=2,STAGES=6,TURN=0"},
        {.kernel = "wgmma_07_fitted", .params = "BM=128,BN=256,CM=2"},
        {.kernel = "wgmma_09_split", .params = "BM=64,BN=64,CK=4"},
        {.kernel = "wgmma_11_halves", .params = "BM=144,BN=128,CN=2,STAGES=5"},
        {.kernel = "wgmma_11_halves", .params = "BM=136,BN=256,CM=2,TURN=1"},
        {.kernel = "wgmma_12_apart"},
    };
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) try_chain(ctx, &ways[i]);
    tess_close(ctx);
}

/* Large enough that matrices which are not aligned are copied first, and that host memory travels in parts. */
static void try_unaligned(tess_context *ctx, const char *kernel) {
    static const gpu_place places[2][3] = {{GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE},
                                           {GPU_ON_HOST, GPU_ON_DEVICE, GPU_ON_HOST}};
    for (int i = 0; i < 4; i++) {
        problem_spec spec = {.types = type_pairs[i % 2 ? 7 : 5],
                             .m = 515,
                             .n = 521,
                             .k = 513,
                             .alpha = 1,
                             .beta = 1,
                             .store_a = STORE_ROW_PADDED,
                             .store_b = STORE_COL_PADDED,
                             .data = DATA_EXACT};
        gpu_try(&spec, ctx, &(tess_options){.kernel = kernel}, places[i / 2], 0, NULL);
    }
}

GPU_TEST(gpu_tensor_unaligned_and_large) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    try_unaligned(ctx, "mma_03_async");
    try_unaligned(ctx, "mma_07_raster");
    try_unaligned(ctx, "wgmma_07_fitted");
    tess_close(ctx);
}

/* ---- f32 with fewer bits ---- */

/* What a mode makes of a product of that side on random data: the sentence must say `words`, and C must be that of inputs
 * with `bits` significant bits, within the errors of f32. */
typedef struct mixed {
    tess_compute compute;
    const char *kernel, *words;
    int bits, side;
} mixed;

static float rounded(float value, int bits) {
    uint32_t word, unit = 1u << (24 - bits);
    memcpy(&word, &value, sizeof word);
    word = (word + unit / 2 - 1 + (word / unit & 1)) & ~(unit - 1); /* to nearest even */
    memcpy(&value, &word, sizeof word);
    return value;
}

static void try_mixed(tess_context *ctx, const mixed *mode) {
    const int side = mode->side, each = side * side;
    float *data = test_alloc(3 * (size_t)each * sizeof *data), *a = data, *b = a + each, *c = b + each;
    tess_matrix A = tess_view_row_major(TESS_F32, side, side, a, 0),
                B = tess_view_col_major(TESS_F32, side, side, b, 0),
                C = tess_view_row_major(TESS_F32, side, side, c, 0);
    tess_options options = {.kernel = mode->kernel, .compute = mode->compute};
    tess_plan *plan = NULL;
    tess_check check;
    for (int i = 0; i < 2 * each; i++) data[i] = (float)rng_real(test_random());
    if (CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan), TESS_OK, ctx)) {
        CHECK(strstr(tess_plan_sentence(plan), mode->words), "\"%s\" lacks \"%s\"", tess_plan_sentence(plan),
              mode->words);
        CHECK_STATUS(tess_run(plan, 1, &A, &B, 0, &C), TESS_OK, ctx);
        for (int i = 0; i < 2 * each; i++) data[i] = rounded(data[i], mode->bits);
        CHECK_STATUS(tess_check_gemm(1, &A, &B, 0, NULL, &C, TESS_CHECK_ORACLE, 1, &check), TESS_OK, NULL);
        CHECK(check.passed, "%s: %lld elements wrong: C(%lld, %lld) is %.9g, want %.9g",
              tess_plan_sentence(plan), (long long)check.wrong, (long long)check.row, (long long)check.col,
              check.got, check.want);
    }
    tess_free_plan(plan);
    free(data);
}

GPU_TEST(gpu_f32_is_rounded_only_where_allowed) {
    static const char *const exact = "less exact arithmetic was allowed, but it computes in f32",
                             *const rounds = "A and B are rounded to bf16 first";
    const mixed modes[] = {{TESS_COMPUTE_DEFAULT, NULL, "simt_", 24, 96},
                           {TESS_COMPUTE_F32_STRICT, NULL, "simt_", 24, 96},
                           {TESS_COMPUTE_BF16, NULL, rounds, 8, 320},
                           {TESS_COMPUTE_BF16, NULL, exact, 24, 32},
                           {TESS_COMPUTE_BF16, "simt_09_tile2d", rounds, 8, 96},
                           {TESS_COMPUTE_BF16, "simt_05_shared", exact, 24, 96},
                           {TESS_COMPUTE_TF32, "simt_12_pipelined", exact, 24, 96}};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) try_mixed(ctx, &modes[i]);
    tess_close(ctx);
}

/* TF32 rounds ties its own way, so that only exact data shows whether all else is right. */
GPU_TEST(gpu_tf32_by_the_planner) {
    static const gpu_place places[3] = {GPU_ON_DEVICE, GPU_ON_HOST, GPU_ON_DEVICE};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    problem_spec spec =
        {.types = type_pairs[0], .m = 70, .n = 90, .k = 50, .alpha = 1, .beta = 2, .data = DATA_EXACT};
    for (int mode = TESS_COMPUTE_TF32; mode <= TESS_COMPUTE_BF16; mode++)
        for (int batch = 0; batch <= 3; batch += 3) {
            spec.count = batch;
            gpu_try(&spec, ctx, &(tess_options){.compute = (tess_compute)mode}, places, 0, NULL);
        }
    tess_matrix A = tess_view_row_major(TESS_F32, 64, 64, NULL, 0);
    tess_plan *plan = NULL;
    tess_options options = {.kernel = "mma_07_raster", .compute = TESS_COMPUTE_TF32};
    if (CHECK_STATUS(tess_plan_gemm(ctx, &A, &A, &A, NULL, &options, &plan), TESS_OK, ctx))
        CHECK(strstr(tess_plan_sentence(plan), "A and B are rounded to TF32 first"), "%s",
              tess_plan_sentence(plan));
    tess_free_plan(plan);
    tess_close(ctx);
}
