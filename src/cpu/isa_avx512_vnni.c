/* isa_avx512_vnni.c: AVX-512 with VNNI: i8 products four at a time. The other types are AVX-512's. Compiled
 * with its flags and -mavx512vnni.
 *
 * VPDPBUSD multiplies unsigned by signed bytes, so A is packed with 128 added to every element, and 128 times
 * the sums of B's columns, which the same instruction adds up alongside, are taken away at the end. Modulo
 * 2^32 that is exact. */
#if defined(__x86_64__) && defined(__AVX512VNNI__)
#include <immintrin.h>

#include "isa_avx512_unit.h"

#define SUFFIX  i8
#define ELEMENT int8_t
#define GROUP   4
#define PAD     4
#include "pack_groups.h"
#undef SUFFIX
#undef ELEMENT

enum { I8_ROWS = 12 }; /* 24 registers of sums, two of corrections, two of B, one of A, one constant */

static void pack_raised(const pack_source *from, int width, int64_t first, int64_t last, void *to) {
    pack_groups_i8(from, width, first, last, to);
    int64_t panel = width * ((from->depth + PAD - 1) / PAD * PAD);
    uint8_t *bytes = (uint8_t *)to + first * panel;
    for (int64_t i = 0; i < (last - first) * panel; i++) bytes[i] ^= 0x80;
}

static void multiply_i8(const micro_call *call) {
    const char *a = call->a, *b = call->b;
    const __m512i raise = _mm512_set1_epi8((char)0x80);
    __m512i sum[I8_ROWS][2], over[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (int i = 0; i < I8_ROWS; i++) sum[i][0] = sum[i][1] = _mm512_setzero_si512();
    for (int64_t p = 0; p < call->depth; p += 4, a += I8_ROWS * 4, b += 128) {
        __m512i low = _mm512_loadu_si512(b), high = _mm512_loadu_si512(b + 64);
        over[0] = _mm512_dpbusd_epi32(over[0], raise, low);
        over[1] = _mm512_dpbusd_epi32(over[1], raise, high);
        for (int i = 0; i < I8_ROWS; i++) {
            int32_t four;
            memcpy(&four, a + 4 * i, sizeof four);
            __m512i factor = _mm512_set1_epi32(four);
            sum[i][0] = _mm512_dpbusd_epi32(sum[i][0], factor, low);
            sum[i][1] = _mm512_dpbusd_epi32(sum[i][1], factor, high);
        }
    }
    for (int i = 0; i < I8_ROWS; i++)
        for (int j = 0; j < 2; j++) sum[i][j] = _mm512_sub_epi32(sum[i][j], over[j]);
    merge_i32(call, (vector_i32 *)(void *)sum, I8_ROWS, 2);
}

static const micro_kernel micro_i8 = {.mr = I8_ROWS,
                                      .nr = 32,
                                      .group = 4,
                                      .packed = TESS_I8,
                                      .multiply = multiply_i8};

static int supported(void) {
    return avx512_supported() && __builtin_cpu_supports("avx512vnni");
}

const cpu_isa isa_avx512_vnni = {
    .name = "avx512-vnni",
    .label = "AVX-512 with VNNI",
    .supported = supported,
    .products = {ISA_FLOATS, [TESS_I32] = ISA_PRODUCT(micro_i32, pack_i32),
                 [TESS_I8] = {&micro_i8, pack_raised, pack_groups_i8}},
};
#else
typedef int not_on_this_machine;
#endif
