/* unit_apart.c: tiles whose rows of C lie 8 apart (kernels/apart.h, late.h, walk.h and raster.h), on this machine:
 * in what order blocks compute them, what their producer asks TMA for, and what it tells of tiles. TMA is played by
 * loops, from maps as the host makes them, and every tile and its part of the rim is multiplied from the stages it
 * was given, as wgmma_12_apart does. Each barrier must get as many bytes as it was told to expect, or a kernel would
 * wait for ever; each element of C is computed once, and right. Warps that copy a part of B are played lane by
 * lane ahead of all blocks; that TMA is asked for none of it before its count is looked at is checked. White-box:
 * the kernels' headers are compiled here. */
#include "harness.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- What the headers take from CUDA, and from a kernel ---- */

#define DEVICE static __attribute__((unused))
#define UNROLL
#define UNROLL_BY(n)
static struct { unsigned x; } blockIdx, gridDim, threadIdx;

typedef int16_t in_t;
typedef struct gemm {
    int m, n, k, count;
    long long lda, batch_a, batch_b;
} gemm;
/* Matrices as TMA sees them, and a box: so many lines of so many elements. */
typedef struct tensor_map {
    const in_t *data;
    int length, lines, products, wide, high;
    long long distance, batch;
} tensor_map;
typedef struct tma_gemm {
    gemm g;
    tensor_map b;
} tma_gemm;

/* What a kernel is compiled with. */
static struct { int bm, bn, group; } built;
#define BM        built.bm
#define BN        built.bn
#define CM        1
#define GROUP     built.group
#define LINE      128
#define BK        (LINE / (int)sizeof(in_t))
#define STEPS     4
#define STEP      (BK / STEPS)
#define TURN      2
#define A_BYTES   (BM * LINE)
#define RIM_BYTES (8 * LINE)
#define RIM_A     (A_BYTES + BN * LINE)
#define RIM_B     (RIM_A + RIM_BYTES)
#define STAGE     (RIM_B + RIM_BYTES)
#define CHUNK     (64 * LINE)
#define STAGES    3
#define BOXES     1
#define BOX       0
#define CONSUMERS 1
#define LATE      1
#define LATE_COLS 64

/* ---- A warp that copies: its lanes one after the other, each of which draws all parts ---- */

static int part_drawn;
static int atomicAdd(int *count, int value) {
    *count += value;
    return *count - value;
}
static int __shfl_sync(unsigned mask, int value, int lane) {
    (void)mask, (void)value, (void)lane;
    return part_drawn++;
}
#define __syncwarp()         ((void)0)
#define hidden(number)       (number)
#define fence_async_global() ((void)0)
static void add_released(int *count, int value) {
    *count += value;
}
static unsigned read_word(const unsigned *from) {
    unsigned word;
    memcpy(&word, from, sizeof word);
    return word;
}

/* Which counts a block has looked at. */
enum { MOST_COUNTS = 1000 };
static const int *counts;
static char looked_at[MOST_COUNTS];
static int acquired(const int *count) {
    if (CHECK(count > counts && count < counts + MOST_COUNTS, "a count %d further on", (int)(count - counts)))
        looked_at[count - counts] = 1;
    return *count;
}

/* ---- Shared memory: every stage of a block is kept ---- */

enum { MOST_BM = 8, MOST_BN = 128, MOST_STAGES = 1200, GARBAGE = 100 };
typedef struct filled {
    int expected, came;
    in_t memory[(MOST_BM + MOST_BN + 16) * 64];
} filled;
static filled *kept;
static int used;
static unsigned full_at, empty_at; /* the barriers of the first slot */

DEVICE unsigned shared_at(const void *memory) {
    (void)memory;
    return 0;
}
DEVICE void barrier_arrive(unsigned barrier) {
    (void)barrier;
}
DEVICE void barrier_arrive_at(unsigned barrier, int rank) {
    (void)barrier, (void)rank;
}
/* For a stage's slot, which is not full: at first it never was. */
static void barrier_wait(unsigned barrier, unsigned parity) {
    CHECK(barrier == empty_at + 8 * (unsigned)(used % STAGES) && parity == (used / STAGES % 2 == 0),
          "stage %d waits for parity %u at %u", used, parity, barrier);
}
static void barrier_expect(unsigned barrier, int bytes) {
    if (used < MOST_STAGES - 1) used++; /* the last one is for those too many */
    filled *s = &kept[used - 1];
    CHECK(barrier == full_at + 8 * (unsigned)((used - 1) % STAGES), "stage %d fills %u", used - 1, barrier);
    s->expected = bytes, s->came = 0;
    for (int i = 0; i < STAGE / (int)sizeof(in_t); i++) s->memory[i] = GARBAGE;
}

