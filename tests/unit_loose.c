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
};
enum { TILINGS = sizeof tilings / sizeof *tilings };

/* Microseconds with each, bf16 in rows, in bursts (tessera bench KERNEL --params … --sizes … --mode burst); 0: not measured. */
static const struct {
    int64_t size;
    double times[TILINGS];
} squares[] = {
    {520, {4.319, 4.377, 5.368, 7.15, 6.047, 6.365, 7.492, 7.92, 9.792, 10.36, 9.732, 10.28, 9.719, 4.5}},
    {1000, {7.437, 7.108, 8.611, 7.458, 8.426, 8.1, 10.85, 11.31, 14.67, 15.71, 13.18, 13.66, 14.38}},
    {1304, {14.59, 14.5, 20.15, 19.3, 12.49, 13.76, 16.13, 15.43, 18.05, 18.84, 17.32, 17.97, 18.3}},
    {1800, {37.37, 36.31, 52.31, 48.11, 29.95, 31.63, 39.35, 36.32, 25.33, 24.85, 24.45, 24.47, 29.46}},
    {2200, {54.03, 52.43, 68.28, 80.74, 50.52, 45.2, 42.98, 43.34, 53.14, 53.11, 52.55, 50.45, 60.63}},
    {2504, {86.14, 82.64, 103.6, 92.78, 74.38, 69.22, 70.44, 66.08, 61.86, 61.12, 56.45, 55.07, 75.67}},
    {3000, {134.9, 124.4, 160.2, 143, 108.9, 101.5, 82.5, 77.47, 75, 74.08, 98.23, 95.72, 93.31}},
    {3208, {166.1, 161.5, 211.4, 206.7, 140.7, 126, 116.2, 113.9, 111.9, 112, 108.8, 104.8, 136.5}},
    {4104, {337.5, 335, 436.9, 432.7, 273.8, 272.4, 223.8, 227, 196.3, 199.6, 229.7, 233.8, 229.1}},
    {5000, {595, 563.5, 752.5, 626.2, 485, 415.8, 397.4, 371.1, 377.2, 350.7, 371.5, 362.1, 418.1}},
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
    } cases[] = {{1000, 2, 1, 0, 0, 1}, {1000, 4, 1, 0, 0, 1}, {1000, 1, 1, 0, 0, 0}, {1001, 2, 1, 0, 0, 0},
                 {1000, 2, 3, 0, 0, 0}, {1000, 2, 1, 0, 1, 0}, {1000, 2, 1, 1, 0, 0}};
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
        CHECK(!cases[i].laced || (run.batch.stride_a == a_row && run.batch.stride_b == 0 &&
                                  run.batch.stride_c == decided.what.c_row),
              "case %d: products %d, %d and %d apart", (int)i, (int)run.batch.stride_a,
              (int)run.batch.stride_b, (int)run.batch.stride_c);
    }
}
