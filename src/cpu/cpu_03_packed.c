/* cpu_03_packed: blocks packed for the caches, a tile of C held in registers.
 * before:  cpu_02_streamed
 * change:  a KC×NC block of B and an MC×KC block of A are copied into panels; a micro-kernel multiplies two panels with
 *          all of its sums in registers, and merges them into C once per KC steps
 * why:     every sum was loaded and stored at every step; now each load of A or B feeds a row or column of a tile, and
 *          the copies are reused from the cache they were sized for (Goto and van de Geijn, 2008)
 *
 * C with shorter steps down its columns is computed as its transpose, B'A', so that stores run in order. Sums of one
 * block are rounded into C before the next is added. When C is narrower than the sums (f16, bf16) that would round
 * more than once, so they are kept in a block of their own until the depth is done, at the price of packing B once
 * per MC rows. */
#include <string.h>

#include "cpu.h"
#include "micro.h"
#include "pack.h"

enum { KC, MC, NC }; /* the order of kernels.def */

/* The product as the loops see it: transposed if need be, cut down to one rectangle. */
typedef struct job {
    const micro_kernel *micro;
    int64_t m, n, k, kc, mc, nc;
    tess_type in, acc;
    size_t sum_size;
    const char *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    cpu_store c;
    char *packed_a, *packed_b, *sums;
} job;

static int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

static int is_transposed(const problem *what) {
    return magnitude(what->c_row) < magnitude(what->c_col);
}

static int is_narrow(const problem *what) {
    return tess_type_size(what->out) < tess_type_size(what->acc);
}

/* Only the depth changes the order of additions; it does not depend on the size of the product. */
static void prepare(plan *decided) {
    const problem *what = &decided->what;
    if (!decided->params[KC]) decided->params[KC] = 256;
    if (!decided->params[MC]) decided->params[MC] = 128;
    if (!decided->params[NC]) decided->params[NC] = is_narrow(what) ? 512 : 2048;
}

/* The sizes of the blocks, in bytes, for a whole product; a rectangle of it needs no more. Each begins on a cache
 * line. */
typedef struct block_sizes {
    size_t a, b, sums;
} block_sizes;

static block_sizes sizes_of(const plan *decided) {
    const problem *what = &decided->what;
    const micro_kernel *micro = micro_for(what->acc);
    int64_t m = is_transposed(what) ? what->n : what->m, n = is_transposed(what) ? what->m : what->n;
    int64_t size = (int64_t)tess_type_size(what->acc), kc = min64(decided->params[KC], what->k);
    int64_t mc = round_up(min64(decided->params[MC], m), micro->mr);
    int64_t nc = round_up(min64(decided->params[NC], n), micro->nr);
    return (block_sizes){(size_t)round_up(mc * kc * size, 64), (size_t)round_up(nc * kc * size, 64),
                         is_narrow(what) ? (size_t)round_up(mc * nc * size, 64) : 0};
}

static size_t scratch_size(const plan *decided) {
    block_sizes sizes = sizes_of(decided);
    return sizes.a + sizes.b + sizes.sums;
}

static void grain(const plan *decided, int64_t *rows, int64_t *cols) {
    const micro_kernel *micro = micro_for(decided->what.acc);
    *rows = is_transposed(&decided->what) ? micro->nr : micro->mr;
    *cols = is_transposed(&decided->what) ? micro->mr : micro->nr;
}

/* Multiplies the packed blocks, rows×depth by depth×cols, tile by tile, into `to` (its element (0, 0) is that of
 * the block). */
static void multiply_blocks(const job *j, cpu_store to, int64_t rows, int64_t cols, int64_t depth) {
    _Alignas(64) double tile[MICRO_LARGEST_TILE];
    int mr = j->micro->mr, nr = j->micro->nr;
    int64_t out_size = (int64_t)tess_type_size(to.out);
    char *block = to.c;
    for (int64_t col = 0; col < cols; col += nr) {
        const char *panel_b = j->packed_b + (size_t)(col * depth) * j->sum_size;
        for (int64_t row = 0; row < rows; row += mr) {
            const char *panel_a = j->packed_a + (size_t)(row * depth) * j->sum_size;
            j->micro->run(depth, panel_a, panel_b, tile);
            to.c = block + (row * to.c_row + col * to.c_col) * out_size;
            cpu_store_sums(&to, tile, nr, min64(mr, rows - row), min64(nr, cols - col));
        }
    }
}

