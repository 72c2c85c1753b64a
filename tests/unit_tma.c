/* unit_tma.c: kernels whose tiles TMA moves get tensor maps that say what the matrices are, a grid that fits the card,
 * and are launched as their rows say. The stand-in driver tells what it was given. */
#include "gpu.h"
#include "standin/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rungs for sm_90 whose tiles have 128 rows; and one with clusters. */
static const char *const top = "wgmma_06_turns", *const clustered = "wgmma_06_turns";

/* The stand-in has 4 multiprocessors, and 5 blocks of 384 threads fit each. */
enum { AT_ONCE = 20 };

static standin_seen last_launch(void) {
    standin_seen seen = {.name = ""};
    GPU_FUNCTION(last, "standin_last_tma", standin_seen *);
    CHECK(last(&seen), "no kernel with tensor maps was launched");
    return seen;
}

/* Operands in device memory, `off` elements after an aligned address, their lines `line` elements apart. */
typedef struct operand {
    tess_type type;
    int64_t rows, cols, line, off;
    int by_columns;
} operand;

typedef struct product {
    operand a, b, c;
    tess_batch batch;
    tess_compute compute;
    const char *kernel, *params;
} product;

static tess_matrix view_of(const operand *o, char *memory) {
    char *data = memory + o->off * (int64_t)tess_type_size(o->type);
    tess_matrix m = o->by_columns ? tess_view_col_major(o->type, o->rows, o->cols, data, o->line)
                                  : tess_view_row_major(o->type, o->rows, o->cols, data, o->line);
    m.place = TESS_DEVICE;
    return m;
}

/* Runs it on whatever is in the memory. */
static tess_status run(tess_context *ctx, const product *p, char *memory[3]) {
    const operand *operands[] = {&p->a, &p->b, &p->c};
    tess_matrix views[3];
    for (int i = 0; i < 3; i++) {
        const operand *o = operands[i];
        int64_t lines = (o->by_columns ? o->cols : o->rows) * (p->batch.count + 1) + 1;
        memory[i] = gpu_alloc(ctx, NULL, (size_t)(lines * (o->line + 64)) * tess_type_size(o->type));
        views[i] = view_of(o, memory[i]);
    }
    tess_options options = {.kernel = p->kernel, .params = p->params, .compute = p->compute};
    tess_status status = tess_gemm_batched(ctx, 1, &views[0], &views[1], 0, &views[2], &p->batch, &options);
    if (status == TESS_OK) status = tess_wait(ctx);
    return status;
}

static void release(tess_context *ctx, char *memory[3]) {
    for (int i = 0; i < 3; i++) CHECK_STATUS(tess_free(ctx, memory[i]), TESS_OK, ctx);
}

/* What a map must be. Where there is one line or one matrix, the next is as far as it could be. */
static void check_map(const char *what, const standin_map *m, const operand *o, const char *memory, int type,
                      int64_t lines_of_box, int64_t products, int64_t batch) {
    int64_t size = (int64_t)tess_type_size(o->type), length = o->by_columns ? o->rows : o->cols,
            lines = o->by_columns ? o->cols : o->rows,
            line = lines > 1 ? o->line * size : (length * size + 15) / 16 * 16;
    CHECK(m->address == memory + o->off * size, "%s: %lld bytes after its memory", what,
          (long long)(m->address - memory));
    CHECK((int64_t)m->dimensions[0] == length && (int64_t)m->dimensions[1] == lines &&
              (int64_t)m->dimensions[2] == products,
          "%s: dimensions %lld, %lld, %lld", what, (long long)m->dimensions[0], (long long)m->dimensions[1],
          (long long)m->dimensions[2]);
    CHECK((int64_t)m->strides[0] == line &&
              (int64_t)m->strides[1] == (products > 1 ? batch * size : lines * line),
          "%s: strides %lld and %lld", what, (long long)m->strides[0], (long long)m->strides[1]);
    CHECK(m->box[0] * size == 128 && (int64_t)m->box[1] == lines_of_box && m->box[2] == 1,
          "%s: boxes of %u by %u by %u", what, m->box[0], m->box[1], m->box[2]);
    CHECK(m->type == type && m->interleave == 0 && m->swizzle == 3 && m->promotion == 2 && m->fill == 0,
          "%s: type %d, interleave %d, swizzle %d, promotion %d, fill %d", what, m->type, m->interleave,
          m->swizzle, m->promotion, m->fill);
}

