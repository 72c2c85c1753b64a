/* moves.c: which kernel of move.cu or lines.cu moves a matrix, and in how many launches. */
#include "moves.h"

#include "numeric.h"

/* The shape of move.cu's kernels: 64×4 threads do a tile of 64×64. */
enum { MOVE_EDGE = 64, MOVE_LINES = 4 };
const launch_shape moves_shape = {.block_x = MOVE_EDGE,
                                  .block_y = MOVE_LINES,
                                  .tile_rows = MOVE_EDGE,
                                  .tile_cols = MOVE_EDGE,
                                  .products = 1};
/* That of move_lines: a warp does a line, in pieces of 16 bytes. */
enum { LINE_THREADS = 256, LINE_WARPS = LINE_THREADS / 32, PIECE = 16 };
static const launch_shape line_shape = {.block_x = LINE_THREADS, .block_y = 1};
/* That of move_turned: a block turns 128 rows of 128 bytes. */
enum { TURN_ROWS = 128, TURN_BYTES = 128 };
static const launch_shape turn_shape = {.block_x = 256, .block_y = 1, .products = 1};
/* The largest grid in y and z, and the most columns of one move; lines and elements of a line of move_lines. */
enum { MOST_GRID = 65535, MOST_COLS = 1 << 30, MOST_LINES = 1 << 30, MOST_LINE = 1 << 27 };

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

placed moves_turned(placed m) {
    return (placed){m.data, m.type, m.col, m.row, m.batch};
}

static char *element(const placed *m, int64_t index, int64_t row, int64_t col) {
    if (!m->data) return NULL;
    return m->data + (index * m->batch + row * m->row + col * m->col) * numeric_size(m->type);
}

