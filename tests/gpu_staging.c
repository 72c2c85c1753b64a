/* gpu_staging.c: products on host memory large enough to be cut: panels, blocks and groups arrive, run and
 * return in the right order, whatever the layout. Small ones are among the products of gpu.c. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct large {
    const char *name;
    tess_type type;
    int64_t m, n, k, count;
    int col_a, col_b, col_c; /* by columns */
    double beta;
    const char *kernel;
} large;

static tess_matrix view(tess_type type, int64_t rows, int64_t cols, void *data, int by_columns, int64_t pad) {
    return by_columns ? tess_view_col_major(type, rows, cols, data, rows + pad)
                      : tess_view_row_major(type, rows, cols, data, cols + pad);
}

/* Elements of `count` matrices with lines padded by 3. */
static int64_t elements(int64_t rows, int64_t cols, int by_columns) {
    return by_columns ? cols * (rows + 3) : rows * (cols + 3);
}

static void check_products(const large *l, const tess_matrix *A, const tess_matrix *B, const tess_matrix *C0,
                           const tess_matrix *C, const tess_batch *batch) {
    for (int64_t i = 0; i < l->count; i++) {
        tess_matrix a = *A, b = *B, c0 = *C0, c = *C;
        int64_t size = (int64_t)tess_type_size(l->type);
        a.data = (char *)a.data + i * batch->stride_a * size;
        b.data = (char *)b.data + i * batch->stride_b * size;
        c.data = (char *)c.data + i * batch->stride_c * size;
        c0.data = (char *)c0.data + i * batch->stride_c * size;
        tess_check check;
        CHECK_STATUS(tess_check_gemm(1, &a, &b, l->beta, &c0, &c, TESS_CHECK_CHECKSUM, 7, &check), TESS_OK,
                     NULL);
        if (!CHECK(check.passed, "%s: product %lld: row %lld is %g, want %g (%lld wrong)", l->name,
                   (long long)i, (long long)check.row, check.got, check.want, (long long)check.wrong))
            return;
    }
}

static void try_large(tess_context *ctx, const large *l) {
    int64_t size = (int64_t)tess_type_size(l->type);
    tess_batch batch = {l->count, elements(l->m, l->k, l->col_a), elements(l->k, l->n, l->col_b),
                        elements(l->m, l->n, l->col_c)};
    char *a = test_alloc((size_t)(batch.stride_a * l->count * size)),
         *b = test_alloc((size_t)(batch.stride_b * l->count * size)),
         *c = test_alloc((size_t)(batch.stride_c * l->count * size)),
         *old = test_alloc((size_t)(batch.stride_c * l->count * size));
    tess_matrix A = view(l->type, l->m, l->k, a, l->col_a, 3), B = view(l->type, l->k, l->n, b, l->col_b, 3),
                C = view(l->type, l->m, l->n, c, l->col_c, 3),
                C0 = view(l->type, l->m, l->n, old, l->col_c, 3);
    tess_matrix flat_a = tess_view_row_major(l->type, l->count, batch.stride_a, a, 0),
                flat_b = tess_view_row_major(l->type, l->count, batch.stride_b, b, 0),
                flat_c = tess_view_row_major(l->type, l->count, batch.stride_c, old, 0);
    tess_fill(&flat_a, TESS_FILL_INTEGER, 4, 1);
    tess_fill(&flat_b, TESS_FILL_INTEGER, 4, 2);
    tess_fill(&flat_c, TESS_FILL_INTEGER, 4, 3);
    memcpy(c, old, (size_t)(batch.stride_c * l->count * size));
    tess_options options = {.kernel = l->kernel};
    for (int again = 0; again < 2; again++) { /* the second time memory and buffers are those of the first */
        memcpy(c, old, (size_t)(batch.stride_c * l->count * size));
        tess_status status = l->count > 1 ? tess_gemm_batched(ctx, 1, &A, &B, l->beta, &C, &batch, &options)
                                          : tess_gemm(ctx, 1, &A, &B, l->beta, &C, &options);
        if (!CHECK(status == TESS_OK, "%s: %s", l->name, tess_error(ctx))) break;
        check_products(l, &A, &B, &C0, &C, &batch);
        tess_staging times;
        CHECK_STATUS(tess_staging_times(ctx, &times), TESS_OK, ctx);
        CHECK(times.to_device > 0 && times.kernel > 0 && times.to_host > 0 && times.total > 0,
              "%s: times are %g %g %g %g", l->name, times.to_device, times.kernel, times.to_host,
              times.total);
    }
    free(a), free(b), free(c), free(old);
}

GPU_TEST(gpu_staging_in_panels) {
    static const large cases[] = {
        {"rows", TESS_F32, 1100, 900, 500, 1, 0, 0, 0, 0, NULL},
        {"rows, C read", TESS_F32, 900, 1100, 500, 1, 0, 0, 0, 2, NULL},
        {"columns", TESS_F32, 1000, 1000, 400, 1, 1, 1, 1, 0, NULL},
        {"A by columns, C read", TESS_F32, 1030, 970, 400, 1, 1, 0, 0, 1, NULL},
        {"B by columns", TESS_F64, 700, 900, 300, 1, 0, 1, 0, 0, NULL},
        {"C by columns", TESS_F32, 1000, 1000, 400, 1, 0, 0, 1, 1, "simt_09_tile2d"},
        {"one row", TESS_F32, 1, 3000, 1000, 1, 0, 0, 0, 0, NULL},
        {"one column", TESS_F32, 3000, 1, 1000, 1, 1, 0, 0, 1, NULL},
        {"flat", TESS_F32, 40, 5000, 500, 1, 0, 0, 0, 0, NULL},
        {"tall", TESS_F32, 20000, 40, 60, 1, 0, 0, 0, 1, NULL},
        {"batch", TESS_F32, 120, 130, 110, 60, 0, 0, 0, 1, NULL},
        {"batch by columns", TESS_F32, 120, 130, 110, 60, 1, 1, 1, 0, NULL},
    };
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) try_large(ctx, &cases[i]);
    tess_close(ctx);
}

