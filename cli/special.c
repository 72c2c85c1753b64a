/* special.c: see special.h.
 *
 * A line is a row of A or a column of B. Most hold small integers, zeros of both signs among them; some of those have
 * an infinity, two, or a NaN; and some have one large number, always at the same place, and zeros. Where two of the
 * large meet, their product is all there is of a sum, and too large for f16 or f32.
 *
 * Invariant: with scalars and k as special.h limits them there is only one right C, whatever the order of additions and
 * however they round: a sum is exact, or it is one product that overflows, or an input makes it infinite or NaN. No
 * infinity meets a sum that overflows, not even in C. */
#include "special.h"
#include "draw.h"

#include <math.h>
#include <stdbool.h>

enum { RANGE = 3, TRAITS = 8 };
typedef enum trait { PLAIN, LARGE, ONE_INFINITY, TWO_INFINITIES, ONE_NAN } trait;

static trait trait_of(int64_t line, uint64_t first) {
    static const trait turns[TRAITS] = {PLAIN, LARGE,   ONE_INFINITY,   PLAIN,
                                        LARGE, ONE_NAN, TWO_INFINITIES, PLAIN};
    return turns[((uint64_t)line + first) % TRAITS];
}

/* So that products of one and the other take all pairs in turn. */
static uint64_t first_of_a(uint64_t seed) {
    return seed;
}

static uint64_t first_of_b(uint64_t seed) {
    return seed / TRAITS;
}

static double either_sign(double value, uint64_t *state) {
    return draw_below(state, 2) == 0 ? value : -value;
}

static double small_integer(uint64_t *state) {
    return either_sign((double)draw_below(state, RANGE + 1), state);
}

/* Its square overflows f16 and, of types with the exponents of f32, an f32. Where sums of f64 overflow the oracle's do too,
 * and anything passes: so that of f64 overflows only if somebody sums in less. */
static double large_number(tess_type type) {
    return type == TESS_F16 ? 0x1p10 : type == TESS_F64 ? 0x1p400 : 0x1p80;
}

/* Into a drawn place of a line. */
static tess_status put(tess_matrix lines, int64_t line, double value, uint64_t *state) {
    return tess_set(lines, line, draw_below(state, lines.cols), value);
}

static tess_status add_trait(tess_matrix lines, int64_t line, trait what, uint64_t *state) {
    tess_status status = TESS_OK;
    if (what == LARGE)
        return tess_set(lines, line, lines.cols / 2, either_sign(large_number(lines.type), state));
    if (what == ONE_NAN) return put(lines, line, (double)NAN, state);
    if (what == ONE_INFINITY || what == TWO_INFINITIES)
        status = put(lines, line, either_sign((double)INFINITY, state), state);
    if (status == TESS_OK && what == TWO_INFINITIES)
        status = put(lines, line, either_sign((double)INFINITY, state), state);
    return status;
}

static tess_status fill_lines(tess_matrix lines, uint64_t first, uint64_t state) {
    tess_status status = TESS_OK;
    for (int64_t line = 0; line < lines.rows && lines.cols > 0 && status == TESS_OK; line++) {
        trait what = trait_of(line, first);
        for (int64_t p = 0; p < lines.cols && status == TESS_OK; p++)
            status = tess_set(lines, line, p, what == LARGE ? either_sign(0, &state) : small_integer(&state));
        if (status == TESS_OK) status = add_trait(lines, line, what, &state);
    }
    return status;
}

tess_status special_fill_a(tess_matrix A, uint64_t seed) {
    return fill_lines(A, first_of_a(seed), seed);
}

tess_status special_fill_b(tess_matrix B, uint64_t seed) {
    return fill_lines(tess_transpose(B), first_of_b(seed), ~seed);
}

/* Of rows whose sums may overflow all elements are finite. */
tess_status special_fill_c(tess_matrix C, uint64_t seed) {
    static const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    uint64_t state = seed << 32;
    tess_status status = TESS_OK;
    for (int64_t i = 0; i < C.rows; i++) {
        bool finite = trait_of(i, first_of_a(seed)) == LARGE;
        for (int64_t j = 0; j < C.cols && status == TESS_OK; j++) {
            double value = small_integer(&state);
            if (draw_below(&state, 16) == 0 && !finite) value = specials[draw_below(&state, 3)];
            status = tess_set(C, i, j, value);
        }
    }
    return status;
}
