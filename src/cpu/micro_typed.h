/* The micro-kernels of one type: ELEMENT, SUFFIX, a tile of ROWS×(VECTORS of VECTOR_BYTES), and tiles of up
 * to DIRECT_ROWS×DIRECT_VECTORS that read A in place; those of four vectors have up to DIRECT_ROWS_OF_4 rows.
 *
 * With FROM_LANES, the elements of A are loaded as vectors and taken out lane by lane, for machines whose
 * multiply-add takes a lane as its factor: a register per element would leave too few for the sums. Elsewhere
 * they are broadcast from memory. ALONE(x) keeps an element that is read in place in a register by itself there: loading it
 * into all lanes would take a multiply-add's place. TYPED(MULTIPLY_ADD)(x, y, z) is x*y + z for a
 * scalar x, fused where the instruction set can. On x86 it is the instruction by name, because gcc chooses for
 * itself, loop by loop, whether to fuse what is written as * and +, and an element's bits must not depend on
 * its tile. On Arm it is written so, contraction is on, and SEPARATE(x) keeps a multiplication that made x
 * from being fused with what follows: alpha*sum + beta*C must round as store.c does.
 *
 * FRESH(x) keeps the compiler from working out multiples of a stride, or addresses of C, for all tiles ahead of the first:
 * they are more than there are registers for.
 *
 * Of the last vector of a row that is read in place only the first elements may be there: load_masked and store_masked
 * take a mask of words of four bytes, whatever the type. Whole vectors go without: a load with a mask takes
 * a multiply-add's place on some CPUs, and such a store a hundred cycles on others. */

typedef ELEMENT TYPED(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(ELEMENT)), may_alias));

/* Elements of a vector, rows of a tile, vectors of a row. */
#define SIZES                                   \
    enum {                                      \
        LANES = VECTOR_BYTES / sizeof(ELEMENT), \
        MR = TILE_ROWS(sizeof(ELEMENT)),        \
        WIDE = TILE_VECTORS(sizeof(ELEMENT))    \
    }

/* A vector, or of the last of a row what its mask lets through. A `last` of NULL stands for a whole vector; whether it is
 * NULL is known in each call. */
INLINE TYPED(vector) TYPED(load)(const ELEMENT *from, const word_mask *last) {
    return last ? (TYPED(vector))load_masked(from, *last) : *(const TYPED(vector) *)(const void *)from;
}

INLINE void TYPED(store)(ELEMENT *to, TYPED(vector) value, const word_mask *last) {
    if (last)
        store_masked(to, *last, (word_vector)value);
    else
        *(TYPED(vector) *)(void *)to = value;
}

/* C = sums + beta*C; beta = 0 does not read C. */
INLINE void TYPED(merge_row)(ELEMENT *c, const TYPED(vector) * sum, int vectors, const word_mask *last,
                             ELEMENT beta, int reads) {
    SIZES;
    UNROLL
    for (int j = 0; j < vectors; j++) {
        const word_mask *mask = j == vectors - 1 ? last : NULL;
        TYPED(vector) result = sum[j];
        if (reads) {
            TYPED(vector) before = beta * TYPED(load)(c + j * LANES, mask);
            SEPARATE(before);
            result += before;
        }
        TYPED(store)(c + j * LANES, result, mask);
    }
}

INLINE void TYPED(merge_masked)(const micro_call *call, int64_t c_row, TYPED(vector) * sum, int rows,
                                int vectors, const word_mask *last) {
    ELEMENT *c = call->c, alpha = TO_SCALAR(call->alpha), beta = TO_SCALAR(call->beta);
    if (alpha != 1) {
        UNROLL
        for (int i = 0; i < rows * vectors; i++) {
            sum[i] *= alpha;
            SEPARATE(sum[i]);
        }
    }
    if (beta == 0) {
        UNROLL
        for (int i = 0; i < rows; i++, c += c_row) {
            FRESH(c);
            TYPED(merge_row)(c, sum + i * vectors, vectors, last, beta, 0);
        }
    } else {
        UNROLL
        for (int i = 0; i < rows; i++, c += c_row) {
            FRESH(c);
            TYPED(merge_row)(c, sum + i * vectors, vectors, last, beta, 1);
        }
    }
}

INLINE void TYPED(merge)(const micro_call *call, TYPED(vector) * sum, int rows, int vectors) {
    TYPED(merge_masked)(call, call->c_row, sum, rows, vectors, NULL);
}

/* One row of a tile: its sums plus a times a row of B. */
INLINE void TYPED(add_row)(TYPED(vector) * sum, ELEMENT a, const TYPED(vector) * row, int vectors) {
    UNROLL
    for (int j = 0; j < vectors; j++) sum[j] = TYPED(MULTIPLY_ADD)(a, row[j], sum[j]);
}

#ifdef FROM_LANES
/* Rows of one column of vectors of a tile, as many as a vector of A has. Lanes by constants: a variable would send the
 * vector through memory. */