/* A matrix whose lines are longer than a pinned buffer. */
GPU_TEST(gpu_staging_of_long_lines) {
    enum { K = 1500000 };
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    int32_t *x = test_alloc(2 * K * sizeof *x), *y = test_alloc(K * sizeof *y), c[2] = {0, 0};
    uint32_t want[2] = {0, 0};
    for (int i = 0; i < K; i++) {
        x[i] = (int32_t)rng_range(test_random(), -99, 99), x[K + i] = i, y[i] = i % 7 - 3;
        want[0] += (uint32_t)x[i] * (uint32_t)y[i];
        want[1] += (uint32_t)x[K + i] * (uint32_t)y[i];
    }
    tess_matrix A = tess_view_row_major(TESS_I32, 2, K, x, 0), B = tess_view_row_major(TESS_I32, K, 1, y, 0),
                C = tess_view_row_major(TESS_I32, 2, 1, c, 0);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL), TESS_OK, ctx);
    CHECK((uint32_t)c[0] == want[0] && (uint32_t)c[1] == want[1], "C is %d, %d, want %d, %d", c[0], c[1],
          (int32_t)want[0], (int32_t)want[1]);
    free(x), free(y);
    tess_close(ctx);
}

/* Pinned memory is copied by the card itself. */
GPU_TEST(gpu_staging_of_pinned_memory) {
    enum { M = 900, N = 800, K = 600 };
    tess_context *ctx = gpu_open();
    if (!ctx || !gpu_enter()) return;
    void *memory = NULL;
    GPU_FUNCTION(allocate, "cuMemHostAlloc", void **, size_t, unsigned);
    GPU_FUNCTION(release, "cuMemFreeHost", void *);
    CHECK(allocate(&memory, (M * K + K * N + 2 * M * N) * sizeof(float), 0) == 0, "no pinned memory");
    float *a = memory, *b = a + M * K, *c = b + K * N, *old = c + M * N;
    tess_matrix A = tess_view_row_major(TESS_F32, M, K, a, 0), B = tess_view_row_major(TESS_F32, K, N, b, 0);
    tess_matrix C = tess_view_row_major(TESS_F32, M, N, c, 0),
                C0 = tess_view_row_major(TESS_F32, M, N, old, 0);
    tess_fill(&A, TESS_FILL_INTEGER, 4, 1), tess_fill(&B, TESS_FILL_INTEGER, 4, 2),
        tess_fill(&C0, TESS_FILL_INTEGER, 4, 3);
    memcpy(c, old, M * N * sizeof *c);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 3, &C, NULL), TESS_OK, ctx);
    tess_check check;
    CHECK_STATUS(tess_check_gemm(1, &A, &B, 3, &C0, &C, TESS_CHECK_CHECKSUM, 5, &check), TESS_OK, NULL);
    CHECK(check.passed, "row %lld is %g, want %g", (long long)check.row, check.got, check.want);
    release(memory);
    gpu_leave();
    tess_close(ctx);
}

/* What is pinned and does not lie in lines ahead of one another, at equal distances through all of a batch, passes through a
 * buffer: products with gaps between them, rows that overlap, and rows that go backwards. */
GPU_TEST(gpu_staging_of_pinned_lines) {
    enum { M = 6, N = 5, K = 8, COUNT = 3, ROOM = 1024 };
    static const int64_t cases[][2] = {{K, M * K}, {K, M * K + 7}, {3, 3 * M}, {-K, -K * M}, {K + 2, 0}};
    tess_context *ctx = gpu_open();
    if (!ctx || !gpu_enter()) return;
    void *memory = NULL;
    GPU_FUNCTION(allocate, "cuMemHostAlloc", void **, size_t, unsigned);
    GPU_FUNCTION(release, "cuMemFreeHost", void *);
    if (!CHECK(allocate(&memory, 3 * ROOM * sizeof(float), 0) == 0, "no pinned memory")) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float *all = memory, *a = all + COUNT * M * K, *b = all + ROOM, *c = b + ROOM;
        for (int j = 0; j < 2 * ROOM; j++) all[j] = (float)rng_range(test_random(), -8, 8);
        tess_matrix A = tess_view_strided(TESS_F32, M, K, a, cases[i][0], 1),
                    B = tess_view_row_major(TESS_F32, K, N, b, 0),
                    C = tess_view_row_major(TESS_F32, M, N, c, 0);
        const tess_batch batch = {COUNT, cases[i][1], K * N + 3, M * N + 1};
        int64_t wrong = 0;
        CHECK_STATUS(tess_gemm_batched(ctx, 1, &A, &B, 0, &C, &batch, NULL), TESS_OK, ctx);
        for (int64_t at = 0; at < COUNT * M * N; at++) {
            int64_t product = at / (M * N), row = at / N % M, col = at % N;
            float sum = 0;
            for (int64_t k = 0; k < K; k++)
                sum += a[product * batch.stride_a + row * A.row_stride + k] *
                       b[product * batch.stride_b + k * N + col];
            wrong += c[product * batch.stride_c + row * N + col] != sum;
        }
        CHECK(wrong == 0, "rows %lld apart, products %lld: %lld wrong", (long long)cases[i][0],
              (long long)cases[i][1], (long long)wrong);
    }
    release(memory);
    gpu_leave();
    tess_close(ctx);
}
