/* simt_01_uncoalesced: one thread per element of C; neighbouring threads walk down a column
 * before:  nothing
 * change:  each thread computes one dot product from global memory
 * why:     it is the product as its definition says it
 * expect:  global_load_requests = 2 * k * ceil(m / BX) * BX * ceil(n / BY) * BY / 32
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    the 32 threads of a warp read 32 rows of A at once: 32 separate sectors for one instruction
 */
#ifndef BX
#define BX 32 /* rows of C of a block, the direction in which neighbouring threads lie */
#endif
#ifndef BY
#define BY 32 /* columns of C of a block */
#endif

KERNEL(BX *BY) simt_01_uncoalesced(gemm whole) {
    gemm g = begin(whole);
    int row = blockIdx.y * BX + threadIdx.x;
    int col = blockIdx.x * BY + threadIdx.y;
    if (row >= g.m || col >= g.n) return;
    const in_t *a = g.a + row * g.lda, *b = g.b + col;
    acc_t sum = 0;
    for (int k = 0; k < g.k; k++) sum = FMA(LOAD(a[k]), LOAD(b[k * g.ldb]), sum);
    store(&g, row, col, sum);
}
