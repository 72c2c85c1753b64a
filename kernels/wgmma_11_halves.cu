/* wgmma_11_halves: larger tiles, which two warpgroups halve
 * before:  wgmma_07_fitted
 * change:  C is computed transposed, so that a tile may have any multiple of 8 rows; each of two warpgroups has half of its columns,
 *          64 of them once or twice, and all rows, or of 192 columns all, three times 64, and half of the rows. Blocks of a cluster
 *          lie in a row, and fetch each tile of A once, or in a column, for B; and the warpgroups may multiply by turns
 * why:     a thread has room for 160 sums, but wgmma has 128 of them at most, and three warpgroups have room for 96 each: tiles
 *          ended at 36,864 elements, and had few shapes. At 2200 tiles of 208 by 192 are 11*12 = 132, one for each
 *          multiprocessor of an H200, where 192 by 192 leave 12 for a second round; at 3208 those of 216 by 128 are 390 of the
 *          396 that three rounds have. Of a tile of 160 by 256 pairs that share the 256 ask for 288 lines of a stage each, those that
 *          share the 160 for 336
 * expect:  on an H200 a sixth less time at 2200, a tenth at 1800, 2504 and 3208, 4 % at 4104 and 5000
 * limits:  any m, n, k; A and B in rows or columns, aligned to 16 bytes; elements of 16 bits; sm_90a
 * next:    rows of A and B that begin anywhere are still copied
 */
#ifndef BM
#define BM 128 /* rows of C of a block: 128, 136, 144, ... 160, and beside fewer columns up to 208 or 256 */
#endif
#ifndef BN
#define BN 256 /* columns of C of a block: 128, 192 or 256 */
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
#ifndef CN
#define CN 1 /* or they share rows, and fetch each tile of A once */
#endif
#ifndef TURN
#define TURN 0 /* 1: the warpgroups multiply a stage each by turns; 0: both do at once */
#endif
#ifndef BOXES
#define BOXES 1 /* pieces of C, 64 lines of 128 bytes, that a warpgroup may have on their way */
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
#define PACE     0
#define A_TURNED AT
#if BT
#define B_TURNED 0
#else
#define B_TURNED 1
#endif
/* What a warpgroup has of a tile: its rows, and how many times 64 columns. */
#if BN == 192
#define HALVES_ROWS 1
#define HEIGHT      (BM / 2)
#define STRIPS      3
#else
#define HALVES_ROWS 0
#define HEIGHT      BM
#define STRIPS      (BN / 128)
#endif
#define WGMMA_COLS   HEIGHT
#define LEFT_TURNED  B_TURNED
#define RIGHT_TURNED A_TURNED
#define TURNED_SUMS  1
#include "hopper.h"
enum {
    CONSUMERS = 2,
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    STEP = BK / STEPS,
    A_LINES = BM,
    B_LINES = BN,
    A_BYTES = A_LINES * LINE,
    STAGE = A_BYTES + B_LINES * LINE,
    CHUNK = 64 * LINE, /* 64 lines: a strip of B, or of a turned tile */
    BOX_COLS = LINE / (int)sizeof(out_t),
    BOX = (HEIGHT % 32 < 16 ? 32 : 16) * LINE /* such that no more than 8 rows fill none */
};

#define TEAMS (CONSUMERS * 64 / BOX_COLS)
#define SLOTS (BOXES * 64 * LINE / BOX * BOX_COLS / 64)
#include "walk.h"

#include "fetch.h"

/* ---- The consumers ---- */

/* Whose turn it is: a warpgroup hands it on when its products are on their way. */
DEVICE void take_turn(int half) {
    if (TURN) named_wait(1 + half, 256);
}
DEVICE void hand_on(int half) {
    if (TURN) named_arrive(2 - half, 256);
}

