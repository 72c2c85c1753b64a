/* launch.c: the arithmetic of launches. Nothing here touches a device. */
#include "launch.h"

#include <string.h>

#include "numeric.h"

/* The largest grids: CUDA's limits in y and z, and a product within 32-bit indices in x. */
enum { MOST_GRID_Y = 65535, MOST_GRID_Z = 65535 };
static const int64_t MOST_INDEX = (1 << 30);

/* The names a row's formulas may use. Returns how many. */
static size_t list_names(const kernel_row *kernel, tess_type in, const int64_t params[REGISTRY_PARAMS],
                         expression_name names[REGISTRY_PARAMS + 1]) {
    size_t count = 0;
    names[count++] = (expression_name){"size", (double)numeric_size(in)};
    for (int i = 0; registry_param_name(kernel, i); i++)
        names[count++] = (expression_name){registry_param_name(kernel, i), (double)params[i]};
    return count;
}

/* "x, y": formulas, which must give whole numbers from 1 up. */
static tess_status evaluate_list(const char *text, const expression_name *names, size_t count,
                                 int *const values[], int value_count, sentence *why) {
    const char *at = text;
    for (int i = 0; i < value_count; i++) {
        double value;
        if (*at == ',') at++;
        TRY(expression_value(&at, names, count, &value, why));
        if (!(value >= 1 && value <= 1 << 20) || value != (int)value)
            return status_fail(why, TESS_ERROR_KERNEL,
                               "the parameters make number %d of \"%s\" %g; it must be a whole number of at "
                               "least 1",
                               i + 1, text, value);
        *values[i] = (int)value;
    }
    return TESS_OK;
}

/* The lines of "formula: why" that must hold. */
static tess_status check_conditions(const kernel_row *kernel, const expression_name *names, size_t count,
                                    const int64_t params[REGISTRY_PARAMS], sentence *why) {
    for (const char *at = kernel->holds; at && *at;) {
        const char *line = at;
        double value;
        TRY(expression_value(&at, names, count, &value, why));
        size_t length = strcspn(at, "\n");
        if (value == 0) {
            char values[256];
            registry_print_params(kernel, params, values, sizeof values);
            return status_fail(why, TESS_ERROR_KERNEL, "%s cannot run with %s: %.*s (%.*s must hold)",
                               kernel->info.name, values, (int)(length > 2 ? length - 2 : 0), at + 2,
                               (int)(at - line), line);
        }
        at += length;
        if (*at == '\n') at++;
    }
    return TESS_OK;
}

static tess_status evaluate_shape(const kernel_row *kernel, tess_type in,
                                  const int64_t params[REGISTRY_PARAMS], launch_shape *out, sentence *why) {
    expression_name names[REGISTRY_PARAMS + 1];
    size_t count = list_names(kernel, in, params, names);
    *out = (launch_shape){.cluster = 1, .cluster_rows = 1, .cluster_cols = 1, .products = 1};
    TRY(check_conditions(kernel, names, count, params, why));
    TRY(evaluate_list(kernel->block, names, count, (int *[]){&out->block_x, &out->block_y}, 2, why));
    TRY(evaluate_list(kernel->tile, names, count, (int *[]){&out->tile_rows, &out->tile_cols}, 2, why));
    if (kernel->products)
        TRY(evaluate_list(kernel->products, names, count, (int *[]){&out->products}, 1, why));
    if (kernel->step) TRY(evaluate_list(kernel->step, names, count, (int *[]){&out->step}, 1, why));
    if (kernel->cluster)
        TRY(evaluate_list(kernel->cluster, names, count,
                          (int *[]){&out->cluster_rows, &out->cluster_cols, &out->cluster}, 3, why));
    out->cluster *= out->cluster_rows * out->cluster_cols;
    if (kernel->box)
        TRY(evaluate_list(kernel->box, names, count, (int *[]){&out->box_a, &out->box_b, &out->box_c}, 3,
                          why));
    if (!kernel->shared) return TESS_OK;
    double bytes;
    const char *text = kernel->shared;
    TRY(expression_value(&text, names, count, &bytes, why));
    out->shared = (int)bytes;
    return TESS_OK;
}

/* Formulas take longer than the rest of a launch, and a thread launches few kernels again and again: it remembers what they
 * gave last. A row stays what it is as long as there is one. */
