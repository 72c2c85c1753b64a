/* mma_03_async: copies to shared memory run ahead of the tensor cores
 * before:  mma_02_shared
 * change:  cp.async fills a ring of STAGES tiles; one barrier per tile instead of two
 * why:     the tensor cores waited for every tile, from memory through registers to shared memory
 * expect:  barriers < before.barriers
 * expect:  shared_load_instructions = before.shared_load_instructions
 * limits:  any m, n, k; A and B in rows or columns, f32 as TF32; sm_80 and later
 * next:    wmma reads a fragment by many narrow loads
 */
#ifndef BM
#define BM 128 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef KSTEPS
#define KSTEPS 2 /* depth of a tile in 32 bytes of k */
#endif
#ifndef WM
#define WM 64 /* rows of C of a warp */
#endif
#ifndef WN
#define WN 32 /* columns of C of a warp */
#endif
#ifndef STAGES
#define STAGES 3 /* tiles in flight or in use */
#endif
#ifndef AT
#define AT 0 /* 1: A lies in columns */
#endif
#ifndef BT
#define BT 0 /* 1: B lies in columns */
#endif
#ifndef VEC
#define VEC 8 /* elements of one copy: 16 bytes, or less where rows are not aligned */
#endif
#include "tensor.h"
#define SIZE ((int)sizeof(in_t))
enum {
    BK = KSTEPS * 32 / SIZE,
    THREADS = BM / WM * (BN / WN) * 32,
    /* A tile is lines of bytes, as the matrix lies: along k, or along m or n. 16 bytes more keep lines under each other
     * from sharing all their banks. */
    A_LINES = AT ? BK : BM,
    A_BYTES = (AT ? BM : BK) * SIZE,
    A_LINE = A_BYTES + 16,
    B_LINES = BT ? BN : BK,
    B_BYTES = (BT ? BK : BN) * SIZE,
    B_LINE = B_BYTES + 16,
    STAGE = KSTEPS * 32 * (BM + BN) + 16 * (A_LINES + B_LINES)
};

/* Queues the copies of a tile, of which `there` lines are in the matrix, `length` elements long. Zeros take the place
 * of what is not. */
DEVICE void load_tile(char *tile, const in_t *from, long long distance, int there, int length, int lines,
                      int line_bytes) {
    const int pieces = line_bytes / (VEC * SIZE);
    for (int i = threadIdx.x; i < lines * pieces; i += THREADS) {
        int line = i / pieces, at = i % pieces * VEC, present = line < there ? length - at : 0;
        char *to = tile + line * (line_bytes + 16) + at * SIZE;
        present = present < 0 ? 0 : present > VEC ? VEC : present;
        const in_t *source = present ? from + line * distance + at : from;
        if (VEC * SIZE >= 4)
            cp_async_part(to, source, VEC * SIZE, present * SIZE);
        else
            *(in_t *)to = present ? *source : 0;
    }
}

/* Beyond k a stage is all zeros. */
DEVICE void load_stage(char *stage, const gemm *g, int row_tile, int col_tile, int k_tile) {
    int rows = g->m - row_tile, cols = g->n - col_tile, depth = g->k - k_tile;
    if (depth < 0) k_tile = depth = 0;
    load_tile(stage, g->a + row_tile * g->lda + k_tile * g->a_step, AT ? g->a_step : g->lda,
              AT ? depth : rows, AT ? rows : depth, A_LINES, A_BYTES);
    load_tile(stage + A_LINES * A_LINE, g->b + k_tile * g->ldb + col_tile * g->b_step,
              BT ? g->b_step : g->ldb, BT ? cols : depth, BT ? depth : cols, B_LINES, B_BYTES);
}

/* One stage's worth of products of a warp. */
DEVICE void multiply_stage(wmma_sums sums[WM / 16][WN / 16], const char *stage, int row_warp, int col_warp) {
    const char *stage_b = stage + A_LINES * A_LINE;
    UNROLL
    for (int k = 0; k < BK; k += WMMA_K) {
        wmma_part a[WM / 16], b;
        UNROLL
        for (int i = 0; i < WM / 16; i++) {
            int row = row_warp + i * 16;
            wmma_load(&a[i], (const in_t *)(stage + (AT ? k * A_LINE + row * SIZE : row * A_LINE + k * SIZE)),
                      A_LINE / SIZE, 0, AT, 1);
        }
        UNROLL
        for (int j = 0; j < WN / 16; j++) {
            int col = col_warp + j * 16;
            wmma_load(&b, (const in_t *)(stage_b + (BT ? col * B_LINE + k * SIZE : k * B_LINE + col * SIZE)),
                      B_LINE / SIZE, 1, BT, 1);
            UNROLL
            for (int i = 0; i < WM / 16; i++) wmma_multiply(&sums[i][j], &a[i], &b, AT, BT);
        }
    }
}

/* A warp's sums go to C by way of `room`: which lane has which is not known. */
DEVICE void store_sums(const gemm *g, wmma_sums sums[WM / 16][WN / 16], int row_warp, int col_warp,
                       acc_t *room) {
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        UNROLL
        for (int j = 0; j < WN / 16; j++) {
            int row = row_warp + i * 16, col = col_warp + j * 16;
            wmma_store(room, &sums[i][j], 16);
            __syncwarp();
            for (int e = threadIdx.x % 32; e < 256; e += 32)
                if (row + e / 16 < g->m && col + e % 16 < g->n) store(g, row + e / 16, col + e % 16, room[e]);
            __syncwarp();
        }
    }
}

KERNEL(THREADS) mma_03_async(gemm all) {
    DYNAMIC_SHARED(char, stages);
    gemm g = begin(all);
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN, tiles = (g.k + BK - 1) / BK;
    int warp = threadIdx.x / 32, row_warp = warp / (BN / WN) * WM, col_warp = warp % (BN / WN) * WN;
    wmma_sums sums[WM / 16][WN / 16] = {{{{0}}}};
    for (int s = 0; s < STAGES - 1; s++) {
        load_stage(stages + s * STAGE, &g, row_tile, col_tile, s * BK);
        cp_commit();
    }
    for (int t = 0, slot = 0; t < tiles; t++) {
        int last = slot == 0 ? STAGES - 1 : slot - 1;
        cp_wait(STAGES - 2);
        __syncthreads(); /* tile t has arrived, and everybody is done with tile t - 1, whose place is filled again */
        load_stage(stages + last * STAGE, &g, row_tile, col_tile, (t + STAGES - 1) * BK);
        cp_commit();
        multiply_stage(sums, stages + slot * STAGE, row_warp, col_warp);
        slot = slot == STAGES - 1 ? 0 : slot + 1;
    }
    cp_wait(0);
    __syncthreads();
    store_sums(&g, sums, row_tile + row_warp, col_tile + col_warp, (acc_t *)stages + warp * 256);
}
