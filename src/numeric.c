/* numeric.c: the table of element types, and conversions through double. */
#include "numeric.h"

#include <float.h>
#include <math.h>

#include "status.h"

typedef struct type_row {
    const char *name;
    size_t size;
    int is_integer;
    tess_type accumulator;
    double unit_roundoff, largest, underflow;
} type_row;

static const type_row type_rows[] = {
    [TESS_F32] = {"f32", 4, 0, TESS_F32, 0x1p-24, (double)FLT_MAX, 0x1p-150},
    [TESS_F64] = {"f64", 8, 0, TESS_F64, 0x1p-53, DBL_MAX, 0x1p-1074},
    [TESS_F16] = {"f16", 2, 0, TESS_F32, 0x1p-11, 65504.0, 0x1p-25},
    [TESS_BF16] = {"bf16", 2, 0, TESS_F32, 0x1p-8, 0x1.fep127, 0x1p-134},
    [TESS_I32] = {"i32", 4, 1, TESS_I32, 0, INT32_MAX, 0},
    [TESS_I8] = {"i8", 1, 1, TESS_I32, 0, INT8_MAX, 0},
};
enum { TYPE_COUNT = sizeof type_rows / sizeof type_rows[0] };

int numeric_is_type(tess_type type) {
    return (int)type >= 0 && (int)type < TYPE_COUNT;
}

int numeric_is_integer(tess_type type) {
    return type_rows[type].is_integer;
}

tess_type numeric_accumulator(tess_type type) {
    return type_rows[type].accumulator;
}

double numeric_unit_roundoff(tess_type type) {
    return type_rows[type].unit_roundoff;
}

double numeric_largest(tess_type type) {
    return type_rows[type].largest;
}

double numeric_underflow(tess_type type) {
    return type_rows[type].underflow;
}

size_t tess_type_size(tess_type type) {
    return numeric_is_type(type) ? type_rows[type].size : 0;
}

const char *tess_type_name(tess_type type) {
    return numeric_is_type(type) ? type_rows[type].name : "unknown type";
}

tess_status tess_find_type(const char *name, tess_type *type) {
    sentence *why = status_of_thread();
    if (!name || !type)
        return status_fail(why, TESS_ERROR_ARGUMENT, "tess_find_type: %s is NULL", name ? "type" : "name");
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(name, type_rows[i].name) == 0) {
            *type = (tess_type)i;
            return TESS_OK;
        }
    }
    return status_fail(why, TESS_ERROR_TYPE,
                       "there is no type '%.40s'; the types are f32, f64, f16, bf16, i32, i8", name);
}

/* Rounds to a 16-bit format with `digits` stored significand bits and the exponent bias of its
 * `exponent_bits`, from double in one step: going through float would round twice. */
static uint16_t narrow(double value, int digits, int exponent_bits) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << 15, infinity = ((UINT64_C(1) << exponent_bits) - 1) << digits;
    if (isnan(value)) return (uint16_t)(sign | infinity | UINT64_C(1) << (digits - 1));
    if (isinf(value)) return (uint16_t)(sign | infinity);

    int bias = (1 << (exponent_bits - 1)) - 1, lowest = 1 - bias;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    int below = exponent < lowest ? lowest - exponent : 0; /* how far under the normal range */
    int shift = 52 - digits + below;
    if (shift > 54) return (uint16_t)sign;
    uint64_t significand = (bits & 0xfffffffffffffu) | UINT64_C(1) << 52;
    uint64_t kept = significand >> shift, rest = significand & ((UINT64_C(1) << shift) - 1);
    uint64_t tie = UINT64_C(1) << (shift - 1);
    if (rest > tie || (rest == tie && (kept & 1))) kept++;
    /* The implicit bit is added, not masked: a carry out of the significand then raises the exponent. */
    uint64_t magnitude = below ? kept : kept + ((uint64_t)(exponent + bias - 1) << digits);
    return (uint16_t)(sign | (magnitude < infinity ? magnitude : infinity));
}

double numeric_load(tess_type type, const void *element) {
    switch (type) {
    case TESS_F32: return (double)*(const float *)element;
    case TESS_F64: return *(const double *)element;
    case TESS_F16: return (double)numeric_from_f16(*(const uint16_t *)element);
    case TESS_BF16: return (double)numeric_from_bf16(*(const uint16_t *)element);
    case TESS_I32: return *(const int32_t *)element;
    case TESS_I8: return *(const int8_t *)element;
    }
    return (double)NAN;
}

#define LOAD_LINE(element, convert)                                    \
    for (int64_t i = 0; i < count; i++) {                              \
        to[i] = (double)convert(((const element *)first)[i * stride]); \
    }                                                                  \
    break

void numeric_load_line(tess_type type, const void *first, int64_t stride, int64_t count, double *to) {
    switch (type) {
    case TESS_F32: LOAD_LINE(float, );
    case TESS_F64: LOAD_LINE(double, );
    case TESS_F16: LOAD_LINE(uint16_t, numeric_from_f16);
    case TESS_BF16: LOAD_LINE(uint16_t, numeric_from_bf16);
    case TESS_I32: LOAD_LINE(int32_t, );
    case TESS_I8: LOAD_LINE(int8_t, );
    }
}

void numeric_store(tess_type type, void *element, double value) {
    switch (type) {
    case TESS_F32: *(float *)element = (float)value; break;
    case TESS_F64: *(double *)element = value; break;
    case TESS_F16: *(uint16_t *)element = narrow(value, 10, 5); break;
    case TESS_BF16: *(uint16_t *)element = narrow(value, 7, 8); break;
    case TESS_I32: *(int32_t *)element = (int32_t)(uint32_t)(uint64_t)llrint(value); break;
    case TESS_I8: *(int8_t *)element = (int8_t)(uint8_t)(uint64_t)llrint(value); break;
    }
}
