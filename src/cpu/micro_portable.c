/* micro_portable.c: the portable micro-kernels, in vector extensions that gcc and clang turn into whatever the target has.
 *
 * The tile is as large as the registers allow: its sums, one row of B's panel and an element of A must all stay in
 * them. This file is compiled with contraction on: a multiply and an add become one fused instruction where there is
 * one. */
#include "micro.h"

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define ISA          "512-bit vectors"
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define ISA          "256-bit vectors"
#else
#define VECTOR_BYTES 16
#define ISA          "128-bit vectors"
#endif

#if defined(__aarch64__)
#define FROM_LANES
#endif

#if defined(__aarch64__) || defined(__AVX512F__) /* 32 vector registers */
#define ROWS    8
#define VECTORS 3
#else /* 16 */
#define ROWS    6
#define VECTORS 2
#endif

#define ELEMENT float
#define NAME    multiply_f32
#include "micro_typed.h"

#define ELEMENT double
#define NAME    multiply_f64
#include "micro_typed.h"

#define ELEMENT uint32_t
#define NAME    multiply_u32
#include "micro_typed.h"

static const micro_kernel kernel_f32 = {ROWS, VECTORS *VECTOR_BYTES / 4, multiply_f32};
static const micro_kernel kernel_f64 = {ROWS, VECTORS *VECTOR_BYTES / 8, multiply_f64};
static const micro_kernel kernel_u32 = {ROWS, VECTORS *VECTOR_BYTES / 4, multiply_u32};
_Static_assert(ROWS *VECTORS *VECTOR_BYTES / 4 <= MICRO_LARGEST_TILE, "tiles must fit MICRO_LARGEST_TILE");

const micro_kernel *micro_for(tess_type acc) {
    if (acc == TESS_F64) return &kernel_f64;
    return acc == TESS_F32 ? &kernel_f32 : &kernel_u32;
}

const char *micro_isa(void) {
    return ISA;
}
