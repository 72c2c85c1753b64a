/* The loops of cpu_05_vector, for one type (each_type.h). */

#if BYTES > 0
typedef SUM TYPED(wide) __attribute__((vector_size(16), aligned(sizeof(SUM)), may_alias));
#define WIDE_AT(from) (*(const TYPED(wide) *)(const void *)(from))

/* Σ row[p]·x[p] of so many rows at once, all contiguous, in so many vectors of partial sums each (constants, as is `fetches`).
 * What is left of k is added a vector at a time, and at last one by one; then vectors are added in pairs. So the order is the
 * same for every row of a product. */
INLINE void TYPED(dot)(const vector_part *part, const IN *row, const SUM *x, SUM *sum, int rows, int vectors,
                       int fetches) {
    enum { WIDE = 16 / sizeof(SUM) };
    const int64_t k = part->k, next = part->count_stride;
    TYPED(wide) lanes[MOST_ROWS][MOST_VECTORS];
    SUM rest[MOST_ROWS] = {0};
    int64_t p = 0;
    UNROLL
    for (int i = 0; i < rows * vectors; i++) lanes[i / vectors][i % vectors] = (TYPED(wide)){0};
    for (; p + vectors * WIDE <= k; p += vectors * WIDE) {
        if (fetches) __builtin_prefetch((const char *)(row + p) + FETCHED, 0, 2);
        UNROLL
        for (int j = 0; j < vectors; j++) {
            const TYPED(wide) factor = WIDE_AT(x + p + j * WIDE);
            UNROLL
            for (int r = 0; r < rows; r++) lanes[r][j] += WIDE_AT(row + r * next + p + j * WIDE) * factor;
        }
    }
    UNROLL
    for (int j = 0; j < vectors - 1; j++) {
        if (p + WIDE > k) break;
        const TYPED(wide) factor = WIDE_AT(x + p);
        UNROLL
        for (int r = 0; r < rows; r++) lanes[r][j] += WIDE_AT(row + r * next + p) * factor;
        p += WIDE;
    }
    for (; p < k; p++) {
        UNROLL
        for (int r = 0; r < rows; r++) rest[r] = MULTIPLY_ADD(LOAD(row[r * next + p]), x[p], rest[r]);
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int width = vectors / 2; width > 0; width /= 2) {
            UNROLL
            for (int j = 0; j < width; j++) lanes[r][j] += lanes[r][j + width];
        }
        SUM even = lanes[r][0][0], odd = lanes[r][0][1];
        if (WIDE > 2) even += lanes[r][0][2 % WIDE], odd += lanes[r][0][3 % WIDE];
        sum[r] = even + odd + rest[r];
    }
}

static void TYPED(dots_by_fours)(const vector_part *part, void *sums, const void *x) {
    SUM *sum = sums;
    int64_t i = 0;
    const IN *row = part->matrix;
    for (; i + 4 <= part->count; i += 4, row += 4 * part->count_stride)
        TYPED(dot)(part, row, x, sum + i, 4, 2, 0);
    for (; i < part->count; i++, row += part->count_stride) TYPED(dot)(part, row, x, sum + i, 1, 2, 0);
}

static void TYPED(dots)(const vector_part *part, void *sums, const void *x) {
    SUM *sum = sums;
    const IN *row = part->matrix;
    if (part->by_fours) {
        TYPED(dots_by_fours)(part, sums, x);
    } else if (part->fetches) {
        for (int64_t i = 0; i < part->count; i++, row += part->count_stride)
            TYPED(dot)(part, row, x, sum + i, 1, 4, 1);
    } else {
        for (int64_t i = 0; i < part->count; i++, row += part->count_stride)
            TYPED(dot)(part, row, x, sum + i, 1, 4, 0);
    }
}

#undef WIDE_AT
#else
/* The same for elements that have to be widened, in loops that compilers make vectors of: four elements of what is left of k at
 * a time. */
static SUM TYPED(dot)(const IN *row, const SUM *x, int64_t k) {
    enum { LANES = 16, QUAD = 4 };
    SUM lane[LANES] = {0}, rest = 0;
    int64_t p = 0;
    for (; p + LANES <= k; p += LANES)
        for (int i = 0; i < LANES; i++) lane[i] += LOAD(row[p + i]) * x[p + i];
    for (; p + QUAD <= k; p += QUAD)
        for (int i = 0; i < QUAD; i++) lane[i] += LOAD(row[p + i]) * x[p + i];
    for (; p < k; p++) rest += LOAD(row[p]) * x[p];
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) lane[i] += lane[i + width];
    return lane[0] + rest;
}

static void TYPED(dots)(const vector_part *part, void *sums, const void *x) {
    SUM *sum = sums;
    for (int64_t i = 0; i < part->count; i++)
        sum[i] = TYPED(dot)((const IN *)part->matrix + i * part->count_stride, x, part->k);
}
#endif

/* `count` sums of so many columns, a constant. */
INLINE void TYPED(add_columns)(SUM *restrict sum, const IN *restrict column, int64_t deep, const SUM *x,
                               int64_t count, int columns) {
    for (int64_t i = 0; i < count; i++) {
        SUM total = sum[i];
        for (int q = 0; q < columns; q++) total += LOAD(column[q * deep + i]) * x[q];
        sum[i] = total;
    }
}

/* The same of a few, and the lines of those AHEAD are fetched meanwhile. */
INLINE void TYPED(add_and_fetch)(SUM *restrict sum, const IN *restrict column, int64_t deep, const SUM *x,
                                 int64_t count) {
    enum { LINE = 64 / sizeof(IN) };
    int64_t i = 0;
    for (; i + LINE <= count; i += LINE) {
        for (int q = 0; q < FEW; q++) __builtin_prefetch(column + (q + AHEAD) * deep + i, 0, 2);
        TYPED(add_columns)(sum + i, column + i, deep, x, LINE, FEW);
    }
    TYPED(add_columns)(sum + i, column + i, deep, x, count - i, FEW);
}

/* Columns of the matrix are contiguous (or nothing is): several are added into the sums at a time, in order. */
static void TYPED(columns)(const vector_part *part, void *sums, const void *vector) {
    const SUM *x = vector;
    SUM *restrict sum = sums;
    int64_t count = part->count, along = part->count_stride, deep = part->depth_stride, k = part->k, p = 0;
    const IN *column = part->matrix;
    for (int64_t i = 0; i < count; i++) sum[i] = 0;
    if (along == 1) {
        /* Columns that are not there are not fetched: an address without a page takes longer than any. */
        for (; part->fetches && p + AHEAD + FEW <= k; p += FEW)
            TYPED(add_and_fetch)(sum, column + p * deep, deep, x + p, count);
        for (; p + MANY <= k; p += MANY) TYPED(add_columns)(sum, column + p * deep, deep, x + p, count, MANY);
        for (; p + FEW <= k; p += FEW) TYPED(add_columns)(sum, column + p * deep, deep, x + p, count, FEW);
    }
    for (; p < k; p++)
        for (int64_t i = 0; i < count; i++) sum[i] += LOAD(column[p * deep + i * along]) * x[p];
}

/* The vector, widened and made contiguous. */
static void TYPED(gather)(const void *from, int64_t stride, int64_t k, void *to) {
    SUM *out = to;
    for (int64_t p = 0; p < k; p++) out[p] = LOAD(((const IN *)from)[p * stride]);
}
