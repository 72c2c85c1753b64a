/* accuracy_data.c: data on which the error of a product is measured.
 *
 * Invariant: data depend on the kind, the seed and the shape alone. */
#include "accuracy.h"
#include "parallel.h"
#include "say.h"

#include <float.h>
#include <math.h>

const accuracy_kind accuracy_kinds[] = {
    {.name = "normal"},
    {.name = "uniform", .uniform = true},
    {.name = "elements 2^±20", .elements = 20, .scaled = true},
    {.name = "elements 2^±40", .elements = 40, .scaled = true},
    {.name = "rows 2^±20", .lines = 20, .scaled = true},
    {.name = "rows 2^±40", .lines = 40, .scaled = true},
    {.name = "opposed ramps", .ramp = 40},
    {.name = "cancellation", .cancels = true},
};
const size_t accuracy_kind_count = sizeof accuracy_kinds / sizeof *accuracy_kinds;

const char *const accuracy_exact_names[ACCURACY_EXACTS] = {
    [ACCURACY_INTEGERS] = "small integers",      [ACCURACY_IDENTITY] = "A times I",
    [ACCURACY_WIDE_IDENTITY] = "wide A times I", [ACCURACY_SUBNORMAL] = "subnormal A",
    [ACCURACY_UNDERFLOW] = "subnormal C",        [ACCURACY_LARGEST] = "near FLT_MAX",
    [ACCURACY_INF_IN_A] = "one inf in A",        [ACCURACY_INF_IN_B] = "one inf in B",
    [ACCURACY_NAN_IN_A] = "one NaN in A",        [ACCURACY_NAN_IN_B] = "one NaN in B",
    [ACCURACY_INF_IN_BOTH] = "inf in A and B",
};

bool accuracy_is_special(accuracy_exact what) {
    return what >= ACCURACY_INF_IN_A;
}

/* ---- Random numbers ---- */

