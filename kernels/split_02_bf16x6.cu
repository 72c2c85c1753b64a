/* split_02_bf16x6: f32 from six products of bf16: every bit, and the whole range of exponents
 * before:  split_01_fp16x3
 * change:  an element is three bf16 that together are it exactly; of the nine products of parts the six are formed that
 *          matter, small ones first, and added to sums in ordinary registers every 64 of k
 * why:     bf16 has the exponents of f32, so that nothing has to be scaled and rows may span what they like
 * expect:  half the rate of split_01_fp16x3; A times the identity is A, bit by bit
 * limits:  any m, n, k and strides; where an element is below 2^-110, or infinite or NaN, plain multiply-adds do it:
 *          decided on the card; sm_90a
 * next:    nothing: where f16 carries the data, split_01_fp16x3 is faster
 */
#ifndef BN
#define BN 128 /* columns of C of a block: 64, 128, 192 or 200 */
#endif
#ifndef STAGES
#define STAGES 6 /* tiles of A and B in flight or in use */
#endif
#ifndef GROUP
#define GROUP 4 /* rows of tiles that are walked together */
#endif
#ifndef CM
#define CM 2 /* blocks of a cluster: they share columns, and fetch each tile of B once */
#endif
#ifndef BOXES
#define BOXES 1 /* pieces of C that a warp may have on their way */
#endif
#ifndef PACE
#define PACE 8 /* stages after which a block of a product of many rounds waits for others; 0: it does not */
#endif
#ifndef STORE
#define STORE 1 /* 0: rows of C are not aligned to 16 bytes, and TMA does not write them */
#endif
#include "split.h"

CLUSTER_KERNEL(THREADS, CM) split_02_bf16x6(const __grid_constant__ split_gemm all) {
    extern __shared__ __align__(1024) char memory[];
    split_product(&all, memory, WAY_BF16X6);
}
