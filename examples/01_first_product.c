/* 01_first_product.c: the shortest useful program: C = A*B, two small matrices in row-major order. */
#include <stdio.h>
#include "tessera.h"

int main(void) {
    const float a[2 * 3] = {1, 2, 3, 4, 5, 6};
    const float b[3 * 2] = {7, 8, 9, 10, 11, 12};
    float c[2 * 2] = {0};

    tess_context *ctx;
    if (tess_open(&ctx, "auto") != TESS_OK) {
        puts(tess_error(NULL));
        return 1;
    }
    tess_matrix A = tess_view_row_major(TESS_F32, 2, 3, a, 3);
    tess_matrix B = tess_view_row_major(TESS_F32, 3, 2, b, 2);
    tess_matrix C = tess_view_row_major(TESS_F32, 2, 2, c, 2);
    if (tess_gemm(ctx, 1.0, &A, &B, 0.0, &C, NULL) != TESS_OK) {
        puts(tess_error(ctx));
        return 1;
    }
    tess_close(ctx);

    printf("%g %g\n%g %g\n", (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
    return !(c[0] == 58 && c[1] == 64 && c[2] == 139 && c[3] == 154);
}
