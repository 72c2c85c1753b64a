/* wgmma_07_edges: what hangs over costs less, and goes to blocks that have time
 * before:  wgmma_06_turns
 * change:  where m or n leaves up to 64 rows or columns over, their tiles are multiplied by one warpgroup, or 64 columns
 *          wide; they come last, for the blocks that have one tile less than others
 * why:     at 4097 a row of one element and a column of one took as long as whole tiles, and made a fifth round of tiles
 *          out of four
 * expect:  the time follows the size, without steps
 * limits:  any m, n, k; A and B in rows or columns, aligned to 16 bytes (f32 as TF32 and i8: along k); sm_90a
 * next:    the tensor cores are busy 98 % of the time; the power limit sets the clock
 */
#ifndef BN
#define BN 256 /* columns of C of a block: 64, 128, 192 or 256 */
#endif
#ifndef STAGES
#define STAGES 4 /* tiles of A and B in flight or in use */
#endif
#ifndef GROUP
#define GROUP 16 /* rows of tiles that are walked together */
#endif
#ifndef TURN
#define TURN 2 /* stages that a warpgroup multiplies at a time: 1 or 2; 0: both warpgroups multiply at once */
#endif
#ifndef BOXES
#define BOXES 2 /* pieces of C that a warp may have on their way */
#endif
#ifndef AT
#define AT 0 /* 1: A lies in columns */
#endif
#ifndef BT
#define BT 0 /* 1: B lies in columns */
#endif
#ifndef STORE
#define STORE 1 /* 0: rows of C are not aligned to 16 bytes, and are written element by element */
#endif
#define A_TURNED AT
#if BT
#define B_TURNED 0
#else
#define B_TURNED 1
#endif
#include "hopper.h"
enum {
    BM = 128, /* 64 rows for each of two warpgroups */
    CONSUMERS = 2,
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128, /* bytes of a line of a tile */
    BK = LINE / (int)sizeof(in_t),
    STEPS = 4, /* products of 32 bytes along k of a stage */
    A_BYTES = BM * LINE,
    STAGE = A_BYTES + BN * LINE,
    CHUNK = 64 * LINE, /* 64 lines: of a warpgroup's A, or of a turned tile */
    RUN = TURN > 0 ? TURN : 1,
    BOX = 16 * LINE, /* a warp's rows of C, 128 bytes of each */
    BOX_COLS = LINE / (int)sizeof(out_t)
};

/* The block's shared memory, as addresses. */
typedef struct room {
    unsigned stages, boxes, full, empty, old; /* old: barriers for boxes of what C was */
} room;

DEVICE room rooms(const void *memory) {
    room r;
    r.stages = (shared_at(memory) + 1023u) & ~1023u;
    r.boxes = r.stages + STAGES * STAGE;
    r.full = r.boxes + 4 * CONSUMERS * BOXES * BOX;
    r.empty = r.full + 8 * STAGES;
    r.old = r.empty + 8 * STAGES;
    return r;
}

/* Where a thread is in the ring of stages. */
typedef struct ring {
    int slot;
    unsigned parity;
} ring;

DEVICE void advance(ring *r) {
    if (++r->slot < STAGES) return;
    r->slot = 0;
    r->parity ^= 1;
}

/* The tiles of a product: `rows`×`cols` regular ones, then those that hang over, to the right and below. */
typedef struct grid {
    int rows, cols, right, below, regular, over;
} grid;

DEVICE grid tiles_of(const gemm *g) {
    grid t;
    int over_m = g->m % BM, over_n = g->n % BN;
    t.below = g->m > BM && over_m > 0 && over_m <= 64;
    t.right = BN > 64 && g->n > BN && over_n > 0 && over_n <= 64;
    t.rows = g->m / BM + (over_m > 0 && !t.below);
    t.cols = g->n / BN + (over_n > 0 && !t.right);
    t.regular = t.rows * t.cols * g->count;
    t.over = (t.right * t.rows + t.below * (t.cols + t.right)) * g->count;
    return t;
}

/* The place in the list of tiles of the one that this block computes after that at `at`; past the end if there is none.
 * Of the regular ones it takes every so manieth. Blocks that then have one less than others are given two of those
 * that hang over, and what is left goes round again. */
DEVICE int next_tile(const grid *t, int at) {
    int block = blockIdx.x, blocks = gridDim.x, busy = t->regular % blocks, idle = blocks - busy;
    int over = at - t->regular;
    if (at + blocks < t->regular) return at + blocks;
    if (over < 0) return t->regular + (block < busy ? 2 * idle + block : block - busy);
    if (over < idle) return at + idle;
    return over < 2 * idle ? t->regular + 2 * idle + block : at + blocks;
}

