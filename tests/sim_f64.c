/* sim_f64.c: f64 on tensor cores, on the simulator: mma_08_f64 is exact with tiles of every sort on integers, and what it
 * rounds are multiply-adds of f64, in an order that does not depend on how A and B lie. */
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const type_pair f64 = {"f64", TESS_F64, TESS_F64};

static tess_context *open_checked(void) {
    tess_context *ctx = NULL;
    if (tess_open(&ctx, "sim:checked") != TESS_OK && tess_open(&ctx, "sim") != TESS_OK)
        harness_skip("%s", tess_error(NULL));
    return ctx;
}

/* Tiles, whose modules are compiled here: all of them in the long tier. */
TEST(f64_tensor_tiles_are_exact) {
    static const struct {
        const char *params;
        storage a, b, c;
        int64_t m, n, k;
    } tries[] = {
        {"BM=32,BN=32,WM=16,WN=32,SPLIT=4", STORE_ROW, STORE_ROW, STORE_ROW, 33, 31, 130},
        {"BM=32,BN=48,WM=16,WN=48,SPLIT=3,STAGES=3", STORE_COL_PADDED, STORE_COL, STORE_ROW, 70, 97, 101},
        {"BM=96,WM=48,WN=32", STORE_ROW_PADDED, STORE_COL, STORE_COL, 97, 129, 37},
        {"BM=64,BN=64,WM=32,WN=32,BK=32,STAGES=2", STORE_COL, STORE_ROW, STORE_GENERAL, 63, 65, 97},
        {"BM=16,BN=16,WM=16,WN=16,SPLIT=8,STAGES=6,GROUP=3", STORE_ROW, STORE_NEGATIVE_ROWS, STORE_ROW, 90,
         50, 18},
    };
    enum { TRIES = sizeof tries / sizeof *tries };
    tess_context *ctx = open_checked();
    for (int i = 0; ctx && i < (harness_tier() == TIER_LONG ? TRIES : 3); i++) {
        problem_spec spec = {.types = f64,
                             .m = tries[i].m,
                             .n = tries[i].n,
                             .k = tries[i].k,
                             .alpha = i % 2 ? -3 : 1,
                             .beta = i % 3,
                             .store_a = tries[i].a,
                             .store_b = tries[i].b,
                             .store_c = tries[i].c,
                             .count = i % 2 ? 2 : 0,
                             .data = i == 0 ? DATA_SPECIAL : DATA_EXACT};
        tess_options options = {.kernel = "mma_08_f64", .params = tries[i].params};
        problem_try(&spec, ctx, &options, test_random());
    }
    tess_close(ctx);
}

enum { M = 19, N = 21, K = 43 };

/* Of every 8 of k those with even numbers come first: a lane's pair of neighbours are 4 apart to mma. */
static double sum_in_order(const double *a, const double *b, int row, int col) {
    double sum = 0;
    for (int first = 0; first < K; first += 8)
        for (int i = 0; i < 8; i++) {
            int k = first + i % 4 * 2 + i / 4;
            if (k < K) sum = fma(a[row * K + k], b[k * N + col], sum);
        }
    return sum;
}

static tess_matrix turned(tess_matrix view, const double *of, double *to) {
    for (int64_t i = 0; i < view.rows; i++)
        for (int64_t j = 0; j < view.cols; j++) to[j * view.rows + i] = of[i * view.cols + j];
    return tess_view_col_major(TESS_F64, view.rows, view.cols, to, 0);
}

TEST(f64_tensor_bits_are_those_of_multiply_adds) {
    tess_context *ctx = open_checked();
    if (!ctx) return;
    double a[M * K], b[K * N], c[M * N], of_a[M * K], of_b[K * N];
    tess_matrix A = tess_view_row_major(TESS_F64, M, K, a, 0), B = tess_view_row_major(TESS_F64, K, N, b, 0),
                C = tess_view_row_major(TESS_F64, M, N, c, 0);
    tess_fill(&A, TESS_FILL_UNIFORM, 1, 1);
    tess_fill(&B, TESS_FILL_UNIFORM, 1, 2);
    const tess_options options = {.kernel = "mma_08_f64"};
    for (int order = 0; order < 4; order += harness_tier() == TIER_LONG ? 1 : 3) {
        tess_matrix left = order % 2 ? turned(A, a, of_a) : A, right = order / 2 ? turned(B, b, of_b) : B;
        memset(c, 0xff, sizeof c);
        CHECK_STATUS(tess_gemm(ctx, 1, &left, &right, 0, &C, &options), TESS_OK, ctx);
        for (int i = 0; i < M * N; i++) {
            double want = sum_in_order(a, b, i / N, i % N);
            if (!CHECK(c[i] == want, "order %d: C[%d][%d] is %a, not %a", order, i / N, i % N, c[i], want))
                break;
        }
    }
    tess_close(ctx);
}
