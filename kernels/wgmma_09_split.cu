/* wgmma_09_split: blocks of a cluster split k
 * before:  wgmma_07_fitted
 * change:  CK blocks of a cluster have the same tile of C, and a part of k each. Every warp's 16 rows are added up, always in
 *          the same pairs, and written by one of them, to whose shared memory the others send their sums
 * why:     a product of few tiles and much k leaves multiprocessors idle: 64×4096×4096 has 64 tiles of 64 by 64, each 64 stages
 *          deep. A second launch that adds up parts would take some 3 us; within a cluster they cross once, by themselves
 * expect:  on an H200 64×4096×4096 in bf16 takes 7.9 to 8.4 us instead of 9.3, 128×128×4096 4.6 instead of 8.8
 * limits:  any m, n, k; A and B in rows or columns, aligned to 16 bytes (f32 as TF32 and i8: along k); sm_90a
 * next:    f32 as TF32 with B in rows (wgmma_08_registers) does not split k; nor does any large product, for the last round of
 *          its tiles
 */
#ifndef BM
#define BM 64 /* rows of C of a block, 64 for each warpgroup that multiplies: 64 or 128 */
#endif
#ifndef BN
#define BN 64 /* columns of C of a block: 64, 128 or 192 */
#endif
#ifndef STAGES
#define STAGES 6 /* tiles of A and B in flight or in use */
#endif
#ifndef GROUP
#define GROUP 16 /* rows of tiles that are walked together */
#endif
#ifndef CK
#define CK 4 /* blocks of a cluster: they share a tile of C, and split k */
#endif
#ifndef BOXES
#define BOXES 1 /* pieces of C that a warp may have on their way */
#endif
#ifndef AT
#define AT 0 /* 1: A lies in columns */
#endif
#ifndef BT
#define BT 0 /* 1: B lies in columns */
#endif
#ifndef STORE
#define STORE 1 /* 0: rows of C are not aligned to 16 bytes, and TMA does not write them */
#endif
#define A_TURNED AT
#if BT
#define B_TURNED 0
#else
#define B_TURNED 1
#endif
#include "hopper.h"
enum {
    CM = 1,
    CONSUMERS = BM / 64,
    WARPS = 4 * CONSUMERS, /* that multiply */
    THREADS = 128 + 32 * WARPS,
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    A_BYTES = BM * LINE,
    STAGE = A_BYTES + BN * LINE,
    CHUNK = 64 * LINE,                        /* 64 lines: of a warpgroup's A, or of a turned tile */
    WARP_SUMS = 16 * BN * (int)sizeof(acc_t), /* bytes that a warp sends */
    BOX = 16 * LINE,                          /* a warp's rows of C, 128 bytes of each */
    BOX_COLS = LINE / (int)sizeof(out_t)
};

#include "walk.h"

/* ---- The producer: one thread asks for tile after tile ---- */

/* The stages of a block: from which on, and how many. Where there are fewer than blocks, some have one past the end of k, where
 * TMA brings zeros. */
typedef struct part_of_k {
    int first, blocks;
} part_of_k;

DEVICE part_of_k part_of(const gemm *g, int rank) {
    int all = (g->k + BK - 1) / BK;
    part_of_k p = {rank, 1};
    if (all < CK) return p;
    p.first = (int)((long long)all * rank / CK);
    p.blocks = (int)((long long)all * (rank + 1) / CK) - p.first;
    return p;
}

/* A tile from element (k, across) on: one box of lines along k, or (turned) boxes of 64 elements across. */
DEVICE void load_tile(unsigned to, const tensor_map *map, int turned, int boxes, int k, int across,
                      int product, unsigned barrier) {
    UNROLL
    for (int i = 0; i < boxes; i++)
        tma_load(to + i * CHUNK, map, turned ? across + 64 * i : k, turned ? k : across, product, barrier);
}

/* Bytes that come of a stage: boxes along k have no more lines than there are (.clipped). */
DEVICE int stage_bytes(const gemm *g) {
    int of_a = !A_TURNED && g->m < BM ? g->m : BM, of_b = !B_TURNED && g->n < BN ? g->n : BN;
    return (of_a + of_b) * LINE;
}

DEVICE void produce(const tma_gemm *all, room r, part_of_k part) {
    const gemm *g = &all->g;
    const int bytes = stage_bytes(g);
    ring at = {0, 1};
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        place p = place_of(&w, 0);
        int product_a = g->batch_a ? p.product : 0, product_b = g->batch_b ? p.product : 0;
        for (int block = part.first; block < part.first + part.blocks; block++) {
            unsigned stage = r.stages + at.slot * STAGE, full = r.full + 8 * at.slot;
            barrier_wait(r.empty + 8 * at.slot, at.parity);
            barrier_expect(full, bytes);
            load_tile(stage, &all->a, A_TURNED, A_TURNED ? BM / 64 : 1, block * BK, p.row, product_a, full);
            load_tile(stage + A_BYTES, &all->b, B_TURNED, B_TURNED ? BN / 64 : 1, block * BK, p.col,
                      product_b, full);
            advance(&at);
        }
    }
}

/* ---- The consumers ---- */

/* The block's part of k for one tile. The tiles of a stage are described once; a slot or step further on is added. */
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
    release(r.empty + 8 * last);
    WGMMA_PIN(sums);
}

/* ---- Sums of several blocks ---- */

