/* wgmma_08_registers: f32 as TF32 with B in rows, where it lies
 * before:  wgmma_07_fitted
 * change:  C is computed transposed: threads read columns of B from a tile that lies as B does, and multiply them from their
 *          registers with rows of A in shared memory
 * why:     in shared memory wgmma takes elements of 4 bytes along k alone, so that a B in rows was turned by a copy first
 * expect:  the time of a B along k: on an H200 2048 takes 43 us instead of 53, 4096 326 instead of 371
 * limits:  any m, n, k; f32 as TF32, A and B in rows, aligned to 16 bytes; sm_90a
 * next:    an A in columns is still turned by a copy: wgmma takes one operand from registers, not two
 */
#ifndef BM
#define BM 256 /* rows of C of a block: 64, 128, 192 or 256 */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block, 64 for each warpgroup that multiplies: 64, 128 or 192 */
#endif
#ifndef STAGES
#define STAGES 4 /* tiles of A and B in flight or in use */
#endif
#ifndef GROUP
#define GROUP 8 /* rows of tiles that are walked together */
#endif
#ifndef CN
#define CN 1 /* blocks of a cluster: they share rows, and fetch each tile of A once */
#endif
#ifndef TURN
#define TURN 2 /* stages that a warpgroup multiplies at a time: 2; 0: all warpgroups multiply at once */
#endif
#ifndef BOXES
#define BOXES 2 /* pieces of C that two warps may have on their way */
#endif
#ifndef PACE
#define PACE 0 /* stages after which a block of a product of many rounds waits for others; 0: it does not */
#endif
#ifndef STORE
#define STORE 1 /* 0: rows of C are not aligned to 16 bytes, and TMA does not write them */
#endif
#define CM          1
#define WGMMA_COLS  BM
#define TEAMS       (2 * CONSUMERS) /* pairs of warps */
#define TURNED_SUMS 1
#include "hopper.h"
enum {
    CONSUMERS = BN / 64,
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    A_BYTES = BM * LINE,
    STAGE = A_BYTES + BN * LINE,
    CHUNK = BK * LINE, /* of B: 32 columns, a line for each step along k */
    BOX = 32 * LINE,   /* 32 rows of C of two warps, 128 bytes of each */
    BOX_COLS = LINE / (int)sizeof(out_t)
};

#include "walk.h"

#include "pace.h"

/* ---- The producer: one thread asks for tile after tile ---- */

/* Every block of a cluster fetches some lines of the tile of A for all of them. */
DEVICE void produce(const tma_gemm *all, room r, int blocks, int rank) {
    const gemm *g = &all->g;
    const int lines = rank * (BM / CN);
    ring at = {0, 1};
    walk w = begin_walk(g);
    pace with = begin_pace(&w, blocks, rank);
    for (; w.at < w.total; w.at += w.step) {
        place p = place_of(&w, rank);
        int product_a = g->batch_a ? p.product : 0, product_b = g->batch_b ? p.product : 0;
        for (int block = 0; block < blocks; block++) {
            unsigned stage = r.stages + at.slot * STAGE, full = r.full + 8 * at.slot;
            keep_pace(&with, block);
            barrier_wait(r.empty + 8 * at.slot, at.parity);
            barrier_expect(full, STAGE);
            if (CN > 1)
                tma_load_all(stage + lines * LINE, &all->a, block * BK, p.row + lines, product_a, full,
                             (1 << CN) - 1);
            else
                tma_load(stage, &all->a, block * BK, p.row, product_a, full);
            UNROLL
            for (int i = 0; i < BN / 32; i++)
                tma_load(stage + A_BYTES + i * CHUNK, &all->b, p.col + 32 * i, block * BK, product_b, full);
            advance(&at);
        }
    }
    end_pace(&with, &w, blocks);
}

/* ---- The consumers ---- */

/* Row `row` of a warp's 16 in a product of wgmma is this one of the 32 columns of its chunk. Eight rows are two pieces of
 * 16 bytes, p and p ^ 5: swizzled, those of four lines along k, and those of rows 0, 2, 4 and 6 of a box of C, lie in all
 * 32 banks. */
DEVICE int turned_column(int row) {
    int half = threadIdx.x / 32 % 2, piece = 2 * half ^ (row % 8 / 4 ? 5 : 0) ^ row / 8;
    return 4 * piece + row % 4;
}

/* Where the first element lies that a thread reads of a stage's tile of B. */
DEVICE unsigned first_element(int warp) {
    int lane = threadIdx.x % 32, line = lane % 4, byte = 4 * turned_column(lane / 4);
    return A_BYTES + warp / 2 * CHUNK + line * LINE + (byte ^ line * 16);
}

/* The columns of B that a warp multiplies, from a stage that is full. Lines 8 further on are swizzled alike. */
DEVICE void read_columns(unsigned held[STEPS][4], unsigned first) {
    const unsigned later = (first ^ 64) + 4 * LINE; /* 4 steps along k */
    UNROLL
    for (int step = 0; step < STEPS; step++) {
        held[step][0] = shared_word(first + step * 8 * LINE);
        held[step][1] = shared_word((first ^ 16) + step * 8 * LINE);
        held[step][2] = shared_word(later + step * 8 * LINE);
        held[step][3] = shared_word((later ^ 16) + step * 8 * LINE);
    }
}

