/* wgmma_10_relay: one warpgroup writes its tile while the other multiplies
 * before:  wgmma_07_fitted
 * change:  each of the two warpgroups has a tile of its own, all 128 rows of it; they take turns tile by tile, not stage by stage
 * why:     the end of a tile is time in which the tensor cores stand still: 1.7 us of 42 in bf16, with results of four bytes
 *          3.4, and in i8, whose products take half as long, 3.8 of 22. Here it is hidden behind the other's products
 * expect:  on an H200 an eighth less time for i8 at 2048 and 2560, 3 % less for bf16 with f32 results, and a seventh at 3712,
 *          since tiles of 128 by 128 also divide the work more evenly. At 4096 in bf16 4 % more: smaller tiles fetch a third more,
 *          which takes power
 * limits:  any m, n, k; A and B in rows or columns, aligned to 16 bytes (f32 as TF32 and i8: along k); sm_90a
 * next:    beyond 8 rounds of tiles blocks do not keep in step, and fetch from memory what others had in the cache before
 */
#ifndef BM
#define BM 128 /* rows of C of a tile, which a warpgroup has to itself: 64 or 128 */
#endif
#ifndef BN
#define BN 128 /* columns of C of a tile: 64 or 128, and where BM is 64 also 192 or 256 */
#endif
#ifndef STAGES
#define STAGES 6 /* tiles of A and B in flight or in use */
#endif
#ifndef GROUP
#define GROUP 16 /* rows of tiles that are walked together */
#endif
#ifndef BOXES
#define BOXES 2 /* pieces of C that a warpgroup may have on their way */
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
#define CM       1
#define PACE     0
#define A_TURNED AT
#if BT
#define B_TURNED 0
#else
#define B_TURNED 1
#endif
#include "hopper.h"
enum {
    CONSUMERS = 2,
    HALVES = BM / 64, /* of a tile: wgmma multiplies 64 rows at a time */
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    A_BYTES = BM * LINE,
    A_LINES = BM,
    B_LINES = BN,
    STAGE = A_BYTES + B_LINES * LINE,
    CHUNK = 64 * LINE, /* 64 lines: half of A, or of a turned tile */
    BOX = 64 * LINE,
    BOX_COLS = LINE / (int)sizeof(out_t)
};

#define TEAMS  CONSUMERS
#define STRIPS HALVES
#include "walk.h"

#include "fetch.h"

/* ---- The consumers ---- */

/* All of k for one tile, whose first stage comes after so many others. The other warpgroup may begin with its tile when this
 * one's last products are on their way; not before, since its stages may be two rounds of the ring ahead, where a barrier's
 * parity is the same again. */
DEVICE void multiply(acc_t sums[HALVES][BN / 2], room r, long long before, int blocks, int next) {
    const unsigned long long a = wgmma_tile(r.stages, A_TURNED), b = wgmma_tile(r.stages + A_BYTES, B_TURNED);
    ring at = {(int)(before % STAGES), (unsigned)(before / STAGES % 2)};
    int last = 0;
    for (int block = 0; block < blocks; block++) {
        unsigned stage = (unsigned)at.slot * (STAGE / 16);
        barrier_wait(r.full + 8 * at.slot, at.parity);
        wgmma_fence();
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            UNROLL
            for (int half = 0; half < HALVES; half++)
                WGMMA(sums[half], a + stage + half * (CHUNK / 16) + step * WGMMA_STEP(A_TURNED),
                      b + stage + step * WGMMA_STEP(B_TURNED), block | step);
        }
        wgmma_commit();
        wgmma_wait(1);
        if (block > 0) release(r.empty + 8 * last);
        last = at.slot;
        advance(&at);
    }
    if (next > 0) named_arrive(next, 256);
    wgmma_wait(0);
    release(r.empty + 8 * last);
    UNROLL
    for (int half = 0; half < HALVES; half++) WGMMA_PIN(sums[half]);
}

#include "boxes.h"

/* Every second tile of the block. Barriers 1 and 2 say whose turn it is; the first needs none. */
DEVICE void consume(const tma_gemm *all, room r, int blocks) {
    const int consumer = threadIdx.x / 128 - 1;
    const gemm *g = &all->g;
    acc_t sums[HALVES][BN / 2];
    output o = {all, {0}, r.boxes + consumer * BOXES * BOX, r.old + 8 * consumer * BOXES, 0, 0, {0}};
    walk w = begin_walk(g);
    w.at += consumer * w.step;
    for (int tile = consumer; w.at < w.total; w.at += 2 * w.step, tile += 2) {
        o.at = place_of(&w, 0);
        o.product = g->batch_c ? o.at.product : 0;
        begin_boxes(&o);
        if (tile > 0) named_wait(1 + consumer, 256);
        multiply(sums, r, (long long)tile * blocks, blocks, w.at + w.step < w.total ? 2 - consumer : 0);
        write_tile(&o, &sums[0][0]);
    }
    end_boxes(0);
}

KERNEL2(THREADS, 1) wgmma_10_relay(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    room r = rooms(memory);
    int blocks = (all.g.k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        tma_prefetch(&all.a);
        tma_prefetch(&all.b);
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4);
        }
        for (int b = 0; b < TEAMS * BOXES; b++) barrier_init(r.old + 8 * b, 1);
        barrier_publish();
    }
    __syncthreads();
    await_last_kernel();
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(40);
        if (threadIdx.x == 0) produce(&all, r, blocks, 0);
    } else {
        REGISTERS_MORE(232);
        consume(&all, r, blocks);
    }
}
