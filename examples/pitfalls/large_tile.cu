/* large_tile: tiles so large that few blocks fit a multiprocessor, or none
 * block:   THREADS, 1
 * tile:    TILE, TILE
 * types:   f32 i32 f64
 *
 * TILE 64 in f32 takes 32 KB of shared memory a block. A multiprocessor of a Tesla P100 (sm_60) has 64 KB:
 * two blocks of 256 threads, 16 of its 64 warps, too few to hide the wait for memory behind. TILE 96 takes 72
 * KB, more than the 48 KB a kernel's __shared__ variables may have: it does not run at all.
 */
#ifndef TILE
#define TILE 64 /* edge of the square tiles */
#endif
#ifndef THREADS
#define THREADS 256 /* of a block; each computes TILE*TILE/THREADS elements */
#endif
enum { PER_THREAD = TILE * TILE / THREADS };

KERNEL(THREADS) large_tile(gemm whole) {
    __shared__ acc_t As[TILE][TILE];
    __shared__ acc_t Bs[TILE][TILE];
    gemm g = begin(whole);
    int tid = threadIdx.x, row_tile = blockIdx.y * TILE, col_tile = blockIdx.x * TILE;
    acc_t sums[PER_THREAD] = {0};
    for (int k_tile = 0; k_tile < g.k; k_tile += TILE) {
        for (int i = tid; i < TILE * TILE; i += THREADS) {
            int y = i / TILE, x = i % TILE, row = row_tile + y, col = col_tile + x;
            As[y][x] = row < g.m && k_tile + x < g.k ? LOAD(g.a[row * g.lda + k_tile + x]) : 0;
            Bs[y][x] = k_tile + y < g.k && col < g.n ? LOAD(g.b[(k_tile + y) * g.ldb + col]) : 0;
        }
        __syncthreads();
        for (int e = 0; e < PER_THREAD; e++) {
            int i = tid + e * THREADS;
            for (int k = 0; k < TILE; k++) sums[e] = FMA(As[i / TILE][k], Bs[k][i % TILE], sums[e]);
        }
        __syncthreads();
    }
    for (int e = 0; e < PER_THREAD; e++) {
        int i = tid + e * THREADS, row = row_tile + i / TILE, col = col_tile + i % TILE;
        if (row < g.m && col < g.n) store(&g, row, col, sums[e]);
    }
}
