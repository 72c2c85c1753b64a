/* simt_16_batched: a block multiplies several small products of a batch
 * before:  simt_15_split
 * change:  a block has a tile of each of PRODUCTS products; its threads copy all of their operands at once, and each
 *          multiplies a part of one product, to its whole depth
 * why:     a product of 8×8 or 16×16 had a block of its own, which began, met and ended for a few multiply-adds a thread
 * expect:  barriers = 2*ceil(k / BK) - 1
 * expect:  shared_load_conflicts = 0
 * limits:  any m, n, k; A and B in rows or columns; alpha and beta; C is not read when beta is 0; sm_80 and later
 * next:    batches of small products now wait for memory alone; large ones are for tensor cores, from mma_01_wmma on
 *
 * Nothing runs ahead within a block: others of its multiprocessor multiply while it waits. Where products lie one after
 * the other, so do the copies of neighbouring threads, from one product to the next.
 */
#ifndef BM
#define BM 16 /* rows of C of a tile */
#endif
#ifndef BN
#define BN 16 /* columns of C of a tile */
#endif
#ifndef BK
#define BK 16 /* depth that is copied at once */
#endif
#ifndef TM
#define TM 4 /* rows of C of a thread */
#endif
#ifndef TN
#define TN 4 /* columns of C of a thread */
#endif
#ifndef PRODUCTS
#define PRODUCTS 4 /* products of a block: a tile of each */
#endif
#ifndef KUNROLL
#define KUNROLL 2 /* turns of the inner loop, of 16 bytes of A, that are written out */
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
#ifndef AT
#define AT 0 /* A lies in columns: it is copied element by element */
#endif
#ifndef BT
#define BT 0 /* B lies in columns: it is copied element by element */
#endif
#define WIDTH ((int)(16 / sizeof(acc_t))) /* elements of a 128-bit access to shared memory */
enum {
    COLS = BN / TN, /* threads side by side in a tile, and below each other */
    ROWS = BM / TM,
    EACH = ROWS * COLS, /* threads of a product */
    THREADS = PRODUCTS * EACH,
    /* Rows and products are an odd number of 32 bytes apart: in other banks, and no copy has two halves of a sector. Where
     * elements are copied, columns of a tile should lie in other banks too. */
    A_PAD = AT ? (BK % (2 * WIDTH) == 0) * WIDTH : (BK % (4 * WIDTH) == 0) * 2 * WIDTH,
    B_PAD = BT ? (BN % (2 * WIDTH) == 0) * WIDTH : 0,
    LDA_S = BK + A_PAD,
    LDB_S = BN + B_PAD,
    A_SIZE = BM * LDA_S,
    B_SIZE = BK * LDB_S + (BN < 2 * WIDTH ? 2 * WIDTH : BN)
};
VECTOR_TYPE(part, out_t, CVEC);
VECTOR_TYPE(piece, acc_t, 16 / sizeof(acc_t));

/* What this block copies of A or of B: lines that are `batch` apart from a product to the next and `ld` within one; and
 * how many of the products, of their lines and of the elements of a line there are. */
typedef struct source {
    const in_t *first;
    long long ld, batch;
    int products, lines, length;
} source;
/* The tiles that become of them: lines and elements of a line, how far apart these come to lie, and whole tiles; and the
 * elements of one copy. */
typedef struct target {
    int lines, length, ld, step, size, vec;
} target;

/* The bytes of a vector that are there, if `left` elements are. */
DEVICE int bytes_of(int left, int vec) {
    return (left < 0 ? 0 : left < vec ? left : vec) * (int)sizeof(acc_t);
}

/* Queues the copies of a tile of every product. All threads copy whole lines, in turns. Where not all of it is `inside`
 * the matrix there are zeros, and nothing is read. */
DEVICE void copy_tiles(acc_t *tiles, target t, source from, int inside, int tid) {
    int row = t.length / t.vec, together = THREADS / row;
    int product = tid / row / t.lines, line = tid / row % t.lines, at = tid % row * t.vec,
        bytes = bytes_of(from.length - at, t.vec);
    acc_t *to = tiles + product * t.size + line * t.ld + at * t.step;
    from.first += product * from.batch + line * from.ld + at;
    UNROLL_BY(4)
    for (int i = 0; i < PRODUCTS * t.lines; i += together) {
        int products_on = i / t.lines, lines_on = i % t.lines,
            there = product + products_on < from.products && line + lines_on < from.lines;
        cp_async_first(to + products_on * t.size + lines_on * t.ld,
                       from.first + products_on * from.batch + lines_on * from.ld, t.vec * sizeof(acc_t),
                       inside  ? t.vec * (int)sizeof(acc_t)
                       : there ? bytes
                               : 0);
    }
}

