/* missing_barrier: tiles in shared memory, used before they are complete
 * block:   TILE, TILE
 * tile:    TILE, TILE
 * types:   f32 f64 i32
 *
 * Every thread brings one element of each tile and then uses elements that others bring. Without a barrier
 * between the two it may be too early: on a GPU the result is right on some days. The simulator names the
 * line that reads too early. The remedy is the line that is missing: __syncthreads() before the inner loop.
 */
#ifndef TILE
#define TILE 16 /* edge of the square tiles, and of the block of threads */
#endif

KERNEL(TILE *TILE) missing_barrier(gemm whole) {
    __shared__ acc_t As[TILE][TILE];
    __shared__ acc_t Bs[TILE][TILE];
    gemm g = begin(whole);
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    acc_t sum = 0;
    for (int k_tile = 0; k_tile < g.k; k_tile += TILE) {
        As[ty][tx] = row < g.m && k_tile + tx < g.k ? LOAD(g.a[row * g.lda + k_tile + tx]) : 0;
        Bs[ty][tx] = k_tile + ty < g.k && col < g.n ? LOAD(g.b[(k_tile + ty) * g.ldb + col]) : 0;
        for (int k = 0; k < TILE; k++) sum = FMA(As[ty][k], Bs[k][tx], sum);
        __syncthreads();
    }
    if (row < g.m && col < g.n) store(&g, row, col, sum);
}
