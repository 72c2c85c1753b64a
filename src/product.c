/* product.c: copies in, the kernel's walk over C and that of another over the rest, the copy out. */
#include "product.h"

#include <string.h>

#include "moves.h"
#include "numeric.h"
#include "slices.h"

/* ---- Plans ---- */

/* VEC where it was not asked for; narrow copies are worth a word in the route. */
static tess_status complete_vec(plan *decided, const route *way, int vec, sentence *why) {
    int64_t asked = decided->params[vec], widest = route_widest(way, NULL);
    if (asked != REGISTRY_UNSET && asked > widest)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "VEC is %d, but rows or columns of A and B begin at multiples of %d element%s; "
                           "ask for VEC=%d, or leave it out",
                           (int)asked, (int)widest, widest == 1 ? "" : "s", (int)widest);
    if (asked == REGISTRY_UNSET) decided->params[vec] = widest;
    route_describe(way, decided->kernel, asked == REGISTRY_UNSET ? widest : 0, decided->route,
                   sizeof decided->route);
    return TESS_OK;
}

/* AT or BT: how a matrix lies is not for the caller to say. */
static tess_status complete_order(plan *decided, const char *name, int by_columns, sentence *why) {
    int at = registry_find_param(decided->kernel, name);
    if (at < 0) return TESS_OK;
    if (decided->params[at] != REGISTRY_UNSET && decided->params[at] != by_columns)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s is %d, but the %c that %s gets lies in %s; leave %s out: it follows from the "
                           "matrices",
                           name, (int)decided->params[at], name[0], decided->kernel->info.name,
                           by_columns ? "columns" : "rows", name);
    decided->params[at] = by_columns;
    return TESS_OK;
}

/* STORE: whether TMA writes C. */
static tess_status complete_store(plan *decided, const route *way, int store, sentence *why) {
    int possible = route_can_store(way, NULL);
    if (decided->params[store] == REGISTRY_UNSET) decided->params[store] = possible;
    if (decided->params[store] > possible)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "STORE is %d, but rows of C do not begin and end at multiples of 16 bytes, as "
                           "TMA needs them; ask for STORE=0, or leave it out",
                           (int)decided->params[store]);
    return TESS_OK;
}

/* Vectors need rows that begin at multiples of their size. */
static tess_status check_rows(const plan *decided, const problem *run, int64_t defaults[REGISTRY_PARAMS],
                              sentence *why) {
    int vec = registry_find_param(decided->kernel, "VEC");
    int64_t asked = vec >= 0 ? decided->params[vec] : REGISTRY_UNSET;
    if (vec < 0) return TESS_OK;
    if (asked > 1 && !launch_is_aligned(run, NULL, (int)asked))
        return status_fail(why, TESS_ERROR_KERNEL,
                           "VEC is %d, but rows of these matrices do not begin and end at multiples of %d "
                           "elements; ask for VEC=1",
                           (int)asked, (int)asked);
    if (!launch_is_aligned(run, NULL, (int)defaults[vec])) defaults[vec] = 1;
    return TESS_OK;
}

/* Where C is not accessed as A and B are copied (CVEC): whether rows allow it, `vec` elements at a time. */
static int rows_allow(const route *way, int of_c, const operands *data, int64_t vec) {
    return of_c ? route_can_write(way, data, vec) : route_can_read(way, data, vec);
}

/* VEC or CVEC there: what was asked for must be possible; the default is 1 where that is not. */
static tess_status complete_width(const plan *decided, const route *way, int of_c,
                                  int64_t defaults[REGISTRY_PARAMS], sentence *why) {
    const char *name = of_c ? "CVEC" : "VEC";
    int at = registry_find_param(decided->kernel, name);
    int64_t asked = decided->params[at];
    if (asked > 1 && !rows_allow(way, of_c, NULL, asked))
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s is %d, but rows of %s do not begin%s at multiples of %d elements; ask "
                           "for %s=1",
                           name, (int)asked, of_c ? "C" : "A and B", of_c ? " and end" : "", (int)asked,
                           name);
    if (!rows_allow(way, of_c, NULL, defaults[at])) defaults[at] = 1;
    return TESS_OK;
}