/* A stage as a warpgroup uses it. */
typedef struct stage_in_use {
    unsigned held[STEPS][4];
    int slot;
} stage_in_use;

DEVICE void begin_stage(stage_in_use *s, room r, ring *at, unsigned first) {
    s->slot = at->slot;
    barrier_wait(r.full + 8 * s->slot, at->parity);
    read_columns(s->held, r.stages + s->slot * STAGE + first);
    advance(at);
}

DEVICE void multiply_stage(acc_t sums[BM / 2], const stage_in_use *s, unsigned long long a, int keep) {
    a += (unsigned)s->slot * (STAGE / 16);
    wgmma_fence();
    UNROLL
    for (int step = 0; step < STEPS; step++)
        WGMMA_HELD(sums, s->held[step], a + step * WGMMA_STEP(0), keep | step);
    wgmma_commit();
}

DEVICE void end_stage(const stage_in_use *s, room r, int number, int left) {
    free_stage(r.empty + 8 * s->slot, number, left);
}

/* All of k for one tile, two stages at a time: they are read while other warpgroups multiply. */
DEVICE void multiply_in_turns(acc_t sums[BM / 2], room r, ring *at, int blocks, int left, int consumer,
                              unsigned first) {
    const unsigned long long a = wgmma_tile(r.stages, 0);
    stage_in_use even, odd;
    for (int block = 0; block < blocks; block += 2) {
        begin_stage(&even, r, at, first);
        begin_stage(&odd, r, at, first);
        named_wait(1 + consumer, 256);
        multiply_stage(sums, &even, a, block);
        multiply_stage(sums, &odd, a, 1);
        named_arrive(1 + (consumer + 1) % CONSUMERS, 256);
        wgmma_wait(1);
        end_stage(&even, r, block, left);
        wgmma_wait(0);
        end_stage(&odd, r, block + 1, left);
    }
}

/* The same when all warpgroups multiply at once: each reads a stage while it multiplies the one before. */
DEVICE void multiply_at_once(acc_t sums[BM / 2], room r, ring *at, int blocks, int left, unsigned first) {
    const unsigned long long a = wgmma_tile(r.stages, 0);
    stage_in_use even, odd;
    begin_stage(&even, r, at, first);
    for (int block = 0; block < blocks; block += 2) {
        multiply_stage(sums, &even, a, block);
        wgmma_wait(1);
        if (block > 0) end_stage(&odd, r, block - 1, left);
        begin_stage(&odd, r, at, first);
        multiply_stage(sums, &odd, a, 1);
        wgmma_wait(1);
        end_stage(&even, r, block, left);
        if (block + 2 < blocks) begin_stage(&even, r, at, first);
    }
    wgmma_wait(0);
    end_stage(&odd, r, blocks - 1, left);
}

#define TURNED_COLUMN turned_column
#include "boxes.h"

DEVICE void consume(const tma_gemm *all, room r, int blocks, int rank) {
    int warp = threadIdx.x / 32 - 4, consumer = warp / 4, team = warp / 2;
    const gemm *g = &all->g;
    const unsigned first = first_element(warp);
    acc_t sums[BM / 2];
    ring at = {0, 0};
    output o = {all, {0}, r.boxes + team * BOXES * BOX, r.old + 8 * team * BOXES, 0, 0};
    if (TURN && consumer == CONSUMERS - 1) named_arrive(1, 256);
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        o.at = place_of(&w, rank);
        o.at.col += team * BOX_COLS;
        o.product = g->batch_c ? o.at.product : 0;
        begin_boxes(&o);
        if (TURN)
            multiply_in_turns(sums, r, &at, blocks, stages_left(&w, blocks), consumer, first);
        else
            multiply_at_once(sums, r, &at, blocks, stages_left(&w, blocks), first);
        WGMMA_PIN(sums);
        write_tile(&o, sums);
    }
    if (TURN && consumer == 0) named_wait(1, 256);
    end_boxes(CN > 1);
}

CLUSTER_KERNEL(THREADS, CN) wgmma_08_registers(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    room r = rooms(memory);
    int rank = CN > 1 ? cluster_rank() : 0, blocks = (all.g.k + BK - 1) / BK;
    blocks = (blocks + 1) / 2 * 2; /* past the end of k TMA brings zeros */
    if (threadIdx.x == 0) {
        tma_prefetch(&all.a);
        tma_prefetch(&all.b);
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4 * CONSUMERS * CN);
        }
        for (int b = 0; b < TEAMS * BOXES; b++) barrier_init(r.old + 8 * b, 1);
        barrier_publish();
    }
    __syncthreads();
    if (CN > 1) cluster_wait();
    await_last_kernel();
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(CONSUMERS < 3 ? 40 : 32);
        if (threadIdx.x == 0) produce(&all, r, blocks, rank);
    } else {
        REGISTERS_MORE(CONSUMERS < 3 ? 232 : 160);
        consume(&all, r, blocks, rank);
    }
}