/* Elements are moved as bits, and any type of their size will do; unless they are f32 that is rounded. */
static void set_types(product_launch *launch, tess_type from, tess_type to, move_kind kind) {
    static const tess_type types[] = {TESS_I8, TESS_F16, TESS_F32, TESS_F64};
    int64_t size = numeric_size(to);
    if (kind == MOVE_ROUNDED) {
        launch->entry = to == TESS_F32 ? "round_tf32" : "round_bf16";
        launch->in = to, launch->out = launch->from = from;
        return;
    }
    launch->entry = "move_strided";
    launch->in = launch->from = types[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
    launch->out = launch->in == TESS_I8 ? TESS_I32 : launch->in;
}

/* The same move, rows as columns. */
static void turn(moving *m) {
    int64_t rows = m->rows, rows_to = m->rows_to;
    m->from = moves_turned(m->from), m->to = moves_turned(m->to);
    m->rows = m->cols, m->cols = rows;
    m->rows_to = m->cols_to, m->cols_to = rows_to;
}

/* A matrix that lies in columns is turned. */
static void use_lines(moving *m) {
    if (m->to.col != 1) turn(m);
    m->by_lines = 1;
    m->from.col = m->from.data != NULL;         /* 0: zeros */
    m->rows_to = m->rows, m->cols_to = m->cols; /* it fills up whole pieces by itself */
    m->launch.file = "lines.cu";
    m->launch.entry = "move_lines";
    m->launch.moves = 2;
    m->launch.shape = line_shape;
    m->cols_most = MOST_LINE;
    m->rows_most = MOST_LINES;
}

/* Columns of neighbours in rows become lines, if that is what the move does; others stay as they are. */
static void use_pieces(moving *m) {
    int64_t size = numeric_size(m->to.type);
    moving turned = *m;
    if (m->to.row != 1) turn(&turned);
    if (size > 4 || turned.to.row != 1 || turned.from.col != 1) return;
    *m = turned;
    m->launch.file = "lines.cu";
    m->launch.entry = "move_turned";
    m->launch.shape = turn_shape;
    m->tile_rows = TURN_ROWS, m->tile_cols = TURN_BYTES / size;
    m->rows_most = (int64_t)MOST_GRID * TURN_ROWS;
}

/* Where lines end at the last element of a move, they are filled up to whole pieces. */
static void fill_lines(moving *m) {
    int64_t unit = PIECE / numeric_size(m->to.type);
    int64_t *end = m->to.col == 1 ? &m->cols_to : &m->rows_to;
    *end = (*end + unit - 1) / unit * unit;
}

/* The part that begins at (row, col) of product `index`, as far as one grid goes. */
static launch_move move_part(const moving *m, int64_t index, int64_t row, int64_t col) {
    return (launch_move){element(&m->from, index, row, col),
                         element(&m->to, index, row, col),
                         (int32_t)least(m->rows - row, m->rows_most),
                         (int32_t)least(m->cols - col, m->cols_most),
                         (int32_t)least(m->rows_to - row, m->rows_most),
                         (int32_t)least(m->cols_to - col, m->cols_most),
                         m->from.row,
                         m->from.col,
                         m->to.row,
                         m->to.col,
                         m->from.batch,
                         m->to.batch};
}

/* Launches the part, or (`count` is 2 to 5, of move_lines) those of other matrices beside it. */
static tess_status launch_parts(const product_target *target, moving *m, launch_moves parts, int count,
                                int64_t products, sentence *why) {
    product_launch *launch = &m->launch;
    const launch_move *first = &parts.of[0];
    launch->arguments = &parts;
    if (m->by_lines) {
        int64_t lines = first->rows;
        for (int i = 1; i < count; i++)
            if (parts.of[i].rows > lines) lines = parts.of[i].rows;
        launch->grid[0] = (unsigned)((lines + LINE_WARPS - 1) / LINE_WARPS);
        launch->grid[1] = (unsigned)count;
    } else {
        launch->grid[0] = (unsigned)launch_pieces(first->cols_to, m->tile_cols);
        launch->grid[1] = (unsigned)launch_pieces(first->rows_to, m->tile_rows);
    }
    launch->grid[2] = (unsigned)products;
    return target->launch(target->self, launch, why);
}

moving moves_of(const product_target *target, placed from, placed to, int64_t rows, int64_t cols,
                int64_t count, move_kind kind) {
    moving m = {.from = from,
                .to = to,
                .rows = rows,
                .cols = cols,
                .count = to.batch == 0 ? 1 : count, /* one matrix for all products: one copy */
                .rows_most = (int64_t)MOST_GRID * MOVE_EDGE,
                .cols_most = MOST_COLS,
                .rows_to = rows,
                .cols_to = cols,
                .tile_rows = MOVE_EDGE,
                .tile_cols = MOVE_EDGE,
                .launch = {.shape = moves_shape, .moves = 1}};
    set_types(&m.launch, from.type, to.type, kind);
    if (kind != MOVE_BITS) fill_lines(&m);
    if (kind == MOVE_ALIGNED && target->by_pieces) use_lines(&m);
    if (kind == MOVE_TURNED && target->by_pieces) use_pieces(&m);
    return m;
}

tess_status moves_run(const product_target *target, moving m, sentence *why) {
    for (int64_t index = 0; index < m.count; index += MOST_GRID)
        for (int64_t row = 0; row < m.rows; row += m.rows_most)
            for (int64_t col = 0; col < m.cols; col += m.cols_most) {
                launch_moves part = {{move_part(&m, index, row, col)}};
                TRY(launch_parts(target, &m, part, 1, least(m.count - index, MOST_GRID), why));
            }
    return TESS_OK;
}

/* Whether one launch of move_lines can do it. */
static int is_one_launch(const moving *m) {
    return m->by_lines && m->count <= MOST_GRID && m->rows <= m->rows_most && m->cols <= m->cols_most;
}

tess_status moves_run_all(const product_target *target, moving *list, int count, sentence *why) {
    launch_moves parts = {{{0}}};
    int together = count > 0;
    for (int i = 0; i < count; i++) {
        together = together && is_one_launch(&list[i]) && list[i].count == list[0].count;
        parts.of[i] = move_part(&list[i], 0, 0, 0);
    }
    if (together) return launch_parts(target, &list[0], parts, count, list[0].count, why);
    for (int i = 0; i < count; i++) TRY(moves_run(target, list[i], why));
    return TESS_OK;
}
