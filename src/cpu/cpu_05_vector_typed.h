/* The loops of cpu_05_vector, for one type (each_type.h). Sums are kept in LANES partial sums, which are
 * added in pairs at the end: the order is the same for every element. */

/* Σ row[p]·x[p], both contiguous. */
static SUM TYPED(dot)(const IN *row, const SUM *x, int64_t k) {
    SUM lane[LANES] = {0};
    int64_t p = 0;
    for (; p + LANES <= k; p += LANES)
        for (int i = 0; i < LANES; i++) lane[i] += LOAD(row[p + i]) * x[p + i];
    for (int i = 0; p < k; p++, i++) lane[i] += LOAD(row[p]) * x[p];
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) lane[i] += lane[i + width];
    return lane[0];
}

static void TYPED(dots)(const vector_part *part, void *sums, const void *x) {
    SUM *sum = sums;
    for (int64_t i = 0; i < part->count; i++)
        sum[i] = TYPED(dot)((const IN *)part->matrix + i * part->count_stride, x, part->k);
}

/* `count` sums of TOGETHER columns. */
static inline __attribute__((always_inline)) void
TYPED(add_columns)(SUM *restrict sum, const IN *restrict column, int64_t deep, const SUM *x, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        SUM total = sum[i];
        for (int q = 0; q < TOGETHER; q++) total += LOAD(column[q * deep + i]) * x[q];
        sum[i] = total;
    }
}

/* Columns of the matrix are contiguous (or nothing is): TOGETHER of them are added into the sums at a time, in order, and
 * those AHEAD fetched meanwhile. */
static void TYPED(columns)(const vector_part *part, void *sums, const void *vector) {
    enum { LINE = 64 / sizeof(IN) };
    const SUM *x = vector;
    SUM *restrict sum = sums;
    int64_t count = part->count, along = part->count_stride, deep = part->depth_stride, p = 0;
    for (int64_t i = 0; i < count; i++) sum[i] = 0;
    for (; along == 1 && p + TOGETHER <= part->k; p += TOGETHER) {
        const IN *column = (const IN *)part->matrix + p * deep;
        int64_t i = 0;
        for (; i + LINE <= count; i += LINE) {
            for (int q = 0; q < TOGETHER; q++) __builtin_prefetch(column + (q + AHEAD) * deep + i, 0, 2);
            TYPED(add_columns)(sum + i, column + i, deep, x + p, LINE);
        }
        TYPED(add_columns)(sum + i, column + i, deep, x + p, count - i);
    }
    for (; p < part->k; p++) {
        const IN *column = (const IN *)part->matrix + p * deep;
        for (int64_t i = 0; i < count; i++) sum[i] += LOAD(column[i * along]) * x[p];
    }
}

/* The vector, widened and made contiguous. */
static void TYPED(gather)(const void *from, int64_t stride, int64_t k, void *to) {
    SUM *out = to;
    for (int64_t p = 0; p < k; p++) out[p] = LOAD(((const IN *)from)[p * stride]);
}
