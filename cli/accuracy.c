/* accuracy.c: memory of a case, the sides that multiply it, and what their results are off by. */
#include "accuracy.h"
#include "parallel.h"
#include "say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

/* Room for the f64 matrices where they are multiplied. */
static bool open_reference(accuracy_case *c, size_t of_a, size_t of_b, size_t of_c) {
    tess_device_info info;
    if (tess_device_facts(c->reference, &info) != TESS_OK || !info.own_memory) return true;
    return tess_alloc(c->reference, of_a * sizeof(double), &c->wide_on_device[0]) == TESS_OK &&
           tess_alloc(c->reference, of_b * sizeof(double), &c->wide_on_device[1]) == TESS_OK &&
           tess_alloc(c->reference, of_c * sizeof(double), &c->wide_on_device[2]) == TESS_OK;
}

bool accuracy_open(accuracy_case *c, tess_context *ctx, bool on_device, tess_context *reference, int64_t m,
                   int64_t n, int64_t k) {
    size_t of_a = (size_t)(m * k), of_b = (size_t)(k * n), of_c = (size_t)(m * n);
    *c = (accuracy_case){.ctx = ctx, .reference = reference, .on_device = on_device, .m = m, .n = n, .k = k};
    c->a = malloc(of_a * sizeof *c->a), c->base_a = malloc(of_a * sizeof *c->base_a);
    c->b = malloc(of_b * sizeof *c->b), c->base_b = malloc(of_b * sizeof *c->base_b);
    c->c = malloc(of_c * sizeof *c->c);
    c->wide_a = malloc(of_a * sizeof *c->wide_a), c->wide_b = malloc(of_b * sizeof *c->wide_b);
    c->want = malloc(of_c * sizeof *c->want), c->magnitude = malloc(of_c * sizeof *c->magnitude);
    if (!c->a || !c->base_a || !c->b || !c->base_b || !c->c || !c->wide_a || !c->wide_b || !c->want ||
        !c->magnitude) {
        say_error("no memory for a product whose matrices have %zu, %zu and %zu elements", of_a, of_b, of_c);
        return false;
    }
    if (!open_reference(c, of_a, of_b, of_c)) {
        say_error("%s", tess_error(reference));
        return false;
    }
    if (!on_device || (tess_alloc(ctx, of_a * sizeof *c->a, &c->device_a) == TESS_OK &&
                       tess_alloc(ctx, of_b * sizeof *c->b, &c->device_b) == TESS_OK &&
                       tess_alloc(ctx, of_c * sizeof *c->c, &c->device_c) == TESS_OK))
        return true;
    say_error("%s", tess_error(ctx));
    return false;
}

void accuracy_close(accuracy_case *c) {
    void *const memory[] = {c->a,      c->b,      c->c,    c->base_a,   c->base_b,
                            c->wide_a, c->wide_b, c->want, c->magnitude};
    void *const on_device[] = {c->device_a, c->device_b, c->device_c};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
        if (on_device[i] != NULL) tess_free(c->ctx, on_device[i]);
    for (int i = 0; i < 3; i++)
        if (c->wide_on_device[i] != NULL) tess_free(c->reference, c->wide_on_device[i]);
    *c = (accuracy_case){0};
}

/* ---- Sides ---- */

static void multiply_by_blas(accuracy_case *c, const peer *blas) {
    peer_call call = {.type = TESS_F32,
                      .m = c->m,
                      .n = c->n,
                      .k = c->k,
                      .lda = c->k,
                      .ldb = c->n,
                      .ldc = c->n,
                      .alpha = 1,
                      .a = c->a,
                      .b = c->b,
                      .c = c->c};
    peer_gemm(blas, &call);
}

static tess_matrix view_of(const accuracy_case *c, int64_t rows, int64_t cols, float *host, void *device) {
    tess_matrix M = tess_view_row_major(TESS_F32, rows, cols, c->on_device ? device : host, 0);
    M.place = c->on_device ? TESS_DEVICE : TESS_HOST;
    return M;
}

