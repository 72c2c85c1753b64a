/* split.c: where the parts lie, and the launches of a product. */
#include "split.h"

#include <string.h>

#include "numeric.h"

/* Of split_prepare.cu: threads of a block; those that a line gets at least; elements that each of them keeps; lines of a
 * strip; elements of its lines that a block holds at a time, at most in split_prepare, in split_prepare_long and in split_pack;
 * and the rows and columns of a tile of split_multiply. */
enum {
    THREADS = SPLIT_THREADS,
    LEAST_THREADS = 32,
    KEPT = 32,
    STRIP = 32,
    MOST_ROWS = 544,
    LONG_ROWS = SPLIT_LONG_BYTES / (STRIP * (int)sizeof(float)),
    PACK_ROWS = 256,
    TILE_EDGE = 128
};
/* Blocks of its kernels at most: they walk over the rest. Every block of split_pack reads what each of split_prepare's
 * found, and mostly has nothing else to do: so there are few. */
enum { MOST_STRIPS = 1024, MOST_LINES = 1024, MOST_PACK = 132, MOST_MULTIPLY = 264 };
enum { UNIT = 256 }; /* bytes that each part of the workspace begins at a multiple of */
/* Bytes for sums: a quarter of those of A and B, but no more than two tiles of 128 by 192 for each of 132 multiprocessors, and
 * nothing where there would not be enough for one of 128 by 64. */
enum { LEAST_ROOM = 132 * 128 * 64 * 4, MOST_ROOM = 2 * 132 * 128 * 192 * 4 };
/* Blocks of a cluster of split_prepare_short, split_prepare and split_prepare_long. */
enum { FEW = 4, MANY = SPLIT_CLUSTER, MOST = SPLIT_LONG_CLUSTER };

static const launch_shape helper_shape = {.block_x = THREADS, .block_y = 1, .tile_rows = 1, .tile_cols = 1};

static int64_t at_most(int64_t value, int64_t most) {
    return value < most ? value : most;
}

/* ---- The workspace ---- */

typedef struct layout {
    int64_t undo_a, undo_b, parts_a, parts_b, end; /* bytes after its beginning */
} layout;

static int64_t lines_of(int64_t lines, int64_t count, int64_t stride) {
    return lines * (stride == 0 ? 1 : count);
}

static int64_t rounded(int64_t bytes) {
    return launch_pieces(bytes, UNIT) * UNIT;
}

static layout layout_of(const problem *run) {
    layout l;
    int64_t lines_a = lines_of(run->m, run->batch.count, run->batch.stride_a),
            lines_b = lines_of(run->n, run->batch.count, run->batch.stride_b),
            line = launch_pieces(run->k, SPLIT_DEPTH) * SPLIT_CHUNK * (int64_t)sizeof(uint16_t),
            undo = 2 * (int64_t)sizeof(float);
    l.undo_a = rounded((1 + MOST_STRIPS + MOST_LINES + SPLIT_COUNTERS) * (int64_t)sizeof(int32_t));
    l.undo_b = l.undo_a + rounded((lines_a + SPLIT_SPARE) * undo);
    l.parts_a = l.undo_b + rounded((lines_b + SPLIT_SPARE) * undo);
    l.parts_b = l.parts_a + rounded(lines_a * line);
    l.end = l.parts_b + rounded(lines_b * line);
    return l;
}

int64_t split_room(const problem *run) {
    int64_t lines = lines_of(run->m, run->batch.count, run->batch.stride_a) +
                    lines_of(run->n, run->batch.count, run->batch.stride_b);
    int64_t room = at_most(lines * run->k * (int64_t)sizeof(float) / 4, MOST_ROOM);
    return run->m > 0 && run->n > 0 && room >= LEAST_ROOM ? room : 0;
}

/* The product without the lines whose parts are kept: what has to be written, and room made for. */
static problem unkept_of(const problem *run, const operands *data) {
    problem left = *run;
    if (data && data->kept_a) left.m = 0;
    if (data && data->kept_b) left.n = 0;
    return left;
}

int64_t split_workspace(const problem *run, const operands *data) {
    problem unkept = unkept_of(run, data);
    return layout_of(&unkept).end + split_room(run);
}

/* ---- Parts that are kept ---- */

/* Above the bits of what was found stands what lines lack; for B behind what those of A do. */
enum { FOUND_BITS = 7, LACK_A = 8, LACK_B = 16, LACK = 255 };

problem split_alone(const line_matrix *from) {
    return (problem){.in = TESS_F32,
                     .out = TESS_F32,
                     .m = from->lines,
                     .k = from->k,
                     .a_row = from->line,
                     .a_col = from->step,
                     .batch = {1, 0, 0, 0}};
}

