/* simt_03_unrolled: the inner loop takes four steps at a time
 * before:  simt_02_coalesced
 * change:  four multiply-adds per turn of the loop, and the rest one by one
 * why:     fewer branches, and four pairs of loads in flight before the first is needed
 * expect:  global_load_requests = before.global_load_requests
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    nothing is loaded less often: the compiler unrolls simt_02 by itself, so that the gain is small
 */
#ifndef BX
#define BX 32 /* columns of C of a block, the direction in which neighbouring threads lie */
#endif
#ifndef BY
#define BY 32 /* rows of C of a block */
#endif

KERNEL(BX *BY) simt_03_unrolled(gemm whole) {
    gemm g = begin(whole);
    int row = blockIdx.y * BY + threadIdx.y;
    int col = blockIdx.x * BX + threadIdx.x;
    if (row >= g.m || col >= g.n) return;
    const in_t *a = g.a + row * g.lda, *b = g.b + col;
    acc_t sum = 0;
    int k = 0;
    for (; k <= g.k - 4; k += 4) {
        sum = FMA(LOAD(a[k]), LOAD(b[k * g.ldb]), sum);
        sum = FMA(LOAD(a[k + 1]), LOAD(b[(k + 1) * g.ldb]), sum);
        sum = FMA(LOAD(a[k + 2]), LOAD(b[(k + 2) * g.ldb]), sum);
        sum = FMA(LOAD(a[k + 3]), LOAD(b[(k + 3) * g.ldb]), sum);
    }
    for (; k < g.k; k++) sum = FMA(LOAD(a[k]), LOAD(b[k * g.ldb]), sum);
    store(&g, row, col, sum);
}
