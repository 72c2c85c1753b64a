/* wgmma_07_fitted: tiles of the size that the product divides into
 * before:  wgmma_06_turns
 * change:  one to three warpgroups multiply, 64 rows each, beside which a tile may have any of eight widths; of a tile of B that
 *          blocks of a cluster share each fetches some lines of every chunk, so that any width can be shared; a tile may
 *          have every second row of C (EVERY), whose lines of A all begin alike; of the last stage only those steps are
 *          multiplied that k has; and blocks of a cluster do not wait for each other in the end
 * why:     multiprocessors compute tiles in rounds. At 4097 tiles of 128 by 256 are 33*17 = 561, five rounds of 132, the
 *          last of them a quarter full; tiles of 192 by 192 are 22*22 = 484, four rounds. And where lines of A and B do not
 *          begin at multiples of 128 bytes TMA takes two accesses for each: blocks that share tiles need fewer. Most of that
 *          are lines that begin within a sector of 32 bytes, as every second row of 1000 elements does: taken apart from the
 *          others, and k taken up 16 bytes ahead of its begin, they begin with a sector
 * expect:  the time follows the size with smaller steps: on an H200 4104 takes 1.2 times as long as 4096, not twice
 * limits:  any m, n, k; A and B in rows or columns, aligned to 16 bytes (f32 as TF32 and i8: along k); sm_90a
 * next:    the tensor cores are busy 98 % of the time. Tiles of 192 by 176 would need the fewest rounds at 4097, but three
 *          warpgroups take longer for 176 columns than for 192 (762 ns for 64 of k, against 744)
 */
#ifndef BM
#define BM 128 /* rows of C of a block, 64 for each warpgroup that multiplies: 64, 128 or 192 */
#endif
#ifndef BN
#define BN 256 /* columns of C of a block: 64, 128, 144, 160, 192, and up to BM = 128 also 208, 224, 256 */
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
#define TURN 2 /* stages that a warpgroup multiplies at a time: 1 or 2; 0: all warpgroups multiply at once */
#endif
#ifndef BOXES
#define BOXES 2 /* pieces of C that a warp, or a warpgroup, may have on their way */
#endif
#ifndef PACE
#define PACE 0 /* stages after which a block of a product of many rounds waits for others; 0: it does not */
#endif
#ifndef EVERY
#define EVERY 1 /* 2: a tile has every second row of C, whose lines of A begin alike */
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
    CONSUMERS = BM / 64,
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    STEP = BK / STEPS,
    A_LINES = BM,
    B_LINES = B_TURNED ? (BN + 63) / 64 * 64
                       : BN, /* by chunks of 64 columns, of which the last may be more than the tile has */
    A_BYTES = A_LINES * LINE,
    STAGE = A_BYTES + B_LINES * LINE,
    CHUNK = 64 * LINE, /* 64 lines: of a warpgroup's A, or of a turned tile */
    RUN = TURN > 0 ? TURN : 1,
    /* 128 bytes of so many rows of C: a warp's; or a warpgroup's, which TMA stores a little faster, where its warps would wait
     * for each other anyway. */
    TALL = TURN > 0,
    BOX = (TALL ? 64 : 16) * LINE,
    BOX_COLS = LINE / (int)sizeof(out_t)
};

#define TEAMS (TALL ? CONSUMERS : 4 * CONSUMERS)
#include "walk.h"

#include "fetch.h"

/* ---- The consumers ---- */

/* Where results have two bytes, a tile's last two stages are not free before half of its boxes are on their way: what is
 * asked for the next tile would stand in front of them. */
#define HOLDS (TURN == 2 && sizeof(out_t) == 2)

/* Blocks by themselves that take turns of two stages multiply the last of them whole: the end of k by itself gained nothing there. */
#define WHOLE (TURN == 2 && CM == 1)

/* The end of k, if it is no whole run of stages: of the last stage the steps that there are. `used`: the barriers of the stages;
 * 0: there is none. */
DEVICE void multiply_rest(acc_t sums[BN / 2], room r, ring *at, int steps, unsigned long long a,
                          unsigned long long b, int keep, unsigned used[2]) {
    UNROLL
    for (int j = 0; j < RUN; j++) {
        used[j] = 0;
        if (steps <= 0) continue;
        unsigned stage = (unsigned)at->slot * (STAGE / 16);
        used[j] = r.empty + 8 * at->slot;
        barrier_wait(r.full + 8 * at->slot, at->parity);
        wgmma_fence();
        UNROLL_BY(1)
        for (int step = 0; step < STEPS && step < steps; step++) {
            WGMMA(sums, a + stage + step * WGMMA_STEP(A_TURNED), b + stage + step * WGMMA_STEP(B_TURNED),
                  keep);
            keep = 1;
        }
        wgmma_commit();
        steps -= STEPS;
        advance(at);
    }
}

