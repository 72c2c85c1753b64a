/* pinned_typed.h: the loop of a tile of 6×4 vectors of AVX-512, for micro_typed.h: each sum has a register of its own.
 *
 * Left to gcc, sums wander from register to register, three to eight moves for the 48 multiply-adds of a turn, which take
 * multiply-adds' places if a thread shares its core with another (decision 10). A variable that is bound to a register is in that
 * one wherever an asm uses it, and nothing else here does. */

/* Rows of a tile, and the numbers of their sums. */
#define ROWS_OF_6(DO)     \
    DO(0, 0, 1, 2, 3)     \
    DO(1, 4, 5, 6, 7)     \
    DO(2, 8, 9, 10, 11)   \
    DO(3, 12, 13, 14, 15) \
    DO(4, 16, 17, 18, 19) \
    DO(5, 20, 21, 22, 23)
#define PIN(s)                   register TYPED(vector) sum##s __asm__("zmm" #s) = sum[s];
#define PIN_ROW(i, p, q, r, s)   PIN(p) PIN(q) PIN(r) PIN(s)
#define UNPIN_ROW(i, p, q, r, s) sum[p] = sum##p, sum[q] = sum##q, sum[r] = sum##r, sum[s] = sum##s;
#define ADD(s, x, y)             __asm__(TYPED(MULTIPLY_ADD_NAME) " %2, %1, %0" : "+v"(sum##s) : "v"(x), "v"(y));
#define ADD_ROW(i, p, q, r, s)                                                  \
    {                                                                           \
        TYPED(vector) x = a[i] - (TYPED(vector)){0};                            \
        ADD(p, x, row[0]) ADD(q, x, row[1]) ADD(r, x, row[2]) ADD(s, x, row[3]) \
    }

INLINE void TYPED(add_turns)(TYPED(vector) * sum, TYPED(progress) * at, int64_t turns) {
    SIZES;
    _Static_assert(MR == 6 && WIDE == 4, "the sums have names");
    ROWS_OF_6(PIN_ROW)
    for (; turns > 0; turns--, TYPED(advance)(at)) {
        UNROLL
        for (int step = 0; step < TYPED(AT_ONCE); step++) {
            const ELEMENT *a = at->a + step * MR;
            const TYPED(vector) *b = (const TYPED(vector) *)(const void *)(at->b + step * WIDE * LANES),
                                row[WIDE] = {b[0], b[1], b[2], b[3]};
            TYPED(fetch_step)(at, step);
            ROWS_OF_6(ADD_ROW)
        }
    }
    ROWS_OF_6(UNPIN_ROW)
}
#undef ROWS_OF_6
#undef PIN
#undef PIN_ROW
#undef UNPIN_ROW
#undef ADD
#undef ADD_ROW
