/* unit_move.c: what is copied to aligned lines before a product arrives there, bit by bit: kernels/lines.cu runs on the
 * simulator, and the product itself is only looked at. White-box: src/product.h, src/sim/sim.h. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "../src/moves.h"
#include "../src/numeric.h"
#include "../src/sim/sim.h"

/* Takes launches: copies run, of a product the arguments are kept. */
typedef struct keeper {
    sim_device *sim;
    int lines, turned,
        others;   /* matrices that move_lines and move_turned copy, and copies by other kernels */
    int launches; /* of all */
    launch_gemm product;
} keeper;

static tess_status keep(void *self, const product_launch *launch, sentence *why) {
    keeper *k = self;
    if (!launch->moves) {
        memcpy(&k->product, launch->arguments, sizeof k->product);
        return TESS_OK;
    }
    k->launches++;
    if (strcmp(launch->entry, "move_lines") == 0)
        k->lines += (int)launch->grid[1];
    else if (strcmp(launch->entry, "move_turned") == 0)
        k->turned++;
    else
        k->others++;
    return sim_launch_one(k->sim, launch, why);
}

typedef struct side {
    int64_t rows, cols, row, col, batch;
} side;

/* Element (i, j) of product p, from where it was and from where it is, must be the same bytes. */
static int64_t count_wrong(const side *s, const char *was, const char *is, int64_t row, int64_t col,
                           int64_t batch, int64_t count, int64_t size) {
    int64_t wrong = 0;
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < s->rows; i++)
            for (int64_t j = 0; j < s->cols; j++)
                wrong += memcmp(was + (p * s->batch + i * s->row + j * s->col) * size,
                                is + (p * batch + i * row + j * col) * size, (size_t)size) != 0;
    return wrong;
}

static problem problem_of(tess_type in, const side *a, const side *b, int64_t count) {
    problem p = {.in = in, .out = in == TESS_I8 ? TESS_I32 : TESS_F32, .acc = numeric_accumulator(in)};
    p.compute = in == TESS_F32 ? TESS_COMPUTE_TF32 : TESS_COMPUTE_DEFAULT;
    p.m = a->rows, p.n = b->cols, p.k = a->cols;
    p.a_row = a->row, p.a_col = a->col, p.b_row = b->row, p.b_col = b->col, p.c_row = p.n, p.c_col = 1;
    p.batch = (tess_batch){count, a->batch, b->batch, p.m * p.n};
    return p;
}

/* Lines of B along k are filled up to whole pieces of 16 bytes, with zeros. */
static int64_t count_not_filled(const launch_gemm *g, int64_t n, int64_t count, int64_t size) {
    int64_t wrong = 0, k = g->k, end = (k * size + 15) / 16 * 16;
    const char *b = g->b;
    for (int64_t p = 0; p < count; p++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = k * size; i < end; i++)
                wrong += b[(p * g->batch_b + j * g->b_step) * size + i] != 0;
    return wrong;
}

/* Runs the product's copies, `off` elements after where memory begins: so many by lines, and so many that are turned. */
static void try_copies(device *sim, tess_type in, side a, side b, int64_t count, int64_t off, int copies,
                       int turned) {
    enum { ROOM = 1 << 21 };
    keeper k = {.sim = (sim_device *)sim};
    int64_t size = numeric_size(in);
    char *memory = test_alloc(ROOM), *data_a = memory + ROOM / 4 + off * size,
         *data_b = memory + 3 * (ROOM / 4) + off * size, *workspace = aligned_alloc(256, ROOM);
    for (int i = 0; i < ROOM; i++) memory[i] = (char)rng_range(test_random(), 0, 255);
    sentence why = {""};
    plan decided = {.what = problem_of(in, &a, &b, count),
                    .kernel = registry_find("gpu", "wgmma_07_fitted", &why)};
    for (int i = 0; i < REGISTRY_PARAMS; i++) decided.params[i] = REGISTRY_UNSET;
    operands data = {.a = data_a, .b = data_b, .c = memory, .alpha = 1};
    product_target target = {&k, keep, .by_pieces = 1};
    if (CHECK(decided.kernel && product_prepare(&decided, &why) == TESS_OK, "%s", why.text) &&
        CHECK(workspace && decided.workspace <= ROOM, "%lld bytes", (long long)decided.workspace) &&
        CHECK(product_run(&target, &decided, &data, workspace, &why) == TESS_OK, "%s", why.text)) {
        const launch_gemm *g = &k.product;
        int64_t wrong_a = count_wrong(&a, data_a, g->a, g->lda, g->a_step, g->batch_a, count, size),
                wrong_b = count_wrong(&b, data_b, g->b, g->ldb, g->b_step, g->batch_b, count, size);
        CHECK(wrong_a == 0 && wrong_b == 0,
              "%s %lldx%lldx%lld, off by %lld: %lld elements of A and %lld of B are not what they were",
              tess_type_name(in), (long long)a.rows, (long long)b.cols, (long long)a.cols, (long long)off,
              (long long)wrong_a, (long long)wrong_b);
        CHECK(turned == 0 || count_not_filled(g, b.cols, count, size) == 0,
              "%s, k = %lld: lines of B are not filled up", tess_type_name(in), (long long)a.cols);
        CHECK(k.lines == copies && k.turned == turned && k.others == 0,
              "%d copies by lines, %d turned and %d others, not %d and %d", k.lines, k.turned, k.others,
              copies, turned);
        int at_once = k.lines == 2 && (a.batch == 0) == (b.batch == 0);
        CHECK(k.launches == k.lines + k.turned - at_once,
              "%d launches copy %d matrices by lines, and %d turned", k.launches, k.lines, k.turned);
    }
    free(memory), free(workspace);
}

