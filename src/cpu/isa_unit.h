/* isa_unit.h: what every instruction set compiles for itself: packing for each input type, and micro-kernels
 * for sums in f32, f64 and i32. The including file sets VECTOR_BYTES, ROWS and VECTORS, and where they
 * apply ROWS_OF_8 and VECTORS_OF_8, DIRECT_ROWS, DIRECT_ROWS_OF_4 and DIRECT_VECTORS, FROM_LANES with
 * LOAD_LATER, ALONE, SEPARATE, FRESH, B_AHEAD, LINES_AHEAD with LINES_APART, MULTIPLY_ADD_f32 and _f64,
 * PINNED_f32 and _f64 with MULTIPLY_ADD_NAME_f32 and _f64, and OWN_MASKS with what masked_words.h has. */
#include <string.h>

#include "isa.h"
#include "transpose.h"

#ifndef MULTIPLY_ADD_f32
#define MULTIPLY_ADD_f32(x, y, z) ((x) * (y) + (z))
#define MULTIPLY_ADD_f64(x, y, z) ((x) * (y) + (z))
#endif
#define MULTIPLY_ADD_i32(x, y, z) ((x) * (y) + (z))
/* 1: each sum of a tile has a register of its own (pinned_typed.h), with the multiply-add's name. */
#ifndef PINNED_f32
#define PINNED_f32 0
#define PINNED_f64 0
#endif
#define PINNED_i32 0
#ifndef OWN_MASKS
#include "masked_words.h"
#endif
#ifndef ALONE
#define ALONE(x) (void)(x)
#endif
#ifndef FRESH
#define FRESH(x) (void)(x)
#endif
#ifndef B_AHEAD
#define B_AHEAD 0
#endif
/* Packing fetches so many lines ahead along k; and of a panel's next rows one line in so many: the first alone, where hardware
 * fetches what follows it. */
#ifndef LINES_AHEAD
#define LINES_AHEAD 2
#define LINES_APART 64
#endif
#ifndef SEPARATE
#define SEPARATE(x) (void)(x) /* the file is compiled without contraction */
#endif

/* The tile of a type; elements of eight bytes may have another. */
#ifndef ROWS_OF_8
#define ROWS_OF_8    ROWS
#define VECTORS_OF_8 VECTORS
#endif
#define TILE_ROWS(size)    ((size) == 8 ? ROWS_OF_8 : ROWS)
#define TILE_VECTORS(size) ((size) == 8 ? VECTORS_OF_8 : VECTORS)

/* The largest tile that is read in place. */
#ifndef DIRECT_ROWS
#define DIRECT_ROWS    4
#define DIRECT_VECTORS 2
#endif
#ifndef DIRECT_ROWS_OF_4
#define DIRECT_ROWS_OF_4 DIRECT_ROWS
#endif

#define TEMPLATE "pack_typed.h"
#include "each_type.h"

#define SUFFIX       f32
#define ELEMENT      float
#define TO_SCALAR(x) ((float)(x))
#include "micro_typed.h"
#undef SUFFIX
#undef ELEMENT
#undef TO_SCALAR

#define SUFFIX       f64
#define ELEMENT      double
#define TO_SCALAR(x) (x)
#include "micro_typed.h"
#undef SUFFIX
#undef ELEMENT
#undef TO_SCALAR

#define SUFFIX       i32
#define ELEMENT      uint32_t
#define TO_SCALAR(x) ((uint32_t)(int64_t)(x))
#include "micro_typed.h"
#undef SUFFIX
#undef ELEMENT
#undef TO_SCALAR

#define MICRO_KERNEL(type, size, suffix)                                                                   \
    {                                                                                                      \
        .mr = TILE_ROWS(size), .nr = TILE_VECTORS(size) * VECTOR_BYTES / size, .group = 1, .packed = type, \
        .multiply = multiply_##suffix, .direct = direct_##suffix, .direct_rows = DIRECT_ROWS,              \
        .direct_cols = DIRECT_VECTORS * VECTOR_BYTES / size, .lanes = VECTOR_BYTES / size,                 \
        .direct_even = DIRECT_ROWS_OF_4 < DIRECT_ROWS, .peak = peak_##suffix                               \
    }
static const micro_kernel micro_f32 = MICRO_KERNEL(TESS_F32, 4, f32);
static const micro_kernel micro_f64 = MICRO_KERNEL(TESS_F64, 8, f64);
static const micro_kernel micro_i32 = MICRO_KERNEL(TESS_I32, 4, i32);
_Static_assert(ROWS *VECTORS *VECTOR_BYTES / 4 <= ISA_LARGEST_TILE &&
                   ROWS_OF_8 * VECTORS_OF_8 * VECTOR_BYTES / 8 <= ISA_LARGEST_TILE,
               "tiles must fit ISA_LARGEST_TILE");

/* 16-bit inputs are widened to f32 as they are packed, i8 to i32. */
#define ISA_PRODUCT(micro, pack) \
    { &micro, pack, pack }
#define ISA_FLOATS                                                                                \
    [TESS_F32] = ISA_PRODUCT(micro_f32, pack_f32), [TESS_F64] = ISA_PRODUCT(micro_f64, pack_f64), \
    [TESS_F16] = ISA_PRODUCT(micro_f32, pack_f16), [TESS_BF16] = ISA_PRODUCT(micro_f32, pack_bf16)
#define ISA_INTEGERS \
    [TESS_I32] = ISA_PRODUCT(micro_i32, pack_i32), [TESS_I8] = ISA_PRODUCT(micro_i32, pack_i8)
