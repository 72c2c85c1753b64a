/* isa_neon_dot.c: NEON with the dot-product instructions (Armv8.2 DotProd): i8 products four at a time.
 * Compiled with -march=armv8.2-a+dotprod. The other types are NEON's. */
#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#include <sys/auxv.h>

#include "isa_neon_unit.h"

#define SUFFIX  i8
#define ELEMENT int8_t
#define GROUP   4
#define PAD     4
#include "pack_groups.h"

/* 8×12 sums; four steps of k take two registers of A and three of B. */
static void multiply_i8(const micro_call *call) {
    const int8_t *a = call->a, *b = call->b;
    int32x4_t sum[ROWS][VECTORS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < VECTORS; j++) sum[i][j] = vdupq_n_s32(0);
    for (int64_t p = 0; p < call->depth; p += 4, a += ROWS * 4, b += VECTORS * 16) {
        int8x16_t low = vld1q_s8(a), high = vld1q_s8(a + 16);
        for (int j = 0; j < VECTORS; j++) {
            int8x16_t columns = vld1q_s8(b + 16 * j);
            sum[0][j] = vdotq_laneq_s32(sum[0][j], columns, low, 0);
            sum[1][j] = vdotq_laneq_s32(sum[1][j], columns, low, 1);
            sum[2][j] = vdotq_laneq_s32(sum[2][j], columns, low, 2);
            sum[3][j] = vdotq_laneq_s32(sum[3][j], columns, low, 3);
            sum[4][j] = vdotq_laneq_s32(sum[4][j], columns, high, 0);
            sum[5][j] = vdotq_laneq_s32(sum[5][j], columns, high, 1);
            sum[6][j] = vdotq_laneq_s32(sum[6][j], columns, high, 2);
            sum[7][j] = vdotq_laneq_s32(sum[7][j], columns, high, 3);
        }
    }
    merge_i32(call, (vector_i32 *)(void *)sum, ROWS, VECTORS);
}

static const micro_kernel micro_i8 = {.mr = ROWS,
                                      .nr = VECTORS * 4,
                                      .group = 4,
                                      .packed = TESS_I8,
                                      .multiply = multiply_i8};

static int supported(void) {
    return (getauxval(AT_HWCAP) & (1ul << 20)) != 0; /* HWCAP_ASIMDDP */
}

const cpu_isa isa_neon_dot = {
    .name = "neon-dotprod",
    .label = "NEON with dot products",
    .supported = supported,
    .products = {ISA_FLOATS, [TESS_I32] = ISA_PRODUCT(micro_i32, pack_i32),
                 [TESS_I8] = ISA_PRODUCT(micro_i8, pack_groups_i8)},
};
#else
typedef int not_on_this_machine;
#endif
