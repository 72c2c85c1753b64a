/* multiply_steps.c: cuts a product into steps and runs them.
 *
 * Invariant: the steps are rectangles of C, over all of k, that cover it once: an element is computed in one
 * call, so that its bits do not depend on how C was cut. They are large enough that packing A and B again for
 * each costs little, and small enough that Ctrl-C and the progress line need not wait long.
 */
#include "multiply_steps.h"
#include "interrupt.h"
#include "say.h"
#include "timing.h"

#include <stdio.h>
#include <string.h>

/* Operations a step should have per thread, about a second's worth; a GPU counts as so many threads; the most steps
 * a product is cut into; and the least edge of a step. */
static const double STEP_WORK = 4e10;
static const double THREADS_OF_A_GPU = 250;
enum { MOST_STEPS = 64, LEAST_EDGE = 512, EDGE_MULTIPLE = 64 };

typedef struct cut {
    int64_t matrices, rows, cols; /* of one step */
} cut;

typedef struct step {
    int64_t matrix, row, col; /* where it begins */
    int64_t matrices, rows, cols;
} step;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t pieces(int64_t size, int64_t edge) {
    return edge > 0 ? (size + edge - 1) / edge : 0;
}

static int64_t halve(int64_t edge) {
    return ((edge + 1) / 2 + EDGE_MULTIPLE - 1) / EDGE_MULTIPLE * EDGE_MULTIPLE;
}

/* Moving an element costs as much as tens of multiply-adds, which is what counts for thin products. */
static double work_of(double m, double n, double k) {
    return 2 * m * n * k + 50 * (m * k + k * n + m * n);
}

static double workers(const tess_context *ctx) {
    tess_device_info device;
    if (tess_device_facts(ctx, &device) == TESS_OK && device.own_memory) return THREADS_OF_A_GPU;
    return tess_threads(ctx);
}

/* Halves the longer edge of C until there are enough steps: squares need the least packing. */
static cut cut_product(const multiply_job *job) {
    const multiply_shape *s = &job->shape;
    double work = work_of((double)s->m, (double)s->n, (double)s->k), one = STEP_WORK * workers(job->ctx);
    double wanted = work / one < MOST_STEPS ? work / one : MOST_STEPS;
    cut c = {1, s->m, s->n};
    if (wanted < 1) {
        double together = work > 0 ? one / work : 1;
        c.matrices = together < (double)s->batch.count ? (int64_t)together : s->batch.count;
        return c;
    }
    while ((double)pieces(s->m, c.rows) * (double)pieces(s->n, c.cols) < wanted) {
        int64_t *edge = c.rows > c.cols ? &c.rows : &c.cols;
        if (*edge < 2 * LEAST_EDGE) break;
        *edge = halve(*edge);
    }
    return c;
}

/* A part of a view, and the matrix of a stack it lies in. Views without data stay so. */
static tess_matrix part(tess_matrix whole, void *data, int64_t offset, int64_t row, int64_t col, int64_t rows,
                        int64_t cols) {
    whole.data = data;
    tess_matrix M = tess_submatrix(whole, row, col, rows, cols);
    if (data != NULL) M.data = (char *)M.data + offset * (int64_t)tess_type_size(M.type);
    return M;
}

typedef struct operands {
    tess_matrix A, B, C;
    tess_batch batch;
} operands;

static operands operands_of(const multiply_job *job, const step *at) {
    const multiply_shape *s = &job->shape;
    operands o = {.batch = s->batch};
    o.batch.count = at->matrices;
    o.A = part(s->A, job->a, at->matrix * s->batch.stride_a, at->row, 0, at->rows, s->k);
    o.B = part(s->B, job->b, at->matrix * s->batch.stride_b, 0, at->col, s->k, at->cols);
    o.C = part(s->C, job->c, at->matrix * s->batch.stride_c, at->row, at->col, at->rows, at->cols);
    return o;
}

static const tess_batch *batch_of(const operands *o) {
    return o->batch.count == 1 ? NULL : &o->batch;
}

bool multiply_steps_plan(const multiply_job *job, tess_plan **plan) {
    cut c = cut_product(job);
    step first = {0, 0, 0, c.matrices, c.rows, c.cols};
    operands o = operands_of(job, &first);
    if (tess_plan_gemm(job->ctx, &o.A, &o.B, &o.C, batch_of(&o), &job->options, plan) == TESS_OK) return true;
    say_error("%s", tess_error(job->ctx));
    return false;
}