DEVICE int is_inside(target t, source from) {
    return from.products >= PRODUCTS && from.lines >= t.lines && from.length >= t.length;
}

/* Those of A and B at a depth. */
DEVICE void copy_operands(acc_t *a_tiles, acc_t *b_tiles, source a, source b, int tid) {
    const target a_target = {AT ? BK : BM,   AT ? BM : BK, AT ? 1 : LDA_S,
                             AT ? LDA_S : 1, A_SIZE,       AT ? 1 : VEC},
                 b_target = {BT ? BN : BK,   BT ? BK : BN, BT ? 1 : LDB_S,
                             BT ? LDB_S : 1, B_SIZE,       BT ? 1 : VEC};
    if (is_inside(a_target, a) && is_inside(b_target, b)) {
        copy_tiles(a_tiles, a_target, a, 1, tid);
        copy_tiles(b_tiles, b_target, b, 1, tid);
    } else {
        copy_tiles(a_tiles, a_target, a, 0, tid);
        copy_tiles(b_tiles, b_target, b, 0, tid);
    }
}

/* From one depth to the next, which are lines of the matrix or elements of its lines. */
DEVICE void go_on(source *from, int by_lines) {
    from->first += by_lines ? BK * from->ld : BK;
    if (by_lines)
        from->lines -= BK;
    else
        from->length -= BK;
}

/* One depth's worth of multiply-adds. `a_first` and `b_first` are this thread's first elements. */
DEVICE void multiply(acc_t sums[TM][TN], const acc_t *a_first, const acc_t *b_first) {
    UNROLL_BY(KUNROLL)
    for (int k = 0; k < BK; k += WIDTH) {
        acc_t b[WIDTH][TN];
        UNROLL
        for (int d = 0; d < WIDTH; d++) {
            UNROLL
            for (int j = 0; j < TN; j += WIDTH)
                *(piece *)&b[d][j] = *(const piece *)&b_first[(k + d) * LDB_S + COLS * j];
        }
        UNROLL
        for (int i = 0; i < TM; i++) {
            piece a = *(const piece *)&a_first[ROWS * i * LDA_S + k];
            UNROLL
            for (int d = 0; d < WIDTH; d++) {
                UNROLL
                for (int j = 0; j < TN; j++) sums[i][j] = FMA(a.at[d], b[d][j], sums[i][j]);
            }
        }
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

KERNEL2(THREADS, BLOCKS) simt_16_batched(gemm g) {
    DYNAMIC_SHARED(acc_t, a_tiles);
    acc_t *b_tiles = a_tiles + PRODUCTS * A_SIZE;
    int tid = threadIdx.x, product = tid / EACH, own = tid % EACH;
    /* Neighbours share a row's pieces of B: then a 128-bit read takes two wavefronts, not four. */
    int row_first = own % 2 + own / (2 * COLS) * 2, col_first = own / 2 % COLS * WIDTH;
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    long long before = (long long)blockIdx.z * PRODUCTS; /* products of other blocks */
    int products = (int)(g.count - before);
    int rows = g.m - row_tile, cols = g.n - col_tile;
    source a = {g.a + before * g.batch_a + row_tile * g.lda,
                AT ? g.a_step : g.lda,
                g.batch_a,
                products,
                AT ? g.k : rows,
                AT ? rows : g.k},
           b = {g.b + before * g.batch_b + col_tile * g.b_step,
                BT ? g.b_step : g.ldb,
                g.batch_b,
                products,
                BT ? cols : g.k,
                BT ? g.k : cols};
    acc_t sums[TM][TN] = {{0}};
    await_last_kernel();
    UNROLL_BY(1)
    for (int k_tile = 0; k_tile < g.k; k_tile += BK) {
        if (k_tile > 0) __syncthreads(); /* everybody is done with what was copied before */
        copy_operands(a_tiles, b_tiles, a, b, tid);
        cp_commit();
        cp_wait(0);
        __syncthreads(); /* all copies have arrived */
        multiply(sums, a_tiles + product * A_SIZE + row_first * LDA_S,
                 b_tiles + product * B_SIZE + col_first);
        go_on(&a, AT);
        go_on(&b, !BT);
    }
    if (product >= products) return;
    g.c += (before + product) * g.batch_c;
    UNROLL
    for (int i = 0; i < TM; i++) {
        UNROLL
        for (int j = 0; j < TN; j += WIDTH)
            store_piece(&g, row_tile + row_first + ROWS * i, col_tile + col_first + COLS * j, &sums[i][j]);
    }
}
