/* split.c: where the parts lie, and the four launches of a product. */
#include "split.h"

#include <string.h>

#include "numeric.h"

/* Threads of split_prepare.cu's blocks; the lines and k of a tile that split_pack turns; the rows and columns of one that
 * split_multiply computes. */
enum { THREADS = 256, PACK_EDGE = 64, TILE_EDGE = 128 };
/* Blocks of its kernels at most: they walk over the rest. Every block of split_pack reads what each of the survey's
 * found; those of split_multiply mostly end at once. */
enum { MOST_SURVEY = 512, MOST_PACK = 2048, MOST_MULTIPLY = 264 };
/* Groups of lines that keep a card busy. */
enum { BUSY_GROUPS = 128, MOST_TOGETHER = 32 };
/* Beyond the last line the kernel reads factors up to the end of its tile. */
enum { SPARE_LINES = 256, UNIT = 256 };

static const launch_shape helper_shape = {.block_x = THREADS,
                                          .block_y = 1,
                                          .tile_rows = 1,
                                          .tile_cols = 1,
                                          .cluster = 1};

static int64_t at_most(int64_t value, int64_t most) {
    return value < most ? value : most;
}

static int64_t pieces(int64_t size, int64_t piece) {
    return (size + piece - 1) / piece;
}

/* ---- The workspace ---- */

typedef struct layout {
    int64_t undo_a, undo_b, parts_a, parts_b, end; /* bytes after its beginning */
} layout;

static int64_t lines_of(int64_t lines, int64_t count, int64_t stride) {
    return lines * (stride == 0 ? 1 : count);
}

static int64_t rounded(int64_t bytes) {
    return pieces(bytes, UNIT) * UNIT;
}

static layout layout_of(const problem *run) {
    layout l;
    int64_t lines_a = lines_of(run->m, run->batch.count, run->batch.stride_a),
            lines_b = lines_of(run->n, run->batch.count, run->batch.stride_b),
            line = pieces(run->k, SPLIT_DEPTH) * SPLIT_CHUNK * (int64_t)sizeof(uint16_t),
            undo = 2 * (int64_t)sizeof(float);
    l.undo_a = rounded((1 + MOST_SURVEY) * (int64_t)sizeof(int32_t));
    l.undo_b = l.undo_a + rounded((lines_a + SPARE_LINES) * undo);
    l.parts_a = l.undo_b + rounded((lines_b + SPARE_LINES) * undo);
    l.parts_b = l.parts_a + rounded(lines_a * line);
    l.end = l.parts_b + rounded(lines_b * line);
    return l;
}

int64_t split_workspace(const problem *run) {
    return layout_of(run).end;
}

/* ---- The arguments ---- */

/* As many lines as make the reads wide, but groups enough for all multiprocessors. */
static int32_t lines_together(int64_t lines) {
    int32_t together = MOST_TOGETHER;
    while (together > 1 && lines / together < BUSY_GROUPS) together /= 2;
    return together;
}

static split_side side_of(const void *from, int64_t lines, int64_t count, int64_t line, int64_t step,
                          int64_t batch) {
    return (split_side){.from = from,
                        .lines = (int32_t)lines,
                        .products = batch == 0 ? 1 : (int32_t)count,
                        .together = lines_together(lines_of(lines, count, batch)),
                        .line = line,
                        .step = step,
                        .batch = batch};
}

static void place_parts(split_arguments *s, const layout *l, char *workspace) {
    s->state = (int32_t *)(void *)workspace;
    s->a.undo = (float *)(void *)(workspace + l->undo_a);
    s->b.undo = (float *)(void *)(workspace + l->undo_b);
    s->a.parts = (uint16_t *)(void *)(workspace + l->parts_a);
    s->b.parts = (uint16_t *)(void *)(workspace + l->parts_b);
}

static int64_t survey_groups(const split_side *side) {
    return pieces(side->lines, side->together) * side->products;
}

