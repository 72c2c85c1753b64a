/* The loop of cpu_02_streamed, for one type (each_type.h). */
static void TYPED(add_rows)(const cpu_row *row, void *sums) {
    const IN *a = row->a;
    SUM *restrict sum = sums;
    int64_t cols = row->cols, b_col = row->b_col;
    for (int64_t j = 0; j < cols; j++) sum[j] = 0;
    for (int64_t p = 0; p < row->k; p++) {
        const IN *restrict b = (const IN *)row->b + p * row->b_row;
        SUM factor = LOAD(a[p * row->a_col]);
        if (b_col == 1)
            for (int64_t j = 0; j < cols; j++) sum[j] += factor * LOAD(b[j]);
        else
            for (int64_t j = 0; j < cols; j++) sum[j] += factor * LOAD(b[j * b_col]);
    }
}