/* ---- Maps ---- */

/* The numbers of CUtensorMapDataType. */
typedef struct map_types {
    tess_type in, out;
    int of_input, of_output;
} map_types;
static const map_types types[] = {{TESS_BF16, TESS_BF16, 9, 9}, {TESS_BF16, TESS_F32, 9, 7},
                                  {TESS_F16, TESS_F16, 6, 6},   {TESS_F16, TESS_F32, 6, 7},
                                  {TESS_I8, TESS_I32, 0, 3},    {TESS_F32, TESS_F32, 11, 7}};
enum { TYPES = sizeof types / sizeof *types };

/* 200×144×112, lines 16 elements longer than need be. */
static product product_of(const map_types *t, int a_by_columns, int b_by_columns, int64_t off) {
    enum { M = 200, N = 144, K = 112, PAD = 16 };
    return (product){.a = {t->in, M, K, (a_by_columns ? M : K) + PAD, off, a_by_columns},
                     .b = {t->in, K, N, (b_by_columns ? K : N) + PAD, off, b_by_columns},
                     .c = {t->out, M, N, N + PAD, off, 0},
                     .batch = {1, 0, 0, 0},
                     .compute = t->in == TESS_F32 ? TESS_COMPUTE_TF32 : TESS_COMPUTE_DEFAULT,
                     .kernel = top,
                     .params = "BN=128"};
}

static void check_maps(tess_context *ctx, const product *p, const map_types *t, const int64_t boxes[3]) {
    char *memory[3];
    int64_t count = p->batch.count;
    if (CHECK_STATUS(run(ctx, p, memory), TESS_OK, ctx)) {
        standin_seen s = last_launch();
        check_map("A", &s.with.a.map, &p->a, memory[0], t->of_input, boxes[0], p->batch.stride_a ? count : 1,
                  p->batch.stride_a);
        check_map("B", &s.with.b.map, &p->b, memory[1], t->of_input, boxes[1], p->batch.stride_b ? count : 1,
                  p->batch.stride_b);
        check_map("C", &s.with.c.map, &p->c, memory[2], t->of_output, boxes[2], count, p->batch.stride_c);
        CHECK(s.with.g.count == count, "the launch is of %d products", s.with.g.count);
    }
    release(ctx, memory);
}

/* Of the kernels that take A and B along k, or elements of 16 bits as they lie. */
static void check_top_maps(tess_context *ctx, const product *p, const map_types *t) {
    int64_t line = 128 / (int64_t)tess_type_size(t->in);
    const int64_t boxes[] = {p->a.by_columns ? line : 128, p->b.by_columns ? 128 : line, 16};
    check_maps(ctx, p, t, boxes);
}

STANDIN_TEST(gpu_standin_tma_maps_of_every_layout_and_type) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int t = 0; t < TYPES; t++)
        for (int order = 0; order < 4; order++) {
            int along_k = tess_type_size(types[t].in) != 2;
            if (along_k && order != 1) continue; /* the others are copied */
            product p = product_of(&types[t], order / 2, order % 2, 0);
            check_top_maps(ctx, &p, &types[t]);
        }
    tess_close(ctx);
}

/* One line, and addresses that are aligned but not where memory begins. */
STANDIN_TEST(gpu_standin_tma_maps_of_one_line) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int t = 0; t < TYPES; t++) {
        product p = product_of(&types[t], 0, 1, 16);
        p.a.rows = p.c.rows = 1;
        check_top_maps(ctx, &p, &types[t]);
    }
    tess_close(ctx);
}

