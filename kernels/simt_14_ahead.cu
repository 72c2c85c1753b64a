/* simt_14_ahead: fragments are read a step before they are multiplied
 * before:  simt_13_along_k
 * change:  while a step is multiplied, the next one's operands come from shared memory into other registers; the barrier
 *          stands before the last step of a stage, and tiles inside the matrices are copied without looking for edges
 * why:     a warp waited for its reads at every step, and of two warps there is not always another that can go on
 * expect:  shared_store_instructions = before.shared_store_instructions
 * expect:  barriers = 1 + ceil(k / BK)
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0; sm_80 and later
 * next:    a small product has too few tiles for all multiprocessors, and a block too few warps for one
 *
 * A step is WIDTH elements of k. Its operands of B are all in registers; those of A come ROWS rows at a time, so that
 * both sets together leave room for the sums. Columns are taken to and fro, in an order that spares the ports of the
 * register file.
 */
#ifndef BM
#define BM 128 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef BK
#define BK 8 /* depth of a stage */
#endif
#ifndef TM
#define TM 16 /* rows of C of a thread */
#endif
#ifndef TN
#define TN 8 /* columns of C of a thread */
#endif
#ifndef ROWS
#define ROWS 4 /* rows of a thread that are read together */
#endif
#ifndef STAGES
#define STAGES 4 /* tiles in flight or in use */
#endif
#ifndef BLOCKS
#define BLOCKS 1 /* blocks that must fit a multiprocessor at once, which limits the registers of each */
#endif
#ifndef VEC
#define VEC 4 /* elements of one copy of A and B; 1 where their rows are not aligned to 16 bytes */
#endif
#ifndef CVEC
#define CVEC 4 /* elements of one access to C; 1 where its rows are not aligned to 16 bytes */
#endif
#define WIDTH ((int)(16 / sizeof(acc_t))) /* elements of a 128-bit access to shared memory, and of a step */
enum {
    WM = 4 * TM, /* a warp is 4×8 threads */
    WN = 8 * TN,
    THREADS = BM * BN / (TM * TN),
    A_ROWS = THREADS / (BK / VEC), /* rows of a tile that all threads together copy at once */
    B_ROWS = THREADS / (BN / VEC),
    LDA_S = BK + (BK % (8 * WIDTH) == 0 ? 2 * WIDTH : 0), /* rows 128 bytes apart would share their banks */
    LDB_S = BN,
    STAGE = BM * LDA_S + BK * LDB_S,
    STEPS = BK / WIDTH,
    TURNS = TM / ROWS /* of a step */
};
VECTOR_TYPE(part, out_t, CVEC);
VECTOR_TYPE(piece, acc_t, 16 / sizeof(acc_t));

/* What this thread copies of every stage: from where, and the way to its next row. */
typedef struct source {
    const in_t *a, *b;
    long long a_step, b_step;
} source;
/* Operands of two steps (B) and of two turns (A). */
typedef struct fragments {
    piece a[2][ROWS];
    acc_t b[2][WIDTH][TN];
} fragments;

/* Queues the copies of one stage, all of which lies in the matrices. */
DEVICE void copy_inside(acc_t *stage, source from, int tid) {
    acc_t *a = stage + tid / (BK / VEC) * LDA_S + tid % (BK / VEC) * VEC,
          *b = stage + BM * LDA_S + tid / (BN / VEC) * LDB_S + tid % (BN / VEC) * VEC;
    UNROLL_BY(4)
    for (int i = 0; i < BM; i += A_ROWS, from.a += from.a_step)
        cp_async(a + i * LDA_S, from.a, VEC * sizeof(acc_t), 1);
    UNROLL_BY(4)
    for (int i = 0; i < BK; i += B_ROWS, from.b += from.b_step)
        cp_async(b + i * LDB_S, from.b, VEC * sizeof(acc_t), 1);
}

/* The bytes of a vector that are there, if `left` elements are. */
DEVICE int bytes_of(int left) {
    return (left < 0 ? 0 : left < VEC ? left : VEC) * (int)sizeof(acc_t);
}

