/* mma_08_f64: tensor cores multiply f64 too
 * before:  simt_12_pipelined
 * change:  a warp multiplies fragments of 16×8 sums, KSTEP of k deep, instead of a thread its own elements one by one; as in
 *          simt_15_split, groups of a block's warps may split k
 * why:     the tensor cores of sm_80, sm_90 and sm_100 make twice the multiply-adds of f64 that the ordinary cores make, and
 *          one instruction is up to 2048 of them
 * expect:  mma_instructions = m*n*k / (128*KSTEP)
 * expect:  shared_load_instructions = m*n*(k + KSTEP*SPLIT)*(1/WM + 1/WN) / 64 + m*n*SPLIT*(SPLIT > 1) / 64
 * expect:  shared_load_conflicts = 0
 * expect:  barriers = ceil(k / (SPLIT*BK)) + 1 + 2*(SPLIT > 1)
 * limits:  any m, n, k; A and B in rows or columns; f64 alone; sm_80 and later
 * next:    nothing: of what tensor cores can do in f64 nine tenths are done
 *
 * k may come in any order that A and B agree on, and so may rows and columns of a fragment. Lane 4*group + quad takes of
 * every 8 of k those with the numbers 2*quad and 2*quad + 1, and of every 16 rows or columns 2*group and 2*group + 1: two
 * neighbours, however a matrix lies, which are one access of 16 bytes. Columns of C are the rows of a fragment: then what
 * is read of A and B in rows lies in the registers as mma wants it, and a row of C is written 128 bytes at once.
 */
#ifndef BM
#define BM 128 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef BK
#define BK 16 /* depth of a stage, of one group */
#endif
#ifndef WM
#define WM 32 /* rows of C of a warp */
#endif
#ifndef WN
#define WN 64 /* columns of C of a warp */
#endif
#ifndef SPLIT
#define SPLIT 1 /* groups of warps that split k */
#endif
#ifndef STAGES
#define STAGES 4 /* tiles in flight or in use */
#endif
#ifndef KSTEP
#define KSTEP 8 /* depth of one mma: 8 or 16 */
#endif
#ifndef GROUP
#define GROUP 16 /* rows of tiles that are walked together */
#endif
#ifndef AT
#define AT 0 /* 1: A lies in columns */
#endif
#ifndef BT
#define BT 0 /* 1: B lies in columns */
#endif
#ifndef VEC
#define VEC 2 /* elements of one copy: 16 bytes, or 8 where rows are not aligned */
#endif
#include "doubles.h"
#include "raster.h"
#define SIZE ((int)sizeof(in_t))
/* Before sm_90 an mma is not so deep, and shallow fragments need fewer registers. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define DEEP 8
#else
#define DEEP KSTEP
#endif
enum {
    STEPS = BK / DEEP,
    B_PARTS = WN / 16, /* fragments */
    A_PARTS = WM / 8,
    DEPTH = SPLIT * BK, /* of a stage */
    TEAM = BM / WM * (BN / WN) * 32,
    THREADS = SPLIT * TEAM,
    /* A tile is lines of elements, as the matrix lies: along k, or along m or n. */
    A_LINES = AT ? DEPTH : BM,
    A_LENGTH = AT ? BM : DEPTH,
    B_LINES = BT ? BN : DEPTH,
    B_LENGTH = BT ? DEPTH : BN,
    A_BYTES = A_LINES * A_LENGTH * SIZE,
    STAGE = A_BYTES + B_LINES * B_LENGTH * SIZE,
    PAIRS = WM * WN / 64 /* of neighbours in a row of C, of a lane */
};
VECTOR_TYPE(pair, acc_t, 2);

/* Where the pair number `number` of a line lies. Eight lanes read 128 bytes at a time: along k half a line of 128 bytes
 * and half of the next line but one, else a quarter of every second line. The exclusive or moves each part to banks of its own. */
DEVICE int place(int line, int number, int length, int along_k) {
    int turn = along_k ? line / 2 % 2 * 4 : line / 2 % 4 * 2;
    return (line * length / 2 + (number ^ turn)) * 16;
}

