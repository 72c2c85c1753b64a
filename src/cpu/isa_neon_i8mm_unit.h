/* isa_neon_i8mm_unit.h: NEON and the i8 products of I8MM, for the files that build on them. */
#include <arm_neon.h>
#include <sys/auxv.h>

#include "isa_neon_unit.h"

#define SUFFIX           i8
#define ELEMENT          int8_t
#define FACTORS          int8x16_t
#define LOAD(address)    vld1q_s8(address)
#define MMLA(sums, a, b) vmmlaq_s32(sums, a, b)
#define SUMS             int32x4_t
#define SUM              i32
#include "micro_mmla.h"

static const micro_kernel micro_i8 = {.mr = ROWS,
                                      .nr = VECTORS * 4,
                                      .group = 8,
                                      .packed = TESS_I8,
                                      .multiply = multiply_i8};

static int i8mm_supported(void) {
    return (getauxval(AT_HWCAP2) & (1ul << 13)) != 0; /* HWCAP2_I8MM */
}
