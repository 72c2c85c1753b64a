/* wgmma_12_apart: rows of A that begin anywhere, where they lie
 * before:  wgmma_11_halves
 * change:  a tile has every eighth row of C, whose lines of A begin alike, so that A is not copied: TMA takes them from the
 *          multiple of 16 bytes on that lies ahead, and what they have there of a neighbour's is cleared. Up to 8 rows and
 *          columns beyond whole tiles are computed by tiles at the edge beside their own, by 8 columns more of wgmma; blocks
 *          that have one tile fewer than others get those. Of a row of C that begins anywhere, pieces of 16 bytes that lie in
 *          two boxes are written whole, with the second. Warps that have nothing else to do copy most of B, in the order in
 *          which tiles need it; and who asks TMA tells the others which tile comes next
 * why:     at 4097 copies of A and B take 38 us of 230, that of B alone 19; and tiles for one more row and column are a fifth
 *          round, or smaller. Lines of A that begin anywhere take TMA two accesses each, for which there is time beside tiles
 *          of 128 by 256
 * expect:  on an H200 a sixth less time than before at 4097, a tenth less at 4095
 * limits:  any m, n, k; A in rows, B in rows aligned to 16 bytes: others are copied first; elements of 16 bits; sm_90a
 * next:    what is copied beside the products makes them some 2 % longer, by more than the instructions and bytes explain. That lines
 *          of B begin otherwise for each k is what keeps wgmma from taking them where they lie
 */
#ifndef STAGES
#define STAGES 4 /* tiles of A and B in flight or in use */
#endif
#ifndef GROUP
#define GROUP 32 /* rows of tiles that are walked together */
#endif
#ifndef LATE
#define LATE \
    4 /* pieces of k that a B is copied in beside the products, but for the first of the first tiles; 0: ahead of them */
#endif
#define BM       128
#define BN       256
#define CM       1
#define BOXES    1
#define STORE    0
#define A_TURNED 0
#define B_TURNED 1
#include "hopper.h"
enum {
    CONSUMERS = BM / 64,
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    STEP = BK / STEPS,
    TURN = 2, /* stages that a warpgroup multiplies at a time */
    A_BYTES = BM * LINE,
    RIM_BYTES = 8 * LINE, /* 8 lines of A, or 64 of 8 columns of B */
    RIM_A = A_BYTES + BN * LINE,
    RIM_B = RIM_A + RIM_BYTES,
    STAGE = RIM_B + RIM_BYTES,
    CHUNK = 64 * LINE, /* 64 lines: of a warpgroup's A, or of B */
    BOX = 16 * LINE,   /* a warp's */
    BOX_COLS = LINE / (int)sizeof(out_t)
};
#define TEAMS (4 * CONSUMERS)
#include "walk.h"

#include "apart.h"

/* ---- The consumers ---- */

/* 8 columns more: sums += A*B as WGMMA computes them, where a and b say how they lie. */
#define WGMMA_RIM(sums, a, b, keep_sums, a_turned, b_turned)                           \
    asm volatile("{\n.reg .pred keep;\n"                                               \
                 "setp.ne.b32 keep, %6, 0;\n"                                          \
                 "wgmma.mma_async.sync.aligned.m64n8" WG_TYPES                         \
                 " {%0, %1, %2, %3}, %4, %5, keep" WG_FLAGS(a_turned, b_turned) ";\n}" \
                 : "+f"((sums)[0]), "+f"((sums)[1]), "+f"((sums)[2]), "+f"((sums)[3])  \
                 : "l"(a), "l"(b), "r"(keep_sums))

/* 8 columns of B, as lines of 16 bytes that are not swizzled: 8 of them are next to each other, and so are the next 8. */
DEVICE unsigned long long rim_tile(unsigned address) {
    return 8ull << 32 | 8ull << 16 | (address & 0x3ffff) >> 4;
}
enum { RIM_STEP = STEP }; /* lines of 16 bytes, in units of 16 */

/* What a warpgroup has of the rim: all of its rows and the columns beyond; 64 columns twice and the rows beyond, turned; and rows
 * and columns beyond. */
typedef struct rim_sums {
    acc_t cols[4], rows[2][4], corner[4];
} rim_sums;

/* Where a warpgroup's tiles of the first stage are; a slot or a step further on is added. */
typedef struct places {
    unsigned long long a, b, strip, rim_a, rim_b;
} places;

DEVICE places places_of(room r, int consumer) {
    places p = {wgmma_tile(r.stages + consumer * CHUNK, 0), wgmma_tile(r.stages + A_BYTES, 1),
                wgmma_tile(r.stages + A_BYTES + 2 * consumer * CHUNK, 1), wgmma_tile(r.stages + RIM_A, 0),
                rim_tile(r.stages + RIM_B)};
    return p;
}