/* f32 with B in rows is taken as it lies, and blocks that share A fetch a part of it each. */
STANDIN_TEST(gpu_standin_tma_maps_of_b_in_rows) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int shared = 0; shared < 2; shared++) {
        product p = product_of(&types[TYPES - 1], 0, 0, 16);
        p.kernel = "wgmma_08_registers", p.params = shared ? "BM=128,CN=2" : "BM=192";
        check_maps(ctx, &p, &types[TYPES - 1], (const int64_t[]){shared ? 64 : 192, 32, 32});
    }
    tess_close(ctx);
}

/* Boxes along k have no more lines than the matrix, unless blocks share them. Those of C are a warpgroup's, or (TURN=0) a
 * warp's. */
STANDIN_TEST(gpu_standin_tma_boxes_of_small_matrices) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int shared = 0; shared < 2; shared++) {
        product p = product_of(&types[0], 0, 1, 0);
        p.a.rows = p.c.rows = 40, p.b.cols = p.c.cols = 24;
        p.kernel = "wgmma_07_fitted", p.params = shared ? "BM=64,BN=64,CM=2" : "BM=64,BN=64,TURN=0";
        check_maps(ctx, &p, &types[0],
                   shared ? (const int64_t[]){64, 32, 64} : (const int64_t[]){40, 24, 16});
    }
    tess_close(ctx);
}

/* A matrix that all products share has one in its map. */
STANDIN_TEST(gpu_standin_tma_maps_of_batches) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int shared = 0; shared < 4; shared++) {
        product p = product_of(&types[0], 0, 0, 0);
        p.batch = (tess_batch){3, p.a.rows * p.a.line, p.b.rows * p.b.line, p.c.rows * p.c.line};
        if (shared & 1) p.batch.stride_a = 0;
        if (shared & 2) p.batch.stride_b = 0;
        check_top_maps(ctx, &p, &types[0]);
    }
    tess_close(ctx);
}

/* ---- What TMA cannot move ---- */

/* A and B that are not aligned, in their lines or where they begin, are copied; a C that is not is written without a
 * map. Each bit of `which` says that of a matrix. */
static void check_unaligned(tess_context *ctx, const product *p, const char *what, int which) {
    static const standin_map none = {.address = NULL};
    char *memory[3];
    int64_t size = (int64_t)tess_type_size(p->a.type);
    if (CHECK_STATUS(run(ctx, p, memory), TESS_OK, ctx)) {
        standin_seen s = last_launch();
        const standin_map *a = &s.with.a.map, *b = &s.with.b.map;
        CHECK((a->address == memory[0] + p->a.off * size) == !(which & 1) && a->strides[0] % 16 == 0,
              "%s %d: A's lines are %lld bytes apart", what, which, (long long)a->strides[0]);
        CHECK((b->address == memory[1] + p->b.off * size) == !(which & 2) && b->strides[0] % 16 == 0,
              "%s %d: B's lines are %lld bytes apart", what, which, (long long)b->strides[0]);
        CHECK((memcmp(&s.with.c.map, &none, sizeof none) == 0) == (which >> 2), "%s %d: C's map", what,
              which);
    }
    release(ctx, memory);
}

STANDIN_TEST(gpu_standin_tma_unaligned_matrices) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int which = 1; which < 8; which++) {
        product lines = product_of(&types[0], 0, 1, 0), bases = lines;
        if (which & 1) lines.a.line += 1, bases.a.off = 1;
        if (which & 2) lines.b.line += 4, bases.b.off = 20;
        if (which & 4) lines.c.line += 2, bases.c.off = 3;
        check_unaligned(ctx, &lines, "lines", which);
        check_unaligned(ctx, &bases, "bases", which);
    }
    product p = product_of(&types[0], 0, 1, 0);
    p.b.cols = p.c.cols = 141; /* rows of C do not end at multiples of 16 bytes */
    check_unaligned(ctx, &p, "ends", 4);
    char *memory[3];
    p.params = "STORE=1";
    CHECK_STATUS(run(ctx, &p, memory), TESS_ERROR_KERNEL, ctx);
    CHECK(strstr(tess_error(ctx), "STORE is 1, but rows of C do not begin and end at multiples of 16 bytes"),
          "%s", tess_error(ctx));
    release(ctx, memory);
    tess_close(ctx);
}

