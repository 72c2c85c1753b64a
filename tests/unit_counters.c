/* unit_counters.c: what the simulator counts is what Nsight Compute has counted on a card, what a lockstep
 * count by hand gives, and what tracing every block to its whole depth gives. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "../src/memory.h"
#include "../src/registry.h"
#include "../src/sim/count.h"
#include "../src/sim/warps.h"

static int can_count(void) {
    char why[256];
    if (module_can_trace(why)) return 1;
    harness_skip("%s", why);
    return 0;
}

/* ---- Products ---- */

typedef struct shape {
    int64_t m, n, k;
} shape;

static tess_status count(const char *kernel, const char *params, tess_type type, shape s, int64_t batch,
                         tess_count_view view, tess_counters *sum) {
    tess_context *ctx;
    tess_plan *made = NULL;
    tess_matrix A = tess_view_row_major(type, s.m, s.k, NULL, 0),
                B = tess_view_row_major(type, s.k, s.n, NULL, 0),
                C = tess_view_row_major(type == TESS_I8 ? TESS_I32 : type, s.m, s.n, NULL, 0);
    tess_options options = {.kernel = kernel, .params = params};
    if (strncmp(kernel, "mma", 3) == 0 && type == TESS_F32) options.compute = TESS_COMPUTE_TF32;
    tess_batch several = {batch, s.m * s.k + 3, s.k * s.n + 5, s.m * s.n + 1};
    memset(sum, 0, sizeof *sum);
    tess_status status = tess_open(&ctx, "sim");
    if (status != TESS_OK) return status;
    status = tess_plan_gemm(ctx, &A, &B, &C, batch > 1 ? &several : NULL, &options, &made);
    if (status == TESS_OK) status = tess_count(made, view, sum, NULL, NULL);
    CHECK(status == TESS_OK, "%s: %s", kernel, tess_error(ctx));
    tess_free_plan(made);
    tess_close(ctx);
    return status;
}

/* ---- Nsight Compute on an H200, 256³, blocks of 16×16 ---- */

TEST(counters_are_those_of_nsight) {
    static const struct {
        const char *kernel, *params;
        double load_requests, load_sectors, store_requests, store_sectors, shared[3];
    } seen[] = {
        {"simt_05_shared", "TILE=16", 65536, 262144, 2048, 8192, {655360, 786432, 0}},
        {"simt_02_coalesced", "BX=16,BY=16", 1048576, 2097152, 2048, 8192, {0, 0, 0}},
        {"simt_01_uncoalesced", "BX=16,BY=16", 1048576, 8912896, 2048, 32768, {0, 0, 0}},
    };
    if (!can_count()) return;
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        tess_counters c;
        if (count(seen[i].kernel, seen[i].params, TESS_F32, (shape){256, 256, 256}, 1, TESS_COUNT_COMPILED,
                  &c))
            continue;
        CHECK(c.global_load_requests == seen[i].load_requests &&
                  c.global_load_sectors == seen[i].load_sectors,
              "%s: %.0f load requests, %.0f sectors; Nsight: %.0f, %.0f", seen[i].kernel,
              c.global_load_requests, c.global_load_sectors, seen[i].load_requests, seen[i].load_sectors);
        CHECK(c.global_store_requests == seen[i].store_requests &&
                  c.global_store_sectors == seen[i].store_sectors,
              "%s: %.0f store requests, %.0f sectors; Nsight: %.0f, %.0f", seen[i].kernel,
              c.global_store_requests, c.global_store_sectors, seen[i].store_requests, seen[i].store_sectors);
        CHECK(c.shared_load_instructions == seen[i].shared[0] &&
                  c.shared_load_wavefronts == seen[i].shared[1] &&
                  c.shared_load_conflicts == seen[i].shared[2],
              "%s: %.0f shared loads, %.0f wavefronts, %.0f conflicts; Nsight: %.0f, %.0f, %.0f",
              seen[i].kernel, c.shared_load_instructions, c.shared_load_wavefronts, c.shared_load_conflicts,
              seen[i].shared[0], seen[i].shared[1], seen[i].shared[2]);
        CHECK(c.estimated == 0, "%s is an estimate", seen[i].kernel);
    }
}