/* A warp's rows of the tile are added up and written by the block whose rank is that of the warp, modulo CK; the same warps of
 * the others send theirs there. It keeps them for each of its warps and each of the others; every warp has a barrier that counts
 * the bytes that come, and one that says, to those that sent them, that the next may. */
typedef struct exchange {
    unsigned sums, here, free, parity;
    int rank, owner;
} exchange;

/* Bytes of four sums of every lane. */
enum { FOUR_SUMS = 32 * 4 * (int)sizeof(acc_t) };

/* Where a lane's first four sums lie, of block `rank`: beside its neighbours'. */
DEVICE unsigned sums_at(const exchange *x, int rank) {
    int place = rank - (rank > x->owner), lane = threadIdx.x % 32;
    return x->sums + place * WARP_SUMS + lane * (FOUR_SUMS / 32);
}

DEVICE void send(exchange *x, const acc_t sums[BN / 2]) {
    unsigned here = block_address(x->here, x->owner), to = block_address(sums_at(x, x->rank), x->owner);
    barrier_wait(x->free, x->parity ^ 1);
    UNROLL
    for (int i = 0; i < BN / 8; i++) send_four(to + i * FOUR_SUMS, &sums[4 * i], here);
    x->parity ^= 1;
}

/* What a lane has of the sums of one block is added to what it has of another's, where they lie. */
DEVICE void add_there(unsigned to, unsigned more) {
    UNROLL_BY(4)
    for (int i = 0; i < BN / 8; i++) {
        acc_t sums[4], others[4];
        read_four(sums, to + i * FOUR_SUMS);
        read_four(others, more + i * FOUR_SUMS);
        UNROLL
        for (int j = 0; j < 4; j++) sums[j] = PLUS(sums[j], others[j]);
        write_four(to + i * FOUR_SUMS, sums);
    }
}

/* To its own sums a block adds its neighbour's, to those the sum of the next pair, and so on: the same in the end, whichever
 * block it is. After the last tile the others send no more, may have left, and are not told that they may. */
DEVICE void receive(exchange *x, acc_t sums[BN / 2], int is_last) {
    int lane = threadIdx.x % 32;
    if (lane == 0) barrier_expect(x->here, (CK - 1) * WARP_SUMS);
    barrier_wait_cluster(x->here, x->parity);
    UNROLL
    for (int others = 1; others < CK; others *= 2) {
        const int next = x->owner ^ others; /* next ^ i, for all i below `others`, have not been added yet */
        for (int by = 1; by < others; by *= 2)
            for (int i = 0; i < others; i += 2 * by)
                add_there(sums_at(x, next ^ i), sums_at(x, next ^ (i + by)));
        UNROLL
        for (int i = 0; i < BN / 8; i++) {
            acc_t four[4];
            read_four(four, sums_at(x, next) + i * FOUR_SUMS);
            UNROLL
            for (int j = 0; j < 4; j++) sums[4 * i + j] = PLUS(sums[4 * i + j], four[j]);
        }
    }
    __syncwarp();
    if (!is_last && lane < CK && lane != x->owner) barrier_arrive_at(x->free, lane);
    x->parity ^= 1;
}

#include "boxes.h"

DEVICE void consume(const tma_gemm *all, room r, exchange x, part_of_k part) {
    int warp = threadIdx.x / 32 - 4, consumer = warp / 4;
    const gemm *g = &all->g;
    acc_t sums[BN / 2];
    ring at = {0, 0};
    output o = {all, {0}, r.boxes + warp * BOXES * BOX, r.old + 8 * warp * BOXES, 0, 0};
    x.owner = warp % CK;
    x.sums += warp / CK * (CK - 1) * WARP_SUMS;
    x.here += 8 * warp;
    x.free += 8 * warp;
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        o.at = place_of(&w, 0);
        o.at.row += warp * 16;
        o.product = g->batch_c ? o.at.product : 0;
        if (x.rank == x.owner) begin_boxes(&o);
        multiply(sums, r, &at, part.blocks, consumer);
        if (x.rank != x.owner) {
            send(&x, sums);
        } else {
            if (CK > 1) receive(&x, sums, w.at + w.step >= w.total);
            write_tile(&o, sums);
        }
    }
    end_boxes(CK > 1);
}

CLUSTER_KERNEL(THREADS, CK) wgmma_09_split(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    room r = rooms(memory);
    int rank = (int)blockIdx.x % CK;
    part_of_k part = part_of(&all.g, rank);
    exchange x = {0, r.old + 8 * WARPS * BOXES, 0, 0, rank, 0};
    x.free = x.here + 8 * WARPS;
    x.sums = (x.free + 8 * WARPS + 15) & ~15u;
    if (threadIdx.x == 0) {
        tma_prefetch(&all.a);
        tma_prefetch(&all.b);
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, WARPS);
        }
        for (int b = 0; b < WARPS * BOXES; b++) barrier_init(r.old + 8 * b, 1);
        for (int warp = 0; warp < 2 * WARPS; warp++) barrier_init(x.here + 8 * warp, 1); /* and x.free */
        barrier_publish();
    }
    __syncthreads();
    if (CK > 1) cluster_wait();
    await_last_kernel();
    if (threadIdx.x < 128) {
        if (threadIdx.x == 0) produce(&all, r, part);
    } else {
        consume(&all, r, x, part);
    }
}