/* Fills in what was not asked for, and says what is done to the matrices. */
static tess_status complete(plan *decided, const route *way, sentence *why) {
    int64_t defaults[REGISTRY_PARAMS];
    const kernel_row *kernel = decided->kernel;
    registry_defaults(kernel, way->run.in, defaults);
    route_describe(way, kernel, 0, decided->route, sizeof decided->route);
    if (route_takes_columns(kernel)) {
        TRY(complete_order(decided, "AT", way->a.by_columns, why));
        TRY(complete_order(decided, "BT", way->b.by_columns, why));
    }
    if (kernel->tensor || kernel->splits) {
        int vec = registry_find_param(kernel, "VEC"), store = registry_find_param(kernel, "STORE");
        if (vec >= 0) TRY(complete_vec(decided, way, vec, why));
        if (store >= 0) TRY(complete_store(decided, way, store, why));
    } else if (registry_find_param(kernel, "CVEC") >= 0) {
        TRY(complete_width(decided, way, 0, defaults, why));
        TRY(complete_width(decided, way, 1, defaults, why));
    } else {
        TRY(check_rows(decided, &way->run, defaults, why));
    }
    for (int i = 0; i < REGISTRY_PARAMS; i++)
        if (decided->params[i] == REGISTRY_UNSET) decided->params[i] = defaults[i];
    return TESS_OK;
}

/* Tensor cores multiply f32 with fewer bits, which must have been allowed. */
static tess_status check_types(const problem *what, const kernel_row *kernel, sentence *why) {
    tess_type in = route_input(what, kernel);
    if (!registry_takes(kernel, in, what->out))
        return status_fail(why, TESS_ERROR_KERNEL, "%s takes %s, not %s to %s", kernel->info.name,
                           kernel->info.types, tess_type_name(in), tess_type_name(what->out));
    if (kernel->tensor && in == TESS_F32 && what->compute != TESS_COMPUTE_TF32 &&
        what->compute != TESS_COMPUTE_BF16)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s multiplies f32 as TF32, with 11 significant bits, which has to be allowed: "
                           "set options.compute to TESS_COMPUTE_TF32 (--compute tf32)",
                           kernel->info.name);
    if (kernel->splits && what->compute == TESS_COMPUTE_F32_STRICT)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s splits f32 into parts, but options.compute is TESS_COMPUTE_F32_STRICT "
                           "(--compute f32-strict), which is multiply-adds of f32 and nothing else",
                           kernel->info.name);
    return TESS_OK;
}

/* From a row of the sums of a share to the next: lines begin at multiples of 16 bytes. */
static int64_t sums_row(const problem *run) {
    int64_t unit = 16 / numeric_size(run->acc);
    return launch_pieces(run->n, unit) * unit;
}

/* Whole shares, and the one that is left, if any. */
static int64_t count_shares(const problem *run, int64_t share) {
    return launch_pieces(run->k, share);
}

static problem whole_shares(problem run, int64_t share) {
    run.batch = (tess_batch){run.k / share, share * run.a_col, share * run.b_row, run.m * sums_row(&run)};
    run.k = share;
    run.out = run.acc;
    run.c_row = sums_row(&run), run.c_col = 1;
    return run;
}

/* Where the sums begin: behind what is copied, or split in parts. */
static int64_t sums_at(const plan *decided, const route *way) {
    problem shares = whole_shares(way->run, decided->share);
    int64_t before = decided->kernel->splits ? slices_workspace(&shares, NULL, 1) : way->workspace;
    return (before + 255) / 256 * 256;
}

static int64_t whole_workspace(const plan *decided, const route *way) {
    const problem *run = &way->run;
    if (decided->share == 0) return way->workspace;
    return sums_at(decided, way) +
           count_shares(run, decided->share) * run->m * sums_row(run) * numeric_size(run->acc);
}

/* With EVERY rows of C whose lines of A begin alike, every so manieth, are products of their own: a batch. Also where A was copied,
 * since the order of additions is the plan's. */
static problem laced(const plan *decided, const route *way) {
    problem run = way->run;
    int at = registry_find_param(decided->kernel, "EVERY");
    int64_t every = at < 0 ? 1 : decided->params[at];
    if (every <= 1 || run.batch.count > 1 || run.m % every != 0 || way->a.by_columns) return run;
    run.batch = (tess_batch){every, run.a_row, 0, run.c_row};
    run.m /= every, run.a_row *= every, run.c_row *= every;
    return run;
}

