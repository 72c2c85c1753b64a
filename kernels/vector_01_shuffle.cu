/* vector_01_shuffle: a matrix times a vector; sums travel from thread to thread by shuffles
 * before:  simt_02_coalesced
 * change:  a warp computes one element of C, or 32 where the matrix lies the other way; partial sums are added by
 *          shuffles, and across warps through shared memory
 * why:     with one row or column of C every element of the matrix is used once: only reading it in order helps,
 *          with more threads than C has elements
 * expect:  global_load_sectors <= before.global_load_sectors
 * limits:  m = 1 or n = 1; any strides; alpha and beta; C is not read when beta is 0
 * next:    nothing: it runs at the speed of memory
 */
#ifndef WARPS
#define WARPS 32 /* warps of a block: at most 32 */
#endif
enum { ROWS = 32 }; /* dot products of a block */

/* The matrix (`rows` dot products of length k), the vector and the result, whichever of A and B they are. */
typedef struct dots {
    const in_t *matrix, *vector;
    out_t *result;
    int rows, k;
    long long row, step, vector_step, result_step;
} dots;

DEVICE dots dots_of(const gemm *g) {
    dots d = {g->a, g->b, g->c, g->m, g->k, g->lda, g->a_step, g->ldb, g->ldc};
    if (g->n != 1) {
        dots turned = {g->b, g->a, g->c, g->n, g->k, g->b_step, g->ldb, g->a_step, g->c_step};
        d = turned;
    }
    return d;
}

DEVICE void finish(const gemm *g, const dots *d, int row, acc_t sum) {
    out_t *c = d->result + row * d->result_step;
    *c = TO_OUT(scaled(g, sum, c));
}

/* Rows of the matrix lie in order: a warp reads one row, its lanes side by side. */
DEVICE void along_rows(const gemm *g, const dots *d, int warp, int lane) {
    int first = (blockIdx.x + blockIdx.y) * ROWS;
    for (int row = first + warp; row < first + ROWS && row < d->rows; row += WARPS) {
        const in_t *matrix = d->matrix + row * d->row;
        acc_t sum = 0;
        UNROLL_BY(8)
        for (int k = lane; k < d->k; k += 32)
            sum = FMA(LOAD(matrix[k * d->step]), LOAD(d->vector[k * d->vector_step]), sum);
        UNROLL
        for (int by = 16; by > 0; by /= 2) sum = PLUS(sum, shuffle_down(sum, by));
        if (lane == 0) finish(g, d, row, sum);
    }
}

/* Columns of the matrix lie in order: a lane has one row, a warp every WARPS-th column of all 32. */
DEVICE void along_columns(const gemm *g, const dots *d, acc_t partial[WARPS][ROWS], int warp, int lane) {
    int row = (blockIdx.x + blockIdx.y) * ROWS + lane;
    acc_t sum = 0;
    if (row < d->rows) {
        UNROLL_BY(8)
        for (int k = warp; k < d->k; k += WARPS)
            sum = FMA(LOAD(d->matrix[row * d->row + k * d->step]), LOAD(d->vector[k * d->vector_step]), sum);
    }
    partial[warp][lane] = sum;
    __syncthreads(); /* all partial sums are there */
    if (warp > 0 || row >= d->rows) return;
    for (int i = 1; i < WARPS; i++) sum = PLUS(sum, partial[i][lane]);
    finish(g, d, row, sum);
}

KERNEL2(WARPS * 32, 1) vector_01_shuffle(gemm whole) {
    __shared__ acc_t partial[WARPS][ROWS];
    gemm g = begin(whole);
    dots d = dots_of(&g);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (d.row == 1 && d.step != 1)
        along_columns(&g, &d, partial, warp, lane);
    else
        along_rows(&g, &d, warp, lane);
}
