/* One micro-kernel: ELEMENT is its type, ROWS×(VECTORS of VECTOR_BYTES) its tile, NAME its name.
 *
 * With FROM_LANES, the elements of A are loaded as vectors and taken out lane by lane, for machines whose multiply-add
 * takes a lane as its factor: eight scalars would need eight registers, and the tile leaves five. Elsewhere they are
 * broadcast from memory. */
static void NAME(int64_t depth, const void *panel_a, const void *panel_b, void *tile) {
    typedef ELEMENT vector __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(ELEMENT)), may_alias));
    enum { LANES = VECTOR_BYTES / sizeof(ELEMENT) };
    const ELEMENT *a = panel_a;
    const vector *b = panel_b;
    vector sum[ROWS][VECTORS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < VECTORS; j++) sum[i][j] = (vector){0};

    for (int64_t p = 0; p < depth; p++, a += ROWS, b += VECTORS) {
#ifdef FROM_LANES
        vector column[ROWS / LANES];
        for (int i = 0; i < ROWS / LANES; i++) column[i] = ((const vector *)(const void *)a)[i];
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < VECTORS; j++) sum[i][j] += column[i / LANES][i % LANES] * b[j];
#else
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < VECTORS; j++) sum[i][j] += a[i] * b[j];
#endif
    }

    vector *out = tile;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < VECTORS; j++) *out++ = sum[i][j];
}
#undef ELEMENT
#undef NAME
