/* verify_cases.c: shapes, layouts and scalars that kernels get wrong.
 *
 * Invariant: the list is a function of the choice alone, seed included: the same command line always tries the
 * same products.
 */
#include "verify_cases.h"
#include "draw.h"
#include "say.h"

#include <stdlib.h>

/* Empty and single sizes, odd ones, primes, and one less and one more than the tiles kernels use. */
static const sizes_shape small_shapes[] = {{1, 1, 1}, {5, 7, 3}, {17, 9, 33}};
static const sizes_shape edge_shapes[] = {
    {0, 5, 5},      {5, 0, 5},      {5, 5, 0},       {0, 0, 0},      {1, 19, 31},    {23, 1, 31},
    {23, 19, 1},    {2, 3, 5},      {7, 8, 9},       {8, 8, 8},      {9, 7, 8},      {12, 16, 15},
    {13, 11, 17},   {15, 17, 16},   {16, 16, 16},    {31, 33, 32},   {33, 31, 1},    {32, 32, 32},
    {47, 48, 49},   {61, 67, 71},   {63, 65, 64},    {64, 64, 64},   {65, 63, 66},   {97, 101, 103},
    {127, 129, 96}, {128, 128, 64}, {129, 127, 130}, {1, 257, 300},  {257, 1, 300},  {3, 5, 1021},
    {200, 16, 16},  {16, 200, 16},  {96, 97, 255},   {101, 96, 257}, {193, 191, 31}, {255, 257, 33},
    {256, 256, 16}, {257, 255, 17}, {1000, 3, 17},   {3, 1000, 17},  {2, 3, 4097},
};
/* Those of the shapes above that run on special data too: long and short ones, vectors, whole tiles and parts of them. A run
 * more of every case would take half as long again, and show no more. */
static const sizes_shape special_shapes[] = {
    {5, 7, 3}, {17, 9, 33}, {1, 19, 31}, {23, 1, 31}, {63, 65, 64}, {128, 128, 64}, {3, 5, 1021},
};
/* Integers where possible, so that integer types take them too. */
static const struct { double alpha, beta; } scales[] = {{1, 0}, {1, 1}, {-2, 0}, {3, -2}, {0, 2}, {-1, 1}};
enum { SCALES = sizeof scales / sizeof *scales };

static bool append(verify_cases *cases, const problem_spec *spec) {
    if (cases->count == cases->room) {
        size_t room = cases->room == 0 ? 64 : 2 * cases->room;
        problem_spec *specs = realloc(cases->specs, room * sizeof *specs);
        if (specs == NULL) {
            say_error("out of memory");
            return false;
        }
        cases->specs = specs;
        cases->room = room;
    }
    cases->specs[cases->count++] = *spec;
    return true;
}

/* Whether a shape runs on special data: those that were asked for all do. */
static bool is_special(const verify_choice *choice, sizes_shape shape) {
    if (choice->shapes.count > 0) return true;
    for (size_t i = 0; i < sizeof special_shapes / sizeof *special_shapes; i++) {
        const sizes_shape *one = &special_shapes[i];
        if (one->m == shape.m && one->n == shape.n && one->k == shape.k) return true;
    }
    return false;
}

/* A case of this shape; what neither the command line nor the caller fixes is drawn. */
static problem_spec make_case(const verify_choice *choice, sizes_shape shape, uint64_t *state, size_t index) {
    static const int64_t pads[] = {0, 0, 1, 3, 16}, misaligned[] = {0, 0, 0, 1, 2, 4, 8};
    int64_t scale = draw_below(state, SCALES), layout = draw_below(state, 4);
    int64_t pad = pads[draw_below(state, sizeof pads / sizeof *pads)];
    int64_t batch = draw_below(state, 8) == 0 ? 3 : 1;
    int64_t misalign = misaligned[draw_below(state, sizeof misaligned / sizeof *misaligned)];
    return (problem_spec){.m = shape.m,
                          .n = shape.n,
                          .k = shape.k,
                          .batch = choice->batch > 0 ? choice->batch : batch,
                          .layout = choice->layout >= 0 ? choice->layout : (int)layout,
                          .ld_pad = choice->ld_pad >= 0 ? choice->ld_pad : pad,
                          .misalign = choice->misalign >= 0 ? choice->misalign : misalign,
                          .alpha = choice->scaled ? choice->alpha : scales[scale].alpha,
                          .beta = choice->scaled ? choice->beta : scales[scale].beta,
                          .special = is_special(choice, shape),
                          .seed = choice->seed + index};
}

/* Every layout with every scale that the command line leaves open. Special data take the layouts in turn, unless one was
 * asked for: a layout with a scale is nothing special. */
static bool add_crossed(verify_cases *cases, const verify_choice *choice, sizes_shape shape,
                        uint64_t *state) {
    for (int layout = 0; layout < 4; layout++) {
        if (choice->layout >= 0 && layout != choice->layout) continue;
        for (size_t i = 0; i < (choice->scaled ? 1 : SCALES); i++) {
            problem_spec spec = make_case(choice, shape, state, cases->count);
            spec.layout = layout;
            if (!choice->scaled) spec.alpha = scales[i].alpha;
            if (!choice->scaled) spec.beta = scales[i].beta;
            if (!choice->scaled && choice->layout < 0) spec.special = spec.special && (int)i % 4 == layout;
            if (!append(cases, &spec)) return false;
        }
    }
    return true;
}

static bool add_random(verify_cases *cases, const verify_choice *choice, uint64_t *state) {
    for (int64_t i = 0; i < choice->random; i++) {
        int64_t bound = choice->max_size + 1;
        sizes_shape shape = {draw_below(state, bound), draw_below(state, bound), draw_below(state, bound)};
        problem_spec spec = make_case(choice, shape, state, cases->count);
        if (!append(cases, &spec)) return false;
    }
    return true;
}

static bool add_built_in(verify_cases *cases, const verify_choice *choice, uint64_t *state) {
    for (size_t i = 0; i < sizeof small_shapes / sizeof *small_shapes; i++)
        if (!add_crossed(cases, choice, small_shapes[i], state)) return false;
    for (size_t i = 0; i < sizeof edge_shapes / sizeof *edge_shapes; i++) {
        problem_spec spec = make_case(choice, edge_shapes[i], state, cases->count);
        if (!append(cases, &spec)) return false;
    }
    return true;
}

bool verify_cases_make(verify_cases *cases, const verify_choice *choice) {
    uint64_t state = choice->seed;
    for (size_t i = 0; i < choice->shapes.count; i++) {
        verify_choice one = *choice;
        if (choice->shapes.batches[i] > 0) one.batch = choice->shapes.batches[i];
        if (!add_crossed(cases, &one, choice->shapes.shapes[i], &state)) return false;
    }
    if (choice->shapes.count == 0 && !add_built_in(cases, choice, &state)) return false;
    return add_random(cases, choice, &state);
}

void verify_cases_free(verify_cases *cases) {
    free(cases->specs);
    *cases = (verify_cases){0};
}