/* What a thread copies of a matrix, line after line and tile after tile. */
typedef struct source {
    const char *at;  /* its next piece */
    long long hop;   /* bytes from one of its lines to the next */
    long long next;  /* and from its last line of a tile to its first of the next tile */
    shared_t to;     /* where the first piece of a tile goes, in the first stage */
    int line, piece; /* its first line, its first element of a line */
} source;

DEVICE source begin_source(const in_t *matrix, long long distance, long long step, shared_t tile, int lines,
                           int length, int along_k) {
    const int pieces = length / VEC, skip = THREADS / pieces;
    int line = threadIdx.x / pieces, piece = threadIdx.x % pieces * VEC;
    source s = {(const char *)(matrix + line * distance + piece),
                skip * distance * SIZE,
                (DEPTH * step - (lines - 1) / skip * skip * distance) * SIZE,
                tile + place(line, piece / 2, length, along_k) + piece % 2 * SIZE,
                line,
                piece};
    return s;
}

/* Queues the copies of a tile into the stage at `offset`. `there` lines of it are in the matrix, `left` elements long; zeros
 * take the place of what is not. */
DEVICE void load_tile(int offset, source *s, int there, int left, int lines, int length, int along_k) {
    const int skip = THREADS * VEC / length;
    int present = left - s->piece;
    present = (present < 0 ? 0 : present > VEC ? VEC : present) * SIZE;
    UNROLL
    for (int i = 0; i < lines; i += skip) {
        shared_t to = s->to + offset + place(s->line + i, s->piece / 2, length, along_k) -
                      place(s->line, s->piece / 2, length, along_k);
        if (lines % skip == 0 || s->line + i < lines)
            cp_async_at(to, s->at, VEC * SIZE, there - s->line > i ? present : 0);
        s->at = kept(s->at + (i + skip < lines ? s->hop : s->next));
    }
}

/* A block's work: both matrices, and what is left of them from the next tile on. */
typedef struct work {
    source a, b;
    int rows, cols, depth;
} work;

/* Where there is nothing more to copy zeros are, but not in small products, which end soon: the loop then has no branch, and
 * copies mingle with products. */
#define ALWAYS (SPLIT == 1)
DEVICE void load_stage(int offset, work *w) {
    if (ALWAYS || w->depth > 0) {
        load_tile(offset, &w->a, AT ? w->depth : w->rows, AT ? w->rows : w->depth, A_LINES, A_LENGTH, !AT);
        load_tile(offset, &w->b, BT ? w->cols : w->depth, BT ? w->depth : w->cols, B_LINES, B_LENGTH, BT);
    }
    cp_commit();
    w->depth -= DEPTH;
}

typedef struct fragments {
    acc_t b[B_PARTS][DEEP / 2], a[A_PARTS][DEEP / 4];
} fragments;

/* Where this lane's part of step 0 begins in a stage: of the group's part of k, and of the warp's rows or columns. */
DEVICE int first_pair(int line_first, int k_first, int length, int along_k) {
    int group = threadIdx.x % 32 / 4, quad = threadIdx.x % 4;
    return along_k ? place(line_first + 2 * group, k_first / 2 + quad, length, 1)
                   : place(k_first + 2 * quad, line_first / 2 + group, length, 0);
}

/* Of 16 rows or columns from `first` on: one of the two pairs that a lane has of them, for number `eight` of the 8 of k. Along
 * k it is of one row or column; else of one k. */
DEVICE pair load_pair(shared_t at, int eight, int first, int which, int length, int along_k) {
    shared_t from = along_k ? (at ^ eight % 2 * 64) + eight / 2 * 128 + (first + which) * length * SIZE
                            : at + (eight * 8 + which) * length * SIZE + first * SIZE;
    return *(const pair *)shared_pointer(from);
}

