/* fragments.c: which lane has which part of a matrix.
 *
 * Fragments of mma lie as the hardware has them (kernels/tensor.h says how). Those of wmma are made of the
 * same pieces, as ptxas makes them: A is one operand of mma, B two with 8 columns each. wmma loads and stores
 * are the accesses that ptxas makes of them: ldmatrix where shared memory lies along k or has 16-bit
 * elements, words or bytes elsewhere. */
#include "fragments.h"

#include <math.h>
#include <string.h>

#include "counters_events.h"
#include "report.h"
#include "trace.h"

enum { LANES = BLOCK_LANES, ROW = 16 /* bytes of a row of ldmatrix */ };

static int group_of(int lane) {
    return lane / 4;
}
static int quad_of(int lane) {
    return lane % 4;
}

/* ---- Where a lane's pieces of a wmma matrix lie ---- */

/* Lines of memory, as the matrix lies. */
typedef struct stored {
    int lines, bytes;  /* of the tile; bytes of a line */
    int along_k;       /* a line runs along k */
    int64_t distance;  /* bytes from a line to the next */
    int pieces, width; /* accesses of a lane, and their bytes */
    int rows;          /* lanes that name a row of ldmatrix; 0: it is none */
} stored;

static stored stored_of(const sim_tensor *ask) {
    int size = tensor_size(ask->type);
    int deep = ask->type == SIM_TF32 ? 8 : 16; /* WMMA_K */
    stored s = {.along_k = ask->is_b == ask->turned, .distance = (int64_t)ask->ld * size};
    s.lines = s.along_k ? 16 : deep;
    s.bytes = (s.along_k ? deep : 16) * size;
    s.width = ask->type == SIM_I8 && !s.along_k ? 1 : 4;
    s.pieces = s.lines * s.bytes / (LANES * s.width);
    if (ask->shared && ask->type != SIM_TF32 && s.width == 4) {
        s.rows = s.lines * s.bytes / ROW;
        s.pieces = 1;
        s.width = ROW;
    }
    return s;
}

/* Byte offset of the i-th access of a lane. */
static int64_t piece_at(const stored *s, int type, int lane, int i) {
    int group = group_of(lane), quad = quad_of(lane);
    if (s->rows) return lane % 16 * s->distance + lane / 16 * ROW;
    if (type == SIM_TF32 && !s->along_k) return (quad + i / 2 * 4) * s->distance + (group + i % 2 * 8) * 4;
    if (s->width == 1) return (4 * quad + i % 4) * s->distance + group + i / 4 * 8;
    return (group + i % 2 * 8) * s->distance + 4 * quad + i / 2 * 16;
}

/* Of a store: 8 bytes of two neighbours. */
static int64_t store_at(int lane, int i, int64_t distance) {
    return (group_of(lane) + i % 2 * 8) * distance + quad_of(lane) * 8 + i / 2 * 32;
}

/* ---- Accesses ---- */

/* PTX wants a matrix to begin at a multiple of what a lane gets of it: 32 bytes of f16, which it gets twice,
 * and of sums, 16 of the others (8 of i8, but shared memory is read by ldmatrix). Rows need less than it
 * says: 16 bytes. */
static void check_wmma_address(sim_worker *worker, const sim_tensor *ask) {
    enum { DISTANCE = 16 };
    int stores = ask->operation == SIM_WMMA_STORE;
    uintptr_t at = (uintptr_t)(stores ? ask->to : ask->from), unit = stores || ask->type == SIM_F16 ? 32 : 16;
    int64_t distance = (int64_t)ask->ld * (stores ? 4 : tensor_size(ask->type));
    if (at % unit || distance % DISTANCE)
        report_wmma_address(worker, ask, (unsigned)(at % unit), (unsigned)unit, distance);
}

static void announce_load(sim_worker *worker, const sim_tensor *ask, int lane) {
    stored s = stored_of(ask);
    unsigned kind = (unsigned)s.width | SIM_FIXED;
    check_wmma_address(worker, ask);
    if (s.rows && lane >= s.rows) {
        trace_no_access(worker, kind, ask->site);
        return;
    }
    for (int i = 0; i < s.pieces; i++)
        worker->here.access(&worker->here, (const char *)ask->from + piece_at(&s, ask->type, lane, i), kind,
                            ask->site);
}

