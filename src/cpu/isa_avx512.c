/* isa_avx512.c: 512-bit vectors. 14×32 f32 sums take 28 of the 32 registers, two hold a row of B, and elements of A are
 * broadcast as they are used. Compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl. */
#if defined(__x86_64__)
#define VECTOR_BYTES 64
#define ROWS         14
#define VECTORS      2
#define SEPARATE(x)  __asm__("" : "+v"(x))
#include "isa_unit.h"

static int supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const cpu_isa isa_avx512 = {
    .name = "avx512",
    .label = "AVX-512",
    .supported = supported,
    .products = {ISA_FLOATS, ISA_INTEGERS},
};
#else
typedef int not_on_this_machine;
#endif
