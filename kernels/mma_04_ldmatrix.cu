/* mma_04_ldmatrix: fragments by ldmatrix, products by mma
 * before:  mma_03_async
 * change:  ldmatrix brings four 8×8 matrices in one instruction, straight into the layout that mma wants
 * why:     wmma knows no layout of its own, so that its loads are many and narrow; and with a layout that is known C
 *          need not pass through shared memory
 * expect:  shared_load_instructions < before.shared_load_instructions
 * expect:  shared_load_conflicts > 0
 * limits:  any m, n, k; A and B in rows or columns (f32 as TF32 and i8: along k); sm_80 and later
 * next:    lines without padding share banks
 */
#ifndef BM
#define BM 256 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef KSTEPS
#define KSTEPS 2 /* depth of a stage in steps of one mma, 32 bytes each */
#endif
#ifndef WM
#define WM 64 /* rows of C of a warp */
#endif
#ifndef WN
#define WN 64 /* columns of C of a warp */
#endif
#ifndef STAGES
#define STAGES 4 /* tiles in flight or in use */
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
    BK = KSTEPS * MMA_K,
    THREADS = BM / WM * (BN / WN) * 32,
    /* A tile is lines of bytes, as the matrix lies: along k, or along m or n. */
    A_LINES = AT ? BK : BM,
    A_BYTES = (AT ? BM : BK) * SIZE,
    B_LINES = BT ? BN : BK,
    B_BYTES = (BT ? BK : BN) * SIZE,
    STAGE = A_LINES * A_BYTES + B_LINES * B_BYTES
};

/* Where the 16 bytes number `piece` of a line lie. */
DEVICE int place(int line, int piece, int line_bytes) {
    return line * line_bytes + piece * 16;
}

/* What a thread copies of a matrix, line after line and tile after tile. */
typedef struct source {
    const char *at;  /* its next piece */
    long long hop;   /* bytes from one of its lines to the next */
    long long next;  /* and from its first line of a tile to that of the next tile */
    shared_t to;     /* where the first piece of a tile goes, in the first stage */
    int line, piece; /* its first line, its first byte of a line */
} source;

DEVICE source begin_source(const in_t *matrix, long long distance, long long step, const char *tile,
                           int line_bytes) {
    const int pieces = line_bytes / (VEC * SIZE);
    int line = threadIdx.x / pieces, piece = threadIdx.x % pieces * VEC;
    source s = {(const char *)(matrix + line * distance + piece),
                THREADS / pieces * distance * SIZE,
                BK * step * SIZE,
                shared_place(tile + place(line, piece * SIZE / 16, line_bytes) + piece * SIZE % 16),
                line,
                piece * SIZE};
    return s;
}

/* Queues the copies of a tile into the stage at `offset`. `there` lines of it are in the matrix, `length` elements
 * long; zeros take the place of what is not. `whole` is a constant: the caller knows that all of it is there, in pieces
 * of 16 bytes. */
DEVICE void load_tile(int offset, source *s, int there, int length, int lines, int line_bytes, int whole) {
    const int skip = THREADS * VEC * SIZE / line_bytes;
    int present = length * SIZE - s->piece;
    present = present < 0 ? 0 : present > VEC * SIZE ? VEC * SIZE : present;
    UNROLL_BY((VEC * SIZE == 16 ? 32 : 1))
    for (int i = 0; i < lines; i += skip) {
        shared_t to = s->to + offset + place(s->line + i, s->piece / 16, line_bytes) -
                      place(s->line, s->piece / 16, line_bytes);
        int bytes = s->line + i < there ? present : 0;
        if (whole)
            cp_async_at(to, s->at, 16, 16);
        else if (VEC * SIZE >= 4)
            cp_async_at(to, s->at, VEC * SIZE, bytes);
        else
            *(in_t *)shared_pointer(to) = bytes ? *(const in_t *)s->at : 0;
        s->at = kept(s->at + (i < lines - skip ? s->hop : s->next - (lines / skip - 1) * s->hop));
    }
}

/* A block's work: both matrices, and what is left of them from the next tile on. */
typedef struct work {
    source a, b;
    int rows, cols, depth;
} work;

DEVICE void load_a(int offset, work *w, int whole) {
    load_tile(offset, &w->a, AT ? w->depth : w->rows, AT ? w->rows : w->depth, A_LINES, A_BYTES, whole);
}
DEVICE void load_b(int offset, work *w, int whole) {
    load_tile(offset, &w->b, BT ? w->cols : w->depth, BT ? w->depth : w->cols, B_LINES, B_BYTES, whole);
    w->depth -= BK;
}

typedef struct fragments {
    unsigned a[WM / 16][4], b[WN / 4];
} fragments;

/* Where this lane's part of the warp's first fragments begins in a stage, for step 0. That of another fragment or step
 * is a constant further. */