/* Fragment number `i` of B, 16 columns; and numbers i and i + 1 of A, 16 rows. */
DEVICE void load_b(fragments *f, shared_t b, int step, int i) {
    UNROLL
    for (int part = 0; part < DEEP / 4; part++) {
        int eight = part / 2, which = part % 2;
        pair p = load_pair(b, step * (DEEP / 8) + eight, 16 * i, which, B_LENGTH, BT);
        f->b[i][4 * eight + (BT ? which : 2 * which)] = p.at[0];
        f->b[i][4 * eight + (BT ? which + 2 : 2 * which + 1)] = p.at[1];
    }
}
DEVICE void load_a(fragments *f, shared_t a, int step, int i) {
    UNROLL
    for (int part = 0; part < DEEP / 4; part++) {
        int eight = part / 2, which = part % 2;
        pair p = load_pair(a, step * (DEEP / 8) + eight, 8 * i, which, A_LENGTH, !AT);
        f->a[AT ? i : i + which][2 * eight + (AT ? which : 0)] = p.at[0];
        f->a[AT ? i + 1 : i + which][2 * eight + (AT ? which : 1)] = p.at[1];
    }
}

/* Where a block is in the ring of stages, and where this lane's fragments begin in the first of them. */
typedef struct ring {
    shared_t a, b;
    int used, left; /* the stage in use; tiles that are left */
} ring;

/* Goes on to the next tile, when the last of this one has been read, and fills its place again. */
DEVICE void go_on(ring *r, work *w) {
    int done = r->used;
    cp_wait(STAGES - 2);
    __syncthreads(); /* the next tile has arrived, and everybody has read the last of this one */
    r->left--;
    /* After the last tile come zeros, or its own operands again, and nobody multiplies them. */
    if (ALWAYS || r->left > 0) r->used = done == (STAGES - 1) * STAGE ? 0 : done + STAGE;
    load_stage(done, w);
}

/* Multiplies a step of k. Each fragment of the next step is read into the place of one that is done with: one of B after its
 * row of products, those of A during the last row. The first to be read of the next tile wait until it is there. */
DEVICE void multiply_step(acc_t sums[B_PARTS][A_PARTS][4], fragments *f, int step, ring *r, work *w) {
    const int next = (step + 1) % STEPS;
    UNROLL
    for (int i = 0; i < B_PARTS; i++) {
        if (next == 0 && i == (B_PARTS > 1)) go_on(r, w);
        if (i > 0) load_b(f, r->b + r->used, next, i - 1);
        UNROLL
        for (int j = 0; j < A_PARTS; j++) {
            mma_f64(sums[i][j], f->b[i], f->a[j], DEEP);
            if (i == B_PARTS - 1 && j % 2 == 1) load_a(f, r->a + r->used, next, j - 1);
        }
    }
    load_b(f, r->b + r->used, next, B_PARTS - 1);
}

/* The loop over k. */
DEVICE void multiply_tiles(acc_t sums[B_PARTS][A_PARTS][4], ring r, work *w) {
    fragments f;
    UNROLL_BY(1)
    for (int s = 0; s < STAGES; s++) load_stage(s * STAGE, w);
    cp_wait(STAGES - 1);
    __syncthreads(); /* the first tile has arrived */
    UNROLL
    for (int i = 0; i < A_PARTS; i += 2) load_a(&f, r.a, 0, i);
    UNROLL
    for (int i = 0; i < B_PARTS; i++) load_b(&f, r.b, 0, i);
    UNROLL_BY(1)
    while (r.left > 0) {
        UNROLL
        for (int step = 0; step < STEPS; step++) multiply_step(sums, &f, step, &r, w);
    }
    cp_wait(0);
}

/* Pair number `number` of this lane's sums. */
DEVICE pair pair_of(acc_t sums[B_PARTS][A_PARTS][4], int number) {
    const acc_t *d = sums[number / (2 * A_PARTS)][number / 2 % A_PARTS];
    pair p = {{d[number % 2], d[number % 2 + 2]}};
    return p;
}