/* Operations per byte of global memory, each byte once a request, at n = 8192: published figures. */
TEST(counters_give_the_published_intensities) {
    static const struct {
        const char *kernel;
        double intensity, unit;
    } seen[] = {{"simt_02_coalesced", 0.48479, 1e-5}, {"simt_05_shared", 7.9844, 1e-4}};
    if (!can_count()) return;
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        tess_counters c;
        if (count(seen[i].kernel, NULL, TESS_F32, (shape){8192, 8192, 8192}, 1, TESS_COUNT_SOURCE, &c))
            continue;
        double got = c.flops / c.distinct_bytes;
        CHECK(fabs(got - seen[i].intensity) <= seen[i].unit / 2, "%s: %.6f operations a byte, not %g",
              seen[i].kernel, got, seen[i].intensity);
    }
}

/* ---- One block for all that are alike ---- */

static void check_equal(const char *kernel, const char *what, double got, double want) {
    CHECK(got == want, "%s: %s is %.0f from some blocks, %.0f from all", kernel, what, got, want);
}

static void compare_all(const char *kernel, const tess_counters *some, const tess_counters *all) {
#define SAME(field) check_equal(kernel, #field, some->field, all->field)
    SAME(global_load_requests), SAME(global_load_sectors), SAME(global_load_bytes);
    SAME(global_store_requests), SAME(global_store_sectors), SAME(global_store_bytes);
    SAME(shared_load_instructions), SAME(shared_load_wavefronts), SAME(shared_load_conflicts);
    SAME(shared_store_instructions), SAME(shared_store_wavefronts), SAME(shared_store_conflicts);
    SAME(barriers), SAME(flops), SAME(flops_issued), SAME(blocks), SAME(distinct_bytes);
    SAME(l2_sectors_least), SAME(l2_sectors_most), SAME(dram_sectors_least), SAME(mma_instructions);
#undef SAME
    CHECK(some->blocks_traced <= all->blocks_traced && all->blocks_traced == all->blocks,
          "%s: %.0f blocks were traced of %.0f", kernel, some->blocks_traced, all->blocks);
    CHECK(!some->estimated && !all->estimated, "%s is an estimate", kernel);
}

static void compare_with_every_block(const kernel_row *row, const char *params, tess_type type, shape s,
                                     int64_t batch, tess_count_view view) {
    tess_counters some, all;
    if (row->vector_only) s.m = 1;
    if (count(row->info.name, params, type, s, batch, view, &some) != TESS_OK) return;
    count_every_block(1);
    tess_status status = count(row->info.name, params, type, s, batch, view, &all);
    count_every_block(0);
    if (status == TESS_OK) compare_all(row->info.name, &some, &all);
}

/* Ragged shapes and rows that begin anywhere; for every second kernel whole tiles and aligned rows (counters_expected_by_the_headers
 * has those of all); for some a batch whose products begin anywhere. Depths are long enough to be extended. */
TEST(counters_of_some_blocks_are_those_of_all) {
    const kernel_row *row;
    if (!can_count()) return;
    int full = harness_tier() != TIER_SHORT;
    for (int i = 0; (row = registry_row(i)) != NULL; i++) {
        if (!row->block || row->box || row->splits ||
            (row->tensor && row->info.number % 4 != 1 && harness_tier() != TIER_LONG))
            continue;
        compare_with_every_block(row, NULL, TESS_F32, (shape){67, 139, 219}, 1, TESS_COUNT_COMPILED);
        if (!full || (row->info.number % 2 == 0 && harness_tier() != TIER_LONG)) continue;
        compare_with_every_block(row, NULL, TESS_F32, (shape){64, 256, 224}, 1, TESS_COUNT_SOURCE);
        if (row->info.number % 4 == 1 && registry_takes(row, TESS_F64, TESS_F64))
            compare_with_every_block(row, NULL, TESS_F64, (shape){33, 130, 37}, 3, TESS_COUNT_COMPILED);
    }
}

/* The last rung of the second ladder takes tiles in another order than blocks have. */
TEST(counters_of_blocks_in_another_order) {
    sentence why;
    const kernel_row *row = registry_find("gpu", "mma_07_raster", &why);
    if (!can_count() || !CHECK(row != NULL, "%s", why.text)) return;
    const char *small = "BM=64,BN=64,WM=32,WN=32,KSTEPS=2,GROUP=4";
    compare_with_every_block(row, small, TESS_BF16, (shape){650, 200, 248}, 1, TESS_COUNT_SOURCE);
    compare_with_every_block(row, small, TESS_I8, (shape){130, 400, 513}, 2, TESS_COUNT_COMPILED);
}

