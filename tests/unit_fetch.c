/* unit_fetch.c: what the producer of a kernel for Hopper asks TMA for (kernels/fetch.h, walk.h and raster.h), on this machine:
 * TMA is played by loops, and every tile is multiplied from the stages it was given. Each barrier must get as many bytes as it
 * was told to expect, or a kernel would wait for ever; each element of C is computed once, and right. White-box: the kernels'
 * headers are compiled here. */
#include "harness.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- What the headers take from CUDA, and from a kernel ---- */

#define DEVICE     static __attribute__((unused))
#define __device__ static __attribute__((unused))
#define UNROLL
#define __threadfence() (void)0
static struct { unsigned x; } blockIdx, gridDim, threadIdx;

typedef int16_t in_t;
typedef struct gemm {
    int m, n, k, count;
    long long batch_a, batch_b;
} gemm;
/* A matrix as TMA sees it, whose lines lie along k or (turned) across, and the lines of a box. */
typedef struct tensor_map {
    const in_t *data;
    int turned, length, lines, box;
    long long distance, batch;
} tensor_map;
typedef struct tma_gemm {
    gemm g;
    tensor_map a, b;
} tma_gemm;

/* What a kernel is compiled with. */
static struct { int bm, bn, cm, cn, at, bt, every, group; } built;
#define BM        built.bm
#define BN        built.bn
#define CM        built.cm
#define CN        built.cn
#define EVERY     built.every
#define GROUP     built.group
#define A_TURNED  built.at
#define B_TURNED  (!built.bt)
#define PACE      0
#define LINE      128
#define BK        (LINE / (int)sizeof(in_t))
#define A_LINES   (A_TURNED ? (BM + 63) / 64 * 64 : BM)
#define B_LINES   (B_TURNED ? (BN + 63) / 64 * 64 : BN)
#define A_BYTES   (A_LINES * LINE)
#define STAGE     (A_BYTES + B_LINES * LINE)
#define CHUNK     (64 * LINE)
#define STAGES    3
#define BOXES     1
#define BOX       0
#define CONSUMERS 1

/* ---- Shared memory: every stage of every block is kept ---- */

enum { CLUSTER = 2, MOST_STAGES = 64, MOST_BYTES = (192 + 256) * 128 };
typedef struct filled {
    int expected, came, k; /* k: where along it the last box began */
    _Alignas(in_t) char memory[MOST_BYTES];
} filled;
static filled *kept[CLUSTER]; /* of the blocks of one cluster */
static int used[CLUSTER], rank_now;

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
DEVICE void barrier_wait(unsigned barrier, unsigned parity) {
    (void)barrier, (void)parity;
}
static void barrier_expect(unsigned barrier, int bytes) {
    (void)barrier;
    kept[rank_now][used[rank_now]++].expected = bytes;
}
DEVICE unsigned atomicAdd(unsigned *to, unsigned more) {
    return *to += more;
}
DEVICE unsigned atomicInc(unsigned *to, unsigned most) {
    return *to = *to >= most ? 0 : *to + 1;
}

static in_t element_of(const tensor_map *map, int x, int line, int product) {
    if (x < 0 || x >= map->length || line < 0 || line >= map->lines) return 0;
    return map->data[product * map->batch + line * map->distance + x];
}