/* A tile: its first row and column, its product's place in the batch, and whether it hangs over. */
typedef struct place {
    int row, col, product, below, right;
} place;

DEVICE place place_of(const grid *t, int at) {
    place p = {0};
    if (at < t->regular) {
        int of_product = t->rows * t->cols;
        p.product = at / of_product;
        tile_of(at - p.product * of_product, t->rows, t->cols, GROUP, &p.row, &p.col);
    } else {
        int below = t->below * (t->cols + t->right), of_product = below + t->right * t->rows;
        at -= t->regular;
        p.product = at / of_product;
        at -= p.product * of_product;
        p.below = at < below;
        p.row = p.below ? t->rows : at - below;
        p.col = p.below ? at : t->cols;
        p.right = p.col == t->cols && t->right;
    }
    p.row *= BM;
    p.col *= BN;
    return p;
}

/* ---- The producer: one thread asks for tile after tile ---- */

/* A tile from element (k, across) on: one box of lines along k, or (turned) boxes of 64 elements across. */
DEVICE void load_tile(unsigned to, const tensor_map *map, int turned, int boxes, int k, int across,
                      int product, unsigned barrier) {
    for (int i = 0; i < boxes; i++)
        tma_load(to + i * CHUNK, map, turned ? across + 64 * i : k, turned ? k : across, product, barrier);
}

/* Of a tile that hangs over to the right only the first box of B is fetched. */
DEVICE void produce(const tma_gemm *all, room r, int blocks) {
    const gemm *g = &all->g;
    grid t = tiles_of(g);
    ring at = {0, 1};
    for (int tile = blockIdx.x; tile < t.regular + t.over; tile = next_tile(&t, tile)) {
        place p = place_of(&t, tile);
        int product_a = g->batch_a ? p.product : 0, product_b = g->batch_b ? p.product : 0;
        int boxes = B_TURNED && !p.right ? BN / 64 : 1;
        for (int k = 0; k < blocks * BK; k += BK) {
            unsigned stage = r.stages + at.slot * STAGE, full = r.full + 8 * at.slot;
            barrier_wait(r.empty + 8 * at.slot, at.parity);
            barrier_expect(full, A_BYTES + (B_TURNED ? boxes * CHUNK : BN * LINE));
            load_tile(stage, &all->a, A_TURNED, A_TURNED ? BM / 64 : 1, k, p.row, product_a, full);
            load_tile(stage + A_BYTES, &all->b, B_TURNED, boxes, k, p.col, product_b, full);
            advance(&at);
        }
    }
}

/* ---- The consumers ---- */

/* A warp has read a stage. */
DEVICE void release(unsigned empty) {
    if (threadIdx.x % 32 == 0) barrier_arrive(empty);
}

enum { NOTHING, NARROW, WHOLE };

/* All of k for one tile, of which a warpgroup computes all columns, 64 of them, or nothing; `part` is a constant. The
 * tiles of a stage are described once; a slot or step further on is added. */
DEVICE void multiply(acc_t sums[BN / 2], room r, ring *at, int blocks, int consumer, int part) {
    const unsigned long long a = wgmma_tile(r.stages + consumer * CHUNK, A_TURNED),
                             b = wgmma_tile(r.stages + A_BYTES, B_TURNED);
    int last = 0;
    for (int block = 0; block < blocks; block += RUN) {
        int used[RUN];
        if (TURN > 0) named_wait(1 + consumer, 128 * CONSUMERS);
        UNROLL
        for (int j = 0; j < RUN; j++) {
            unsigned stage = (unsigned)at->slot * (STAGE / 16);
            used[j] = at->slot;
            barrier_wait(r.full + 8 * at->slot, at->parity);
            if (part != NOTHING) wgmma_fence();
            UNROLL
            for (int step = 0; step < STEPS; step++) {
                unsigned long long a_step = a + stage + step * WGMMA_STEP(A_TURNED),
                                   b_step = b + stage + step * WGMMA_STEP(B_TURNED);
                if (part == WHOLE) WGMMA(sums, a_step, b_step, block | j | step);
                if (part == NARROW) WGMMA_64(sums, a_step, b_step, block | j | step);
            }
            if (part != NOTHING) wgmma_commit();
            advance(at);
        }
        if (TURN > 0) named_arrive(2 - consumer, 128 * CONSUMERS);
        if (TURN != 1 && part != NOTHING) wgmma_wait(1);
        if (TURN == 2) release(r.empty + 8 * used[0]);
        if (TURN > 0 && part != NOTHING) wgmma_wait(0);
        if (TURN > 0 || block > 0) release(r.empty + 8 * (TURN > 0 ? used[RUN - 1] : last));
        last = used[RUN - 1];
    }
    if (TURN == 0) {
        if (part != NOTHING) wgmma_wait(0);
        release(r.empty + 8 * last);
    }
    WGMMA_PIN(sums);
}

