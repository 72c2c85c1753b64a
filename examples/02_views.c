/* 02_views.c: a view costs nothing. The transpose and a sub-matrix are the same memory looked at differently, so they
 * multiply without a copy: here a corner of M times its transpose goes into another corner of M. */
#include <stdio.h>
#include "tessera.h"

static void show(const char *name, tess_matrix M) {
    printf("%s, %lld x %lld\n", name, (long long)M.rows, (long long)M.cols);
    for (int64_t i = 0; i < M.rows; i++) {
        for (int64_t j = 0; j < M.cols; j++) printf("%6g", tess_get(M, i, j));
        printf("\n");
    }
}

int main(void) {
    enum { N = 6 };
    double data[N * N];
    for (int i = 0; i < N * N; i++) data[i] = i;

    tess_matrix M = tess_view_row_major(TESS_F64, N, N, data, N);
    tess_matrix corner = tess_submatrix(M, 0, 0, 2, 3);
    tess_matrix turned = tess_transpose(corner);
    tess_matrix result = tess_submatrix(M, 4, 4, 2, 2);
    show("corner", corner);
    show("turned", turned);

    tess_context *ctx;
    if (tess_open(&ctx, "auto") != TESS_OK) {
        puts(tess_error(NULL));
        return 1;
    }
    /* C may lie in the same buffer as A and B, as long as no element is shared. */
    if (tess_gemm(ctx, 1.0, &corner, &turned, 0.0, &result, NULL) != TESS_OK) {
        puts(tess_error(ctx));
        return 1;
    }
    show("corner * turned, inside the same matrix", result);

    /* Sharing one is refused, with a sentence. */
    tess_matrix overlapping = tess_submatrix(M, 1, 1, 2, 2);
    tess_status refused = tess_gemm(ctx, 1.0, &corner, &turned, 0.0, &overlapping, NULL);
    printf("%s: %s\n", tess_status_name(refused), tess_error(ctx));
    tess_close(ctx);

    return !(tess_get(result, 0, 0) == 5 && tess_get(result, 0, 1) == 23 && tess_get(result, 1, 1) == 149 &&
             refused == TESS_ERROR_ALIAS);
}
