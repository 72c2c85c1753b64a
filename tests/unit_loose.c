/* unit_loose.c: the tiles that the planner takes where lines of A and B begin at multiples of 16 bytes and every second one
 * within a sector of 32, beside what pairs of blocks took on an H200. White-box: it asks cuda_choose; no GPU is needed. */
#include "harness.h"

#include <string.h>

#include "../src/product.h"
#include "unit_h200.h"

static const h200_tiling tilings[] = {
    {"wgmma_07_fitted", "BM=64,BN=128,CM=2"},
    {"wgmma_07_fitted", "BM=64,BN=128,EVERY=2,CM=2"},
    {"wgmma_07_fitted", "BM=128,BN=64,CM=2"},
    {"wgmma_07_fitted", "BM=128,BN=64,EVERY=2,CM=2"},
    {"wgmma_07_fitted", "BM=128,BN=128,CM=2"},
    {"wgmma_07_fitted", "BM=128,BN=128,EVERY=2,CM=2"},
    {"wgmma_07_fitted", "BM=128,BN=192,CM=2"},
    {"wgmma_07_fitted", "BM=128,BN=192,EVERY=2,CM=2"},
    {"wgmma_07_fitted", "BM=192,BN=192,CM=2"},
    {"wgmma_07_fitted", "BM=192,BN=192,EVERY=2,CM=2"},
    {"wgmma_07_fitted", "BM=128,BN=256,CM=2"},
    {"wgmma_07_fitted", "BM=128,BN=256,EVERY=2,CM=2"},
    {"wgmma_07_fitted", "BM=192,BN=192,STAGES=4,TURN=0"},
    {"wgmma_07_fitted", "BM=64,BN=64,STAGES=8"},
    {"wgmma_11_halves", "BM=144,BN=128,CN=2"},
    {"wgmma_11_halves", "BM=160,BN=128,CN=2"},
    {"wgmma_11_halves", "BM=208,BN=128,CN=2"},
    {"wgmma_11_halves", "BM=216,BN=128,CN=2"},
    {"wgmma_11_halves", "BM=224,BN=128,CN=2"},
    {"wgmma_11_halves", "BM=240,BN=128,CN=2"},
    {"wgmma_11_halves", "BM=144,BN=192,CN=2"},
    {"wgmma_11_halves", "BM=176,BN=192,CN=2"},
    {"wgmma_11_halves", "BM=208,BN=192,CN=2"},
    {"wgmma_11_halves", "BM=144,BN=192,CM=2"},
    {"wgmma_11_halves", "BM=176,BN=192,CM=2"},
    {"wgmma_11_halves", "BM=208,BN=192,CM=2"},
    {"wgmma_11_halves", "BM=136,BN=256,CM=2"},
    {"wgmma_11_halves", "BM=152,BN=256,CM=2"},
    {"wgmma_11_halves", "BM=160,BN=256,CM=2"},
};
enum { TILINGS = sizeof tilings / sizeof *tilings };

/* Microseconds with each, bf16 in rows, in bursts (tessera bench KERNEL --params … --sizes … --mode burst); 0: not measured. Pairs
 * waited for each other in the end then, for 0.4 of them; those of tiles of 192 and 256 columns are newer: they do not, and their
 * warpgroups take turns. */
