/* route.c: decides what is turned and what is copied. The same problem, kernel, parameters and addresses always give
 * the same route: it is asked for when a product is planned, and again whenever it runs. */
#include "route.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "numeric.h"
#include "slices.h"

/* Bytes of the widest copies, at whose multiples the lines of every copy begin; and those of a line of the cache, at
 * whose multiples long ones begin: else every piece of that size would lie in two. */
enum { WIDEST = 16, CACHE_LINE = 128 };
/* Copying matrices for their alignment pays for multiply-adds where the product is at least that cubed, and an element of A or
 * B is used so many times in the mean. For tensor cores it always does: at 33 already a launch takes less time than copies of
 * 2 bytes. */
enum { WORTH_ALIGNING = 400, WORTH_ALIGNING_USES = 60 };
/* TMA moves lines that begin at multiples of 16 bytes, but half as fast as those at multiples of a line of the cache. From
 * so many rows and columns of C on a copy of A and B costs less than that, unless blocks share what they fetch. */
enum { WORTH_LINES = 4096 };

/* A matrix of fewer rows or columns than a box is wide, which lies across k, is copied along k where k is large: all blocks
 * ask for the same few lines of the cache, again and again. At 4096×16×4096 a product took 20 us, and 9 where B lay along k. */
enum { NARROW = 64, WORTH_TURNING = 2048 };

/* Kernels count steps of k in 32 bits, and go up to a tile beyond its end. */
enum { MOST_K = 1 << 30 };
/* And one whose tiles have rows apart has a rim in one launch alone. */
enum { MOST_LACED = 1 << 22 };

problem route_transposed(const problem *what) {
    problem t = *what;
    t.m = what->n, t.n = what->m;
    t.a_row = what->b_col, t.a_col = what->b_row;
    t.b_row = what->a_col, t.b_col = what->a_row;
    t.c_row = what->c_col, t.c_col = what->c_row;
    t.place_a = what->place_b, t.place_b = what->place_a;
    t.bytes_a = what->bytes_b, t.bytes_b = what->bytes_a;
    t.batch.stride_a = what->batch.stride_b, t.batch.stride_b = what->batch.stride_a;
    return t;
}

/* A matrix of the product that runs. Its strides are changed when it is copied. */
typedef struct view {
    int64_t rows, cols, size;
    int64_t *row, *col, *batch;
} view;

static view view_a(problem *run) {
    return (view){run->m, run->k, numeric_size(run->in), &run->a_row, &run->a_col, &run->batch.stride_a};
}

static view view_b(problem *run) {
    return (view){run->k, run->n, numeric_size(run->in), &run->b_row, &run->b_col, &run->batch.stride_b};
}

static view view_c(problem *run) {
    return (view){run->m, run->n, numeric_size(run->out), &run->c_row, &run->c_col, &run->batch.stride_c};
}

/* A matrix with one column has no distance between columns. */
static int lies_in_rows(const view *v) {
    return *v->col == 1 || v->cols == 1;
}

static int lies_in_columns(const view *v) {
    return *v->row == 1 || v->rows == 1;
}

/* Whether every line, of every product of the batch, is a multiple of `vec` elements from the first. */
static int has_lines_of(const view *v, int by_columns, int64_t count, int64_t vec) {
    int64_t lines = by_columns ? v->cols : v->rows, distance = by_columns ? *v->col : *v->row;
    return (lines == 1 || distance % vec == 0) && (count == 1 || *v->batch % vec == 0);
}

static int64_t whole_units(int64_t length, int64_t unit) {
    return (length + unit - 1) / unit * unit;
}

/* The distance of a copy's lines. */
static int64_t distance_of(int64_t length, int64_t size) {
    return whole_units(length, (length * size < CACHE_LINE ? WIDEST : CACHE_LINE) / size);
}

/* Makes room for a dense copy, and gives the view its strides. Its lines begin at multiples of 16 bytes, and so many elements later
 * from line to line. */
static void reserve(route *r, route_part *part, const view *v, int64_t later) {
    int64_t lines = part->by_columns ? v->cols : v->rows, length = part->by_columns ? v->rows : v->cols;
    int64_t distance = distance_of(length, v->size) + later;
    int64_t copies = *v->batch == 0 ? 1 : r->run.batch.count;
    if (later) lines = whole_units(lines, WIDEST / v->size);
    *v->row = part->by_columns ? 1 : distance;
    *v->col = part->by_columns ? distance : 1;
    *v->batch = *v->batch == 0 ? 0 : lines * distance;
    part->copied = 1;
    part->anywhere = later > 0;
    part->at = r->workspace;
    r->workspace += whole_units(lines * distance * v->size * copies, 256);
}

