/* Merging sums into C for one output type: OUT and SUM are its types, TO_OUT and FROM_OUT convert, TO_SCALAR
 * turns alpha and beta into SUM. */
static void TYPED(scale_row)(OUT *restrict c, int64_t c_col, int64_t cols, SUM beta) {
    for (int64_t j = 0; j < cols; j++) c[j * c_col] = TO_OUT(beta * FROM_OUT(c[j * c_col]));
}

static void TYPED(write_row)(OUT *restrict c, int64_t c_col, const SUM *restrict sums, int64_t cols,
                             SUM alpha) {
    for (int64_t j = 0; j < cols; j++) c[j * c_col] = TO_OUT(alpha * sums[j]);
}

static void TYPED(merge_row)(OUT *restrict c, int64_t c_col, const SUM *restrict sums, int64_t cols,
                             SUM alpha, SUM beta) {
    for (int64_t j = 0; j < cols; j++) c[j * c_col] = TO_OUT(alpha * sums[j] + beta * FROM_OUT(c[j * c_col]));
}

static void TYPED(clear_row)(OUT *restrict c, int64_t c_col, int64_t cols) {
    for (int64_t j = 0; j < cols; j++) c[j * c_col] = 0; /* zero bits are zero in every type */
}

/* The contiguous case is spelled out so that the compiler makes vectors of it. */
static void TYPED(store)(const cpu_store *where, const SUM *sums, int64_t sums_row, int64_t rows,
                         int64_t cols) {
    SUM alpha = TO_SCALAR(where->alpha), beta = TO_SCALAR(where->beta);
    int64_t step = where->c_col;
    for (int64_t i = 0; i < rows; i++) {
        OUT *c = (OUT *)(void *)where->c + i * where->c_row;
        const SUM *row = sums ? sums + i * sums_row : NULL;
        if (!row && beta == 0)
            TYPED(clear_row)(c, step, cols);
        else if (!row)
            TYPED(scale_row)(c, step, cols, beta);
        else if (beta == 0 && step == 1)
            TYPED(write_row)(c, 1, row, cols, alpha);
        else if (beta == 0)
            TYPED(write_row)(c, step, row, cols, alpha);
        else if (step == 1)
            TYPED(merge_row)(c, 1, row, cols, alpha, beta);
        else
            TYPED(merge_row)(c, step, row, cols, alpha, beta);
    }
}

#undef SUFFIX
#undef OUT
#undef SUM
#undef TO_OUT
#undef FROM_OUT
#undef TO_SCALAR
