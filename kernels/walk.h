/* walk.h: the order of things in a kernel for Hopper: its ring of stages, and the tiles it computes. It says #include "walk.h"
 * where it has defined STAGES, STAGE, BOXES, BOX, CONSUMERS, BM, BN, CM and GROUP; one whose blocks share rows, CN, or tiles of
 * C, CK; one where boxes of C are not for a warp each, TEAMS, and if it has not BOXES of them, SLOTS. The rungs up to
 * wgmma_04_multicast build it up. */
#ifndef WALK_H
#define WALK_H

#ifndef CN
#define CN 1 /* blocks of a cluster side by side, and CM below one another */
#endif
#ifndef CK
#define CK 1 /* blocks of a cluster that have the same tile, and split k */
#endif
#ifndef TEAMS
#define TEAMS (4 * CONSUMERS) /* that fill boxes: warps */
#endif
#ifndef SLOTS
#define SLOTS BOXES /* boxes of a team */
#endif

/* The block's shared memory, as addresses. */
typedef struct room {
    unsigned stages, boxes, full, empty, old; /* old: barriers for boxes of what C was */
} room;

DEVICE room rooms(const void *memory) {
    room r;
    r.stages = (shared_at(memory) + 1023u) & ~1023u;
    r.boxes = r.stages + STAGES * STAGE;
    r.full = r.boxes + TEAMS * SLOTS * BOX;
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

/* The tiles this block computes: every so manieth. */
typedef struct walk {
    int at, step, rows, cols, total;
} walk;

DEVICE walk begin_walk(const gemm *g) {
    walk w = {(int)blockIdx.x / (CM * CN * CK), (int)gridDim.x / (CM * CN * CK),
              (g->m + BM * CM - 1) / (BM * CM), (g->n + BN * CN - 1) / (BN * CN), 0};
    w.total = w.rows * w.cols * g->count;
    return w;
}

/* A tile: its first row and column, and its product's place in the batch. */
typedef struct place {
    int row, col, product;
} place;

DEVICE place place_of(const walk *w, int rank) {
    place p;
    int of_product = w->rows * w->cols, at = w->at;
    p.product = 0;
    if (at >= of_product) p.product = at / of_product, at -= p.product * of_product;
    tile_of(at, w->rows, w->cols, GROUP, &p.row, &p.col);
    p.row = (p.row * CM + (CM > 1 ? rank : 0)) * BM;
    p.col = (p.col * CN + (CN > 1 ? rank : 0)) * BN;
    return p;
}

/* How many stages are left to a cluster that begins with a tile, if each has so many; or very many. */
DEVICE int stages_left(const walk *w, int stages) {
    const int most = 1 << 30;
    long long tiles = w->at + w->step < w->total ? (w->total - 1 - w->at) / w->step + 1 : 1;
    return tiles * stages < most ? (int)(tiles * stages) : most;
}

/* The stage of a tile that comes at that place: in every second round of tiles (`back`) the first `whole` of them come from the last to
 * the first. Of what the round before has fetched the second-level cache has the end of k, and what is not fetched again from
 * memory leaves its power to the tensor cores. */
DEVICE int stage_of(int number, int whole, int back) {
    return back && number < whole ? whole - 1 - number : number;
}

/* A stage is free when every block that is written to has read it. */
DEVICE void release(unsigned empty) {
    int lane = threadIdx.x % 32;
    if (CM * CN > 1) {
        if (lane < CM * CN) barrier_arrive_at(empty, lane);
    } else if (lane == 0) {
        barrier_arrive(empty);
    }
}

/* In a cluster a stage that is not filled again is not told to be free: nobody waits for that, and the block that would be told
 * may have left. So blocks need not wait for each other before they leave, which took 0.4 us. `number`: of the stage, where so
 * many are left. */
DEVICE int is_refilled(int number, int left) {
    return CM * CN == 1 || number + STAGES < left;
}
DEVICE void free_stage(unsigned empty, int number, int left) {
    if (is_refilled(number, left)) release(empty);
}

#endif