/* Whether TMA can move it: lines ahead of one another, at multiples of so many bytes. */
static int suits_tma(const view *v, int by_columns, int64_t count, int64_t bytes, const void *data) {
    int64_t lines = by_columns ? v->cols : v->rows, length = by_columns ? v->rows : v->cols,
            distance = by_columns ? *v->col : *v->row;
    return has_lines_of(v, by_columns, count, bytes / v->size) && (lines == 1 || distance >= length) &&
           (count == 1 || *v->batch >= 0) && (uintptr_t)data % WIDEST == 0;
}

/* Whether a kernel stores C as that lies, however A and B were copied. */
static int stores_by_itself(const kernel_row *kernel) {
    return registry_find_param(kernel, "CVEC") >= 0;
}

/* Whether A and B are worth copying where their lines are not aligned. */
static int wants_aligned(const problem *run, const kernel_row *kernel, const int64_t *params) {
    int vec = registry_find_param(kernel, "VEC"), plain = stores_by_itself(kernel);
    if ((!kernel->tensor && !plain) || vec < 0) return 0;
    if (kernel->tensor && run->in == TESS_F64) return 0; /* copies of 8 bytes are fast enough beside f64 */
    if (params[vec] != REGISTRY_UNSET && params[vec] * numeric_size(run->in) < WIDEST) return 0;
    const double least = WORTH_ALIGNING, lines = (double)(run->m + run->n),
                 area = (double)run->m * (double)run->n;
    return kernel->tensor ||
           (area >= WORTH_ALIGNING_USES * lines && area * (double)run->k >= least * least * least);
}

int route_copies_loose(const problem *run) {
    return run->m >= WORTH_LINES && run->n >= WORTH_LINES;
}

/* -1 for a kernel that has no such parameter. */
static int64_t param_of(const kernel_row *kernel, const int64_t *params, const char *name) {
    int at = registry_find_param(kernel, name);
    return at < 0 ? -1 : params[at];
}

/* Whether the kernel should take lines where they lie. `data` is where the first begins. */
static int is_aligned(const problem *run, const view *v, int by_columns, const kernel_row *kernel,
                      const int64_t *params, const void *data) {
    int64_t count = run->batch.count;
    if (kernel->box) {
        int shares = param_of(kernel, params, "CM") > 1 || param_of(kernel, params, "CN") > 1;
        int whole = !shares && route_copies_loose(run);
        return suits_tma(v, by_columns, count, whole ? CACHE_LINE : WIDEST, data);
    }
    return !wants_aligned(run, kernel, params) || has_lines_of(v, by_columns, count, WIDEST / v->size);
}

int route_takes_columns(const kernel_row *kernel) {
    return (kernel->tensor && !kernel->laces) || kernel->products;
}

/* Whether it must lie along k for a kernel of tensor cores: in rows of A, in columns of B. */
static int needs_along_k(const problem *run, const view *v, int is_b, const kernel_row *kernel) {
    if (!kernel->tensor || !kernel->k_major) return 0;
    if (v->size != 2) return 1;
    return kernel->clipped && (is_b ? v->cols : v->rows) < NARROW && run->k >= WORTH_TURNING;
}

/* A or B. ldmatrix turns elements of 2 bytes; others must lie along k, unless the kernel reads B from rows. */
static void settle_input(route *r, route_part *part, view v, int is_b, const kernel_row *kernel,
                         const int64_t *params, const void *data) {
    if (needs_along_k(&r->run, &v, is_b, kernel))
        part->by_columns = is_b && !kernel->b_rows;
    else
        part->by_columns = route_takes_columns(kernel) && !lies_in_rows(&v) && lies_in_columns(&v);
    int fits = part->by_columns ? lies_in_columns(&v) : lies_in_rows(&v);
    int aligned = is_aligned(&r->run, &v, part->by_columns, kernel, params, data);
    part->realigned = fits && !aligned;
    if (r->rounded || !fits || !aligned) reserve(r, part, &v, 0);
}

/* A of a kernel that takes its rows apart: any distance will do. */
static void settle_laced(route *r, view v, const void *data) {
    int64_t unit = WIDEST / v.size, later = *v.row % unit;
    int ahead = lies_in_rows(&v) && (v.rows == 1 || *v.row >= v.cols),
        products = r->run.batch.count == 1 || (*v.batch >= 0 && *v.batch % unit == 0);
    if (!ahead || v.rows == 1 || r->rounded) later = 0;
    if (r->rounded || !ahead || !products || (uintptr_t)data % WIDEST != 0) reserve(r, &r->a, &v, later);
    if (v.rows == 1) *v.row = 0;
    r->rim = launch_rim_of(&r->run);
    if (r->rim.rows == 0) return;
    r->rim.a_row = distance_of(v.cols, v.size);
    r->rim_at = r->workspace;
    r->workspace += whole_units(r->rim.rows * r->rim.a_row * v.size, 256);
}

