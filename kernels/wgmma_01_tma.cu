/* wgmma_01_tma: TMA brings whole tiles, and wgmma multiplies them where they lie
 * before:  mma_07_raster
 * change:  one thread asks TMA for a tile of A and one of B; four warps together multiply from shared memory
 * why:     no registers, addresses or instructions are spent on moving A and B, and wgmma runs at the tensor cores' full
 *          rate, which mma cannot
 * expect:  more than mma_07 although loads and products take turns: a block waits for every tile
 * limits:  any m, n, k; A and B in rows or columns, aligned to 16 bytes (f32 as TF32 and i8: along k); sm_90a
 * next:    the tensor cores are idle while a tile is on its way
 */
#ifndef BN
#define BN 128 /* columns of C of a block: 64, 128, 192 or 256 */
#endif
#ifndef AT
#define AT 0 /* 1: A lies in columns */
#endif
#ifndef BT
#define BT 0 /* 1: B lies in columns */
#endif
#define A_TURNED AT
#if BT
#define B_TURNED 0
#else
#define B_TURNED 1
#endif
#include "hopper.h"
enum {
    BM = 128, /* 64 rows for each of two warpgroups */
    THREADS = 256,
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a tile */
    A_BYTES = BM * LINE,
    STAGE = A_BYTES + BN * LINE,
    CHUNK = 64 * LINE /* 64 lines: of a warpgroup's A, or of a turned tile */
};
VECTOR_TYPE(pair, out_t, 2);

/* A tile from element (k, across) on: one box of lines along k, or (turned) boxes of 64 elements across. */
DEVICE void load_tile(unsigned to, const tensor_map *map, int turned, int boxes, int k, int across,
                      int product, unsigned barrier) {
    UNROLL
    for (int i = 0; i < boxes; i++)
        tma_load(to + i * CHUNK, map, (turned ? across + 64 * i : k), turned ? k : across, product, barrier);
}

/* Both tiles of a step of k. */
DEVICE void load_tiles(const tma_gemm *all, unsigned stage, int k, int row, int col, unsigned full) {
    const gemm *g = &all->g;
    int product = blockIdx.z;
    barrier_expect(full, STAGE);
    load_tile(stage, &all->a, A_TURNED, A_TURNED ? BM / 64 : 1, k, row, g->batch_a ? product : 0, full);
    load_tile(stage + A_BYTES, &all->b, B_TURNED, B_TURNED ? BN / 64 : 1, k, col, g->batch_b ? product : 0,
              full);
}

DEVICE void multiply_tile(acc_t sums[BN / 2], unsigned stage, int keep) {
    const unsigned long long a = wgmma_tile(stage + threadIdx.x / 128 * CHUNK, A_TURNED),
                             b = wgmma_tile(stage + A_BYTES, B_TURNED);
    wgmma_fence();
    UNROLL
    for (int step = 0; step < STEPS; step++)
        WGMMA(sums, a + step * WGMMA_STEP(A_TURNED), b + step * WGMMA_STEP(B_TURNED), keep | step);
    wgmma_commit();
    wgmma_wait(0);
}

/* Two neighbours in a row of C, by one access where they lie so. */
DEVICE void store_pair(const gemm *g, int row, int col, const acc_t *sums, int paired) {
    out_t *c = g->c + row * g->ldc + col;
    if (row >= g->m || col >= g->n) return;
    if (paired && col + 1 < g->n) {
        pair p = {{0}};
        if (g->beta.value != 0) p = *(const pair *)c;
        p.at[0] = TO_OUT(scaled(g, sums[0], &p.at[0]));
        p.at[1] = TO_OUT(scaled(g, sums[1], &p.at[1]));
        *(pair *)c = p;
    } else {
        store(g, row, col, sums[0]);
        if (col + 1 < g->n) store(g, row, col + 1, sums[1]);
    }
}

/* A warp's sums: 16 rows, of which a lane has row lane / 4 and the one 8 further on. */
DEVICE void write_sums(const gemm *g, int row, int col, const acc_t sums[BN / 2]) {
    int lane = threadIdx.x % 32;
    int paired = ((unsigned long long)g->c | g->ldc * sizeof(out_t)) % sizeof(pair) == 0;
    row += lane / 4;
    col += lane % 4 * 2;
    UNROLL
    for (int j = 0; j < BN / 8; j++) {
        store_pair(g, row, col + 8 * j, &sums[4 * j], paired);
        store_pair(g, row + 8, col + 8 * j, &sums[4 * j + 2], paired);
    }
}

CLUSTER_KERNEL(THREADS, 1) wgmma_01_tma(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    unsigned stage = (shared_at(memory) + 1023u) & ~1023u, full = stage + STAGE, parity = 0;
    int row = blockIdx.y * BM, col = blockIdx.x * BN;
    acc_t sums[BN / 2];
    if (threadIdx.x == 0) {
        barrier_init(full, 1);
        barrier_publish();
    }
    __syncthreads();
    for (int k = 0; k < all.g.k; k += BK, parity ^= 1) {
        if (threadIdx.x == 0) load_tiles(&all, stage, k, row, col, full);
        barrier_wait(full, parity);
        multiply_tile(sums, stage, k);
        __syncthreads(); /* everybody has read the tile */
    }
    WGMMA_PIN(sums);
    gemm g = begin(all.g);
    write_sums(&g, row + threadIdx.x / 32 * 16, col, sums);
}