/* A box, to the stage that was announced last. */
static void copy_box(int rank, unsigned to, const tensor_map *map, int x, int line, int product) {
    filled *s = &kept[rank][used[rank_now] - 1];
    unsigned at = to % (unsigned)STAGE;
    CHECK(x * (int)sizeof(in_t) % 16 == 0, "a box begins at element %d", x);
    CHECK(CM * CN == 1 || (map->turned ? x < map->length : line < map->lines),
          "a box from (%d, %d) on has nothing", x, line);
    int64_t byte = (product * map->batch + x) * (int64_t)sizeof(in_t);
    CHECK(map->batch % 16 == 0 || byte % 32 == 0, "a line of product %d begins at byte %d", product,
          (int)byte);
    for (int i = 0; i < map->box; i++)
        for (int j = 0; j < BK; j++) {
            in_t value = element_of(map, x + j, line + i, product);
            memcpy(&s->memory[at + (unsigned)(i * LINE + j * (int)sizeof value)], &value, sizeof value);
        }
    s->k = map->turned ? line : x;
    s->came += map->box * LINE;
}
static void tma_load(unsigned to, const tensor_map *map, int x, int line, int product, unsigned barrier) {
    (void)barrier;
    copy_box(rank_now, to, map, x, line, product);
}
static void tma_load_all(unsigned to, const tensor_map *map, int x, int line, int product, unsigned barrier,
                         int blocks) {
    (void)barrier;
    for (int rank = 0; rank < CLUSTER; rank++)
        if (blocks >> rank & 1) copy_box(rank, to, map, x, line, product);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* numbers of a kernel are signed, and addresses are not */
#include "../kernels/raster.h"
#include "../kernels/walk.h"
#include "../kernels/fetch.h"
#pragma GCC diagnostic pop

/* ---- Products ---- */

/* `pad` elements follow every line. */
typedef struct shape {
    int m, n, k, pad;
} shape;

static int in_stage(const filled *s, int line, int element) {
    in_t value;
    memcpy(&value, &s->memory[line * LINE + element * (int)sizeof value], sizeof value);
    return value;
}
static int a_of(const filled *s, int row, int k) {
    return A_TURNED ? in_stage(s, row / 64 * 64 + k, row % 64) : in_stage(s, row, k);
}
static int b_of(const filled *s, int k, int col) {
    int first = A_BYTES / LINE;
    return B_TURNED ? in_stage(s, first + col / 64 * 64 + k, col % 64) : in_stage(s, first + col, k);
}

/* What the stages of a block's tiles come to, added to C: `taken` has how many there are of each element. In a cluster those that
 * are filled again are freed, and no others: one is waited for, and who would be told of the other may have left. */
static void multiply(const tma_gemm *all, int rank, int blocks, int *c, int *taken) {
    const gemm *g = &all->g;
    const filled *s = kept[rank];
    for (walk w = begin_walk(g); w.at < w.total; w.at += w.step) {
        place p = place_of(&w, rank);
        const int left = stages_left(&w, blocks);
        for (int block = 0; block < blocks; block++, s++) {
            int again = s - kept[rank] + STAGES < used[rank];
            CHECK(is_refilled(block, left) == (CM * CN == 1 || again), "stage %d of %d, block %d of a tile",
                  (int)(s - kept[rank]), used[rank], block);
            CHECK(block < blocks - 2 || (s->k + UNIT * (EVERY - 1)) / BK == block,
                  "stage %d of a tile with %d begins at %d of k", block, blocks, s->k);
            CHECK(s->came == s->expected, "%d bytes came, and %d were expected", s->came, s->expected);
            for (int i = 0; i < BM && p.row + i < g->m; i++)
                for (int j = 0; j < BN && p.col + j < g->n; j++) {
                    int at = ((p.row + i) * EVERY + p.product) * g->n + p.col + j;
                    for (int k = 0; k < BK; k++) c[at] += a_of(s, i, k) * b_of(s, k, j);
                    taken[at] += block == 0;
                }
        }
    }
    CHECK(s == kept[rank] + used[rank], "%d stages", used[rank]);
}

static in_t *make_matrix(int lines, int distance) {
    size_t count = (size_t)lines * (size_t)distance;
    in_t *memory = test_alloc(count * sizeof *memory);
    for (size_t i = 0; i < count; i++) memory[i] = (in_t)rng_range(test_random(), -3, 3);
    return memory;
}

static int *make_zeros(int count) {
    int *memory = test_alloc((size_t)count * sizeof *memory);
    memset(memory, 0, (size_t)count * sizeof *memory);
    return memory;
}

/* Along k no more than there are, where a block is by itself. */
static int lines_of_box(int lines, int there) {
    return CM * CN == 1 && there < lines ? there : lines;
}

/* The whole product, a cluster after another; `clusters` of them share its tiles. */
static void check_product(shape s, int clusters) {
    const int lda = (A_TURNED ? s.m : s.k) + s.pad, ldb = (B_TURNED ? s.n : s.k) + s.pad;
    in_t *a = make_matrix(A_TURNED ? s.k : s.m, lda), *b = make_matrix(B_TURNED ? s.k : s.n, ldb);
    int *c = make_zeros(s.m * s.n), *taken = make_zeros(s.m * s.n);
    const gemm g = {s.m / EVERY, s.n, s.k, EVERY, EVERY > 1 ? lda : 0, 0};
    const tma_gemm all = {g,
                          A_TURNED ? (tensor_map){a, 1, s.m, s.k, BK / CN, lda, 0}
                                   : (tensor_map){a, 0, s.k, g.m, lines_of_box(BM / CN, g.m), EVERY * lda,
                                                  g.batch_a},
                          B_TURNED ? (tensor_map){b, 1, s.n, s.k, BK / CM, ldb, 0}
                                   : (tensor_map){b, 0, s.k, s.n, lines_of_box(BN / CM, s.n), ldb, 0}};
    const int blocks = (s.k + UNIT * (EVERY - 1) + BK - 1) / BK;
    const int blocks_of_cluster = CM * CN;
    gridDim.x = (unsigned)(clusters * blocks_of_cluster);
    for (int cluster = 0; cluster < clusters; cluster++) {
        for (int rank = 0; rank < blocks_of_cluster; rank++)
            memset(kept[rank], 0, MOST_STAGES * sizeof *kept[rank]);
        for (rank_now = 0; rank_now < blocks_of_cluster; rank_now++) {
            blockIdx.x = (unsigned)(cluster * blocks_of_cluster + rank_now);
            used[rank_now] = 0;
            produce(&all, rooms(NULL), blocks, rank_now);
        }
        for (int rank = 0; rank < blocks_of_cluster; rank++) {
            blockIdx.x = (unsigned)(cluster * blocks_of_cluster + rank);
            multiply(&all, rank, blocks, c, taken);
        }
    }
    int wrong = 0;
    for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++) {
            int sum = 0;
            for (int k = 0; k < s.k; k++)
                sum += a[A_TURNED ? k * lda + i : i * lda + k] * b[B_TURNED ? k * ldb + j : j * ldb + k];
            wrong += sum != c[i * s.n + j] || taken[i * s.n + j] != 1;
        }
    CHECK(wrong == 0, "%d×%d×%d, BM=%d BN=%d CM=%d CN=%d AT=%d BT=%d EVERY=%d: %d of %d elements are wrong",
          s.m, s.n, s.k, BM, BN, CM, CN, A_TURNED, built.bt, EVERY, wrong, s.m * s.n);
    free(a), free(b), free(c), free(taken);
}

