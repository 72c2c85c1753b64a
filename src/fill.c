/* fill.c: data to multiply. Each element is a function of the seed and its place, so a view's strides, its
 * type and the order of filling do not matter. */
#include "fill.h"

#include <math.h>

#include "matrix.h"
#include "numeric.h"

/* The finaliser of splitmix64 (Steele, Lea and Flood, 2014) over a Weyl sequence, twice for the seed. */
static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t fill_bits(uint64_t seed, uint64_t index) {
    return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Uniform in [0, 1), on a grid of 2^-53. */
static double unit(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

static double draw(tess_fill_kind kind, double range, uint64_t seed, uint64_t index) {
    switch (kind) {
    case TESS_FILL_UNIFORM: return range * (2 * unit(fill_bits(seed, index)) - 1);
    case TESS_FILL_NORMAL: { /* Box and Muller; 1 - u is never 0 */
        double radius = sqrt(-2 * log(1 - unit(fill_bits(seed, index))));
        return range * radius * cos(6.283185307179586 * unit(fill_bits(~seed, index)));
    }
    case TESS_FILL_INTEGER: return floor((2 * range + 1) * unit(fill_bits(seed, index))) - range;
    case TESS_FILL_VALUE: return range;
    }
    return (double)NAN;
}

static tess_status check_range(const tess_matrix *M, tess_fill_kind kind, double range, sentence *why) {
    if ((int)kind < TESS_FILL_UNIFORM || (int)kind > TESS_FILL_VALUE)
        return status_fail(why, TESS_ERROR_ARGUMENT, "kind is %d, which is no tess_fill_kind", (int)kind);
    if (kind != TESS_FILL_VALUE && !(range >= 0 && range <= 0x1p52))
        return status_fail(why, TESS_ERROR_ARGUMENT, "range is %g; it must lie between 0 and 2^52", range);
    if (kind == TESS_FILL_INTEGER && range != floor(range))
        return status_fail(why, TESS_ERROR_ARGUMENT, "range is %g; for integers it must be one", range);
    double most = numeric_is_integer(M->type) ? numeric_largest(M->type) : (double)INFINITY;
    if (numeric_is_integer(M->type) && !(range >= -most - 1 && range <= most))
        return status_fail(why, TESS_ERROR_ARGUMENT, "range is %g, which does not fit %s", range,
                           tess_type_name(M->type));
    return TESS_OK;
}

tess_status tess_fill(const tess_matrix *M, tess_fill_kind kind, double range, uint64_t seed) {
    sentence *why = status_of_thread();
    TRY(matrix_check(M, "M", why));
    TRY(check_range(M, kind, range, why));
    if (M->place == TESS_DEVICE)
        return status_fail(why, TESS_ERROR_ARGUMENT, "M lies in device memory; fill host memory");
    if (M->rows == 0 || M->cols == 0) return TESS_OK;
    if (!M->data) return status_fail(why, TESS_ERROR_ARGUMENT, "M.data is NULL");
    double least = numeric_is_integer(M->type) ? -numeric_largest(M->type) - 1 : -(double)INFINITY;
    double most = numeric_is_integer(M->type) ? numeric_largest(M->type) : (double)INFINITY;
    for (int64_t i = 0; i < M->rows; i++) {
        for (int64_t j = 0; j < M->cols; j++) {
            double value = draw(kind, range, seed, (uint64_t)(i * M->cols + j));
            if (value < least) value = least; /* the tail of a normal distribution */
            if (value > most) value = most;
            numeric_store(M->type, matrix_at(M, i, j), value);
        }
    }
    return TESS_OK;
}

/* The least s ≤ 8 for which value·2^s is an integer; -1 if there is none. */
static int binary_places(double value) {
    for (int places = 0; places <= 8; places++)
        if (ldexp(value, places) == floor(ldexp(value, places))) return places;
    return -1;
}

int64_t tess_exact_range(tess_type type, int64_t k, double alpha, double beta) {
    if (!numeric_is_type(type) || k < 0) return 0;
    if (numeric_is_integer(type)) {
        int are_integers = alpha == floor(alpha) && beta == floor(beta); /* of others there is no product */
        return !are_integers ? 0 : type == TESS_I8 ? INT8_MAX : INT32_MAX;
    }
    int places_alpha = binary_places(alpha), places_beta = binary_places(beta);
    if (places_alpha < 0 || places_beta < 0 || !isfinite(alpha) || !isfinite(beta)) return 0;
    /* Every value met is a multiple of 2^-places, and at most this large if its bits are to fit. */
    double limit = 1 / numeric_unit_roundoff(numeric_accumulator(type));
    limit = ldexp(limit, -(places_alpha > places_beta ? places_alpha : places_beta));
    /* factor·r² + |beta|·r ≤ limit, solved without cancellation. */
    double factor = (fabs(alpha) > 1 ? fabs(alpha) : 1) * (double)(k > 0 ? k : 1), b = fabs(beta);
    double r = floor(2 * limit / (b + sqrt(b * b + 4 * factor * limit)));
    while (r > 0 && factor * r * r + b * r > limit) r--;
    double largest_input = 1 / numeric_unit_roundoff(type); /* integers the inputs themselves hold exactly */
    return (int64_t)(r < largest_input ? r : largest_input);
}
