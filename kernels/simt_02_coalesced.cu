/* simt_02_coalesced: one thread per element of C; neighbouring threads walk along a row
 * before:  simt_01_uncoalesced
 * change:  threadIdx.x counts columns instead of rows
 * why:     a warp's 32 loads of B are now 128 bytes in a row, and its loads of A one address for all
 * expect:  global_load_requests = before.global_load_requests
 * expect:  global_load_sectors < before.global_load_sectors / 3
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    two loads for every multiply-add; every element of A is fetched n times, every element of B m times
 */
#ifndef BX
#define BX 32 /* columns of C of a block, the direction in which neighbouring threads lie */
#endif
#ifndef BY
#define BY 32 /* rows of C of a block */
#endif

KERNEL(BX *BY) simt_02_coalesced(gemm whole) {
    gemm g = begin(whole);
    int row = blockIdx.y * BY + threadIdx.y;
    int col = blockIdx.x * BX + threadIdx.x;
    if (row >= g.m || col >= g.n) return;
    const in_t *a = g.a + row * g.lda, *b = g.b + col;
    acc_t sum = 0;
    for (int k = 0; k < g.k; k++) sum = FMA(LOAD(a[k]), LOAD(b[k * g.ldb]), sum);
    store(&g, row, col, sum);
}