/* The plan does not know addresses: its workspace is that of aligned matrices. A run takes more where it has to, and says
 * so where it may not. */
STANDIN_TEST(gpu_standin_tma_workspace_of_addresses) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    char *memory[3], *lent = gpu_alloc(ctx, NULL, 1 << 16);
    tess_plan *plan = NULL;
    product p = product_of(&types[0], 0, 1, 0);
    tess_matrix A = view_of(&p.a, NULL), B = view_of(&p.b, NULL), C = view_of(&p.c, NULL);
    CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &(tess_options){.kernel = top}, &plan), TESS_OK, ctx);
    CHECK(tess_plan_workspace(plan) == 0, "%lld bytes are planned", (long long)tess_plan_workspace(plan));
    tess_free_plan(plan);
    for (int misaligned = 0; misaligned < 2; misaligned++)
        for (size_t bytes = 1; bytes <= 1 << 16; bytes <<= 16) {
            int refused = misaligned && bytes == 1;
            p.a.off = misaligned;
            CHECK_STATUS(tess_set_workspace(ctx, lent, bytes), TESS_OK, ctx);
            CHECK_STATUS(run(ctx, &p, memory), refused ? TESS_ERROR_MEMORY : TESS_OK, ctx);
            if (refused) CHECK(strstr(tess_error(ctx), "the workspace has 1 bytes"), "%s", tess_error(ctx));
            release(ctx, memory);
        }
    CHECK_STATUS(tess_set_workspace(ctx, NULL, 0), TESS_OK, ctx);
    CHECK_STATUS(run(ctx, &p, memory), TESS_OK, ctx);
    release(ctx, memory);
    CHECK_STATUS(tess_free(ctx, lent), TESS_OK, ctx);
    tess_close(ctx);
}

/* Whatever strides are, the result is right: rows that go backwards, lie on one another, or are one. */
GPU_TEST(gpu_tma_takes_any_strides) {
    static const gpu_place places[3] = {GPU_ON_DEVICE, GPU_ON_DEVICE, GPU_ON_DEVICE};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (int i = 0; i < STORAGES; i++)
        for (int batch = 0; batch < BATCHINGS; batch++) {
            problem_spec spec = {.types = type_pairs[i % 2 ? 4 : 5],
                                 .m = 72,
                                 .n = 88,
                                 .k = 64,
                                 .alpha = 1,
                                 .beta = 2,
                                 .store_a = (storage)i,
                                 .store_b = (storage)((i + batch) % STORAGES),
                                 .store_c = (storage)((i + 3 * batch) % STORAGES_OF_C),
                                 .count = batch ? 3 : 0,
                                 .batch_a = (batching)batch,
                                 .batch_b = (batching)((batch + 1) % BATCHINGS),
                                 .batch_c = (batching)(batch % BATCH_SAME),
                                 .data = DATA_EXACT};
            if (!gpu_try(&spec, ctx, &(tess_options){.kernel = top}, places, 1, NULL)) break;
        }
    tess_close(ctx);
}

/* ---- Grids ---- */