/* Ahead of a line, where a map has something, TMA brings that; beyond its end zeros. */
static in_t element_of(const tensor_map *map, int x, int line, int product) {
    if (x < 0 || x >= map->length || line < 0 || line >= map->lines || product >= map->products) return 0;
    return map->data[product * map->batch + line * map->distance + x];
}

/* What is told of tiles, each beside the first of its stages. */
typedef struct piece {
    unsigned at[4];
} piece;
static struct {
    unsigned address;
    int stage;
    piece what;
} tellings[MOST_STAGES];
static int told_of, heard_of;
static void keep_piece(unsigned address, piece p) {
    tellings[told_of].address = address, tellings[told_of].stage = used, tellings[told_of].what = p;
    if (told_of < MOST_STAGES - 1) told_of++;
}
static piece shared_piece(unsigned address) {
    CHECK(heard_of < told_of && tellings[heard_of].address == address, "tile %d of %d, at %u", heard_of,
          told_of, address);
    return tellings[heard_of].what;
}

static void check_late(const tensor_map *map, int x, int line);

/* A box, to the stage that was announced last. */
static void tma_load(unsigned to, const tensor_map *map, int x, int line, int product, unsigned barrier) {
    const int unit = 16 / (int)sizeof(in_t), bytes = map->wide * map->high * (int)sizeof(in_t);
    const int slot = (int)to / STAGE, first = (int)to % STAGE;
    filled *s = &kept[used - 1];
    CHECK(x % unit == 0, "a box begins at element %d", x);
    CHECK((uintptr_t)map->data % 16 == 0 && map->distance % unit == 0 && map->batch % unit == 0,
          "lines lie %d elements apart, products %d", (int)map->distance, (int)map->batch);
    CHECK(slot == (used - 1) % STAGES && barrier == full_at + 8 * (unsigned)slot,
          "of stage %d a box goes to slot %d, and counts at %u", used - 1, slot, barrier);
    if (!CHECK(first + bytes <= STAGE, "%d bytes from byte %d of a stage on", bytes, first)) return;
    check_late(map, x, line);
    for (int i = 0; i < map->high; i++)
        for (int j = 0; j < map->wide; j++)
            s->memory[first / (int)sizeof(in_t) + i * map->wide + j] =
                element_of(map, x + j, line + i, product);
    s->came += bytes;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* numbers of a kernel are signed, and addresses are not */
#include "../kernels/raster.h"
#include "../kernels/walk.h"
#include "../kernels/apart.h"
#pragma GCC diagnostic pop

/* ---- The order of tiles ---- */

/* How many of the numbers of so many tiles do not come up exactly once. */
static int wrong_numbers(int total, int blocks, int edges) {
    const int inner = total - edges;
    char seen[1024] = {0};
    int wrong = 0;
    for (int at = 0; at < total; at++) {
        int number = tile_number(at, blocks, total, edges), edge = -1 - number;
        if (number >= 0 ? number < inner : edge < edges)
            seen[number >= 0 ? number : inner + edge]++;
        else
            wrong++;
    }
    for (int i = 0; i < total; i++) wrong += seen[i] != 1;
    return wrong;
}

/* How many tiles of the edge blocks get that have one tile more than others. */
static int edges_of_long_blocks(int total, int blocks, int edges) {
    int count = 0;
    for (int at = 0; at < total; at++)
        count += at % blocks < total % blocks && tile_number(at, blocks, total, edges) < 0;
    return count;
}

static void check_order(int total, int blocks, int edges) {
    int wrong = wrong_numbers(total, blocks, edges);
    CHECK(wrong == 0, "%d tiles, %d of the edge, %d blocks: %d are wrong", total, edges, blocks, wrong);
}

static void check_edges(int total, int blocks, int edges) {
    const int more = total % blocks, of_short = (blocks - more) * (total / blocks);
    if (more == 0 || of_short < edges) return;
    int count = edges_of_long_blocks(total, blocks, edges);
    CHECK(count == 0, "%d tiles, %d of the edge, %d blocks: %d are of blocks that have more", total, edges,
          blocks, count);
}

/* All of the small ones; and those of a GPU. */
static void check_orders(void (*check)(int total, int blocks, int edges)) {
    for (int total = 1; total <= 40; total++)
        for (int blocks = 1; blocks <= total + 2; blocks++)
            for (int edges = 0; edges <= total; edges++) check(total, blocks, edges);
    for (int rows = 8; rows <= 48; rows += 8)
        for (int cols = 1; cols <= 20; cols++)
            for (int blocks = 114; blocks <= 132; blocks += 18) check(rows * cols, blocks, rows + cols - 1);
}

/* More blocks than tiles, as many for each, none or all of the edge, more of those than short blocks have room
 * for. */
TEST(apart_order_is_whole) {
    check_orders(check_order);
}

TEST(apart_order_gives_edges_to_short_blocks) {
    check_orders(check_edges);
}

/* ---- Products ---- */

/* Every line of A is followed by `pad_a` elements, and those of B by so many units of 8; `shared`: of A (1)
 * and B (2) those that all products of a batch have. */
typedef struct shape {
    int m, n, k, count, rim_rows, rim_cols, pad_a, pad_b, shared, blocks;
    int whole, some, chunk; /* columns of tiles that are copied beside, and lines; 0: none */
} shape;

/* C, product after product, and how often each element was computed. */
typedef struct result {
    int lines, n, *c, *taken;
} result;

static void add_sum(const result *r, int row, int col, int sum) {
    if (!CHECK(row >= 0 && row < r->lines && col >= 0 && col < r->n, "(%d, %d) of C", row, col)) return;
    r->c[row * r->n + col] += sum;
    r->taken[row * r->n + col]++;
}

/* Where lines of A and columns of B begin in a stage, and how far apart elements of B lie along k, in
 * elements. */
enum { B_STEP = 64, RIM_B_STEP = 8 };
static int a_line(int line) {
    return line * BK;
}
static int b_col(int col) {
    return (A_BYTES + col / 64 * CHUNK) / (int)sizeof(in_t) + col % 64;
}
static int rim_a_line(int line) {
    return RIM_A / (int)sizeof(in_t) + line * BK;
}
static int rim_b_col(int col) {
    return RIM_B / (int)sizeof(in_t) + col;
}

/* Garbage might be a NaN, which zeros do not take away. */
static int times(int a, int b) {
    return a == GARBAGE || b == GARBAGE ? 1 << 16 : a * b;
}

static int sum_of(const filled *s, int blocks, int a, int b, int b_step) {
    int sum = 0;
    for (int block = 0; block < blocks; block++)
        for (int k = 0; k < BK; k++) sum += times(s[block].memory[a + k], s[block].memory[b + k * b_step]);
    return sum;
}

/* A tile's own part, which ends with the rows of its class, and with columns. */
static void multiply_inner(const gemm *g, const tile *t, const filled *s, int blocks, const result *r) {
    const int lace = t->at.product % LACES, rows = (g->m - lace + LACES - 1) / LACES;
    for (int i = 0; i < BM && t->at.row + i < rows; i++)
        for (int j = 0; j < BN && t->at.col + j < g->n; j++)
            add_sum(r, t->at.product / LACES * g->m + (t->at.row + i) * LACES + lace, t->at.col + j,
                    sum_of(s, blocks, a_line(i), b_col(j), B_STEP));
}

/* What it has of the rim beside that. */
static void multiply_rim(const apart_gemm *all, const tile *t, const filled *s, int blocks, const result *r) {
    const int row_end = all->all.g.m - all->rim_rows, col_end = all->all.g.n - all->rim_cols;
    for (int beyond = 0; beyond < all->rim_cols; beyond++) {
        for (int i = 0; t->with & RIM_COLS && i < BM; i++) {
            int row = (t->at.row + i) * LACES + t->at.product % LACES;
            if (row < row_end)
                add_sum(r, row, col_end + beyond,
                        sum_of(s, blocks, a_line(i), rim_b_col(beyond), RIM_B_STEP));
        }
        for (int i = 0; t->with & RIM_CORNER && i < all->rim_rows; i++)
            add_sum(r, row_end + i, col_end + beyond,
                    sum_of(s, blocks, rim_a_line(i), rim_b_col(beyond), RIM_B_STEP));
    }
    for (int beyond = 0; t->with & RIM_ROWS && beyond < all->rim_rows; beyond++)
        for (int j = 0; j < BN && t->at.col + j < col_end; j++)
            add_sum(r, row_end + beyond, t->at.col + j,
                    sum_of(s, blocks, rim_a_line(beyond), b_col(j), B_STEP));
}

/* What the stages of a block's tiles come to, added to C. What lines of A have ahead of k, in the stage that k
 * begins with, is cleared: the first, or of tiles that are walked back the last of the whole ones. */
static void multiply(const apart_gemm *all, room memory, const result *r) {
    const gemm *g = &all->all.g;
    const int count = tiles_of_block(all);
    filled *s = kept;
    CHECK(count == told_of, "%d tiles, told of %d", count, told_of);
    for (heard_of = 0; heard_of < count; heard_of++) {
        CHECK(tellings[heard_of].stage == (int)(s - kept), "told of tile %d beside stage %d", heard_of,
              tellings[heard_of].stage);
        const tile t = told(memory, (int)(s - kept) % STAGES);
        const int begin = begin_of(g, t.at.product), blocks = (g->k + begin + BK - 1) / BK,
                  whole = whole_stages((g->k + begin + STEP - 1) / STEP);
        filled *first = t.back && whole > 0 ? s + whole - 1 : s;
        if (!CHECK(s + blocks <= kept + used, "%d stages", used)) return;
        for (int i = 0; i < blocks; i++)
            CHECK(s[i].came == s[i].expected, "%d bytes came, and %d were expected", s[i].came,
                  s[i].expected);
        for (int line = 0; line < BM; line++)
            for (int i = 0; i < begin; i++) first->memory[a_line(line) + i] = 0;
        multiply_inner(g, &t, s, blocks, r);
        multiply_rim(all, &t, s, blocks, r);
        s += blocks;
    }
    CHECK(s == kept + used, "%d stages", used);
}

/* ---- What the host makes of a product ---- */

/* Lines of numbers that are not zero, with garbage between them. Nothing follows the last: ASan finds who
 * reads on. */
static in_t *make_matrix(int count, long long batch, int lines, long long distance, int length) {
    size_t size = (size_t)((count - 1) * batch + (lines - 1) * distance + length);
    in_t *memory = test_alloc(size * sizeof *memory);
    for (size_t i = 0; i < size; i++) memory[i] = GARBAGE;
    for (int product = 0; product < count; product++)
        for (int line = 0; line < lines; line++)
            for (int i = 0; i < length; i++) {
                int value = (int)rng_range(test_random(), -3, 2);
                memory[product * batch + line * distance + i] = (in_t)(value < 0 ? value : value + 1);
            }
    return memory;
}

static int *make_zeros(int count) {
    int *memory = test_alloc((size_t)count * sizeof *memory);
    memset(memory, 0, (size_t)count * sizeof *memory);
    return memory;
}

static int round_up(int value, int unit) {
    return (value + unit - 1) / unit * unit;
}

static in_t *copy_of_rim(const gemm *g, int rows, const in_t *a, int distance) {
    in_t *copy = make_matrix(1, 0, rows, distance, g->k);
    for (int i = 0; i < rows; i++)
        memcpy(&copy[i * distance], &a[(g->m - rows + i) * g->lda], (size_t)g->k * sizeof *a);
    return copy;
}

/* A class of rows, from the multiple of 16 bytes on that lies ahead of the first. A class without any has
 * the map of class 0. */
static tensor_map map_of_class(const gemm *g, int lace, int rim_rows, const in_t *a) {
    const int rows = (g->m - rim_rows - lace + LACES - 1) / LACES, begin = (int)(lace * g->lda % 8);
    if (rows == 0) return map_of_class(g, 0, rim_rows, a);
    return (tensor_map){.data = a + lace * g->lda - begin,
                        .length = g->k + begin,
                        .lines = rows,
                        .products = g->batch_a ? g->count : 1,
                        .wide = BK,
                        .high = BM,
                        .distance = LACES * g->lda,
                        .batch = g->batch_a};
}

/* B as it lies, in boxes so wide. */
static tensor_map map_of_b(const gemm *g, const in_t *b, int ldb, int wide) {
    return (tensor_map){.data = b,
                        .length = g->n,
                        .lines = g->k,
                        .products = g->batch_b ? g->count : 1,
                        .wide = wide,
                        .high = BK,
                        .distance = ldb,
                        .batch = g->batch_b};
}

static apart_gemm apart_of(const shape *s, const gemm *g, const in_t *a, const in_t *b, int ldb,
                           const in_t *rim) {
    apart_gemm all = {.all = {*g, map_of_b(g, b, ldb, 64)}, .rim_rows = s->rim_rows, .rim_cols = s->rim_cols};
    for (int lace = 0; lace < LACES; lace++) all.rows[lace] = map_of_class(g, lace, s->rim_rows, a);
    if (s->rim_rows) all.rim_a = (tensor_map){rim, s->k, s->rim_rows, 1, BK, 8, round_up(s->k, 8), 0};
    if (s->rim_cols) all.rim_b = map_of_b(g, b, ldb, 8);
    return all;
}

/* Elements of C that were not computed exactly once, or are wrong. */
static int wrong_elements(const gemm *g, const in_t *a, const in_t *b, long long ldb, const result *r) {
    int wrong = 0;
    for (int line = 0; line < r->lines; line++)
        for (int j = 0; j < g->n; j++) {
            const in_t *row = a + line / g->m * g->batch_a + line % g->m * g->lda,
                       *col = b + line / g->m * g->batch_b + j;
            int sum = 0;
            for (int k = 0; k < g->k; k++) sum += row[k] * col[k * ldb];
            wrong += r->c[line * g->n + j] != sum || r->taken[line * g->n + j] != 1;
        }
    return wrong;
}

/* Of the product that is computed. */
static const apart_gemm *product;

/* A box of B needs the counts of all its lines that are copied late. */
static void check_late(const tensor_map *map, int x, int line) {
    const late_copy *late = &product->late;
    if (map != &product->all.b) return;
    for (int i = line < 0 ? 0 : line; i < line + map->high && i < product->all.g.k; i++)
        if (x / BN < late->whole || (x / BN < late->whole + late->some && i >= late->chunk)) {
            const int chunks = round_up(product->all.g.k, late->chunk) / late->chunk;
            if (!CHECK(looked_at[1 + x / BN * chunks + i / late->chunk], "line %d from column %d on", i, x))
                return;
        }
}

/* What of B is late, from a matrix whose lines begin anywhere; the rest was copied ahead. */
static void copy_beside(const shape *s, apart_gemm *all, const in_t *from, int from_row, in_t *to,
                        int to_row) {
    const gemm *g = &all->all.g;
    const int chunk = s->chunk, chunks = round_up(g->k, chunk) / chunk, some = (s->whole + s->some) * BN;
    int *made = make_zeros(MOST_COUNTS);
    counts = made;
    all->late = (late_copy){from, to, made, from_row, to_row, s->whole, s->some, chunk, 0};
    for (int line = 0; line < g->k; line++)
        for (int i = 0; i < to_row; i++) {
            const int ahead = i < g->n && (i >= some || (i >= s->whole * BN && line < chunk));
            to[line * to_row + i] = ahead ? from[line * from_row + i] : GARBAGE;
        }
    for (threadIdx.x = 32; threadIdx.x < 64; threadIdx.x++) part_drawn = 0, copy_late(&all->late, g->k);
    for (int i = 0; i < (s->whole + s->some) * chunks; i++) {
        const int left = g->k - i % chunks * chunk, lines = left < chunk ? left : chunk,
                  ahead = i >= s->whole * chunks && i % chunks == 0;
        CHECK(made[1 + i] == (ahead ? 0 : round_up(lines, LATE_LINES) / LATE_LINES),
              "count %d of %d in each column: %d", i, chunks, made[1 + i]);
    }
}

/* The whole product, a block after another. */
static void check_product(const shape *s) {
    const int lda = s->k + s->pad_a, ldb = round_up(s->n, 8) + 8 * s->pad_b;
    const gemm g = {s->m,
                    s->n,
                    s->k,
                    s->count,
                    lda,
                    s->count == 1 || s->shared & 1 ? 0 : round_up(s->m * lda, 8),
                    s->count == 1 || s->shared & 2 ? 0 : s->k * ldb};
    in_t *a = make_matrix(s->count, g.batch_a, s->m, lda, s->k);
    in_t *b = make_matrix(s->count, g.batch_b, s->k, ldb, s->n);
    in_t *rim = s->rim_rows ? copy_of_rim(&g, s->rim_rows, a, round_up(s->k, 8)) : NULL;
    const result r = {s->count * s->m, s->n, make_zeros(s->count * s->m * s->n),
                      make_zeros(s->count * s->m * s->n)};
    apart_gemm all = apart_of(s, &g, a, b, ldb, rim);
    const int from_row = s->n + s->pad_a;
    in_t *copy = NULL, *from = NULL;
    if (s->whole) {
        copy = test_alloc((size_t)(s->k * ldb) * sizeof *copy);
        from = make_matrix(1, 0, s->k, from_row, s->n);
        copy_beside(s, &all, from, from_row, copy, ldb);
        all.all.b.data = copy;
        if (s->rim_cols) all.rim_b.data = copy;
    }
    product = &all;
    const room memory = rooms(NULL);
    full_at = memory.full, empty_at = memory.empty;
    gridDim.x = (unsigned)s->blocks;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
        used = told_of = 0;
        memset(looked_at, 0, sizeof looked_at);
        produce(&all, memory);
        multiply(&all, memory, &r);
    }
    int wrong = wrong_elements(&g, a, from ? from : b, from ? from_row : ldb, &r);
    CHECK(wrong == 0,
          "%d of %d×%d×%d, rims of %d and %d, lda=%d ldb=%d, BM=%d BN=%d GROUP=%d, %d blocks: %d are wrong",
          s->count, s->m, s->n, s->k, s->rim_rows, s->rim_cols, lda, ldb, BM, BN, GROUP, s->blocks, wrong);
    free(a), free(b), free(rim), free(r.c), free(r.taken), free(copy), free(from), free(all.late.counts);
}

