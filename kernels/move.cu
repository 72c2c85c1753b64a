/* move: the work beside a product: strided copies, and C = beta*C
 *
 * move copies a matrix from any strides to any others. A tile passes through shared memory, so that both sides can
 * be walked along the direction in which they lie. Elements are moved as bits: in_t only has to have their size.
 * move_lines copies lines of neighbours to lines that begin at multiples of 16 bytes, whole words at a time.
 * round_bf16 and round_tf32 take f32, and round it on the way: to bf16, and to the 11 significant bits of TF32.
 */
enum { EDGE = 32, LINES = 4 };
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

DEVICE void move_tile(move v, in_t tile[EDGE][EDGE + 1], int rounded) {
    const from_t *from = (const from_t *)v.from + blockIdx.z * v.batch_from;
    in_t *to = (in_t *)v.to + blockIdx.z * v.batch_to;
    int read_rows = rows_are_closer(v.from_row, v.from_col), write_rows = rows_are_closer(v.to_row, v.to_col);
    int row_tile = blockIdx.y * EDGE, col_tile = blockIdx.x * EDGE;
    UNROLL
    for (int line = threadIdx.y; line < EDGE; line += LINES) {
        int i = read_rows ? threadIdx.x : line, j = read_rows ? line : threadIdx.x;
        int row = row_tile + i, col = col_tile + j;
        if (row < v.rows && col < v.cols)
            tile[i][j] = moved(from[row * v.from_row + col * v.from_col], rounded);
    }
    __syncthreads();
    UNROLL
    for (int line = threadIdx.y; line < EDGE; line += LINES) {
        int i = write_rows ? threadIdx.x : line, j = write_rows ? line : threadIdx.x;
        int row = row_tile + i, col = col_tile + j;
        if (row < v.rows && col < v.cols) to[row * v.to_row + col * v.to_col] = tile[i][j];
    }
}

#if defined(TYPE_BF16_F32)
KERNEL(EDGE *LINES) round_bf16(move v) {
    __shared__ in_t tile[EDGE][EDGE + 1];
    move_tile(v, tile, 1);
}
#else
KERNEL(EDGE *LINES) move_strided(move v) {
    __shared__ in_t tile[EDGE][EDGE + 1];
    move_tile(v, tile, 0);
}

enum { LINE_THREADS = 256, WORDS = 8 };

/* Word w of a line that ends `end` bytes after its first word. Nothing behind the end is read. */
DEVICE unsigned word_of(const unsigned *words, int w, int end) {
    const unsigned char *bytes = (const unsigned char *)words;
    unsigned value = 0;
    if (4 * w + 4 <= end) return words[w];
    for (int i = 4 * w; i < end; i++) value |= (unsigned)bytes[i] << 8 * (i - 4 * w);
    return value;
}

/* Rows of the move are lines; their elements are next to each other on both sides. A line is read from the word on
 * that it begins in, and shifted. */
KERNEL(LINE_THREADS) move_lines(move v) {
    const in_t *line = (const in_t *)v.from + blockIdx.z * v.batch_from + blockIdx.y * v.from_row;
    unsigned *to = (unsigned *)((in_t *)v.to + blockIdx.z * v.batch_to + blockIdx.y * v.to_row);
    int skip = (int)((unsigned long long)line % 4), bytes = v.cols * (int)sizeof(in_t);
    const unsigned *words = (const unsigned *)((const char *)line - skip);
    int first = blockIdx.x * LINE_THREADS * WORDS + threadIdx.x;
    UNROLL
    for (int i = 0; i < WORDS; i++) {
        int w = first + i * LINE_THREADS;
        if (4 * w >= bytes) break;
        unsigned long long both = word_of(words, w, skip + bytes);
        if (skip) both |= (unsigned long long)word_of(words, w + 1, skip + bytes) << 32;
        to[w] = (unsigned)(both >> 8 * skip);
    }
}
#endif

#if defined(TYPE_F32)
KERNEL(EDGE *LINES) round_tf32(move v) {
    __shared__ in_t tile[EDGE][EDGE + 1];
    move_tile(v, tile, 1);
}
#endif

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