split_arguments split_arguments_of(const problem *run, const operands *data, const kernel_row *kernel,
                                   char *workspace) {
    int64_t count = run->batch.count;
    split_arguments s = {
        .a = side_of(data->a, run->m, count, run->a_row, run->a_col, run->batch.stride_a),
        .b = side_of(data->b, run->n, count, run->b_col, run->b_row, run->batch.stride_b),
        .k = (int32_t)run->k,
        .count = (int32_t)count,
        .least_way = kernel->splits,
        .alpha = (float)data->alpha,
        .beta = (float)data->beta,
        .c = data->c,
        .c_row = run->c_row,
        .c_col = run->c_col,
        .batch_c = run->batch.stride_c,
    };
    layout l = layout_of(run);
    s.survey_blocks = (int32_t)at_most(survey_groups(&s.a) + survey_groups(&s.b), MOST_SURVEY);
    if (workspace) place_parts(&s, &l, workspace);
    return s;
}

/* ---- The launches ---- */

static tess_status launch_helper(const product_target *target, const product_launch *product,
                                 const char *entry, const split_arguments *s, int64_t blocks, sentence *why) {
    product_launch launch = {.entry = entry,
                             .file = "split_prepare.cu",
                             .in = product->in,
                             .out = product->out,
                             .shape = helper_shape,
                             .split = s,
                             .arguments = s,
                             .grid = {(unsigned)blocks, 1, 1}};
    return target->launch(target->self, &launch, why);
}

static int64_t pack_tiles(const split_side *side, int64_t k) {
    return pieces(k, SPLIT_DEPTH) * pieces(side->lines, PACK_EDGE) * side->products;
}

/* The kernel itself; as many blocks as there are tiles, which it walks over with fewer. */
static tess_status launch_product(const product_target *target, product_launch *launch, const problem *run,
                                  const split_arguments *s, sentence *why) {
    const launch_shape *shape = &launch->shape;
    int64_t line = pieces(run->k, SPLIT_DEPTH) * SPLIT_CHUNK;
    launch_gemm g = {.a = s->a.parts,
                     .b = s->b.parts,
                     .c = s->c,
                     .m = s->a.lines,
                     .n = s->b.lines,
                     .k = s->k,
                     .count = s->count,
                     .lda = line,
                     .a_step = 1,
                     .ldb = 1,
                     .b_step = line,
                     .ldc = run->c_row,
                     .c_step = run->c_col,
                     .batch_a = s->a.products > 1 ? line * s->a.lines : 0,
                     .batch_b = s->b.products > 1 ? line * s->b.lines : 0,
                     .batch_c = run->batch.stride_c,
                     .alpha.f = s->alpha,
                     .beta.f = s->beta};
    launch->arguments = &g;
    launch->split = s;
    launch->grid[0] = (unsigned)pieces(run->n, shape->tile_cols);
    launch->grid[1] = (unsigned)pieces(run->m, shape->tile_rows);
    launch->grid[2] = (unsigned)run->batch.count;
    return target->launch(target->self, launch, why);
}

tess_status split_run(const product_target *target, product_launch *launch, const problem *run,
                      const operands *data, char *workspace, sentence *why) {
    split_arguments s = split_arguments_of(run, data, launch->row, workspace);
    int64_t tiles = pieces(run->m, TILE_EDGE) * pieces(run->n, TILE_EDGE) * run->batch.count;
    if (workspace) {
        int64_t packs = pack_tiles(&s.a, run->k) + pack_tiles(&s.b, run->k);
        TRY(launch_helper(target, launch, "split_survey", &s, s.survey_blocks, why));
        TRY(launch_helper(target, launch, "split_pack", &s, at_most(packs, MOST_PACK), why));
        TRY(launch_product(target, launch, run, &s, why));
    }
    return launch_helper(target, launch, "split_multiply", &s, at_most(tiles, MOST_MULTIPLY), why);
}
