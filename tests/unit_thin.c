/* unit_thin.c: what the planner takes for bf16 products of few rows, and for tiny ones, beside what they took on an H200.
 * White-box: it asks cuda_choose; no GPU is needed. */
#include "harness.h"

#include <string.h>

#include "unit_h200.h"

/* Whether warpgroups take turns makes no difference here. */
#define FITTED(rows, cols, stages) \
    { "wgmma_07_fitted", "BM=" #rows ",BN=" #cols ",STAGES=" #stages }
#define SPLIT(rows, cols, deep, stages) \
    { "wgmma_09_split", "BM=" #rows ",BN=" #cols ",CK=" #deep ",STAGES=" #stages }
static const h200_tiling tilings[] = {FITTED(64, 64, 8),     FITTED(64, 128, 8),   FITTED(128, 64, 8),
                                      FITTED(128, 128, 6),   FITTED(64, 192, 6),   FITTED(128, 192, 4),
                                      SPLIT(64, 64, 2, 8),   SPLIT(64, 64, 4, 8),  SPLIT(128, 64, 2, 6),
                                      SPLIT(128, 128, 2, 5), SPLIT(128, 192, 2, 4)};
enum { TILINGS = sizeof tilings / sizeof *tilings };

/* Products in rows, and microseconds with each, in bursts; 0: not measured. B is 33 to 262 MB. */
static const struct {
    int64_t m, n, k;
    double times[TILINGS];
} cases[] = {
    {16, 4096, 4096, {9.2, 11.7, 12.2, 20.5, 16.1, 29.9, 7.1, 11.6, 9.2, 0, 0}},
    {64, 4096, 4096, {9.4, 11.9, 12.3, 20.8, 16.6, 30.2, 8.1, 12.3, 9.5, 13.1, 18.5}},
    {256, 4096, 4096, {21.6, 17.0, 15.6, 21.5, 21.2, 31.0, 25.9, 35.4, 19.8, 15.4, 19.9}},
    {16, 11008, 4096, {26.9, 29.6, 29.7, 29.9, 25.2, 31.5, 25.9, 28.9, 30.7, 31.4, 26.1}},
    {64, 11008, 4096, {27.6, 30.0, 30.2, 30.4, 26.0, 32.0, 27.0, 29.9, 31.9, 31.9, 26.6}},
    {128, 11008, 4096, {36.1, 34.8, 31.1, 31.1, 30.2, 32.7, 41.1, 49.4, 33.4, 32.7, 27.4}},
    {256, 11008, 4096, {63.2, 46.6, 46.5, 46.3, 43.1, 36.1, 69.4, 89.1, 57.8, 44.0, 41.0}},
    {64, 4096, 11008, {28.0, 30.3, 31.3, 52.5, 41.4, 77.0, 24.0, 31.3, 26.9, 30.9, 42.9}},
    {256, 4096, 11008, {57.6, 43.0, 40.5, 53.3, 52.1, 78.1, 64.1, 80.1, 50.3, 36.6, 45.5}},
    {64, 8192, 8192, {33.4, 33.6, 34.0, 41.1, 36.5, 59.1, 36.6, 42.0, 41.2, 0, 0}},
    {64, 32000, 4096, {68.3, 65.7, 70.5, 67.1, 69.6, 81.8, 72.6, 80.0, 84.1, 0, 0}},
};

TEST(thin_products_get_tiles_that_were_fast) {
    const cuda_device *self = h200_begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        choice_cut cut = {.share = 0};
        problem what = h200_problem(TESS_BF16, TESS_COMPUTE_DEFAULT, cases[i].m, cases[i].n, cases[i].k, 1);
        choice chosen = cuda_choose((const device *)self, &what, &cut);
        double best, taken = h200_time_of(chosen, tilings, cases[i].times, TILINGS, &best);
        CHECK(cut.share == 0 && taken > 0 && taken < 1.04 * best, "%dx%dx%d: %s takes %.1f us, the best %.1f",
              (int)cases[i].m, (int)cases[i].n, (int)cases[i].k, chosen.params, taken, best);
    }
    h200_end();
}

/* Microseconds of multiply-adds and of tensor cores, with a copy of what is not aligned; 0: not measured. */
TEST(tiny_products_are_multiplied_by_what_was_faster) {
    static const struct {
        int64_t size;
        double plain, tensor;
    } tiny[] = {{16, 1.18, 1.7}, {17, 1.78, 4.71}, {33, 2.25, 5.07},  {63, 2.68, 4.41},
                {64, 0, 1.74},   {65, 3.07, 4.95}, {127, 4.38, 4.65}, {128, 0, 1.79}};
    const cuda_device *self = h200_begin();
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        choice_cut cut = {.share = 0};
        int64_t size = tiny[i].size;
        problem what = h200_problem(TESS_BF16, TESS_COMPUTE_DEFAULT, size, size, size, 1);
        const char *want =
            tiny[i].plain > 0 && tiny[i].plain < tiny[i].tensor ? "simt_09_tile2d" : "wgmma_07_fitted";
        choice chosen = cuda_choose((const device *)self, &what, &cut);
        CHECK(strcmp(chosen.kernel, want) == 0, "%d: %s, not %s", (int)size, chosen.kernel, want);
        what.b_row = 1, what.b_col = size; /* of other orders nothing was measured */
        chosen = cuda_choose((const device *)self, &what, &cut);
        CHECK(strcmp(chosen.kernel, "wgmma_07_fitted") == 0, "%d, B in columns: %s", (int)size,
              chosen.kernel);
    }
    h200_end();
}
