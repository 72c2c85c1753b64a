/* alias.c: exact overlap of strided sets.
 *
 * Two footprints are compared from the widest step inwards. At each level only those pairs of indices matter
 * whose remaining, narrower extents meet; if both steps are equal, only the difference of the indices does.
 * For parts of one parent matrix the steps are equal and at most three differences remain at each level, so
 * the common case takes constant time. Odd mixtures of strides walk one index after another, within a budget.
 */
#include "alias.h"

enum { DIMS = 3, BUDGET = 1 << 20 };

static void add_dimension(footprint *f, int64_t count, int64_t step) {
    if (count > 1 && step == 0) f->repeats = 1;
    if (count <= 1 || step == 0) return; /* all indices reach the same place */
    if (step < 0) {
        f->base -= (uintptr_t)((count - 1) * -step);
        step = -step;
    }
    int at = DIMS - 1;
    while (f->dim[at].count > 1 && f->dim[at].step <= step) at--;
    for (int i = 0; i < at; i++) f->dim[i] = f->dim[i + 1];
    f->dim[at].step = step, f->dim[at].count = count;
}

footprint alias_footprint(const tess_matrix *M, int64_t count, int64_t stride) {
    int64_t size = (int64_t)tess_type_size(M->type);
    footprint f = {(uintptr_t)M->data, size, {{0, 1}, {0, 1}, {0, 1}}, 0, 0};
    f.empty = M->rows <= 0 || M->cols <= 0 || count <= 0;
    if (f.empty) return f;
    add_dimension(&f, M->rows, M->row_stride * size);
    add_dimension(&f, M->cols, M->col_stride * size);
    add_dimension(&f, count, stride * size);
    return f;
}

/* Bytes from the first to past the last element over the dimensions from `level` inwards. */
static int64_t reach(const footprint *f, int level) {
    int64_t bytes = f->width;
    for (int i = level; i < DIMS; i++) bytes += (f->dim[i].count - 1) * f->dim[i].step;
    return bytes;
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && a < 0);
}

static int64_t max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Does some element of x, from `level` inwards, meet one of y that starts `ahead` bytes further on? */
static overlap meet(const footprint *x, const footprint *y, int level, int64_t ahead, int *budget) {
    if (--*budget < 0) return OVERLAP_UNKNOWN;
    if (level == DIMS) return ahead < x->width && -ahead < y->width ? OVERLAP_SOME : OVERLAP_NONE;

    int64_t step_x = x->dim[level].step, step_y = y->dim[level].step;
    int64_t count_x = x->dim[level].count, count_y = y->dim[level].count;
    if (count_x == 1) step_x = step_y; /* a single index has any step */
    if (count_y == 1) step_y = step_x;
    if (count_x == 1 && count_y == 1) return meet(x, y, level + 1, ahead, budget);

    /* The inner extents meet while  -inner_y < ahead + k*step_y - i*step_x < inner_x. */
    int64_t inner_x = reach(x, level + 1), inner_y = reach(y, level + 1);
    int same = step_x == step_y;
    int64_t last_i = same ? 0 : count_x - 1;
    for (int64_t i = 0; i <= last_i; i++) {
        int64_t here = ahead - i * step_x;
        int64_t from = floor_div(-inner_y - here, step_y) + 1, to = floor_div(inner_x - here - 1, step_y);
        from = max64(from, same ? 1 - count_x : 0); /* k - i when the steps are equal, else k */
        to = min64(to, count_y - 1);
        if (from > to && --*budget < 0) return OVERLAP_UNKNOWN;
        for (int64_t k = from; k <= to; k++) {
            overlap found = meet(x, y, level + 1, here + k * step_y, budget);
            if (found != OVERLAP_NONE) return found;
        }
    }
    return OVERLAP_NONE;
}

overlap alias_between(const footprint *x, const footprint *y) {
    if (x->empty || y->empty) return OVERLAP_NONE;
    if (x->base + (uintptr_t)reach(x, 0) <= y->base || y->base + (uintptr_t)reach(y, 0) <= x->base)
        return OVERLAP_NONE;
    int budget = BUDGET;
    return meet(x, y, 0, (int64_t)(y->base - x->base), &budget);
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* Two indices (i, j) of steps s and t collide first at a distance of (t/g, -s/g), g their common divisor. */
static int plane_overlaps(int64_t step_s, int64_t count_s, int64_t step_t, int64_t count_t) {
    if (count_s == 1 || count_t == 1) return 0;
    int64_t common = gcd(step_s, step_t);
    return step_t / common < count_s && step_s / common < count_t;
}

overlap alias_within(const footprint *x) {
    if (x->empty) return OVERLAP_NONE;
    if (x->repeats) return OVERLAP_SOME;
    int nested = 1;
    for (int i = 0; i + 1 < DIMS; i++)
        if (x->dim[i].count > 1 && x->dim[i].step < reach(x, i + 1)) nested = 0;
    if (nested) return OVERLAP_NONE;
    if (plane_overlaps(x->dim[1].step, x->dim[1].count, x->dim[2].step, x->dim[2].count)) return OVERLAP_SOME;

    /* The plane of the two narrower steps is free of collisions; compare it with itself, one wide step after
     * the other, as far as it reaches. */
    footprint plane = *x;
    plane.dim[0].step = 0, plane.dim[0].count = 1;
    int budget = BUDGET;
    for (int64_t i = 1; i < x->dim[0].count && i * x->dim[0].step < reach(&plane, 0); i++) {
        overlap found = meet(&plane, &plane, 0, i * x->dim[0].step, &budget);
        if (found != OVERLAP_NONE) return found;
    }
    return OVERLAP_NONE;
}
