/* cpu_04_direct: the register tile without packing, for small products and thin ones.
 * before:  cpu_03_packed
 * change:  the micro-kernel reads A and B where they lie, in tiles as wide and as high as what is left; of the last
 *          vector of a row it reads and writes what is there
 * why:     packing moves every element of A and B once; a product that uses an element only a few dozen times
 *          does not earn that back
 *
 * It needs inputs of the type of the sums, and contiguous rows of B (or, taken as its transpose, columns of A); contiguous
 * columns it turns into rows, a few at a time. KC is cpu_03_packed's, and so are the bits. */
#include <string.h>

#include "blocking.h"
#include "transpose.h"

enum { KC }; /* the order of kernels.def */

/* One product. */
typedef struct direct {
    const oriented *o;
    const char *a, *b;
    char *c, *turned; /* turned: room for columns of B as rows */
    double alpha, beta;
} direct;

enum { COLUMNS = 16 }; /* that are turned at least */

/* Bytes of room for columns of B, kc elements of each. */
static int64_t turned_room(const oriented *o, int64_t kc) {
    enum { ROOM = 128 << 10 };
    int64_t least = COLUMNS * kc * numeric_size(o->in);
    return least > ROOM ? least : ROOM;
}

static int takes(const oriented *o) {
    return o->micro->direct && o->micro->packed == o->in && (o->b_col == 1 || o->b_row == 1);
}

/* A product that is one call of the micro-kernel: the smallest take hardly longer than what comes before it. */
static void multiply_at_once(const oriented *o, const operands *data) {
    micro_call call = {.depth = o->k,
                       .a = o->transposed ? data->b : data->a,
                       .b = o->transposed ? data->a : data->b,
                       .a_row = o->a_row,
                       .a_col = o->a_col,
                       .b_row = o->b_row,
                       .rows = o->m,
                       .cols = o->n,
                       .c = data->c,
                       .c_row = o->c_row,
                       .alpha = data->alpha,
                       .beta = data->beta};
    o->micro->direct(&call);
}

static int is_one_call(const plan *decided, const cpu_plan *kept) {
    const oriented *o = &kept->o;
    return kept->most_threads == 1 && decided->what.batch.count == 1 && o->k <= decided->params[KC] &&
           o->n <= o->micro->direct_cols && o->b_col == 1 && o->c_col == 1;
}

static tess_status prepare(plan *decided, sentence *why) {
    cpu_plan *kept = cpu_plan_to_fill(decided);
    oriented *o = &kept->o;
    *o = blocking_orient(&decided->what);
    if (!decided->params[KC]) decided->params[KC] = blocking_defaults(o).kc;
    if (takes(o)) {
        if (is_one_call(decided, kept)) kept->at_once = multiply_at_once;
        return TESS_OK;
    }
    return status_fail(why, TESS_ERROR_KERNEL,
                       "cpu_04_direct takes f32, f64 and i32 with %s; cpu_03_packed takes any product",
                       o->transposed ? "contiguous columns or rows of A for a column-major C"
                                     : "contiguous rows or columns of B for a row-major C");
}

enum { SHORT_K = 16 };

/* Of so many rows of A, or columns of B. */
static double bytes_of(const oriented *o, int64_t lines) {
    return (double)lines * (double)o->k * (double)numeric_size(o->in);
}

/* Whether copies are used too little to be worth their while. On a Neoverse-V1: k is short, or B has few rows to be multiplied by,
 * and is near, or has so few rows itself that the pages of a step are too, or has so short rows that few columns of tiles pass over
 * it, which find what the first has fetched. (Three rows are a tile of two and one of one.) On a Xeon: few rows, up to the largest
 * B that was measured, whatever its rows. */
static int is_used_too_little(const oriented *o) {
    enum { FEW_ROWS = 4, FEW_COLUMNS = 5, FEW_PAGES = 64 };
    double b = bytes_of(o, o->n), l2 = (double)blocking_second_cache(), l3 = (double)cpu_read_facts()->l3;
    int64_t columns = (o->n + o->micro->direct_cols - 1) / o->micro->direct_cols;
    int is_near = b <= l2 || (o->m <= FEW_ROWS / 2 && b <= 4 * l2),
        is_narrow = columns * (o->m == 3 ? 3 : 2) <= 2 * FEW_COLUMNS && b <= l3 / 2;
    if (!CPU_IS_ARM) return o->m <= FEW_ROWS && b <= 16 * l2;
    return o->k <= SHORT_K || (o->m <= FEW_ROWS && (o->k <= FEW_PAGES || is_near || is_narrow));
}

