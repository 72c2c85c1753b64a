/* mma_01_wmma: a warp multiplies 16×16 tiles on the tensor cores, straight from global memory
 * before:  simt_02_coalesced
 * change:  32 threads share one 16×16 tile of C; wmma loads tiles of A and B, multiplies and adds them as a whole
 * why:     a tensor core makes thousands of multiply-adds of one instruction; a thread by itself makes 32 with its warp
 * expect:  global_load_requests < before.global_load_requests / 4
 * expect:  barriers = 0
 * limits:  any m, n, k; A and B in rows or columns, f32 as TF32; tiles that are not whole or not aligned pass through
 *          shared memory; f16 and i8 from sm_75 on, bf16 and f32 from sm_80 on
 * next:    every tile of A is loaded n/16 times, every tile of B m/16 times
 */
#ifndef BM
#define BM 64 /* rows of C of a block */
#endif
#ifndef BN
#define BN 64 /* columns of C of a block */
#endif
#ifndef AT
#define AT 0 /* 1: A lies in columns */
#endif
#ifndef BT
#define BT 0 /* 1: B lies in columns */
#endif
#include "tensor.h"
#define SIZE ((int)sizeof(in_t))
enum { THREADS = BM / 16 * (BN / 16) * 32, LONGEST = 1 << 30 };

/* Where a matrix lies: lines `distance` elements apart. */
typedef struct plane {
    const in_t *data;
    long long distance;
    int aligned; /* every tile that begins at a multiple of 16 elements can be loaded from there */
} plane;

DEVICE plane begin_plane(const in_t *data, long long distance) {
    plane p = {data, distance,
               (unsigned long long)data % 32 == 0 && distance * SIZE % 32 == 0 && distance < LONGEST};
    return p;
}

/* One tile: `lines` of it are in the matrix, `length` elements long. What is not there becomes zero, by way of `room`. */
DEVICE void load_part(wmma_part *f, const plane *p, int line, int at, int lines, int length, int full_lines,
                      int full_length, int is_b, int turned, in_t *room) {
    const in_t *from = p->data + line * p->distance + at;
    if (p->aligned && lines >= full_lines && length >= full_length) {
        wmma_load(f, from, (int)p->distance, is_b, turned, 0);
        return;
    }
    __syncwarp(); /* everybody has read what was in the room before */
    for (int e = threadIdx.x % 32; e < full_lines * full_length; e += 32) {
        int i = e / full_length, j = e % full_length;
        room[e] = i < lines && j < length ? from[i * p->distance + j] : 0;
    }
    __syncwarp();
    wmma_load(f, room, full_length, is_b, turned, 1);
}

KERNEL(THREADS) mma_01_wmma(gemm all) {
    /* A warp's room: a tile of A and one of B, and in the end one of C. */
    __shared__ ALIGNED(32) acc_t rooms[THREADS / 32][256];
    gemm g = begin(all);
    int warp = threadIdx.x / 32;
    int row = blockIdx.y * BM + warp / (BN / 16) * 16, col = blockIdx.x * BN + warp % (BN / 16) * 16;
    if (row >= g.m || col >= g.n) return;
    acc_t *room = rooms[warp];
    plane a = begin_plane(g.a, AT ? g.a_step : g.lda), b = begin_plane(g.b, BT ? g.b_step : g.ldb);
    wmma_sums sums = {{0}};
    for (int k = 0; k < g.k; k += WMMA_K) {
        wmma_part part_a, part_b;
        int rows = g.m - row, cols = g.n - col, depth = g.k - k;
        load_part(&part_a, &a, AT ? k : row, AT ? row : k, AT ? depth : rows, AT ? rows : depth,
                  AT ? WMMA_K : 16, AT ? 16 : WMMA_K, 0, AT, (in_t *)room);
        load_part(&part_b, &b, BT ? col : k, BT ? k : col, BT ? cols : depth, BT ? depth : cols,
                  BT ? 16 : WMMA_K, BT ? WMMA_K : 16, 1, BT, (in_t *)room + 16 * WMMA_K);
        wmma_multiply(&sums, &part_a, &part_b, AT, BT);
    }
    __syncwarp();
    wmma_store(room, &sums, 16);
    __syncwarp();
    for (int e = threadIdx.x % 32; e < 256; e += 32)
        if (row + e / 16 < g.m && col + e % 16 < g.n) store(&g, row + e / 16, col + e % 16, room[e]);
}
