/* simt_12_pipelined: copies to shared memory run ahead of the arithmetic
 * before:  simt_11_warptile
 * change:  cp.async fills a ring of STAGES tiles; one barrier per tile instead of two
 * why:     while a tile is multiplied the next ones are on their way, without passing through registers
 * expect:  barriers = ceil(k / BK)
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0; sm_80 and later
 * next:    every eleventh instruction or so is no multiply-add: what it takes to pass cuBLAS begins here
 *
 * A is transposed on its way, element by element: the copies are few beside the arithmetic. A warp's 4×8 threads are
 * laid out so that neighbours share an address of A or of B: a 128-bit read then takes two wavefronts, not four.
 */
#ifndef BM
#define BM 128 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef BK
#define BK 32 /* depth of a stage */
#endif
#ifndef TM
#define TM 16 /* rows of C of a thread */
#endif
#ifndef TN
#define TN 8 /* columns of C of a thread */
#endif
#ifndef STAGES
#define STAGES 2 /* tiles in flight or in use */
#endif
#ifndef KUNROLL
#define KUNROLL 8 /* turns of the inner loop that are written out */
#endif
#ifndef BLOCKS
#define BLOCKS 1 /* blocks that must fit a multiprocessor at once, which limits the registers of each */
#endif
#ifndef VEC
#define VEC 4 /* elements of one global access to B and C; 1 where rows are not aligned to 16 bytes */
#endif
#define WIDTH ((int)(16 / sizeof(acc_t))) /* elements of a 128-bit access to shared memory */
enum {
    WM = 4 * TM, /* a warp is 4×8 threads */
    WN = 8 * TN,
    THREADS = BM * BN / (TM * TN),
    A_ROWS = THREADS / BK, /* rows of a tile that all threads together copy at once */
    B_ROWS = THREADS / (BN / VEC),
    LDA_S = BM + 4, /* the padding spreads the transposed copies over the banks, and keeps rows aligned */
    LDB_S = BN,
    STAGE = BK * (LDA_S + LDB_S)
};
VECTOR_TYPE(part, in_t, VEC);
VECTOR_TYPE(piece, acc_t, 16 / sizeof(acc_t));

/* Queues the copies of one stage. Rows and columns beyond the last are read as others that are there: what is made
 * of them is not stored. Beyond k there are zeros. */
DEVICE void load_stage(acc_t *stage, const gemm *g, int row_tile, int col_tile, int k_tile, int tid) {
    UNROLL
    for (int i = 0; i < BM; i += A_ROWS) {
        int row = i + tid / BK, k = tid % BK, there = row_tile + row < g->m ? row_tile + row : g->m - 1;
        int inside = k_tile + k < g->k;
        cp_async(&stage[k * LDA_S + row], &g->a[there * g->lda + (inside ? k_tile + k : 0)], sizeof(acc_t),
                 inside);
    }
    UNROLL
    for (int i = 0; i < BK; i += B_ROWS) {
        int k = i + tid / (BN / VEC), col = tid % (BN / VEC) * VEC,
            there = col_tile + col < g->n ? col_tile + col : 0;
        int inside = k_tile + k < g->k;
        cp_async(&stage[BK * LDA_S + k * LDB_S + col], &g->b[(inside ? k_tile + k : 0) * g->ldb + there],
                 VEC * sizeof(acc_t), inside);
    }
}

/* One stage's worth of multiply-adds. `a` and `b` point to this thread's first elements of the stage. */
DEVICE void multiply_stage(acc_t sums[TM][TN], const acc_t *a_first, const acc_t *b_first) {
    UNROLL_BY(KUNROLL)
    for (int k = 0; k < BK; k++) {
        acc_t a[TM], b[TN];
        UNROLL
        for (int i = 0; i < TM; i += WIDTH) *(piece *)&a[i] = *(const piece *)&a_first[k * LDA_S + 4 * i];
        UNROLL
        for (int j = 0; j < TN; j += WIDTH) *(piece *)&b[j] = *(const piece *)&b_first[k * LDB_S + 8 * j];
        UNROLL
        for (int i = 0; i < TM; i++) {
            UNROLL
            for (int j = 0; j < TN; j++) sums[i][j] = FMA(a[i], b[j], sums[i][j]);
        }
    }
}

DEVICE void store_piece(const gemm *g, int row, int col_first, const acc_t *sums) {
    UNROLL
    for (int j = 0; j < WIDTH; j += VEC) {
        int col = col_first + j;
        if (row >= g->m || col >= g->n) continue;
        part *c = (part *)&g->c[row * g->ldc + col], p = {{0}};
        if (g->beta.value != 0) p = *c;
        UNROLL
        for (int v = 0; v < VEC; v++) p.at[v] = scaled(g, sums[j + v], &p.at[v]);
        *c = p;
    }
}

KERNEL2(THREADS, BLOCKS) simt_12_pipelined(gemm whole) {
    DYNAMIC_SHARED(acc_t, stages);
    gemm g = begin(whole);
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int lane_row = lane % 2 + lane / 16 * 2, lane_col = lane / 2 % 8;
    int row_first = warp / (BN / WN) * WM + lane_row * WIDTH,
        col_first = warp % (BN / WN) * WN + lane_col * WIDTH;
    acc_t sums[TM][TN] = {{0}};
    int tiles = (g.k + BK - 1) / BK;
    UNROLL
    for (int t = 0; t < STAGES - 1; t++) {
        if (t < tiles) load_stage(stages + t * STAGE, &g, row_tile, col_tile, t * BK, tid);
        cp_commit();
    }
    for (int t = 0, slot = 0; t < tiles; t++) {
        cp_wait(STAGES - 2);
        __syncthreads(); /* tile t has arrived, and everybody is done with tile t - 1, whose place is filled next */
        int ahead = t + STAGES - 1;
        if (ahead < tiles) {
            int place = slot == 0 ? STAGES - 1 : slot - 1;
            load_stage(stages + place * STAGE, &g, row_tile, col_tile, ahead * BK, tid);
        }
        cp_commit();
        const acc_t *stage = stages + slot * STAGE;
        multiply_stage(sums, stage + row_first, stage + BK * LDA_S + col_first);
        slot = slot == STAGES - 1 ? 0 : slot + 1;
    }
    cp_wait(0);
    UNROLL
    for (int i = 0; i < TM; i++) {
        int row = row_tile + row_first + i / WIDTH * (4 * WIDTH) + i % WIDTH;
        UNROLL
        for (int j = 0; j < TN; j += WIDTH) store_piece(&g, row, col_tile + col_first + 8 * j, &sums[i][j]);
    }
}