DEVICE void multiply_step(acc_t sums[BN / 2], rim_sums *rim, const places *p, unsigned stage, int step,
                          int keep, rims with) {
    const unsigned long long a = p->a + stage + step * WGMMA_STEP(0),
                             rim_a = p->rim_a + stage + step * WGMMA_STEP(0),
                             rim_b = p->rim_b + stage + step * RIM_STEP;
    WGMMA(sums, a, p->b + stage + step * WGMMA_STEP(1), keep);
    if (with & RIM_COLS) WGMMA_RIM(rim->cols, a, rim_b, keep, 0, 1);
    if (with & RIM_ROWS) {
        UNROLL
        for (int i = 0; i < 2; i++)
            WGMMA_RIM(rim->rows[i], p->strip + stage + i * (CHUNK / 16) + step * WGMMA_STEP(1), rim_a, keep,
                      1, 0);
    }
    if (with & RIM_CORNER) WGMMA_RIM(rim->corner, rim_a, rim_b, keep, 0, 1);
}

/* What the lines of a warpgroup's part of A have ahead of k becomes zeros, in the stage that k begins with: the next one, or (`after`)
 * the one behind it. */
DEVICE void clear_begin(room r, const ring *next, int after, int consumer, int begin) {
    const int line = threadIdx.x % 128;
    ring at = *next;
    if (after) advance(&at);
    barrier_wait(r.full + 8 * at.slot, at.parity);
    if (line < 64) {
        in_t *first = (in_t *)__cvta_shared_to_generic(r.stages + at.slot * STAGE + consumer * CHUNK +
                                                       line * LINE + line % 8 * 16);
        for (int i = 0; i < begin; i++) first[i] = 0;
    }
    fence_async();
    named_wait(4 + CONSUMERS + consumer, 128);
}

/* The end of k, which is no whole turn: of the last stage the steps that there are. `used`: the slots of its stages; -1: none. */
DEVICE void multiply_rest(acc_t sums[BN / 2], rim_sums *rim, room r, ring *at, int steps, const places *p,
                          int keep, rims with, int used[TURN]) {
    UNROLL
    for (int j = 0; j < TURN; j++) {
        used[j] = -1;
        if (steps <= 0) continue;
        const unsigned stage = (unsigned)at->slot * (STAGE / 16);
        used[j] = at->slot;
        barrier_wait(r.full + 8 * at->slot, at->parity);
        wgmma_fence();
        UNROLL_BY(1)
        for (int step = 0; step < STEPS && step < steps; step++) {
            multiply_step(sums, rim, p, stage, step, keep, with);
            keep = 1;
        }
        wgmma_commit();
        steps -= STEPS;
        advance(at);
    }
}

/* As WGMMA_PIN: the sums of the rim are not to be read before they are there. */
DEVICE void pin_rim(rim_sums *rim) {
    UNROLL
    for (int i = 0; i < 4; i++)
        asm volatile(""
                     : "+f"(rim->cols[i]), "+f"(rim->rows[0][i]), "+f"(rim->rows[1][i]),
                       "+f"(rim->corner[i])::"memory");
}

/* All of k for one tile; a warpgroup multiplies two stages at a time, and the other two in the meantime. `held`: the barriers of the
 * last ones. */
DEVICE void multiply(acc_t sums[BN / 2], rim_sums *rim, room r, ring *at, const gemm *g, const tile *t,
                     int consumer, rims with, unsigned held[TURN]) {
    const places p = places_of(r, consumer);
    const int begin = begin_of(g, t->at.product), steps = (g->k + begin + STEP - 1) / STEP,
              blocks = whole_stages(steps), rest = steps - blocks * STEPS;
    const int own = 1 + consumer, others = 1 + (consumer + 1) % CONSUMERS;
    const int clear_at = begin == 0 ? -1 : t->back && blocks > 0 ? blocks - TURN : 0;
    held[0] = held[1] = 0;
    if (clear_at == 0 && blocks == 0) clear_begin(r, at, 0, consumer, begin);
    for (int block = 0; block < blocks; block += TURN) {
        int used[TURN];
        if (block == clear_at) clear_begin(r, at, t->back, consumer, begin);
        named_wait(own, 256);
        UNROLL
        for (int j = 0; j < TURN; j++) {
            const unsigned stage = (unsigned)at->slot * (STAGE / 16);
            used[j] = at->slot;
            barrier_wait(r.full + 8 * at->slot, at->parity);
            wgmma_fence();
            UNROLL
            for (int step = 0; step < STEPS; step++)
                multiply_step(sums, rim, &p, stage, step, block | j | step, with);
            wgmma_commit();
            advance(at);
        }
        named_arrive(others, 256);
        const int keeps = block + TURN >= blocks && rest == 0;
        wgmma_wait(1);
        if (!keeps) release(r.empty + 8 * used[0]);
        wgmma_wait(0);
        if (!keeps) release(r.empty + 8 * used[1]);
        if (keeps) held[0] = r.empty + 8 * used[0], held[1] = r.empty + 8 * used[1];
    }
    if (rest > 0) {
        int used[TURN];
        named_wait(own, 256);
        multiply_rest(sums, rim, r, at, rest, &p, blocks, with, used);
        named_arrive(others, 256);
        wgmma_wait(0);
        UNROLL
        for (int j = 0; j < TURN; j++)
            if (used[j] >= 0) held[j] = r.empty + 8 * used[j];
    }
    WGMMA_PIN(sums);
    if (with) pin_rim(rim);
}

