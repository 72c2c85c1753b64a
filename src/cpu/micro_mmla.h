/* micro_mmla.h: packing and a micro-kernel for Arm's matrix multiply-add, which takes two rows of A and two
 * columns of B, eight bytes deep each, and adds their four products to a register of 2×2 sums.
 *
 * The tile is ROWS×(VECTORS of four) like NEON's: 24 registers of sums, four of A, and B as it is used; ten
 * loads for 24 instructions. The including file sets SUFFIX and ELEMENT; FACTORS, a register of them, and
 * LOAD(address), which fills one; MMLA(sums, a, b) with SUMS, its register, and SUM, the suffix of a sum. All
 * are undefined at the end. */
#define GROUP (8 / (int)sizeof(ELEMENT))
#define PAD   GROUP
#include "pack_groups.h"

static void TYPED(multiply)(const micro_call *call) {
    enum { PAIRS = ROWS / 2, COLUMN_PAIRS = VECTORS * 2 };
    _Static_assert(PAIRS == 4, "the tile is four pairs of rows high");
    const ELEMENT *a = call->a, *b = call->b;
    const char *next = call->next;
    SUMS sum[COLUMN_PAIRS * PAIRS];
    UNROLL
    for (int i = 0; i < COLUMN_PAIRS * PAIRS; i++) sum[i] = (SUMS){0};
    for (int64_t p = 0; p < call->depth; p += GROUP, a += ROWS * GROUP, b += 2 * GROUP * COLUMN_PAIRS) {
        FACTORS rows[PAIRS];
        /* As in micro_typed.h. */
        __builtin_prefetch(next, 0, 2);
        next += GROUP * call->next_step;
        __builtin_prefetch(a + 16 * ROWS * GROUP);
        UNROLL
        for (int i = 0; i < PAIRS; i++) rows[i] = LOAD(a + 2 * GROUP * i);
        UNROLL
        for (int j = 0; j < COLUMN_PAIRS; j++) {
            SUMS *column = sum + PAIRS * j;
            FACTORS columns = LOAD(b + 2 * GROUP * j);
            UNROLL
            for (int i = 0; i < PAIRS; i++) column[i] = MMLA(column[i], rows[i], columns);
            /* gcc would load all of B first, and have too few registers left for the sums. */
            __asm__("" : "+r"(b) : "w"(column[0]), "w"(column[1]), "w"(column[2]), "w"(column[3]));
        }
    }
    typedef TYPED_NAME(vector, SUM) vector;
    vector tile[ROWS * VECTORS];
    UNROLL
    for (int i = 0; i < PAIRS; i++) {
        UNROLL
        for (int j = 0; j < VECTORS; j++) {
            vector left = (vector)sum[2 * j * PAIRS + i], right = (vector)sum[(2 * j + 1) * PAIRS + i];
            tile[2 * i * VECTORS + j] = (vector){left[0], left[1], right[0], right[1]};
            tile[(2 * i + 1) * VECTORS + j] = (vector){left[2], left[3], right[2], right[3]};
        }
    }
    TYPED_NAME(merge, SUM)(call, tile, ROWS, VECTORS);
}
#undef SUFFIX
#undef ELEMENT
#undef GROUP
#undef PAD
#undef FACTORS
#undef LOAD
#undef MMLA
#undef SUMS
#undef SUM
