/* matrix.c: views. A view is plain data; what makes one valid is stated once, in matrix_check. */
#include "matrix.h"

#include <inttypes.h>
#include <math.h>

#include "numeric.h"

/* Adds the reach of one dimension: its last index times its stride, in elements. */
static int extend(int64_t count, int64_t stride, int64_t *low, int64_t *high) {
    int64_t reach;
    if (__builtin_mul_overflow(count - 1, stride, &reach)) return 0;
    int64_t *end = reach < 0 ? low : high;
    return !__builtin_add_overflow(*end, reach, end);
}

int matrix_extent(const tess_matrix *M, int64_t count, int64_t stride, extent *out) {
    int64_t size = numeric_size(M->type), low = 0, high = 0;
    *out = (extent){0, 0};
    if (M->rows <= 0 || M->cols <= 0 || count <= 0) return 1;
    if (!extend(M->rows, M->row_stride, &low, &high) || !extend(M->cols, M->col_stride, &low, &high) ||
        !extend(count, stride, &low, &high))
        return 0;
    return !__builtin_add_overflow(high, 1, &high) && !__builtin_mul_overflow(low, size, &out->low) &&
           !__builtin_mul_overflow(high, size, &out->high);
}

tess_status matrix_check(const tess_matrix *M, const char *name, sentence *why) {
    if (!M) return status_fail(why, TESS_ERROR_ARGUMENT, "%s is NULL; pass the address of a view", name);
    if (!numeric_is_type(M->type))
        return status_fail(why, TESS_ERROR_TYPE, "%s has type %d, which is no tess_type", name, (int)M->type);
    if ((int)M->place < TESS_HOST || (int)M->place > TESS_ASK)
        return status_fail(why, TESS_ERROR_ARGUMENT, "%s has place %d, which is no tess_place", name,
                           (int)M->place);
    if (M->rows < 0 && M->cols < 0 && !M->data)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s is an invalid view; the call that made it was refused, and tess_error(NULL) "
                           "said why at that time",
                           name);
    if (M->rows < 0 || M->cols < 0)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s is %" PRId64 "×%" PRId64 "; sizes must not be negative", name, M->rows,
                           M->cols);
    extent bytes;
    if (!matrix_extent(M, 1, 0, &bytes))
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s is %" PRId64 "×%" PRId64 " with strides %" PRId64 " and %" PRId64
                           "; its byte offsets do not fit 64 bits",
                           name, M->rows, M->cols, M->row_stride, M->col_stride);
    uintptr_t address = (uintptr_t)M->data;
    if (address % tess_type_size(M->type) != 0)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s.data is %p, which is not aligned to its %zu-byte elements (%s)", name, M->data,
                           tess_type_size(M->type), tess_type_name(M->type));
    if (M->data && (address > UINTPTR_MAX - (uintptr_t)bytes.high || address < (uintptr_t)-bytes.low))
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s is %" PRId64 "×%" PRId64 " with strides %" PRId64 " and %" PRId64
                           "; from %p it runs past the end of the address space",
                           name, M->rows, M->cols, M->row_stride, M->col_stride, M->data);
    return TESS_OK;
}

static const tess_matrix invalid_view = {NULL, TESS_F32, TESS_HOST, -1, -1, 0, 0};

/* Every view function ends here, so that each is checked in the same way. */
static tess_matrix checked(tess_matrix M, const char *name) {
    return matrix_check(&M, name, status_of_thread()) == TESS_OK ? M : invalid_view;
}

/* A view keeps no record of const: the library writes only through a C (tessera.h). */
static void *without_const(const void *data) {
    return (void *)(uintptr_t)data;
}

tess_matrix tess_view_strided(tess_type type, int64_t rows, int64_t cols, const void *data,
                              int64_t row_stride, int64_t col_stride) {
    tess_matrix M = {without_const(data), type, TESS_HOST, rows, cols, row_stride, col_stride};
    if (rows < 0 || cols < 0) {
        status_fail(status_of_thread(), TESS_ERROR_ARGUMENT,
                    "a view of %" PRId64 "×%" PRId64 " was asked for; sizes must not be negative", rows,
                    cols);
        return invalid_view;
    }
    return checked(M, "the view");
}