/* splitmix64 of a seed and a number. */
static uint64_t bits_of(uint64_t seed, uint64_t number) {
    uint64_t z = seed * UINT64_C(0xd1342543de82ef95) + (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* An integer in -most … most. */
static int exponent_of(uint64_t seed, uint64_t number, int most) {
    return most == 0 ? 0 : (int)(bits_of(seed, number) % (uint64_t)(2 * most + 1)) - most;
}

/* Uniform in [0, 1). */
static double unit_of(uint64_t seed, uint64_t number) {
    return (double)(bits_of(seed, number) >> 11) * 0x1p-53;
}

/* ---- Kinds ---- */

/* A or B: rows and columns as they lie, of which one is the line's number and the other its place along k. */
typedef struct side_data {
    float *to;
    const float *from;
    const accuracy_kind *kind;
    int64_t rows, cols, k;
    bool is_b; /* its lines are columns, and its ramp falls */
    uint64_t seed;
} side_data;

static int ramp_at(const side_data *s, int64_t p) {
    if (s->kind->ramp == 0 || s->k < 2) return 0;
    return (s->is_b ? -1 : 1) * (int)(2 * s->kind->ramp * p / (s->k - 1) - s->kind->ramp);
}

/* Element p of a line, without what cancels it. */
static float element_of(const side_data *s, int64_t line, int64_t p) {
    uint64_t at = (uint64_t)(s->is_b ? p * s->cols + line : line * s->cols + p);
    int shift = exponent_of(s->seed + 1, (uint64_t)line, s->kind->lines) + ramp_at(s, p) +
                exponent_of(s->seed + 2, at, s->kind->elements);
    double x = s->kind->uniform ? unit_of(s->seed + 3, at) : (double)s->from[at];
    return (float)(shift == 0 ? x : ldexp(x, shift));
}

/* In the second half of k A undoes the first, nearly, and B repeats it. */
static float cancelled(const side_data *s, int64_t line, int64_t p) {
    int64_t other = s->k - 1 - p;
    float x = element_of(s, line, other);
    return s->is_b ? x : -x * (float)(1 + 0x1p-10 * unit_of(s->seed + 4, (uint64_t)(line * s->k + other)));
}

static void make_rows(void *argument, int block, int64_t first, int64_t end) {
    const side_data *s = argument;
    (void)block;
    for (int64_t row = first; row < end; row++)
        for (int64_t col = 0; col < s->cols; col++) {
            int64_t line = s->is_b ? col : row, p = s->is_b ? row : col;
            bool undoes = s->kind->cancels && p >= s->k - s->k / 2;
            s->to[row * s->cols + col] = undoes ? cancelled(s, line, p) : element_of(s, line, p);
        }
}

static void make_side(side_data s) {
    parallel_rows(s.rows, make_rows, &s);
}

static side_data side_a(const accuracy_case *c, const accuracy_kind *kind, uint64_t seed) {
    return (side_data){c->a, c->base_a, kind, c->m, c->k, c->k, false, 16 * seed};
}

static side_data side_b(const accuracy_case *c, const accuracy_kind *kind, uint64_t seed) {
    return (side_data){c->b, c->base_b, kind, c->k, c->n, c->k, true, 16 * seed + 8};
}

/* Every row has a seed of its own, so that rows can be drawn side by side. */
typedef struct drawing {
    float *to;
    int64_t cols;
    uint64_t seed;
} drawing;

static void draw_rows(void *argument, int block, int64_t first, int64_t end) {
    const drawing *d = argument;
    (void)block;
    for (int64_t row = first; row < end; row++) {
        tess_matrix M = tess_view_row_major(TESS_F32, 1, d->cols, d->to + row * d->cols, 0);
        tess_fill(&M, TESS_FILL_NORMAL, 1, bits_of(d->seed, (uint64_t)row));
    }
}

void accuracy_draw(accuracy_case *c, uint64_t seed) {
    parallel_rows(c->m, draw_rows, &(drawing){c->base_a, c->k, 2 * seed});
    parallel_rows(c->k, draw_rows, &(drawing){c->base_b, c->n, 2 * seed + 1});
}

/* ---- The reference ---- */

typedef struct widening {
    const float *from;
    double *to;
    int64_t cols;
    bool magnitudes;
} widening;

static void widen_rows(void *argument, int block, int64_t first, int64_t end) {
    const widening *w = argument;
    (void)block;
    for (int64_t i = first * w->cols; i < end * w->cols; i++)
        w->to[i] = w->magnitudes ? fabs((double)w->from[i]) : (double)w->from[i];
}

/* A·B or |A||B| in f64, on the device that is the reference. */
static bool multiply_wide(accuracy_case *c, bool magnitudes, double *to) {
    size_t of_a = (size_t)(c->m * c->k) * sizeof(double), of_b = (size_t)(c->k * c->n) * sizeof(double),
           of_c = (size_t)(c->m * c->n) * sizeof(double);
    bool there = c->wide_on_device[0] != NULL;
    tess_matrix A = tess_view_row_major(TESS_F64, c->m, c->k, there ? c->wide_on_device[0] : c->wide_a, 0),
                B = tess_view_row_major(TESS_F64, c->k, c->n, there ? c->wide_on_device[1] : c->wide_b, 0),
                C = tess_view_row_major(TESS_F64, c->m, c->n, there ? c->wide_on_device[2] : to, 0);
    parallel_rows(c->m, widen_rows, &(widening){c->a, c->wide_a, c->k, magnitudes});
    parallel_rows(c->k, widen_rows, &(widening){c->b, c->wide_b, c->n, magnitudes});
    if (there) A.place = B.place = C.place = TESS_DEVICE;
    if ((!there || (tess_copy(c->reference, A.data, c->wide_a, of_a) == TESS_OK &&
                    tess_copy(c->reference, B.data, c->wide_b, of_b) == TESS_OK)) &&
        tess_gemm(c->reference, 1, &A, &B, 0, &C, NULL) == TESS_OK &&
        (!there || tess_copy(c->reference, to, C.data, of_c) == TESS_OK))
        return true;
    say_error("the reference could not be computed: %s", tess_error(c->reference));
    return false;
}

/* Some elements once more by the host, in order: a reference that is wrong would make everything else so. */
static bool check_reference(const accuracy_case *c, uint64_t seed) {
    enum { SAMPLES = 16 };
    for (uint64_t i = 0; i < SAMPLES; i++) {
        int64_t row = (int64_t)(bits_of(seed, 2 * i) % (uint64_t)c->m),
                col = (int64_t)(bits_of(seed, 2 * i + 1) % (uint64_t)c->n), at = row * c->n + col;
        double sum = 0;
        for (int64_t p = 0; p < c->k; p++) sum += (double)c->a[row * c->k + p] * (double)c->b[p * c->n + col];
        double allowed = (double)(c->k + 8) * 0x1p-52 * c->magnitude[at];
        if (isfinite(sum) ? fabs(sum - c->want[at]) <= allowed : !isfinite(c->want[at])) continue;
        say_error("the reference is wrong: element (%d, %d) is %.17g, but %.17g by the host", (int)row,
                  (int)col, c->want[at], sum);
        return false;
    }
    return true;
}

static bool finish(accuracy_case *c, uint64_t seed) {
    if (!multiply_wide(c, false, c->want) || !multiply_wide(c, true, c->magnitude) ||
        !check_reference(c, seed))
        return false;
    if (!c->on_device) return true;
    if (tess_copy(c->ctx, c->device_a, c->a, (size_t)(c->m * c->k) * sizeof *c->a) == TESS_OK &&
        tess_copy(c->ctx, c->device_b, c->b, (size_t)(c->k * c->n) * sizeof *c->b) == TESS_OK)
        return true;
    say_error("%s", tess_error(c->ctx));
    return false;
}

bool accuracy_make(accuracy_case *c, const accuracy_kind *kind, uint64_t seed) {
    make_side(side_a(c, kind, seed));
    make_side(side_b(c, kind, seed));
    return finish(c, seed);
}

/* ---- Exact data ---- */

static void set_identity(accuracy_case *c) {
    for (int64_t p = 0; p < c->k; p++)
        for (int64_t j = 0; j < c->n; j++) c->b[p * c->n + j] = p == j;
}

/* Uniform in -most … most. */
static void set_uniform(float *data, int64_t count, double most, uint64_t seed) {
    for (int64_t i = 0; i < count; i++) data[i] = (float)(most * (2 * unit_of(seed, (uint64_t)i) - 1));
}

/* Integers in -most … most. */
static void set_integers(float *data, int64_t count, double most, uint64_t seed) {
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)(floor((2 * most + 1) * unit_of(seed, (uint64_t)i)) - most);
}

/* N(0,1), with zeros in B for an infinity to meet, and special values in the middle. */
static void set_special(accuracy_case *c, accuracy_exact what, uint64_t seed) {
    const float infinite = INFINITY, no_number = NAN;
    float *in_a = &c->a[c->m / 2 * c->k + c->k / 3], *in_b = &c->b[c->k / 3 * c->n + c->n / 2];
    make_side(side_a(c, &accuracy_kinds[0], seed));
    make_side(side_b(c, &accuracy_kinds[0], seed));
    for (int64_t i = 0; i < c->k * c->n; i += 7) c->b[i] = 0;
    if (what == ACCURACY_INF_IN_A || what == ACCURACY_INF_IN_BOTH) *in_a = infinite;
    if (what == ACCURACY_INF_IN_B || what == ACCURACY_INF_IN_BOTH) *in_b = -infinite;
    if (what == ACCURACY_NAN_IN_A) *in_a = no_number;
    if (what == ACCURACY_NAN_IN_B) *in_b = no_number;
}

bool accuracy_make_exact(accuracy_case *c, accuracy_exact what, uint64_t seed) {
    static const accuracy_kind wide = {.elements = 40};
    int64_t of_a = c->m * c->k, of_b = c->k * c->n;
    double range = fmin((double)tess_exact_range(TESS_F32, c->k, 1, 0), 2047);
    switch (what) {
    case ACCURACY_INTEGERS:
        set_integers(c->a, of_a, range, seed);
        set_integers(c->b, of_b, range, ~seed);
        break;
    case ACCURACY_IDENTITY:
    case ACCURACY_WIDE_IDENTITY:
        make_side(side_a(c, what == ACCURACY_IDENTITY ? &accuracy_kinds[0] : &wide, seed));
        set_identity(c);
        break;
    case ACCURACY_SUBNORMAL:
        set_uniform(c->a, of_a, 0x1p-126, seed);
        set_uniform(c->b, of_b, 0x1p120, ~seed);
        break;
    case ACCURACY_UNDERFLOW:
        set_uniform(c->a, of_a, 0x1p-70, seed);
        set_uniform(c->b, of_b, 0x1p-70, ~seed);
        break;
    case ACCURACY_LARGEST:
        set_uniform(c->a, of_a, (double)FLT_MAX, seed);
        set_uniform(c->b, of_b, 1 / (double)c->k, ~seed);
        break;
    default: set_special(c, what, seed); break;
    }
    return finish(c, seed);
}
