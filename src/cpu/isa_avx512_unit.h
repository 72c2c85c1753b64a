/* isa_avx512_unit.h: the tile of AVX-512, for the files that build on it. 6×64 f32 sums take 24 of the 32
 * registers, four hold a row of B, and elements of A are broadcast as they are used: ten loads for 24
 * multiply-adds. */
#define REGISTERS_32
#define VECTOR_BYTES 64
#define ROWS         6
#define VECTORS      4
#define SEPARATE(x)  __asm__("" : "+v"(x))
#include "isa_unit.h"

static int avx512_supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
