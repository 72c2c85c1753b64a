/* tensor_core.c: sums of products as tensor cores make them.
 *
 * The rule and its constants are those that others have found by experiment and published (MMA-Sim; Fasi and
 * others), for Turing to Blackwell. Zeros have no exponent, subnormal numbers are numbers like any other, a sum
 * that is 0 is +0, one that is too large is infinite, and a NaN is always the same. */
#include "tensor_core.h"

#include <string.h>

const tensor_rule *tensor_rule_of(int architecture) {
    static const tensor_rule rules[] = {{90, 25, 32}, {75, 24, 16}, {0, 23, 8}};
    const tensor_rule *rule = rules;
    while (architecture < rule->architecture) rule++;
    return rule;
}

int tensor_size(int type) {
    return type == SIM_I8 ? 1 : type == SIM_F64 ? 8 : type == SIM_TF32 ? 4 : 2;
}

/* ---- Integers ---- */

/* Modulo 2^32. */
static void multiply_integers(tensor_tile *t) {
    for (int row = 0; row < TENSOR_ROWS; row++)
        for (int col = 0; col < TENSOR_COLS; col++)
            for (int k = 0; k < t->bytes; k++)
                t->sums[row][col] += (uint32_t)((int8_t)t->a[row][k] * (int8_t)t->b[col][k]);
}

/* ---- Numbers taken apart ---- */

/* Operands have at most POINT bits behind the point (f16 and TF32 have all of them), sums SUM_POINT. The
 * exponent of a zero is below that of anything else, also when it is added to another. */
enum { POINT = 10, SUM_POINT = 23, NO_EXPONENT = -10000, LEAST_EXPONENT = -126, MOST = TENSOR_BYTES / 2 };
static const uint32_t THE_NAN = 0x7fffffffu, INFINITE = 0x7f800000u, SIGN = 0x80000000u;

/* value = significand * 2^(exponent - POINT). */
typedef struct operand {
    int32_t significand;
    int32_t exponent;
} operand;

/* A row of A or a column of B. */
typedef struct line {
    operand at[MOST];
    int special; /* an infinity or a NaN is among them */
    uint8_t is_nan[MOST], is_infinite[MOST];
} line;

/* The parts of a floating-point number in `bits`. */
static void take_apart(line *l, int i, uint32_t bits, int exponent_bits, int fraction_bits) {
    uint32_t exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1);
    uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    int negative = bits >> (exponent_bits + fraction_bits) & 1, most = (1 << exponent_bits) - 1;
    int32_t significand =
        (int32_t)((exponent ? fraction | 1u << fraction_bits : fraction) << (POINT - fraction_bits));
    operand *o = &l->at[i];
    o->significand = negative ? -significand : significand;
    o->exponent = significand ? (exponent ? (int)exponent : 1) - most / 2 : NO_EXPONENT;
    l->is_nan[i] = (int)exponent == most && fraction != 0;
    l->is_infinite[i] = (int)exponent == most && fraction == 0;
    l->special |= (int)exponent == most;
}

/* Of TF32 the hardware does not look at the last 13 bits. */
static void read_line(line *l, int type, const uint8_t *bytes, int count) {
    int size = tensor_size(type);
    l->special = 0;
    for (int i = 0; i < count; i++) {
        uint32_t bits = 0;
        for (int j = 0; j < size; j++) bits |= (uint32_t)bytes[size * i + j] << 8 * j;
        switch (type) {
        case SIM_F16: take_apart(l, i, bits, 5, 10); break;
        case SIM_BF16: take_apart(l, i, bits, 8, 7); break;
        default: take_apart(l, i, bits >> 13, 8, 10); break;
        }
    }
}

/* ---- Sums ---- */

