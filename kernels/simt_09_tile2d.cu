/* simt_09_tile2d: TM×TN results per thread, an outer product in registers
 * before:  simt_07_tile1d
 * change:  a thread computes TM×TN neighbouring elements of C, from TM of A and TN of B held in registers
 * why:     TM + TN shared loads serve TM*TN multiply-adds: 1/4 of a load for each with 8×8, not 1 + 1/8
 * expect:  shared_load_instructions < before.shared_load_instructions
 * expect:  barriers = 2 * ceil(k / BK)
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    all loads and stores are one element wide, and A is read down its columns
 */
#ifndef BM
#define BM 128 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef BK
#define BK 8 /* depth of the tiles */
#endif
#ifndef TM
#define TM 8 /* rows of C of a thread */
#endif
#ifndef TN
#define TN 8 /* columns of C of a thread */
#endif
#ifndef BLOCKS
#define BLOCKS 2 /* blocks that must fit a multiprocessor at once, which limits the registers of each */
#endif
enum {
    THREADS = BM * BN / (TM * TN),
    A_ROWS = THREADS / BK, /* rows of a tile that all threads together load at once */
    B_ROWS = THREADS / BN
};

KERNEL2(THREADS, BLOCKS) simt_09_tile2d(gemm whole) {
    __shared__ acc_t As[BM][BK];
    __shared__ acc_t Bs[BK][BN];
    gemm g = begin(whole);
    int tid = threadIdx.x, row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int thread_row = tid / (BN / TN) * TM, thread_col = tid % (BN / TN) * TN;
    const in_t *a = g.a + (row_tile + tid / BK) * g.lda + tid % BK;
    const in_t *b = g.b + tid / BN * g.ldb + col_tile + tid % BN;
    acc_t sums[TM][TN] = {{0}};
    for (int k_tile = 0; k_tile < g.k; k_tile += BK) {
        const in_t *a_row = a, *b_row = b;
        UNROLL
        for (int i = 0; i < BM; i += A_ROWS, a_row += A_ROWS * g.lda) {
            int row = i + tid / BK, there = row_tile + row < g.m && k_tile + tid % BK < g.k;
            if (BM % A_ROWS == 0 || row < BM) As[row][tid % BK] = there ? LOAD(*a_row) : 0;
        }
        UNROLL
        for (int i = 0; i < BK; i += B_ROWS, b_row += B_ROWS * g.ldb) {
            int k = i + tid / BN, there = k_tile + k < g.k && col_tile + tid % BN < g.n;
            if (BK % B_ROWS == 0 || k < BK) Bs[k][tid % BN] = there ? LOAD(*b_row) : 0;
        }
        a += BK;
        b += BK * g.ldb;
        __syncthreads(); /* the tiles are complete */
        UNROLL_BY(4)
        for (int k = 0; k < BK; k++) {
            acc_t a[TM], b[TN];
            UNROLL
            for (int i = 0; i < TM; i++) a[i] = As[thread_row + i][k];
            UNROLL
            for (int j = 0; j < TN; j++) b[j] = Bs[k][thread_col + j];
            UNROLL
            for (int i = 0; i < TM; i++) {
                UNROLL
                for (int j = 0; j < TN; j++) sums[i][j] = FMA(a[i], b[j], sums[i][j]);
            }
        }
        __syncthreads(); /* everybody is done with them */
    }
    UNROLL
    for (int i = 0; i < TM; i++) {
        UNROLL
        for (int j = 0; j < TN; j++) {
            int row = row_tile + thread_row + i, col = col_tile + thread_col + j;
            if (row < g.m && col < g.n) store(&g, row, col, sums[i][j]);
        }
    }
}
