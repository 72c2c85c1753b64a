/* product.c: copies in, the kernel's walk over C, the copy out. */
#include "product.h"

#include <string.h>

#include "numeric.h"

/* The shape of move.cu's kernels: 32×8 threads do a tile of 32×32. */
enum { MOVE_EDGE = 32, MOVE_LINES = 8 };
static const launch_shape move_shape = {MOVE_EDGE, MOVE_LINES, MOVE_EDGE, MOVE_EDGE, 0};
/* The largest grid in y and z, and the most columns of one move. */
enum { MOST_GRID = 65535, MOST_COLS = 1 << 30 };

/* ---- Plans ---- */

/* The place of VEC among the kernel's parameters, -1 if it has none. */
static int vec_param(const kernel_row *kernel) {
    for (int i = 0; registry_param_name(kernel, i); i++)
        if (strcmp(registry_param_name(kernel, i), "VEC") == 0) return i;
    return -1;
}

/* Fills in what was not asked for. Vectors need rows that begin at multiples of their size. */
static tess_status complete_params(plan *decided, const problem *run, sentence *why) {
    int64_t defaults[REGISTRY_PARAMS], *params = decided->params;
    int vec = vec_param(decided->kernel);
    registry_defaults(decided->kernel, run->in, defaults);
    if (vec >= 0 && params[vec] > 1 && !launch_is_aligned(run, NULL, (int)params[vec]))
        return status_fail(why, TESS_ERROR_KERNEL,
                           "VEC is %d, but rows of these matrices do not begin and end at multiples of %d "
                           "elements; ask for VEC=1",
                           (int)params[vec], (int)params[vec]);
    if (vec >= 0 && !launch_is_aligned(run, NULL, (int)defaults[vec])) defaults[vec] = 1;
    for (int i = 0; i < REGISTRY_PARAMS; i++)
        if (params[i] == REGISTRY_UNSET) params[i] = defaults[i];
    return TESS_OK;
}

tess_status product_prepare(plan *decided, sentence *why) {
    const problem *what = &decided->what;
    const kernel_row *kernel = decided->kernel;
    launch_route route;
    if (!registry_takes(kernel, what->in, what->out))
        return status_fail(why, TESS_ERROR_KERNEL, "%s takes %s, not %s to %s", kernel->info.name,
                           kernel->info.types, tess_type_name(what->in), tess_type_name(what->out));
    TRY(launch_route_of(what, kernel, &route, why));
    TRY(complete_params(decided, &route.run, why));
    decided->threads = 0;
    decided->workspace = route.workspace;
    decided->route = route.text;
    return TESS_OK;
}

/* ---- Moves ---- */

/* A matrix where it lies, with the others of its batch. Strides are in elements. */
typedef struct placed {
    char *data;
    int64_t row, col, batch;
} placed;

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

static char *element(const placed *m, int64_t size, int64_t index, int64_t row, int64_t col) {
    return m->data + (index * m->batch + row * m->row + col * m->col) * size;
}

