/* multiply_shape.h: from the headers of two arrays to the product they make, as NumPy's matmul understands it.
 *
 * Two sizes are a matrix, one is a row (left) or a column (right) and is missing from the result, three are a
 * stack of matrices; one matrix goes with every matrix of a stack.
 */
#ifndef MULTIPLY_SHAPE_H
#define MULTIPLY_SHAPE_H

#include "npy.h"

typedef struct multiply_shape {
    int64_t m, n, k;
    tess_batch batch;    /* count is 1 where there is no stack */
    tess_matrix A, B, C; /* without data; A and B are of the first matrix of a stack */
    npy_header result;   /* what C's file says */
    size_t result_size;  /* bytes of C's data */
} multiply_shape;

/* "3×4", "2×3×4", "a number" for no size at all. */
enum { MULTIPLY_TEXT = 96 };
const char *multiply_shape_text(const npy_header *h, char text[MULTIPLY_TEXT]);

/* Sizes, strides and views. Types are taken as they are: the caller has compared them. On failure `why` is a
 * sentence about A and B. */
bool multiply_shape_make(multiply_shape *s, const npy_header *a, const npy_header *b, tess_type type,
                         bool fortran, char *why, size_t why_size);

/* The part of a result that a header of the same shape describes, as the view C has, in its own order. */
tess_matrix multiply_shape_result_view(const multiply_shape *s, const npy_header *h, int64_t *batch_stride);

#endif
