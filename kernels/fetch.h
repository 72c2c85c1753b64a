/* fetch.h: how one thread asks for the stages of tile after tile: a kernel for Hopper says #include "fetch.h" after walk.h,
 * where it has defined A_BYTES, A_LINES, B_LINES, BK, CHUNK, PART and PACE. */
#ifndef FETCH_H
#define FETCH_H

#include "pace.h"

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

/* Bytes that come of a stage. Lines beyond the end of a matrix take TMA longer than others, so that boxes along k have no
 * more lines than there are (.clipped): the others' sums are of whatever lies there, and are not written. */
DEVICE int stage_bytes(const gemm *g) {
    int of_a = CM == 1 && !A_TURNED && g->m < BM ? g->m : A_LINES,
        of_b = CM == 1 && !B_TURNED && g->n < BN ? g->n : B_LINES;
    return (of_a + of_b) * LINE;
}

/* Every block of a cluster fetches its lines of the tile of B. */
DEVICE void produce(const tma_gemm *all, room r, int blocks, int rank) {
    const gemm *g = &all->g;
    const int bytes = stage_bytes(g), lines = rank * PART, k_lines = B_TURNED ? lines : 0,
              cols = B_TURNED ? 0 : lines;
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
            barrier_expect(full, bytes);
            load_tile(stage, &all->a, A_TURNED, A_TURNED ? A_LINES / 64 : 1, block * BK, p.row, product_a,
                      full, 0);
            load_tile(stage + A_BYTES + lines * LINE, &all->b, B_TURNED, B_TURNED ? B_LINES / 64 : 1,
                      block * BK + k_lines, p.col + cols, product_b, full, CM > 1);
            advance(&at);
        }
    }
    end_pace(&with, &w, blocks);
}

#endif