static void begin(void) {
    for (int i = 0; i < CLUSTER; i++) kept[i] = test_alloc(MOST_STAGES * sizeof *kept[i]);
}
static void end(void) {
    for (int i = 0; i < CLUSTER; i++) free(kept[i]);
}

/* Blocks by themselves, or two that share B, or A. */
enum { ALONE, IN_COLUMN, IN_ROW, WAYS };
static void build_cluster(int way) {
    built.cm = way == IN_COLUMN ? 2 : 1, built.cn = way == IN_ROW ? 2 : 1;
}

/* Ragged ends, last blocks of a cluster that have no rows, or columns, and chunks that have none, in every order. */
TEST(fetch_brings_every_tile) {
    static const shape shapes[] = {{128, 128, 64, 0}, {40, 72, 136, 0},   {136, 200, 72, 8},
                                   {264, 8, 200, 0},  {72, 264, 104, 16}, {200, 136, 8, 0}};
    static const int tiles[][2] = {{64, 64}, {64, 128}, {128, 64}, {192, 192}, {176, 192}};
    begin();
    for (int order = 0; order < 4; order++)
        for (int way = 0; way < WAYS; way++)
            for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
                for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                    built.bm = tiles[t][0], built.bn = tiles[t][1];
                    build_cluster(way), built.every = 1, built.group = 2;
                    built.at = order / 2, built.bt = order % 2;
                    check_product(shapes[i], 1 + (int)(i % 2));
                }
    end();
}

/* Rows taken apart: k is taken up ahead of its begin, and lines of A begin with a sector. */
TEST(fetch_brings_every_second_row) {
    static const shape shapes[] = {{128, 64, 64, 0}, {40, 72, 136, 0},   {136, 200, 72, 0},
                                   {264, 8, 200, 0}, {72, 136, 104, 16}, {200, 40, 8, 0}};
    begin();
    for (int way = 0; way < WAYS; way++)
        for (int bt = 0; bt < 2; bt++)
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                built.bm = i % 2 ? 128 : 64, built.bn = i % 2 ? 64 : 128;
                build_cluster(way), built.every = 2, built.group = 8;
                built.at = 0, built.bt = bt;
                check_product(shapes[i], 1);
            }
    end();
}