/* ---- Shapes ---- */

static int draw(int low, int high) {
    return (int)rng_range(test_random(), low, high);
}

static void build(int bm, int bn, int group) {
    built.bm = bm, built.bn = bn, built.group = group;
}

/* Whole tiles and so many rows and columns beyond; where those are none, any size. Batches have none. */
static shape draw_shape(int rim_rows, int rim_cols) {
    shape s = {.k = draw(0, 1) ? draw(1, 150) : draw(128, 700),
               .count = rim_rows + rim_cols ? 1 : draw(1, 3),
               .rim_rows = rim_rows,
               .rim_cols = rim_cols,
               .pad_a = draw(0, 9),
               .pad_b = draw(0, 2),
               .shared = draw(0, 3),
               .blocks = draw(1, 7)};
    s.m = rim_rows ? LACES * BM * draw(1, 2) + rim_rows : draw(1, 2 * LACES * BM + 9);
    s.n = rim_cols ? BN * draw(1, 256 / BN) + rim_cols : draw(1, 200);
    return s;
}

/* With no rim, a rim of rows or of columns, and both. */
TEST(apart_multiplies_everything) {
    kept = test_alloc(MOST_STAGES * sizeof *kept);
    for (sampling s = sampling_start(40, 80, 0.2); sampling_next(&s);) {
        build(1 << draw(0, 3), draw(0, 1) ? 64 : 128, draw(1, 32));
        const shape one = draw_shape(s.index & 1 ? draw(1, 8) : 0, s.index & 2 ? draw(1, 8) : 0);
        check_product(&one);
    }
    free(kept);
}

