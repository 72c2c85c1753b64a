/* isa_neon.c: 128-bit NEON with fused multiply-adds, which every 64-bit Arm has. 8×12 f32 sums take 24 of the
 * 32 registers, three hold a row of B and two a column of A. */
#if defined(__aarch64__)
#define REGISTERS_32
#define VECTOR_BYTES 16
#define ROWS         8
#define VECTORS      3
#define FROM_LANES
#define SEPARATE(x) __asm__("" : "+w"(x))
#include "isa_unit.h"

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
