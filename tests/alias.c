/* alias.c: what shares a buffer without sharing an element multiplies, and rightly: sub-matrices side by side, every
 * other column, interleaved batches, the steps of an in-place factorisation. What must be refused is in bad_input. */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

/* Runs one product inside a buffer and compares all of the buffer: C as the oracle says, the rest as it was. */
static void multiply_inside(tess_context *ctx, const char *what, float *buffer, size_t length,
                            const tess_matrix *A, const tess_matrix *B, const tess_matrix *C) {
    float *before = test_alloc(length * sizeof *before);
    memcpy(before, buffer, length * sizeof *before);
    tess_status status = tess_gemm(ctx, -1, A, B, 1, C, NULL);
    if (CHECK(status == TESS_OK, "%s: %s", what, tess_error(ctx))) {
        oracle_product product = {.alpha = -1, .beta = 1, .A = *A, .B = *B, .C0 = *C, .C = *C, .exact = 1};
        product.C0.data = before + ((float *)C->data - buffer);
        oracle_verdict v = oracle_check(&product);
        CHECK(v.wrong == 0, "%s: C(%lld, %lld) is %g, want %g", what, (long long)v.row, (long long)v.col,
              v.got, v.want);
        for (int64_t i = 0; i < C->rows; i++)
            for (int64_t j = 0; j < C->cols; j++)
                memcpy(oracle_at(&product.C0, i, j), oracle_at(C, i, j), sizeof(float));
        CHECK(memcmp(before, buffer, length * sizeof *before) == 0,
              "%s: an element that is not C's was written", what);
    }
    free(before);
}

enum { N = 60 };
static float buffer[N * N];

static tess_matrix whole(void) {
    for (int i = 0; i < N * N; i++) buffer[i] = (float)rng_range(test_random(), -4, 4);
    return tess_view_row_major(TESS_F32, N, N, buffer, 0);
}

TEST(gemm_small_alias_blocks_of_one_matrix) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    /* The trailing update of a blocked LU, at every step and several block sizes: A21*A12 out of A22. */
    for (int block = 1; block <= 32; block = block * 2 + 1)
        for (int at = 0; at + block < N; at += block) {
            tess_matrix M = whole();
            int rest = N - at - block;
            tess_matrix A = tess_submatrix(M, at + block, at, rest, block);
            tess_matrix B = tess_submatrix(M, at, at + block, block, rest);
            tess_matrix C = tess_submatrix(M, at + block, at + block, rest, rest);
            multiply_inside(ctx, "LU step", buffer, N * N, &A, &B, &C);
            tess_matrix At = tess_transpose(B), Bt = tess_transpose(A), Ct = tess_transpose(C);
            multiply_inside(ctx, "LU step, transposed", buffer, N * N, &At, &Bt, &Ct);
        }
    tess_close(ctx);
}

TEST(gemm_small_alias_every_third_column) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int turn = 0; turn < 2; turn++) {
        (void)whole();
        /* Columns 0, 3, 6 … are A, 1, 4, 7 … are B, 2, 5, 8 … are C. */
        tess_matrix A = tess_view_strided(TESS_F32, 20, 20, buffer, N, 3);
        tess_matrix B = tess_view_strided(TESS_F32, 20, 20, buffer + 1, N, 3);
        tess_matrix C = tess_view_strided(TESS_F32, 20, 20, buffer + 2, N, 3);
        if (turn) A = tess_transpose(A), C = tess_transpose(C);
        multiply_inside(ctx, "every third column", buffer, N * N, &A, &B, &C);
        /* Rows of C between rows of A, backwards. */
        A = tess_view_strided(TESS_F32, 20, 20, buffer + N * (N - 2), -2 * N, 1);
        C = tess_view_strided(TESS_F32, 20, 20, buffer + N * (N - 1), -2 * N, 1);
        B = tess_view_strided(TESS_F32, 20, 20, buffer + N * (N - 2) + 20, -N, 2);
        B.row_stride = -2 * N;
        multiply_inside(ctx, "rows between rows, backwards", buffer, N * N, &A, &B, &C);
    }
    tess_close(ctx);
}

