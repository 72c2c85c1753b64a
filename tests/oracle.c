/* oracle.c: the naive product, in f64 (compensated when the product itself is in f64) or modulo 2^32, and the
 * bound an honest result keeps. Written for being right at a glance, not for speed. */
#include "oracle.h"
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_integer(tess_type type) {
    return type == TESS_I32 || type == TESS_I8;
}

static size_t size_of(tess_type type) {
    switch (type) {
    case TESS_F64: return 8;
    case TESS_F32:
    case TESS_I32: return 4;
    case TESS_F16:
    case TESS_BF16: return 2;
    case TESS_I8: return 1;
    }
    return 0;
}

/* A format with `bits` significant bits and the smallest normal exponent `low`: value rounded to it, to nearest
 * even, without a largest number. rint rounds to even once the last place has been scaled to 1. */
static double round_to(double value, int bits, int low) {
    if (!isfinite(value) || value == 0) return value;
    int exponent;
    frexp(value, &exponent); /* value = f * 2^exponent, f in [0.5, 1) */
    int last = exponent - bits;
    if (last < low - (bits - 1)) last = low - (bits - 1);
    return ldexp(rint(ldexp(value, -last)), last);
}

static double round_to_f16(double value) {
    double rounded = round_to(value, 11, -14);
    return isfinite(rounded) && fabs(rounded) > 65504.0 ? copysign(TEST_INF, value) : rounded;
}

static double round_to_bf16(double value) {
    double rounded = round_to(value, 8, -126);
    return isfinite(rounded) && fabs(rounded) >= 0x1p128 ? copysign(TEST_INF, value) : rounded;
}

/* The bits of a value the format holds: `fraction` bits of fraction, `width` of exponent. */
static uint16_t encode(double value, int fraction, int width) {
    int bias = (1 << (width - 1)) - 1;
    unsigned sign = signbit(value) ? 0x8000u : 0u;
    unsigned top = ((1u << width) - 1) << fraction;
    if (isnan(value)) return (uint16_t)(sign | top | 1u << (fraction - 1));
    if (isinf(value)) return (uint16_t)(sign | top);
    if (value == 0) return (uint16_t)sign;
    int exponent;
    frexp(value, &exponent);
    int field = exponent - 1 + bias;
    if (field < 1) return (uint16_t)(sign | (unsigned)fabs(ldexp(value, bias - 1 + fraction)));
    unsigned significand = (unsigned)fabs(ldexp(value, fraction - (exponent - 1)));
    return (uint16_t)(sign | (unsigned)field << fraction | (significand & ((1u << fraction) - 1)));
}

static double decode(uint16_t bits, int fraction, int width) {
    int bias = (1 << (width - 1)) - 1;
    int field = (bits >> fraction) & ((1 << width) - 1);
    int digits = bits & ((1 << fraction) - 1);
    double sign = bits & 0x8000u ? -1.0 : 1.0;
    if (field == (1 << width) - 1) return digits ? TEST_NAN : sign * TEST_INF;
    if (field == 0) return sign * ldexp(digits, 1 - bias - fraction);
    return sign * ldexp(digits + (1 << fraction), field - bias - fraction);
}

uint16_t oracle_f16_from_double(double value) {
    return encode(round_to_f16(value), 10, 5);
}
uint16_t oracle_bf16_from_double(double value) {
    return encode(round_to_bf16(value), 7, 8);
}
double oracle_f16_to_double(uint16_t bits) {
    return decode(bits, 10, 5);
}
double oracle_bf16_to_double(uint16_t bits) {
    return decode(bits, 7, 8);
}

void *oracle_at(const tess_matrix *M, int64_t row, int64_t col) {
    int64_t offset = row * M->row_stride + col * M->col_stride;
    return (char *)M->data + offset * (int64_t)size_of(M->type);
}

double oracle_get(const tess_matrix *M, int64_t row, int64_t col) {
    const void *at = oracle_at(M, row, col);
    switch (M->type) {
    case TESS_F32: return (double)*(const float *)at;
    case TESS_F64: return *(const double *)at;
    case TESS_F16: return oracle_f16_to_double(*(const uint16_t *)at);
    case TESS_BF16: return oracle_bf16_to_double(*(const uint16_t *)at);
    case TESS_I32: return *(const int32_t *)at;
    case TESS_I8: return *(const int8_t *)at;
    }
    return TEST_NAN;
}

void oracle_set(const tess_matrix *M, int64_t row, int64_t col, double value) {
    void *at = oracle_at(M, row, col);
    switch (M->type) {
    case TESS_F32: *(float *)at = (float)value; break;
    case TESS_F64: *(double *)at = value; break;
    case TESS_F16: *(uint16_t *)at = oracle_f16_from_double(value); break;
    case TESS_BF16: *(uint16_t *)at = oracle_bf16_from_double(value); break;
    case TESS_I32: *(int32_t *)at = (int32_t)value; break;
    case TESS_I8: *(int8_t *)at = (int8_t)value; break;
    }
}

static double round_to_type(double value, tess_type type) {
    switch (type) {
    case TESS_F32: return (double)(float)value;
    case TESS_F16: return round_to_f16(value);
    case TESS_BF16: return round_to_bf16(value);
    default: return value;
    }
}

static double unit_roundoff(tess_type type) {
    switch (type) {
    case TESS_F64: return 0x1p-53;
    case TESS_F16: return 0x1p-11;
    case TESS_BF16: return 0x1p-8;
    default: return 0x1p-24;
    }
}

