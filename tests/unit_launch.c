/* unit_launch.c: the shapes of launches. White-box: src/launch.h. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "../src/kernel_source.h"
#include "../src/launch.h"

/* A thread remembers some shapes: with more of them than that, and errors between, each is still its own. */
TEST(launch_shapes_are_those_of_their_parameters) {
    int64_t params[REGISTRY_PARAMS];
    launch_shape shape;
    sentence why;
    const kernel_row *row = registry_find("gpu", "simt_05_shared", &why);
    registry_defaults(row, TESS_F32, params);
    int at = registry_find_param(row, "TILE");
    for (int pass = 0; pass < 3; pass++)
        for (int tile = 1; tile <= 32; tile += pass == 1 ? 13 : 3) {
            params[at] = tile;
            CHECK(launch_shape_of(row, TESS_F32, params, &shape, &why) == TESS_OK && shape.block_x == tile &&
                      shape.tile_rows == tile,
                  "TILE=%d: %d threads, %d rows", tile, shape.block_x, shape.tile_rows);
            params[at] = 64;
            CHECK(launch_shape_of(row, TESS_F32, params, &shape, &why) == TESS_ERROR_KERNEL,
                  "64×64 threads were taken");
        }
}

/* The same parameters need twice the memory for elements twice as wide, whichever type came before. */
TEST(launch_shapes_are_those_of_their_type) {
    int64_t params[REGISTRY_PARAMS];
    sentence why;
    const kernel_row *row = registry_find("gpu", "simt_12_pipelined", &why);
    registry_defaults(row, TESS_F64, params);
    for (int pass = 0; pass < 2; pass++) {
        launch_shape narrow = {.shared = 0}, wide = {.shared = 0};
        CHECK(launch_shape_of(row, TESS_F32, params, &narrow, &why) == TESS_OK &&
                  launch_shape_of(row, TESS_F64, params, &wide, &why) == TESS_OK,
              "%s", why.text);
        CHECK(narrow.shared > 0 && wide.shared == 2 * narrow.shared, "%d bytes for f32, %d for f64",
              narrow.shared, wide.shared);
    }
}