int32_t split_found(const int32_t *state, int64_t words) {
    int32_t bits = 0, lack = 0;
    for (int64_t i = 1; i < words; i++) {
        int32_t more = state[i] >> LACK_A & LACK;
        bits |= state[i] & FOUND_BITS;
        if (more > lack) lack = more;
    }
    return bits | lack << LACK_A;
}

static void use_kept(split_arguments *s, split_side *side, const split_kept *kept) {
    if (!kept) return;
    layout l = layout_of(&kept->alone);
    int32_t lack = kept->found >> LACK_A & LACK;
    side->kept = (int32_t *)(void *)kept->memory;
    side->undo = (float *)(void *)(kept->memory + l.undo_a);
    side->parts = (uint16_t *)(void *)(kept->memory + l.parts_a);
    s->known |= (kept->found & FOUND_BITS) | lack << (side == &s->a ? LACK_A : LACK_B);
}

/* ---- The arguments ---- */

/* As many lines as leave a thread no more than it can keep. */
static int32_t lines_together(int64_t k) {
    int32_t threads = LEAST_THREADS;
    while (threads < THREADS && k > (int64_t)threads * KEPT) threads *= 2;
    return THREADS / threads;
}

/* Blocks that share a strip, `clusters` of them at most: on an H200 four rather than eight take 3 µs less at k = 1024 and 2 less
 * at 2048, while four hold all of k; sixteen rather than eight 45 less at 8192, which eight do not hold. */
static int cluster_of(int64_t k, int clusters) {
    if (clusters < MANY) return 1;
    if (k <= FEW * MOST_ROWS) return FEW;
    return k <= MANY * MOST_ROWS || clusters < MOST ? MANY : MOST;
}

/* Elements of k that each block of a cluster has of a strip, or what it holds of them at a time: equal pieces. */
static int32_t rows_of_strip(int64_t k, int cluster) {
    int64_t units = launch_pieces(launch_pieces(k, SPLIT_DEPTH) * SPLIT_DEPTH, (int64_t)cluster * STRIP);
    int64_t pieces = launch_pieces(units * STRIP, cluster == MOST ? LONG_ROWS : MOST_ROWS);
    return (int32_t)(launch_pieces(units, pieces) * STRIP);
}

int split_is_wide(int64_t lines, int64_t line, int64_t step, int64_t batch) {
    int across = step != 1;
    int64_t near = across ? line : step, far = across ? step : line;
    return near == 1 && far % 4 == 0 && batch % 4 == 0 && (!across || lines % 4 == 0);
}