#include "boxes.h"

/* `cols` of the tile, a constant; C is read or not. */
DEVICE void write_tile(output *o, acc_t sums[BN / 2], int cols, int reads) {
    UNROLL
    for (int col = 0; col < cols; col += BOX_COLS) {
        unsigned box = o->boxes + col / BOX_COLS % BOXES * BOX;
        await_box(o, box, col, reads);
        fill_box(&o->all->g, box, &sums[col / 2], reads);
        if (STORE) fence_async();
        __syncwarp();
        if (!STORE) {
            copy_box(o, box, col, 1);
        } else if (threadIdx.x % 32 == 0) {
            tma_store(&o->all->c, box, o->at.col + col, o->at.row, o->product);
            if (reads && col + BOXES * BOX_COLS < cols) {
                tma_wait_read(0);
                ask_for_old(o, col + BOXES * BOX_COLS);
            }
        }
    }
}

/* One tile, `part` of which is this warpgroup's; a constant. */
DEVICE void consume_tile(output *o, acc_t sums[BN / 2], room r, ring *at, int blocks, int consumer,
                         int part) {
    const int cols = part == WHOLE ? BN : part == NARROW ? 64 : 0;
    if (STORE && o->all->g.beta.value != 0 && cols > 0) {
        if (threadIdx.x % 32 == 0) tma_wait_read(0);
        UNROLL
        for (int b = 0; b < BOXES && b * BOX_COLS < cols; b++) ask_for_old(o, b * BOX_COLS);
    }
    multiply(sums, r, at, blocks, consumer, part);
    if (o->all->g.beta.value != 0)
        write_tile(o, sums, cols, 1);
    else
        write_tile(o, sums, cols, 0);
}

DEVICE void consume(const tma_gemm *all, room r, int blocks) {
    int warp = threadIdx.x / 32 - 4, consumer = warp / 4;
    grid t = tiles_of(&all->g);
    acc_t sums[BN / 2];
    ring at = {0, 0};
    output o = {all, {0}, r.boxes + warp * BOXES * BOX, r.old + 8 * warp * BOXES, 0, 0};
    if (TURN > 0 && consumer == 1) named_arrive(1, 128 * CONSUMERS);
    for (int tile = blockIdx.x; tile < t.regular + t.over; tile = next_tile(&t, tile)) {
        o.at = place_of(&t, tile);
        o.at.row += warp * 16;
        o.product = all->g.batch_c ? o.at.product : 0;
        if (o.at.below && consumer == 1)
            consume_tile(&o, sums, r, &at, blocks, consumer, NOTHING);
        else if (BN > 64 && o.at.right)
            consume_tile(&o, sums, r, &at, blocks, consumer, NARROW);
        else
            consume_tile(&o, sums, r, &at, blocks, consumer, WHOLE);
    }
    if (TURN > 0 && consumer == 0) named_wait(1, 128 * CONSUMERS);
    if (STORE && threadIdx.x % 32 == 0) tma_wait_all();
}

KERNEL2(THREADS, 1) wgmma_07_edges(ARGUMENT all) {
    extern __shared__ __align__(1024) char memory[];
    room r = rooms(memory);
    int blocks = (all.g.k + BK - 1) / BK;
    blocks = (blocks + RUN - 1) / RUN * RUN; /* past the end of k TMA brings zeros */
    if (threadIdx.x == 0) {
        tma_prefetch(&all.a);
        tma_prefetch(&all.b);
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4 * CONSUMERS);
        }
        for (int b = 0; b < 4 * CONSUMERS * BOXES; b++) barrier_init(r.old + 8 * b, 1);
        barrier_publish();
    }
    __syncthreads();
    await_last_kernel();
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(40);
        if (threadIdx.x == 0) produce(&all, r, blocks);
    } else {
        REGISTERS_MORE(232);
        consume(&all, r, blocks);
    }
}
