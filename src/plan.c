/* plan.c: what is to be multiplied, and with which kernel.
 *
 * Everything that depends only on types, sizes, strides and options is refused here; what depends on
 * addresses and scalars is refused in api.c when the product runs. */
#include "plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alias.h"
#include "matrix.h"
#include "numeric.h"

/* The products there are, as tessera.h lists them. */
static int is_product(tess_type in, tess_type out) {
    switch (in) {
    case TESS_F32: return out == TESS_F32;
    case TESS_F64: return out == TESS_F64;
    case TESS_F16: return out == TESS_F16 || out == TESS_F32;
    case TESS_BF16: return out == TESS_BF16 || out == TESS_F32;
    case TESS_I32:
    case TESS_I8: return out == TESS_I32;
    }
    return 0;
}

static tess_status check_shapes(const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                                sentence *why) {
    if (A->cols != B->rows)
        return status_fail(why, TESS_ERROR_SHAPE,
                           "A is %" PRId64 "×%" PRId64 " (%s) but B has %" PRId64
                           " rows; A's columns must equal B's rows",
                           A->rows, A->cols, tess_type_name(A->type), B->rows);
    if (C->rows != A->rows || C->cols != B->cols)
        return status_fail(why, TESS_ERROR_SHAPE,
                           "C is %" PRId64 "×%" PRId64 ", but A (%" PRId64 "×%" PRId64 ") times B (%" PRId64
                           "×%" PRId64 ") is %" PRId64 "×%" PRId64,
                           C->rows, C->cols, A->rows, A->cols, B->rows, B->cols, A->rows, B->cols);
    return TESS_OK;
}

static tess_status check_types(const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                               tess_compute compute, sentence *why) {
    if (A->type != B->type)
        return status_fail(why, TESS_ERROR_TYPE, "A is %s and B is %s; they must have one type",
                           tess_type_name(A->type), tess_type_name(B->type));
    if (!is_product(A->type, C->type))
        return status_fail(why, TESS_ERROR_TYPE,
                           "no product takes %s to %s; there are f32→f32, f64→f64, f16→f16, f16→f32, "
                           "bf16→bf16, bf16→f32, i32→i32, i8→i32",
                           tess_type_name(A->type), tess_type_name(C->type));
    if ((int)compute < TESS_COMPUTE_DEFAULT || (int)compute > TESS_COMPUTE_BF16)
        return status_fail(why, TESS_ERROR_ARGUMENT, "options.compute is %d, which is no tess_compute",
                           (int)compute);
    if (compute != TESS_COMPUTE_DEFAULT && A->type != TESS_F32)
        return status_fail(why, TESS_ERROR_TYPE,
                           "options.compute is %d, but A and B are %s; compute modes apply to f32 matrices "
                           "only",
                           (int)compute, tess_type_name(A->type));
    return TESS_OK;
}

/* What the type of the sums cannot hold of alpha or beta. */
static tess_status check_scalar(double value, const char *name, tess_type acc, sentence *why) {
    if (acc == TESS_I32 && !(fabs(value) <= 0x1p53 && value == floor(value)))
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s is %g; for i32 results it must be an integer of at most 2^53", name, value);
    if (acc == TESS_F32 && isinf((float)value) && !isinf(value))
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s is %g, which overflows f32, the type this product is summed in", name, value);
    return TESS_OK;
}

tess_status plan_check_scalars(double alpha, double beta, tess_type acc, sentence *why) {
    TRY(check_scalar(alpha, "alpha", acc, why));
    return check_scalar(beta, "beta", acc, why);
}

/* With strides of 0 a side may be longer than any memory; a vector of that length, or its bytes, would not be. */
static tess_status check_sides(int64_t m, int64_t n, int64_t k, sentence *why) {
    const int64_t longest = (int64_t)1 << 48;
    if (m <= longest && n <= longest && k <= longest) return TESS_OK;
    return status_fail(why, TESS_ERROR_ARGUMENT,
                       "the product is %" PRId64 "×%" PRId64 "×%" PRId64
                       ", which is too large: a side may have up to 2^48 elements",
                       m, n, k);
}