/* All of k for half of a tile, where so many stages are left. */
DEVICE void multiply(acc_t sums[STRIPS][HEIGHT / 2], room r, ring *at, int steps, int left, int half) {
    const unsigned rows = HALVES_ROWS ? half * HEIGHT : 0, cols = HALVES_ROWS ? 0 : half * STRIPS * 64;
    const unsigned long long of_b = wgmma_tile(r.stages + A_BYTES + cols * LINE, LEFT_TURNED),
                             of_a = wgmma_tile(r.stages + rows * LINE, RIGHT_TURNED);
    const int whole = steps / STEPS, rest = steps % STEPS;
    int last = 0;
    for (int block = 0; block < whole; block++) {
        unsigned stage = (unsigned)at->slot * (STAGE / 16);
        take_turn(half);
        barrier_wait(r.full + 8 * at->slot, at->parity);
        wgmma_fence();
        UNROLL
        for (int step = 0; step < STEPS; step++) {
            UNROLL
            for (int strip = 0; strip < STRIPS; strip++)
                WGMMA(sums[strip], of_b + stage + strip * (CHUNK / 16) + step * WGMMA_STEP(LEFT_TURNED),
                      of_a + stage + step * WGMMA_STEP(RIGHT_TURNED), block | step);
        }
        wgmma_commit();
        hand_on(half);
        wgmma_wait(1 - TURN);
        if (TURN)
            free_stage(r.empty + 8 * at->slot, block, left);
        else if (block > 0)
            free_stage(r.empty + 8 * last, block - 1, left);
        last = at->slot;
        advance(at);
    }
    if (rest) { /* what the last stage has beyond the end of k is not multiplied */
        unsigned stage = (unsigned)at->slot * (STAGE / 16);
        take_turn(half);
        barrier_wait(r.full + 8 * at->slot, at->parity);
        wgmma_fence();
        UNROLL_BY(1)
        for (int step = 0; step < rest; step++) {
            UNROLL
            for (int strip = 0; strip < STRIPS; strip++)
                WGMMA(sums[strip], of_b + stage + strip * (CHUNK / 16) + step * WGMMA_STEP(LEFT_TURNED),
                      of_a + stage + step * WGMMA_STEP(RIGHT_TURNED), whole | step);
        }
        wgmma_commit();
        hand_on(half);
    }
    wgmma_wait(0);
    if (whole && !TURN) free_stage(r.empty + 8 * last, whole - 1, left);
    if (rest) {
        free_stage(r.empty + 8 * at->slot, whole, left);
        advance(at);
    }
    UNROLL
    for (int strip = 0; strip < STRIPS; strip++) WGMMA_PIN(sums[strip]);
}

#include "boxes.h"

DEVICE void consume(const tma_gemm *all, room r, int steps, int rank) {
    const int half = threadIdx.x / 128 - 1, team = (threadIdx.x - 128) / TEAM;
    const gemm *g = &all->g;
    acc_t sums[STRIPS][HEIGHT / 2];
    ring at = {0, 0};
    output o = {all, {0}, r.boxes + team * SLOTS * BOX, r.old + 8 * team * SLOTS, 0, 0, {0}};
    if (TURN && half == 1) named_arrive(1, 256);
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        o.at = place_of(&w, rank);
        o.at.row += HALVES_ROWS ? half * HEIGHT : 0;
        o.at.col += (HALVES_ROWS ? 0 : half * STRIPS * 64) + threadIdx.x % 128 / TEAM * BOX_COLS;
        o.product = g->batch_c ? o.at.product : 0;
        begin_boxes(&o);
        multiply(sums, r, &at, steps, stages_left(&w, (steps + STEPS - 1) / STEPS), half);
        write_tile(&o, &sums[0][0]);
    }
    if (TURN && half == 0) named_wait(1, 256);
    end_boxes(CM * CN > 1);
}

CLUSTER_KERNEL(THREADS, CM *CN) wgmma_11_halves(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    room r = rooms(memory);
    int rank = CM * CN > 1 ? cluster_rank() : 0, steps = (all.g.k + STEP - 1) / STEP,
        blocks = (steps + STEPS - 1) / STEPS;
    if (threadIdx.x == 0) {
        tma_prefetch(&all.a);
        tma_prefetch(&all.b);
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4 * CONSUMERS * CM * CN);
        }
        for (int b = 0; b < TEAMS * SLOTS; b++) barrier_init(r.old + 8 * b, 1);
        barrier_publish();
    }
    __syncthreads();
    if (CM * CN > 1) cluster_wait();
    await_last_kernel();
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(40);
        if (threadIdx.x == 0) produce(&all, r, blocks, rank);
    } else {
        REGISTERS_MORE(232);
        consume(&all, r, steps, rank);
    }
}