/* Of whole clusters, which begin at a row or column of their own; no more blocks than run at once, nor than the rounds take. */
TEST(launch_grids_of_clusters) {
    static const struct {
        int persistent, splits, laces;
        int cluster[3]; /* rows, columns, shares */
        int64_t at_once;
        unsigned grid[3], want[3];
    } cases[] = {{0, 0, 0, {1, 1, 1}, 0, {3, 2, 5}, {3, 2, 5}},
                 {1, 0, 0, {1, 1, 1}, 132, {3, 2, 5}, {30, 1, 1}},
                 {1, 0, 0, {1, 1, 1}, 132, {3, 9, 5}, {68, 1, 1}},
                 {1, 0, 0, {2, 1, 1}, 133, {3, 9, 5}, {76, 1, 1}},
                 {1, 0, 0, {2, 1, 1}, 132, {3, 5, 1}, {18, 1, 1}},
                 {1, 0, 0, {1, 2, 1}, 132, {3, 5, 1}, {20, 1, 1}},
                 {1, 0, 0, {1, 1, 2}, 132, {3, 5, 1}, {30, 1, 1}},
                 {1, 0, 0, {2, 1, 1}, 132, {7, 19, 2}, {94, 1, 1}},
                 {1, 1, 0, {1, 1, 1}, 132, {3, 9, 5}, {132, 1, 1}},
                 {1, 1, 0, {2, 1, 1}, 132, {3, 5, 1}, {18, 1, 1}},
                 {1, 0, 0, {4, 1, 1}, 3, {9, 9, 1}, {4, 1, 1}},
                 {1, 0, 0, {1, 1, 1}, 132, {1 << 20, 65535, 65535}, {132, 1, 1}},
                 {1, 0, 8, {1, 1, 1}, 132, {3, 9, 5}, {132, 1, 1}},
                 {1, 0, 8, {1, 1, 1}, 132, {1, 1, 1}, {132, 1, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned grid[3];
        memcpy(grid, cases[i].grid, sizeof grid);
        const int *c = cases[i].cluster;
        const kernel_row row = {.persistent = cases[i].persistent,
                                .splits = cases[i].splits,
                                .laces = cases[i].laces};
        const launch_shape of = {.cluster = c[0] * c[1] * c[2], .cluster_rows = c[0], .cluster_cols = c[1]};
        launch_fit_grid(&row, &of, cases[i].at_once, grid);
        CHECK(memcmp(grid, cases[i].want, sizeof grid) == 0, "case %zu: grid %u, %u, %u", i, grid[0], grid[1],
              grid[2]);
    }
}

/* What whole tiles leave of C, if it is little, and one product. */
TEST(launch_rims) {
    static const struct {
        int64_t m, n, count;
        int rows, cols;
    } cases[] = {{4096, 4096, 1, 0, 0}, {4097, 4097, 1, 1, 1}, {4104, 4104, 1, 8, 8}, {4105, 4105, 1, 0, 0},
                 {1025, 257, 1, 1, 1},  {1024, 256, 1, 0, 0},  {8, 8, 1, 0, 0},       {1, 257, 1, 0, 1},
                 {1152, 264, 1, 0, 8},  {4097, 4097, 2, 0, 0}, {2056, 5000, 1, 8, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const problem what = {.m = cases[i].m, .n = cases[i].n, .k = 7, .batch.count = cases[i].count};
        launch_rim rim = launch_rim_of(&what);
        CHECK(rim.rows == cases[i].rows && rim.cols == cases[i].cols, "case %zu: %d rows, %d columns", i,
              rim.rows, rim.cols);
    }
}

/* Columns that the first round of 132 tiles does not need are copied beside it, and of those it does, all but the first part of k;
 * where there are few rows of tiles, few rounds, or products of a batch, nothing is. */
TEST(launch_copies_beside_products) {
    static const struct {
        int64_t m, n, k, count;
        int parts, whole, some, chunk;
        int64_t counts;
    } cases[] = {{4097, 4097, 4097, 1, 4, 10, 6, 1040, 65}, {4095, 4095, 4095, 1, 4, 11, 4, 1024, 61},
                 {4100, 4100, 4100, 1, 1, 10, 6, 4112, 17}, {4097, 4097, 4097, 1, 0, 0, 0, 0, 0},
                 {4097, 4097, 4097, 2, 4, 0, 0, 0, 0},      {4097, 2817, 4097, 1, 4, 0, 0, 0, 0},
                 {4097, 3073, 4097, 1, 4, 6, 6, 1040, 49},  {2049, 8193, 4097, 1, 4, 0, 0, 0, 0},
                 {2061, 3602, 37, 1, 4, 8, 6, 16, 43},      {3090, 3075, 37, 1, 4, 6, 6, 16, 37},
                 {2061, 3601, 37, 1, 1, 8, 6, 48, 15},      {4097, 4096, 64, 1, 2, 10, 5, 32, 31},
                 {4097, 4097, 0, 1, 4, 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const problem what = {.m = cases[i].m,
                              .n = cases[i].n,
                              .k = cases[i].k,
                              .batch.count = cases[i].count};
        const launch_late late = launch_late_of(&what, cases[i].parts);
        CHECK(late.whole == cases[i].whole && late.some == cases[i].some && late.chunk == cases[i].chunk,
              "case %zu: %d whole columns of tiles, %d more, %d lines", i, late.whole, late.some, late.chunk);
        CHECK(launch_late_counts(&late, what.k) == cases[i].counts, "case %zu: %d counts", i,
              (int)launch_late_counts(&late, what.k));
    }
}

/* A comment that is too long for a line moves the value to the next, as a formatter writes it. */
TEST(launch_parameters_may_take_two_lines) {
    kernel_source source;
    sentence why = {""};
    tess_status status = kernel_source_parse("test_05_long.cu",
                                             "/* test_05_long: parameters */\n"
                                             "#ifndef WIDE\n#define WIDE \\\n    7 /* a number */\n#endif\n",
                                             &source, &why);
    CHECK(status == TESS_OK && source.param_count == 1 && source.defaults[0] == 7 &&
              strcmp(source.params, "WIDE: a number (7)") == 0,
          "%s%d of 1 parameters: %s", why.text, source.param_count, source.params);
}

/* A file with as many parameters as there may be, and with one more. */
TEST(launch_parameters_are_counted) {
    char text[2048] = "/* test_04_many: parameters */\n";
    kernel_source source;
    sentence why = {""};
    for (int i = 0; i <= KERNEL_SOURCE_PARAMS; i++) {
        size_t used = strlen(text);
        CHECK(kernel_source_parse("test_04_many.cu", text, &source, &why) == TESS_OK &&
                  source.param_count == i,
              "%d of %d parameters: %s", source.param_count, i, why.text);
        snprintf(text + used, sizeof text - used, "#ifndef P%d\n#define P%d 1 /* a number */\n#endif\n", i,
                 i);
    }
    CHECK(kernel_source_parse("test_04_many.cu", text, &source, &why) == TESS_ERROR_KERNEL &&
              strcmp(why.text, "test_04_many.cu has more than 16 parameters: P16 is one too many") == 0,
          "%s", why.text);
}
