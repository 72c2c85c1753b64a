/* simt_11_warptile: block, warp, thread: each level has a tile
 * before:  simt_10_vectorized
 * change:  a warp computes a WM×WN part of the block's tile, a thread WMITER×WNITER pieces of TM×TN inside it
 * why:     the 32 threads of a warp share what they load, and read shared memory without conflicts
 * expect:  shared_load_wavefronts < before.shared_load_wavefronts
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    arithmetic stands still while a tile is loaded
 */
#ifndef BM
#define BM 128 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef BK
#define BK 16 /* depth of the tiles */
#endif
#ifndef WM
#define WM 64 /* rows of C of a warp */
#endif
#ifndef WN
#define WN 64 /* columns of C of a warp */
#endif
#ifndef WNITER
#define WNITER 4 /* pieces of a thread along a row */
#endif
#ifndef TM
#define TM 8 /* rows of a piece */
#endif
#ifndef TN
#define TN 4 /* columns of a piece */
#endif
#ifndef KUNROLL
#define KUNROLL 8 /* turns of the inner loop that are written out */
#endif
#ifndef BLOCKS
#define BLOCKS 2 /* blocks that must fit a multiprocessor at once, which limits the registers of each */
#endif
#ifndef VEC
#define VEC 4 /* elements of one global access; 1 where rows are not aligned to 16 bytes */
#endif
enum {
    THREADS = (BM / WM) * (BN / WN) * 32,
    A_ROWS = THREADS / (BK / VEC), /* rows of a tile that all threads together load at once */
    B_ROWS = THREADS / (BN / VEC),
    WMITER = WM * WN / (32 * TM * TN * WNITER),
    WSUBM = WM / WMITER, /* rows that the warp's pieces of one turn cover */
    WSUBN = WN / WNITER
};
VECTOR_TYPE(part, in_t, VEC);

/* This thread's part of a tile of A, from `a`, its first element in the tile's first row. Beyond the last row, and
 * beyond k, there are zeros. */
DEVICE void load_a(acc_t As[BK][BM], const in_t *a, const gemm *g, int rows, int k_left, int tid) {
    int k = tid % (BK / VEC) * VEC;
    UNROLL_BY(4)
    for (int i = 0; i < BM; i += A_ROWS) {
        int row = i + tid / (BK / VEC);
        part p = {{0}};
        if (row < rows && k < k_left) p = *(const part *)&a[row * g->lda];
        UNROLL
        for (int v = 0; v < VEC; v++) As[k + v][row] = p.at[v];
    }
}

DEVICE void load_b(acc_t Bs[BK][BN], const in_t *b, const gemm *g, int cols, int k_left, int tid) {
    int col = tid % (BN / VEC) * VEC;
    UNROLL_BY(4)
    for (int i = 0; i < BK; i += B_ROWS) {
        int k = i + tid / (BN / VEC);
        part p = {{0}};
        if (col < cols && k < k_left) p = *(const part *)&b[k * g->ldb];
        *(part *)&Bs[k][col] = p;
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

KERNEL2(THREADS, BLOCKS) simt_11_warptile(gemm whole) {
    __shared__ ALIGNED(16) acc_t As[BK][BM];
    __shared__ ALIGNED(16) acc_t Bs[BK][BN];
    gemm g = begin(whole);
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    int thread_row = warp_row + lane / (WSUBN / TN) * TM, thread_col = warp_col + lane % (WSUBN / TN) * TN;
    const in_t *a = g.a + row_tile * g.lda + tid % (BK / VEC) * VEC,
               *b = g.b + col_tile + tid % (BN / VEC) * VEC;
    acc_t sums[WMITER][TM][WNITER][TN] = {{{{0}}}};
    for (int k_tile = 0; k_tile < g.k; k_tile += BK) {
        load_a(As, a, &g, g.m - row_tile, g.k - k_tile, tid);
        load_b(Bs, b, &g, g.n - col_tile, g.k - k_tile, tid);
        a += BK;
        b += BK * g.ldb;
        __syncthreads(); /* the tiles are complete */
        UNROLL_BY(KUNROLL)
        for (int k = 0; k < BK; k++) {
            acc_t a[WMITER][TM], b[WNITER][TN];
            UNROLL
            for (int wm = 0; wm < WMITER; wm++) {
                UNROLL
                for (int i = 0; i < TM; i++) a[wm][i] = As[k][thread_row + wm * WSUBM + i];
            }
            UNROLL
            for (int wn = 0; wn < WNITER; wn++) {
                UNROLL
                for (int j = 0; j < TN; j++) b[wn][j] = Bs[k][thread_col + wn * WSUBN + j];
            }
            UNROLL
            for (int wm = 0; wm < WMITER; wm++) {
                UNROLL
                for (int i = 0; i < TM; i++) {
                    UNROLL
                    for (int wn = 0; wn < WNITER; wn++) {
                        UNROLL
                        for (int j = 0; j < TN; j++)
                            sums[wm][i][wn][j] = FMA(a[wm][i], b[wn][j], sums[wm][i][wn][j]);
                    }
                }
            }
        }
        __syncthreads(); /* everybody is done with them */
    }
    UNROLL
    for (int wm = 0; wm < WMITER; wm++) {
        UNROLL
        for (int i = 0; i < TM; i++) {
            UNROLL
            for (int wn = 0; wn < WNITER; wn++)
                store_row(&g, row_tile + thread_row + wm * WSUBM + i, col_tile + thread_col + wn * WSUBN,
                          sums[wm][i][wn]);
        }
    }
}
