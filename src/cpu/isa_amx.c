/* isa_amx.c: AMX tiles for i8 and bf16; the other types are AVX-512's. Compiled with its flags and -mamx-tile
 * -mamx-int8 -mamx-bf16.
 *
 * A tile register holds 16 rows of 64 bytes. Four of them are a 32×32 block of sums; one step multiplies 32
 * rows of A, 64 bytes of depth each, by 32 columns of B in groups of four bytes of depth. bf16 numbers too
 * small to be normal count as zero here (docs/NUMERICS.md). */
#ifdef WITH_AMX
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isa_avx512_unit.h"

enum { SIDE = 32, TILE_ROWS = 16, TILE_BYTES = 64 };

#define SUFFIX  i8
#define ELEMENT int8_t
#define GROUP   4
#define PAD     64
#include "pack_groups.h"
#undef SUFFIX
#undef ELEMENT
#undef GROUP
#undef PAD

#define SUFFIX  bf16
#define ELEMENT uint16_t
#define GROUP   2
#define PAD     32
#include "pack_groups.h"
#undef SUFFIX
#undef ELEMENT
#undef GROUP
#undef PAD

/* Panels of A are groups as deep as a tile is wide. */
#define SUFFIX  i8_rows
#define ELEMENT int8_t
#define GROUP   64
#define PAD     64
#include "pack_groups.h"
#undef SUFFIX
#undef ELEMENT
#undef GROUP
#undef PAD

#define SUFFIX  bf16_rows
#define ELEMENT uint16_t
#define GROUP   32
#define PAD     32
#include "pack_groups.h"
#undef SUFFIX
#undef ELEMENT
#undef GROUP
#undef PAD

/* Eight tiles of 16 rows of 64 bytes. */
static void configure_tiles(void) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) config.row_bytes[i] = TILE_BYTES, config.rows[i] = TILE_ROWS;
    _tile_loadconfig(&config);
}

/* Tiles 0 to 3 are the sums, 4 and 5 A's rows, 6 and 7 B's columns. Tile numbers must be constants. */
#define STEPS(multiply)                                                                            \
    configure_tiles();                                                                             \
    _tile_zero(0);                                                                                 \
    _tile_zero(1);                                                                                 \
    _tile_zero(2);                                                                                 \
    _tile_zero(3);                                                                                 \
    for (int64_t step = 0; step < steps; step++, a += SIDE * TILE_BYTES, b += SIDE * TILE_BYTES) { \
        _tile_loadd(4, a, TILE_BYTES);                                                             \
        _tile_loadd(6, b, 2 * TILE_BYTES);                                                         \
        _tile_loadd(7, b + TILE_BYTES, 2 * TILE_BYTES);                                            \
        multiply(0, 4, 6);                                                                         \
        multiply(1, 4, 7);                                                                         \
        _tile_loadd(5, a + TILE_ROWS * TILE_BYTES, TILE_BYTES);                                    \
        multiply(2, 5, 6);                                                                         \
        multiply(3, 5, 7);                                                                         \
    }                                                                                              \
    _tile_stored(0, sums, SIDE * 4);                                                               \
    _tile_stored(1, sums + TILE_ROWS, SIDE * 4);                                                   \
    _tile_stored(2, sums + TILE_ROWS * SIDE, SIDE * 4);                                            \
    _tile_stored(3, sums + TILE_ROWS * SIDE + TILE_ROWS, SIDE * 4);                                \
    _tile_release()

/* The vectors of 32 sums of a row are those of the AVX-512 tile, so its merge serves. */
static void multiply_i8(const micro_call *call) {
    _Alignas(64) uint32_t sums[SIDE * SIDE];
    const char *a = call->a, *b = call->b;
    int64_t steps = call->depth / 64;
    STEPS(_tile_dpbssd);
    merge_i32(call, (vector_i32 *)(void *)sums, SIDE, 2);
}

static void multiply_bf16(const micro_call *call) {
    _Alignas(64) float sums[SIDE * SIDE];
    const char *a = call->a, *b = call->b;
    int64_t steps = call->depth / 32;
    STEPS(_tile_dpbf16ps);
    merge_f32(call, (vector_f32 *)(void *)sums, SIDE, 2);
}

static const micro_kernel micro_i8 = {.mr = SIDE,
                                      .nr = SIDE,
                                      .group = 64,
                                      .packed = TESS_I8,
                                      .multiply = multiply_i8};
static const micro_kernel micro_bf16 = {.mr = SIDE,
                                        .nr = SIDE,
                                        .group = 32,
                                        .packed = TESS_BF16,
                                        .multiply = multiply_bf16};

/* The CPU must have the tiles, and the kernel must let this process use them. */
static int supported(void) {
    unsigned a, b, c, d;
    if (!avx512_supported() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    const unsigned needed = 1u << 22 | 1u << 24 | 1u << 25; /* AMX-BF16, AMX-TILE, AMX-INT8 */
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return (d & needed) == needed && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

const cpu_isa isa_amx = {
    .name = "amx",
    .label = "AVX-512 with AMX",
    .supported = supported,
    .products = {[TESS_F32] = ISA_PRODUCT(micro_f32, pack_f32),
                 [TESS_F64] = ISA_PRODUCT(micro_f64, pack_f64),
                 [TESS_F16] = ISA_PRODUCT(micro_f32, pack_f16),
                 [TESS_BF16] = {&micro_bf16, pack_groups_bf16_rows, pack_groups_bf16},
                 [TESS_I32] = ISA_PRODUCT(micro_i32, pack_i32),
                 [TESS_I8] = {&micro_i8, pack_groups_i8_rows, pack_groups_i8}},
};
#else
typedef int not_on_this_machine;
#endif
