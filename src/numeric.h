/* numeric.h: the element types. f16 and bf16 are uint16_t everywhere; these are the only functions that know
 * what the bits mean. Every narrowing rounds once, to nearest even. */
#ifndef NUMERIC_H
#define NUMERIC_H

#include <stdint.h>
#include <string.h>

#include "tessera.h"

/* Bytes of one element of a valid type: tess_type_size without its checks, for inner code. */
static inline int64_t numeric_size(tess_type type) {
    static const int8_t sizes[] = {4, 8, 2, 2, 4, 1}; /* in the order of tess_type */
    return sizes[type];
}

int numeric_is_type(tess_type type);
int numeric_is_integer(tess_type type);
/* The type products of `type` are added up in: f32, f64 or i32. */
tess_type numeric_accumulator(tess_type type);

/* Half the distance from 1 to the next number of the type: the relative error of one rounding. 0 for
 * integers. */
double numeric_unit_roundoff(tess_type type);
/* The largest finite number; and half of the smallest positive one, the absolute error of an underflow. */
double numeric_largest(tess_type type);
double numeric_underflow(tess_type type);

/* One element as double, exactly; and back, rounded once. Integer types take the low bits of the integer
 * nearest to `value`, which must lie within ±2^63. */
double numeric_load(tess_type type, const void *element);
/* `count` of them, so many elements apart. */
void numeric_load_line(tess_type type, const void *first, int64_t stride, int64_t count, double *to);
void numeric_store(tess_type type, void *element, double value);

static inline uint32_t numeric_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float numeric_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float numeric_from_bf16(uint16_t half) {
    return numeric_float((uint32_t)half << 16);
}

/* Shifted into place, the exponent is 112 too small; the multiplication mends it, for subnormals too. */
static inline float numeric_from_f16(uint16_t half) {
    uint32_t magnitude = half & 0x7fffu;
    uint32_t bits = numeric_bits(numeric_float(magnitude << 13) * 0x1p112f);
    if (magnitude >= 0x7c00u) bits |= 0x7f800000u;
    return numeric_float(bits | (uint32_t)(half & 0x8000u) << 16);
}

/* Integers are added and multiplied modulo 2^32, where wrapping is defined. */
static inline uint32_t numeric_wrapped(int32_t value) {
    return (uint32_t)value;
}

static inline uint16_t numeric_to_bf16(float value) {
    uint32_t bits = numeric_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline uint16_t numeric_to_f16(float value) {
    uint32_t bits = numeric_bits(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    uint32_t half;
    if (magnitude > 0x7f800000u) {
        half = 0x7e00u;
    } else if (magnitude >= 0x477ff000u) { /* 65520 and above round to infinity */
        half = 0x7c00u;
    } else if (magnitude < 0x38800000u) { /* below 2^-14: 0.5's last place is the subnormals' spacing */
        half = numeric_bits(numeric_float(magnitude) + 0.5f) - 0x3f000000u;
    } else {
        half = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
    }
    return (uint16_t)(half | sign);
}

#endif