/* What of B, whose rows lay so far apart, such a kernel copies beside its products: where lines are moved as they lie, and a number
 * of 31 bits says how far. */
static void settle_late(route *r, const kernel_row *kernel, const int64_t params[REGISTRY_PARAMS],
                        int64_t from_row) {
    const int at = registry_find_param(kernel, "LATE");
    if (at < 0 || r->run.k < 1 || !r->b.copied || !r->b.realigned || r->b.by_columns || r->rounded) return;
    const int64_t most = INT32_MAX / r->run.k;
    if (from_row <= 0 || from_row > most || r->run.b_row > most) return;
    r->late = launch_late_of(&r->run, (int)params[at]);
    r->counts_at = r->workspace;
    r->workspace += whole_units(launch_late_counts(&r->late, r->run.k) * (int64_t)sizeof(int32_t), 256);
}

tess_type route_input(const problem *what, const kernel_row *kernel) {
    int rounds = what->compute == TESS_COMPUTE_BF16 && what->in == TESS_F32 && kernel->block &&
                 !kernel->vector_only && registry_takes(kernel, TESS_BF16, what->out);
    return rounds ? TESS_BF16 : what->in;
}

tess_status route_of(const problem *what, const kernel_row *kernel, const int64_t params[REGISTRY_PARAMS],
                     const operands *data, route *out, sentence *why) {
    memset(out, 0, sizeof *out);
    out->run = *what;
    if (what->k > MOST_K)
        return status_fail(why, TESS_ERROR_KERNEL, "k is %" PRId64 "; kernels of a GPU take at most %d",
                           what->k, MOST_K);
    if (kernel->vector_only) {
        if (what->m != 1 && what->n != 1)
            return status_fail(why, TESS_ERROR_KERNEL,
                               "%s takes m = 1 or n = 1, but C is %" PRId64 "×%" PRId64, kernel->info.name,
                               what->m, what->n);
        return TESS_OK;
    }
    problem *run = &out->run;
    view c = view_c(run);
    out->swapped = !lies_in_rows(&c) && lies_in_columns(&c);
    if (out->swapped) *run = route_transposed(what);
    run->in = route_input(what, kernel);
    out->rounded = run->in != what->in || (kernel->k_major && run->in == TESS_F32 && !kernel->box);
    if (kernel->splits) { /* which reads and writes any strides */
        if (run->m > INT32_MAX || run->n > INT32_MAX || run->batch.count > INT32_MAX)
            return status_fail(why, TESS_ERROR_KERNEL,
                               "C is %" PRId64 "×%" PRId64 ", %" PRId64
                               " of them; %s takes at most %d of each",
                               run->m, run->n, run->batch.count, kernel->info.name, INT32_MAX);
        out->workspace = slices_workspace(run, NULL, 1);
        return TESS_OK;
    }
    if (kernel->laces && (run->m > MOST_LACED || run->n > MOST_LACED))
        return status_fail(why, TESS_ERROR_KERNEL,
                           "C is %" PRId64 "×%" PRId64 "; %s takes at most %d rows and columns", run->m,
                           run->n, kernel->info.name, MOST_LACED);
    const void *a = data ? data->a : NULL, *b = data ? data->b : NULL;
    if (kernel->laces)
        settle_laced(out, view_a(run), out->swapped ? b : a);
    else
        settle_input(out, &out->a, view_a(run), 0, kernel, params, out->swapped ? b : a);
    const int64_t b_row = run->b_row;
    settle_input(out, &out->b, view_b(run), 1, kernel, params, out->swapped ? a : b);
    if (kernel->laces) settle_late(out, kernel, params, b_row);
    c = view_c(run);
    if (!lies_in_rows(&c)) reserve(out, &out->c, &c, 0);
    return TESS_OK;
}

int route_widest(const route *r, const operands *data) {
    problem run = r->run;
    view a = view_a(&run), b = view_b(&run);
    for (int64_t bytes = WIDEST; bytes >= 4 && bytes > a.size; bytes /= 2) {
        int64_t vec = bytes / a.size;
        if (!has_lines_of(&a, r->a.by_columns, run.batch.count, vec) ||
            !has_lines_of(&b, r->b.by_columns, run.batch.count, vec))
            continue;
        if (!data ||
            ((uintptr_t)data->a % (uintptr_t)bytes == 0 && (uintptr_t)data->b % (uintptr_t)bytes == 0))
            return (int)vec;
    }
    return 1;
}