/* A and B may be one matrix, overlap, or be each other's transpose: only C may not. */
TEST(gemm_small_alias_of_inputs) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    tess_matrix M = whole();
    tess_matrix A = tess_submatrix(M, 0, 0, 20, 20), C = tess_submatrix(M, 30, 30, 20, 20);
    tess_matrix At = tess_transpose(A), shifted = tess_submatrix(M, 5, 7, 20, 20);
    multiply_inside(ctx, "A*A", buffer, N * N, &A, &A, &C);
    multiply_inside(ctx, "A*A^T", buffer, N * N, &A, &At, &C);
    multiply_inside(ctx, "A times a shifted A", buffer, N * N, &A, &shifted, &C);
    tess_close(ctx);
}

/* Random sub-matrices of one buffer: refused exactly when an element is shared, right otherwise. */
TEST(gemm_small_alias_is_decided_exactly) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    int refused = 0, done = 0;
    for (sampling s = sampling_start(1000, 6000, 2); sampling_next(&s);) {
        (void)whole();
        int64_t m = rng_range(rng, 1, 6), n = rng_range(rng, 1, 6), k = rng_range(rng, 1, 6);
        tess_matrix views[3];
        const int64_t rows[] = {m, k, m}, cols[] = {k, n, n};
        for (int i = 0; i < 3; i++) {
            int64_t rs = rng_range(rng, -40, 40), cs = rng_range(rng, -40, 40);
            views[i] = tess_view_strided(TESS_F32, rows[i], cols[i],
                                         buffer + N * N / 2 + rng_range(rng, -300, 300), rs, cs);
        }
        /* Who owns each element: 1 an input, 2 C. */
        static unsigned char owner[N * N];
        memset(owner, 0, sizeof owner);
        int clash = 0;
        for (int i = 0; i < 3; i++)
            for (int64_t r = 0; r < rows[i]; r++)
                for (int64_t c = 0; c < cols[i]; c++) {
                    unsigned char *at = &owner[(float *)oracle_at(&views[i], r, c) - buffer];
                    if (i == 2 && *at) clash = 1;
                    *at = i == 2 ? 2 : 1;
                }
        if (!clash) {
            multiply_inside(ctx, "disjoint by chance", buffer, N * N, &views[0], &views[1], &views[2]);
            done++;
        } else {
            tess_status status = tess_gemm(ctx, 1, &views[0], &views[1], 1, &views[2], NULL);
            CHECK(status == TESS_ERROR_ALIAS, "C shares an element, yet %s", tess_status_name(status));
            refused++;
        }
    }
    CHECK(done > 20 && refused > 20, "%d multiplied, %d refused: the draw is lopsided", done, refused);
    tess_close(ctx);
}

/* Batches whose members interleave, A, B and C in one buffer. */
TEST(gemm_small_alias_interleaved_batch) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    (void)whole();
    static float before[N * N];
    memcpy(before, buffer, sizeof before);
    enum { COUNT = 5, S = 6 };
    /* Element (i, j) of matrix q of product p lies at (i*S + j)*3*COUNT + 3*p + q. */
    tess_matrix A = tess_view_strided(TESS_F32, S, S, buffer, S * 3 * COUNT, 3 * COUNT), B = A, C = A;
    B.data = buffer + 1;
    C.data = buffer + 2;
    tess_batch batch = {COUNT, 3, 3, 3};
    CHECK_STATUS(tess_gemm_batched(ctx, 1, &A, &B, 0, &C, &batch, NULL), TESS_OK, ctx);
    for (int p = 0; p < COUNT; p++)
        for (int i = 0; i < S; i++)
            for (int j = 0; j < S; j++) {
                float sum = 0;
                for (int l = 0; l < S; l++)
                    sum +=
                        before[(i * S + l) * 3 * COUNT + 3 * p] * before[(l * S + j) * 3 * COUNT + 3 * p + 1];
                float *at = &buffer[(i * S + j) * 3 * COUNT + 3 * p + 2];
                CHECK(*at == sum, "product %d: C(%d, %d) is %g, want %g", p, i, j, (double)*at, (double)sum);
                *at = before[at - buffer];
            }
    CHECK(memcmp(before, buffer, sizeof before) == 0, "an element that is not C's was written");
    tess_close(ctx);
}