TEST(move_to_aligned_lines) {
    static const tess_type types[] = {TESS_BF16, TESS_I8, TESS_F32};
    device *sim = NULL;
    sentence why = {""};
    if (!CHECK(sim_device_ops.open(&sim, 0, &why) == TESS_OK, "%s", why.text)) return;
    for (int t = 0; t < 3; t++)
        for (int64_t off = 0; off < 8; off += 1 + off / 2)
            for (int64_t k = 1; k < 60; k = 2 * k + 1) {
                /* A in rows, B in columns: both lie along k. A line is 1 to 3 elements longer. */
                int64_t line = k + 1 + off % 3;
                if (line * numeric_size(types[t]) % 16 == 0) continue;
                try_copies(sim, types[t], (side){5, k, line, 1, 5 * line}, (side){k, 7, 1, line, 7 * line}, 3,
                           off, 2, 0);
            }
    /* Lines of several blocks; rows of B along n, which i8 and f32 are turned for; rows that go backwards. */
    try_copies(sim, TESS_BF16, (side){3, 2041, 2041, 1, 0}, (side){2041, 9, 9, 1, 0}, 1, 3, 2, 0);
    try_copies(sim, TESS_I8, (side){3, 8301, 8301, 1, 0}, (side){8301, 9, 9, 1, 0}, 1, 3, 1, 1);
    try_copies(sim, TESS_BF16, (side){20, 40, -41, 1, 900}, (side){40, 24, 32, 1, 0}, 2, 0, 1, 0);
    try_copies(sim, TESS_BF16, (side){20, 40, 48, 1, 960}, (side){40, 24, 32, 1, 0}, 2, 1, 2, 0);
    try_copies(sim, TESS_BF16, (side){20, 40, 0, 1, 13}, (side){40, 24, 1, 41, 5}, 4, 1, 2, 0);
    sim->ops->close(sim);
}

/* B in rows of any length and distance, from anywhere, and (the last) A in columns too: lines along k are made of both. 16 bits are
 * turned where B is narrow and k long. */
TEST(move_turned_to_lines) {
    static const tess_type types[] = {TESS_I8, TESS_F32};
    device *sim = NULL;
    sentence why = {""};
    if (!CHECK(sim_device_ops.open(&sim, 0, &why) == TESS_OK, "%s", why.text)) return;
    for (int t = 0; t < 2; t++)
        for (int64_t k = 5; k < 300; k = 2 * k + 3)
            for (int64_t n = 3; n < 200; n = 3 * n - 2) {
                int64_t off = (k + n) % 7, line = n + n % 5;
                try_copies(sim, types[t], (side){2, k, 320, 1, 640}, (side){k, n, line, 1, k * line}, 2,
                           16 * off, 0, 1);
                try_copies(sim, types[t], (side){5, k, 1, 5, 5 * k}, (side){k, n, line, 1, k * line}, 2, off,
                           0, 2);
            }
    try_copies(sim, TESS_BF16, (side){64, 2056, 2056, 1, 0}, (side){2056, 17, 17, 1, 0}, 1, 0, 0, 1);
    sim->ops->close(sim);
}

