/* add: makes C of the sums that shares of k have given (src/product.h)
 *
 * Every row of C is a product of a batch: a row of ones times the sums, B, whose row i is what share i gave. Rows of B begin at
 * multiples of 16 bytes. A block is as wide as it has pieces of 16 bytes, of any rows; as high as a piece has threads, each
 * with shares that follow on each other: what counts is how many are on their way at a time. All are added in the order of k.
 */
enum { WIDTH = 16 / sizeof(in_t), THREADS = 256, AT_A_TIME = 8 };
VECTOR_TYPE(piece, in_t, 16 / sizeof(in_t));

/* The first `there` elements of a piece, and zeros. */
DEVICE piece piece_of(const in_t *from, int there) {
    piece p = {{0}};
    if (there >= WIDTH) return *(const piece *)from;
    for (int i = 0; i < there; i++) p.at[i] = from[i];
    return p;
}

DEVICE void add_piece(piece *sums, piece p) {
    UNROLL
    for (int i = 0; i < WIDTH; i++) sums->at[i] = PLUS(sums->at[i], p.at[i]);
}

KERNEL(THREADS) add_shares(gemm g) {
    __shared__ piece parts[THREADS];
    int in_row = (g.n + WIDTH - 1) / WIDTH, number = blockIdx.x * blockDim.x + threadIdx.x,
        row = number / in_row;
    int col = (number - row * in_row) * WIDTH, width = row < g.count ? g.n - col : 0;
    int each = (g.k + blockDim.y - 1) / blockDim.y, first = threadIdx.y * each;
    int last = width == 0 ? 0 : first + each < g.k ? first + each : g.k;
    const in_t *from = g.b + row * g.batch_b + col;
    out_t *c = g.c + row * g.batch_c + col * g.c_step;
    piece sums = {{0}};
    await_last_kernel();
    for (int i = first; i < last; i += AT_A_TIME) {
        piece some[AT_A_TIME];
        UNROLL
        for (int j = 0; j < AT_A_TIME; j++)
            some[j] = piece_of(from + (i + j) * g.ldb, i + j < last ? width : 0);
        UNROLL
        for (int j = 0; j < AT_A_TIME; j++) add_piece(&sums, some[j]);
    }
    parts[threadIdx.y * blockDim.x + threadIdx.x] = sums;
    __syncthreads();
    if (threadIdx.y > 0) return;
    for (int i = 1; i < blockDim.y; i++) add_piece(&sums, parts[i * blockDim.x + threadIdx.x]);
    for (int i = 0; i < WIDTH && i < width; i++, c += g.c_step) *c = TO_OUT(scaled(&g, sums.at[i], c));
}
