/* isa_avx2.c: 256-bit vectors with fused multiply-adds. 6×16 f32 sums take 12 of the 16 registers, two hold a
 * row of B and one an element of A. Compiled with -mavx2 -mfma -mf16c. */
#if defined(__x86_64__)
#include <immintrin.h>

#define VECTOR_BYTES              32
#define ROWS                      6
#define VECTORS                   2
#define FRESH(x)                  __asm__("" : "+r"(x))
#define MULTIPLY_ADD_f32(x, y, z) _mm256_fmadd_ps(_mm256_set1_ps(x), y, z)
#define MULTIPLY_ADD_f64(x, y, z) _mm256_fmadd_pd(_mm256_set1_pd(x), y, z)

#define OWN_MASKS
typedef __m256i word_mask, word_vector;

static inline word_mask mask_words(int count) {
    static const int32_t window[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(window + 8 - count));
}

static inline word_vector load_masked(const void *from, word_mask mask) {
    return _mm256_maskload_epi32(from, mask);
}

static inline void store_masked(void *to, word_mask mask, word_vector value) {
    _mm256_maskstore_epi32(to, mask, value);
}
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