/* Blocks of several products, of which the last has fewer. */
TEST(counters_of_blocks_with_several_products) {
    sentence why;
    const kernel_row *row = registry_find("gpu", "simt_16_batched", &why);
    if (!can_count() || !CHECK(row != NULL, "%s", why.text)) return;
    const char *small = "BM=8,BN=8,BK=8,TM=1,PRODUCTS=8";
    compare_with_every_block(row, small, TESS_F32, (shape){9, 12, 16}, 21, TESS_COUNT_COMPILED);
    compare_with_every_block(row, small, TESS_F32, (shape){8, 7, 5}, 64, TESS_COUNT_SOURCE);
    compare_with_every_block(row, NULL, TESS_F64, (shape){16, 16, 16}, 9, TESS_COUNT_COMPILED);
}

/* ---- Ragged edges by hand ---- */

/* Requests and sectors of the lanes' addresses; WARPS_NOWHERE where a lane has none. */
static void add_by_hand(const uint64_t at[32], double *requests, double *sectors) {
    int any = 0;
    for (int lane = 0; lane < 32; lane++) {
        int seen = at[lane] == WARPS_NOWHERE;
        any |= !seen;
        for (int other = 0; other < lane && !seen; other++)
            seen = at[other] != WARPS_NOWHERE && at[other] / 32 == at[lane] / 32;
        *sectors += !seen;
    }
    *requests += any;
}

typedef struct by_hand {
    double load_requests, load_sectors, store_requests, store_sectors;
} by_hand;

/* simt_09_tile2d with its parameters, one warp of one block: what its text says each lane loads and stores. */
static void add_warp(shape s, int64_t row_tile, int64_t col_tile, int warp, by_hand *sum) {
    uint64_t at[32];
    for (int64_t k_tile = 0; k_tile < s.k; k_tile += 8)
        for (int i = 0; i < 8; i++) {
            for (int lane = 0; lane < 32; lane++) {
                int tid = warp * 32 + lane;
                int64_t row = row_tile + i * 32 + tid / 8, k = k_tile + tid % 8;
                int64_t k_b = k_tile + (i - 4) * 2 + tid / 128, col = col_tile + tid % 128;
                if (i < 4)
                    at[lane] = row < s.m && k < s.k ? (uint64_t)(4 * (row * s.k + k)) : WARPS_NOWHERE;
                else
                    at[lane] = k_b < s.k && col < s.n ? (uint64_t)(4 * (k_b * s.n + col)) : WARPS_NOWHERE;
            }
            add_by_hand(at, &sum->load_requests, &sum->load_sectors);
        }
    for (int i = 0; i < 64; i++) {
        for (int lane = 0; lane < 32; lane++) {
            int tid = warp * 32 + lane;
            int64_t row = row_tile + tid / 16 * 8 + i / 8, col = col_tile + tid % 16 * 8 + i % 8;
            at[lane] = row < s.m && col < s.n ? (uint64_t)(4 * (row * s.n + col)) : WARPS_NOWHERE;
        }
        add_by_hand(at, &sum->store_requests, &sum->store_sectors);
    }
}

TEST(counters_of_ragged_edges) {
    shape s = {517, 263, 131};
    by_hand want = {0, 0, 0, 0};
    tess_counters c;
    if (!can_count()) return;
    for (int64_t row_tile = 0; row_tile < s.m; row_tile += 128)
        for (int64_t col_tile = 0; col_tile < s.n; col_tile += 128)
            for (int warp = 0; warp < 8; warp++) add_warp(s, row_tile, col_tile, warp, &want);
    if (count("simt_09_tile2d", NULL, TESS_F32, s, 1, TESS_COUNT_SOURCE, &c) != TESS_OK) return;
    CHECK(c.global_load_requests == want.load_requests && c.global_load_sectors == want.load_sectors,
          "%.0f load requests, %.0f sectors; by hand %.0f, %.0f", c.global_load_requests,
          c.global_load_sectors, want.load_requests, want.load_sectors);
    CHECK(c.global_store_requests == want.store_requests && c.global_store_sectors == want.store_sectors,
          "%.0f store requests, %.0f sectors; by hand %.0f, %.0f", c.global_store_requests,
          c.global_store_sectors, want.store_requests, want.store_sectors);
}

/* ---- What is refused, and what is left behind ---- */