/* All of k for one tile, where so many stages are left. The tiles of a stage are described once; a slot or step further on is
 * added. */
DEVICE void multiply(acc_t sums[BN / 2], room r, ring *at, int steps, int left, int consumer,
                     unsigned held[2]) {
    const unsigned long long a = wgmma_tile(r.stages + consumer * CHUNK, A_TURNED),
                             b = wgmma_tile(r.stages + A_BYTES, B_TURNED);
    const int blocks = WHOLE ? steps / STEPS : steps / (STEPS * RUN) * RUN,
              rest = WHOLE ? 0 : steps - blocks * STEPS;
    int last = 0;
    for (int block = 0; block < blocks; block += RUN) {
        int used[RUN];
        if (TURN > 0) named_wait(1 + consumer, 256);
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
        if (TURN > 0) named_arrive(1 + (consumer + 1) % CONSUMERS, 256);
        if (TURN != 1) wgmma_wait(1);
        int keeps = HOLDS && block + RUN >= blocks && rest == 0;
        if (TURN == 2 && !keeps) free_stage(r.empty + 8 * used[0], block, left);
        if (TURN > 0) wgmma_wait(0);
        if (TURN > 0 ? !keeps : block > 0)
            free_stage(r.empty + 8 * (TURN > 0 ? used[RUN - 1] : last),
                       TURN > 0 ? block + RUN - 1 : block - 1, left);
        if (keeps) {
            held[0] = is_refilled(block, left) ? r.empty + 8 * used[0] : 0;
            held[1] = is_refilled(block + 1, left) ? r.empty + 8 * used[RUN - 1] : 0;
        }
        last = used[RUN - 1];
    }
    if (rest > 0) {
        if (TURN > 0) named_wait(1 + consumer, 256);
        multiply_rest(sums, r, at, rest, a, b, blocks, held);
        if (TURN > 0) named_arrive(1 + (consumer + 1) % CONSUMERS, 256);
    }
    if (TURN == 0 || rest > 0) wgmma_wait(0);
    if (TURN == 0 && blocks > 0) free_stage(r.empty + 8 * last, blocks - 1, left);
    UNROLL
    for (int j = 0; j < RUN && rest > 0; j++) {
        if (!is_refilled(blocks + j, left)) held[j] = 0;
        if (!HOLDS && held[j]) release(held[j]);
    }
    WGMMA_PIN(sums);
}

#include "boxes.h"

DEVICE void consume(const tma_gemm *all, room r, int steps, int rank) {
    int warp = threadIdx.x / 32 - 4, consumer = warp / 4;
    const gemm *g = &all->g;
    acc_t sums[BN / 2];
    ring at = {0, 0};
    int team = warp * 32 / TEAM;
    output o = {all, {0}, r.boxes + team * BOXES * BOX, r.old + 8 * team * BOXES, 0, 0, {0}};
    if (TURN > 0 && consumer == CONSUMERS - 1) named_arrive(1, 256);
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        o.at = place_of(&w, rank);
        o.at.row += team * BOX_ROWS;
        o.product = g->batch_c ? o.at.product : 0;
        begin_boxes(&o);
        multiply(sums, r, &at, steps, stages_left(&w, (steps + STEPS - 1) / STEPS), consumer, o.held);
        write_tile(&o, sums);
    }
    if (TURN > 0 && consumer == 0) named_wait(1, 256);
    end_boxes(CM > 1);
}

CLUSTER_KERNEL(THREADS, CM) wgmma_07_fitted(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    room r = rooms(memory);
    int rank = CM > 1 ? cluster_rank() : 0, steps = (all.g.k + UNIT * (EVERY - 1) + STEP - 1) / STEP;
    int blocks = (steps + STEPS - 1) / STEPS;
    if (WHOLE) { /* past the end of k TMA brings zeros */
        blocks = (all.g.k + UNIT * (EVERY - 1) + BK - 1) / BK;
        blocks = (blocks + RUN - 1) / RUN * RUN;
        steps = blocks * STEPS;
    }
    if (threadIdx.x == 0) {
        tma_prefetch(&all.a);
        tma_prefetch(&all.b);
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4 * CONSUMERS * CM);
        }
        for (int b = 0; b < TEAMS * BOXES; b++) barrier_init(r.old + 8 * b, 1);
        barrier_publish();
    }
    __syncthreads();
    if (CM > 1) cluster_wait();
    await_last_kernel();
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(40);
        if (threadIdx.x == 0) produce(&all, r, blocks, rank);
    } else {
        REGISTERS_MORE(CONSUMERS < 3 ? 232 : 152);
        consume(&all, r, steps, rank);
    }
}