problem product_first(const plan *decided, const route *way) {
    problem run = way->run;
    if (decided->share > 0) return whole_shares(run, decided->share);
    if (!decided->rest.kernel) return laced(decided, way);
    run.m = way->swapped ? decided->rest.cols : decided->rest.rows;
    run.n = way->swapped ? decided->rest.rows : decided->rest.cols;
    return run;
}

/* The product of the rest, which begins at (row, col) of that of the whole. */
static problem rest_of(const plan *decided, const route *way, int64_t *row, int64_t *col) {
    problem run = way->run, first = product_first(decided, way);
    *row = first.m < run.m ? first.m : 0;
    *col = first.n < run.n ? first.n : 0;
    run.m -= *row, run.n -= *col;
    return run;
}

/* The rest is computed on what the route of the whole makes of the matrices. */
static tess_status prepare_rest(plan *decided, const route *way, sentence *why) {
    plan rest = *decided;
    route part = *way;
    int64_t row, col;
    rest.kernel = decided->rest.kernel;
    memcpy(rest.params, decided->rest.params, sizeof rest.params);
    part.run = rest_of(decided, way, &row, &col);
    TRY(check_types(&decided->what, rest.kernel, why));
    TRY(complete(&rest, &part, why));
    memcpy(decided->rest.params, rest.params, sizeof rest.params);
    return TESS_OK;
}

tess_status product_prepare(plan *decided, sentence *why) {
    const kernel_row *kernel = decided->kernel;
    route way, first;
    TRY(check_types(&decided->what, kernel, why));
    TRY(route_of(&decided->what, kernel, decided->params, NULL, &way, why));
    first = way;
    first.run = product_first(decided, &way);
    TRY(complete(decided, &first, why));
    if (decided->rest.kernel) TRY(prepare_rest(decided, &way, why));
    decided->threads = 0;
    decided->workspace = whole_workspace(decided, &way);
    decided->less_exact = way.rounded || (kernel->tensor && way.run.in == TESS_F32);
    return TESS_OK;
}

/* ---- Products ---- */

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

/* A, B and C as the kernel sees them: turned if the route says so. */
typedef struct operand_places {
    placed a, b, c;
} operand_places;

static operand_places places_of(const problem *what, const operands *data, int swapped) {
    placed a = {(char *)(uintptr_t)data->a, what->in, what->a_row, what->a_col, what->batch.stride_a};
    placed b = {(char *)(uintptr_t)data->b, what->in, what->b_row, what->b_col, what->batch.stride_b};
    placed c = {data->c, what->out, what->c_row, what->c_col, what->batch.stride_c};
    return swapped ? (operand_places){moves_turned(b), moves_turned(a), moves_turned(c)}
                   : (operand_places){a, b, c};
}

static move_kind kind_of(const route *way, const route_part *part) {
    if (way->rounded) return MOVE_ROUNDED;
    return part->anywhere ? MOVE_BITS : part->realigned ? MOVE_ALIGNED : MOVE_TURNED;
}

/* The rows of A for the rim. */
static moving move_of_rim(const product_target *target, const route *way, placed a, char *workspace) {
    const problem *p = &way->run;
    placed to = {workspace + way->rim_at, p->in, way->rim.a_row, 1, 0};
    move_kind kind = way->rounded ? MOVE_ROUNDED : a.col == 1 ? MOVE_ALIGNED : MOVE_TURNED;
    a.data += (p->m - way->rim.rows) * a.row * numeric_size(a.type);
    return moves_of(target, a, to, way->rim.rows, p->k, 1, kind);
}

/* Whether the kernel copies a part of B itself. */
static int copies_late(const product_target *target, const plan *decided, const route *way) {
    return target->by_pieces && !decided->rest.kernel && decided->share == 0 && way->late.whole > 0;
}

/* Of a matrix, from there on. */
static placed part_of(placed m, int64_t row, int64_t col) {
    m.data += (row * m.row + col * m.col) * numeric_size(m.type);
    return m;
}