/* Its place in C, from the warp's (row, col) on; by one access where pairs of C are aligned. */
DEVICE void store_at(const gemm *g, int row_warp, int col_warp, int number, pair p, int paired) {
    int group = threadIdx.x % 32 / 4, quad = threadIdx.x % 4, of_a = number / 2 % A_PARTS;
    int row = row_warp + of_a / 2 * 16 + of_a % 2 + 4 * quad + number % 2 * 2,
        col = col_warp + number / (2 * A_PARTS) * 16 + 2 * group;
    pair *c = (pair *)(g->c + row * g->ldc + col);
    if (row >= g->m || col >= g->n) return;
    if (paired && col + 1 < g->n) {
        pair before = {{0}};
        if (g->beta.value != 0) before = *c;
        p.at[0] = scaled(g, p.at[0], &before.at[0]);
        p.at[1] = scaled(g, p.at[1], &before.at[1]);
        *c = p;
    } else {
        store(g, row, col, p.at[0]);
        if (col + 1 < g->n) store(g, row, col + 1, p.at[1]);
    }
}

/* Adds up the sums of all groups, in their order; each group stores some of them. */
DEVICE void store_together(const gemm *g, pair *parts, acc_t sums[B_PARTS][A_PARTS][4], int row, int col,
                           int paired) {
    int team = threadIdx.x / TEAM, thread = threadIdx.x % TEAM;
    __syncthreads(); /* everybody is done with the tiles */
    UNROLL
    for (int i = 0; i < PAIRS; i++) parts[(team * PAIRS + i) * TEAM + thread] = pair_of(sums, i);
    __syncthreads(); /* all sums are there */
    UNROLL_BY(1)
    for (int i = team; i < PAIRS; i += SPLIT) {
        pair sum = parts[i * TEAM + thread];
        UNROLL
        for (int other = 1; other < SPLIT; other++) {
            pair p = parts[(other * PAIRS + i) * TEAM + thread];
            sum.at[0] += p.at[0];
            sum.at[1] += p.at[1];
        }
        store_at(g, row, col, i, sum, paired);
    }
}

/* The part of C that a warp computes. The loop leaves no registers to remember it: it is asked for before and after. */
typedef struct part {
    int row_tile, col_tile, row_warp, col_warp;
} part;

DEVICE part choose_part(void) {
    int thread = anew(threadIdx.x), warp = thread % TEAM / 32;
    part p = {0, 0, warp / (BN / WN) * WM, warp % (BN / WN) * WN};
    tile_of(anew(blockIdx.y * gridDim.x + blockIdx.x), gridDim.y, gridDim.x, GROUP, &p.row_tile, &p.col_tile);
    p.row_tile *= BM;
    p.col_tile *= BN;
    return p;
}

KERNEL2(THREADS, 1) mma_08_f64(gemm all) {
    DYNAMIC_SHARED(char, stages);
    gemm g = begin(all);
    part p = choose_part();
    acc_t sums[B_PARTS][A_PARTS][4] = {{{0}}};
    shared_t tiles = shared_place(stages);
    int k_team = threadIdx.x / TEAM * BK;
    work w = {begin_source(g.a + p.row_tile * g.lda, AT ? g.a_step : g.lda, g.a_step, tiles, A_LINES,
                           A_LENGTH, !AT),
              begin_source(g.b + p.col_tile * g.b_step, BT ? g.b_step : g.ldb, g.ldb, tiles + A_BYTES,
                           B_LINES, B_LENGTH, BT),
              g.m - p.row_tile, g.n - p.col_tile, g.k};
    await_last_kernel();
    ring r = {tiles + first_pair(p.row_warp, k_team, A_LENGTH, !AT),
              tiles + A_BYTES + first_pair(p.col_warp, k_team, B_LENGTH, BT), 0, (g.k + DEPTH - 1) / DEPTH};
    multiply_tiles(sums, r, &w);
    p = choose_part();
    g.c = all.c + anew(blockIdx.z) * g.batch_c;
    int paired = ((unsigned long long)g.c | g.ldc * sizeof(out_t)) % sizeof(pair) == 0;
#if SPLIT > 1
    store_together(&g, (pair *)stages, sums, p.row_tile + p.row_warp, p.col_tile + p.col_warp, paired);
#else
    UNROLL
    for (int i = 0; i < PAIRS; i++)
        store_at(&g, p.row_tile + p.row_warp, p.col_tile + p.col_warp, i, pair_of(sums, i), paired);
#endif
}
