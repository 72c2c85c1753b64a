/* launch.h: from a product and a kernel's row to launches: what the devices that run GPU kernels have in common.
 *
 *   shape   block, tile and shared memory, from the row's formulas and the parameters
 *   walk    the launches themselves: one grid, or several where a grid's dimensions would not hold it */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "device.h"
#include "expression.h"

typedef struct launch_shape {
    int block_x, block_y;
    int tile_rows, tile_cols; /* of C, of one block */
    int products;             /* of a batch, of one block */
    int step;                 /* elements of k that are multiplied at a time; 0: the row does not say */
    int shared;               /* bytes of dynamic shared memory */
    int box_a, box_b, box_c;  /* lines of the boxes that TMA moves; 0: none */
    int cluster; /* blocks of a cluster, which has so many tiles below one another and side by side: */
    int cluster_rows, cluster_cols;
} launch_shape;

/* Evaluates the row's formulas; refuses parameters for which one of its conditions does not hold. */
tess_status launch_shape_of(const kernel_row *kernel, tess_type in, const int64_t params[REGISTRY_PARAMS],
                            launch_shape *out, sentence *why);

/* The arguments of a kernel: `gemm` in kernels/port.h, with the accumulation type's bits in alpha and beta. */
typedef struct launch_gemm {
    const void *a, *b;
    void *c;
    int32_t m, n, k;
    int32_t count; /* products of this launch */
    int64_t lda, ldb, ldc;
    int64_t a_step, b_step, c_step;
    int64_t batch_a, batch_b, batch_c;
    union {
        float f;
        double d;
        int32_t i;
    } alpha, beta;
} launch_gemm;

/* The arguments of move_strided: `move` in kernels/port.h. */
typedef struct launch_move {
    const void *from;
    void *to;
    int32_t rows, cols, rows_to, cols_to;
    int64_t from_row, from_col, to_row, to_col;
    int64_t batch_from, batch_to;
} launch_move;

/* Those of move_lines, `moves` there: the grid has as many in y as there are. */
enum { MOST_MOVES = 5 };
typedef struct launch_moves {
    launch_move of[MOST_MOVES];
} launch_moves;

/* Of a kernel whose tiles have rows of C that lie LACES apart (laces): whole tiles of all classes of rows, or columns. What is left
 * of C beyond those, if it is no more than 8, is its rim, which tiles at the edge compute beside their own; only a product by
 * itself has one. The rows of A for that are a copy. */
enum { LACES = 8, LACED_ROWS = LACES * 128, LACED_COLS = 256, MOST_RIM = 8 };
typedef struct launch_rim {
    int rows, cols;
    const void *a;
    int64_t a_row;
} launch_rim;
launch_rim launch_rim_of(const problem *run);

/* Of such a kernel whose B is copied: of the columns of its tiles it copies the first `whole` itself, beside its products, and of
 * the `some` that follow the lines of k from `chunk` on; 0 of both: nothing. Counts begin at 0: one of all, and one for every
 * `chunk` lines of each of those columns. `late_copy` in kernels/late.h. */
typedef struct launch_late {
    const void *from;
    void *to;
    int32_t *counts;
    int32_t from_row, to_row, whole, some, chunk, unused;
} launch_late;
/* Without pointers and distances; `parts` is of k. */
launch_late launch_late_of(const problem *run, int parts);
int64_t launch_late_counts(const launch_late *late, int64_t k);

/* Whether rows of A, B and C begin at multiples of `vec` elements, and have whole vectors: what VEC > 1 needs. With
 * data: base addresses too (NULL data: sizes and strides only). */
int launch_is_aligned(const problem *run, const operands *data, int vec);

/* The launches of a product, one after the other: fill `walk` with launch_begin, then call launch_next until it
 * returns 0. */
typedef struct launch_walk {
    launch_gemm all; /* the whole product; m and n of a launch may be smaller */
    int64_t m, n, batch;
    int64_t row, col, product; /* where the next launch begins */
    int64_t rows_most, cols_most;
    int64_t size_in, size_out;
    launch_shape shape;
} launch_walk;

void launch_begin(launch_walk *walk, const problem *run, const operands *data, launch_shape shape);
int launch_next(launch_walk *walk, launch_gemm *args, unsigned grid[3]);

/* How many pieces of that size a length has; the last may be shorter. */
static inline int64_t launch_pieces(int64_t length, int64_t piece) {
    return (length + piece - 1) / piece;
}

/* The tiles of all launches, of whole clusters; a block has one, of its products. */
int64_t launch_tiles(const launch_shape *shape, const problem *run);

/* How many blocks do that many tiles: one each, or of a persistent kernel whole clusters, and no more than the
 * `at_once` that run at the same time; nor more than as many rounds of tiles take, since the others' clock is higher without
 * those that would be done a tile early. (f32 from parts cuts the tiles of its last round, and has work for all; so has a
 * kernel with a rim to compute.) And the grid of those, from that with a block for each tile. */
int64_t launch_blocks(const kernel_row *kernel, const launch_shape *shape, int64_t at_once, int64_t tiles);
void launch_fit_grid(const kernel_row *kernel, const launch_shape *shape, int64_t at_once, unsigned grid[3]);

#endif