/* The same at an edge: so many rows of A, columns of B and so much of k are left. Beyond them there are zeros, and nothing
 * is read. */
DEVICE void copy_edge(acc_t *stage, source from, int rows, int cols, int depth, int tid) {
    int a_row = tid / (BK / VEC), a_k = tid % (BK / VEC) * VEC, b_k = tid / (BN / VEC),
        b_col = tid % (BN / VEC) * VEC;
    acc_t *a = stage + a_row * LDA_S + a_k, *b = stage + BM * LDA_S + b_k * LDB_S + b_col;
    int a_bytes = bytes_of(depth - a_k), b_bytes = bytes_of(cols - b_col);
    UNROLL_BY(2)
    for (int i = 0; i < BM; i += A_ROWS, from.a += from.a_step)
        cp_async_first(a + i * LDA_S, from.a, VEC * sizeof(acc_t), a_row + i < rows ? a_bytes : 0);
    UNROLL_BY(2)
    for (int i = 0; i < BK; i += B_ROWS, from.b += from.b_step)
        cp_async_first(b + i * LDB_S, from.b, VEC * sizeof(acc_t), b_k + i < depth ? b_bytes : 0);
}

DEVICE void read_a(piece a[ROWS], const acc_t *a_first, int row, int k) {
    UNROLL
    for (int i = 0; i < ROWS; i++) a[i] = *(const piece *)&a_first[4 * (row + i) * LDA_S + k];
}

/* A step has TN pieces of B. */
DEVICE void read_b(acc_t b[WIDTH][TN], const acc_t *b_first, int number, int k) {
    int d = number / (TN / WIDTH), j = number % (TN / WIDTH) * WIDTH;
    *(piece *)&b[d][j] = *(const piece *)&b_first[(k + d) * LDB_S + 8 * j];
}

/* The column that is taken at this turn. To and fro: where the row changes, the column stays, and its element of B is still
 * at hand. A multiply-add that reads two registers of one of the two banks waits a cycle: A's element lies in bank d % 2,
 * the sum in that which B's element does not lie in, and with even columns at both ends for even d, and odd ones for odd,
 * these two differ where the row changes. Elements of 8 bytes lie in both banks. */
DEVICE int column_of(int d, int row, int turn) {
    if (WIDTH < 4) return (row + d) % 2 ? TN - 1 - turn : turn;
    int at = row % 2 ? TN - 1 - turn : turn;
    if (d % 2) return at < 2 ? 1 - at : at;
    return at < TN - 2 ? at : 2 * TN - 3 - at;
}

DEVICE void multiply_rows(acc_t sums[ROWS][TN], const piece a[ROWS], acc_t b[WIDTH][TN]) {
    UNROLL
    for (int d = 0; d < WIDTH; d++) {
        UNROLL
        for (int i = 0; i < ROWS; i++) {
            UNROLL
            for (int turn = 0; turn < TN; turn++) {
                int j = column_of(d, i, turn);
                sums[i][j] = FMA(a[i].at[d], b[d][j], sums[i][j]);
            }
        }
    }
}

/* Multiplies a step, from `a_now` on, and reads what the next one begins with, from `a_next` and `b_next` on. */
DEVICE void multiply_step(acc_t sums[TM][TN], fragments *f, int step, const acc_t *a_now, const acc_t *a_next,
                          const acc_t *b_next) {
    UNROLL
    for (int turn = 0; turn < TURNS; turn++) {
        int set = (step * TURNS + turn) % 2;
        if (turn + 1 < TURNS)
            read_a(f->a[!set], a_now, (turn + 1) * ROWS, 0);
        else
            read_a(f->a[!set], a_next, 0, 0);
        UNROLL
        for (int i = turn * TN / TURNS; i < (turn + 1) * TN / TURNS; i++)
            read_b(f->b[(step + 1) % 2], b_next, i, 0);
        multiply_rows(&sums[turn * ROWS], f->a[set], f->b[step % 2]);
    }
}

