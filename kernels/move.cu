/* move: the work beside a product: strided copies, and C = beta*C
 *
 * move copies a matrix from any strides to any others. A tile passes through shared memory, so that both sides can
 * be walked along the direction in which they lie. Elements are moved as bits: in_t only has to have their size.
 */
enum { EDGE = 32, LINES = 8 };

/* Whether neighbouring threads should take neighbouring rows: those that lie closer together. */
DEVICE int rows_are_closer(long long row_stride, long long col_stride) {
    long long row = row_stride < 0 ? -row_stride : row_stride,
              col = col_stride < 0 ? -col_stride : col_stride;
    return row < col;
}

KERNEL(EDGE *LINES) move_strided(move v) {
    __shared__ in_t tile[EDGE][EDGE + 1];
    const in_t *from = (const in_t *)v.from + blockIdx.z * v.batch_from;
    in_t *to = (in_t *)v.to + blockIdx.z * v.batch_to;
    int read_rows = rows_are_closer(v.from_row, v.from_col), write_rows = rows_are_closer(v.to_row, v.to_col);
    int row_tile = blockIdx.y * EDGE, col_tile = blockIdx.x * EDGE;
    for (int line = threadIdx.y; line < EDGE; line += LINES) {
        int i = read_rows ? threadIdx.x : line, j = read_rows ? line : threadIdx.x;
        int row = row_tile + i, col = col_tile + j;
        if (row < v.rows && col < v.cols) tile[i][j] = from[row * v.from_row + col * v.from_col];
    }
    __syncthreads();
    for (int line = threadIdx.y; line < EDGE; line += LINES) {
        int i = write_rows ? threadIdx.x : line, j = write_rows ? line : threadIdx.x;
        int row = row_tile + i, col = col_tile + j;
        if (row < v.rows && col < v.cols) to[row * v.to_row + col * v.to_col] = tile[i][j];
    }
}

KERNEL(EDGE *LINES) scale_strided(gemm whole) {
    gemm g = begin(whole);
    int by_rows = rows_are_closer(g.ldc, g.c_step);
    for (int line = threadIdx.y; line < EDGE; line += LINES) {
        int row = blockIdx.y * EDGE + (by_rows ? threadIdx.x : line);
        int col = blockIdx.x * EDGE + (by_rows ? line : threadIdx.x);
        if (row >= g.m || col >= g.n) continue;
        out_t *c = g.c + row * g.ldc + col * g.c_step;
        *c = TO_OUT(scaled(&g, 0, c));
    }
}