/* Whether C is so small that a packed tile would be mostly empty, and copies be used a few times at most, however long k is.
 * Measured on a Neoverse-V1, in all orders: 2×2×100000 took three to eight times as long packed, 8×8×100000 1.3 to 3 times. */
static int is_tiny(const oriented *o) {
    enum { TINY = 8 };
    return CPU_IS_ARM && o->m <= TINY && o->n <= TINY;
}

/* Whether the packed kernel's tile would be half empty, or more. */
static int is_thin(const oriented *o) {
    return 2 * o->n <= o->micro->nr;
}

/* Whether A lies in columns of more than that many bytes: a step of every tile then has a line and a page of its own, which come
 * round again and again, unless they are few and one tile is all there is. */
static int is_scattered(const oriented *o, double bytes) {
    enum { FEW_STEPS = 64 };
    if (o->a_col == 1 || (is_thin(o) && o->k <= FEW_STEPS)) return 0;
    return bytes_of(o, o->m) > bytes;
}

/* Whether B is turned rather than packed: it fits the first-level cache, or on Arm k is short. */
static int is_worth_turning(const oriented *o) {
    double l1 = (double)blocking_first_cache();
    return (CPU_IS_ARM && o->k <= SHORT_K) || (bytes_of(o, o->n) <= 0.8 * l1 && !is_scattered(o, l1 / 2));
}

/* B as it lies is where its panels would be: in the first-level cache, or where a panel does not fit that in the second, with
 * room for as much of A and C. So copying it gains nothing. Or C is so narrow that the packed kernel's tile would be half
 * empty, and what is used of B in one step fits. */
int cpu_direct_pays(const problem *what) {
    oriented o = blocking_orient(what);
    if (!takes(&o)) return 0;
    if (is_tiny(&o)) return 1;
    if (o.b_col != 1) return is_worth_turning(&o);
    if (is_used_too_little(&o)) return 1;
    double l1 = (double)blocking_first_cache(), third = (double)blocking_second_cache() / 3;
    if (CPU_IS_ARM && is_scattered(&o, l1)) return 0;
    double kc = (double)blocking_defaults(&o).near_kc, size = (double)numeric_size(o.in),
           row = (double)o.n * size;
    double near = kc * o.micro->nr * size > l1 && third > l1 ? third : 0.8 * l1;
    if (bytes_of(&o, o.n) <= near) return 1;
    return is_thin(&o) && row * kc <= 0.8 * l1;
}

/* Of a step of k. */
static int64_t depth_of(const oriented *o, const plan *decided) {
    int64_t most = decided->params[KC];
    return o->k <= most ? o->k : blocking_depth(o, most);
}

static size_t scratch_size(const plan *decided, int threads) {
    const oriented *o = &cpu_plan_of(decided)->o;
    return o->b_col == 1 ? 0 : (size_t)(threads * turned_room(o, depth_of(o, decided)));
}

/* By instructions, not by a call: the compiler knows both sizes. */
static inline void copy_element(char *to, const char *from, int64_t size) {
    if (size == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, 8);
}

/* Columns of B, `depth` elements of each, become rows of `cols` elements. */
static void turn_columns(const oriented *o, const char *from, int64_t cols, int64_t depth, char *to) {
    int64_t size = numeric_size(o->in), side = 16 / size, across = o->b_col * size;
    for (int64_t i = 0; i < cols; i += side) {
        int64_t p = 0, there = blocking_min(side, cols - i);
        const char *column = from + i * across;
        for (; there == side && p + side <= depth; p += side)
            if (size == 4)
                transpose_block_4(column + p * size, o->b_col, to + (p * cols + i) * size, cols);
            else
                transpose_block_8(column + p * size, o->b_col, to + (p * cols + i) * size, cols);
        for (; p < depth; p++)
            for (int64_t j = 0; j < there; j++)
                copy_element(to + (p * cols + i + j) * size, column + j * across + p * size, size);
    }
}

/* Rows of C that are not contiguous are computed beside it. */
static void multiply_scattered(const oriented *o, micro_call call) {
    _Alignas(64) double tile[ISA_LARGEST_TILE];
    int64_t left = call.rows, most = ISA_LARGEST_TILE / o->micro->direct_cols;
    cpu_store to = {o->out, o->acc, call.c, o->c_row, o->c_col, call.alpha, call.beta};
    call.c = tile, call.c_row = call.cols;
    call.alpha = 1, call.beta = 0;
    for (; left > 0; left -= call.rows) {
        call.rows = blocking_min(left, most);
        o->micro->direct(&call);
        cpu_store_sums(&to, tile, call.c_row, call.rows, call.cols);
        call.a = cpu_at(call.a, o->in, call.rows, o->a_row, 0, 0);
        to.c += call.rows * o->c_row * numeric_size(o->out);
    }
}

