/* matrix.h: what the rest of the library asks of a view. */
#ifndef MATRIX_H
#define MATRIX_H

#include "status.h"

/* Byte offsets from data: of the lowest element's first byte (≤ 0) and past the highest element's last. Both
 * are 0 for a view without elements. */
typedef struct extent {
    int64_t low, high;
} extent;

/* The extent of `count` copies of the view, `stride` elements apart. Returns 0 if an offset does not fit. */
int matrix_extent(const tess_matrix *M, int64_t count, int64_t stride, extent *out);

/* Refuses what no call can take: NULL, an invalid view, unknown type or place, negative sizes, offsets beyond
 * 64 bits, data that is not aligned to its elements or runs past the end of memory. `name` is the argument's.
 */
tess_status matrix_check(const tess_matrix *M, const char *name, sentence *why);

/* The address of element (row, col). */
static inline void *matrix_at(const tess_matrix *M, int64_t row, int64_t col) {
    int64_t offset = row * M->row_stride + col * M->col_stride;
    return (char *)M->data + offset * (int64_t)tess_type_size(M->type);
}

#endif
