/* isa_avx2.c: 256-bit vectors with fused multiply-adds. 6×16 f32 sums take 12 of the 16 registers, two hold a
 * row of B and one an element of A. Compiled with -mavx2 -mfma -mf16c. */
#if defined(__x86_64__)
#include <immintrin.h>

#define VECTOR_BYTES              32
#define ROWS                      6
#define VECTORS                   2
#define MULTIPLY_ADD_f32(x, y, z) _mm256_fmadd_ps(_mm256_set1_ps(x), y, z)
#define MULTIPLY_ADD_f64(x, y, z) _mm256_fmadd_pd(_mm256_set1_pd(x), y, z)
#include "isa_unit.h"

static int supported(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const cpu_isa isa_avx2 = {
    .name = "avx2",
    .label = "AVX2 + FMA",
    .supported = supported,
    .products = {ISA_FLOATS, ISA_INTEGERS},
};
#else
typedef int not_on_this_machine;
#endif
