/* api.c: the entry points. Each takes the context's lock (a run of a plan that shares nothing does without), does its
 * work with a sentence of its own, and keeps the sentence only on failure. What depends on addresses and scalars is
 * checked here, before anything is written. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "alias.h"
#include "matrix.h"
#include "memory.h"
#include "numeric.h"
#include "operand.h"

/* Rounds alpha and beta to the type of the sums. */
static inline tess_status round_scalars(double alpha, double beta, const problem *what, operands *data,
                                        sentence *why) {
    int in_f32 = what->acc == TESS_F32;
    data->alpha = in_f32 ? (double)(float)alpha : alpha;
    data->beta = in_f32 ? (double)(float)beta : beta;
    if (what->acc != TESS_I32 && fabs(data->alpha) <= DBL_MAX && fabs(data->beta) <= DBL_MAX) return TESS_OK;
    return plan_check_scalars(alpha, beta, what->acc, why);
}

static int ranges_meet(const void *x, extent bytes_x, const void *y, extent bytes_y) {
    uintptr_t at_x = (uintptr_t)x, at_y = (uintptr_t)y;
    return at_x + (uintptr_t)bytes_x.low < at_y + (uintptr_t)bytes_y.high &&
           at_y + (uintptr_t)bytes_y.low < at_x + (uintptr_t)bytes_x.high;
}

/* Refuses to write C over `input`, which is read. Parts of one buffer interleave, so that ranges that meet
 * are looked at closely. */
static tess_status check_alias(const tess_matrix *input, const char *name, int64_t stride,
                               const tess_matrix *C, const problem *what, sentence *why) {
    footprint read = alias_footprint(input, what->batch.count, stride);
    footprint written = alias_footprint(C, what->batch.count, what->batch.stride_c);
    overlap found = alias_between(&read, &written);
    if (found == OVERLAP_NONE) return TESS_OK;
    return status_fail(why, TESS_ERROR_ALIAS,
                       "C (%" PRId64 "×%" PRId64 " at %p) %s %s (%" PRId64 "×%" PRId64
                       " at %p); C must not be written over an element that is read",
                       C->rows, C->cols, C->data,
                       found == OVERLAP_SOME ? "shares elements with" : "may share elements with", name,
                       input->rows, input->cols, input->data);
}

/* What a product comes to, once its addresses and scalars are known. */
typedef enum work { WORK_NONE, WORK_SCALE, WORK_PRODUCT } work;

/* Rounds the scalars, refuses missing and overlapping data, and says what is left to do. */
static inline tess_status check_run(const plan *decided, double alpha, const tess_matrix *A,
                                    const tess_matrix *B, double beta, const tess_matrix *C, operands *data,
                                    work *todo, sentence *why) {
    const problem *what = &decided->what;
    *data = (operands){.a = A->data, .b = B->data, .c = C->data};
    *todo = WORK_NONE;
    TRY(round_scalars(alpha, beta, what, data, why));
    if (what->m == 0 || what->n == 0 || what->batch.count == 0) return TESS_OK;
    if (!C->data)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "C.data is NULL, but C has %" PRId64 "×%" PRId64 " elements", what->m, what->n);
    if (what->k == 0 || data->alpha == 0) {
        *todo = data->beta == 1 ? WORK_NONE : WORK_SCALE;
        return TESS_OK;
    }
    const tess_matrix *missing = !A->data ? A : !B->data ? B : NULL;
    if (missing)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s.data is NULL, but its %" PRId64 "×%" PRId64 " elements are read",
                           missing == A ? "A" : "B", missing->rows, missing->cols);
    const tess_operand *prepared_a = decided->prepared[TESS_ROLE_A],
                       *prepared_b = decided->prepared[TESS_ROLE_B];
    if (prepared_a) TRY(operand_use(prepared_a, "A", A->data, &data->kept_a, why));
    if (prepared_b) TRY(operand_use(prepared_b, "B", B->data, &data->kept_b, why));
    if (ranges_meet(A->data, what->bytes_a, C->data, what->bytes_c))
        TRY(check_alias(A, "A", what->batch.stride_a, C, what, why));
    if (ranges_meet(B->data, what->bytes_b, C->data, what->bytes_c))
        TRY(check_alias(B, "B", what->batch.stride_b, C, what, why));
    *todo = WORK_PRODUCT;
    return TESS_OK;
}

