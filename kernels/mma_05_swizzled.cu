/* mma_05_swizzled: lines of a tile are shuffled so that no two rows of ldmatrix share banks
 * before:  mma_04_ldmatrix
 * change:  the place of 16 bytes within a line is its number, exclusive or the line's
 * why:     lines under each other begin at the same banks, and ldmatrix reads eight of them at once
 * expect:  shared_load_conflicts = 0
 * expect:  shared_load_instructions = before.shared_load_instructions
 * limits:  any m, n, k; A and B in rows or columns (f32 as TF32 and i8: along k); sm_80 and later
 * next:    fragments are read, then multiplied, in turn
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
VECTOR_TYPE(pair, out_t, 2);

/* Where the 16 bytes number `piece` of a line lie. Eight lines under each other that ldmatrix reads together would
 * begin at the same banks; the exclusive or moves each to banks of its own. */
DEVICE int place(int line, int piece, int line_bytes) {
    int turn = line_bytes >= 128 ? line & 7 : line / (128 / line_bytes) & (line_bytes / 16 - 1);
    return line * line_bytes + (piece ^ turn) * 16;
}

/* What a thread copies of a matrix: the same piece of every so many lines of a tile, tile after tile. */
typedef struct source {
    const in_t *at;  /* its first piece of the next tile */
    long long hop;   /* from one of its lines to the next */
    long long next;  /* from a tile to the next */
    int line, piece; /* its first line, its first element of a line */
} source;

DEVICE source begin_source(const in_t *matrix, long long distance, long long step, int line_bytes) {
    const int pieces = line_bytes / (VEC * SIZE);
    int line = threadIdx.x / pieces, piece = threadIdx.x % pieces * VEC;
    source s = {matrix + line * distance + piece, THREADS / pieces * distance, BK * step, line, piece};
    return s;
}

/* Queues the copies of a tile. `there` lines of it are in the matrix, `length` elements long; zeros take the place of
 * what is not. `whole` is a constant: the caller knows that all of it is there, in pieces of 16 bytes. */
DEVICE void load_tile(char *tile, const source *s, int there, int length, int lines, int line_bytes,
                      int whole) {
    const int skip = THREADS / (line_bytes / (VEC * SIZE));
    const in_t *from = s->at;
    int present = length - s->piece;
    present = present < 0 ? 0 : present > VEC ? VEC : present;
    UNROLL_BY((VEC * SIZE == 16 ? 32 : 1))
    for (int i = 0; i < lines; i += skip, from += s->hop) {
        char *to = tile + place(s->line + i, s->piece * SIZE / 16, line_bytes) + s->piece * SIZE % 16;
        int bytes = s->line + i < there ? present * SIZE : 0;
        if (whole)
            cp_async_part(to, from, 16, 16);
        else if (VEC * SIZE >= 4)
            cp_async_part(to, from, VEC * SIZE, bytes);
        else
            *(in_t *)to = bytes ? *from : 0;
    }
}

/* A block's work: both matrices, and what is left of them from the next tile on. */
typedef struct work {
    source a, b;
    int rows, cols, depth;
} work;

DEVICE void load_a(char *stage, const work *w, int whole) {
    load_tile(stage, &w->a, AT ? w->depth : w->rows, AT ? w->rows : w->depth, A_LINES, A_BYTES, whole);
}
DEVICE void load_b(char *stage, const work *w, int whole) {
    load_tile(stage + A_LINES * A_BYTES, &w->b, BT ? w->cols : w->depth, BT ? w->depth : w->cols, B_LINES,
              B_BYTES, whole);
}

/* Goes on to the next tile; from the last one nowhere, so that it is loaded again. */
DEVICE void advance(work *w, int whole) {
    w->depth -= BK;
    if (w->depth < (whole ? BK : 1)) return;
    w->a.at += w->a.next;
    w->b.at += w->b.next;
}

typedef struct fragments {
    unsigned a[WM / 16][4], b[WN / 4];
} fragments;

/* Where this lane's part of the warp's first fragments begins in a stage, for step 0. That of another fragment or step
 * is a constant further, by an exclusive or where it is another piece of the same lines. */
DEVICE int first_a(int row_warp) {
    int lane = threadIdx.x % 32, eight = lane / 8;
    return AT ? place(eight / 2 * 8 + lane % 8, row_warp / 8 + eight % 2, A_BYTES)
              : place(row_warp + lane % 16, eight / 2, A_BYTES);
}
DEVICE int first_b(int col_warp) {
    int lane = threadIdx.x % 32, eight = lane / 8;
    return BT ? place(col_warp + eight / 2 * 8 + lane % 8, eight % 2, B_BYTES)
              : place(eight % 2 * 8 + lane % 8, col_warp / 8 + eight / 2, B_BYTES);
}

