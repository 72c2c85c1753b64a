/* wgmma_03_persistent: a block computes one tile after the other
 * before:  wgmma_02_ring
 * change:  as many blocks as there are multiprocessors, each taking every so manieth tile, in groups of GROUP rows
 * why:     the producer fetches the next tile's first stages while this one's sums are written, and blocks that run at
 *          the same time share rows of A and columns of B in L2
 * expect:  no more gaps between tiles for loads; global memory is read less often
 * limits:  any m, n, k; A and B in rows or columns, aligned to 16 bytes (f32 as TF32 and i8: along k); sm_90a
 * next:    neighbouring blocks still fetch the same tiles of B, each for itself
 */
#ifndef BN
#define BN 256 /* columns of C of a block: 64, 128, 192 or 256 */
#endif
#ifndef STAGES
#define STAGES 4 /* tiles of A and B in flight or in use */
#endif
#ifndef GROUP
#define GROUP 16 /* rows of tiles that are walked together */
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
    CONSUMERS = 2,
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    A_BYTES = BM * LINE,
    STAGE = A_BYTES + BN * LINE,
    CHUNK = 64 * LINE /* 64 lines: of a warpgroup's A, or of a turned tile */
};
VECTOR_TYPE(pair, out_t, 2);

/* The block's shared memory, as addresses. */
typedef struct room {
    unsigned stages, full, empty;
} room;

DEVICE room rooms(const void *memory) {
    room r;
    r.stages = (shared_at(memory) + 1023u) & ~1023u;
    r.full = r.stages + STAGES * STAGE;
    r.empty = r.full + 8 * STAGES;
    return r;
}

/* Where a thread is in the ring of stages. */
typedef struct ring {
    int slot;
    unsigned parity;
} ring;

DEVICE void advance(ring *r) {
    if (++r->slot < STAGES) return;
    r->slot = 0;
    r->parity ^= 1;
}

/* The tiles this block computes: every so manieth. */
typedef struct walk {
    int at, step, rows, cols, total;
} walk;

DEVICE walk begin_walk(const gemm *g) {
    walk w = {(int)blockIdx.x, (int)gridDim.x, (g->m + BM - 1) / BM, (g->n + BN - 1) / BN, 0};
    w.total = w.rows * w.cols * g->count;
    return w;
}

/* A tile: its first row and column, and its product's place in the batch. */
typedef struct place {
    int row, col, product;
} place;

DEVICE place place_of(const walk *w) {
    place p;
    int of_product = w->rows * w->cols;
    p.product = w->at / of_product;
    tile_of(w->at - p.product * of_product, w->rows, w->cols, GROUP, &p.row, &p.col);
    p.row *= BM;
    p.col *= BN;
    return p;
}

/* ---- The producer: one thread asks for tile after tile ---- */

/* A tile from element (k, across) on: one box of lines along k, or (turned) boxes of 64 elements across. */
DEVICE void load_tile(unsigned to, const tensor_map *map, int turned, int boxes, int k, int across,
                      int product, unsigned barrier) {
    UNROLL
    for (int i = 0; i < boxes; i++)
        tma_load(to + i * CHUNK, map, (turned ? across + 64 * i : k), turned ? k : across, product, barrier);
}

DEVICE void produce(const tma_gemm *all, room r, int blocks) {
    const gemm *g = &all->g;
    ring at = {0, 1};
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        place p = place_of(&w);
        int product_a = g->batch_a ? p.product : 0, product_b = g->batch_b ? p.product : 0;
        for (int block = 0; block < blocks; block++) {
            unsigned stage = r.stages + at.slot * STAGE, full = r.full + 8 * at.slot;
            barrier_wait(r.empty + 8 * at.slot, at.parity);
            barrier_expect(full, STAGE);
            load_tile(stage, &all->a, A_TURNED, A_TURNED ? BM / 64 : 1, block * BK, p.row, product_a, full);
            load_tile(stage + A_BYTES, &all->b, B_TURNED, B_TURNED ? BN / 64 : 1, block * BK, p.col,
                      product_b, full);
            advance(&at);
        }
    }
}

/* ---- The consumers ---- */

/* A warp has read a stage. */
DEVICE void release(unsigned empty) {
    if (threadIdx.x % 32 == 0) barrier_arrive(empty);
}

/* All of k for one tile. The products of a stage run while the next is waited for; then it is free again. */
DEVICE void multiply(acc_t sums[BN / 2], room r, ring *at, int blocks, int consumer) {
    const unsigned long long a = wgmma_tile(r.stages + consumer * CHUNK, A_TURNED),
                             b = wgmma_tile(r.stages + A_BYTES, B_TURNED);
    int last = 0;
    for (int block = 0; block < blocks; block++) {
        unsigned stage = (unsigned)at->slot * (STAGE / 16);
        barrier_wait(r.full + 8 * at->slot, at->parity);
        wgmma_fence();
        UNROLL
        for (int step = 0; step < STEPS; step++)
            WGMMA(sums, a + stage + step * WGMMA_STEP(A_TURNED), b + stage + step * WGMMA_STEP(B_TURNED),
                  block | step);
        wgmma_commit();
        wgmma_wait(1);
        if (block > 0) release(r.empty + 8 * last);
        last = at->slot;
        advance(at);
    }
    wgmma_wait(0);
    WGMMA_PIN(sums);
    release(r.empty + 8 * last);
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

DEVICE void consume(const tma_gemm *all, room r, int blocks) {
    int warp = threadIdx.x / 32 - 4;
    acc_t sums[BN / 2];
    ring at = {0, 0};
    for (walk w = begin_walk(&all->g); w.at < w.total; w.at += w.step) {
        place p = place_of(&w);
        gemm g = all->g;
        g.c += p.product * g.batch_c;
        multiply(sums, r, &at, blocks, warp / 4);
        write_sums(&g, p.row + warp * 16, p.col, sums);
    }
}

CLUSTER_KERNEL(THREADS, 1) wgmma_03_persistent(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    room r = rooms(memory);
    int blocks = (all.g.k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4 * CONSUMERS);
        }
        barrier_publish();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(40);
        if (threadIdx.x == 0) produce(&all, r, blocks);
    } else {
        REGISTERS_MORE(232);
        consume(&all, r, blocks);
    }
}