/* How many columns the next tiles take: as many as a tile may have, unless that would leave a single vector for the last;
 * or all about as many, where tiles a vector narrower have more rows instead. */
static int64_t next_width(int64_t left, const micro_kernel *micro) {
    int most = micro->direct_cols, lanes = micro->lanes;
    if (left <= most) return left;
    if (micro->direct_even) {
        int64_t tiles = (left + most - 1) / most;
        return blocking_round_up((left + tiles - 1) / tiles, lanes);
    }
    return left <= most + lanes && most > 2 * lanes ? most - lanes : most;
}

/* `part` over steps [p, p + depth) of k, where rows of B begin at `b`, b_row elements apart. */
static void multiply_rows(const direct *d, cpu_rectangle part, int64_t p, int64_t depth, const char *b,
                          int64_t b_row) {
    const oriented *o = d->o;
    enum {
        AT_ONCE = 64
    }; /* rows: lines of C that the next columns write to are still near then, and so are their pages */
    int64_t end_row = part.row + part.rows, end = part.col + part.cols;
    int64_t size = numeric_size(o->in); /* C's elements have it too */
    micro_call call = {.depth = depth,
                       .a_row = o->a_row,
                       .a_col = o->a_col,
                       .b_row = b_row,
                       .c_row = o->c_row,
                       .alpha = d->alpha,
                       .beta = p > 0 ? 1 : d->beta};
    for (int64_t row = part.row; row < end_row; row += call.rows) {
        call.rows = blocking_min(AT_ONCE, end_row - row);
        call.a = d->a + (row * o->a_row + p * o->a_col) * size;
        for (int64_t col = part.col; col < end; col += call.cols) {
            call.cols = next_width(end - col, o->micro);
            call.b = b + (col - part.col) * size;
            call.c = d->c + (row * o->c_row + col * o->c_col) * size;
            if (o->c_col == 1)
                o->micro->direct(&call);
            else
                multiply_scattered(o, call);
        }
    }
}

/* The same of B as it lies, or as it is turned. */
static void multiply_steps(const direct *d, cpu_rectangle part, int64_t p, int64_t depth) {
    const oriented *o = d->o;
    int64_t size = numeric_size(o->in), end = part.col + part.cols;
    const char *b = d->b + (p * o->b_row + part.col * o->b_col) * size;
    if (o->b_col == 1) {
        multiply_rows(d, part, p, depth, b, o->b_row);
        return;
    }
    int64_t most = turned_room(o, depth) / (depth * size) / COLUMNS * COLUMNS;
    for (; part.col < end; part.col += part.cols, b += part.cols * o->b_col * size) {
        part.cols = blocking_min(most, end - part.col);
        turn_columns(o, b, part.cols, depth, d->turned);
        multiply_rows(d, part, p, depth, d->turned, part.cols);
    }
}

/* `part` of product `index` of the batch, in steps of kc. */
static void multiply_rectangle(const cpu_job *job, int thread, int64_t index, cpu_rectangle part,
                               int64_t kc) {
    const oriented *o = &cpu_plan_of(job->decided)->o;
    cpu_product product = cpu_product_at(job, index);
    direct d = {.o = o,
                .a = o->transposed ? product.b : product.a,
                .b = o->transposed ? product.a : product.b,
                .c = product.c,
                .turned = o->b_col == 1 ? NULL : job->scratch + thread * turned_room(o, kc),
                .alpha = product.alpha,
                .beta = product.beta};
    for (int64_t p = 0; p < o->k; p += kc) multiply_steps(&d, part, p, blocking_min(kc, o->k - p));
}

/* Threads take rectangles of products until none is left; a single product on one thread needs no sharing
 * out. */
static void run(cpu_job *job, int thread) {
    const oriented *o = &cpu_plan_of(job->decided)->o;
    int64_t count = job->decided->what.batch.count, kc = depth_of(o, job->decided);
    if (job->threads == 1 && count == 1) {
        multiply_rectangle(job, thread, 0, (cpu_rectangle){0, o->m, 0, o->n}, kc);
        return;
    }
    cpu_grid grid = cpu_make_grid(o->m, o->n, o->micro->direct_rows, o->micro->direct_cols,
                                  job->threads > count ? job->threads : 1);
    int64_t per_product = grid.down * grid.across, total = per_product * count;
    for (int64_t at; (at = atomic_fetch_add(&job->next, 1)) < total;)
        multiply_rectangle(job, thread, at / per_product, cpu_grid_part(&grid, at % per_product), kc);
}

const cpu_kernel cpu_04_direct = {"cpu_04_direct", prepare, scratch_size, run};