enum { REMEMBERED = 4 };
typedef struct remembered {
    const kernel_row *kernel;
    tess_type in;
    int64_t params[REGISTRY_PARAMS];
    launch_shape shape;
} remembered;

tess_status launch_shape_of(const kernel_row *kernel, tess_type in, const int64_t params[REGISTRY_PARAMS],
                            launch_shape *out, sentence *why) {
    static _Thread_local remembered last[REMEMBERED];
    static _Thread_local int oldest;
    for (int i = 0; i < REMEMBERED; i++) {
        const remembered *r = &last[i];
        if (r->kernel != kernel || r->in != in || memcmp(r->params, params, sizeof r->params) != 0) continue;
        *out = r->shape;
        return TESS_OK;
    }
    TRY(evaluate_shape(kernel, in, params, out, why));
    remembered *r = &last[oldest];
    oldest = (oldest + 1) % REMEMBERED;
    *r = (remembered){.kernel = kernel, .in = in, .shape = *out};
    memcpy(r->params, params, sizeof r->params);
    return TESS_OK;
}

int launch_is_aligned(const problem *run, const operands *data, int vec) {
    const int64_t wholes[] = {run->n,
                              run->k,
                              run->a_row,
                              run->b_row,
                              run->c_row,
                              run->batch.count > 1 ? run->batch.stride_a : 0,
                              run->batch.count > 1 ? run->batch.stride_b : 0,
                              run->batch.count > 1 ? run->batch.stride_c : 0};
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        if (wholes[i] % vec != 0) return 0;
    if (!data) return 1;
    uintptr_t bytes = (uintptr_t)(vec * numeric_size(run->in));
    return (uintptr_t)data->a % bytes == 0 && (uintptr_t)data->b % bytes == 0 &&
           (uintptr_t)data->c % bytes == 0;
}

static int rim_of(int64_t length, int64_t whole) {
    int64_t beyond = length % whole;
    return length > whole && beyond <= MOST_RIM ? (int)beyond : 0;
}

launch_rim launch_rim_of(const problem *run) {
    launch_rim rim = {0, 0, NULL, 0};
    if (run->batch.count == 1) rim.rows = rim_of(run->m, LACED_ROWS), rim.cols = rim_of(run->n, LACED_COLS);
    return rim;
}

/* Tiles of the first round are in the last columns, if no card has more multiprocessors than that: GROUP rows of tiles are walked
 * together, or as many less as make groups of about one size. Of those columns lines are ahead that tiles begin with; and
 * the last columns, so that what follows a line that is copied by words is its own. Of few rows of tiles or few rounds the kernel
 * would wait for its copies. */
launch_late launch_late_of(const problem *run, int parts) {
    enum { MOST_BLOCKS = 148, GROUP = 32, LEAST_GROUP = 24, LINES = 16 };
    const launch_rim rim = launch_rim_of(run);
    const int edge = rim.rows + rim.cols > 0;
    const int64_t all = launch_pieces(run->n - rim.cols, LACED_COLS), cols = all - edge,
                  rows = LACES * launch_pieces(launch_pieces(run->m - rim.rows, LACES), LACED_ROWS / LACES) -
                         edge,
                  group = launch_pieces(rows, launch_pieces(rows, GROUP)),
                  first = launch_pieces(MOST_BLOCKS, group);
    launch_late late = {0};
    if (parts < 1 || run->k < 1 || run->batch.count != 1 || group < LEAST_GROUP || cols <= 2 * first)
        return late;
    late.whole = (int32_t)(cols - first);
    late.some = (int32_t)((run->n - (rim.cols ? rim.cols : 1)) / LACED_COLS - late.whole);
    late.chunk = (int32_t)(launch_pieces(run->k, (int64_t)parts * LINES) * LINES);
    return late;
}

int64_t launch_late_counts(const launch_late *late, int64_t k) {
    const int64_t columns = late->whole + late->some;
    return columns ? 1 + columns * launch_pieces(k, late->chunk) : 0;
}

/* ---- Walks ---- */

static int64_t at_most(int64_t value, int64_t most) {
    return value < most ? value : most;
}

/* As many, and those that make a cluster whole. */
static int64_t whole(int64_t count, int64_t cluster) {
    return launch_pieces(count, cluster) * cluster;
}

int64_t launch_tiles(const launch_shape *shape, const problem *run) {
    return whole(launch_pieces(run->m, shape->tile_rows), shape->cluster_rows) *
           whole(launch_pieces(run->n, shape->tile_cols), shape->cluster_cols) *
           launch_pieces(run->batch.count, shape->products);
}