INLINE void TYPED(add_lanes)(TYPED(vector) * sum, TYPED(vector) column, TYPED(vector) row) {
    SIZES;
    sum[0] = TYPED(MULTIPLY_ADD)(column[0], row, sum[0]);
    sum[WIDE] = TYPED(MULTIPLY_ADD)(column[1], row, sum[WIDE]);
    if (LANES > 2) {
        sum[2 * WIDE] = TYPED(MULTIPLY_ADD)(column[2 % LANES], row, sum[2 * WIDE]);
        sum[3 * WIDE] = TYPED(MULTIPLY_ADD)(column[3 % LANES], row, sum[3 * WIDE]);
    }
}
#endif

/* A tile plus one step: MR elements of A times a row of B. */
INLINE void TYPED(add_step)(TYPED(vector) * sum, const ELEMENT *a, const ELEMENT *b) {
    SIZES;
    const TYPED(vector) *row = (const TYPED(vector) *)(const void *)b;
    UNROLL
    for (int i = 0; i < MR; i++) TYPED(add_row)(sum + i * WIDE, a[i], row, WIDE);
}

/* The rows of C are wanted at the end: by then they are near. Where vectors are lines of the cache, all of them are fetched. */
INLINE void TYPED(fetch_c)(const micro_call *call) {
    SIZES;
    const int lines = VECTOR_BYTES == 64 ? WIDE : 1;
    UNROLL
    for (int i = 0; i < MR * lines; i++)
        __builtin_prefetch((const ELEMENT *)call->c + i / lines * call->c_row + i % lines * LANES, 1);
}

/* A row of B so many steps ahead, from the second-level cache to the first: a panel that streams from there
 * is too much for what hardware fetches by itself. */
INLINE void TYPED(fetch_b)(const ELEMENT *b) {
    SIZES;
    UNROLL
    for (int j = 0; j < WIDE; j++) __builtin_prefetch(b + (B_AHEAD * WIDE + j) * LANES);
}

#if !defined(FROM_LANES)
/* Where a tile is in its panels, and in what is fetched for later. */
typedef struct TYPED(progress) {
    const ELEMENT *a, *b;
    const char *next;
    int64_t next_step;
} TYPED(progress);

/* Steps of depth that a turn of the loop takes: one fetch of what is next is enough for two. */
enum { TYPED(AT_ONCE) = 2 };

/* What is fetched with one of these: of A, whose panels follow each other, but hardware stops at the end of a page; of B; and,
 * with the last, of what is next, by which integers only lose. */
INLINE void TYPED(fetch_step)(const TYPED(progress) * at, int step) {
    SIZES;
    enum { LINE = 64, AHEAD = 16 * MR };
    if (step * LINE < TYPED(AT_ONCE) * MR * (int)sizeof(ELEMENT))
        __builtin_prefetch((const char *)(at->a + AHEAD) + step * LINE);
    if (B_AHEAD > 0) TYPED(fetch_b)(at->b + step * WIDE * LANES);
    if (step == TYPED(AT_ONCE) - 1 && (ELEMENT)0.5 != 0) __builtin_prefetch(at->next, 0, 2);
}

INLINE void TYPED(advance)(TYPED(progress) * at) {
    SIZES;
    at->a += TYPED(AT_ONCE) * MR;
    at->b += TYPED(AT_ONCE) * WIDE * LANES;
    at->next += at->next_step;
}

#if TYPED(PINNED)
#include "pinned_typed.h"
#else
INLINE void TYPED(add_turns)(TYPED(vector) * sum, TYPED(progress) * at, int64_t turns) {
    SIZES;
    for (; turns > 0; turns--, TYPED(advance)(at)) {
        UNROLL
        for (int step = 0; step < TYPED(AT_ONCE); step++) {
            TYPED(fetch_step)(at, step);
            TYPED(add_step)(sum, at->a + step * MR, at->b + step * WIDE * LANES);
        }
    }
}
#endif
#endif

static void TYPED(multiply)(const micro_call *call) {
    SIZES;
    TYPED(vector) sum[MR * WIDE];
    TYPED(fetch_c)(call);
    UNROLL
    for (int i = 0; i < MR * WIDE; i++) sum[i] = (TYPED(vector)){0};
#ifdef FROM_LANES
    const ELEMENT *a = call->a, *b = call->b;
    const char *next = call->next;
    for (int64_t p = 0; p < call->depth; p++, a += MR, b += call->b_row, next += call->next_step) {
        __builtin_prefetch(a + 16 * MR); /* hardware stops at the end of a page */
        TYPED(vector) column[MR / LANES];
        UNROLL
        for (int i = 0; i < MR / LANES; i++)
            column[i] = *(const TYPED(vector) *)(const void *)(a + i * LANES);
        UNROLL
        for (int j = 0; j < WIDE; j++) {
            TYPED(vector) row = ((const TYPED(vector) *)(const void *)b)[j];
            UNROLL
            for (int i = 0; i < MR / LANES; i++) TYPED(add_lanes)(sum + i * LANES * WIDE + j, column[i], row);
            LOAD_LATER(b, sum[(MR - 1) * WIDE + j]);
        }
        if ((ELEMENT)0.5 != 0) __builtin_prefetch(next, 0, 2); /* integers only lose by it */
    }
#else
    enum { AT_ONCE = TYPED(AT_ONCE) };
    TYPED(progress) at = {call->a, call->b, call->next, AT_ONCE * call->next_step};
    TYPED(add_turns)(sum, &at, call->depth / AT_ONCE);
    if (call->depth % AT_ONCE > 0) TYPED(add_step)(sum, at.a, at.b);
#endif
    TYPED(merge)(call, sum, MR, WIDE);
}

