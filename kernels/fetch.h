/* fetch.h: how one thread asks for the stages of tile after tile: a kernel for Hopper says #include "fetch.h" after walk.h,
 * where it has defined A_BYTES, A_LINES, B_LINES, BK, CHUNK and PACE; one that takes rows of C apart, EVERY. */
#ifndef FETCH_H
#define FETCH_H

#include "pace.h"

/* Blocks of a cluster that lie in a column share B, in a row A: of each chunk of that, or of all of its lines if they run along
 * k, a block fetches so many for all. */
#define A_PART ((A_TURNED ? 64 : A_LINES) / CN)
#define B_PART ((B_TURNED ? 64 : B_LINES) / CM)

/* A tile from element (k, across) on: one box of lines along k, or (turned) boxes of 64 elements across. With `share` the
 * other blocks of the cluster get it too. In a cluster boxes that begin at the matrix's end, or beyond it, are not asked for. */
DEVICE void load_tile(unsigned to, const tensor_map *map, int turned, int boxes, int k, int across, int end,
                      int product, unsigned barrier, int share) {
    UNROLL
    for (int i = 0; i < boxes; i++) {
        int from = turned ? across + 64 * i : across, x = turned ? from : k, line = turned ? k : from;
        if (CM * CN > 1 && from >= end) break;
        if (share)
            tma_load_all(to + i * CHUNK, map, x, line, product, barrier, (1 << CM * CN) - 1);
        else
            tma_load(to + i * CHUNK, map, x, line, product, barrier);
    }
}

/* How many boxes, each so far from the next, begin within what is left of a matrix. */
DEVICE int boxes_of(int left, int each, int most) {
    int boxes = (left + each - 1) / each;
    return boxes < 0 ? 0 : boxes < most ? boxes : most;
}

/* Bytes that come of a stage. Lines beyond the end of a matrix take TMA longer than others, 6 ns each in boxes that have no
 * other: so a cluster, whose last blocks may have no rows or columns at all, does not ask for those; and boxes along k of a
 * block by itself have no more lines than there are (.clipped). The others' sums are of whatever lies there, and are not
 * written. */
DEVICE int stage_bytes(const gemm *g, place p) {
    int of_a, of_b;
    if (CM * CN > 1) {
        of_a = A_TURNED ? 64 * boxes_of(g->m - p.row, 64, A_LINES / 64)
                        : A_PART * boxes_of(g->m - p.row, A_PART, CN);
        of_b = B_TURNED ? 64 * boxes_of(g->n - p.col, 64, B_LINES / 64)
                        : B_PART * boxes_of(g->n - p.col, B_PART, CM);
    } else {
        of_a = !A_TURNED && g->m < BM ? g->m : A_LINES;
        of_b = !B_TURNED && g->n < BN ? g->n : B_LINES;
    }
    return (of_a + of_b) * LINE;
}

/* Where tiles have every second row of C (EVERY), these are a batch of two products; rows of the second begin within a sector of
 * 32 bytes, and k is taken up 16 bytes ahead of its begin for those, where TMA brings zeros. That depends on the product alone,
 * not on where A lies, nor on whether it was copied: or the order of additions would. */
#ifndef EVERY
#define EVERY 1
#endif
enum { UNIT = 16 / (int)sizeof(in_t) };
DEVICE int begin_of(int product) {
    return EVERY == 2 ? -(product % 2) * UNIT : 0;
}

/* Every block of a cluster fetches its lines of what they share. Tiles that are walked back have their last two stages last like
 * others: of those a kernel may multiply no more than there is of k. */
DEVICE void produce(const tma_gemm *all, room r, int blocks, int rank) {
    const gemm *g = &all->g;
    const int a_lines = CN > 1 ? rank * A_PART : 0, b_lines = CM > 1 ? rank * B_PART : 0;
    ring at = {0, 1};
    walk w = begin_walk(g);
    pace with = begin_pace(&w, blocks, rank);
    int back = 0;
    for (; w.at < w.total; w.at += w.step, back ^= 1) {
        place p = place_of(&w, rank);
        const int bytes = stage_bytes(g, p), from = begin_of(p.product);
        const int row = p.row + (A_TURNED ? 0 : a_lines), col = p.col + (B_TURNED ? 0 : b_lines);
        const int a_from = from + (A_TURNED ? a_lines : 0), b_from = from + (B_TURNED ? b_lines : 0);
        int product_a = g->batch_a ? p.product : 0, product_b = g->batch_b ? p.product : 0;
        for (int number = 0; number < blocks; number++) {
            const int block = stage_of(number, blocks - 2, back);
            unsigned stage = r.stages + at.slot * STAGE, full = r.full + 8 * at.slot;
            keep_pace(&with, number);
            barrier_wait(r.empty + 8 * at.slot, at.parity);
            barrier_expect(full, bytes);
            load_tile(stage + a_lines * LINE, &all->a, A_TURNED, A_TURNED ? A_LINES / 64 : 1,
                      a_from + block * BK, row, g->m, product_a, full, CN > 1);
            load_tile(stage + A_BYTES + b_lines * LINE, &all->b, B_TURNED, B_TURNED ? B_LINES / 64 : 1,
                      b_from + block * BK, col, g->n, product_b, full, CM > 1);
            advance(&at);
        }
    }
    end_pace(&with, &w, blocks);
}

#endif
