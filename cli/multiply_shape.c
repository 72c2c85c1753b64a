/* multiply_shape.c: sizes, strides and views of a product of two arrays.
 *
 * Invariant: strides are those of dense arrays, and fit: where a product of sizes does not, the array is empty
 * and no stride is ever used.
 */
#include "multiply_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An array as a stack of matrices: one that has fewer sizes has ones in their place. */
typedef struct stack {
    int64_t count, rows, cols;
    int64_t count_stride, row_stride, col_stride;
} stack;

static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? 0 : product;
}

static stack lay_out(int64_t count, int64_t rows, int64_t cols, bool fortran) {
    stack s = {count, rows, cols, 1, count, times(count, rows)};
    if (!fortran) s = (stack){count, rows, cols, times(rows, cols), cols, 1};
    return s;
}

/* One size alone is the row of the left operand and the column of the right one. */
static stack stack_of(const npy_header *h, bool left) {
    const int64_t *d = h->shape;
    if (h->dims == 1) return left ? lay_out(1, 1, d[0], h->fortran) : lay_out(1, d[0], 1, h->fortran);
    if (h->dims == 2) return lay_out(1, d[0], d[1], h->fortran);
    return lay_out(d[0], d[1], d[2], h->fortran);
}

static tess_matrix view_of(tess_type type, const stack *s) {
    return tess_view_strided(type, s->rows, s->cols, NULL, s->row_stride, s->col_stride);
}

const char *multiply_shape_text(const npy_header *h, char text[MULTIPLY_TEXT]) {
    size_t used = 0;
    snprintf(text, MULTIPLY_TEXT, "a number");
    for (int i = 0; i < h->dims && used < MULTIPLY_TEXT; i++)
        used +=
            (size_t)snprintf(text + used, MULTIPLY_TEXT - used, "%s%" PRId64, i > 0 ? "×" : "", h->shape[i]);
    if (h->dims == 1 && used < MULTIPLY_TEXT) snprintf(text + used, MULTIPLY_TEXT - used, " (a vector)");
    return text;
}

static bool check_dims(const npy_header *h, const char *name, char *why, size_t why_size) {
    if (h->dims >= 1 && h->dims <= 3) return true;
    snprintf(why, why_size, "%s has %d dimensions; multiply takes 2, 1 for a vector or 3 for a stack", name,
             h->dims);
    return false;
}

static void add_size(npy_header *h, int64_t size) {
    h->shape[h->dims++] = size;
}

static bool count_result(multiply_shape *s) {
    bool empty = s->batch.count == 0 || s->m == 0 || s->n == 0;
    int64_t bytes = (int64_t)tess_type_size(s->result.type);
    s->result_size = 0;
    if (empty) return true;
    if (__builtin_mul_overflow(bytes, s->batch.count, &bytes) ||
        __builtin_mul_overflow(bytes, s->m, &bytes) || __builtin_mul_overflow(bytes, s->n, &bytes) ||
        bytes > INT64_MAX - NPY_HEADER_ROOM)
        return false;
    s->result_size = (size_t)bytes;
    return true;
}

bool multiply_shape_make(multiply_shape *s, const npy_header *a, const npy_header *b, tess_type type,
                         bool fortran, char *why, size_t why_size) {
    char text_a[MULTIPLY_TEXT], text_b[MULTIPLY_TEXT];
    if (!check_dims(a, "A", why, why_size) || !check_dims(b, "B", why, why_size)) return false;
    stack left = stack_of(a, true), right = stack_of(b, false);
    multiply_shape_text(a, text_a);
    multiply_shape_text(b, text_b);
    if (left.cols != right.rows) {
        snprintf(why, why_size,
                 "A is %s but B is %s; A's columns (%" PRId64 ") must equal B's rows (%" PRId64 ")", text_a,
                 text_b, left.cols, right.rows);
        return false;
    }
    if (left.count != right.count && left.count != 1 && right.count != 1) {
        snprintf(why, why_size,
                 "A is %s but B is %s; stacks must be equally long, or one of them a single matrix", text_a,
                 text_b);
        return false;
    }
    *s = (multiply_shape){.m = left.rows, .n = right.cols, .k = left.cols};
    s->batch.count = left.count != 1 ? left.count : right.count;
    s->batch.stride_a = left.count != 1 ? left.count_stride : 0;
    s->batch.stride_b = right.count != 1 ? right.count_stride : 0;
    s->result.type = type;
    s->result.fortran = fortran;
    if (a->dims == 3 || b->dims == 3) add_size(&s->result, s->batch.count);
    if (a->dims > 1) add_size(&s->result, s->m);
    if (b->dims > 1) add_size(&s->result, s->n);
    if (!count_result(s)) {
        snprintf(why, why_size, "A is %s and B is %s; no file could hold their product", text_a, text_b);
        return false;
    }
    s->A = view_of(a->type, &left);
    s->B = view_of(b->type, &right);
    s->C = multiply_shape_result_view(s, &s->result, &s->batch.stride_c);
    return true;
}

tess_matrix multiply_shape_result_view(const multiply_shape *s, const npy_header *h, int64_t *batch_stride) {
    stack c = lay_out(s->batch.count, s->m, s->n, h->fortran);
    *batch_stride = c.count_stride;
    return view_of(h->type, &c);
}