/* One tile, and on to what lies below it. `rows` and `vectors` are constants in each call below. */
INLINE void TYPED(direct_tile)(micro_call *at, int rows, int vectors, const word_mask *last) {
    SIZES;
    int64_t a_row = at->a_row, a_col = at->a_col, c_row = at->c_row;
    FRESH(a_row);
    FRESH(c_row);
    const ELEMENT *a = at->a, *b = at->b;
    TYPED(vector) sum[DIRECT_ROWS * DIRECT_VECTORS];
    UNROLL
    for (int i = 0; i < rows * vectors; i++) sum[i] = (TYPED(vector)){0};
    for (int64_t p = 0; p < at->depth; p++, a += a_col, b += at->b_row) {
        TYPED(vector) row[DIRECT_VECTORS];
        UNROLL
        for (int j = 0; j < vectors; j++) row[j] = TYPED(load)(b + j * LANES, j == vectors - 1 ? last : NULL);
        UNROLL
        for (int i = 0; i < rows; i++) {
            ELEMENT factor = a[i * a_row];
            ALONE(factor);
            TYPED(add_row)(sum + i * vectors, factor, row, vectors);
        }
    }
    TYPED(merge_masked)(at, c_row, sum, rows, vectors, last);
    at->a = (const ELEMENT *)at->a + rows * a_row;
    at->c = (ELEMENT *)at->c + rows * c_row;
    at->rows -= rows;
}

INLINE void TYPED(direct_column)(const micro_call *call, int vectors, const word_mask *last) {
    micro_call at = *call;
    const int most = vectors == 4 ? DIRECT_ROWS_OF_4 : DIRECT_ROWS;
    while (at.rows >= most) TYPED(direct_tile)(&at, most, vectors, last);
    if (most > 4 && at.rows & 4) TYPED(direct_tile)(&at, 4, vectors, last);
    if (at.rows & 2) TYPED(direct_tile)(&at, 2, vectors, last);
    if (at.rows & 1) TYPED(direct_tile)(&at, 1, vectors, last);
}

INLINE void TYPED(direct_width)(const micro_call *call, int vectors, const word_mask *last) {
    switch (vectors) {
    case 1: TYPED(direct_column)(call, 1, last); break;
    case 2: TYPED(direct_column)(call, 2, last); break;
#if DIRECT_VECTORS > 2
    case 3: TYPED(direct_column)(call, 3, last); break;
#endif
#if DIRECT_VECTORS > 3
    case 4: TYPED(direct_column)(call, 4, last); break;
#endif
    }
}

/* Apart from whole vectors: one function with all tiles is too much for gcc, which then moves sums to and fro. */
static __attribute__((noinline)) void TYPED(direct_masked)(const micro_call *call, int vectors) {
    SIZES;
    int64_t there = call->cols - (vectors - 1) * LANES;
    word_mask mask = mask_words((int)(there * (int64_t)sizeof(ELEMENT) / 4));
    TYPED(direct_width)(call, vectors, &mask);
}

static void TYPED(direct)(const micro_call *call) {
    SIZES;
    int vectors = (int)((call->cols + LANES - 1) / LANES);
    if (vectors * LANES != call->cols)
        TYPED(direct_masked)(call, vectors);
    else
        TYPED(direct_width)(call, vectors, NULL);
}

/* As many independent chains as a tile has, and nothing to load. */
static double TYPED(peak)(int64_t rounds) {
    SIZES;
    volatile ELEMENT source = 1;
    ELEMENT a = source;
    TYPED(vector) row[WIDE], sum[MR * WIDE];
    UNROLL
    for (int j = 0; j < WIDE; j++) row[j] = a - (TYPED(vector)){0};
    UNROLL
    for (int i = 0; i < MR * WIDE; i++) sum[i] = row[0] * (ELEMENT)i; /* equal chains would become one */
    for (int64_t round = 0; round < rounds; round++) {
        UNROLL
        for (int i = 0; i < MR; i++) TYPED(add_row)(sum + i * WIDE, a, row, WIDE);
    }
    UNROLL
    for (int i = 0; i < MR * WIDE; i++) source = sum[i][0];
    return 2.0 * (double)rounds * MR * WIDE * VECTOR_BYTES / sizeof(ELEMENT);
}
#undef SIZES