DEVICE void store_piece(const gemm *g, int row, int col_first, const acc_t *sums) {
    UNROLL
    for (int j = 0; j < WIDTH; j += CVEC) {
        int col = col_first + j;
        if (row >= g->m || col >= g->n) continue;
        part *c = (part *)&g->c[row * g->ldc + col], p = {{0}};
        if (g->beta.value != 0) p = *c;
        UNROLL
        for (int v = 0; v < CVEC; v++) p.at[v] = scaled(g, sums[j + v], &p.at[v]);
        *c = p;
    }
}

KERNEL2(THREADS, BLOCKS) simt_14_ahead(gemm whole) {
    DYNAMIC_SHARED(acc_t, stages);
    gemm g = begin(whole);
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int lane_row = lane % 2 + lane / 16 * 2, lane_col = lane / 2 % 8;
    int row_first = warp / (BN / WN) * WM + lane_row, col_first = warp % (BN / WN) * WN + lane_col * WIDTH;
    int tiles = (g.k + BK - 1) / BK, inside = row_tile + BM <= g.m && col_tile + BN <= g.n ? g.k / BK : 0;
    source from = {g.a + (row_tile + tid / (BK / VEC)) * g.lda + tid % (BK / VEC) * VEC,
                   g.b + tid / (BN / VEC) * g.ldb + col_tile + tid % (BN / VEC) * VEC, A_ROWS * g.lda,
                   B_ROWS * g.ldb};
    acc_t sums[TM][TN] = {{0}};
    fragments f;
    UNROLL_BY(1)
    for (int t = 0; t < STAGES - 1; t++) {
        if (t < inside)
            copy_inside(stages + t * STAGE, from, tid);
        else if (t < tiles)
            copy_edge(stages + t * STAGE, from, g.m - row_tile, g.n - col_tile, g.k - t * BK, tid);
        cp_commit();
        from.a += BK;
        from.b += BK * g.ldb;
    }
    cp_wait(STAGES - 2);
    __syncthreads(); /* the first tile has arrived */
    int a_first = row_first * LDA_S, b_first = BM * LDA_S + col_first;
    const acc_t *a_now = stages + a_first, *b_now = stages + b_first;
    read_a(f.a[0], a_now, 0, 0);
    UNROLL
    for (int i = 0; i < TN; i++) read_b(f.b[0], b_now, i, 0);
    UNROLL_BY(1)
    for (int t = 0, slot = 0, place = STAGES - 1; t < tiles; t++) {
        UNROLL
        for (int step = 0; step < STEPS - 1; step++)
            multiply_step(sums, &f, step, a_now + step * WIDTH, a_now + (step + 1) * WIDTH,
                          b_now + (step + 1) * WIDTH * LDB_S);
        cp_wait(STAGES - 3);
        __syncthreads(); /* tile t + 1 has arrived, and everybody is done with tile t - 1, whose place is filled */
        int ahead = t + STAGES - 1;
        if (ahead < inside)
            copy_inside(stages + place * STAGE, from, tid);
        else if (ahead < tiles)
            copy_edge(stages + place * STAGE, from, g.m - row_tile, g.n - col_tile, g.k - ahead * BK, tid);
        cp_commit();
        from.a += BK;
        from.b += BK * g.ldb;
        place = place == STAGES - 1 ? 0 : place + 1;
        /* After the last tile come its own operands again, and nobody multiplies them. */
        if (t + 1 < tiles) slot = slot == STAGES - 1 ? 0 : slot + 1;
        const acc_t *a_next = stages + slot * STAGE + a_first, *b_next = stages + slot * STAGE + b_first;
        multiply_step(sums, &f, STEPS - 1, a_now + (STEPS - 1) * WIDTH, a_next, b_next);
        a_now = a_next;
        b_now = b_next;
    }
    cp_wait(0);
    UNROLL
    for (int i = 0; i < TM; i++) {
        int row = row_tile + row_first + 4 * i;
        UNROLL
        for (int j = 0; j < TN; j += WIDTH) store_piece(&g, row, col_tile + col_first + 8 * j, &sums[i][j]);
    }
}
