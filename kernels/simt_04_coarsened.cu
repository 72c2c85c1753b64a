/* simt_04_coarsened: several neighbouring columns per thread, still from global memory: slower, and why
 * before:  simt_02_coalesced
 * change:  each thread computes COARSE columns of C, one after the other
 * why:     fewer threads, more work for each; it is tried because more work per thread helps later on
 * expect:  global_load_requests = before.global_load_requests
 * expect:  global_load_sectors > before.global_load_sectors
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0
 * next:    neighbouring threads are now COARSE elements apart, so that a warp touches COARSE times the sectors, and
 *          A is read again for every column: what is reused must be held in faster memory
 */
#ifndef BX
#define BX 32 /* threads of a block along a row of C */
#endif
#ifndef BY
#define BY 32 /* rows of C of a block */
#endif
#ifndef COARSE
#define COARSE 4 /* columns of C of a thread */
#endif

KERNEL(BX *BY) simt_04_coarsened(gemm whole) {
    gemm g = begin(whole);
    int row = blockIdx.y * BY + threadIdx.y;
    int first = (blockIdx.x * BX + threadIdx.x) * COARSE;
    if (row >= g.m) return;
    const in_t *a = g.a + row * g.lda;
    for (int col = first; col < first + COARSE; col++) {
        if (col >= g.n) return;
        const in_t *b = g.b + col;
        acc_t sum = 0;
        for (int k = 0; k < g.k; k++) sum = FMA(LOAD(a[k]), LOAD(b[k * g.ldb]), sum);
        store(&g, row, col, sum);
    }
}