/* Elements of 8 bytes, which kernels of multiply-adds have copied: 37 lines of 29 from an odd element on, each 31 from the last. */
TEST(move_lines_of_f64) {
    enum { LINES = 37, LENGTH = 29, FROM = 31, TO = 32 };
    static double from[LINES * FROM + 1];
    device *sim = NULL;
    sentence why = {""};
    double *to = aligned_alloc(256, LINES * TO * sizeof *to);
    if (!CHECK(to && sim_device_ops.open(&sim, 0, &why) == TESS_OK, "%s", why.text)) return;
    keeper k = {.sim = (sim_device *)sim};
    product_target target = {&k, keep, .by_pieces = 1};
    for (int i = 0; i <= LINES * FROM; i++) from[i] = i + 0.5;
    memset(to, 0xff, LINES * TO * sizeof *to);
    placed here = {(char *)(from + 1), TESS_F64, FROM, 1, 0}, there = {(char *)to, TESS_F64, TO, 1, 0};
    moving m = moves_of(&target, here, there, LINES, LENGTH, 1, MOVE_ALIGNED);
    CHECK(moves_run(&target, m, &why) == TESS_OK && k.lines == 1, "%d: %s", k.lines, why.text);
    int wrong = 0;
    for (int i = 0; i < LINES; i++) {
        for (int j = 0; j < LENGTH; j++) wrong += to[i * TO + j] != from[1 + i * FROM + j];
        wrong += to[i * TO + LENGTH] != 0; /* the piece that it ends within is filled up */
    }
    CHECK(wrong == 0, "%d elements are not what they should be", wrong);
    sim->ops->close(sim);
    free(to);
}

/* ---- Matrices larger than a grid ---- */

/* What is told of the parts of a move: elements that are read and written, and what lies outside of the matrices. */
typedef struct part_sums {
    const moving *whole;
    int64_t read, written, outside;
    int parts;
} part_sums;

/* Where a part begins in whole products, rows and columns, from its address. */
static tess_status sum_part(void *self, const product_launch *launch, sentence *why) {
    part_sums *sums = self;
    const moving *m = sums->whole;
    const launch_move *part = launch->arguments;
    int64_t at = ((const char *)part->to - m->to.data) / numeric_size(m->to.type), products = launch->grid[2];
    int64_t row = at % m->to.batch / m->to.row, col = at % m->to.row;
    (void)why;
    sums->parts++;
    sums->read += part->rows * (int64_t)part->cols * products;
    sums->written += part->rows_to * (int64_t)part->cols_to * products;
    sums->outside += at / m->to.batch + products > m->count || row + part->rows_to > m->rows_to ||
                     col + part->cols_to > m->cols_to;
    return TESS_OK;
}

/* Nothing is moved: only the numbers of the launches are looked at. */
TEST(move_parts_are_all_of_a_matrix) {
    static const int64_t sizes[][3] = {{3, ((int64_t)1 << 30) + 70, 1},
                                       {65535 * 64 + 5, 9, 1},
                                       {2, 5, 65535 + 9},
                                       {65535 * 64 + 1, ((int64_t)1 << 30) + 1, 1}};
    static char element[16];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (move_kind kind = MOVE_BITS; kind <= MOVE_TURNED; kind++) {
            int64_t rows = sizes[i][0], cols = sizes[i][1], count = sizes[i][2], line = (cols + 3) / 4 * 4;
            placed from = {element, TESS_F32, 1, rows, rows * cols},
                   to = {element, TESS_F32, line, 1, rows * line};
            part_sums sums = {.parts = 0};
            product_target target = {.self = &sums, .launch = sum_part};
            moving m = moves_of(&target, from, to, rows, cols, count, kind);
            sentence why = {""};
            sums.whole = &m;
            CHECK(moves_run(&target, m, &why) == TESS_OK, "%s", why.text);
            int64_t wanted = rows * (kind == MOVE_BITS ? cols : line) * count;
            CHECK(sums.parts > 1 && sums.read == rows * cols * count && sums.written == wanted &&
                      sums.outside == 0,
                  "%lldx%lld, %lld of them, kind %d: %d parts read %lld elements and write %lld of %lld; "
                  "%lld "
                  "leave the matrix",
                  (long long)rows, (long long)cols, (long long)count, (int)kind, sums.parts,
                  (long long)sums.read, (long long)sums.written, (long long)wanted, (long long)sums.outside);
        }
}
