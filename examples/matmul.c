/* matmul: the classic MatMul(A, B, C) of CUDA lessons, on Tessera.
 *
 * A Matrix there has a width, a height, a stride and its elements, and a sub-matrix is a Matrix that
 * points into another one. Both are what Tessera calls a view, so MatMul is one call: no copies to and
 * from the device by hand, no sizes that must be multiples of a block, and the same program runs on a GPU
 * or without one. */
#include <stdio.h>
#include <stdlib.h>
#include "tessera.h"

typedef struct {
    int width, height, stride;
    float *elements; /* element (row, col) is elements[row * stride + col] */
} Matrix;

enum { BLOCK_SIZE = 16 };

static float GetElement(Matrix A, int row, int col) {
    return A.elements[row * A.stride + col];
}

static void SetElement(Matrix A, int row, int col, float value) {
    A.elements[row * A.stride + col] = value;
}

/* The block that lies `row` blocks down and `col` blocks to the right; smaller at the edges. Nothing is
 * copied. */
static Matrix GetSubMatrix(Matrix A, int row, int col) {
    int below = A.height - row * BLOCK_SIZE, right = A.width - col * BLOCK_SIZE;
    return (Matrix){.width = right < BLOCK_SIZE ? right : BLOCK_SIZE,
                    .height = below < BLOCK_SIZE ? below : BLOCK_SIZE,
                    .stride = A.stride,
                    .elements = &A.elements[A.stride * BLOCK_SIZE * row + BLOCK_SIZE * col]};
}

static tess_matrix view(Matrix M) {
    return tess_view_row_major(TESS_F32, M.height, M.width, M.elements, M.stride);
}

/* C = A*B + beta*C. */
static void MatMulAdd(tess_context *ctx, Matrix A, Matrix B, float beta, Matrix C) {
    tess_matrix a = view(A), b = view(B), c = view(C);
    if (tess_gemm(ctx, 1.0, &a, &b, (double)beta, &c, NULL) == TESS_OK) return;
    fprintf(stderr, "%s\n", tess_error(ctx));
    exit(1);
}

static void MatMul(tess_context *ctx, Matrix A, Matrix B, Matrix C) {
    MatMulAdd(ctx, A, B, 0, C);
}

static int blocks(int size) {
    return (size + BLOCK_SIZE - 1) / BLOCK_SIZE;
}

/* What a kernel with shared memory does, written with sub-matrices: each block of C is the sum of the
 * products of a row of blocks of A with a column of blocks of B. */
static void MatMulByBlocks(tess_context *ctx, Matrix A, Matrix B, Matrix C) {
    for (int row = 0; row < blocks(C.height); row++)
        for (int col = 0; col < blocks(C.width); col++)
            for (int m = 0; m < blocks(A.width); m++)
                MatMulAdd(ctx, GetSubMatrix(A, row, m), GetSubMatrix(B, m, col), m > 0,
                          GetSubMatrix(C, row, col));
}

static Matrix new_matrix(int height, int width, int padding) {
    Matrix M = {.width = width, .height = height, .stride = width + padding, .elements = NULL};
    M.elements = calloc((size_t)height * (size_t)M.stride, sizeof *M.elements);
    if (M.elements == NULL) exit(1);
    return M;
}

/* Small integers: every sum is exact, so results must be equal and not merely near. */
static void fill(Matrix M, int step) {
    for (int row = 0; row < M.height; row++)
        for (int col = 0; col < M.width; col++)
            SetElement(M, row, col, (float)((row * 7 + col * step) % 11 - 5));
}

static int count_wrong(Matrix A, Matrix B, Matrix C) {
    int wrong = 0;
    for (int row = 0; row < C.height; row++) {
        for (int col = 0; col < C.width; col++) {
            float sum = 0;
            for (int e = 0; e < A.width; e++) sum += GetElement(A, row, e) * GetElement(B, e, col);
            wrong += !(GetElement(C, row, col) == sum);
        }
    }
    return wrong;
}

int main(void) {
    tess_context *ctx;
    if (tess_open(&ctx, "auto") != TESS_OK) {
        fprintf(stderr, "%s\n", tess_error(NULL));
        return 1;
    }
    /* No multiples of BLOCK_SIZE, and rows further apart than they are long. */
    Matrix A = new_matrix(70, 45, 3), B = new_matrix(45, 61, 0), C = new_matrix(70, 61, 5);
    fill(A, 3);
    fill(B, 5);
    MatMul(ctx, A, B, C);
    int wrong = count_wrong(A, B, C);
    fill(C, 1);
    MatMulByBlocks(ctx, A, B, C);
    wrong += count_wrong(A, B, C);

    tess_device_info device;
    if (tess_device_facts(ctx, &device) == TESS_OK)
        printf("%d×%d times %d×%d on %s: %d wrong elements\n", A.height, A.width, B.height, B.width,
               device.model, wrong);
    free(A.elements);
    free(B.elements);
    free(C.elements);
    tess_close(ctx);
    return wrong == 0 ? 0 : 1;
}