static void set_scalar(tess_type acc, double value, void *slot) {
    memset(slot, 0, 8);
    if (acc == TESS_F64)
        memcpy(slot, &value, 8);
    else if (acc == TESS_F32)
        memcpy(slot, &(float){(float)value}, 4);
    else
        memcpy(slot, &(int64_t){(int64_t)value}, 4); /* the low half: arithmetic is modulo 2^32 */
}

void launch_begin(launch_walk *walk, const problem *run, const operands *data, launch_shape shape) {
    memset(walk, 0, sizeof *walk);
    walk->all = (launch_gemm){.a = data->a,
                              .b = data->b,
                              .c = data->c,
                              .k = (int32_t)run->k,
                              .lda = run->a_row,
                              .ldb = run->b_row,
                              .ldc = run->c_row,
                              .a_step = run->a_col,
                              .b_step = run->b_col,
                              .c_step = run->c_col,
                              .batch_a = run->batch.stride_a,
                              .batch_b = run->batch.stride_b,
                              .batch_c = run->batch.stride_c};
    set_scalar(run->acc, data->alpha, &walk->all.alpha);
    set_scalar(run->acc, data->beta, &walk->all.beta);
    walk->m = run->m, walk->n = run->n, walk->batch = run->batch.count;
    walk->shape = shape;
    walk->size_in = numeric_size(run->in), walk->size_out = numeric_size(run->out);
    walk->rows_most =
        at_most((int64_t)MOST_GRID_Y * shape.tile_rows, MOST_INDEX / shape.tile_rows * shape.tile_rows);
    walk->cols_most = MOST_INDEX / shape.tile_cols * shape.tile_cols;
}

/* Moves to the part after this one: columns first, then rows, then products. */
static void advance(launch_walk *walk) {
    walk->col += walk->cols_most;
    if (walk->col < walk->n) return;
    walk->col = 0;
    walk->row += walk->rows_most;
    if (walk->row < walk->m) return;
    walk->row = 0;
    walk->product += (int64_t)MOST_GRID_Z * walk->shape.products;
}

int launch_next(launch_walk *walk, launch_gemm *args, unsigned grid[3]) {
    if (walk->product >= walk->batch || walk->m == 0 || walk->n == 0) return 0;
    int64_t row = walk->row, col = walk->col, product = walk->product;
    *args = walk->all;
    args->m = (int32_t)at_most(walk->m - row, walk->rows_most);
    args->n = (int32_t)at_most(walk->n - col, walk->cols_most);
    args->a = (const char *)args->a + (product * args->batch_a + row * args->lda) * walk->size_in;
    args->b = (const char *)args->b + (product * args->batch_b + col * args->b_step) * walk->size_in;
    args->c =
        (char *)args->c + (product * args->batch_c + row * args->ldc + col * args->c_step) * walk->size_out;
    grid[0] = (unsigned)launch_pieces(args->n, walk->shape.tile_cols);
    grid[1] = (unsigned)launch_pieces(args->m, walk->shape.tile_rows);
    args->count = (int32_t)at_most(walk->batch - product, (int64_t)MOST_GRID_Z * walk->shape.products);
    grid[2] = (unsigned)launch_pieces(args->count, walk->shape.products);
    advance(walk);
    return 1;
}

int64_t launch_blocks(const kernel_row *kernel, const launch_shape *shape, int64_t at_once, int64_t tiles) {
    int64_t cluster = shape->cluster, most = at_once < cluster ? cluster : at_once / cluster * cluster;
    if (!kernel->persistent) return tiles;
    if (kernel->laces) return most;
    int64_t blocks = tiles * (cluster / (shape->cluster_rows * shape->cluster_cols));
    if (blocks <= most || kernel->splits) return at_most(blocks, most);
    int64_t rounds = launch_pieces(blocks, most);
    return whole(launch_pieces(blocks, rounds), cluster);
}

void launch_fit_grid(const kernel_row *kernel, const launch_shape *shape, int64_t at_once, unsigned grid[3]) {
    if (!kernel->persistent) return;
    int64_t cols = whole(grid[0], shape->cluster_cols), rows = whole(grid[1], shape->cluster_rows);
    grid[0] = (unsigned)launch_blocks(kernel, shape, at_once, cols * rows * grid[2]);
    grid[1] = grid[2] = 1;
}
