/* The loop of cpu_01_naive, for one type (each_type.h). */
static void TYPED(dot_row)(const cpu_row *row, void *sums) {
    const IN *a = row->a, *b = row->b;
    SUM *sum = sums;
    for (int64_t j = 0; j < row->cols; j++) {
        SUM total = 0;
        for (int64_t p = 0; p < row->k; p++)
            total += LOAD(a[p * row->a_col]) * LOAD(b[p * row->b_row + j * row->b_col]);
        sum[j] = total;
    }
}
