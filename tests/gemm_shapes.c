/* gemm_shapes.c: shapes that break 32-bit offsets, and batches: two million rows of one element, a C of more than
 * 2^31 elements, 70,000 tiny products, batches that are broadcast, interleaved or run backwards. */
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TEST(gemm_two_million_rows) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    const int64_t many = harness_tier() == TIER_SHORT ? 200003 : 2000003;
    for (int side = 0; side < 3; side++) {
        problem_spec spec = {.types = type_pairs[side], .m = 1, .n = 1, .k = 1, .alpha = 2, .beta = 1};
        int64_t *sides[] = {&spec.m, &spec.n, &spec.k};
        *sides[side] = many;
        /* Two million terms in f32 leave no useful bound; whole numbers leave no doubt. */
        spec.data = DATA_EXACT;
        spec.types = type_pairs[0];
        problem_try(&spec, ctx, NULL, test_random());
        spec.types = type_pairs[7];
        spec.store_b = STORE_COL;
        problem_try(&spec, ctx, NULL, test_random());
    }
    tess_close(ctx);
}

static int64_t available_memory(void) {
    long long kibibytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return 0;
    char line[200];
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kibibytes) == 1) break;
    fclose(file);
    return (int64_t)kibibytes * 1024;
}

/* C is 2^16 × (2^15 + 1) in 16 bits: 4.3 GB, and offsets past 2^31. Rank 1, so every element has a known value. */
TEST(gemm_beyond_two_to_31) {
    if (harness_tier() != TIER_LONG) {
        harness_skip("4.3 GB of C is for the slow tier (TESSERA_TEST_LONG=1)");
        return;
    }
    const int64_t m = (1 << 16), n = (1 << 15) + 1;
    const int64_t bytes = m * n * 2;
    if (available_memory() < bytes + (512 << 20)) {
        harness_skip("needs %lld MiB of free memory, there are %lld", (long long)((bytes >> 20) + 512),
                     (long long)(available_memory() >> 20));
        return;
    }
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    uint16_t *c = test_alloc((size_t)bytes), *a = test_alloc((size_t)m * 2), *b = test_alloc((size_t)n * 2);
    for (int layout = 0; layout < 2; layout++) {
        tess_matrix A = tess_view_row_major(TESS_BF16, m, 1, a, 0),
                    B = tess_view_row_major(TESS_BF16, 1, n, b, 0);
        tess_matrix C =
            layout ? tess_view_col_major(TESS_BF16, m, n, c, 0) : tess_view_row_major(TESS_BF16, m, n, c, 0);
        for (int64_t i = 0; i < m; i++) oracle_set(&A, i, 0, (double)(i % 13 - 6));
        for (int64_t j = 0; j < n; j++) oracle_set(&B, 0, j, (double)(j % 11 - 5));
        if (!CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL), TESS_OK, ctx)) break;
        oracle_product product = {1, 0, A, B, C, C, 1};
        oracle_verdict v;
        for (int i = 0; i < 200000; i++) {
            int64_t row = i == 0 ? m - 1 : rng_range(test_random(), 0, m - 1);
            int64_t col = i == 0 ? n - 1 : rng_range(test_random(), 0, n - 1);
            if (!CHECK(oracle_check_element(&product, row, col, &v), "C(%lld, %lld) is %g, want %g",
                       (long long)row, (long long)col, v.got, v.want))
                break;
        }
    }
    free(c), free(a), free(b);
    tess_close(ctx);
}

TEST(gemm_batch_of_70000) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    static const batching ways[] = {BATCH_APART, BATCH_INTERLEAVED};
    for (int i = 0; i < 2; i++) {
        problem_spec spec = {.types = type_pairs[i],
                             .m = 2,
                             .n = 3,
                             .k = 2,
                             .alpha = 1,
                             .beta = 1,
                             .count = harness_tier() == TIER_SHORT ? 7000 : 70000,
                             .batch_a = ways[i],
                             .batch_b = ways[1 - i],
                             .batch_c = ways[i],
                             .data = DATA_EXACT};
        problem_try(&spec, ctx, NULL, test_random());
    }
    tess_close(ctx);
}

TEST(gemm_small_batches) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (sampling s = sampling_start(300, 2000, 3); sampling_next(&s);) {
        problem_spec spec = draw_spec(rng, 0, 20);
        spec.types = type_pairs[s.index % TYPE_PAIRS];
        spec.alpha = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
        spec.beta = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
        spec.count = rng_range(rng, 1, 9);
        spec.batch_a = (batching)(s.index % BATCHINGS);
        spec.batch_b = (batching)(s.index / BATCHINGS % BATCHINGS);
        spec.batch_c = (batching)(s.index / BATCHINGS / BATCHINGS % BATCH_SAME);
        if (!problem_try(&spec, ctx, NULL, rng)) break;
    }
    tess_close(ctx);
}

/* A few products, each large enough to be split among threads. */
TEST(gemm_batch_of_large) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int i = 0; i < 4; i++) {
        problem_spec spec = draw_spec(test_random(), 90, 140);
        spec.types = type_pairs[i];
        spec.alpha = 1;
        spec.beta = i & 1;
        spec.count = 3;
        spec.batch_a = (batching)i;
        spec.batch_b = (batching)(3 - i);
        spec.batch_c = (batching)(i % BATCH_SAME);
        problem_try(&spec, ctx, NULL, test_random());
    }
    tess_close(ctx);
}

/* An empty batch is as fine as an empty matrix. */
TEST(gemm_small_empty) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    float one = 5;
    tess_matrix M = tess_view_row_major(TESS_F32, 1, 1, &one, 0);
    float other = 7;
    tess_matrix C = tess_view_row_major(TESS_F32, 1, 1, &other, 0);
    tess_batch none = {0, 0, 0, 0};
    CHECK_STATUS(tess_gemm_batched(ctx, 1, &M, &M, 0, &C, &none, NULL), TESS_OK, ctx);
    CHECK(other == 7, "a batch of none wrote %g", (double)other);
    tess_matrix empty = tess_view_row_major(TESS_F32, 0, 0, NULL, 0);
    CHECK(empty.rows == 0 && empty.cols == 0, "an empty view with no data is %lldx%lld: %s",
          (long long)empty.rows, (long long)empty.cols, tess_error(NULL));
    CHECK_STATUS(tess_gemm(ctx, 1, &empty, &empty, 0, &empty, NULL), TESS_OK, ctx);
    tess_matrix row = tess_view_row_major(TESS_F32, 0, 1, NULL, 0);
    tess_matrix wide = tess_view_row_major(TESS_F32, 0, 1, NULL, 0);
    CHECK_STATUS(tess_gemm(ctx, 1, &row, &M, 0, &wide, NULL), TESS_OK, ctx);
    tess_close(ctx);
}
