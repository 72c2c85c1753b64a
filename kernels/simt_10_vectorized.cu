/* simt_10_vectorized: 128-bit accesses; A transposed in shared memory
 * before:  simt_09_tile2d
 * change:  global memory is read and written VEC elements at a time, and the tile of A is stored transposed
 * why:     a quarter of the load instructions, and both fragments of the inner loop lie in a row
 * expect:  global_load_requests = before.global_load_requests / VEC
 * expect:  shared_store_instructions < before.shared_store_instructions
 * expect:  shared_load_instructions = before.shared_load_instructions
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    a warp's threads lie in a strip of the block's tile, so that they share little of what they load
 *
 * The inner loop's loads stay as many: ptxas had joined those of simt_09 to 128 bits too, four steps of k at a time.
 *
 * PAD 5 is a remedy against bank conflicts that is worse than the illness: rows of B then begin at odd places, stores
 * to them are one element wide, and fewer loads can be joined.
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
#ifndef VEC
#define VEC 4 /* elements of one global access; 1 where rows are not aligned to 16 bytes */
#endif
#ifndef PAD
#define PAD 0 /* unused elements after each row of the tile of B */
#endif
enum {
    THREADS = BM * BN / (TM * TN),
    A_ROWS = THREADS / (BK / VEC), /* rows of a tile that all threads together load at once */
    B_ROWS = THREADS / (BN / VEC)
};
VECTOR_TYPE(part, in_t, VEC);

/* This thread's part of a tile of A, from `a`, its first element in the tile's first row. Beyond the last row, and
 * beyond k, there are zeros. */
DEVICE void load_a(acc_t As[BK][BM], const in_t *a, const gemm *g, int rows, int k_left, int tid) {
    int k = tid % (BK / VEC) * VEC;
    UNROLL
    for (int i = 0; i < BM; i += A_ROWS) {
        int row = i + tid / (BK / VEC);
        part p = {{0}};
        if (row < rows && k < k_left) p = *(const part *)&a[row * g->lda];
        UNROLL
        for (int v = 0; v < VEC; v++) As[k + v][row] = p.at[v];
    }
}

DEVICE void load_b(acc_t Bs[BK][BN + PAD], const in_t *b, const gemm *g, int cols, int k_left, int tid) {
    int col = tid % (BN / VEC) * VEC;
    UNROLL
    for (int i = 0; i < BK; i += B_ROWS) {
        int k = i + tid / (BN / VEC);
        part p = {{0}};
        if (col < cols && k < k_left) p = *(const part *)&b[k * g->ldb];
#if PAD % VEC == 0
        *(part *)&Bs[k][col] = p;
#else
        UNROLL
        for (int v = 0; v < VEC; v++) Bs[k][col + v] = p.at[v];
#endif
    }
}

DEVICE void store_row(const gemm *g, int row, int col_first, const acc_t sums[TN]) {
    UNROLL
    for (int j = 0; j < TN; j += VEC) {
        int col = col_first + j;
        if (row >= g->m || col >= g->n) continue;
        part *c = (part *)&g->c[row * g->ldc + col], p = {{0}};
        if (g->beta.value != 0) p = *c;
        UNROLL
        for (int v = 0; v < VEC; v++) p.at[v] = scaled(g, sums[j + v], &p.at[v]);
        *c = p;
    }
}

KERNEL2(THREADS, BLOCKS) simt_10_vectorized(gemm whole) {
    __shared__ ALIGNED(16) acc_t As[BK][BM];
    __shared__ ALIGNED(16) acc_t Bs[BK][BN + PAD];
    gemm g = begin(whole);
    int tid = threadIdx.x, row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int thread_row = tid / (BN / TN) * TM, thread_col = tid % (BN / TN) * TN;
    const in_t *a = g.a + row_tile * g.lda + tid % (BK / VEC) * VEC,
               *b = g.b + col_tile + tid % (BN / VEC) * VEC;
    acc_t sums[TM][TN] = {{0}};
    for (int k_tile = 0; k_tile < g.k; k_tile += BK) {
        load_a(As, a, &g, g.m - row_tile, g.k - k_tile, tid);
        load_b(Bs, b, &g, g.n - col_tile, g.k - k_tile, tid);
        a += BK;
        b += BK * g.ldb;
        __syncthreads(); /* the tiles are complete */
        UNROLL
        for (int k = 0; k < BK; k++) {
            acc_t a[TM], b[TN];
            UNROLL
            for (int i = 0; i < TM; i++) a[i] = As[k][thread_row + i];
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
    for (int i = 0; i < TM; i++) store_row(&g, row_tile + thread_row + i, col_tile + thread_col, sums[i]);
}
