/* apart.h: tiles whose rows of C lie LACES apart, in what order blocks compute them, and how one thread asks for their stages and
 * tells the others which tile comes. A kernel for Hopper says #include "apart.h" after walk.h, where it has defined BM, BN, BK,
 * STEP, STEPS, TURN, A_BYTES, CHUNK, RIM_A, RIM_B, RIM_BYTES and LATE.
 *
 * Rows of A that are no multiple of 16 bytes begin eight ways, and those that are LACES = 8 apart begin alike: they are a class,
 * and have a tensor map of their own, from the multiple of 16 bytes on that lies ahead of the first. So k begins up to 7
 * elements late there: those of B are fetched from as far ahead of its begin, where TMA brings zeros, and those of A are a
 * neighbour's, and cleared by who multiplies them. */
#ifndef APART_H
#define APART_H

#include "late.h"

enum { LACES = 8 };

/* Whole tiles leave up to 8 rows and columns of C, the rim, which tiles at the edge compute beside their own: the first rows of
 * class 0, whichever they are, have the rows, since k begins with the stage there; the last columns have the columns. Its rows of
 * A are a copy. (src/cuda/tensor_map.h has the same struct.) */
typedef struct apart_gemm {
    tma_gemm all; /* without maps of A and C */
    tensor_map rows[LACES], rim_a, rim_b;
    int rim_rows, rim_cols;
    late_copy late;
} apart_gemm;

/* What a tile computes of the rim; a constant wherever it is passed on. */
typedef enum rims { NO_RIM = 0, RIM_COLS = 1, RIM_ROWS = 2, RIM_CORNER = 4, RIM_ALL = 7 } rims;

/* The tiles of a product, and where in their order a block is. */
typedef struct tiles {
    int at, step, rows, cols, in_class, of_product, total;
} tiles;

/* They are counted anew for every tile, which takes no register in the meantime. */
DEVICE tiles tiles_from(const apart_gemm *all, int at) {
    const gemm *g = &all->all.g;
    const int m = hidden(g->m) - all->rim_rows, n = hidden(g->n) - all->rim_cols;
    tiles w = {at, (int)gridDim.x, 0, (n + BN - 1) / BN, 0, 0, 0};
    w.in_class = ((m + LACES - 1) / LACES + BM - 1) / BM;
    w.rows = w.in_class * LACES;
    w.of_product = w.rows * w.cols;
    w.total = w.of_product * g->count;
    return w;
}

/* Which tile comes at that place, if those of the edge take longer: blocks that have one tile fewer than others get them, in their
 * last rounds, and what they have room for beside those, the last of the inner ones; others have the edge's that are left in the
 * end. The number of an inner tile, from 0 up; or -1 less the number of one of the edge's. */
DEVICE int tile_number(int at, int blocks, int total, int edges) {
    const int rounds = total / blocks, more = total % blocks, inner = total - edges;
    const int fewer = more ? blocks - more : 0, needed = fewer ? (edges + fewer - 1) / fewer : 0,
              last = needed < rounds ? needed : rounds, places = fewer * last,
              taken = places > edges ? places - edges : 0, before = fewer ? blocks * (rounds - last) : 0;
    const int round = (at - before) / blocks, block = (at - before) % blocks;
    int number = at;
    if (fewer && at >= before) {
        if (block >= more) {
            number = block - more + fewer * round;
            return number < edges ? -1 - number : inner - taken + number - edges;
        }
        number = before + block + more * round;
    }
    return number < inner - taken ? number : -1 - (places + number - (inner - taken));
}

/* A tile: its first row of those of its class, and column; its product, of each of which there are LACES; and whether its k is
 * walked `back`. */
typedef struct tile {
    place at;
    rims with;
    int back;
} tile;

DEVICE tile tile_at(const apart_gemm *all, const tiles *w) {
    tile t;
    int row, col, index = 0;
    if (all->rim_rows + all->rim_cols > 0) { /* one product */
        const int number = tile_number(w->at, w->step, w->total, w->rows + w->cols - 1);
        if (number >= 0) {
            tile_of(number, w->rows - 1, w->cols - 1, GROUP, &row, &col);
            row++, col = w->cols - 2 - col;
        } else {
            const int of_edge = -1 - number; /* the last column first: it is early */
            row = of_edge < w->rows ? of_edge : 0;
            col = of_edge < w->rows ? w->cols - 1 : w->rows + w->cols - 2 - of_edge;
        }
    } else {
        index = w->at / w->of_product;
        tile_of(w->at - index * w->of_product, w->rows, w->cols, GROUP, &row, &col);
        col = w->cols - 1 - col;
    }
    const int has_rows = row == 0 && all->rim_rows > 0, has_cols = col == w->cols - 1 && all->rim_cols > 0;
    t.with = has_rows && has_cols ? RIM_ALL : has_rows ? RIM_ROWS : has_cols ? RIM_COLS : NO_RIM;
    t.at.row = row % w->in_class * BM;
    t.at.col = col * BN;
    /* Classes of a block's tiles mix: where 8 lie between the rows of two, those would begin alike. */
    const int lace = row / w->in_class;
    t.at.product = index * LACES + (lace ^ lace / 4);
    t.back = w->at / w->step % 2;
    return t;
}

