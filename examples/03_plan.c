/* 03_plan.c: the same product many times. A plan decides once which kernel to use, says why, and then only runs. */
#include <stdio.h>
#include "tessera.h"

enum { M = 64, N = 48, K = 80, STEPS = 10 };
static float a[M * K], b[K * N], c[M * N];

static int fail(const char *sentence) {
    puts(sentence);
    return 1;
}

int main(void) {
    tess_context *ctx;
    if (tess_open(&ctx, "auto") != TESS_OK) return fail(tess_error(NULL));
    tess_matrix A = tess_view_row_major(TESS_F32, M, K, a, K);
    tess_matrix B = tess_view_row_major(TESS_F32, K, N, b, N);
    tess_matrix C = tess_view_row_major(TESS_F32, M, N, c, N);
    tess_fill(&A, TESS_FILL_INTEGER, 2, 1);
    tess_fill(&B, TESS_FILL_INTEGER, 2, 2);

    tess_plan *plan;
    if (tess_plan_gemm(ctx, &A, &B, &C, NULL, NULL, &plan) != TESS_OK) return fail(tess_error(ctx));
    puts(tess_plan_sentence(plan));

    /* C = A*B, then C += A*B nine times more: beta changes, the plan does not. */
    for (int step = 0; step < STEPS; step++)
        if (tess_run(plan, 1.0, &A, &B, step == 0 ? 0.0 : 1.0, &C) != TESS_OK) return fail(tess_error(ctx));

    /* The data are small integers, so the check can ask for equal bits. */
    tess_check check;
    if (tess_check_gemm(STEPS, &A, &B, 0.0, NULL, &C, TESS_CHECK_EXACT, 1, &check) != TESS_OK)
        return fail(tess_error(NULL));
    printf("%d runs, %s\n", STEPS, check.passed ? "exact" : "wrong");

    tess_free_plan(plan);
    tess_close(ctx);
    return !check.passed;
}
