/* unit_deep.c: how the planner shares k among blocks in bf16, where C is small and k long, beside what tiles and numbers of shares
 * took on an H200. White-box: it asks cuda_choose; no GPU is needed. */
#include "harness.h"

#include "unit_h200.h"

#define ALONE(rows, cols) \
    { "wgmma_07_fitted", "BM=" #rows ",BN=" #cols ",STAGES" }
#define PAIR(rows, cols) \
    { "wgmma_07_fitted", "BM=" #rows ",BN=" #cols ",CM=2" }
static const h200_tiling tilings[] = {ALONE(64, 64),  ALONE(64, 128),
                                      PAIR(64, 128),  ALONE(128, 64),
                                      PAIR(128, 64),  ALONE(128, 128),
                                      PAIR(128, 128), ALONE(128, 192),
                                      PAIR(128, 192), ALONE(128, 256),
                                      PAIR(128, 256), {"wgmma_09_split", "BM=128,BN=128,CK=2"}};
enum { TILINGS = sizeof tilings / sizeof *tilings, MOST = 32 };

/* Products in rows; and a tiling, so many shares of k, and microseconds in bursts, for each that was measured. Pairs waited for each
 * other in the end then, for 0.4 of them. */
static const struct {
    int64_t m, n, k;
    struct {
        int tiling, shares;
        double time;
    } ways[MOST];
} cases[] = {
    {128, 128, 65536, {{0, 8, 19.0},  {0, 16, 14.3}, {0, 32, 11.7}, {9, 8, 78.7},  {9, 16, 42.2},
                       {9, 32, 24.3}, {7, 8, 59.9},  {7, 16, 32.5}, {7, 32, 19.1}, {5, 8, 41.4},
                       {5, 16, 23.2}, {5, 32, 14.4}, {1, 8, 24.1},  {1, 16, 14.2}, {1, 32, 11.7},
                       {3, 8, 24.8},  {3, 16, 14.6}, {3, 32, 11.8}, {6, 16, 23.7}, {6, 32, 14.8},
                       {6, 64, 11.3}, {2, 16, 17.4}, {2, 32, 11.3}, {2, 64, 9.7},  {4, 16, 17.1},
                       {4, 32, 11.8}, {4, 64, 13.4}}},
    {256, 256, 16384, {{0, 8, 11.2},  {0, 16, 11.7}, {0, 32, 12.4}, {9, 8, 24.0},  {9, 16, 15.2},
                       {9, 32, 11.2}, {7, 8, 18.9},  {7, 16, 12.7}, {7, 32, 12.3}, {5, 8, 13.8},
                       {5, 16, 9.9},  {5, 32, 10.4}, {1, 8, 10.1},  {1, 16, 10.4}, {1, 32, 11.4},
                       {3, 8, 10.6},  {3, 16, 10.6}, {3, 32, 10.9}, {6, 8, 14.2},  {6, 16, 10.2},
                       {2, 8, 10.7},  {2, 16, 9.4},  {4, 8, 10.9},  {4, 16, 10.5}}},
    {256, 256, 65536, {{0, 8, 31.3}, {0, 16, 31.8}, {0, 32, 32.0}, {9, 8, 79.7}, {9, 16, 43.8}, {9, 32, 28.3},
                       {7, 8, 61.4}, {7, 16, 37.2}, {7, 32, 32.5}, {5, 8, 42.2}, {5, 16, 27.2}, {5, 32, 26.2},
                       {1, 8, 29.5}, {1, 16, 28.8}, {1, 32, 30.1}, {3, 8, 31.0}, {3, 16, 29.2}, {3, 32, 30.2},
                       {6, 8, 42.7}, {6, 16, 27.2}, {6, 32, 25.4}, {2, 8, 35.0}, {2, 16, 26.7}, {2, 32, 26.8},
                       {4, 8, 32.2}, {4, 16, 28.5}, {4, 32, 28.3}}},
    {512, 512, 32768, {{0, 8, 50.2},  {0, 16, 55.7}, {0, 32, 62.5}, {9, 8, 45.1},  {9, 16, 33.8},
                       {9, 32, 42.6}, {7, 8, 43.8},  {7, 16, 50.4}, {7, 32, 46.8}, {5, 8, 35.2},
                       {5, 16, 37.6}, {5, 32, 46.4}, {1, 8, 42.5},  {1, 16, 48.6}, {1, 32, 54.9},
                       {3, 8, 45.8},  {3, 16, 50.6}, {3, 32, 56.6}, {10, 4, 81.2}, {10, 8, 45.8},
                       {8, 4, 63.4},  {8, 8, 39.4},  {6, 4, 44.1},  {6, 8, 32.1}}},
    {1024, 1024, 16384, {{0, 8, 108.6},  {0, 16, 125.4}, {0, 32, 151.9}, {9, 8, 58.2},   {9, 16, 75.9},
                         {9, 32, 108.5}, {7, 8, 73.9},   {7, 16, 87.8},  {7, 32, 113.4}, {5, 8, 69.5},
                         {5, 16, 84.3},  {5, 32, 110.4}, {1, 8, 88.4},   {1, 16, 101.0}, {1, 32, 125.5},
                         {3, 8, 96.3},   {3, 16, 108.4}, {3, 32, 129.1}, {10, 2, 85.0},  {10, 4, 53.1},
                         {6, 2, 52.9},   {6, 4, 56.5},   {11, 1, 50.4}}},
    {128, 256, 65536, {{1, 32, 20.0}, {2, 32, 18.0}}},
    {256, 512, 16384, {{1, 8, 15.3}, {2, 8, 13.4}}},
    {304, 1000, 11008, {{5, 4, 29.4}, {6, 4, 23.3}}},
    {128, 2048, 20000, {{7, 12, 35.9}, {2, 4, 32.1}}},
    {384, 512, 65536, {{5, 11, 52.8}, {7, 14, 57.9}}},
    {200, 200, 20000, {{0, 8, 16.5}, {2, 16, 14.8}}},
    {384, 768, 20000, {{7, 11, 33.5}, {8, 8, 33.5}}},
    {512, 200, 4096, {{1, 8, 8.3}, {2, 8, 7.7}}},
    {1000, 1000, 16384, {{9, 4, 61.8}, {10, 4, 53.7}}},
    {200, 128, 32768, {{1, 32, 10.5}, {2, 32, 9.5}}},
};

TEST(long_k_is_shared_in_ways_that_were_fast) {
    const cuda_device *self = h200_begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        choice_cut cut = {.share = 0};
        problem what = h200_problem(TESS_BF16, TESS_COMPUTE_DEFAULT, cases[i].m, cases[i].n, cases[i].k, 1);
        choice chosen = cuda_choose((const device *)self, &what, &cut);
        int64_t shares = cut.share > 0 ? what.k / cut.share : 1;
        double times[TILINGS] = {0}, best = 0, least;
        for (int j = 0; j < MOST && cases[i].ways[j].time > 0; j++) {
            double time = cases[i].ways[j].time;
            if (best == 0 || time < best) best = time;
            if (cases[i].ways[j].shares == shares) times[cases[i].ways[j].tiling] = time;
        }
        double taken = h200_time_of(chosen, tilings, times, TILINGS, &least);
        CHECK(taken > 0 && taken < 1.06 * best, "%dx%dx%d: %s %s, %d shares, takes %.1f us, the best %.1f",
              (int)what.m, (int)what.n, (int)what.k, chosen.kernel, chosen.params, (int)shares, taken, best);
    }
    h200_end();
}