/* B's lines begin anywhere, and columns of tiles are copied beside, all of their lines or those from the first chunk on. */
TEST(apart_copies_what_is_late) {
    kept = test_alloc(MOST_STAGES * sizeof *kept);
    for (sampling s = sampling_start(30, 60, 0.2); sampling_next(&s);) {
        build(1 << draw(0, 2), 64, draw(1, 32));
        shape one = draw_shape(s.index & 1 ? draw(1, 8) : 0, s.index & 2 ? draw(1, 8) : 0);
        one.count = 1, one.whole = draw(1, 5), one.some = draw(1, 2), one.chunk = LATE_LINES * draw(1, 12);
        one.n = 64 * (one.whole + one.some + draw(0, 1)) + (one.rim_cols ? one.rim_cols : draw(9, 64));
        check_product(&one);
    }
    free(kept);
}

/* Every begin of rows, where k ends within the first stage, with it, and after it for some classes; and
 * fewer rows than classes. */
TEST(apart_multiplies_from_every_begin) {
    static const int ends[] = {1, 7, 57, 60, 64, 65, 121, 128}, rows[] = {1, 5, 8, 9, 35};
    kept = test_alloc(MOST_STAGES * sizeof *kept);
    build(4, 64, 8);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int pad = 0; pad < 8; pad++)
            for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
                const shape s = {.m = rows[j], .n = 5, .k = ends[i], .count = 1, .pad_a = pad, .blocks = 3};
                check_product(&s);
            }
    free(kept);
}