/* Where an infinity or a NaN takes part, the sum is one of the two. */
static uint32_t add_special(const line *a, const line *b, int count, uint32_t sum) {
    int is_nan = (sum & ~SIGN) > INFINITE, plus = sum == INFINITE, minus = sum == (SIGN | INFINITE);
    for (int k = 0; k < count; k++) {
        const operand *x = &a->at[k], *y = &b->at[k];
        is_nan |= a->is_nan[k] || b->is_nan[k];
        if (!a->is_infinite[k] && !b->is_infinite[k]) continue;
        int negative = (x->significand < 0) != (y->significand < 0);
        is_nan |= x->significand == 0 || y->significand == 0;
        plus |= !negative;
        minus |= negative;
    }
    return is_nan || (plus && minus) ? THE_NAN : minus ? SIGN | INFINITE : INFINITE;
}

/* sum * 2^exponent, cut to an f32. */
static uint32_t cut(int64_t sum, int exponent) {
    if (sum == 0) return 0;
    uint32_t sign = sum < 0 ? SIGN : 0;
    uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    int first = 63 - __builtin_clzll(size), has = first + exponent; /* its exponent as a number 1.xxx */
    if (has > 127) return sign | INFINITE;
    int unit = (has < LEAST_EXPONENT ? LEAST_EXPONENT : has) - SUM_POINT, shift = unit - exponent;
    uint32_t fraction = (uint32_t)(shift >= 0 ? size >> shift : size << -shift);
    return has < LEAST_EXPONENT ? sign | fraction
                                : sign | (uint32_t)(has + 127) << SUM_POINT | (fraction & ~(1u << SUM_POINT));
}

static int32_t shifted(int32_t value, int left, int right) {
    int32_t size = (value < 0 ? -value : value) << left >> (right > 31 ? 31 : right);
    return value < 0 ? -size : size;
}

/* One step: `count` products and the sum so far. */
static uint32_t add_step(const line *a, const line *b, int first, int count, int bits, uint32_t sum) {
    int32_t products[MOST], exponents[MOST];
    uint32_t field = sum >> SUM_POINT & 255, fraction = sum & ((1u << SUM_POINT) - 1);
    int32_t before = (int32_t)(field ? fraction | 1u << SUM_POINT : fraction);
    int exponent = (field ? (int)field : 1) - 127, largest = before ? exponent : LEAST_EXPONENT;
    for (int k = 0; k < count; k++) {
        products[k] = a->at[first + k].significand * b->at[first + k].significand;
        exponents[k] = a->at[first + k].exponent + b->at[first + k].exponent;
        if (exponents[k] > largest) largest = exponents[k];
    }
    int64_t total = shifted(sum & SIGN ? -before : before, bits - SUM_POINT, largest - exponent);
    for (int k = 0; k < count; k++) total += shifted(products[k], bits - 2 * POINT, largest - exponents[k]);
    return cut(total, largest - bits);
}

static uint32_t add_products(const tensor_rule *rule, const line *a, const line *b, int count, int size,
                             uint32_t sum) {
    int step = rule->step / size;
    if (a->special || b->special || (sum & INFINITE) == INFINITE) return add_special(a, b, count, sum);
    for (int k = 0; k < count; k += step) {
        sum = add_step(a, b, k, count - k < step ? count - k : step, rule->bits, sum);
        if ((sum & INFINITE) == INFINITE) break; /* and so it stays: the products are finite */
    }
    return sum;
}

void tensor_multiply(const tensor_rule *rule, tensor_tile *tile) {
    line a[TENSOR_ROWS], b[TENSOR_COLS];
    int size = tensor_size(tile->type), count = tile->bytes / size;
    if (tile->type == SIM_I8) {
        multiply_integers(tile);
        return;
    }
    for (int row = 0; row < TENSOR_ROWS; row++) read_line(&a[row], tile->type, tile->a[row], count);
    for (int col = 0; col < TENSOR_COLS; col++) read_line(&b[col], tile->type, tile->b[col], count);
    for (int row = 0; row < TENSOR_ROWS; row++)
        for (int col = 0; col < TENSOR_COLS; col++)
            tile->sums[row][col] = add_products(rule, &a[row], &b[col], count, size, tile->sums[row][col]);
}
