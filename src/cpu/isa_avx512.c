/* isa_avx512.c: 512-bit vectors. Compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl. */
#if defined(__x86_64__)
#include "isa_avx512_unit.h"

const cpu_isa isa_avx512 = {
    .name = "avx512",
    .label = "AVX-512",
    .supported = avx512_supported,
    .products = {ISA_FLOATS, ISA_INTEGERS},
};
#else
typedef int not_on_this_machine;
#endif
