/* isa_neon_bf16.c: NEON with the matrix multiply-adds of bf16 and i8 (Armv8.6 BF16, I8MM). Compiled with
 * -march=armv8.2-a+i8mm+bf16. The other types are NEON's.
 *
 * BFMMLA rounds in a way of its own, and numbers too small to be normal count as zero (docs/NUMERICS.md). */
#ifdef WITH_MMLA
#include "isa_neon_i8mm_unit.h"

#define SUFFIX           bf16
#define ELEMENT          uint16_t
#define FACTORS          bfloat16x8_t
#define LOAD(address)    vreinterpretq_bf16_u16(vld1q_u16(address))
#define MMLA(sums, a, b) vbfmmlaq_f32(sums, a, b)
#define SUMS             float32x4_t
#define SUM              f32
#include "micro_mmla.h"

static const micro_kernel micro_bf16 = {.mr = ROWS,
                                        .nr = VECTORS * 4,
                                        .group = 4,
                                        .packed = TESS_BF16,
                                        .multiply = multiply_bf16};

static int supported(void) {
    return i8mm_supported() && (getauxval(AT_HWCAP2) & (1ul << 14)) != 0; /* HWCAP2_BF16 */
}

const cpu_isa isa_neon_bf16 = {
    .name = "neon-bf16",
    .label = "NEON with BF16 and I8MM",
    .supported = supported,
    .products = {[TESS_F32] = ISA_PRODUCT(micro_f32, pack_f32),
                 [TESS_F64] = ISA_PRODUCT(micro_f64, pack_f64),
                 [TESS_F16] = ISA_PRODUCT(micro_f32, pack_f16),
                 [TESS_BF16] = ISA_PRODUCT(micro_bf16, pack_groups_bf16),
                 [TESS_I32] = ISA_PRODUCT(micro_i32, pack_i32),
                 [TESS_I8] = ISA_PRODUCT(micro_i8, pack_groups_i8)},
};
#else
typedef int not_on_this_machine;
#endif