/* The product itself, once it is planned. The lock must be held, unless the plan shares nothing. */
static inline tess_status run_planned(tess_context *ctx, const plan *decided, double alpha,
                                      const tess_matrix *A, const tess_matrix *B, double beta,
                                      const tess_matrix *C, sentence *why) {
    operands data;
    work todo;
    const device_ops *ops = ctx->device->ops;
    TRY(check_run(decided, alpha, A, B, beta, C, &data, &todo, why));
    if (todo == WORK_SCALE) return ops->scale(ctx->device, &decided->what, &data, why);
    return todo == WORK_PRODUCT ? ops->run(ctx->device, decided, &data, why) : TESS_OK;
}

static tess_status gemm(tess_context *ctx, double alpha, const tess_matrix *A, const tess_matrix *B,
                        double beta, const tess_matrix *C, const tess_batch *batch,
                        const tess_options *options) {
    sentence why;
    if (!ctx)
        return context_finish(NULL,
                              status_fail(&why, TESS_ERROR_ARGUMENT,
                                          "ctx is NULL; open a context with tess_open"),
                              &why);
    plan decided;
    pthread_mutex_lock(&ctx->lock);
    tess_status status = plan_make(ctx->device, A, B, C, batch, options, &decided, &why);
    if (status == TESS_OK) status = run_planned(ctx, &decided, alpha, A, B, beta, C, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

tess_status tess_gemm(tess_context *ctx, double alpha, const tess_matrix *A, const tess_matrix *B,
                      double beta, const tess_matrix *C, const tess_options *options) {
    return gemm(ctx, alpha, A, B, beta, C, NULL, options);
}

tess_status tess_gemm_batched(tess_context *ctx, double alpha, const tess_matrix *A, const tess_matrix *B,
                              double beta, const tess_matrix *C, const tess_batch *batch,
                              const tess_options *options) {
    sentence why;
    if (!batch)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT,
                                          "batch is NULL; it says how many products there are and how far "
                                          "apart"),
                              &why);
    return gemm(ctx, alpha, A, B, beta, C, batch, options);
}

/* The view of a CBLAS argument: rows×cols after the transposition asked for. */
static tess_status cblas_view(tess_type type, tess_layout layout, tess_trans trans, const char *name,
                              int64_t rows, int64_t cols, const void *data, int64_t ld, tess_matrix *out,
                              sentence *why) {
    if ((int)trans < TESS_NO_TRANS || (int)trans > TESS_CONJ_TRANS)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "trans_%s is %d; it must be 111 (as is), 112 or 113 (transposed)", name,
                           (int)trans);
    int transposed = trans != TESS_NO_TRANS, row_major = layout == TESS_ROW_MAJOR;
    int64_t least = row_major != transposed ? cols : rows;
    if (rows < 0 || cols < 0)
        return status_fail(why, TESS_ERROR_SHAPE,
                           "%s would be %" PRId64 "×%" PRId64 "; sizes must not be negative", name, rows,
                           cols);
    if (ld < (least > 1 ? least : 1))
        return status_fail(why, TESS_ERROR_SHAPE, "ld%s is %" PRId64 ", but must be at least %" PRId64, name,
                           ld, least > 1 ? least : 1);
    *out = row_major != transposed ? tess_view_strided(type, rows, cols, data, ld, 1)
                                   : tess_view_strided(type, rows, cols, data, 1, ld);
    if (out->rows < 0)
        return status_fail(why, TESS_ERROR_SHAPE, "%s: %.900s", name, status_of_thread()->text);
    return TESS_OK;
}

