/* transpose.h: 16-byte blocks of a matrix, turned in registers. Packing A is a transposition, and element by
 * element it costs as much as a tenth of the product on a fast core. */
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

#include <stdint.h>

typedef uint32_t transpose_4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t transpose_2 __attribute__((vector_size(16), aligned(8), may_alias));

#if defined(__clang__)
#define TRANSPOSE_PICK_4(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#define TRANSPOSE_PICK_2(x, y, a, b)       __builtin_shufflevector(x, y, a, b)
#else
#define TRANSPOSE_PICK_4(x, y, a, b, c, d) __builtin_shuffle(x, y, (transpose_4){a, b, c, d})
#define TRANSPOSE_PICK_2(x, y, a, b)       __builtin_shuffle(x, y, (transpose_2){a, b})
#endif

/* Four rows of four 4-byte elements, `along` elements apart, become four rows `width` elements apart. */
static inline void transpose_block_4(const void *from, int64_t along, void *to, int64_t width) {
    const uint32_t *in = from;
    uint32_t *out = to;
    transpose_4 a = *(const transpose_4 *)in, b = *(const transpose_4 *)(in + along);
    transpose_4 c = *(const transpose_4 *)(in + 2 * along), d = *(const transpose_4 *)(in + 3 * along);
    transpose_4 ab_low = TRANSPOSE_PICK_4(a, b, 0, 4, 1, 5), ab_high = TRANSPOSE_PICK_4(a, b, 2, 6, 3, 7);
    transpose_4 cd_low = TRANSPOSE_PICK_4(c, d, 0, 4, 1, 5), cd_high = TRANSPOSE_PICK_4(c, d, 2, 6, 3, 7);
    *(transpose_4 *)out = TRANSPOSE_PICK_4(ab_low, cd_low, 0, 1, 4, 5);
    *(transpose_4 *)(out + width) = TRANSPOSE_PICK_4(ab_low, cd_low, 2, 3, 6, 7);
    *(transpose_4 *)(out + 2 * width) = TRANSPOSE_PICK_4(ab_high, cd_high, 0, 1, 4, 5);
    *(transpose_4 *)(out + 3 * width) = TRANSPOSE_PICK_4(ab_high, cd_high, 2, 3, 6, 7);
}

/* The same for two rows of two 8-byte elements. */
static inline void transpose_block_8(const void *from, int64_t along, void *to, int64_t width) {
    const uint64_t *in = from;
    uint64_t *out = to;
    transpose_2 a = *(const transpose_2 *)in, b = *(const transpose_2 *)(in + along);
    *(transpose_2 *)out = TRANSPOSE_PICK_2(a, b, 0, 2);
    *(transpose_2 *)(out + width) = TRANSPOSE_PICK_2(a, b, 1, 3);
}

#endif