static void check_grid(tess_context *ctx, const char *kernel, const char *params, int64_t m, int64_t n,
                       int64_t count, const unsigned grid[3], int overlaps) {
    product p = {.a = {TESS_BF16, m, 16, 16, 0, 0},
                 .b = {TESS_BF16, 16, n, n, 0, 0},
                 .c = {TESS_BF16, m, n, n, 0, 0},
                 .batch = {count, 0, 0, m * n},
                 .kernel = kernel,
                 .params = params};
    char *memory[3];
    if (CHECK_STATUS(run(ctx, &p, memory), TESS_OK, ctx)) {
        standin_seen s = last_launch();
        CHECK(strcmp(s.name, kernel) == 0, "%s was launched, not %s", s.name, kernel);
        CHECK(memcmp(s.grid, grid, sizeof s.grid) == 0, "%s %s, %lldx%lld, %lld times: grid %u, %u, %u",
              kernel, params, (long long)m, (long long)n, (long long)count, s.grid[0], s.grid[1], s.grid[2]);
        CHECK(s.overlaps == overlaps, "%s: overlaps is %d", kernel, s.overlaps);
    }
    release(ctx, memory);
}

/* As many blocks as there are tiles, or as those take that run at once, in as many rounds; whole clusters. */
STANDIN_TEST(gpu_standin_tma_grids) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    check_grid(ctx, top, "BN=64", 384, 128, 1, (const unsigned[]){6, 1, 1}, 1);
    check_grid(ctx, top, "BN=64", 384, 136, 1, (const unsigned[]){9, 1, 1}, 1);
    check_grid(ctx, top, "BN=64", 384, 128, 3, (const unsigned[]){18, 1, 1}, 1);
    check_grid(ctx, top, "BN=64", 384, 128, 4, (const unsigned[]){24 / 2, 1, 1}, 1);
    check_grid(ctx, top, "BN=64", 1000, 1024, 1, (const unsigned[]){19, 1, 1}, 1); /* 128 tiles, 7 rounds */
    check_grid(ctx, clustered, "BN=128,CM=2", 384, 128, 1, (const unsigned[]){4, 1, 1}, 1);
    /* No more clusters than fit. */
    check_grid(ctx, clustered, "BN=256,CM=4", 1000, 1024, 1, (const unsigned[]){3 * 4, 1, 1}, 1);
    check_grid(ctx, "wgmma_01_tma", "BN=64", 384, 136, 4, (const unsigned[]){3, 3, 4}, 0);
    tess_close(ctx);
}

STANDIN_TEST(gpu_standin_tma_facts) {
    tess_context *ctx = gpu_open();
    tess_plan *plan = NULL;
    tess_kernel_facts facts;
    if (!ctx) return;
    for (int64_t size = 128; size <= 4096; size *= 4) {
        tess_matrix A = tess_view_row_major(TESS_BF16, size, size, NULL, 0);
        int64_t tiles = size / 128 * (size / 128);
        CHECK_STATUS(tess_plan_gemm(ctx, &A, &A, &A, NULL, &(tess_options){.kernel = top, .params = "BN=128"},
                                    &plan),
                     TESS_OK, ctx);
        CHECK_STATUS(tess_plan_facts(plan, &facts), TESS_OK, ctx);
        CHECK(facts.blocks == (tiles < AT_ONCE ? tiles : AT_ONCE) && facts.block_threads == 384,
              "%lld blocks of %d threads", (long long)facts.blocks, facts.block_threads);
        tess_free_plan(plan);
    }
    tess_close(ctx);
}

/* ---- Plans ---- */

/* A product, the orders of A, B and C as in "rcr" (rows, columns, rows), how its sentence begins, and what it says beside. */
typedef struct planned {
    int64_t m, n, k;
    const char *orders, *starts;
    const char *says; /* "": whatever; NULL: of no copy */
} planned;

static tess_matrix ordered(tess_type type, int64_t rows, int64_t cols, char order) {
    return order == 'c' ? tess_view_col_major(type, rows, cols, NULL, 0)
                        : tess_view_row_major(type, rows, cols, NULL, 0);
}