/* sgemm and dgemm differ only in the type. */
static tess_status cblas_gemm(tess_context *ctx, tess_type type, tess_layout layout, tess_trans trans_a,
                              tess_trans trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                              const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                              int64_t ldc) {
    sentence why;
    tess_status status = TESS_OK;
    tess_matrix A, B, C;
    if (m < 0 || n < 0 || k < 0)
        status =
            status_fail(&why, TESS_ERROR_ARGUMENT,
                        "m is %" PRId64 ", n is %" PRId64 ", k is %" PRId64 "; sizes must not be negative", m,
                        n, k);
    else if (layout != TESS_ROW_MAJOR && layout != TESS_COL_MAJOR)
        status = status_fail(&why, TESS_ERROR_ARGUMENT,
                             "layout is %d; it must be 101 (row-major) or 102 (column-major)", (int)layout);
    if (status == TESS_OK) status = cblas_view(type, layout, trans_a, "a", m, k, a, lda, &A, &why);
    if (status == TESS_OK) status = cblas_view(type, layout, trans_b, "b", k, n, b, ldb, &B, &why);
    if (status == TESS_OK) status = cblas_view(type, layout, TESS_NO_TRANS, "c", m, n, c, ldc, &C, &why);
    if (status != TESS_OK) return context_finish(ctx, status, &why);
    return gemm(ctx, alpha, &A, &B, beta, &C, NULL, NULL);
}

tess_status tess_sgemm(tess_context *ctx, tess_layout layout, tess_trans trans_a, tess_trans trans_b,
                       int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    return cblas_gemm(ctx, TESS_F32, layout, trans_a, trans_b, m, n, k, (double)alpha, a, lda, b, ldb,
                      (double)beta, c, ldc);
}

