/* wgmma_06_turns: the two warpgroups that multiply take turns
 * before:  wgmma_05_store
 * change:  a warpgroup issues the products of TURN stages back to back while the other's run, instead of both at once
 * why:     the tensor cores stay with one pair of tiles for longer, which costs less energy; under full load the clock
 *          follows from the power that is drawn
 * expect:  on an H200 about 2 % more at 8192, nothing on small products
 * limits:  any m, n, k; A and B in rows or columns, aligned to 16 bytes (f32 as TF32 and i8: along k); sm_90a
 * next:    the tensor cores are busy 98 % of the time
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
#ifndef CM
#define CM 1 /* blocks of a cluster: they share columns, and fetch each tile of B once */
#endif
#ifndef TURN
#define TURN 2 /* stages that a warpgroup multiplies at a time: 1 or 2; 0: both warpgroups multiply at once */
#endif
#ifndef BOXES
#define BOXES 2 /* pieces of C that a warp may have on their way */
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
    BM = 128, /* 64 rows for each of two warpgroups */
    CONSUMERS = 2,
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    A_BYTES = BM * LINE,
    STAGE = A_BYTES + BN * LINE,
    CHUNK = 64 * LINE, /* 64 lines: of a warpgroup's A, or of a turned tile */
    RUN = TURN > 0 ? TURN : 1,
    BOX = 16 * LINE, /* a warp's rows of C, 128 bytes of each */
    BOX_COLS = LINE / (int)sizeof(out_t)
};

#include "walk.h"

/* ---- The producer: one thread asks for tile after tile ---- */

/* A tile from element (k, across) on: one box of lines along k, or (turned) boxes of 64 elements across. With `share`
 * the other blocks of the cluster get it too. */
DEVICE void load_tile(unsigned to, const tensor_map *map, int turned, int boxes, int k, int across,
                      int product, unsigned barrier, int share) {
    UNROLL
    for (int i = 0; i < boxes; i++) {
        int x = (turned ? across + 64 * i : k), line = turned ? k : across;
        if (share)
            tma_load_all(to + i * CHUNK, map, x, line, product, barrier, (1 << CM) - 1);
        else
            tma_load(to + i * CHUNK, map, x, line, product, barrier);
    }
}

/* Every block of a cluster fetches its part of the tile of B. */
DEVICE void produce(const tma_gemm *all, room r, int blocks, int rank) {
    const gemm *g = &all->g;
    const int part = BN / CM;
    ring at = {0, 1};
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        place p = place_of(&w, rank);
        int product_a = g->batch_a ? p.product : 0, product_b = g->batch_b ? p.product : 0;
        for (int block = 0; block < blocks; block++) {
            unsigned stage = r.stages + at.slot * STAGE, full = r.full + 8 * at.slot;
            barrier_wait(r.empty + 8 * at.slot, at.parity);
            barrier_expect(full, STAGE);
            load_tile(stage, &all->a, A_TURNED, A_TURNED ? BM / 64 : 1, block * BK, p.row, product_a, full,
                      0);
            load_tile(stage + A_BYTES + rank * part * LINE, &all->b, B_TURNED, B_TURNED ? part / 64 : 1,
                      block * BK, p.col + rank * part, product_b, full, CM > 1);
            advance(&at);
        }
    }
}

/* ---- The consumers ---- */

/* All of k for one tile. The tiles of a stage are described once; a slot or step further on is added. */
DEVICE void multiply(acc_t sums[BN / 2], room r, ring *at, int blocks, int consumer) {
    const unsigned long long a = wgmma_tile(r.stages + consumer * CHUNK, A_TURNED),
                             b = wgmma_tile(r.stages + A_BYTES, B_TURNED);
    int last = 0;
    for (int block = 0; block < blocks; block += RUN) {
        int used[RUN];
        if (TURN > 0) named_wait(1 + consumer, 128 * CONSUMERS);
        UNROLL
        for (int j = 0; j < RUN; j++) {
            unsigned stage = (unsigned)at->slot * (STAGE / 16);
            used[j] = at->slot;
            barrier_wait(r.full + 8 * at->slot, at->parity);
            wgmma_fence();
            UNROLL
            for (int step = 0; step < STEPS; step++)
                WGMMA(sums, a + stage + step * WGMMA_STEP(A_TURNED), b + stage + step * WGMMA_STEP(B_TURNED),
                      block | j | step);
            wgmma_commit();
            advance(at);
        }
        if (TURN > 0) named_arrive(2 - consumer, 128 * CONSUMERS);
        if (TURN != 1) wgmma_wait(1);
        if (TURN == 2) release(r.empty + 8 * used[0]);
        if (TURN > 0) wgmma_wait(0);
        if (TURN > 0 || block > 0) release(r.empty + 8 * (TURN > 0 ? used[RUN - 1] : last));
        last = used[RUN - 1];
    }
    if (TURN == 0) {
        wgmma_wait(0);
        release(r.empty + 8 * last);
    }
    WGMMA_PIN(sums);
}

#include "boxes.h"

DEVICE void consume(const tma_gemm *all, room r, int blocks, int rank) {
    int warp = threadIdx.x / 32 - 4, consumer = warp / 4;
    const gemm *g = &all->g;
    acc_t sums[BN / 2];
    ring at = {0, 0};
    output o = {all, {0}, r.boxes + warp * BOXES * BOX, r.old + 8 * warp * BOXES, 0, 0};
    if (TURN > 0 && consumer == 1) named_arrive(1, 128 * CONSUMERS);
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        o.at = place_of(&w, rank);
        o.at.row += warp * 16;
        o.product = g->batch_c ? o.at.product : 0;
        begin_boxes(&o);
        multiply(sums, r, &at, blocks, consumer);
        write_tile(&o, sums);
    }
    if (TURN > 0 && consumer == 0) named_wait(1, 128 * CONSUMERS);
    end_boxes(0);
}

CLUSTER_KERNEL(THREADS, CM) wgmma_06_turns(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    room r = rooms(memory);
    int rank = CM > 1 ? cluster_rank() : 0, blocks = (all.g.k + BK - 1) / BK;
    blocks = (blocks + RUN - 1) / RUN * RUN; /* past the end of k TMA brings zeros */
    if (threadIdx.x == 0) {
        tma_prefetch(&all.a);
        tma_prefetch(&all.b);
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4 * CONSUMERS * CM);
        }
        for (int b = 0; b < 4 * CONSUMERS * BOXES; b++) barrier_init(r.old + 8 * b, 1);
        barrier_publish();
    }
    __syncthreads();
    if (CM > 1) cluster_wait();
    await_last_kernel();
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(40);
        if (threadIdx.x == 0) produce(&all, r, blocks, rank);
    } else {
        REGISTERS_MORE(232);
        consume(&all, r, blocks, rank);
    }
    if (CM > 1) cluster_wait(); /* no block leaves while another may write to it */
}