static void check_plans(const planned *cases, size_t count, tess_type type, tess_compute compute) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (const planned *p = cases; p < cases + count; p++) {
        tess_matrix A = ordered(type, p->m, p->k, p->orders[0]), B = ordered(type, p->k, p->n, p->orders[1]),
                    C = ordered(type, p->m, p->n, p->orders[2]);
        tess_plan *plan = NULL;
        tess_options options = {.compute = compute};
        if (!CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan), TESS_OK, ctx)) continue;
        const char *sentence = tess_plan_sentence(plan);
        CHECK(strncmp(sentence, p->starts, strlen(p->starts)) == 0 &&
                  (p->says ? strstr(sentence, p->says) != NULL : !strstr(sentence, "copied")),
              "%lldx%lldx%lld %s: %s", (long long)p->m, (long long)p->n, (long long)p->k, p->orders,
              sentence);
        tess_free_plan(plan);
    }
    tess_close(ctx);
}
#define CHECK_PLANS(cases, type, compute) check_plans(cases, sizeof(cases) / sizeof *(cases), type, compute)

/* Tiles are of the size that makes all rounds together the shortest, on 4 multiprocessors, however small the product.
 * Where lines are not whole lines of the cache, blocks share tiles, or A and B are copied. */
STANDIN_TEST(gpu_standin_tma_tiles_by_shape) {
    static const planned cases[] = {{512, 512, 2048, "rrr", "wgmma_07_fitted BM=128 BN=256 STAGES=4 ", NULL},
                                    {512, 640, 1024, "rrr", "wgmma_10_relay BM=128 BN=128 STAGES=6 ",
                                     "one warpgroup writes its tile while the other multiplies"},
                                    {384, 384, 256, "rrr", "wgmma_07_fitted BM=192 BN=192 STAGES=4 ", NULL},
                                    {128, 256, 256, "rrr", "wgmma_07_fitted BM=64 BN=128 STAGES=8 ", NULL},
                                    {128, 768, 256, "rrr", "wgmma_07_fitted BM=128 BN=192 STAGES=4 ", NULL},
                                    {128, 512, 256, "rrr", "wgmma_07_fitted BM=128 BN=128 STAGES=6 ", NULL},
                                    {768, 128, 256, "rrc", "wgmma_07_fitted BM=128 BN=192 STAGES=4 ", NULL},
                                    {512, 1000, 256, "rrr",
                                     "wgmma_07_fitted BM=128 BN=256 STAGES=4 GROUP=8 CM=2 ",
                                     "pairs of blocks share tiles"},
                                    {64, 63, 256, "rrr", "wgmma_07_fitted BM=64 BN=64 ",
                                     "B is copied to aligned rows"},
                                    {63, 640, 256, "rrr", "wgmma_07_fitted BM=64 BN=192 STAGES=6 ", NULL},
                                    {2, 2, 256, "rrr", "wgmma_07_fitted BM=64 BN=64 ", ""}};
    CHECK_PLANS(cases, TESS_F16, TESS_COMPUTE_DEFAULT);
}

/* Blocks that split k have a tile together: there are CK for every tile. */
STANDIN_TEST(gpu_standin_tma_blocks_that_split_k) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    product p = product_of(&types[0], 0, 0, 0);
    p.a.rows = p.c.rows = 40, p.b.cols = p.c.cols = 24; /* one tile */
    p.kernel = "wgmma_09_split";
    for (unsigned blocks = 1; blocks <= 8; blocks *= 2) {
        static char params[8];
        char *memory[3];
        snprintf(params, sizeof params, "CK=%u", blocks);
        p.params = params;
        if (CHECK_STATUS(run(ctx, &p, memory), TESS_OK, ctx)) {
            standin_seen s = last_launch();
            CHECK(s.block[0] == 256 && s.grid[0] == blocks && s.grid[1] == 1,
                  "CK=%u: %u blocks of %u threads", blocks, s.grid[0], s.block[0]);
        }
        release(ctx, memory);
    }
    tess_close(ctx);
}