static const struct {
    int64_t size;
    double times[TILINGS];
} squares[] = {
    {520, {4.539, 4.649, 4.938, 5.824, 5.953, 6.163, 7.515, 7.872, 9.865, 10.34, 9.75, 10.25, 9.719, 4.5}},
    {1000, {7.474, 7.066, 8.641, 7.507, 8.458, 8.145, 10.81, 11.23, 14.72, 15.36, 13.25, 13.66, 14.38}},
    {1304,
     {14.93, 14.41, 17.21, 19.18, 12.5,  13.69, 14.58, 15.31, 18.15, 18.74, 17.23, 17.81, 18.3,  0,    12.86,
      13.28, 15.08, 15.79, 14.89, 16.18, 15.48, 16.81, 19.23, 15.81, 17.33, 19.11, 0,     19.43, 19.46}},
    {1800,
     {38.39, 37.1,  45.28, 48,    30.02, 31.54, 34.12, 37.01, 25.4,  24.82, 24.68, 24.52, 29.46, 0,    31.95,
      33.06, 36.99, 36.79, 36.62, 21.71, 20.93, 22.88, 26.09, 35.12, 23.4,  26.04, 0,     25.62, 26.56}},
    {2200,
     {54.67, 53.04, 68.29, 67.45, 50.87, 45.11, 42.81, 38.81, 52.33, 52.57, 52.98, 49.93, 60.63, 0,    52.88,
      37.6,  44.18, 44.63, 44.95, 46.53, 47.4,  50.09, 32,    45.53, 49.89, 56.8,  0,     56.7,  32.17}},
    {2504,
     {87.09, 83.51, 104.9, 93.46, 74.12, 68.99, 67.96, 63.93, 63.1,  60.85, 57.02, 54.98, 75.67, 0,    59.2,
      61.46, 49.73, 51.29, 50.93, 53.27, 52.27, 58.54, 64.56, 51.05, 57.62, 65.03, 0,     63.97, 65.41}},
    {3000,
     {128.9, 124,   161.3, 143.9, 109.1, 100.8, 82.98, 78.36, 75.82, 75.17, 98.65, 95.05, 93.31, 0,    92.06,
      94.95, 83.53, 86.11, 86.04, 89.8,  90.78, 97.49, 80.37, 86.01, 101.8, 81.58, 0,     79,    81.48}},
    {3208,
     {170.6, 165.2, 214.3, 179.2, 141.6, 127.1, 117.6, 107.9, 112,   112.6, 108.7, 105.7, 136.5, 0,    120.9,
      125,   117.3, 95.2,  96.72, 100.7, 125.4, 109.3, 120.5, 118.3, 108.1, 120,   0,     118.8, 121.4}},
    {4104,
     {326.9, 319.3, 417.1, 398,   264.1, 247.7, 217, 210.7, 199.1, 200.4, 218.6, 220.3, 229.1, 0,    239.4,
      220.1, 220.6, 196.8, 200.6, 209.8, 207.5, 194, 209,   200.2, 192.5, 208.9, 0,     209.7, 211.8}},
    {5000,
     {596.9, 575.3, 757.5, 629.7, 485,   428,   392.4, 372.4, 364.9, 355.1, 371.2, 363.8, 418.1, 0,    430.4,
      406.4, 370.5, 376.2, 345.4, 354.9, 399.3, 392.5, 383.2, 381.4, 390.3, 384.9, 345.6, 373.7, 339.5}},
};

/* Within 6 % of the fastest, and within 2 % in the mean. */
TEST(loose_products_get_tiles_that_were_fast) {
    const cuda_device *self = h200_begin();
    const size_t count = sizeof squares / sizeof *squares;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t size = squares[i].size;
        choice_cut cut = {.share = 0};
        problem what = h200_problem(TESS_BF16, TESS_COMPUTE_DEFAULT, size, size, size, 1);
        choice chosen = cuda_choose((const device *)self, &what, &cut);
        double best, taken = h200_time_of(chosen, tilings, squares[i].times, TILINGS, &best);
        CHECK(cut.share == 0 && taken > 0 && taken < 1.06 * best, "%d: %s %s takes %.1f us, the best %.1f",
              (int)size, chosen.kernel, chosen.params, taken, best);
        sum += taken / best;
    }
    CHECK(sum < 1.02 * (double)count, "%.3f times the best in the mean", sum / (double)count);
    h200_end();
}

/* Of wide tiles pairs share B. What that takes, and what the planner took before (tiles whose pairs share A, or wgmma_07_fitted's):
 * all on one card, in turns. */
TEST(loose_pairs_share_what_is_wider) {
    static const struct {
        int64_t size;
        const char *tile;
        double before, now;
    } cases[] = {{2056, "BM=176,BN=192,CM=2", 27.82, 26.39}, {2936, "BM=136,BN=256,CM=2", 73.4, 71.69},
                 {3128, "BM=160,BN=256,CM=2", 91.75, 87.22}, {4104, "BM=176,BN=192,CM=2", 196, 193.2},
                 {4616, "BM=136,BN=256,CM=2", 287.6, 274.3}, {5000, "BM=160,BN=256,CM=2", 347.9, 339.7},
                 {5624, "BM=160,BN=256,CM=2", 472.8, 462.2}, {5840, "BM=152,BN=256,CM=2", 540.7, 526.2}};
    const cuda_device *self = h200_begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t size = cases[i].size;
        problem what = h200_problem(TESS_BF16, TESS_COMPUTE_DEFAULT, size, size, size, 1);
        choice chosen = cuda_choose((const device *)self, &what, &(choice_cut){.share = 0});
        CHECK(strcmp(chosen.kernel, "wgmma_11_halves") == 0 && strstr(chosen.params, cases[i].tile),
              "%d: %s %s, not %s, which took %.1f us instead of %.1f", (int)size, chosen.kernel,
              chosen.params, cases[i].tile, cases[i].now, cases[i].before);
    }
    h200_end();
}

