/* simt_07_tile1d: TM results per thread, in a column
 * before:  simt_05_shared
 * change:  a thread computes TM rows of one column of C; tiles are BM×BK and BK×BN
 * why:     an element of B, once in a register, serves TM multiply-adds: 1 + 1/TM shared loads for each, not 2
 * expect:  shared_load_instructions < before.shared_load_instructions
 * expect:  barriers = 2 * ceil(k / BK)
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    A is still read from shared memory once for every multiply-add
 */
#ifndef BM
#define BM 64 /* rows of C of a block */
#endif
#ifndef BN
#define BN 64 /* columns of C of a block */
#endif
#ifndef BK
#define BK 8 /* depth of the tiles */
#endif
#ifndef TM
#define TM 8 /* rows of C of a thread */
#endif
#ifndef BLOCKS
#define BLOCKS 3 /* blocks that must fit a multiprocessor at once, which limits the registers of each */
#endif
enum {
    THREADS = BM * BN / TM,
    A_ROWS = THREADS / BK, /* rows of a tile that all threads together load at once */
    B_ROWS = THREADS / BN
};

KERNEL2(THREADS, BLOCKS) simt_07_tile1d(gemm whole) {
    __shared__ acc_t As[BM][BK];
    __shared__ acc_t Bs[BK][BN];
    gemm g = begin(whole);
    int tid = threadIdx.x, row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int thread_row = tid / BN * TM, thread_col = tid % BN;
    const in_t *a = g.a + row_tile * g.lda + tid % BK, *b = g.b + col_tile + tid % BN;
    acc_t sums[TM] = {0};
    for (int k_tile = 0; k_tile < g.k; k_tile += BK) {
        UNROLL
        for (int i = 0; i < BM; i += A_ROWS) {
            int row = i + tid / BK, there = row_tile + row < g.m && k_tile + tid % BK < g.k;
            if (BM % A_ROWS == 0 || row < BM) As[row][tid % BK] = there ? LOAD(a[row * g.lda]) : 0;
        }
        UNROLL
        for (int i = 0; i < BK; i += B_ROWS) {
            int k = i + tid / BN, there = k_tile + k < g.k && col_tile + tid % BN < g.n;
            if (BK % B_ROWS == 0 || k < BK) Bs[k][tid % BN] = there ? LOAD(b[k * g.ldb]) : 0;
        }
        a += BK;
        b += BK * g.ldb;
        __syncthreads(); /* the tiles are complete */
        UNROLL
        for (int k = 0; k < BK; k++) {
            acc_t b = Bs[k][thread_col];
            UNROLL
            for (int i = 0; i < TM; i++) sums[i] = FMA(As[thread_row + i][k], b, sums[i]);
        }
        __syncthreads(); /* everybody is done with them */
    }
    int col = col_tile + thread_col;
    UNROLL
    for (int i = 0; i < TM; i++) {
        int row = row_tile + thread_row + i;
        if (row < g.m && col < g.n) store(&g, row, col, sums[i]);
    }
}
