/* unused_prefetch: the next tile is fetched early, and fetched again when its turn comes
 * block:   TILE, TILE
 * tile:    TILE, TILE
 * types:   f32 f64 i32
 *
 * Each turn loads an element of the next tiles into registers, as simt_06_prefetched does, but then the current tiles
 * come from global memory all the same, and the registers are overwritten unread. As written that is twice the loads;
 * a compiler that sees it drops the early ones, and nothing is left of the prefetch. The padding of the tiles (PAD 1)
 * removes no bank conflict, because there is none: a warp reads one element of As for all its threads, and 32
 * neighbours of Bs.
 */
#ifndef TILE
#define TILE 32 /* edge of the square tiles, and of the block of threads */
#endif
#ifndef PAD
#define PAD 1 /* unused elements after each row of a tile in shared memory */
#endif

KERNEL(TILE *TILE) unused_prefetch(gemm whole) {
    __shared__ acc_t As[TILE][TILE + PAD];
    __shared__ acc_t Bs[TILE][TILE + PAD];
    gemm g = begin(whole);
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    acc_t sum = 0, next_a = 0, next_b = 0;
    const in_t *a = g.a + row * g.lda + tx, *b = g.b + ty * g.ldb + col;
    for (int k_tile = 0; k_tile < g.k; k_tile += TILE) {
        int k_next = k_tile + TILE;
        if (k_next < g.k) {
            next_a = row < g.m && k_next + tx < g.k ? LOAD(a[TILE]) : 0;
            next_b = k_next + ty < g.k && col < g.n ? LOAD(b[TILE * g.ldb]) : 0;
        }
        As[ty][tx] = row < g.m && k_tile + tx < g.k ? LOAD(*a) : 0; /* next_a was for this */
        Bs[ty][tx] = k_tile + ty < g.k && col < g.n ? LOAD(*b) : 0;
        a += TILE;
        b += TILE * g.ldb;
        __syncthreads(); /* the tiles are complete */
        UNROLL
        for (int k = 0; k < TILE; k++) sum = FMA(As[ty][k], Bs[k][tx], sum);
        __syncthreads(); /* everybody is done with them */
    }
    (void)next_a, (void)next_b;
    if (row < g.m && col < g.n) store(&g, row, col, sum);
}
