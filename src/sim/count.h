/* count.h: a whole product in counters, from a few of its blocks. */
#ifndef COUNT_H
#define COUNT_H

#include "counters.h"
#include "sim.h"

/* tess_count for the simulator. */
tess_status count_product(sim_device *self, const plan *decided, tess_count_view view, tess_counters *sum,
                          tess_line_counters *by_line, size_t *line_count, sentence *why);

/* Test hook. 1: every block is traced to its whole depth, and nothing stands for anything else. */
void count_every_block(int yes);

/* One block, run with other arguments than the launch's. */
typedef struct count_run {
    const launch_gemm *args;
    unsigned block[3];
    tess_count_view view;
    int steps;       /* by a module that records every step */
    int first_store; /* only as far as the first store to global memory */
} count_run;
/* counters_free must be called for `out`, also after a failure. */
tess_status count_run_block(sim_device *self, const product_launch *launch, const count_run *how,
                            counters *out, sentence *why);

/* ---- The order of tiles (count_tiles.c) ---- */

/* Which block computes a tile: 1 + y*grid_x + x, 0 if none does. NULL as long as blocks are found in order.
 */
typedef struct count_order {
    uint32_t *block_of;
} count_order;

/* The block that computes the tile of column tile[0] and row tile[1], of product tile[2]. *found is 0 if
 * there is none. */
tess_status count_block_of(sim_device *self, const product_launch *launch, count_order *order,
                           const unsigned tile[3], unsigned block[3], int *found, sentence *why);
void count_order_free(count_order *order);

/* ---- Kinds of blocks (count_kinds.c) ---- */

/* Along one axis of the grid, blocks are alike if as much of their tile lies in C, and if what they load and
 * store begins at the same place within a sector. */
typedef struct count_kind {
    unsigned first;    /* one of them */
    uint64_t blocks;   /* how many there are */
    int64_t left;      /* rows or columns of C in the tile, or products of the block */
    unsigned place[3]; /* within a sector, of A, B and C */
} count_kind;

/* Places within a sector repeat after 32 blocks at most, and the last block of an axis may be of its own. */
enum { COUNT_KINDS = 33 };

typedef struct count_axis {
    unsigned blocks;
    int64_t tile, size;    /* of C along the axis, or products of a block and of the batch */
    int64_t step_bytes[3]; /* from a block to the next, in A, B and C */
} count_axis;

/* Returns how many kinds there are. */
int count_kinds(const count_axis *axis, count_kind kinds[COUNT_KINDS]);

/* ---- Sectors of a matrix (count_kinds.c) ---- */

/* Where a matrix lies: strides in elements, and so is `first`, from the beginning of a sector. */
typedef struct count_matrix {
    int64_t first, rows, cols, row_stride, col_stride;
    int64_t size; /* bytes of an element */
} count_matrix;

/* Its sectors, each once. */
uint64_t count_sectors(const count_matrix *m);

#endif