/* Elements of the first stage ahead of k in the lines of a class. That depends on the distance of rows alone, not on where A lies:
 * or the order of additions would. */
DEVICE int begin_of(const gemm *g, int product) {
    const int unit = 16 / (int)sizeof(in_t);
    return (int)(product % LACES * g->lda % unit);
}

/* How many stages are multiplied in whole turns; a stage or two may follow. */
DEVICE int whole_stages(int steps) {
    return steps / (STEPS * TURN) * TURN;
}

/* What consumers are told of a tile, beside its first stage: to count it anew takes a thousand cycles between two tiles. It
 * is there as long as that stage. */
DEVICE unsigned told_at(room r, int slot) {
    return r.old + 16 * BM + 16 * slot;
}
DEVICE void tell(room r, int slot, const tile *t) {
    piece p;
    p.at[0] = (unsigned)t->at.row, p.at[1] = (unsigned)t->at.col, p.at[2] = (unsigned)t->at.product;
    p.at[3] = (unsigned)t->with | (unsigned)t->back << 3;
    keep_piece(told_at(r, slot), p);
}
DEVICE tile told(room r, int slot) {
    const piece p = shared_piece(told_at(r, slot));
    tile t;
    t.at.row = (int)p.at[0], t.at.col = (int)p.at[1], t.at.product = (int)p.at[2];
    t.with = (rims)(p.at[3] & RIM_ALL), t.back = (int)(p.at[3] >> 3);
    return t;
}

/* The tiles of this block. */
DEVICE int tiles_of_block(const apart_gemm *all) {
    const tiles w = tiles_from(all, (int)blockIdx.x);
    return w.at < w.total ? (w.total - 1 - w.at) / w.step + 1 : 0;
}

/* Lines of B that are there for a tile: those below `high`, and those from `low` on. */
typedef struct arrived {
    int low, high;
} arrived;

/* Waits for those of a stage, and for what lies on the way there. */
DEVICE void await_stage(const late_copy *late, const tile *t, int k, int line, arrived *b) {
    const int column = t->at.col / BN;
    if (t->back) {
        while (b->low > line && b->low > b->high) {
            b->low = (b->low - 1) / late->chunk * late->chunk;
            await_lines(late, k, column, b->low);
        }
    } else {
        for (; b->high < line + BK && b->high < k; b->high += late->chunk)
            await_lines(late, k, column, b->high);
    }
}

/* Who asks for the stages of tile after tile. */
DEVICE void produce(const apart_gemm *all, room r) {
    const gemm *g = &all->all.g;
    ring at = {0, 1};
    for (tiles w = tiles_from(all, (int)blockIdx.x); w.at < w.total; w = tiles_from(all, w.at + w.step)) {
        const tile t = tile_at(all, &w);
        const int begin = begin_of(g, t.at.product), blocks = (g->k + begin + BK - 1) / BK,
                  whole = whole_stages((g->k + begin + STEP - 1) / STEP), index = t.at.product / LACES;
        const int product_a = g->batch_a ? index : 0, product_b = g->batch_b ? index : 0;
        arrived b = {g->k, LATE > 0 ? lines_there(&all->late, g->k, t.at.col / BN) : g->k};
        const int bytes = RIM_A + (t.with & RIM_COLS ? RIM_BYTES : 0) + (t.with & RIM_ROWS ? RIM_BYTES : 0);
        const tensor_map *rows = &all->rows[t.at.product % LACES];
        for (int block = 0; block < blocks; block++) {
            const unsigned stage = r.stages + at.slot * STAGE, full = r.full + 8 * at.slot;
            const int k = stage_of(block, whole, t.back) * BK;
            if (LATE > 0) await_stage(&all->late, &t, g->k, k - begin, &b);
            barrier_wait(r.empty + 8 * at.slot, at.parity);
            if (block == 0) tell(r, at.slot, &t);
            barrier_expect(full, bytes);
            tma_load(stage, rows, k, t.at.row, product_a, full);
            UNROLL
            for (int i = 0; i < BN / 64; i++)
                tma_load(stage + A_BYTES + i * CHUNK, &all->all.b, t.at.col + 64 * i, k - begin, product_b,
                         full);
            if (t.with & RIM_COLS)
                tma_load(stage + RIM_B, &all->rim_b, g->n - all->rim_cols, k - begin, 0, full);
            if (t.with & RIM_ROWS) tma_load(stage + RIM_A, &all->rim_a, k, 0, 0, full);
            advance(&at);
        }
    }
}

#endif