static void announce_store(sim_worker *worker, const sim_tensor *ask, int lane) {
    check_wmma_address(worker, ask);
    for (int i = 0; i < 4; i++)
        worker->here.access(&worker->here, (const char *)ask->to + store_at(lane, i, 4 * (int64_t)ask->ld),
                            8 | SIM_WRITE | SIM_FIXED, ask->site);
}

/* The memory it says must be the one its address is in. */
static void check_space(sim_worker *worker, const sim_tensor *ask) {
    const void *at = ask->operation == SIM_WMMA_STORE ? ask->to : ask->from;
    if (at && (trace_shared_offset(worker->trace, at) >= 0) != ask->shared) report_space(worker, ask);
}

void fragments_announce(sim_worker *worker, const sim_tensor *ask) {
    int lane = worker->running->lane;
    if (!worker->trace->counting) check_space(worker, ask);
    switch (ask->operation) {
    case SIM_LDMATRIX: worker->here.access(&worker->here, ask->from, ROW | SIM_FIXED, ask->site); break;
    case SIM_WMMA_LOAD: announce_load(worker, ask, lane); break;
    case SIM_WMMA_STORE: announce_store(worker, ask, lane); break;
    default: break;
    }
}

/* ---- Loads and stores ---- */

static void load_rows(sim_tensor *const asks[LANES]) {
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            uint32_t *to = (uint32_t *)asks[lane]->to + i;
            int group = group_of(lane), quad = quad_of(lane);
            if (!asks[lane]->turned) {
                memcpy(to, (const char *)asks[8 * i + group]->from + 4 * quad, 4);
                continue;
            }
            for (int j = 0; j < 2; j++)
                memcpy((char *)to + 2 * j, (const char *)asks[8 * i + 2 * quad + j]->from + 2 * group, 2);
        }
}

/* Bytes 4*quad ... of k, and of row or column `line`: the pieces of mma's operands, from memory. */
static uint32_t word_of(const sim_tensor *ask, const stored *s, int line, int byte_k) {
    int size = tensor_size(ask->type);
    const char *from = ask->from;
    uint32_t word = 0;
    for (int i = 0; i < 4; i += size) {
        int64_t k = (byte_k + i) / size;
        int64_t at = s->along_k ? line * s->distance + k * size : k * s->distance + line * size;
        memcpy((char *)&word + i, from + at, (size_t)size);
    }
    return word;
}

/* Words of a lane: A has rows group and group + 8 for each 16 bytes of k; B has all of column group before
 * those of group + 8. */
static void load_fragment(sim_tensor *const asks[LANES]) {
    stored s = stored_of(asks[0]);
    int deep = asks[0]->type == SIM_I8 ? 1 : 2; /* 16 bytes of k */
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 2 * deep; i++) {
            int second = asks[0]->is_b ? i / deep : i % 2, along = asks[0]->is_b ? i % deep : i / 2;
            ((uint32_t *)asks[lane]->to)[i] =
                word_of(asks[lane], &s, group_of(lane) + 8 * second, 4 * quad_of(lane) + 16 * along);
        }
}

static void store_fragment(sim_tensor *const asks[LANES]) {
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++)
            memcpy((char *)asks[lane]->to + store_at(lane, i, 4 * (int64_t)asks[lane]->ld),
                   (const char *)asks[lane]->from + 8 * i, 8);
}

/* ---- Products ---- */

/* One mma. `b` and `d` say which words of the lanes' B and sums it uses; `bytes` of k from `from` on. */
typedef struct product {
    int b, d, from, bytes;
} product;

static void multiply(sim_tensor *const asks[LANES], const tensor_rule *rule, product p) {
    tensor_tile t = {.type = asks[0]->type, .bytes = p.bytes};
    for (int lane = 0; lane < LANES; lane++) {
        int group = group_of(lane), quad = quad_of(lane);
        const uint32_t *sums = (const uint32_t *)asks[lane]->to + p.d;
        for (int i = 0; i < p.bytes; i += 16) {
            int half = (p.from + i) / 16;
            const uint32_t *a = asks[lane]->a, *b = asks[lane]->b;
            memcpy(&t.a[group][i + 4 * quad], &a[2 * half], 4);
            memcpy(&t.a[group + 8][i + 4 * quad], &a[2 * half + 1], 4);
            memcpy(&t.b[group][i + 4 * quad], &b[p.b + half], 4);
        }
        for (int i = 0; i < 4; i++) t.sums[group + i / 2 * 8][2 * quad + i % 2] = sums[i];
    }
    tensor_multiply(rule, &t);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++)
            ((uint32_t *)asks[lane]->to)[p.d + i] =
                t.sums[group_of(lane) + i / 2 * 8][2 * quad_of(lane) + i % 2];
}

