/* moves.h: copies of matrices from any strides to any others, as launches of kernels/move.cu and lines.cu. */
#ifndef MOVES_H
#define MOVES_H

#include "product.h"

/* A matrix where it lies, with the others of its batch. Strides are in elements of `type`. */
typedef struct placed {
    char *data;
    tess_type type;
    int64_t row, col, batch;
} placed;

/* What a move does beside moving. */
typedef enum move_kind {
    MOVE_BITS,
    MOVE_TURNED, /* to lines of the workspace, which begin at multiples of 16 bytes and are filled up to such */
    MOVE_ROUNDED, /* f32 to the type of the copy, or to TF32, and as above */
    MOVE_ALIGNED  /* as above, from lines that lie as they will */
} move_kind;

/* A move, as far as it is the same for all its launches. */
typedef struct moving {
    placed from, to;
    int64_t rows, cols, count;
    int64_t rows_most, cols_most; /* of a launch */
    int64_t rows_to, cols_to;     /* of what is written */
    int64_t tile_rows, tile_cols; /* of a block; of move_lines there are none */
    int by_lines;                 /* it is move_lines, whose rows are lines */
    product_launch launch;
} moving;

/* The same matrix, its rows as columns. */
placed moves_turned(placed m);

moving moves_of(const product_target *target, placed from, placed to, int64_t rows, int64_t cols,
                int64_t count, move_kind kind);
tess_status moves_run(const product_target *target, moving m, sentence *why);
/* Up to five matrices, by one launch if that can be: small ones are copied in the time that a launch takes. One whose data is NULL
 * is zeros, by pieces alone. */
tess_status moves_run_all(const product_target *target, moving *list, int count, sentence *why);

/* The block and the tile of move.cu's kernels. */
extern const launch_shape moves_shape;

#endif
