/* isa_neon_i8mm.c: NEON with the integer matrix multiply-add (Armv8.6 I8MM): i8 products 32 at a time. Compiled
 * with -march=armv8.2-a+i8mm. The other types are NEON's. */
#ifdef WITH_MMLA
#include "isa_neon_i8mm_unit.h"

const cpu_isa isa_neon_i8mm = {
    .name = "neon-i8mm",
    .label = "NEON with I8MM",
    .supported = i8mm_supported,
    .products = {ISA_FLOATS, [TESS_I32] = ISA_PRODUCT(micro_i32, pack_i32),
                 [TESS_I8] = ISA_PRODUCT(micro_i8, pack_groups_i8)},
};
#else
typedef int not_on_this_machine;
#endif