tess_status tess_dgemm(tess_context *ctx, tess_layout layout, tess_trans trans_a, tess_trans trans_b,
                       int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                       const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
    return cblas_gemm(ctx, TESS_F64, layout, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* The bits of its address that must be 0; sizes are powers of two. */
static uintptr_t low_bits(const tess_matrix *M) {
    return (uintptr_t)(numeric_size(M->type) - 1);
}

static tess_status make_plan(tess_context *ctx, const tess_matrix *A, const tess_matrix *B,
                             const tess_matrix *C, const tess_batch *batch, const tess_options *options,
                             tess_plan **out, sentence *why) {
    plan decided;
    TRY(plan_make(ctx->device, A, B, C, batch, options, &decided, why));
    tess_plan *made = memory_alloc_zeroed(sizeof *made);
    if (!made) return status_fail(why, TESS_ERROR_MEMORY, "no memory for a plan (%zu bytes)", sizeof *made);
    tess_device_info info = {.name = ""};
    ctx->device->ops->describe(ctx->index, &info);
    made->ctx = ctx;
    made->decided = decided;
    made->A = *A, made->B = *B, made->C = *C;
    made->low_bits_in = low_bits(A), made->low_bits_out = low_bits(C);
    plan_describe(&decided, info.name, ctx->instead, made->text, sizeof made->text);
    registry_print_params(decided.kernel, decided.params, made->params, sizeof made->params);
    for (char *at = made->params; *at; at++)
        if (*at == ' ') *at = ','; /* as options.params wants them */
    ctx->plans++;
    *out = made;
    return TESS_OK;
}

tess_status tess_plan_gemm(tess_context *ctx, const tess_matrix *A, const tess_matrix *B,
                           const tess_matrix *C, const tess_batch *batch, const tess_options *options,
                           tess_plan **out) {
    sentence why;
    if (out) *out = NULL;
    if (!ctx || !out)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "tess_plan_gemm: %s is NULL",
                                          ctx ? "plan" : "ctx"),
                              &why);
    pthread_mutex_lock(&ctx->lock);
    tess_status status = make_plan(ctx, A, B, C, batch, options, out, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

/* Type and place in one word. */
static inline uint64_t kind_of(const tess_matrix *M) {
    uint64_t kind;
    memcpy(&kind, &M->type, sizeof kind);
    return kind;
}
_Static_assert(offsetof(tess_matrix, rows) == offsetof(tess_matrix, type) + sizeof(uint64_t),
               "a view's type and place must lie side by side");

/* A planned view may differ only in its data; everything else was checked when the plan was made. One branch for all
 * that must be equal: this stands in the way of every small product. */
static inline uint64_t differs(const tess_matrix *M, const tess_matrix *planned) {
    return (kind_of(M) ^ kind_of(planned)) | (uint64_t)(M->rows ^ planned->rows) |
           (uint64_t)(M->cols ^ planned->cols) | (uint64_t)(M->row_stride ^ planned->row_stride) |
           (uint64_t)(M->col_stride ^ planned->col_stride);
}

static tess_status refuse_view(const tess_matrix *M, const char *name, const tess_matrix *planned,
                               sentence *why) {
    TRY(matrix_check(M, name, why));
    return status_fail(why, TESS_ERROR_SHAPE,
                       "%s is %" PRId64 "×%" PRId64 " %s with strides %" PRId64 " and %" PRId64
                       ", but the plan was made for %" PRId64 "×%" PRId64 " %s with strides %" PRId64
                       " and %" PRId64 "%s",
                       name, M->rows, M->cols, tess_type_name(M->type), M->row_stride, M->col_stride,
                       planned->rows, planned->cols, tess_type_name(planned->type), planned->row_stride,
                       planned->col_stride, M->place == planned->place ? "" : " in another place");
}

/* Says which of the views is not the plan's. */
static tess_status refuse_views(const tess_plan *made, const tess_matrix *const views[3], sentence *why) {
    const tess_matrix *const planned[3] = {&made->A, &made->B, &made->C};
    static const char *const names[3] = {"A", "B", "C"};
    int i = 0;
    while (i < 2 && views[i] && !differs(views[i], planned[i]) &&
           !((uintptr_t)views[i]->data & low_bits(planned[i])))
        i++;
    return refuse_view(views[i], names[i], planned[i], why);
}

static inline tess_status check_views(const tess_plan *made, const tess_matrix *A, const tess_matrix *B,
                                      const tess_matrix *C, sentence *why) {
    if (A && B && C) {
        uint64_t apart = differs(A, &made->A) | differs(B, &made->B) | differs(C, &made->C);
        uintptr_t unaligned = (((uintptr_t)A->data | (uintptr_t)B->data) & made->low_bits_in) |
                              ((uintptr_t)C->data & made->low_bits_out);
        if ((apart | unaligned) == 0) return TESS_OK;
    }
    return refuse_views(made, (const tess_matrix *const[3]){A, B, C}, why);
}

static inline tess_status run_plan(const tess_plan *made, double alpha, const tess_matrix *A,
                                   const tess_matrix *B, double beta, const tess_matrix *C, sentence *why) {
    TRY(check_views(made, A, B, C, why));
    return run_planned(made->ctx, &made->decided, alpha, A, B, beta, C, why);
}

static tess_status time_plan(const tess_plan *made, double alpha, const tess_matrix *A, const tess_matrix *B,
                             double beta, const tess_matrix *C, int64_t repeats, int cold, double *seconds,
                             sentence *why) {
    operands data;
    work todo;
    if (repeats < 1 || repeats > 1000000)
        return status_fail(why, TESS_ERROR_ARGUMENT, "repeats is %" PRId64 "; it must be 1 to 1000000",
                           repeats);
    TRY(check_views(made, A, B, C, why));
    TRY(check_run(&made->decided, alpha, A, B, beta, C, &data, &todo, why));
    *seconds = 0;
    if (todo != WORK_PRODUCT) return TESS_OK;
    device *dev = made->ctx->device;
    return dev->ops->time(dev, &made->decided, &data, repeats, cold, seconds, why);
}

tess_status tess_time(tess_plan *made, double alpha, const tess_matrix *A, const tess_matrix *B, double beta,
                      const tess_matrix *C, int64_t repeats, int cold, double *seconds) {
    sentence why;
    if (!made || !seconds)
        return context_finish(made ? made->ctx : NULL,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "tess_time: %s is NULL",
                                          made ? "seconds" : "plan"),
                              &why);
    pthread_mutex_lock(&made->ctx->lock);
    tess_status status = time_plan(made, alpha, A, B, beta, C, repeats, cold, seconds, &why);
    pthread_mutex_unlock(&made->ctx->lock);
    return context_finish(made->ctx, status, &why);
}

tess_status tess_run(tess_plan *made, double alpha, const tess_matrix *A, const tess_matrix *B, double beta,
                     const tess_matrix *C) {
    sentence why;
    if (!made)
        return context_finish(NULL,
                              status_fail(&why, TESS_ERROR_ARGUMENT,
                                          "plan is NULL; make one with tess_plan_gemm"),
                              &why);
    int locked = !made->decided.shares_nothing;
    if (locked) pthread_mutex_lock(&made->ctx->lock);
    tess_status status = run_plan(made, alpha, A, B, beta, C, &why);
    if (locked) pthread_mutex_unlock(&made->ctx->lock);
    return context_finish(made->ctx, status, &why);
}

const char *tess_plan_kernel(const tess_plan *made) {
    return made ? made->decided.kernel->info.name : "";
}

const char *tess_plan_params(const tess_plan *made) {
    return made ? made->params : "";
}

const char *tess_plan_sentence(const tess_plan *made) {
    return made ? made->text : "";
}

int64_t tess_plan_workspace(const tess_plan *made) {
    return made ? made->decided.workspace : 0;
}

tess_status tess_plan_facts(tess_plan *made, tess_kernel_facts *facts) {
    sentence why;
    if (!made || !facts)
        return context_finish(made ? made->ctx : NULL,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "tess_plan_facts: %s is NULL",
                                          made ? "facts" : "plan"),
                              &why);
    memset(facts, 0, sizeof *facts);
    device *dev = made->ctx->device;
    if (!dev->ops->facts) return TESS_OK;
    pthread_mutex_lock(&made->ctx->lock);
    tess_status status = dev->ops->facts(dev, &made->decided, facts, &why);
    pthread_mutex_unlock(&made->ctx->lock);
    return context_finish(made->ctx, status, &why);
}

