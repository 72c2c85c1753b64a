/* isa_neon.c: 128-bit NEON with fused multiply-adds, which every 64-bit Arm has. */
#if defined(__aarch64__)
#include "isa_neon_unit.h"

static int supported(void) {
    return 1;
}

const cpu_isa isa_neon = {
    .name = "neon",
    .label = "NEON",
    .supported = supported,
    .products = {ISA_FLOATS, ISA_INTEGERS},
};
#else
typedef int not_on_this_machine;
#endif