/* Copies one line of elements; `from` and `to` may have any strides. */
static void copy_line(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count,
                      size_t item) {
    if (to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t)count * item);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_stride * (int64_t)item, from + i * from_stride * (int64_t)item, item);
}

static void copy_matrix(const tess_matrix *to, const tess_matrix *from) {
    size_t item = tess_type_size(to->type);
    bool by_rows = to->col_stride == 1;
    int64_t lines = by_rows ? to->rows : to->cols, count = by_rows ? to->cols : to->rows;
    int64_t to_next = by_rows ? to->row_stride : to->col_stride, to_stride = by_rows ? 1 : to->row_stride;
    int64_t from_next = by_rows ? from->row_stride : from->col_stride;
    int64_t from_stride = by_rows ? from->col_stride : from->row_stride;
    for (int64_t i = 0; i < lines; i++)
        copy_line((char *)to->data + i * to_next * (int64_t)item, to_stride,
                  (const char *)from->data + i * from_next * (int64_t)item, from_stride, count, item);
}

/* Puts what beta multiplies into the part of C this step computes. */
static void copy_old(const multiply_job *job, const step *at) {
    int64_t stride;
    tess_matrix old = multiply_shape_result_view(&job->shape, &job->c0_header, &stride);
    old.data = (void *)(uintptr_t)job->c0;
    for (int64_t i = 0; i < at->matrices; i++) {
        int64_t matrix = at->matrix + i;
        tess_matrix to = part(job->shape.C, job->c, matrix * job->shape.batch.stride_c, at->row, at->col,
                              at->rows, at->cols);
        tess_matrix from = part(old, old.data, matrix * stride, at->row, at->col, at->rows, at->cols);
        copy_matrix(&to, &from);
    }
}

static bool run_step(const multiply_job *job, const step *at) {
    operands o = operands_of(job, at);
    if (job->c0 != NULL && job->beta != 0) copy_old(job, at);
    tess_status status =
        o.batch.count == 1
            ? tess_gemm(job->ctx, job->alpha, &o.A, &o.B, job->beta, &o.C, &job->options)
            : tess_gemm_batched(job->ctx, job->alpha, &o.A, &o.B, job->beta, &o.C, &o.batch, &job->options);
    if (status == TESS_OK) return true;
    say_error("%s", tess_error(job->ctx));
    return false;
}

static void show_progress(double share, double seconds, double flops) {
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    int full = (int)(share * WIDTH);
    memset(bar, '-', WIDTH);
    memset(bar, '#', (size_t)full);
    bar[WIDTH] = '\0';
    long left = (long)(seconds / share * (1 - share) + 0.5);
    say_progress("[%s] %3.0f %%  %.1f GFLOPS  %ld:%02ld left", bar, 100 * share,
                 1e-9 * flops * share / seconds, left / 60, left % 60);
}

/* The step at `index` of those a cut makes, matrix by matrix, row by row. */
static step step_at(const multiply_shape *s, const cut *c, int64_t index) {
    int64_t across = pieces(s->n, c->cols), down = pieces(s->m, c->rows);
    step at = {.matrix = index / (across * down) * c->matrices,
               .row = index / across % down * c->rows,
               .col = index % across * c->cols};
    at.matrices = least(c->matrices, s->batch.count - at.matrix);
    at.rows = least(c->rows, s->m - at.row);
    at.cols = least(c->cols, s->n - at.col);
    return at;
}

multiply_end multiply_steps_run(const multiply_job *job, double *seconds) {
    const multiply_shape *s = &job->shape;
    double start = timing_now(), done = 0;
    double all = (double)s->batch.count * (double)s->m * (double)s->n;
    cut c = cut_product(job);
    int64_t steps = pieces(s->batch.count, c.matrices) * pieces(s->m, c.rows) * pieces(s->n, c.cols);
    for (int64_t i = 0; i < steps; i++) {
        step at = step_at(s, &c, i);
        if (interrupt_came()) return MULTIPLY_INTERRUPTED;
        if (!run_step(job, &at)) return MULTIPLY_FAILED;
        done += (double)at.matrices * (double)at.rows * (double)at.cols;
        if (steps > 1) show_progress(done / all, timing_now() - start, 2 * all * (double)s->k);
    }
    *seconds = timing_now() - start;
    return interrupt_came() ? MULTIPLY_INTERRUPTED : MULTIPLY_DONE;
}
