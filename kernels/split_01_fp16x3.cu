/* split_01_fp16x3: f32 from three products of f16, added up in f32 registers
 * before:  wgmma_06_turns
 * change:  A and B are scaled by a power of two for every row and column and split into two f16, 22 bits together, by
 *          split_prepare.cu; a tile holds both parts, and every 64 of k low*high + high*low and then high*high are added to
 *          sums in ordinary registers, which round where tensor cores cut off
 * why:     tensor cores multiply f16 fifteen times as fast as the other units multiply f32; three products, the work before
 *          them and the additions leave a third of that, at less error than that of f32 multiply-adds in order
 * expect:  on an H200 about five times cuBLAS's f32 at 8192, 2.7 times at 1024, where the work before costs half
 * limits:  any m, n, k and strides; rows and columns that span more octaves than f16 carries are multiplied as six
 *          products of bf16, and plain multiply-adds do infinities and NaN: decided on the card; sm_90a
 * next:    the parts of one product are written while the one before it is multiplied
 */
#ifndef BN
#define BN 192 /* columns of C of a block: 64, 128, 192 or 200 */
#endif
#ifndef STAGES
#define STAGES 5 /* tiles of A and B in flight or in use */
#endif
#ifndef GROUP
#define GROUP 8 /* rows of tiles that are walked together */
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
#ifndef SHARE
#define SHARE 0 /* 1: tiles of a last round that is not full are cut along k, so that no block is idle */
#endif
#ifndef STORE
#define STORE 1 /* 0: rows of C are not aligned to 16 bytes, and TMA does not write them */
#endif
#ifndef SHORT
#define SHORT 0 /* 1: no bf16x6, which below k = 512 may err more than multiply-adds: those do it */
#endif
#include "split.h"

CLUSTER_KERNEL(THREADS, CM) split_01_fp16x3(const __grid_constant__ split_gemm all) {
    extern __shared__ __align__(1024) char memory[];
    split_product(&all, memory, WAY_FP16X3);
}