static tess_status copy_result(const accuracy_case *c, bool to_device) {
    size_t bytes = (size_t)(c->m * c->n) * sizeof *c->c;
    if (!c->on_device) return TESS_OK;
    return to_device ? tess_copy(c->ctx, c->device_c, c->c, bytes)
                     : tess_copy(c->ctx, c->c, c->device_c, bytes);
}

tess_status accuracy_multiply(accuracy_case *c, const accuracy_side *side, char planned[64], tess_way *way) {
    tess_matrix A = view_of(c, c->m, c->k, c->a, c->device_a), B = view_of(c, c->k, c->n, c->b, c->device_b),
                C = view_of(c, c->m, c->n, c->c, c->device_c);
    tess_plan *plan = NULL;
    *way = TESS_WAY_ONLY;
    memset(c->c, 0xff, (size_t)(c->m * c->n) * sizeof *c->c); /* NaN, if it is not written */
    if (side->blas != NULL) {
        snprintf(planned, 64, "%s", side->name);
        multiply_by_blas(c, side->blas);
        return TESS_OK;
    }
    tess_status status = copy_result(c, true);
    if (status == TESS_OK) status = tess_plan_gemm(c->ctx, &A, &B, &C, NULL, &side->options, &plan);
    if (status == TESS_OK) status = tess_run(plan, 1, &A, &B, 0, &C);
    if (status == TESS_OK) status = tess_way_taken(c->ctx, way);
    if (status == TESS_OK) status = copy_result(c, false);
    snprintf(planned, 64, "%s%s", side->options.kernel == NULL ? "auto:" : "", tess_plan_kernel(plan));
    tess_free_plan(plan);
    return status;
}

/* ---- Errors ---- */

typedef struct counting {
    const accuracy_case *c;
    bool scaled;
    accuracy_tally parts[PARALLEL_BLOCKS];
} counting;

/* Comparisons are written so that a NaN is the largest error there is. */
static void count_rows(void *argument, int block, int64_t first, int64_t end) {
    counting *job = argument;
    const accuracy_case *c = job->c;
    accuracy_tally *t = &job->parts[block];
    for (int64_t i = first * c->n; i < end * c->n; i++) {
        double want = c->want[i], magnitude = c->magnitude[i], error = (double)c->c[i] - want;
        double unit = job->scaled && magnitude > 0 ? magnitude : 1;
        t->squares += error / unit * (error / unit);
        t->all += want / unit * (want / unit);
        if (magnitude > 0 && !(fabs(error) / magnitude <= t->most)) t->most = fabs(error) / magnitude;
        if (magnitude > 0) t->sum += error / magnitude;
        t->unequal += c->c[i] != (float)want;
    }
}

void accuracy_count(accuracy_tally *t, const accuracy_case *c, bool scaled) {
    counting job = {.c = c, .scaled = scaled};
    parallel_rows(c->m, count_rows, &job);
    for (int i = 0; i < PARALLEL_BLOCKS; i++) {
        const accuracy_tally *part = &job.parts[i];
        t->squares += part->squares;
        t->all += part->all;
        t->sum += part->sum;
        t->unequal += part->unequal;
        if (!(part->most <= t->most)) t->most = part->most;
    }
    t->count += c->m * c->n;
}

double accuracy_frobenius(const accuracy_tally *t) {
    return t->all > 0 ? sqrt(t->squares / t->all) : sqrt(t->squares);
}

double accuracy_mean(const accuracy_tally *t) {
    return t->count > 0 ? t->sum / (double)t->count : 0;
}

static int class_of(float x) {
    return isnan(x) ? 1 : !isinf(x) ? 0 : x > 0 ? 2 : 3;
}

int64_t accuracy_misplaced(const accuracy_case *c, const float *like) {
    int64_t count = 0;
    for (int64_t i = 0; i < c->m * c->n; i++) count += class_of(c->c[i]) != class_of(like[i]);
    return count;
}