/* ---- Rows of C of a class ---- */

#define C_LINE(g)           (LACES * (g)->ldc)
#define C_FIRST(g, product) ((product) / LACES * (g)->batch_c + (product) % LACES * (g)->ldc)
#define C_ROWS(g, product)  (((g)->m - (product) % LACES + LACES - 1) / LACES)
#define CARRIES             1
#define HOLDS               2 /* what is asked for the next tile would stand in front of results */
#include "boxes.h"

/* ---- The rim ---- */

DEVICE void write_one(const gemm *g, int row, int col, acc_t sum) {
    out_t *c = g->c + row * g->ldc + col;
    pair both = two_of(result_of(g, sum, c, ADDED), 0);
    *c = *(const out_t *)&both;
}

/* Sum number i of a lane is of row lane / 4 and 8 further on of a warp's 16, and column 2*(lane % 4) and the next. */
DEVICE void write_rim(const apart_gemm *all, const tile *t, const rim_sums *rim, int consumer) {
    const gemm *g = &all->all.g;
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 % 4 * 16 + lane / 4,
              row_end = g->m - all->rim_rows, col_end = g->n - all->rim_cols;
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int across = first + i / 2 * 8, beyond = lane % 4 * 2 + i % 2;
        const int row = (t->at.row + 64 * consumer + across) * LACES + t->at.product % LACES;
        if ((t->with & RIM_COLS) && beyond < all->rim_cols && row < row_end)
            write_one(g, row, col_end + beyond, rim->cols[i]);
        UNROLL
        for (int s = 0; s < 2; s++) {
            const int col = t->at.col + 64 * (2 * consumer + s) + across;
            if ((t->with & RIM_ROWS) && beyond < all->rim_rows && col < col_end)
                write_one(g, row_end + beyond, col, rim->rows[s][i]);
        }
        if ((t->with & RIM_CORNER) && consumer == 0 && across < all->rim_rows && beyond < all->rim_cols)
            write_one(g, row_end + across, col_end + beyond, rim->corner[i]);
    }
}

DEVICE void consume(const apart_gemm *all, room r) {
    const int warp = threadIdx.x / 32 - 4, consumer = warp / 4;
    const gemm *g = &all->all.g;
    acc_t sums[BN / 2];
    rim_sums rim;
    ring at = {0, 0};
    output o = {&all->all, {0}, r.boxes + warp * BOX, 0, 0, 0, {0}, r.old + warp * BOX_ROWS * 16};
    if (consumer == CONSUMERS - 1) named_arrive(1, 256);
    for (int left = tiles_of_block(all); left > 0; left--) {
        barrier_wait(r.full + 8 * at.slot, at.parity);
        const tile t = told(r, at.slot);
        o.at = t.at;
        o.at.row += warp * BOX_ROWS;
        if (t.with == NO_RIM)
            multiply(sums, &rim, r, &at, g, &t, consumer, NO_RIM, o.held);
        else if (t.with == RIM_COLS)
            multiply(sums, &rim, r, &at, g, &t, consumer, RIM_COLS, o.held);
        else if (t.with == RIM_ROWS)
            multiply(sums, &rim, r, &at, g, &t, consumer, RIM_ROWS, o.held);
        else
            multiply(sums, &rim, r, &at, g, &t, consumer, RIM_ALL, o.held);
        write_tile(&o, sums);
        if (t.with) write_rim(all, &t, &rim, consumer);
    }
    if (consumer == 0) named_wait(1, 256);
}

KERNEL(THREADS) wgmma_12_apart(const __grid_constant__ apart_gemm all) {
    extern __shared__ __align__(1024) char memory[];
    const room r = rooms(memory);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4 * CONSUMERS);
        }
        barrier_publish();
    }
    __syncthreads();
    await_last_kernel();
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(40);
        if (LATE > 0 && threadIdx.x >= 32)
            copy_late(&all.late, all.all.g.k);
        else if (threadIdx.x == 0)
            produce(&all, r);
    } else {
        REGISTERS_MORE(232);
        consume(&all, r);
    }
}