/* What a warp needs of a stage for one step of k. */
DEVICE void load_fragments(fragments *f, const char *stage, int a_at, int b_at, int step) {
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        ldmatrix(f->a[i],
                 stage + (AT ? step * 16 * A_BYTES + (a_at ^ i * 32) : i * 16 * A_BYTES + (a_at ^ step * 32)),
                 AT);
    }
    stage += A_LINES * A_BYTES;
    UNROLL
    for (int j = 0; j < WN / 16; j++) {
        ldmatrix(&f->b[4 * j],
                 stage + (BT ? j * 16 * B_BYTES + (b_at ^ step * 32) : step * 16 * B_BYTES + (b_at ^ j * 32)),
                 !BT);
    }
}

DEVICE void multiply(acc_t sums[WM / 16][WN / 8][4], const fragments *f) {
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        UNROLL
        for (int j = 0; j < WN / 8; j++) mma(sums[i][j], f->a[i], &f->b[2 * j]);
    }
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

/* One stage's worth of products. */
DEVICE void multiply_stage(acc_t sums[WM / 16][WN / 8][4], const char *stage, int a_at, int b_at) {
    UNROLL
    for (int step = 0; step < KSTEPS; step++) {
        fragments f;
        load_fragments(&f, stage, a_at, b_at, step);
        multiply(sums, &f);
    }
}

/* The loop over k, with STAGES - 1 tiles on their way. If all of them are `whole`, which is a constant, nothing is
 * asked about each piece. */
DEVICE void multiply_tiles(acc_t sums[WM / 16][WN / 8][4], char *stages, work *w, int tiles, int a_at,
                           int b_at, int whole) {
    for (int t = 0, slot = 0; t < tiles; t++) {
        int last = slot == 0 ? STAGES - 1 : slot - 1;
        cp_wait(STAGES - 2);
        __syncthreads(); /* tile t has arrived, and everybody is done with tile t - 1, whose place is filled again */
        load_a(stages + last * STAGE, w, whole);
        load_b(stages + last * STAGE, w, whole);
        cp_commit();
        advance(w, whole);
        multiply_stage(sums, stages + slot * STAGE, a_at, b_at);
        slot = slot == STAGES - 1 ? 0 : slot + 1;
    }
    cp_wait(0);
}

/* What k leaves over after whole tiles. */
DEVICE void multiply_rest(acc_t sums[WM / 16][WN / 8][4], char *stages, work *w, int rest, int a_at,
                          int b_at) {
    w->depth = rest;
    w->a.at += w->a.next;
    w->b.at += w->b.next;
    __syncthreads();
    load_a(stages, w, 0);
    load_b(stages, w, 0);
    cp_commit();
    cp_wait(0);
    __syncthreads();
    multiply_stage(sums, stages, a_at, b_at);
}

KERNEL(THREADS) mma_05_swizzled(gemm all) {
    DYNAMIC_SHARED(char, stages);
    gemm g = begin(all);
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int warp = threadIdx.x / 32, row_warp = warp / (BN / WN) * WM, col_warp = warp % (BN / WN) * WN;
    acc_t sums[WM / 16][WN / 8][4] = {{{0}}};
    work w = {begin_source(g.a + row_tile * g.lda, AT ? g.a_step : g.lda, g.a_step, A_BYTES),
              begin_source(g.b + col_tile * g.b_step, BT ? g.b_step : g.ldb, g.ldb, B_BYTES), g.m - row_tile,
              g.n - col_tile, g.k};
    int whole = VEC * SIZE == 16 && w.rows >= BM && w.cols >= BN && g.k / BK >= STAGES;
    for (int s = 0; s < STAGES - 1; s++) {
        load_a(stages + s * STAGE, &w, 0);
        load_b(stages + s * STAGE, &w, 0);
        cp_commit();
        advance(&w, 0);
    }
    int a_at = first_a(row_warp), b_at = first_b(col_warp);
    if (whole) {
        multiply_tiles(sums, stages, &w, g.k / BK, a_at, b_at, 1);
        if (g.k % BK != 0) multiply_rest(sums, stages, &w, g.k % BK, a_at, b_at);
    } else {
        multiply_tiles(sums, stages, &w, (g.k + BK - 1) / BK, a_at, b_at, 0);
    }
    int paired = ((unsigned long long)g.c | g.ldc * sizeof(out_t)) % sizeof(pair) == 0;
    int group = threadIdx.x % 32 / 4, quad = threadIdx.x % 4;
    UNROLL
    for (int i = 0; i < WM / 16; i++) {
        int row = row_tile + row_warp + i * 16 + group;
        UNROLL
        for (int j = 0; j < WN / 8; j++) {
            int col = col_tile + col_warp + j * 8 + 2 * quad;
            store_pair(&g, row, col, &sums[i][j][0], paired);
            store_pair(&g, row + 8, col, &sums[i][j][2], paired);
        }
    }
}