static void pack_a(const job *j, int64_t row, int64_t rows, int64_t p, int64_t depth) {
    pack_source from = {j->in,   cpu_at(j->a, j->in, row, j->a_row, p, j->a_col), rows, depth, j->a_row,
                        j->a_col};
    pack_panels(&from, j->micro->mr, j->packed_a);
}

static void pack_b(const job *j, int64_t col, int64_t cols, int64_t p, int64_t depth) {
    pack_source from = {j->in,   cpu_at(j->b, j->in, p, j->b_row, col, j->b_col), cols, depth, j->b_col,
                        j->b_row};
    pack_panels(&from, j->micro->nr, j->packed_b);
}

/* C, from its element (row, col). */
static cpu_store store_at(const job *j, int64_t row, int64_t col) {
    cpu_store to = j->c;
    to.c += (row * to.c_row + col * to.c_col) * (int64_t)tess_type_size(to.out);
    return to;
}

/* B's block is packed once and meets every block of A's rows; C takes up the sums of each depth. */
static void multiply_wide(const job *j) {
    for (int64_t col = 0; col < j->n; col += j->nc) {
        int64_t cols = min64(j->nc, j->n - col);
        for (int64_t p = 0; p < j->k; p += j->kc) {
            int64_t depth = min64(j->kc, j->k - p);
            pack_b(j, col, cols, p, depth);
            for (int64_t row = 0; row < j->m; row += j->mc) {
                int64_t rows = min64(j->mc, j->m - row);
                pack_a(j, row, rows, p, depth);
                cpu_store to = store_at(j, row, col);
                if (p > 0) to.beta = 1;
                multiply_blocks(j, to, rows, cols, depth);
            }
        }
    }
}

/* The sums of one block of C stay in j->sums, in full precision, until all of the depth is done. */
static void multiply_narrow(const job *j) {
    for (int64_t col = 0; col < j->n; col += j->nc) {
        int64_t cols = min64(j->nc, j->n - col);
        for (int64_t row = 0; row < j->m; row += j->mc) {
            int64_t rows = min64(j->mc, j->m - row);
            for (int64_t p = 0; p < j->k; p += j->kc) {
                int64_t depth = min64(j->kc, j->k - p);
                pack_b(j, col, cols, p, depth);
                pack_a(j, row, rows, p, depth);
                cpu_store to = {j->acc, j->acc, j->sums, j->nc, 1, 1, p > 0 ? 1 : 0};
                multiply_blocks(j, to, rows, cols, depth);
            }
            cpu_store to = store_at(j, row, col);
            cpu_store_sums(&to, j->sums, j->nc, rows, cols);
        }
    }
}

static void run(const cpu_product *product, cpu_rectangle part, void *scratch) {
    const plan *decided = product->decided;
    const problem *what = &decided->what;
    block_sizes sizes = sizes_of(decided);
    int64_t out_size = (int64_t)tess_type_size(what->out);
    char *c = product->c + (part.row * what->c_row + part.col * what->c_col) * out_size;
    const char *rows_of_a = cpu_at(product->a, what->in, part.row, what->a_row, 0, 0);
    const char *cols_of_b = cpu_at(product->b, what->in, 0, 0, part.col, what->b_col);
    job j = {.micro = micro_for(what->acc),
             .k = what->k,
             .kc = decided->params[KC],
             .in = what->in,
             .acc = what->acc,
             .sum_size = tess_type_size(what->acc),
             .packed_a = scratch,
             .packed_b = (char *)scratch + sizes.a,
             .sums = (char *)scratch + sizes.a + sizes.b};
    if (is_transposed(what)) {
        j.m = part.cols, j.n = part.rows;
        j.a = cols_of_b, j.a_row = what->b_col, j.a_col = what->b_row;
        j.b = rows_of_a, j.b_row = what->a_col, j.b_col = what->a_row;
        j.c = (cpu_store){what->out, what->acc, c, what->c_col, what->c_row, product->alpha, product->beta};
    } else {
        j.m = part.rows, j.n = part.cols;
        j.a = rows_of_a, j.a_row = what->a_row, j.a_col = what->a_col;
        j.b = cols_of_b, j.b_row = what->b_row, j.b_col = what->b_col;
        j.c = (cpu_store){what->out, what->acc, c, what->c_row, what->c_col, product->alpha, product->beta};
    }
    j.mc = round_up(min64(decided->params[MC], j.m), j.micro->mr);
    j.nc = round_up(min64(decided->params[NC], j.n), j.micro->nr);
    if (is_narrow(what))
        multiply_narrow(&j);
    else
        multiply_wide(&j);
}

const cpu_kernel cpu_03_packed = {"cpu_03_packed", run, prepare, scratch_size, grain};
