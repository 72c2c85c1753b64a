/* simt_05_shared: stage tiles of A and B in shared memory
 * before:  simt_02_coalesced
 * change:  a block loads a TILE×TILE tile of A and of B once; the inner loop reads shared memory
 * why:     every element of A was fetched n times, every element of B m times; now n/TILE and m/TILE times
 * expect:  global_load_requests = before.global_load_requests / TILE
 * expect:  barriers = 2 * ceil(k / TILE)
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    one multiply-add per two shared loads: more results per thread
 */
#ifndef TILE
#define TILE 32 /* edge of the square tiles, and of the block of threads */
#endif

KERNEL(TILE *TILE) simt_05_shared(gemm whole) {
    __shared__ acc_t As[TILE][TILE];
    __shared__ acc_t Bs[TILE][TILE];
    gemm g = begin(whole);
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    const in_t *a = g.a + row * g.lda + tx, *b = g.b + ty * g.ldb + col;
    int inside = (blockIdx.y + 1) * TILE <= g.m && (blockIdx.x + 1) * TILE <= g.n;
    acc_t sum = 0;
    for (int k_tile = 0; k_tile < g.k; k_tile += TILE) {
        if (inside && k_tile + TILE <= g.k) {
            As[ty][tx] = LOAD(*a);
            Bs[ty][tx] = LOAD(*b);
        } else {
            As[ty][tx] = row < g.m && k_tile + tx < g.k ? LOAD(*a) : 0;
            Bs[ty][tx] = k_tile + ty < g.k && col < g.n ? LOAD(*b) : 0;
        }
        a += TILE;
        b += TILE * g.ldb;
        __syncthreads(); /* the tiles are complete */
        UNROLL
        for (int k = 0; k < TILE; k++) sum = FMA(As[ty][k], Bs[k][tx], sum);
        __syncthreads(); /* everybody is done with them */
    }
    if (row < g.m && col < g.n) store(&g, row, col, sum);
}
