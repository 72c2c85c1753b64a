/* isa_avx512_unit.h: the tile of AVX-512, for the files that build on it. 6×64 f32 sums take 24 of the 32
 * registers, four hold a row of B, and elements of A are broadcast as they are used: ten loads for 24
 * multiply-adds. */
#include <immintrin.h>

#define DIRECT_ROWS               8
#define DIRECT_ROWS_OF_4          6
#define DIRECT_VECTORS            4
#define VECTOR_BYTES              64
#define ROWS                      6
#define VECTORS                   4
#define B_AHEAD                   8
#define LINES_AHEAD               4
#define LINES_APART               1
#define FRESH(x)                  __asm__("" : "+r"(x))
#define MULTIPLY_ADD_f32(x, y, z) _mm512_fmadd_ps(_mm512_set1_ps(x), y, z)
#define MULTIPLY_ADD_f64(x, y, z) _mm512_fmadd_pd(_mm512_set1_pd(x), y, z)

/* What sanitizers call between a load and its use may change registers that gcc was told nothing else uses. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PINNED_f32            1
#define PINNED_f64            1
#define MULTIPLY_ADD_NAME_f32 "vfmadd231ps"
#define MULTIPLY_ADD_NAME_f64 "vfmadd231pd"
#endif

#define OWN_MASKS
typedef __mmask16 word_mask;
typedef __m512i word_vector;

static inline word_mask mask_words(int count) {
    return (word_mask)((1u << count) - 1);
}

static inline word_vector load_masked(const void *from, word_mask mask) {
    return _mm512_maskz_loadu_epi32(mask, from);
}

static inline void store_masked(void *to, word_mask mask, word_vector value) {
    _mm512_mask_storeu_epi32(to, mask, value);
}
#include "isa_unit.h"

static int avx512_supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
