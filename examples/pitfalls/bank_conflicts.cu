/* bank_conflicts: a tile of A is read down its columns
 * block:   TILE, TILE
 * tile:    TILE, TILE
 * types:   f32 i32
 *
 * Threads that are neighbours compute neighbouring rows of C, so that a warp reads a column of As: elements
 * TILE apart. With PAD 0 and TILE 32 they all lie in one of the 32 banks, and the hardware serves them one
 * after the other: 32 wavefronts for one instruction. With PAD 1 each row begins one bank further on, and all
 * are served at once.
 */
#ifndef TILE
#define TILE 32 /* edge of the square tiles, and of the block of threads */
#endif
#ifndef PAD
#define PAD 0 /* unused elements after each row of the tiles */
#endif

KERNEL(TILE *TILE) bank_conflicts(gemm whole) {
    __shared__ acc_t As[TILE][TILE + PAD];
    __shared__ acc_t Bs[TILE][TILE + PAD];
    gemm g = begin(whole);
    int tx = threadIdx.x, ty = threadIdx.y;
    int row_tile = blockIdx.y * TILE, col_tile = blockIdx.x * TILE;
    int row = row_tile + tx, col = col_tile + ty; /* neighbours in tx have neighbouring rows */
    acc_t sum = 0;
    for (int k_tile = 0; k_tile < g.k; k_tile += TILE) {
        int row_a = row_tile + ty, col_b = col_tile + tx;
        As[ty][tx] = row_a < g.m && k_tile + tx < g.k ? LOAD(g.a[row_a * g.lda + k_tile + tx]) : 0;
        Bs[ty][tx] = k_tile + ty < g.k && col_b < g.n ? LOAD(g.b[(k_tile + ty) * g.ldb + col_b]) : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum = FMA(As[tx][k], Bs[k][ty], sum);
        __syncthreads();
    }
    if (row < g.m && col < g.n) store(&g, row, col, sum);
}