/* What of B is ahead: the first lines of columns that tiles begin with, and all of those beyond whole tiles. */
static int list_early(const product_target *target, const route *way, placed from, placed to,
                      moving list[2]) {
    const problem *p = &way->run;
    const launch_late *late = &way->late;
    const int64_t first = late->whole * (int64_t)LACED_COLS, last = first + late->some * (int64_t)LACED_COLS;
    const move_kind kind = kind_of(way, &way->b);
    int count = 0;
    list[count++] = moves_of(target, part_of(from, 0, first), part_of(to, 0, first), least(late->chunk, p->k),
                             last - first, 1, kind);
    if (last < p->n)
        list[count++] =
            moves_of(target, part_of(from, 0, last), part_of(to, 0, last), p->k, p->n - last, 1, kind);
    return count;
}
/* In elements as those of A and B, since they share a launch. */
static moving move_of_counts(const product_target *target, const route *way, char *workspace) {
    const int64_t counts = launch_late_counts(&way->late, way->run.k),
                  length = counts * (int64_t)sizeof(int32_t) / numeric_size(way->run.in);
    placed none = {NULL, way->run.in, 0, 1, 0}, to = {workspace + way->counts_at, way->run.in, 0, 1, 0};
    return moves_of(target, none, to, 1, length, 1, MOVE_ALIGNED);
}

/* Copies what the route says to the workspace; `run` then points there. C is copied only if it will be read.
 */
static tess_status copy_in(const product_target *target, const plan *decided, const route *way,
                           const operand_places *from, char *workspace, operands *run, sentence *why) {
    const problem *p = &way->run;
    int64_t count = p->batch.count;
    placed a = {workspace + way->a.at, p->in, p->a_row, p->a_col, p->batch.stride_a};
    placed b = {workspace + way->b.at, p->in, p->b_row, p->b_col, p->batch.stride_b};
    placed c = {workspace + way->c.at, p->out, p->c_row, p->c_col, p->batch.stride_c};
    moving list[MOST_MOVES];
    int moves = 0, late = copies_late(target, decided, way);
    if (way->a.copied) list[moves++] = moves_of(target, from->a, a, p->m, p->k, count, kind_of(way, &way->a));
    if (late)
        moves += list_early(target, way, from->b, b, &list[moves]);
    else if (way->b.copied)
        list[moves++] = moves_of(target, from->b, b, p->k, p->n, count, kind_of(way, &way->b));
    if (way->rim.rows) list[moves++] = move_of_rim(target, way, from->a, workspace);
    if (late) list[moves++] = move_of_counts(target, way, workspace);
    TRY(moves_run_all(target, list, moves, why));
    if (way->a.copied) run->a = a.data;
    if (way->b.copied) run->b = b.data;
    if (way->c.copied) {
        if (run->beta != 0)
            TRY(moves_run(target, moves_of(target, from->c, c, p->m, p->n, count, MOVE_BITS), why));
        run->c = c.data;
    }
    return TESS_OK;
}

static tess_status copy_out(const product_target *target, const route *way, const operand_places *to,
                            const operands *run, sentence *why) {
    const problem *p = &way->run;
    if (!way->c.copied) return TESS_OK;
    placed result = {run->c, p->out, p->c_row, p->c_col, p->batch.stride_c};
    return moves_run(target, moves_of(target, result, to->c, p->m, p->n, p->batch.count, MOVE_BITS), why);
}

/* What only the addresses tell: VEC, CVEC and STORE as far as they allow them. Matrices that came from the host may also
 * lie otherwise than they did there, which the plan was made for. */