/* Refuses a leading dimension shorter than the row (or column) it has to step over. */
static int ld_is_wrong(const char *what, int64_t ld, const char *along, int64_t length) {
    if (ld == 0 || ld >= length) return 0;
    status_fail(status_of_thread(), TESS_ERROR_SHAPE,
                "ld is %" PRId64 ", but a %s matrix with %" PRId64 " %s needs at least %" PRId64
                " (or 0 for dense)",
                ld, what, length, along, length);
    return 1;
}

tess_matrix tess_view_row_major(tess_type type, int64_t rows, int64_t cols, const void *data, int64_t ld) {
    if (ld_is_wrong("row-major", ld, "columns", cols)) return invalid_view;
    return tess_view_strided(type, rows, cols, data, ld ? ld : cols, 1);
}

tess_matrix tess_view_col_major(tess_type type, int64_t rows, int64_t cols, const void *data, int64_t ld) {
    if (ld_is_wrong("column-major", ld, "rows", rows)) return invalid_view;
    return tess_view_strided(type, rows, cols, data, 1, ld ? ld : rows);
}

tess_matrix tess_transpose(tess_matrix M) {
    tess_matrix T = M;
    T.rows = M.cols, T.cols = M.rows;
    T.row_stride = M.col_stride, T.col_stride = M.row_stride;
    return checked(T, "the matrix to transpose");
}

tess_matrix tess_submatrix(tess_matrix M, int64_t row, int64_t col, int64_t rows, int64_t cols) {
    if (matrix_check(&M, "the matrix to take a part of", status_of_thread()) != TESS_OK) return invalid_view;
    if (row < 0 || col < 0 || rows < 0 || cols < 0 || rows > M.rows - row || cols > M.cols - col) {
        status_fail(status_of_thread(), TESS_ERROR_SHAPE,
                    "a %" PRId64 "×%" PRId64 " part at (%" PRId64 ", %" PRId64
                    ") does not lie inside a %" PRId64 "×%" PRId64 " matrix",
                    rows, cols, row, col, M.rows, M.cols);
        return invalid_view;
    }
    /* An empty part keeps its parent's address: its first element need not exist. */
    if (M.data && rows > 0 && cols > 0) M.data = matrix_at(&M, row, col);
    M.rows = rows, M.cols = cols;
    return M;
}

/* True if element (row, col) can be reached from the host. */
static int can_reach(const tess_matrix *M, int64_t row, int64_t col, sentence *why) {
    if (matrix_check(M, "the matrix", why) != TESS_OK) return 0;
    if (row < 0 || col < 0 || row >= M->rows || col >= M->cols) {
        status_fail(why, TESS_ERROR_ARGUMENT,
                    "there is no element (%" PRId64 ", %" PRId64 ") in a %" PRId64 "×%" PRId64 " matrix", row,
                    col, M->rows, M->cols);
        return 0;
    }
    if (!M->data || M->place == TESS_DEVICE) {
        status_fail(why, TESS_ERROR_ARGUMENT, "the matrix %s",
                    M->data ? "lies in device memory, which the host cannot read or write"
                            : "has no data (NULL)");
        return 0;
    }
    return 1;
}

double tess_get(tess_matrix M, int64_t row, int64_t col) {
    if (!can_reach(&M, row, col, status_of_thread())) return (double)NAN;
    return numeric_load(M.type, matrix_at(&M, row, col));
}

tess_status tess_set(tess_matrix M, int64_t row, int64_t col, double value) {
    sentence *why = status_of_thread();
    if (!can_reach(&M, row, col, why)) return TESS_ERROR_ARGUMENT;
    if (numeric_is_integer(M.type)) {
        double largest = numeric_largest(M.type);
        if (!(value >= -largest - 1 && value <= largest && value == floor(value)))
            return status_fail(why, TESS_ERROR_ARGUMENT,
                               "%g is no %s; its elements are integers from %.0f to %.0f", value,
                               tess_type_name(M.type), -largest - 1, largest);
    }
    numeric_store(M.type, matrix_at(&M, row, col), value);
    return TESS_OK;
}
