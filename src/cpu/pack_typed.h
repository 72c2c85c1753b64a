/* Packing one input type into panels of the type of its sums (each_type.h). `width` is a constant in each
 * call of the inlined functions, so that the copy of one step is unrolled. */

/* `rows` rows of the source, through all panels. Told that source and panels are apart (restrict), compilers copy vectors. */
static inline __attribute__((always_inline)) void TYPED(pack_few_rows)(const IN *restrict data, int64_t deep,
                                                                       int64_t depth, int width,
                                                                       int64_t panels, int rows,
                                                                       SUM *restrict out) {
    for (int64_t panel = 0; panel < panels; panel++, data += width, out += width * depth)
        for (int q = 0; q < rows; q++) {
            for (int i = 0; i < width; i += LINES_APART * (64 / (int)sizeof(IN)))
                __builtin_prefetch(data + (q + rows) * deep + i, 0, 2); /* of the next rows */
            for (int i = 0; i < width; i++) out[q * width + i] = LOAD(data[q * deep + i]);
        }
}

/* All panels at once, FEW rows of the source at a time: they are read as they lie in memory, no line twice, and
 * whole lines of a panel are written. More rows a power of two apart would not fit the ways of a cache. */
static inline __attribute__((always_inline)) void
TYPED(pack_rows)(const IN *data, int64_t deep, int64_t depth, int width, int64_t panels, SUM *out) {
    enum { FEW = 4 };
    int64_t p = 0;
    for (; p + FEW <= depth; p += FEW)
        TYPED(pack_few_rows)(data + p * deep, deep, depth, width, panels, FEW, out + p * width);
    for (; p < depth; p++)
        TYPED(pack_few_rows)(data + p * deep, deep, depth, width, panels, 1, out + p * width);
}

/* LINE steps of one panel whose depth lies in order. A whole cache line of each row is used at once: rows a
 * power of two apart drive each other's lines out of the cache; so what is fetched ahead goes to the second level. The last
 * block may overlap the one before. */
static inline __attribute__((always_inline)) void TYPED(pack_line)(const IN *data, int64_t along, int width,
                                                                   int line, SUM *out) {
#if BYTES == 4
#define TRANSPOSE_BLOCK transpose_block_4
#elif BYTES == 8
#define TRANSPOSE_BLOCK transpose_block_8
#endif
#if BYTES > 0
    enum { SIDE = 16 / BYTES };
    for (int i = 0; i < width; i += SIDE) {
        int row = i + SIDE <= width ? i : width - SIDE;
        for (int q = 0; q < SIDE; q++)
            __builtin_prefetch(data + (row + q) * along + LINES_AHEAD * line, 0, 2);
        for (int q = 0; q < line; q += SIDE)
            TRANSPOSE_BLOCK(data + row * along + q, along, out + q * width + row, width);
    }
#undef TRANSPOSE_BLOCK
#else
    for (int i = 0; i < width; i++)
        for (int q = 0; q < line; q++) out[q * width + i] = LOAD(data[i * along + q]);
#endif
}

/* One panel across the order of memory. */
static inline __attribute__((always_inline)) void
TYPED(pack_across)(const IN *data, int64_t along, int64_t deep, int64_t depth, int width, SUM *out) {
    enum { LINE = 64 / sizeof(IN) };
    int64_t p = 0;
    for (; deep == 1 && p + LINE <= depth; p += LINE, data += LINE, out += LINE * width)
        TYPED(pack_line)(data, along, width, LINE, out);
    for (; p < depth; p++, data += deep, out += width)
        for (int i = 0; i < width; i++) out[i] = LOAD(data[i * along]);
}

/* The last panel, of which only `used` rows exist. */
static void TYPED(pack_edge)(const IN *data, int64_t along, int64_t deep, int64_t depth, int width, int used,
                             SUM *out) {
    memset(out, 0, (size_t)(depth * width) * sizeof *out);
    for (int64_t p = 0; p < depth; p++)
        for (int i = 0; i < used; i++) out[p * width + i] = LOAD(data[i * along + p * deep]);
}

static inline __attribute__((always_inline)) void TYPED(pack_whole)(const pack_source *from, int width,
                                                                    int64_t first, int64_t last, SUM *out) {
    int64_t along = from->count_stride, deep = from->depth_stride, depth = from->depth;
    const IN *data = (const IN *)(const void *)from->data + first * width * along;
    out += first * width * depth;
    if (along == 1) {
        TYPED(pack_rows)(data, deep, depth, width, last - first, out);
        return;
    }
    for (int64_t panel = first; panel < last; panel++, data += width * along, out += width * depth)
        TYPED(pack_across)(data, along, deep, depth, width, out);
}

/* Not every instruction set uses it for every type. */
static __attribute__((unused)) void TYPED(pack)(const pack_source *from, int width, int64_t first,
                                                int64_t last, void *to) {
    enum { MR = TILE_ROWS(sizeof(SUM)), NR = TILE_VECTORS(sizeof(SUM)) * VECTOR_BYTES / sizeof(SUM) };
    int64_t whole = from->count / width < last ? from->count / width : last;
    if (width == NR)
        TYPED(pack_whole)(from, NR, first, whole, to);
    else
        TYPED(pack_whole)(from, MR, first, whole, to);
    if (whole < last && whole >= first) TYPED(pack_edge)
    ((const IN *)(const void *)from->data + whole * width * from->count_stride, from->count_stride,
     from->depth_stride, from->depth, width, (int)(from->count - whole * width),
     (SUM *)to + whole * width * from->depth);
}