tess_status plan_check_product(const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                               tess_compute compute, sentence *why) {
    TRY(check_shapes(A, B, C, why));
    TRY(check_sides(C->rows, C->cols, A->cols, why));
    return check_types(A, B, C, compute, why);
}

/* Also works out the bytes each of A, B and C covers. */
static tess_status check_batch(const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                               const tess_batch *batch, extent bytes[3], sentence *why) {
    if (batch->count < 0)
        return status_fail(why, TESS_ERROR_ARGUMENT, "batch.count is %" PRId64 "; it must not be negative",
                           batch->count);
    const tess_matrix *views[3] = {A, B, C};
    const int64_t strides[3] = {batch->stride_a, batch->stride_b, batch->stride_c};
    for (int i = 0; i < 3; i++) {
        if (!matrix_extent(views[i], batch->count, strides[i], &bytes[i]))
            return status_fail(why, TESS_ERROR_ARGUMENT,
                               "batch.stride_%c is %" PRId64 "; over %" PRId64
                               " products its byte offsets do not fit 64 bits",
                               "abc"[i], strides[i], batch -> count);
    }
    footprint written = alias_footprint(C, batch->count, batch->stride_c);
    overlap found = alias_within(&written);
    if (found == OVERLAP_NONE) return TESS_OK;
    char apart[96] = "";
    if (batch->count > 1)
        snprintf(apart, sizeof apart, ", %" PRId64 " of them %" PRId64 " apart", batch->count,
                 batch->stride_c);
    return status_fail(why, TESS_ERROR_ALIAS,
                       "C %s itself: %" PRId64 "×%" PRId64 " with strides %" PRId64 " and %" PRId64
                       "%s; no element of C may be written twice",
                       found == OVERLAP_SOME ? "overlaps" : "may overlap", C->rows, C->cols, C->row_stride,
                       C->col_stride, apart);
}

static problem problem_of(const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                          const tess_batch *batch, tess_compute compute) {
    return (problem){
        .in = A->type,
        .out = C->type,
        .acc = numeric_accumulator(A->type),
        .compute = compute,
        .place_a = A->place,
        .place_b = B->place,
        .place_c = C->place,
        .m = C->rows,
        .n = C->cols,
        .k = A->cols,
        .a_row = A->row_stride,
        .a_col = A->col_stride,
        .b_row = B->row_stride,
        .b_col = B->col_stride,
        .c_row = C->row_stride,
        .c_col = C->col_stride,
        .batch = *batch,
    };
}

static tess_status set_kernel(const device *dev, const char *name, const char *text,
                              const kernel_row **kernel, int64_t params[REGISTRY_PARAMS], sentence *why) {
    *kernel = registry_find(dev->ops->kernels, name, why);
    if (!*kernel) return TESS_ERROR_KERNEL;
    for (int i = 0; (*kernel)->block && i < REGISTRY_PARAMS; i++) params[i] = REGISTRY_UNSET;
    return registry_parse_params(*kernel, text, params, why);
}

tess_status plan_make(const device *dev, const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                      const tess_batch *batch, const tess_options *options, plan *out, sentence *why) {
    static const tess_batch single = {1, 0, 0, 0};
    static const tess_options defaults = {NULL, NULL, TESS_COMPUTE_DEFAULT};
    if (!batch) batch = &single;
    if (!options) options = &defaults;
    TRY(matrix_check(A, "A", why));
    TRY(matrix_check(B, "B", why));
    TRY(matrix_check(C, "C", why));
    TRY(plan_check_product(A, B, C, options->compute, why));
    extent bytes[3];
    TRY(check_batch(A, B, C, batch, bytes, why));

    memset(out, 0, sizeof *out);
    out->what = problem_of(A, B, C, batch, options->compute);
    out->what.bytes_a = bytes[0], out->what.bytes_b = bytes[1], out->what.bytes_c = bytes[2];
    choice chosen = {options->kernel, NULL, "it was asked for by name"};
    choice_cut cut = {.share = 0};
    if (!options->kernel) chosen = dev->ops->choose(dev, &out->what, &cut);
    if (!chosen.kernel) return status_fail(why, TESS_ERROR_TYPE, "%s", chosen.reason);
    out->reason = chosen.reason;
    TRY(set_kernel(dev, chosen.kernel, options->params ? options->params : chosen.params, &out->kernel,
                   out->params, why));
    if (options->params) cut = (choice_cut){.share = 0}; /* with other tiles it would be cut elsewhere */
    if (cut.kernel) {
        TRY(set_kernel(dev, cut.kernel, cut.params, &out->rest.kernel, out->rest.params, why));
        out->rest.rows = cut.rows, out->rest.cols = cut.cols;
    }
    out->share = cut.share;
    return dev->ops->prepare(dev, out, why);
}

