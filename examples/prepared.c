/* prepared.c: one matrix of weights, many products. What a GPU makes of the weights before it multiplies is kept from one
 * product to the next; on other devices nothing is, and the program is the same. */
#include <math.h>
#include <stdio.h>
#include "tessera.h"

enum { ROWS = 64, DEPTH = 512, COLS = 128, TURNS = 4 };

static float input[ROWS * DEPTH], weights[DEPTH * COLS], output[ROWS * COLS];

static int fail(const char *sentence) {
    puts(sentence);
    return 1;
}

static double expected(int row, int col) {
    double sum = 0;
    for (int k = 0; k < DEPTH; k++) sum += (double)input[row * DEPTH + k] * (double)weights[k * COLS + col];
    return sum;
}

/* A view of memory from tess_alloc, wherever that is. */
static tess_matrix on_device(int64_t rows, int64_t cols, void *memory) {
    tess_matrix M = tess_view_row_major(TESS_F32, rows, cols, memory, 0);
    M.place = TESS_ASK;
    return M;
}

int main(void) {
    tess_context *ctx;
    tess_plan *plan;
    tess_operand *prepared;
    void *a, *b, *c;
    double worst = 0;
    if (tess_open(&ctx, "auto") != TESS_OK) return fail(tess_error(NULL));
    if (tess_alloc(ctx, sizeof input, &a) != TESS_OK || tess_alloc(ctx, sizeof weights, &b) != TESS_OK ||
        tess_alloc(ctx, sizeof output, &c) != TESS_OK)
        return fail(tess_error(ctx));
    for (int i = 0; i < DEPTH * COLS; i++) weights[i] = (float)sin(i);
    tess_matrix A = on_device(ROWS, DEPTH, a), B = on_device(DEPTH, COLS, b), C = on_device(ROWS, COLS, c);
    if (tess_copy(ctx, b, weights, sizeof weights) != TESS_OK ||
        tess_prepare(ctx, TESS_ROLE_B, &B, &prepared) != TESS_OK ||
        tess_plan_gemm(ctx, &A, &B, &C, NULL, NULL, &plan) != TESS_OK ||
        tess_use_operands(plan, NULL, prepared) != TESS_OK)
        return fail(tess_error(ctx));
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < ROWS * DEPTH; i++) input[i] = (float)cos(i + turn);
        if (tess_copy(ctx, a, input, sizeof input) != TESS_OK ||
            tess_run(plan, 1.0, &A, &B, 0.0, &C) != TESS_OK ||
            tess_copy(ctx, output, c, sizeof output) != TESS_OK)
            return fail(tess_error(ctx));
        worst = fmax(worst, fabs((double)output[5 * COLS + 7] - expected(5, 7)));
    }
    printf("%lld bytes are kept of the weights; the largest error is %.1e\n",
           (long long)tess_operand_bytes(prepared), worst);
    tess_free_plan(plan);
    tess_free_operand(prepared);
    tess_free(ctx, a);
    tess_free(ctx, b);
    tess_free(ctx, c);
    tess_close(ctx);
    return worst < 1e-3 ? 0 : 1;
}