/* Elements are moved as bits: any type of their size will do. */
static void set_move_type(product_launch *launch, int64_t size) {
    static const tess_type types[] = {TESS_I8, TESS_F16, TESS_F32, TESS_F64};
    launch->in = types[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
    launch->out = launch->in == TESS_I8 ? TESS_I32 : launch->in;
}

/* The part of a move that begins at (row, col) of product `index`, as far as one grid goes. */
static tess_status move_part(const product_target *target, product_launch *launch, const launch_move *part,
                             int64_t count, sentence *why) {
    launch->arguments = part;
    launch->grid[0] = (unsigned)((part->cols + MOVE_EDGE - 1) / MOVE_EDGE);
    launch->grid[1] = (unsigned)((part->rows + MOVE_EDGE - 1) / MOVE_EDGE);
    launch->grid[2] = (unsigned)least(count, MOST_GRID);
    return target->launch(target->self, launch, why);
}

static tess_status move_matrix(const product_target *target, placed from, placed to, int64_t rows,
                               int64_t cols, int64_t count, int64_t size, sentence *why) {
    const int64_t rows_most = (int64_t)MOST_GRID * MOVE_EDGE;
    product_launch launch = {.entry = "move_strided", .shape = move_shape, .moves = 1};
    set_move_type(&launch, size);
    if (to.batch == 0) count = 1; /* one matrix for all products: one copy */
    for (int64_t index = 0; index < count; index += MOST_GRID)
        for (int64_t row = 0; row < rows; row += rows_most)
            for (int64_t col = 0; col < cols; col += MOST_COLS) {
                launch_move part = {element(&from, size, index, row, col),
                                    element(&to, size, index, row, col),
                                    (int32_t)least(rows - row, rows_most),
                                    (int32_t)least(cols - col, MOST_COLS),
                                    from.row,
                                    from.col,
                                    to.row,
                                    to.col,
                                    from.batch,
                                    to.batch};
                TRY(move_part(target, &launch, &part, count - index, why));
            }
    return TESS_OK;
}

/* ---- Products ---- */

/* A, B and C as the kernel sees them: turned if the route says so. */
typedef struct operand_places {
    placed a, b, c;
} operand_places;

static placed turned(placed m) {
    return (placed){m.data, m.col, m.row, m.batch};
}

static operand_places places_of(const problem *what, const operands *data, int swapped) {
    placed a = {(char *)(uintptr_t)data->a, what->a_row, what->a_col, what->batch.stride_a};
    placed b = {(char *)(uintptr_t)data->b, what->b_row, what->b_col, what->batch.stride_b};
    placed c = {data->c, what->c_row, what->c_col, what->batch.stride_c};
    return swapped ? (operand_places){turned(b), turned(a), turned(c)} : (operand_places){a, b, c};
}

/* Copies what the route says to the workspace; `run` then points there. C is copied only if it will be read.
 */
static tess_status copy_in(const product_target *target, const launch_route *route,
                           const operand_places *from, char *workspace, operands *run, sentence *why) {
    const problem *p = &route->run;
    int64_t in = numeric_size(p->in), out = numeric_size(p->out), count = p->batch.count;
    placed a = {workspace + route->at_a, p->a_row, p->a_col, p->batch.stride_a};
    placed b = {workspace + route->at_b, p->b_row, p->b_col, p->batch.stride_b};
    placed c = {workspace + route->at_c, p->c_row, p->c_col, p->batch.stride_c};
    if (route->copy_a) {
        TRY(move_matrix(target, from->a, a, p->m, p->k, count, in, why));
        run->a = a.data;
    }
    if (route->copy_b) {
        TRY(move_matrix(target, from->b, b, p->k, p->n, count, in, why));
        run->b = b.data;
    }
    if (route->copy_c) {
        if (run->beta != 0) TRY(move_matrix(target, from->c, c, p->m, p->n, count, out, why));
        run->c = c.data;
    }
    return TESS_OK;
}

static tess_status copy_out(const product_target *target, const launch_route *route, const operand_places *to,
                            const operands *run, sentence *why) {
    const problem *p = &route->run;
    if (!route->copy_c) return TESS_OK;
    placed result = {run->c, p->c_row, p->c_col, p->batch.stride_c};
    return move_matrix(target, result, to->c, p->m, p->n, p->batch.count, numeric_size(p->out), why);
}

static tess_status walk_launches(const product_target *target, product_launch *launch, const problem *run,
                                 const operands *data, sentence *why) {
    launch_walk walk;
    launch_gemm arguments;
    launch->arguments = &arguments;
    launch_begin(&walk, run, data, launch->shape);
    while (launch_next(&walk, &arguments, launch->grid)) TRY(target->launch(target->self, launch, why));
    return TESS_OK;
}

tess_status product_run(const product_target *target, const plan *decided, const operands *data,
                        char *workspace, sentence *why) {
    const kernel_row *kernel = decided->kernel;
    launch_route route;
    int64_t params[REGISTRY_PARAMS];
    product_launch launch = {.row = kernel,
                             .params = params,
                             .entry = kernel->info.name,
                             .in = decided->what.in,
                             .out = decided->what.out};
    TRY(launch_route_of(&decided->what, kernel, &route, why));
    operand_places places = places_of(&decided->what, data, route.swapped);
    operands run = {places.a.data, places.b.data, places.c.data, data->alpha, data->beta};
    TRY(copy_in(target, &route, &places, workspace, &run, why));
    memcpy(params, decided->params, sizeof params);
    int vec = vec_param(kernel);
    if (vec >= 0 && !launch_is_aligned(&route.run, &run, (int)params[vec])) params[vec] = 1;
    TRY(launch_shape_of(kernel, route.run.in, params, &launch.shape, why));
    TRY(walk_launches(target, &launch, &route.run, &run, why));
    return copy_out(target, &route, &places, &run, why);
}

tess_status product_scale(const product_target *target, const problem *what, const operands *data,
                          sentence *why) {
    product_launch launch = {.entry = "scale_strided", .in = what->in, .out = what->out, .shape = move_shape};
    problem only_c = *what;
    only_c.k = only_c.a_row = only_c.b_col = only_c.batch.stride_a = only_c.batch.stride_b = 0;
    operands scaled = {data->c, data->c, data->c, 0, data->beta};
    return walk_launches(target, &launch, &only_c, &scaled, why);
}