static tess_status count_plan(const tess_plan *made, tess_count_view view, tess_counters *sum,
                              tess_line_counters *lines, size_t *line_count, sentence *why) {
    const problem *what = &made->decided.what;
    device *dev = made->ctx->device;
    if (view != TESS_COUNT_SOURCE && view != TESS_COUNT_COMPILED)
        return status_fail(why, TESS_ERROR_ARGUMENT, "view is %d, which is no tess_count_view", (int)view);
    if (!dev->ops->counters)
        return status_fail(why, TESS_ERROR_DEVICE,
                           "the simulator counts, and this context is a %s; open \"sim\"", dev->ops->kind);
    memset(sum, 0, sizeof *sum);
    if (what->m == 0 || what->n == 0 || what->k == 0 || what->batch.count == 0) {
        if (line_count) *line_count = 0;
        return TESS_OK;
    }
    return dev->ops->counters(dev, &made->decided, view, sum, lines, line_count, why);
}

tess_status tess_count(tess_plan *made, tess_count_view view, tess_counters *sum, tess_line_counters *lines,
                       size_t *line_count) {
    sentence why;
    if (!made || !sum || (lines && !line_count))
        return context_finish(made ? made->ctx : NULL,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "tess_count: %s is NULL",
                                          !made  ? "plan"
                                          : !sum ? "sum"
                                                 : "line_count"),
                              &why);
    pthread_mutex_lock(&made->ctx->lock);
    tess_status status = count_plan(made, view, sum, lines, line_count, &why);
    pthread_mutex_unlock(&made->ctx->lock);
    return context_finish(made->ctx, status, &why);
}

void tess_free_plan(tess_plan *made) {
    if (!made) return;
    pthread_mutex_lock(&made->ctx->lock);
    operand_release(&made->decided);
    made->ctx->plans--;
    pthread_mutex_unlock(&made->ctx->lock);
    memory_free(made);
}

tess_status tess_measure_peak(tess_context *ctx, tess_type type, double *flops) {
    sentence why;
    if (!ctx || !flops)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "tess_measure_peak: %s is NULL",
                                          ctx ? "flops" : "ctx"),
                              &why);
    if (type != TESS_F32 && type != TESS_F64)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_TYPE,
                                          "the peak is measured for f32 and f64, not %s",
                                          tess_type_name(type)),
                              &why);
    pthread_mutex_lock(&ctx->lock);
    tess_status status = ctx->device->ops->measure_peak(ctx->device, type, flops, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

tess_status tess_measure_bandwidth(tess_context *ctx, double *bytes) {
    sentence why;
    if (!ctx || !bytes)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "tess_measure_bandwidth: %s is NULL",
                                          ctx ? "bytes" : "ctx"),
                              &why);
    pthread_mutex_lock(&ctx->lock);
    tess_status status = ctx->device->ops->measure_bandwidth(ctx->device, bytes, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}