static split_side side_of(const void *from, int64_t lines, int64_t k, int64_t count, int64_t line,
                          int64_t step, int64_t batch, int cluster) {
    int across = step != 1, wide = split_is_wide(lines, line, step, batch) && (uintptr_t)from % 16 == 0;
    return (split_side){.from = from,
                        .lines = (int32_t)lines,
                        .products = batch == 0 ? 1 : (int32_t)count,
                        .together = across ? 0 : lines_together(k),
                        .rows = rows_of_strip(k, cluster),
                        .vec = wide ? 4 : 1,
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
    s->sums = (float *)(void *)(workspace + l->end);
}

static int64_t strips_of(const split_side *side) {
    return side->together > 0 ? 0 : launch_pieces(side->lines, STRIP) * side->products;
}

static int64_t line_groups_of(const split_side *side) {
    return side->together > 0 ? launch_pieces(side->lines, side->together) * side->products : 0;
}

/* Of split_prepare, for what is not kept. Whole clusters, though those for lines do not work together. */
static void set_blocks(split_arguments *s) {
    int64_t strips = (s->a.kept ? 0 : strips_of(&s->a)) + (s->b.kept ? 0 : strips_of(&s->b)),
            lines = (s->a.kept ? 0 : line_groups_of(&s->a)) + (s->b.kept ? 0 : line_groups_of(&s->b));
    s->strip_blocks = s->cluster * (int32_t)at_most(strips, MOST_STRIPS / s->cluster);
    s->blocks = s->strip_blocks +
                s->cluster * (int32_t)at_most(launch_pieces(lines, s->cluster), MOST_LINES / s->cluster);
}

split_arguments split_arguments_of(const problem *run, const operands *data, const kernel_row *kernel,
                                   int clusters, char *workspace) {
    int64_t count = run->batch.count;
    int cluster = cluster_of(run->k, clusters);
    split_arguments s = {
        .a = side_of(data->a, run->m, run->k, count, run->a_row, run->a_col, run->batch.stride_a, cluster),
        .b = side_of(data->b, run->n, run->k, count, run->b_col, run->b_row, run->batch.stride_b, cluster),
        .k = (int32_t)run->k,
        .count = (int32_t)count,
        .cluster = cluster,
        .least_way = kernel->splits,
        .alpha = (float)data->alpha,
        .beta = (float)data->beta,
        .c = data->c,
        .c_row = run->c_row,
        .c_col = run->c_col,
        .batch_c = run->batch.stride_c,
        .room = workspace ? split_room(run) : 0,
    };
    problem unkept = unkept_of(run, data);
    layout l = layout_of(&unkept);
    if (workspace) place_parts(&s, &l, workspace);
    use_kept(&s, &s.a, data->kept_a);
    use_kept(&s, &s.b, data->kept_b);
    set_blocks(&s);
    s.packs = !kernel->box || s.a.kept || s.b.kept;
    return s;
}

/* ---- The launches ---- */

/* `rows` of a strip are what its shared memory holds. */
static tess_status launch_helper(const product_target *target, const product_launch *product,
                                 const char *entry, const split_arguments *s, int64_t blocks, int32_t rows,
                                 sentence *why) {
    product_launch launch = {.entry = entry,
                             .file = "split_prepare.cu",
                             .in = product->in,
                             .out = product->out,
                             .shape = helper_shape,
                             .split = s,
                             .arguments = s,
                             .grid = {(unsigned)blocks, 1, 1}};
    launch.shape.shared = rows * STRIP * (int)sizeof(float);
    return target->launch(target->self, &launch, why);
}

static int64_t pack_units(const split_side *side, int64_t k) {
    return line_groups_of(side) + strips_of(side) * launch_pieces(k, PACK_ROWS);
}

/* The kernel itself; as many blocks as there are tiles, which it walks over with fewer. TMA has to know where the parts
 * lie. */
static tess_status launch_product(const product_target *target, product_launch *launch, const problem *run,
                                  const split_arguments *s, sentence *why) {
    const launch_shape *shape = &launch->shape;
    int64_t line = launch_pieces(run->k, SPLIT_DEPTH) * SPLIT_CHUNK;
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
    launch->arguments = launch->row->box ? (const void *)&g : s;
    launch->split = s;
    launch->grid[0] = (unsigned)launch_pieces(run->n, shape->tile_cols);
    launch->grid[1] = (unsigned)launch_pieces(run->m, shape->tile_rows);
    launch->grid[2] = (unsigned)run->batch.count;
    return target->launch(target->self, launch, why);
}

static const char *prepare_entry(int cluster) {
    return cluster == FEW ? "split_prepare_short" : cluster == MOST ? "split_prepare_long" : "split_prepare";
}

/* The parts that a product needs: split_prepare does not see lines that are kept, split_pack writes them anew if need be. */
static tess_status write_parts(const product_target *target, const product_launch *launch,
                               const split_arguments *s, sentence *why) {
    int64_t units = pack_units(&s->a, s->k) + pack_units(&s->b, s->k);
    int has_strips = strips_of(&s->a) + strips_of(&s->b) > 0;
    split_arguments unkept = *s;
    if (s->a.kept) unkept.a.lines = 0;
    if (s->b.kept) unkept.b.lines = 0;
    if (s->blocks > 0)
        TRY(launch_helper(target, launch, prepare_entry(s->cluster), &unkept, s->blocks,
                          s->strip_blocks > 0 ? s->a.rows : 0, why));
    if (!s->packs) return TESS_OK;
    return launch_helper(target, launch, "split_pack", s, at_most(units, MOST_PACK),
                         has_strips ? PACK_ROWS : 0, why);
}

tess_status split_keep(const product_target *target, const kernel_row *kernel, const line_matrix *from,
                       char *workspace, int64_t *words, sentence *why) {
    problem alone = split_alone(from);
    product_launch launch = {.row = kernel, .in = TESS_F32, .out = TESS_F32};
    split_arguments s =
        split_arguments_of(&alone, &(operands){.a = from->data}, kernel, target->clusters, workspace);
    *words = 1 + s.blocks;
    s.packs = 1; /* no product follows that would */
    return write_parts(target, &launch, &s, why);
}

tess_status split_run(const product_target *target, product_launch *launch, const problem *run,
                      const operands *data, char *workspace, sentence *why) {
    split_arguments s = split_arguments_of(run, data, launch->row, target->clusters, workspace);
    int64_t tiles = launch_pieces(run->m, TILE_EDGE) * launch_pieces(run->n, TILE_EDGE) * run->batch.count;
    if (!workspace)
        return launch_helper(target, launch, "split_multiply", &s, at_most(tiles, MOST_MULTIPLY), 0, why);
    TRY(write_parts(target, launch, &s, why));
    return launch_product(target, launch, run, &s, why);
}
