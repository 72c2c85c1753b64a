/* simt_06_prefetched: the next tile is loaded into registers while this one is used
 * before:  simt_05_shared
 * change:  each thread fetches its element of the next tiles before the inner loop and stores it after
 * why:     the wait for global memory lay bare between the two barriers; now it overlaps the arithmetic
 * expect:  global_load_requests = before.global_load_requests
 * expect:  barriers = before.barriers
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    the inner loop still reads shared memory twice for each multiply-add
 *
 * Often such a kernel fetches the next tile and then loads it again from global memory when its turn comes, so
 * that the fetch only warms a cache. And the padding that usually comes with it (PAD 1) removes no conflict: a
 * warp reads one element of As for all its threads, and 32 neighbours of Bs. It costs: rows of As no longer begin
 * at multiples of 16 bytes, so that four elements can no longer be read by one instruction.
 */
#ifndef TILE
#define TILE 32 /* edge of the square tiles, and of the block of threads */
#endif
#ifndef PAD
#define PAD 0 /* unused elements after each row of a tile in shared memory */
#endif

KERNEL(TILE *TILE) simt_06_prefetched(gemm whole) {
    __shared__ acc_t As[TILE][TILE + PAD];
    __shared__ acc_t Bs[TILE][TILE + PAD];
    gemm g = begin(whole);
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    acc_t sum = 0;
    const in_t *a = g.a + row * g.lda + tx, *b = g.b + ty * g.ldb + col;
    acc_t next_a = row < g.m && tx < g.k ? LOAD(*a) : 0;
    acc_t next_b = ty < g.k && col < g.n ? LOAD(*b) : 0;
    for (int k_tile = 0; k_tile < g.k; k_tile += TILE) {
        As[ty][tx] = next_a;
        Bs[ty][tx] = next_b;
        __syncthreads(); /* the tiles are complete */
        int k_next = k_tile + TILE;
        a += TILE;
        b += TILE * g.ldb;
        next_a = row < g.m && k_next + tx < g.k ? LOAD(*a) : 0;
        next_b = k_next + ty < g.k && col < g.n ? LOAD(*b) : 0;
        UNROLL
        for (int k = 0; k < TILE; k++) sum = FMA(As[ty][k], Bs[k][tx], sum);
        __syncthreads(); /* everybody is done with them */
    }
    if (row < g.m && col < g.n) store(&g, row, col, sum);
}
