/* The micro-kernels of one type: ELEMENT, SUFFIX, a tile of ROWS×(VECTORS of VECTOR_BYTES), and tiles of up
 * to DIRECT_ROWS×DIRECT_VECTORS that read A in place.
 *
 * With FROM_LANES, the elements of A are loaded as vectors and taken out lane by lane, for machines whose
 * multiply-add takes a lane as its factor: a register per element would leave too few for the sums. Elsewhere
 * they are broadcast from memory. ALONE(x) keeps an element that is read in place in a register by itself there: loading it
 * into all lanes would take a multiply-add's place. TYPED(MULTIPLY_ADD)(x, y, z) is x*y + z for a
 * scalar x, fused where the instruction set can. On x86 it is the instruction by name, because gcc chooses for
 * itself, loop by loop, whether to fuse what is written as * and +, and an element's bits must not depend on
 * its tile. On Arm it is written so, contraction is on, and SEPARATE(x) keeps a multiplication that made x
 * from being fused with what follows: alpha*sum + beta*C must round as store.c does. */

typedef ELEMENT TYPED(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(ELEMENT)), may_alias));

/* Elements of a vector, rows of a tile, vectors of a row. */
#define SIZES                                   \
    enum {                                      \
        LANES = VECTOR_BYTES / sizeof(ELEMENT), \
        MR = TILE_ROWS(sizeof(ELEMENT)),        \
        WIDE = TILE_VECTORS(sizeof(ELEMENT))    \
    }

#define INLINE static inline __attribute__((always_inline))

INLINE void TYPED(merge_row)(ELEMENT *c, const TYPED(vector) * sum, int vectors, ELEMENT alpha, ELEMENT beta,
                             int reads) {
    TYPED(vector) *out = (TYPED(vector) *)(void *)c;
    UNROLL
    for (int j = 0; j < vectors; j++) {
        TYPED(vector) product = alpha * sum[j];
        SEPARATE(product);
        if (reads) {
            TYPED(vector) before = beta * out[j];
            SEPARATE(before);
            product += before;
        }
        out[j] = product;
    }
}

INLINE void TYPED(merge)(const micro_call *call, const TYPED(vector) * sum, int rows, int vectors) {
    ELEMENT *c = call->c, alpha = TO_SCALAR(call->alpha), beta = TO_SCALAR(call->beta);
    int64_t c_row = call->c_row;
    if (beta == 0) {
        UNROLL
        for (int i = 0; i < rows; i++)
            TYPED(merge_row)(c + i * c_row, sum + i * vectors, vectors, alpha, beta, 0);
    } else {
        UNROLL
        for (int i = 0; i < rows; i++)
            TYPED(merge_row)(c + i * c_row, sum + i * vectors, vectors, alpha, beta, 1);
    }
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

/* The rows of C are wanted at the end: by then they are near. */
INLINE void TYPED(fetch_c)(const micro_call *call) {
    SIZES;
    UNROLL
    for (int i = 0; i < MR; i++) __builtin_prefetch((const ELEMENT *)call->c + i * call->c_row, 1);
}

static void TYPED(multiply)(const micro_call *call) {
    SIZES;
    const ELEMENT *a = call->a, *b = call->b;
    TYPED(vector) sum[MR * WIDE];
    TYPED(fetch_c)(call);
    UNROLL
    for (int i = 0; i < MR * WIDE; i++) sum[i] = (TYPED(vector)){0};
    for (int64_t p = 0; p < call->depth; p++, a += MR, b += call->b_row) {
        /* Panels follow each other, but hardware stops at the end of a page. */
        __builtin_prefetch(a + 16 * MR);
#ifdef FROM_LANES
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
#else
        const TYPED(vector) *row = (const TYPED(vector) *)(const void *)b;
        UNROLL
        for (int i = 0; i < MR; i++) TYPED(add_row)(sum + i * WIDE, a[i], row, WIDE);
#endif
    }
    TYPED(merge)(call, sum, MR, WIDE);
}

/* `rows` and `vectors` are constants in each call below. */
INLINE void TYPED(direct_tile)(const micro_call *call, int rows, int vectors) {
    const int64_t a_row = call->a_row, a_col = call->a_col;
    micro_call at = *call;
    for (int64_t tile = 0; tile < call->tiles; tile++) {
        const ELEMENT *a = at.a, *b = at.b;
        TYPED(vector) sum[DIRECT_ROWS * DIRECT_VECTORS];
        UNROLL
        for (int i = 0; i < rows * vectors; i++) sum[i] = (TYPED(vector)){0};
        for (int64_t p = 0; p < at.depth; p++, a += a_col, b += at.b_row) {
            const TYPED(vector) *row = (const TYPED(vector) *)(const void *)b;
            UNROLL
            for (int i = 0; i < rows; i++) {
                ELEMENT factor = a[i * a_row];
                ALONE(factor);
                TYPED(add_row)(sum + i * vectors, factor, row, vectors);
            }
        }
        TYPED(merge)(&at, sum, rows, vectors);
        at.a = (const ELEMENT *)at.a + rows * a_row;
        at.c = (ELEMENT *)at.c + rows * at.c_row;
    }
}

/* Tiles of 1, 2, 4 and 8 rows and of up to four vectors, as far as the instruction set has them. */
static void TYPED(direct)(const micro_call *call, int rows, int vectors) {
    switch (vectors * 16 + rows) {
#if DIRECT_ROWS == 8
    case 16 + 8: TYPED(direct_tile)(call, 8, 1); break;
    case 32 + 8: TYPED(direct_tile)(call, 8, 2); break;
    case 48 + 8: TYPED(direct_tile)(call, 8, 3); break;
#endif
    case 16 + 1: TYPED(direct_tile)(call, 1, 1); break;
    case 16 + 2: TYPED(direct_tile)(call, 2, 1); break;
    case 16 + 4: TYPED(direct_tile)(call, 4, 1); break;
    case 32 + 1: TYPED(direct_tile)(call, 1, 2); break;
    case 32 + 2: TYPED(direct_tile)(call, 2, 2); break;
    case 32 + 4: TYPED(direct_tile)(call, 4, 2); break;
#if DIRECT_VECTORS > 2
    case 48 + 1: TYPED(direct_tile)(call, 1, 3); break;
    case 48 + 2: TYPED(direct_tile)(call, 2, 3); break;
    case 48 + 4: TYPED(direct_tile)(call, 4, 3); break;
#endif
#if DIRECT_VECTORS > 3
    case 64 + 1: TYPED(direct_tile)(call, 1, 4); break;
    case 64 + 2: TYPED(direct_tile)(call, 2, 4); break;
    case 64 + 4: TYPED(direct_tile)(call, 4, 4); break;
#endif
    }
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
#undef INLINE
#undef SIZES