static double half_subnormal(tess_type type) {
    switch (type) {
    case TESS_F64: return 0x1p-1074; /* half of it is no double */
    case TESS_F16: return 0x1p-25;
    case TESS_BF16: return 0x1p-134;
    default: return 0x1p-150;
    }
}

static tess_type accumulation_type(tess_type type) {
    return type == TESS_F64 ? TESS_F64 : TESS_F32;
}

static uint32_t wrap(double integer) {
    return (uint32_t)(int64_t)integer;
}

/* A and B converted once: row i of A and column j of B are contiguous. */
typedef struct operands {
    double *a, *b;
    int64_t k;
} operands;

static void fill_operands(operands *o, const oracle_product *p) {
    int64_t m = p->A.rows, n = p->B.cols, k = p->A.cols;
    *o = (operands){test_alloc((size_t)(m * k) * sizeof(double)),
                    test_alloc((size_t)(k * n) * sizeof(double)), k};
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++) o->a[i * k + l] = oracle_get(&p->A, i, l);
    for (int64_t j = 0; j < n; j++)
        for (int64_t l = 0; l < k; l++) o->b[j * k + l] = oracle_get(&p->B, l, j);
}

/* a·b and |a|·|b|. In f64 the rounding errors of products and sums are kept beside (Ogita, Rump, Oishi: as if in
 * twice the precision); infinities make those errors NaN, so the plain sum stands when it is not finite. */
static double dot(const double *a, const double *b, int64_t k, int compensated, double *magnitude) {
    double sum = 0, size = 0, error = 0;
    for (int64_t l = 0; l < k; l++) {
        double product = a[l] * b[l];
        size += fabs(product);
        if (compensated) {
            double next = sum + product, part = next - sum;
            error += fma(a[l], b[l], -product) + ((sum - (next - part)) + (product - part));
            sum = next;
        } else {
            sum += product;
        }
    }
    *magnitude = size;
    return compensated && isfinite(sum) ? sum + error : sum;
}

static int check_float(const oracle_product *p, int64_t row, int64_t col, double sum, double size,
                       oracle_verdict *v) {
    tess_type acc = accumulation_type(p->A.type);
    double alpha = round_to_type(p->alpha, acc), beta = round_to_type(p->beta, acc);
    double want = alpha != 0 ? alpha * sum : 0.0;
    double scale = alpha != 0 ? fabs(alpha) * size : 0.0;
    if (beta != 0) {
        double before = oracle_get(&p->C0, row, col);
        want += beta * before;
        scale += fabs(beta * before);
    }
    double got = oracle_get(&p->C, row, col);
    double rounded = round_to_type(want, p->C.type);
    double allowed = 0;
    int right;
    if (p->exact || !isfinite(rounded)) {
        right = got == rounded || (isnan(got) && isnan(rounded));
    } else {
        allowed = (double)(p->A.cols + 8) * unit_roundoff(acc) * scale +
                  unit_roundoff(p->C.type) * fabs(want) + half_subnormal(p->C.type);
        right = fabs(got - want) <= allowed; /* a NaN is not right */
    }
    if (!right) *v = (oracle_verdict){v->wrong + 1, row, col, got, rounded, allowed};
    return right;
}

static int check_integer(const oracle_product *p, int64_t row, int64_t col, uint32_t sum, oracle_verdict *v) {
    uint32_t want = wrap(p->alpha) * sum;
    if (p->beta != 0) want += wrap(p->beta) * (uint32_t)(int32_t)oracle_get(&p->C0, row, col);
    uint32_t got = (uint32_t)(int32_t)oracle_get(&p->C, row, col);
    if (got != want) *v = (oracle_verdict){v->wrong + 1, row, col, (int32_t)got, (int32_t)want, 0};
    return got == want;
}

static int check_operands(const oracle_product *p, const double *a, const double *b, int64_t k, int64_t row,
                          int64_t col, oracle_verdict *v) {
    if (is_integer(p->C.type)) {
        uint32_t sum = 0;
        for (int64_t l = 0; l < k; l++) sum += wrap(a[l]) * wrap(b[l]);
        return check_integer(p, row, col, sum, v);
    }
    double size, sum = dot(a, b, k, p->C.type == TESS_F64 && !p->exact, &size);
    return check_float(p, row, col, sum, size, v);
}

oracle_verdict oracle_check(const oracle_product *p) {
    oracle_verdict verdict = {0, -1, -1, 0, 0, 0};
    operands o;
    fill_operands(&o, p);
    for (int64_t i = 0; i < p->C.rows; i++)
        for (int64_t j = 0; j < p->C.cols; j++)
            check_operands(p, o.a + i * o.k, o.b + j * o.k, o.k, i, j, &verdict);
    free(o.a);
    free(o.b);
    return verdict;
}

int oracle_check_element(const oracle_product *p, int64_t row, int64_t col, oracle_verdict *verdict) {
    *verdict = (oracle_verdict){0, -1, -1, 0, 0, 0};
    oracle_product one = *p;
    one.A = (tess_matrix){oracle_at(&p->A, row, 0), p->A.type,      p->A.place, 1, p->A.cols,
                          p->A.row_stride,          p->A.col_stride};
    one.B = (tess_matrix){oracle_at(&p->B, 0, col), p->B.type,      p->B.place, p->B.rows, 1,
                          p->B.row_stride,          p->B.col_stride};
    operands o;
    fill_operands(&o, &one);
    int right = check_operands(p, o.a, o.b, o.k, row, col, verdict);
    free(o.a);
    free(o.b);
    return right;
}