TEST(counters_are_refused_in_sentences) {
    tess_context *ctx;
    tess_plan *made;
    tess_counters c;
    tess_line_counters by_line[4];
    tess_matrix M = tess_view_row_major(TESS_F32, 8, 8, NULL, 8);
    CHECK(tess_count(NULL, TESS_COUNT_SOURCE, &c, NULL, NULL) == TESS_ERROR_ARGUMENT, "no plan was accepted");
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return;
    if (CHECK_STATUS(tess_plan_gemm(ctx, &M, &M, &M, NULL, NULL, &made), TESS_OK, ctx)) {
        CHECK_STATUS(tess_count(made, TESS_COUNT_SOURCE, &c, NULL, NULL), TESS_ERROR_DEVICE, ctx);
        CHECK(strstr(tess_error(ctx), "simulator"), "%s", tess_error(ctx));
        CHECK_STATUS(tess_count(made, (tess_count_view)7, &c, NULL, NULL), TESS_ERROR_ARGUMENT, ctx);
        CHECK_STATUS(tess_count(made, TESS_COUNT_SOURCE, NULL, NULL, NULL), TESS_ERROR_ARGUMENT, ctx);
        CHECK_STATUS(tess_count(made, TESS_COUNT_SOURCE, &c, by_line, NULL), TESS_ERROR_ARGUMENT, ctx);
        tess_free_plan(made);
    }
    tess_close(ctx);
}

/* Lines come sorted, their sum is the sum, and too little room still tells how many there are. */
TEST(counters_of_lines_add_up) {
    tess_context *ctx;
    tess_plan *made;
    tess_counters sum, again;
    tess_line_counters by_line[64];
    size_t found = 64, least = 1;
    double loads = 0, shared = 0;
    tess_options options = {.kernel = "simt_09_tile2d"};
    tess_matrix M = tess_view_row_major(TESS_F32, 128, 128, NULL, 128);
    if (!can_count() || !CHECK_STATUS(tess_open(&ctx, "sim"), TESS_OK, NULL)) return;
    if (CHECK_STATUS(tess_plan_gemm(ctx, &M, &M, &M, NULL, &options, &made), TESS_OK, ctx)) {
        CHECK_STATUS(tess_count(made, TESS_COUNT_COMPILED, &sum, by_line, &found), TESS_OK, ctx);
        CHECK_STATUS(tess_count(made, TESS_COUNT_COMPILED, &again, by_line + 63, &least), TESS_OK, ctx);
        CHECK(found >= 4 && found < 64 && least == found, "%d lines, then %d", (int)found, (int)least);
        for (size_t i = 0; i < found; i++) {
            loads += by_line[i].counters.global_load_sectors;
            shared += by_line[i].counters.shared_load_wavefronts;
            CHECK(by_line[i].line > 0 && (i == 0 || by_line[i].line > by_line[i - 1].line),
                  "line %d after %d", by_line[i].line, i ? by_line[i - 1].line : 0);
        }
        CHECK(loads == sum.global_load_sectors && shared == sum.shared_load_wavefronts,
              "lines have %.0f sectors and %.0f wavefronts, the sum %.0f and %.0f", loads, shared,
              sum.global_load_sectors, sum.shared_load_wavefronts);
        tess_free_plan(made);
    }
    tess_close(ctx);
}

static tess_status count_with_failure(int64_t successes) {
    tess_context *ctx;
    tess_plan *made = NULL;
    tess_counters c;
    tess_matrix M = tess_view_row_major(TESS_F32, 40, 40, NULL, 40);
    tess_options options = {.kernel = "simt_05_shared"};
    memory_fail_after(successes);
    tess_status status = tess_open(&ctx, "sim");
    if (status == TESS_OK) status = tess_plan_gemm(ctx, &M, &M, &M, NULL, &options, &made);
    if (status == TESS_OK) status = tess_count(made, TESS_COUNT_COMPILED, &c, NULL, NULL);
    memory_fail_after(-1);
    tess_free_plan(made);
    tess_close(ctx);
    return status;
}

TEST(counters_survive_failing_allocations) {
    if (!can_count()) return;
    CHECK(count_with_failure(-1) == TESS_OK, "%s", tess_error(NULL));
    int64_t before = memory_live(), failures = 0;
    for (int64_t n = 0; n < 90; n++) {
        failures += count_with_failure(n) != TESS_OK;
        CHECK(memory_live() == before, "failing allocation %d leaves %d blocks", (int)n,
              (int)(memory_live() - before));
    }
    CHECK(failures > 20, "only %d allocations failed", (int)failures);
}
