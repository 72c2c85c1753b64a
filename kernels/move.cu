/* move: the work beside a product: strided copies, and C = beta*C
 *
 * move copies a matrix from any strides to any others. A tile passes through shared memory, so that both sides can
 * be walked along the direction in which they lie. Elements are moved as bits: in_t only has to have their size.
 * round_bf16 and round_tf32 take f32, and round it on the way: to bf16, and to the 11 significant bits of TF32.
 *
 * What counts is how much is on its way at a time: every thread asks for all its elements before it uses one.
 */
enum { EDGE = 64, LINES = 4, MINE = EDGE / LINES };
/* From a row of a tile to the next: an odd number of words, so that a column's elements lie in all banks. */
enum { PITCH = EDGE + (sizeof(in_t) < 4 ? 4 / (int)sizeof(in_t) : 1) };
#if defined(TYPE_BF16_F32)
typedef float from_t;
#else
typedef in_t from_t;
#endif

DEVICE in_t moved(from_t value, int rounded) {
#if defined(TYPE_BF16_F32)
    return (in_t)to_bf16(value);
#elif defined(TYPE_F32)
    /* To nearest, ties away from zero, as tensor cores would have it; infinity and NaN stay. */
    unsigned bits = bits_of_float(value);
    return rounded && (bits & 0x7f800000u) != 0x7f800000u ? float_of_bits((bits + 0x1000u) & ~0x1fffu)
                                                          : value;
#else
    return value;
#endif
}

/* Whether neighbouring threads should take neighbouring rows: those that lie closer together. */
DEVICE int rows_are_closer(long long row_stride, long long col_stride) {
    long long row = row_stride < 0 ? -row_stride : row_stride,
              col = col_stride < 0 ? -col_stride : col_stride;
    return row < col;
}

/* Threads next to each other in x take neighbours, on either side; a thread's elements are LINES apart across. */
DEVICE void move_tile(move v, in_t tile[EDGE][PITCH], int rounded) {
    int read_rows = rows_are_closer(v.from_row, v.from_col), write_rows = rows_are_closer(v.to_row, v.to_col);
    int row_tile = blockIdx.y * EDGE, col_tile = blockIdx.x * EDGE, x = threadIdx.x, y = threadIdx.y;
    const from_t *from = (const from_t *)v.from + blockIdx.z * v.batch_from + row_tile * v.from_row +
                         col_tile * v.from_col + x * (read_rows ? v.from_row : v.from_col) +
                         y * (read_rows ? v.from_col : v.from_row);
    in_t *to = (in_t *)v.to + blockIdx.z * v.batch_to + row_tile * v.to_row + col_tile * v.to_col +
               x * (write_rows ? v.to_row : v.to_col) + y * (write_rows ? v.to_col : v.to_row);
    long long from_step = LINES * (read_rows ? v.from_col : v.from_row),
              to_step = LINES * (write_rows ? v.to_col : v.to_row);
    int wide = (read_rows ? v.rows - row_tile : v.cols - col_tile) > x,
        high = (read_rows ? v.cols - col_tile : v.rows - row_tile) - y;
    int wide_to = (write_rows ? v.rows_to - row_tile : v.cols_to - col_tile) > x,
        high_to = (write_rows ? v.cols_to - col_tile : v.rows_to - row_tile) - y;
    in_t *slot = read_rows ? &tile[x][y] : &tile[y][x];
    const in_t *other = write_rows ? &tile[x][y] : &tile[y][x];
    int slot_step = LINES * (read_rows ? 1 : PITCH), other_step = LINES * (write_rows ? 1 : PITCH);
    from_t mine[MINE];
    await_last_kernel();
    UNROLL
    for (int n = 0; n < MINE; n++) mine[n] = wide && n * LINES < high ? from[n * from_step] : (from_t)0;
    UNROLL
    for (int n = 0; n < MINE; n++) slot[n * slot_step] = moved(mine[n], rounded);
    __syncthreads();
    UNROLL
    for (int n = 0; n < MINE; n++)
        if (wide_to && n * LINES < high_to) to[n * to_step] = other[n * other_step];
}

#if defined(TYPE_BF16_F32)
KERNEL(EDGE *LINES) round_bf16(move v) {
    __shared__ in_t tile[EDGE][PITCH];
    move_tile(v, tile, 1);
}
#else
KERNEL(EDGE *LINES) move_strided(move v) {
    __shared__ in_t tile[EDGE][PITCH];
    move_tile(v, tile, 0);
}
#endif

#if defined(TYPE_F32)
KERNEL(EDGE *LINES) round_tf32(move v) {
    __shared__ in_t tile[EDGE][PITCH];
    move_tile(v, tile, 1);
}
#endif

KERNEL(EDGE *LINES) scale_strided(gemm whole) {
    gemm g = begin(whole);
    int by_rows = rows_are_closer(g.ldc, g.c_step);
    await_last_kernel();
    for (int line = threadIdx.y; line < EDGE; line += LINES) {
        int row = blockIdx.y * EDGE + (by_rows ? threadIdx.x : line);
        int col = blockIdx.x * EDGE + (by_rows ? line : threadIdx.x);
        if (row >= g.m || col >= g.n) continue;
        out_t *c = g.c + row * g.ldc + col * g.c_step;
        *c = g.beta.value == 0 ? TO_OUT(0) : TO_OUT(TIMES(g.beta.value, FROM_OUT(*c))); /* -0 stays */
    }
}