/* A matrix in columns is copied element by element there. */
static int can_read(const route *r, const route_part *part, const view *v, const void *data, int64_t vec) {
    return part->by_columns ||
           (has_lines_of(v, 0, r->run.batch.count, vec) && (uintptr_t)data % (uintptr_t)(vec * v->size) == 0);
}

int route_can_read(const route *r, const operands *data, int64_t vec) {
    problem run = r->run;
    view a = view_a(&run), b = view_b(&run);
    return can_read(r, &r->a, &a, data ? data->a : NULL, vec) &&
           can_read(r, &r->b, &b, data ? data->b : NULL, vec);
}

int route_can_write(const route *r, const operands *data, int64_t vec) {
    problem run = r->run;
    view c = view_c(&run);
    return has_lines_of(&c, 0, run.batch.count, vec) && run.n % vec == 0 &&
           (!data || (uintptr_t)data->c % (uintptr_t)(vec * c.size) == 0);
}

int route_can_store(const route *r, const operands *data) {
    problem run = r->run;
    view c = view_c(&run);
    return lies_in_rows(&c) && suits_tma(&c, 0, run.batch.count, WIDEST, data ? data->c : NULL) &&
           run.n * c.size % WIDEST == 0;
}

/* ---- Words ---- */

typedef struct words {
    char *text;
    size_t size, used;
} words;

static void add(words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A clause behind those that are there. */
static void add(words *w, const char *format, ...) {
    if (w->used > 0 && w->used < w->size)
        w->used += (size_t)snprintf(w->text + w->used, w->size - w->used, "; ");
    if (w->used >= w->size) return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(w->text + w->used, w->size - w->used, format, arguments);
    va_end(arguments);
    w->used += (size_t)length;
}

/* Where a matrix is copied to, as the caller sees it. */
static const char *target_of(const route *r, const route_part *part) {
    static const char *const targets[2][2] = {{"rows", "aligned rows"}, {"columns", "aligned columns"}};
    return targets[part->by_columns != r->swapped][part->realigned];
}

/* A and B under the names that the caller has for them. */
static void describe_inputs(const route *r, words *w) {
    const route_part *a = r->swapped ? &r->b : &r->a, *b = r->swapped ? &r->a : &r->b;
    if (r->rounded)
        add(w, "A and B are rounded to %s first", r->run.in == TESS_F32 ? "TF32" : "bf16");
    else if (a->copied && b->copied && target_of(r, a) == target_of(r, b))
        add(w, "A and B are copied to %s first", target_of(r, a));
    else {
        if (a->copied) add(w, "A is copied to %s first", target_of(r, a));
        if (b->copied) add(w, "B is copied to %s first", target_of(r, b));
    }
}

/* The rows of A for the rim, as the caller sees them. */
static void describe_rim(const route *r, words *w) {
    const char *of = r->swapped ? "column" : "row", *matrix = r->swapped ? "B" : "A",
               *also = r->b.copied ? ", too" : " first";
    if (r->a.copied || r->rim.rows == 0) return;
    if (r->rim.rows == 1)
        add(w, "the last %s of %s is copied%s", of, matrix, also);
    else
        add(w, "the last %d %ss of %s are copied%s", r->rim.rows, of, matrix, also);
}

/* Data and memory decide, so that all ways are named. */
static void describe_split(const route *r, const kernel_row *kernel, words *w) {
    add(w,
        "A and B are split into %s, with %" PRId64
        " bytes of workspace, or less in slices of k; what parts cannot carry, or find no memory for, is "
        "multiplied as f32",
        kernel->splits == SPLIT_FP16X3 ? "two f16 or three bf16" : "three bf16", r->workspace);
}

void route_describe(const route *r, const kernel_row *kernel, int64_t vec, char *text, size_t size) {
    words w = {text, size, 0};
    int64_t bytes = vec * numeric_size(r->run.in);
    text[0] = '\0';
    if (r->swapped) add(&w, "the transposed product is computed");
    if (kernel->splits) describe_split(r, kernel, &w);
    describe_inputs(r, &w);
    if (r->c.copied) add(&w, "C is copied to rows and back");
    describe_rim(r, &w);
    if (kernel->tensor && r->run.in == TESS_F32 && !r->rounded) add(&w, "f32 is multiplied as TF32");
    if (vec > 0 && bytes < WIDEST)
        add(&w, "rows are not %d-byte aligned: copies of %" PRId64 " byte%s", WIDEST, bytes,
            bytes == 1 ? "" : "s");
}