/* The mma of f64, whose fragments lie otherwise: multiply-adds in the order of k, each rounded. */
static void multiply_doubles(sim_tensor *const asks[LANES]) {
    enum { STEP = 4 /* of k, a lane of four has one */ };
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            double *sum = (double *)asks[lane]->to + i;
            for (int k = 0; k < asks[0]->depth; k++) {
                const double *a = asks[group_of(lane) * 4 + k % STEP]->a;
                const double *b = asks[(2 * quad_of(lane) + i % 2) * 4 + k % STEP]->b;
                *sum = fma(a[k / STEP * 2 + i / 2], b[k / STEP], *sum);
            }
        }
}

/* The instructions of a call. ptxas makes two of wmma, 8 columns each, and four of TF32, 16 bytes deep each.
 */
static int products_of(const sim_tensor *ask, product list[4]) {
    int count = 0, wmma = ask->operation == SIM_WMMA_MULTIPLY;
    if (!wmma && ask->operation != SIM_MMA) return 0;
    int whole = wmma && ask->type == SIM_I8 ? 16 : ask->type == SIM_F64 ? 8 * ask->depth : TENSOR_BYTES;
    int bytes = wmma && ask->type == SIM_TF32 ? 16 : whole;
    for (int from = 0; from < whole; from += bytes)
        for (int half = 0; half <= wmma; half++)
            list[count++] = (product){.b = half * whole / 16, .d = half * 4, .from = from, .bytes = bytes};
    return count;
}

static void multiply_all(sim_worker *worker, sim_tensor *const asks[LANES]) {
    product list[4];
    int count = products_of(asks[0], list);
    if (asks[0]->type == SIM_F64) {
        multiply_doubles(asks);
        return;
    }
    for (int i = 0; i < count; i++) multiply(asks, worker->launch->rule, list[i]);
}

/* Who only counts needs neither numbers nor sums. */
static void count_products(sim_worker *worker, const sim_tensor *ask) {
    product list[4];
    int count = products_of(ask, list), size = tensor_size(ask->type);
    for (int i = 0; i < count; i++)
        counters_mma(worker, ask->site, 2u * TENSOR_ROWS * TENSOR_COLS * (unsigned)(list[i].bytes / size));
}

/* ---- Meetings ---- */

/* wmma takes one matrix, which all lanes must name alike; ldmatrix takes rows, one a lane. */
static void check_together(sim_worker *worker, sim_tensor *const asks[LANES]) {
    const sim_tensor *x = asks[0];
    int one = x->operation == SIM_WMMA_LOAD || x->operation == SIM_WMMA_STORE;
    for (int lane = 1; lane < LANES; lane++) {
        const sim_tensor *y = asks[lane];
        const void *of_x = x->operation == SIM_WMMA_STORE ? x->to : x->from,
                   *of_y = x->operation == SIM_WMMA_STORE ? y->to : y->from;
        if (x->operation != y->operation || x->line != y->line)
            report_apart(worker, 0, lane, "comes to another one");
        if (x->turned != y->turned || x->is_b != y->is_b || x->ld != y->ld || (one && of_x != of_y))
            report_apart(worker, 0, lane, "gives another address, row distance or order");
    }
}

void fragments_settle(sim_worker *worker, sim_warp *warp) {
    sim_tensor *asks[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        if (!(warp->met >> lane & 1)) report_apart(worker, worker->running->lane, lane, "is not there");
        if (warp->lanes[lane].operation != SIM_TENSOR)
            report_apart(worker, worker->running->lane, lane, "comes to another one");
        asks[lane] = (sim_tensor *)(uintptr_t)warp->lanes[lane].value;
    }
    check_together(worker, asks);
    if (worker->trace && worker->trace->counting) {
        count_products(worker, asks[0]);
        return;
    }
    switch (asks[0]->operation) {
    case SIM_LDMATRIX: load_rows(asks); break;
    case SIM_WMMA_LOAD: load_fragment(asks); break;
    case SIM_WMMA_STORE: store_fragment(asks); break;
    default: multiply_all(worker, asks);
    }
}
