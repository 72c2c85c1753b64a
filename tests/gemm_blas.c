/* gemm_blas.c: tess_sgemm and tess_dgemm mean what CBLAS means: every layout, transpose and leading dimension. */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

typedef struct blas_call {
    tess_layout layout;
    tess_trans trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
} blas_call;

/* op(X), rows×cols, out of memory laid as CBLAS says. */
static tess_matrix blas_view(tess_type type, tess_layout layout, tess_trans trans, int64_t rows, int64_t cols,
                             void *data, int64_t ld) {
    int across =
        (layout == TESS_ROW_MAJOR) == (trans == TESS_NO_TRANS); /* whether rows of op(X) lie apart by ld */
    return (tess_matrix){data, type, TESS_HOST, rows, cols, across ? ld : 1, across ? 1 : ld};
}

static int64_t least_ld(tess_layout layout, tess_trans trans, int64_t rows, int64_t cols) {
    int64_t least = (layout == TESS_ROW_MAJOR) == (trans == TESS_NO_TRANS) ? cols : rows;
    return least > 1 ? least : 1;
}

static void try_call(tess_context *ctx, const blas_call *c, tess_type type) {
    enum { ROOM = 64 * 64 };
    size_t size = tess_type_size(type), bytes = ROOM * size;
    unsigned char *a = test_alloc(bytes), *b = test_alloc(bytes), *mine = test_alloc(bytes),
                  *before = test_alloc(bytes);
    tess_matrix flat[] = {{a, type, TESS_HOST, ROOM, 1, 1, 0},
                          {b, type, TESS_HOST, ROOM, 1, 1, 0},
                          {mine, type, TESS_HOST, ROOM, 1, 1, 0}};
    for (int i = 0; i < 3; i++)
        for (int64_t e = 0; e < ROOM; e++) oracle_set(&flat[i], e, 0, rng_real(test_random()));
    memcpy(before, mine, bytes);
    tess_status status;
    if (type == TESS_F32) {
        float *fa = (float *)(void *)a, *fb = (float *)(void *)b, *fc = (float *)(void *)mine;
        status = tess_sgemm(ctx, c->layout, c->trans_a, c->trans_b, c->m, c->n, c->k, (float)c->alpha, fa,
                            c->lda, fb, c->ldb, (float)c->beta, fc, c->ldc);
    } else {
        double *da = (double *)(void *)a, *db = (double *)(void *)b, *dc = (double *)(void *)mine;
        status = tess_dgemm(ctx, c->layout, c->trans_a, c->trans_b, c->m, c->n, c->k, c->alpha, da, c->lda,
                            db, c->ldb, c->beta, dc, c->ldc);
    }
    CHECK(status == TESS_OK, "%s", tess_error(ctx));
    oracle_product product = {.alpha = c->alpha, .beta = c->beta};
    product.A = blas_view(type, c->layout, c->trans_a, c->m, c->k, a, c->lda);
    product.B = blas_view(type, c->layout, c->trans_b, c->k, c->n, b, c->ldb);
    product.C0 = blas_view(type, c->layout, TESS_NO_TRANS, c->m, c->n, before, c->ldc);
    product.C = product.C0;
    product.C.data = mine;
    oracle_verdict v = oracle_check(&product);
    CHECK(v.wrong == 0,
          "%s layout %d trans %d %d m=%lld n=%lld k=%lld ld %lld %lld %lld: C(%lld, %lld) is %.17g, want "
          "%.17g",
          tess_type_name(type), c->layout, c->trans_a, c->trans_b, (long long)c->m, (long long)c->n,
          (long long)c->k, (long long)c->lda, (long long)c->ldb, (long long)c->ldc, (long long)v.row,
          (long long)v.col, v.got, v.want);
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < c->n; j++)
            memcpy(oracle_at(&product.C0, i, j), oracle_at(&product.C, i, j), size);
    CHECK(memcmp(before, mine, bytes) == 0, "an element outside C was written");
    free(a), free(b), free(mine), free(before);
}

TEST(gemm_small_blas_calls) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    static const tess_layout layouts[] = {TESS_ROW_MAJOR, TESS_COL_MAJOR};
    static const tess_trans transposes[] = {TESS_NO_TRANS, TESS_TRANS, TESS_CONJ_TRANS};
    test_rng *rng = test_random();
    for (int number = 0; number < 2 * 3 * 3 * 2 * 2 * 9; number++) {
        blas_call c = {.layout = layouts[number % 2],
                       .trans_a = transposes[number / 2 % 3],
                       .trans_b = transposes[number / 6 % 3],
                       .m = rng_range(rng, 0, 50),
                       .n = rng_range(rng, 0, 50),
                       .k = rng_range(rng, 0, 50)};
        int64_t pad = number / 18 % 2;
        c.lda = least_ld(c.layout, c.trans_a, c.m, c.k) + pad * rng_range(rng, 1, 9);
        c.ldb = least_ld(c.layout, c.trans_b, c.k, c.n) + pad * rng_range(rng, 1, 9);
        c.ldc = least_ld(c.layout, TESS_NO_TRANS, c.m, c.n) + pad * rng_range(rng, 1, 9);
        c.alpha = draw_scalar(rng, TESS_F32, DATA_RANDOM, number / 72 % 3);
        c.beta = draw_scalar(rng, TESS_F32, DATA_RANDOM, number / 216 % 3);
        try_call(ctx, &c, number / 36 % 2 ? TESS_F64 : TESS_F32);
    }
    tess_close(ctx);
}
