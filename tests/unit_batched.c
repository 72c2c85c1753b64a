/* unit_batched.c: launches of a kernel whose blocks have several products of a batch: every product is there once, however
 * many a grid cannot hold. */
#include "harness.h"

#include "../src/launch.h"

enum { EACH = 4, ROWS = 8, COLS = 16, MOST = 65535 };

static problem batch_of(int64_t m, int64_t n, int64_t k, int64_t count) {
    return (problem){.in = TESS_F32,
                     .out = TESS_F32,
                     .acc = TESS_F32,
                     .m = m,
                     .n = n,
                     .k = k,
                     .a_row = k,
                     .a_col = 1,
                     .b_row = n,
                     .b_col = 1,
                     .c_row = n,
                     .c_col = 1,
                     .batch = {count, m * k, k * n, m * n}};
}

/* The launches follow each other, and none has more products than its blocks. */
static void check_launches(int64_t count) {
    const problem run = batch_of(10, 20, 3, count);
    const launch_shape shape = {.tile_rows = ROWS,
                                .tile_cols = COLS,
                                .products = EACH,
                                .cluster_rows = 1,
                                .cluster_cols = 1};
    launch_walk walk;
    launch_gemm args;
    unsigned grid[3];
    int64_t done = 0, blocks = 0;
    char *const somewhere = (char *)(uintptr_t)4096; /* nothing is read there */
    launch_begin(&walk, &run, &(operands){somewhere, somewhere, somewhere, .alpha = 1}, shape);
    while (launch_next(&walk, &args, grid)) {
        int64_t first = ((const char *)args.c - somewhere) / (10 * 20 * 4);
        CHECK(first == done && grid[0] == 2 && grid[1] == 2 && grid[2] <= MOST,
              "a launch of %u×%u×%u blocks from product %lld on, after %lld", grid[0], grid[1], grid[2],
              (long long)first, (long long)done);
        CHECK((args.count + EACH - 1) / EACH == (int64_t)grid[2], "%u blocks for %d products", grid[2],
              args.count);
        done += args.count;
        blocks += (int64_t)grid[0] * grid[1] * grid[2];
    }
    CHECK(done == count, "%lld products of %lld", (long long)done, (long long)count);
    CHECK(blocks == launch_tiles(&shape, &run), "%lld blocks, and %lld are told", (long long)blocks,
          (long long)launch_tiles(&shape, &run));
}

TEST(batched_launches_have_every_product_once) {
    static const int64_t counts[] = {1,           EACH - 1,        EACH,           EACH + 1,
                                     MOST * EACH, MOST * EACH + 1, 3 * MOST * EACH};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_launches(counts[i]);
}

/* The row says how many products a block has; others have one. */
TEST(batched_shape_comes_from_the_row) {
    static const struct {
        const char *kernel;
        int products, threads;
    } rows[] = {{"simt_16_batched", 4, 64}, {"simt_15_split", 1, 128}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t params[REGISTRY_PARAMS];
        launch_shape shape;
        sentence why;
        const kernel_row *row = registry_find("gpu", rows[i].kernel, &why);
        if (!CHECK(row != NULL, "%s", why.text)) continue;
        registry_defaults(row, TESS_F32, params);
        CHECK(launch_shape_of(row, TESS_F32, params, &shape, &why) == TESS_OK &&
                  shape.products == rows[i].products && shape.block_x == rows[i].threads,
              "%s: %d products of %d threads, %s", rows[i].kernel, shape.products, shape.block_x, why.text);
    }
}
