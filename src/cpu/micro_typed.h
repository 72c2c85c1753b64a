/* The micro-kernels of one type: ELEMENT, SUFFIX, a tile of ROWS×(VECTORS of VECTOR_BYTES), and tiles of up
 * to DIRECT_ROWS×DIRECT_VECTORS that read A in place.
 *
 * With FROM_LANES, the elements of A are loaded as vectors and taken out lane by lane, for machines whose
 * multiply-add takes a lane as its factor: a register per element would leave too few for the sums. Elsewhere
 * they are broadcast from memory. SEPARATE(x) keeps the compiler from fusing a multiplication that made x
 * with what follows: alpha*sum + beta*C must round as store.c does. */

typedef ELEMENT TYPED(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(ELEMENT)), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE void TYPED(merge_row)(ELEMENT *c, const TYPED(vector) * sum, int vectors, ELEMENT alpha, ELEMENT beta,
                             int reads) {
    TYPED(vector) *out = (TYPED(vector) *)(void *)c;
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
    if (beta == 0)
        for (int i = 0; i < rows; i++)
            TYPED(merge_row)(c + i * c_row, sum + i * vectors, vectors, alpha, beta, 0);
    else
        for (int i = 0; i < rows; i++)
            TYPED(merge_row)(c + i * c_row, sum + i * vectors, vectors, alpha, beta, 1);
}

/* The rows of C are wanted at the end: by then they are near. */
INLINE void TYPED(fetch_c)(const micro_call *call) {
    for (int i = 0; i < ROWS; i++) __builtin_prefetch((const ELEMENT *)call->c + i * call->c_row, 1);
}

static void TYPED(multiply)(const micro_call *call) {
    enum { LANES = VECTOR_BYTES / sizeof(ELEMENT) };
    const ELEMENT *a = call->a, *b = call->b;
    TYPED(vector) sum[ROWS * VECTORS];
    TYPED(fetch_c)(call);
    for (int i = 0; i < ROWS * VECTORS; i++) sum[i] = (TYPED(vector)){0};
    for (int64_t p = 0; p < call->depth; p++, a += ROWS, b += call->b_row) {
        __builtin_prefetch(a + 16 * ROWS); /* panels follow each other, but hardware stops at a page's end */
        const TYPED(vector) *row = (const TYPED(vector) *)(const void *)b;
#ifdef FROM_LANES
        TYPED(vector) column[ROWS / LANES];
        for (int i = 0; i < ROWS / LANES; i++) column[i] = ((const TYPED(vector) *)(const void *)a)[i];
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < VECTORS; j++) sum[i * VECTORS + j] += column[i / LANES][i % LANES] * row[j];
#else
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < VECTORS; j++) sum[i * VECTORS + j] += a[i] * row[j];
#endif
    }
    TYPED(merge)(call, sum, ROWS, VECTORS);
}

/* `rows` and `vectors` are constants in each call below. */
INLINE void TYPED(direct_tile)(const micro_call *call, int rows, int vectors) {
    const ELEMENT *a = call->a, *b = call->b;
    const int64_t a_row = call->a_row, a_col = call->a_col;
    TYPED(vector) sum[DIRECT_ROWS * DIRECT_VECTORS];
    for (int i = 0; i < rows * vectors; i++) sum[i] = (TYPED(vector)){0};
    for (int64_t p = 0; p < call->depth; p++, a += a_col, b += call->b_row) {
        const TYPED(vector) *row = (const TYPED(vector) *)(const void *)b;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < vectors; j++) sum[i * vectors + j] += a[i * a_row] * row[j];
    }
    TYPED(merge)(call, sum, rows, vectors);
}

static void TYPED(direct)(const micro_call *call, int rows, int vectors) {
    switch (vectors * 16 + rows) {
#ifdef REGISTERS_32
    case 48 + 8: TYPED(direct_tile)(call, 8, 3); break;
    case 48 + 4: TYPED(direct_tile)(call, 4, 3); break;
    case 48 + 2: TYPED(direct_tile)(call, 2, 3); break;
    case 48 + 1: TYPED(direct_tile)(call, 1, 3); break;
    case 32 + 8: TYPED(direct_tile)(call, 8, 2); break;
    case 16 + 8: TYPED(direct_tile)(call, 8, 1); break;
#endif
    case 32 + 4: TYPED(direct_tile)(call, 4, 2); break;
    case 32 + 2: TYPED(direct_tile)(call, 2, 2); break;
    case 32 + 1: TYPED(direct_tile)(call, 1, 2); break;
    case 16 + 4: TYPED(direct_tile)(call, 4, 1); break;
    case 16 + 2: TYPED(direct_tile)(call, 2, 1); break;
    case 16 + 1: TYPED(direct_tile)(call, 1, 1); break;
    }
}

/* As many independent chains as a tile has, and nothing to load. */
static double TYPED(peak)(int64_t rounds) {
    volatile ELEMENT source = 1;
    ELEMENT a = source;
    TYPED(vector) b = a - (TYPED(vector)){0}, sum[ROWS][VECTORS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < VECTORS; j++) sum[i][j] = b;
    for (int64_t round = 0; round < rounds; round++) {
        SEPARATE(b);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < VECTORS; j++) sum[i][j] += a * b;
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < VECTORS; j++) source = sum[i][j][0];
    return 2.0 * (double)rounds * ROWS * VECTORS * VECTOR_BYTES / sizeof(ELEMENT);
}
#undef INLINE