/* Every second row is for an A in rows that begin within sectors by turns, for an even number of them, and for one product. */
TEST(loose_tiles_have_every_second_row_where_that_helps) {
    static const struct {
        int64_t m, k, row, count; /* row: from one of A to the next */
        int in_columns, laced;
    } cases[] = {{1000, 1000, 1000, 1, 0, 1}, {1000, 1000, 1000, 1, 1, 0}, {1000, 1000, 1000, 2, 0, 0},
                 {1001, 1000, 1000, 1, 0, 0}, {1000, 1000, 1016, 1, 0, 1}, {1000, 1000, 1008, 1, 0, 0},
                 {1000, 999, 1000, 1, 0, 1},  {1000, 1000, 1001, 1, 0, 0}};
    const cuda_device *self = h200_begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem what =
            h200_problem(TESS_BF16, TESS_COMPUTE_DEFAULT, cases[i].m, 1000, cases[i].k, cases[i].count);
        choice_cut cut = {.share = 0};
        what.a_row = cases[i].in_columns ? 1 : cases[i].row;
        what.a_col = cases[i].in_columns ? cases[i].row : 1;
        choice chosen = cuda_choose((const device *)self, &what, &cut);
        CHECK((strstr(chosen.params, "EVERY=2") != NULL) == cases[i].laced, "case %d: %s", (int)i,
              chosen.params);
        CHECK((strstr(chosen.reason, "every second row") != NULL) == cases[i].laced, "case %d: %s", (int)i,
              chosen.reason);
    }
    h200_end();
}

/* They are then products of a batch, which share B; what cannot be taken apart stays as it is. */
TEST(loose_rows_are_a_batch) {
    static const struct {
        int64_t m, every, count, misaligned;
        int in_columns, laced;
    } cases[] = {{1000, 2, 1, 0, 0, 1}, {1000, 1, 1, 0, 0, 0}, {1001, 2, 1, 0, 0, 0},
                 {1000, 2, 3, 0, 0, 0}, {1000, 2, 1, 0, 1, 0}, {1000, 2, 1, 1, 0, 1}};
    sentence why = {""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan decided = {.kernel = registry_find("gpu", "wgmma_07_fitted", &why)};
        route way;
        int64_t m = cases[i].m, every = cases[i].every, a_row = 1000 + cases[i].misaligned;
        decided.what = h200_problem(TESS_BF16, TESS_COMPUTE_DEFAULT, m, 1000, 1000, cases[i].count);
        decided.what.a_row = cases[i].in_columns ? 1 : a_row;
        decided.what.a_col = cases[i].in_columns ? m : 1;
        registry_defaults(decided.kernel, TESS_BF16, decided.params);
        decided.params[registry_find_param(decided.kernel, "EVERY")] = every;
        CHECK(route_of(&decided.what, decided.kernel, decided.params, NULL, &way, &why) == TESS_OK, "%s",
              why.text);
        problem run = product_first(&decided, &way);
        if (!cases[i].laced) every = 1;
        CHECK(run.m * every == m && run.batch.count == every * cases[i].count, "case %d: %d rows, %d times",
              (int)i, (int)run.m, (int)run.batch.count);
        CHECK(run.a_row == every * way.run.a_row && run.c_row == every * way.run.c_row, "case %d", (int)i);
        CHECK(!cases[i].laced || (run.batch.stride_a == way.run.a_row && run.batch.stride_b == 0 &&
                                  run.batch.stride_c == decided.what.c_row),
              "case %d: products %d, %d and %d apart", (int)i, (int)run.batch.stride_a,
              (int)run.batch.stride_b, (int)run.batch.stride_c);
    }
}