/* They do where tiles are few and k is long. */
STANDIN_TEST(gpu_standin_tma_splits_long_k) {
    static const planned cases[] = {{64, 64, 4096, "rrr",
                                     "wgmma_09_split BM=64 BN=64 STAGES=8 GROUP=16 CK=4 ", "split k"},
                                    {64, 128, 4096, "rrr",
                                     "wgmma_09_split BM=64 BN=64 STAGES=8 GROUP=16 CK=2 ", "split k"},
                                    {512, 512, 4096, "rrr", "wgmma_07_fitted BM=128 BN=256 ", NULL},
                                    {64, 64, 256, "rrr", "wgmma_07_fitted BM=64 BN=64 ", NULL}};
    CHECK_PLANS(cases, TESS_BF16, TESS_COMPUTE_DEFAULT);
}

/* What is narrow and lies across k is turned where k is long. */
STANDIN_TEST(gpu_standin_tma_narrow_matrices) {
    static const planned cases[] = {{256, 16, 2048, "crr", "wgmma_", "B is copied to columns first"},
                                    {16, 256, 2048, "crr", "wgmma_", "A is copied to rows first"},
                                    {16, 16, 2048, "crr", "wgmma_",
                                     "A is copied to rows first; B is copied to columns first"},
                                    {256, 16, 2048, "ccr", "wgmma_", NULL},
                                    {256, 64, 2048, "crr", "wgmma_", NULL},
                                    {256, 16, 2040, "crr", "wgmma_", NULL}};
    CHECK_PLANS(cases, TESS_F16, TESS_COMPUTE_DEFAULT);
}

/* f32 as TF32 takes the kernel for which the least must be copied, whose tiles fit the product. */
STANDIN_TEST(gpu_standin_tf32_kernels_by_order) {
    static const planned cases[] =
        {{512, 512, 512, "rrr", "wgmma_08_registers BM=256 BN=128 ", NULL},
         {512, 512, 512, "rcr", "wgmma_10_relay BM=128 BN=128 ", NULL},
         {512, 512, 512, "crr", "wgmma_08_registers BM=256 BN=128 ", "A is copied to rows first"},
         {512, 512, 512, "ccr", "wgmma_10_relay BM=128 BN=128 ", "A is copied to rows first"},
         {512, 512, 512, "ccc", "wgmma_08_registers BM=256 BN=128 ", NULL},
         {512, 512, 512, "rrc", "wgmma_10_relay BM=128 BN=128 ", "B is copied to columns first"},
         {64, 64, 64, "rrr", "wgmma_08_registers BM=64 BN=64 ", NULL},
         {127, 127, 127, "rrr", "wgmma_08_registers BM=", "A and B are copied to aligned rows first"},
         {33, 33, 33, "rrr", "simt_15_split ", "but it computes in f32"},
         {508, 508, 508, "rrr", "wgmma_08_registers ", "pairs of blocks share tiles"},
         {1536, 1536, 1536, "rrr", "wgmma_08_registers BM=256 BN=128 STAGES=4 GROUP=8 CN=2 ", "saves power"}};
    CHECK_PLANS(cases, TESS_F32, TESS_COMPUTE_TF32);
}

/* ---- Failures ---- */

STANDIN_TEST(gpu_standin_tma_calls_fail) {
    static const char *const calls[] = {"cuTensorMapEncodeTiled:1:1", "cuTensorMapEncodeTiled:3:1",
                                        "cuLaunchKernelEx:1:1",
                                        "cuOccupancyMaxActiveBlocksPerMultiprocessor:1:1"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tess_context *ctx = gpu_open();
        char *memory[3], name[64];
        if (!ctx) return;
        product p = product_of(&types[0], 0, 0, 0);
        snprintf(name, sizeof name, "%.*s failed", (int)strcspn(calls[i], ":"), calls[i]);
        setenv("STANDIN_FAULT", calls[i], 1);
        CHECK_STATUS(run(ctx, &p, memory), TESS_ERROR_DEVICE, ctx);
        unsetenv("STANDIN_FAULT");
        CHECK(strstr(tess_error(ctx), name), "%s: \"%s\"", calls[i], tess_error(ctx));
        release(ctx, memory);
        CHECK_STATUS(run(ctx, &p, memory), TESS_OK, ctx);
        release(ctx, memory);
        tess_close(ctx);
    }
}
