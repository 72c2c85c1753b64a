/* cpu_04_direct: the register tile without packing, for small products and thin ones.
 * before:  cpu_03_packed
 * change:  the micro-kernel reads A and B where they lie, in tiles as wide and as high as what is left; only
 *          the last few columns of B, fewer than a vector holds, are packed
 * why:     packing moves every element of A and B once; a product that uses an element only a few dozen times
 *          does not earn that back
 *
 * It needs rows of B that are contiguous (or, taken as its transpose, columns of A) and inputs of the type of
 * the sums. KC is cpu_03_packed's, and so are the bits. */
#include "blocking.h"

enum { KC }; /* the order of kernels.def */

/* One product. */
typedef struct direct {
    oriented o;
    const char *a, *b;
    cpu_store c;
    int64_t kc;
    char *edge; /* packed: the last columns of B */
} direct;

static int takes(const oriented *o) {
    return o->micro->direct && o->micro->packed == o->in && o->b_col == 1;
}

static tess_status prepare(plan *decided, sentence *why) {
    oriented o = blocking_orient(&decided->what);
    if (!decided->params[KC]) decided->params[KC] = blocking_defaults(&o).kc;
    if (takes(&o)) return TESS_OK;
    return status_fail(why, TESS_ERROR_KERNEL,
                       "cpu_04_direct takes f32, f64 and i32 with %s; cpu_03_packed takes any product",
                       o.transposed ? "contiguous columns of A for a column-major C"
                                    : "contiguous rows of B for a row-major C");
}

/* B as it lies fits the first-level cache, so that copying it there gains nothing; or C is so narrow that the packed
 * kernel's tile would be half empty, and what is used of B in one step fits. */
int cpu_direct_pays(const problem *what) {
    oriented o = blocking_orient(what);
    if (!takes(&o)) return 0;
    int64_t l1 = cpu_read_facts()->l1d, kc = blocking_defaults(&o).kc;
    int64_t depth = 2 * o.n <= o.micro->nr ? blocking_min(o.k, kc) : o.k;
    return (double)o.n * (double)depth * (double)numeric_size(o.in) <= 0.75 * (double)(l1 ? l1 : 32 << 10);
}

/* Room for the last columns of B, over one step of k, which is at most KC and rounded up: the same either way round. */
static size_t edge_size(const plan *decided) {
    const problem *what = &decided->what;
    int64_t depth = blocking_round_up(blocking_min(what->k, decided->params[KC]), DEPTH_GRAIN),
            lanes = isa_current()->products[what->in].micro->lanes;
    return (size_t)blocking_round_up(depth * lanes * numeric_size(what->in), 64);
}

static size_t scratch_size(const plan *decided, int threads) {
    return edge_size(decided) * (size_t)threads;
}

/* A column of tiles, `vectors` wide, of which `cols` exist in C. */
static void multiply_column(const direct *d, micro_call *call, cpu_rectangle part, int64_t col, int64_t cols,
                            int vectors) {
    const oriented *o = &d->o;
    int64_t out_size = numeric_size(o->out), end = part.row + part.rows;
    int in_place = d->c.c_col == 1 && cols == (int64_t)vectors * o->micro->lanes;
    _Alignas(64) double tile[ISA_LARGEST_TILE];
    cpu_store to = d->c;
    char *column = to.c + col * to.c_col * out_size;
    call->alpha = in_place ? to.alpha : 1, call->beta = in_place ? to.beta : 0;
    call->c_row = in_place ? to.c_row : (int64_t)vectors * o->micro->lanes;
    for (int64_t row = part.row; row < end;) {
        int rows = o->micro->direct_rows;
        while (rows > end - row) rows /= 2;
        to.c = column + row * to.c_row * out_size;
        call->c = in_place ? to.c : (void *)tile;
        call->a = cpu_at(d->a, o->in, row, o->a_row, 0, 0);
        call->tiles = in_place ? (end - row) / rows : 1;
        o->micro->direct(call, rows, vectors);
        if (!in_place) cpu_store_sums(&to, tile, call->c_row, rows, cols);
        row += call->tiles * rows;
    }
}

/* How many vectors the next column of tiles takes: as many as a tile may have, unless that would leave a
 * single one for the last column. */