DEVICE int first_a(int row_warp) {
    int lane = threadIdx.x % 32, eight = lane / 8;
    return AT ? place(eight / 2 * 8 + lane % 8, row_warp / 8 + eight % 2, A_BYTES)
              : place(row_warp + lane % 16, eight / 2, A_BYTES);
}
DEVICE int first_b(int col_warp) {
    int lane = threadIdx.x % 32, eight = lane / 8;
    return A_LINES * A_BYTES + (BT ? place(col_warp + eight / 2 * 8 + lane % 8, eight % 2, B_BYTES)
                                   : place(eight % 2 * 8 + lane % 8, col_warp / 8 + eight / 2, B_BYTES));
}

/* What a warp needs of a stage for one step of k. */
DEVICE void load_fragments(fragments *f, shared_t a, shared_t b, int step) {
    UNROLL
    for (int i = 0; i < WM / 16; i++)
        ldmatrix_at(f->a[i], AT ? (a + i * 32) + step * 16 * A_BYTES : (a + step * 32) + i * 16 * A_BYTES,
                    AT);
    UNROLL
    for (int j = 0; j < WN / 16; j++)
        ldmatrix_at(&f->b[4 * j],
                    BT ? (b + step * 32) + j * 16 * B_BYTES : (b + j * 32) + step * 16 * B_BYTES, !BT);
}

/* Each fragment of A with each of B, to and fro: two mma after each other have one in common, which is not read again. */
DEVICE void multiply(acc_t sums[WM / 16][WN / 8][4], const fragments *f) {
    UNROLL
    for (int j = 0; j < WN / 8; j++) {
        UNROLL
        for (int up = 0; up < WM / 16; up++) {
            int i = j % 2 ? WM / 16 - 1 - up : up;
            mma(sums[i][j], f->a[i], &f->b[2 * j]);
        }
    }
}

/* One stage's worth of products. */
DEVICE void multiply_stage(acc_t sums[WM / 16][WN / 8][4], shared_t a, shared_t b) {
    UNROLL
    for (int step = 0; step < KSTEPS; step++) {
        fragments f;
        load_fragments(&f, a, b, step);
        multiply(sums, &f);
    }
}

/* Stages take turns: how far the next one is from that at `offset`. */
DEVICE int onward(int offset) {
    return offset == (STAGES - 1) * STAGE ? -offset : STAGE;
}

/* The loop over k, with STAGES - 1 tiles on their way. If all of them are `whole`, which is a constant, nothing is
 * asked about each piece. `a` and `b` are where this lane's fragments begin in the first stage. */
DEVICE void multiply_tiles(acc_t sums[WM / 16][WN / 8][4], work *w, int tiles, shared_t a, shared_t b,
                           int whole) {
    int used = 0, filled = (STAGES - 1) * STAGE;
    UNROLL_BY(1)
    for (int s = 0; s < STAGES - 1; s++) {
        load_a(s * STAGE, w, whole);
        load_b(s * STAGE, w, whole);
        cp_commit();
    }
    UNROLL_BY(1)
    for (int left = tiles; left > 0; left--) {
        cp_wait(STAGES - 2);
        __syncthreads(); /* this tile has arrived, and everybody is done with the one whose place is filled again */
        if (!whole || left >= STAGES) {
            load_a(filled, w, whole);
            load_b(filled, w, whole);
        }
        cp_commit();
        multiply_stage(sums, a + used, b + used);
        used += onward(used);
        filled += onward(filled);
    }
    cp_wait(0);
}

/* What k leaves over after whole tiles. */
DEVICE void multiply_rest(acc_t sums[WM / 16][WN / 8][4], work *w, int rest, shared_t a, shared_t b) {
    w->depth = rest;
    __syncthreads();
    load_a(0, w, 0);
    load_b(0, w, 0);
    cp_commit();
    cp_wait(0);
    __syncthreads();
    multiply_stage(sums, a, b);
}

KERNEL(THREADS) mma_04_ldmatrix(gemm all) {
    DYNAMIC_SHARED(char, stages);
    gemm g = begin(all);
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int warp = threadIdx.x / 32, row_warp = warp / (BN / WN) * WM, col_warp = warp % (BN / WN) * WN;
    acc_t sums[WM / 16][WN / 8][4] = {{{0}}};
    work w = {begin_source(g.a + row_tile * g.lda, AT ? g.a_step : g.lda, g.a_step, stages, A_BYTES),
              begin_source(g.b + col_tile * g.b_step, BT ? g.b_step : g.ldb, g.ldb,
                           stages + A_LINES * A_BYTES, B_BYTES),
              g.m - row_tile, g.n - col_tile, g.k};
    shared_t a = shared_place(stages + first_a(row_warp)), b = shared_place(stages + first_b(col_warp));
    if (VEC * SIZE == 16 && w.rows >= BM && w.cols >= BN && g.k / BK >= STAGES) {
        multiply_tiles(sums, &w, g.k / BK, a, b, 1);
        if (g.k % BK != 0) multiply_rest(sums, &w, g.k % BK, a, b);
    } else {
        multiply_tiles(sums, &w, (g.k + BK - 1) / BK, a, b, 0);
    }
    store_fragments(&g, row_tile + row_warp, col_tile + col_warp, &sums[0][0], WM / 16, WN / 8);
}
