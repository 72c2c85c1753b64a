/* count_kinds.h: blocks that are alike, and the sectors of a matrix: arithmetic, nothing is run. */
#ifndef COUNT_KINDS_H
#define COUNT_KINDS_H

#include <stdint.h>

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

/* Where a matrix lies: strides in elements, and so is `first`, from the beginning of a sector. */
typedef struct count_matrix {
    int64_t first, rows, cols, row_stride, col_stride;
    int64_t size; /* bytes of an element */
} count_matrix;

/* Its sectors, each once. */
uint64_t count_sectors(const count_matrix *m);

#endif
