/* simt_13_along_k: A is copied as it lies and read along k
 * before:  simt_12_pipelined
 * change:  rows of A's tile keep k as their direction; a 128-bit read has WIDTH steps of k of one row
 * why:     turning the tile took a copy of its own, and its address, for every element of A
 * expect:  shared_store_instructions < before.shared_store_instructions
 * expect:  shared_store_conflicts = 0
 * expect:  shared_load_instructions = before.shared_load_instructions
 * limits:  any m, n, k; row-major; alpha and beta; C is not read when beta is 0; sm_80 and later
 * next:    every step of WIDTH begins with reads that the multiply-adds wait for
 *
 * The 16 rows of a thread lie four apart, so that neighbours in a warp read neighbouring rows, which lie in different
 * banks.
 */
#ifndef BM
#define BM 128 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef BK
#define BK 16 /* depth of a stage */
#endif
#ifndef TM
#define TM 16 /* rows of C of a thread */
#endif
#ifndef TN
#define TN 8 /* columns of C of a thread */
#endif
#ifndef STAGES
#define STAGES 3 /* tiles in flight or in use */
#endif
#ifndef BLOCKS
#define BLOCKS 1 /* blocks that must fit a multiprocessor at once, which limits the registers of each */
#endif
#ifndef VEC
#define VEC 4 /* elements of one global access; 1 where rows are not aligned to 16 bytes */
#endif
#define WIDTH ((int)(16 / sizeof(acc_t))) /* elements of a 128-bit access to shared memory */
enum {
    WM = 4 * TM, /* a warp is 4×8 threads */
    WN = 8 * TN,
    THREADS = BM * BN / (TM * TN),
    A_ROWS = THREADS / (BK / VEC), /* rows of a tile that all threads together copy at once */
    B_ROWS = THREADS / (BN / VEC),
    LDA_S = BK + (BK % (8 * WIDTH) == 0 ? 2 * WIDTH : 0), /* rows 128 bytes apart would share their banks */
    LDB_S = BN,
    STAGE = BM * LDA_S + BK * LDB_S
};
VECTOR_TYPE(part, in_t, VEC);
VECTOR_TYPE(piece, acc_t, 16 / sizeof(acc_t));

/* Queues the copies of one stage. Rows and columns beyond the last are read as others that are there: what is made
 * of them is not stored. Beyond k there are zeros. */
DEVICE void load_stage(acc_t *stage, const gemm *g, int row_tile, int col_tile, int k_tile, int tid) {
    UNROLL_BY(4)
    for (int i = 0; i < BM; i += A_ROWS) {
        int row = i + tid / (BK / VEC), k = tid % (BK / VEC) * VEC,
            there = row_tile + row < g->m ? row_tile + row : g->m - 1;
        int inside = k_tile + k < g->k;
        cp_async(&stage[row * LDA_S + k], &g->a[there * g->lda + (inside ? k_tile + k : 0)],
                 VEC * sizeof(acc_t), inside);
    }
    UNROLL_BY(4)
    for (int i = 0; i < BK; i += B_ROWS) {
        int k = i + tid / (BN / VEC), col = tid % (BN / VEC) * VEC,
            there = col_tile + col < g->n ? col_tile + col : 0;
        int inside = k_tile + k < g->k;
        cp_async(&stage[BM * LDA_S + k * LDB_S + col], &g->b[(inside ? k_tile + k : 0) * g->ldb + there],
                 VEC * sizeof(acc_t), inside);
    }
}

/* One stage's worth of multiply-adds. `a` and `b` point to this thread's first elements of the stage. */
DEVICE void multiply_stage(acc_t sums[TM][TN], const acc_t *a_first, const acc_t *b_first) {
    UNROLL_BY(2)
    for (int k = 0; k < BK; k += WIDTH) {
        acc_t b[WIDTH][TN];
        UNROLL
        for (int d = 0; d < WIDTH; d++) {
            UNROLL
            for (int j = 0; j < TN; j += WIDTH)
                *(piece *)&b[d][j] = *(const piece *)&b_first[(k + d) * LDB_S + 8 * j];
        }
        UNROLL
        for (int i = 0; i < TM; i++) {
            piece a = *(const piece *)&a_first[4 * i * LDA_S + k];
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

KERNEL2(THREADS, BLOCKS) simt_13_along_k(gemm whole) {
    DYNAMIC_SHARED(acc_t, stages);
    gemm g = begin(whole);
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int row_tile = blockIdx.y * BM, col_tile = blockIdx.x * BN;
    int lane_row = lane % 2 + lane / 16 * 2, lane_col = lane / 2 % 8;
    int row_first = warp / (BN / WN) * WM + lane_row, col_first = warp % (BN / WN) * WN + lane_col * WIDTH;
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
        multiply_stage(sums, stage + row_first * LDA_S, stage + BM * LDA_S + col_first);
        slot = slot == STAGES - 1 ? 0 : slot + 1;
    }
    cp_wait(0);
    UNROLL
    for (int i = 0; i < TM; i++) {
        int row = row_tile + row_first + 4 * i;
        UNROLL
        for (int j = 0; j < TN; j += WIDTH) store_piece(&g, row, col_tile + col_first + 8 * j, &sums[i][j]);
    }
}