static int next_width(int64_t left, int lanes, int most) {
    int64_t vectors = left / lanes;
    if (vectors > most) return vectors == most + 1 && most > 2 ? most - 1 : most;
    return (int)vectors;
}

/* Rows whose elements of A stay in the cache while the columns pass over them: at least FEW. */
static int64_t rows_at_once(const oriented *o, int64_t depth) {
    enum { FEW = 64 };
    if (o->m <= FEW) return FEW;
    int64_t rows = (16 << 10) / (depth * numeric_size(o->in));
    return rows < FEW ? FEW : rows / 8 * 8;
}

/* `part` over the steps [p, p + call->depth) of k. */
static void multiply_steps(const direct *d, micro_call *call, cpu_rectangle part, int64_t p) {
    const oriented *o = &d->o;
    int lanes = o->micro->lanes, most = o->micro->direct_vectors;
    int64_t end = part.col + part.cols, end_row = part.row + part.rows, over = part.cols % lanes;
    int64_t step = rows_at_once(o, call->depth);
    if (over) {
        pack_source b = {cpu_at(d->b, o->in, p, o->b_row, end - over, 1), over, call->depth, 1, o->b_row};
        o->pack_b(&b, lanes, 0, 1, d->edge);
    }
    for (; part.row < end_row; part.row += step) {
        part.rows = blocking_min(step, end_row - part.row);
        int64_t col = part.col;
        for (int vectors; (vectors = next_width(end - col, lanes, most)) > 0;
             col += (int64_t)vectors * lanes) {
            call->b = cpu_at(d->b, o->in, p, o->b_row, col, 1), call->b_row = o->b_row;
            multiply_column(d, call, part, col, (int64_t)vectors * lanes, vectors);
        }
        if (over) {
            call->b = d->edge, call->b_row = lanes;
            multiply_column(d, call, part, col, over, 1);
        }
    }
}

static void multiply_rectangle(direct *d, cpu_rectangle part) {
    const oriented *o = &d->o;
    const char *a = d->a;
    for (int64_t p = 0; p < o->k; p += d->kc) {
        micro_call call = {.depth = blocking_min(d->kc, o->k - p), .a_row = o->a_row, .a_col = o->a_col};
        d->a = cpu_at(a, o->in, 0, 0, p, o->a_col);
        if (p > 0) d->c.beta = 1;
        multiply_steps(d, &call, part, p);
    }
}

static void set_product(direct *d, const cpu_product *product) {
    d->a = d->o.transposed ? product->b : product->a;
    d->b = d->o.transposed ? product->a : product->b;
    d->c = (cpu_store){d->o.out, d->o.acc, product->c, d->o.c_row, d->o.c_col, product->alpha, product->beta};
}

/* Threads take rectangles of products until none is left; a single product on one thread needs no sharing
 * out. */
static void run(cpu_job *job, int thread) {
    const problem *what = &job->decided->what;
    direct d = {.o = blocking_orient(what), .edge = job->scratch};
    int64_t most = job->decided->params[KC];
    d.kc = d.o.k <= most ? d.o.k : blocking_depth(&d.o, most);
    if (job->threads == 1 && what->batch.count == 1) {
        cpu_product product = cpu_product_at(job, 0);
        set_product(&d, &product);
        multiply_rectangle(&d, (cpu_rectangle){0, d.o.m, 0, d.o.n});
        return;
    }
    d.edge += (size_t)thread * edge_size(job->decided);
    int64_t parts = job->threads > what->batch.count ? job->threads : 1;
    cpu_grid grid = cpu_make_grid(d.o.m, d.o.n, d.o.micro->direct_rows,
                                  (int64_t)d.o.micro->direct_vectors * d.o.micro->lanes, parts);
    int64_t per_product = grid.down * grid.across, total = per_product * what->batch.count;
    for (int64_t at; (at = atomic_fetch_add(&job->next, 1)) < total;) {
        cpu_product product = cpu_product_at(job, at / per_product);
        set_product(&d, &product);
        multiply_rectangle(&d, cpu_grid_part(&grid, at % per_product));
    }
}

const cpu_kernel cpu_04_direct = {"cpu_04_direct", prepare, scratch_size, run};