static void set_params(const kernel_row *kernel, const int64_t planned[REGISTRY_PARAMS], const route *way,
                       const operands *run, int64_t params[REGISTRY_PARAMS]) {
    int vec = registry_find_param(kernel, "VEC"), a = registry_find_param(kernel, "AT"),
        b = registry_find_param(kernel, "BT"), store = registry_find_param(kernel, "STORE"),
        of_c = registry_find_param(kernel, "CVEC");
    memcpy(params, planned, REGISTRY_PARAMS * sizeof *params);
    if (route_takes_columns(kernel)) {
        if (a >= 0) params[a] = way->a.by_columns;
        if (b >= 0) params[b] = way->b.by_columns;
    }
    if (kernel->tensor || kernel->splits) {
        if (vec >= 0) params[vec] = least(params[vec], route_widest(way, run));
        if (store >= 0) params[store] = least(params[store], route_can_store(way, run));
    } else if (of_c >= 0) {
        if (!rows_allow(way, 0, run, params[vec])) params[vec] = 1;
        if (!rows_allow(way, 1, run, params[of_c])) params[of_c] = 1;
    } else if (vec >= 0 && !launch_is_aligned(&way->run, run, (int)params[vec])) {
        params[vec] = 1;
    }
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

tess_status product_workspace(const plan *decided, const operands *data, int64_t *bytes, sentence *why) {
    route way;
    TRY(route_of(&decided->what, decided->kernel, decided->params, data, &way, why));
    *bytes = whole_workspace(decided, &way);
    return TESS_OK;
}

/* The launches of one kernel for the product of a route, whose `params` are filled. */
static tess_status describe_launch(const kernel_row *kernel, const int64_t planned[REGISTRY_PARAMS],
                                   const route *way, const operands *data, int64_t params[REGISTRY_PARAMS],
                                   product_launch *launch, sentence *why) {
    set_params(kernel, planned, way, data, params);
    *launch = (product_launch){.row = kernel,
                               .params = params,
                               .entry = kernel->info.name,
                               .in = way->run.in,
                               .out = way->run.out};
    return launch_shape_of(kernel, launch->in, params, &launch->shape, why);
}

/* What begins at (row, col) of C, and the parts of A and B that it is made of. */
static operands data_from(const operands *data, const problem *run, int64_t row, int64_t col) {
    int64_t in = numeric_size(run->in), out = numeric_size(run->out);
    operands part = *data;
    part.a = (const char *)data->a + row * run->a_row * in;
    part.b = (const char *)data->b + col * run->b_col * in;
    part.c = (char *)data->c + (row * run->c_row + col * run->c_col) * out;
    return part;
}

/* The first part of C and the rest, each with its kernel. */
static tess_status run_in_two(const product_target *target, const plan *decided, const route *way,
                              const operands *data, sentence *why) {
    route first = *way, rest = *way;
    product_launch launches[2];
    int64_t params[2][REGISTRY_PARAMS], row, col;
    first.run = product_first(decided, way);
    rest.run = rest_of(decided, way, &row, &col);
    operands after = data_from(data, &way->run, row, col);
    TRY(describe_launch(decided->kernel, decided->params, &first, data, params[0], &launches[0], why));
    TRY(describe_launch(decided->rest.kernel, decided->rest.params, &rest, &after, params[1], &launches[1],
                        why));
    if (target->load) TRY(target->load(target->self, &launches[1], why));
    TRY(walk_launches(target, &launches[0], &first.run, data, why));
    return walk_launches(target, &launches[1], &rest.run, &after, why);
}

/* Of add.cu: every piece of 16 bytes of a row of C has some threads, enough for each to ask for its shares at once. */
enum { ADD_THREADS = 256, MOST_ADDERS = 16, AT_A_TIME = 8, PIECE = 16 };

/* Every row of C is a product of a batch, a row of ones times the sums; blocks have pieces of any rows. */
static tess_status add_shares(const product_target *target, const problem *run, const operands *data,
                              char *sums, int64_t count, sentence *why) {
    launch_shape shape = {.tile_rows = 1, .tile_cols = 1, .products = 1, .block_y = 1};
    problem adding = {.in = run->acc, .out = run->out, .acc = run->acc, .m = 1, .n = run->n, .k = count};
    operands all = {.a = sums, .b = sums, .c = data->c, .alpha = data->alpha, .beta = data->beta};
    int64_t pieces = launch_pieces(run->n * numeric_size(run->acc), PIECE);
    launch_walk walk;
    launch_gemm arguments;
    adding.b_row = run->m * sums_row(run), adding.b_col = 1, adding.c_col = run->c_col;
    adding.batch = (tess_batch){run->m, 0, sums_row(run), run->c_row};
    while (shape.block_y < MOST_ADDERS && shape.block_y * AT_A_TIME < count) shape.block_y *= 2;
    shape.block_x = ADD_THREADS / shape.block_y;
    product_launch launch = {.file = "add.cu",
                             .entry = "add_shares",
                             .in = run->acc,
                             .out = run->out,
                             .shape = shape,
                             .arguments = &arguments};
    launch_begin(&walk, &adding, &all, shape);
    while (launch_next(&walk, &arguments, launch.grid)) {
        launch.grid[0] = (unsigned)launch_pieces(arguments.count * pieces, shape.block_x);
        launch.grid[1] = launch.grid[2] = 1;
        TRY(target->launch(target->self, &launch, why));
    }
    return TESS_OK;
}

/* The launches of one kernel for one product, or a batch. */
static tess_status multiply(const product_target *target, product_launch *launch, const problem *run,
                            const operands *data, char *workspace, sentence *why) {
    if (launch->row->splits) return slices_run(target, launch, run, data, workspace, why);
    return walk_launches(target, launch, run, data, why);
}

/* The shares of k, and what is made of their sums. */
static tess_status run_in_shares(const product_target *target, const plan *decided, const route *way,
                                 const operands *data, char *workspace, sentence *why) {
    char *sums = workspace + sums_at(decided, way);
    route part = *way;
    int64_t params[REGISTRY_PARAMS], in = numeric_size(way->run.in), done;
    product_launch launch;
    operands of = *data;
    part.run = whole_shares(way->run, decided->share);
    done = part.run.batch.count * decided->share;
    of.c = sums, of.alpha = 1, of.beta = 0;
    of.kept_a = of.kept_b = NULL; /* they are of all k */
    TRY(describe_launch(decided->kernel, decided->params, &part, &of, params, &launch, why));
    TRY(multiply(target, &launch, &part.run, &of, workspace, why));
    if (done < way->run.k) {
        of.a = (const char *)of.a + done * way->run.a_col * in;
        of.b = (const char *)of.b + done * way->run.b_row * in;
        of.c = sums + part.run.batch.count * part.run.batch.stride_c * numeric_size(part.run.out);
        part.run.k = way->run.k - done, part.run.batch.count = 1;
        TRY(describe_launch(decided->kernel, decided->params, &part, &of, params, &launch, why));
        TRY(multiply(target, &launch, &part.run, &of, workspace, why));
    }
    return add_shares(target, &way->run, data, sums, count_shares(&way->run, decided->share), why);
}

static tess_status run_kernel(const product_target *target, const plan *decided, const route *way,
                              const operands *data, const placed *from_b, char *workspace, sentence *why) {
    product_launch launch;
    route whole = *way;
    int64_t params[REGISTRY_PARAMS];
    if (decided->rest.kernel) return run_in_two(target, decided, way, data, why);
    if (decided->share > 0) return run_in_shares(target, decided, way, data, workspace, why);
    whole.run = product_first(decided, way);
    TRY(describe_launch(decided->kernel, decided->params, &whole, data, params, &launch, why));
    launch.rim = way->rim;
    if (way->rim.rows) launch.rim.a = workspace + way->rim_at;
    if (copies_late(target, decided, way)) {
        launch.late = way->late;
        launch.late.from = from_b->data, launch.late.from_row = (int32_t)from_b->row;
        launch.late.to = (void *)(uintptr_t)data->b, launch.late.to_row = (int32_t)whole.run.b_row;
        launch.late.counts = (int32_t *)(void *)(workspace + way->counts_at);
    }
    return multiply(target, &launch, &whole.run, data, workspace, why);
}

tess_status product_run(const product_target *target, const plan *decided, const operands *data,
                        char *workspace, sentence *why) {
    route way;
    TRY(route_of(&decided->what, decided->kernel, decided->params, data, &way, why));
    operand_places places = places_of(&decided->what, data, way.swapped);
    operands run = {.a = places.a.data,
                    .b = places.b.data,
                    .c = places.c.data,
                    .alpha = data->alpha,
                    .beta = data->beta,
                    .kept_a = way.swapped ? data->kept_b : data->kept_a,
                    .kept_b = way.swapped ? data->kept_a : data->kept_b};
    TRY(copy_in(target, decided, &way, &places, workspace, &run, why));
    TRY(run_kernel(target, decided, &way, &run, &places.b, workspace, why));
    return copy_out(target, &way, &places, &run, why);
}

tess_status product_scale(const product_target *target, const problem *what, const operands *data,
                          sentence *why) {
    product_launch launch = {.entry = "scale_strided",
                             .in = what->in,
                             .out = what->out,
                             .shape = moves_shape};
    problem only_c = *what;
    only_c.k = only_c.a_row = only_c.b_col = only_c.batch.stride_a = only_c.batch.stride_b = 0;
    operands scaled = {.a = data->c, .b = data->c, .c = data->c, .beta = data->beta};
    return walk_launches(target, &launch, &only_c, &scaled, why);
}