/* "row-major", "column-major" or the strides, for the sentence. */
static void describe_layout(int64_t row_stride, int64_t col_stride, char *text, size_t size) {
    if (col_stride == 1)
        snprintf(text, size, "row-major");
    else if (row_stride == 1)
        snprintf(text, size, "column-major");
    else
        snprintf(text, size, "strides %" PRId64 " and %" PRId64, row_stride, col_stride);
}

/* What the rest of C gets, if there is one. */
static void describe_rest(const plan *decided, char *text, size_t size) {
    const plan_rest *rest = &decided->rest;
    char params[192];
    text[0] = '\0';
    if (!rest->kernel) return;
    int by_rows = rest->rows < decided->what.m;
    int64_t count = by_rows ? decided->what.m - rest->rows : decided->what.n - rest->cols;
    registry_print_params(rest->kernel, rest->params, params, sizeof params);
    snprintf(text, size, "; the last %" PRId64 " %s of C are a product of their own, by %s %s", count,
             by_rows ? "rows" : "columns", rest->kernel->info.name, params);
}

/* What becomes of k, if it is shared. */
static void describe_shares(const plan *decided, char *text, size_t size) {
    int64_t count = decided->share > 0 ? (decided->what.k + decided->share - 1) / decided->share : 0;
    text[0] = '\0';
    if (count > 0)
        snprintf(text, size, "; k is shared among %" PRId64 " products of %" PRId64 ", whose sums are added",
                 count, decided->share);
}

void plan_describe(const plan *decided, const char *device_name, const char *instead, char *text,
                   size_t size) {
    const problem *what = &decided->what;
    char a[64], b[64], c[64], batch[32] = "", params[192], threads[32] = "", note[96] = "", rest[320],
                              shares[96];
    describe_layout(what->a_row, what->a_col, a, sizeof a);
    describe_layout(what->b_row, what->b_col, b, sizeof b);
    describe_layout(what->c_row, what->c_col, c, sizeof c);
    if (what->batch.count != 1) snprintf(batch, sizeof batch, ", %" PRId64 " times", what->batch.count);
    registry_print_params(decided->kernel, decided->params, params, sizeof params);
    describe_rest(decided, rest, sizeof rest);
    describe_shares(decided, shares, sizeof shares);
    if (!decided->less_exact && (what->compute == TESS_COMPUTE_TF32 || what->compute == TESS_COMPUTE_BF16))
        snprintf(note, sizeof note, "; less exact arithmetic was allowed, but it computes in f32");
    if (decided->threads > 0)
        snprintf(threads, sizeof threads, " with %d thread%s", decided->threads,
                 decided->threads == 1 ? "" : "s");
    snprintf(text, size,
             "%s%s%s on %s%s for %s×%s→%s, %" PRId64 "×%" PRId64 "×%" PRId64
             "%s (A %s, B %s, C %s), because %s%s%s%s%s%s%s%s",
             decided->kernel->info.name, params[0] ? " " : "", params, device_name, threads,
             tess_type_name(what->in), tess_type_name(what->in), tess_type_name(what->out), what->m, what->n,
             what->k, batch, a, b, c, decided->reason, rest, shares, decided->route[0] ? "; " : "",
             decided->route, note, instead ? "; no GPU is used: " : "", instead ? instead : "");
}
