/* mma_02_shared: tiles of A and B in shared memory feed the tensor cores
 * before:  mma_01_wmma
 * change:  a block loads a tile of A and one of B once; its warps load their fragments from there, and each fragment of
 *          A is used for WN/16 products, each of B for WM/16
 * why:     every tile of A was loaded n/16 times, every tile of B m/16 times
 * expect:  global_load_requests < before.global_load_requests
 * expect:  barriers = 2 * ceil(k*size/(KSTEPS*32))
 * limits:  any m, n, k; A and B in rows or columns, f32 as TF32; f16 and i8 from sm_75 on, bf16 and f32 from sm_80 on
 * next:    between two barriers either the memory or the tensor cores stand still
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
    B_LINE = B_BYTES + 16
};
VECTOR_TYPE(part, in_t, VEC);

/* Copies a tile, of which `there` lines are in the matrix, `length` elements long. Zeros take the place of what is not. */
DEVICE void load_tile(char *tile, const in_t *from, long long distance, int there, int length, int lines,
                      int line_bytes) {
    const int pieces = line_bytes / (VEC * SIZE);
    for (int i = threadIdx.x; i < lines * pieces; i += THREADS) {
        int line = i / pieces, at = i % pieces * VEC, present = line < there ? length - at : 0;
        const in_t *source = from + line * distance + at;
        part p = {{0}};
        if (present >= VEC) {
            p = *(const part *)source;
        } else {
            UNROLL
            for (int e = 0; e < VEC; e++) p.at[e] = e < present ? source[e] : 0;
        }
        *(part *)(tile + line * (line_bytes + 16) + at * SIZE) = p;
    }
}

DEVICE void load_tiles(char *tiles, const gemm *g, int row_tile, int col_tile, int k_tile) {
    int rows = g->m - row_tile, cols = g->n - col_tile, depth = g->k - k_tile;
    load_tile(tiles, g->a + row_tile * g->lda + k_tile * g->a_step, AT ? g->a_step : g->lda,
              AT ? depth : rows, AT ? rows : depth, A_LINES, A_BYTES);
    load_tile(tiles + A_LINES * A_LINE, g->b + k_tile * g->ldb + col_tile * g->b_step,
              BT ? g->b_step : g->ldb, BT ? cols : depth, BT ? depth : cols, B_LINES, B_BYTES);
}

/* One pair of tiles' worth of products of a warp. */
DEVICE void multiply_tiles(wmma_sums sums[WM / 16][WN / 16], const char *tiles, int row_warp, int col_warp) {
    const char *tile_b = tiles + A_LINES * A_LINE;
    UNROLL
    for (int k = 0; k < BK; k += WMMA_K) {
        wmma_part a[WM / 16], b;
        UNROLL
        for (int i = 0; i < WM / 16; i++) {
            int row = row_warp + i * 16;
            wmma_load(&a[i], (const in_t *)(tiles + (AT ? k * A_LINE + row * SIZE : row * A_LINE + k * SIZE)),
                      A_LINE / SIZE, 0, AT, 1);
        }
        UNROLL
        for (int j = 0; j < WN / 16; j++) {
            int col = col_warp + j * 16;
            wmma_load(&b, (const in_t *)(tile_b + (BT ? col * B_LINE + k * SIZE : k * B_LINE + col * SIZE)),
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

KERNEL(THREADS) mma_02_shared(gemm all) {
    DYNAMIC_SHARED(char, tiles);
    gemm g = begin(all);
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int warp = threadIdx.x / 32, row_warp = warp / (BN / WN) * WM, col_warp = warp % (BN / WN) * WN;
    wmma_sums sums[WM / 16][WN / 16] = {{{{0}}}};
    for (int k_tile = 0; k_tile < g.k; k_tile += BK) {
        load_tiles(tiles, &g, row_tile, col_tile, k_tile);
        __syncthreads();
        multiply_tiles(sums, tiles, row_warp, col_warp);
        __syncthreads();
    }
    store_sums(&g, sums, row_tile + row_warp, col_tile + col_warp, (acc_t *)tiles + warp * 256);
}
