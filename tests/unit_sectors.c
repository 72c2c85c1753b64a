/* unit_sectors.c: the sectors that a product moves at least: of every matrix and of every block's part of it, each once,
 * counted here one by one or by hand. White-box: src/sim/count_kinds.h. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "../src/sim/count_kinds.h"
#include "../src/sim/module.h"

enum { SECTOR = 32, MOST = 4096 };

/* Marks the sector of every element. */
static uint64_t count_one_by_one(const count_matrix *m) {
    static unsigned char seen[2 * MOST];
    uint64_t count = 0;
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++) {
            int64_t at = MOST * SECTOR + (m->first + i * m->row_stride + j * m->col_stride) * m->size;
            unsigned char *mark = &seen[at / SECTOR];
            count += !*mark;
            *mark = 1;
        }
    return count;
}

/* In rows or columns, with gaps or without, that begin anywhere, go backwards, or are all the same. */
TEST(counters_sectors_are_each_counted_once) {
    test_rng *rng = test_random();
    for (int i = 0; i < 2000; i++) {
        int64_t count = rng_range(rng, 1, 20), length = rng_range(rng, 1, 40), far = length;
        if (i % 3 == 1) far += rng_range(rng, 1, 20);
        if (i % 7 == 0) far = 0;
        if (i % 5 == 0) far = -far;
        count_matrix m = {rng_range(rng, 0, 40), count, length, far, 1, (int64_t)1 << rng_range(rng, 0, 3)};
        if (i % 2) m.rows = length, m.cols = count, m.row_stride = 1, m.col_stride = far;
        uint64_t got = count_sectors(&m), want = count_one_by_one(&m);
        CHECK(got == want, "%lldx%lld from %lld, strides %lld and %lld, %lld bytes: %llu sectors, not %llu",
              (long long)m.rows, (long long)m.cols, (long long)m.first, (long long)m.row_stride,
              (long long)m.col_stride, (long long)m.size, (unsigned long long)got, (unsigned long long)want);
    }
}

/* 17×16×32 in tiles of 16×16, three products with one B. The first block of each has 16 rows of A, 4 sectors long, the other
 * one; both have all of B, 32 rows of 2 sectors; and C has 17 of 2. */
TEST(counters_of_least_sectors_by_hand) {
    enum { M = 17, N = 16, K = 32, COUNT = 3 };
    char why[256];
    if (!module_can_trace(why)) {
        harness_skip("%s", why);
        return;
    }
    tess_context *ctx = NULL;
    tess_plan *plan = NULL;
    tess_counters sum = {.flops = 0};
    tess_matrix A = tess_view_row_major(TESS_F32, M, K, NULL, 0),
                B = tess_view_row_major(TESS_F32, K, N, NULL, 0),
                C = tess_view_row_major(TESS_F32, M, N, NULL, 0);
    const tess_batch batch = {COUNT, M * K, 0, M * N};
    const tess_options options = {.kernel = "simt_05_shared", .params = "TILE=16"};
    if (!CHECK_STATUS(tess_open(&ctx, "sim"), TESS_OK, NULL)) return;
    if (CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, &batch, &options, &plan), TESS_OK, ctx))
        CHECK_STATUS(tess_count(plan, TESS_COUNT_SOURCE, &sum, NULL, NULL), TESS_OK, ctx);
    CHECK(sum.dram_sectors_least == COUNT * 68 + 64 + COUNT * 34, "memory: %g", sum.dram_sectors_least);
    CHECK(sum.l2_sectors_least == COUNT * (64 + 64 + 4 + 64 + 34), "L2: %g", sum.l2_sectors_least);
    tess_free_plan(plan);
    tess_close(ctx);
}
