/* simt_08_strided4x4: RM×RN results per thread, a tile apart
 * before:  simt_05_shared
 * change:  a block of TILE×TILE threads computes RM×RN tiles of C; each thread has one element of every tile
 * why:     RM + RN shared loads serve RM*RN multiply-adds; neighbouring threads stay neighbours in memory
 * expect:  shared_load_instructions < before.shared_load_instructions
 * expect:  barriers = 2 * ceil(k / TILE)
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    results next to each other could be loaded and stored together
 */
#ifndef TILE
#define TILE 16 /* edge of the block of threads, and depth of the tiles */
#endif
#ifndef RM
#define RM 4 /* rows of C of a thread, TILE apart */
#endif
#ifndef RN
#define RN 4 /* columns of C of a thread, TILE apart */
#endif

KERNEL(TILE *TILE) simt_08_strided4x4(gemm whole) {
    __shared__ acc_t As[TILE * RM][TILE];
    __shared__ acc_t Bs[TILE][TILE * RN];
    gemm g = begin(whole);
    int tx = threadIdx.x, ty = threadIdx.y;
    int first_row = blockIdx.y * TILE * RM + ty;
    int first_col = blockIdx.x * TILE * RN + tx;
    acc_t sums[RM][RN] = {{0}};
    for (int k_tile = 0; k_tile < g.k; k_tile += TILE) {
        UNROLL
        for (int i = 0; i < RM; i++) {
            int row = first_row + i * TILE, k = k_tile + tx;
            As[ty + i * TILE][tx] = row < g.m && k < g.k ? LOAD(g.a[row * g.lda + k]) : 0;
        }
        UNROLL
        for (int j = 0; j < RN; j++) {
            int k = k_tile + ty, col = first_col + j * TILE;
            Bs[ty][tx + j * TILE] = k < g.k && col < g.n ? LOAD(g.b[k * g.ldb + col]) : 0;
        }
        __syncthreads(); /* the tiles are complete */
        UNROLL
        for (int k = 0; k < TILE; k++) {
            UNROLL
            for (int i = 0; i < RM; i++) {
                UNROLL
                for (int j = 0; j < RN; j++)
                    sums[i][j] = FMA(As[ty + i * TILE][k], Bs[k][tx + j * TILE], sums[i][j]);
            }
        }
        __syncthreads(); /* everybody is done with them */
    }
    UNROLL
    for (int i = 0; i < RM; i++) {
        UNROLL
        for (int j = 0; j < RN; j++) {
            int row = first_row + i * TILE, col = first_col + j * TILE;
            if (row < g.m && col < g.n) store(&g, row, col, sums[i][j]);
        }
    }
}
