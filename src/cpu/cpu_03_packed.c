/* cpu_03_packed: blocks packed for the caches, a tile of C held in registers.
 * before:  cpu_02_streamed
 * change:  up to KC steps of A and of B are copied into panels; a micro-kernel multiplies two panels with all
 *          of its sums in registers, and merges them into C once
 * why:     every sum was loaded and stored at every step; now each load of A or B feeds a row or column of a
 *          tile, and the copies are reused from the cache they were sized for (Goto and van de Geijn, 2008)
 * next:    small and thin products do not earn the copying back → cpu_04_direct
 *
 * The threads of a job pack NC columns of B together, and up to half as many rows of A, meet, and multiply rectangles of that
 * chunk of C, MC rows at a time; then they meet again before the next rows of A overwrite the panels. B's stay until all
 * rows have passed. In a batch of at least as many products as threads, each thread does products of its own; and if C
 * has few rows, columns.
 *
 * The sums of one depth are rounded into C before the next are added. When C is narrower than the sums (f16,
 * bf16) that would round more than once, so a chunk of sums is kept until the depth is done. */
#include "blocking.h"

enum { KC, MC, NC }; /* the order of kernels.def */

/* A product and the threads that work on it. */
typedef struct team {
    oriented o;
    int64_t kc, mc, chunk_rows, chunk_cols;
    const char *a, *b;
    cpu_store c;    /* of the whole product, oriented */
    size_t element; /* bytes of a packed element */
    char *packed_a, *packed_b, *sums;
    pool *workers;
    int threads, me;
    int in_use;            /* the panels: somebody may still read them */
    _Atomic int64_t *next; /* work nobody has taken: counts on from step to step, */
    int64_t taken;         /* and this is what it was when the present step began */
} team;

typedef struct part_sizes {
    int64_t rows, cols; /* of a chunk of C */
    size_t a, b, sums;  /* bytes of what is packed for it, and of its sums */
} part_sizes;

static int64_t padded_depth(const oriented *o, int64_t depth) {
    return blocking_round_up(depth, o->micro->group);
}

/* Few tiles use a panel of B, so that it had better be where it was packed; and there are panels for all threads. */
static int is_flat(const oriented *o, int threads) {
    enum { PANELS_EACH = 2 };
    return threads > 1 && o->m <= FLAT_ROWS && o->n >= (int64_t)threads * PANELS_EACH * o->micro->nr;
}

/* Rows and columns of a chunk of C. Of one whose sums are kept B is packed for every one of its rows' chunks: they are as
 * many as columns. */
static int64_t chunk_rows(const oriented *o, const plan *decided) {
    int64_t most = blocking_is_narrow(o) ? decided->params[NC] : (decided->params[NC] + 1) / 2;
    return blocking_even(o->m, most, o->micro->mr);
}
static int64_t chunk_cols(const oriented *o, const plan *decided, int threads) {
    int64_t each = is_flat(o, threads) ? (o->n + threads - 1) / threads : o->n;
    return blocking_even(o->n, blocking_min(blocking_round_up(each, o->micro->nr), decided->params[NC]),
                         o->micro->nr);
}

/* What one team needs; each part begins on a cache line. */
static part_sizes sizes_of(const oriented *o, const plan *decided, int threads) {
    int64_t element = numeric_size(o->micro->packed);
    int64_t kc = padded_depth(o, blocking_min(blocking_depth(o, decided->params[KC]), o->k));
    int64_t rows = chunk_rows(o, decided), cols = chunk_cols(o, decided, threads);
    int64_t sums = blocking_is_narrow(o) ? rows * cols * numeric_size(o->acc) : 0;
    return (part_sizes){rows, cols, (size_t)blocking_round_up(rows * kc * element, 64),
                        (size_t)blocking_round_up(cols * kc * element, 64),
                        (size_t)blocking_round_up(sums, 64)};
}

static tess_status prepare(plan *decided, sentence *why) {
    (void)why;
    oriented *o = &cpu_plan_to_fill(decided)->o;
    *o = blocking_orient_tight(&decided->what);
    block_sizes defaults = blocking_defaults(o);
    if (!decided->params[KC]) decided->params[KC] = defaults.kc;
    if (!decided->params[MC]) decided->params[MC] = defaults.mc;
    if (!decided->params[NC]) decided->params[NC] = defaults.chunk;
    return TESS_OK;
}

/* Each thread alone, or all of them together? */
static int64_t teams_of(const plan *decided, int threads) {
    return decided->what.batch.count >= threads || is_flat(&cpu_plan_of(decided)->o, threads) ? threads : 1;
}

static size_t scratch_size(const plan *decided, int threads) {
    part_sizes sizes = sizes_of(&cpu_plan_of(decided)->o, decided, threads);
    return (sizes.a + sizes.b + sizes.sums) * (size_t)teams_of(decided, threads);
}

/* C, or the chunk of sums in its stead, from element (row, col). */
static cpu_store store_at(const cpu_store *from, int64_t row, int64_t col) {
    cpu_store to = *from;
    to.c += (row * to.c_row + col * to.c_col) * numeric_size(to.out);
    return to;
}

/* One tile, from two panels. Whole tiles of contiguous rows are merged by the micro-kernel; the rest goes
 * through a tile of scratch memory. */
static void multiply_tile(const team *t, micro_call *call, const cpu_store *to, int64_t rows, int64_t cols) {
    const micro_kernel *micro = t->o.micro;
    if (rows == micro->mr && cols == micro->nr && to->c_col == 1 && to->out == to->acc) {
        call->c = to->c, call->c_row = to->c_row;
        call->alpha = to->alpha, call->beta = to->beta;
        micro->multiply(call);
        return;
    }
    _Alignas(64) double tile[ISA_LARGEST_TILE];
    call->c = tile, call->c_row = micro->nr;
    call->alpha = 1, call->beta = 0;
    micro->multiply(call);
    cpu_store_sums(to, tile, micro->nr, rows, cols);
}

/* With each of `tiles` some lines of the panel of B that comes next: it is too far away to be read when it is needed. Few
 * tiles would wait for many lines. */
static void fetch_ahead(const char *panel, size_t bytes, int64_t tile, int64_t tiles) {
    enum { LINE = 64, WORTH_TILES = 8 };
    if (tiles < WORTH_TILES) return;
    size_t each = bytes / LINE / (size_t)tiles + 1;
    for (size_t i = 0; i < each; i++) __builtin_prefetch(panel + ((size_t)tile * each + i) * LINE, 0, 2);
}

/* Rows and columns of the chunk, MC rows at a time so that their panels stay in the second-level cache. */
static void multiply_rectangle(const team *t, const cpu_store *to, cpu_rectangle part, int64_t depth) {
    const micro_kernel *micro = t->o.micro;
    size_t panel_a = (size_t)(micro->mr * depth) * t->element,
           panel_b = (size_t)(micro->nr * depth) * t->element;
    micro_call call = {.depth = depth, .b_row = micro->nr};
    for (int64_t block = 0; block < part.rows; block += t->mc) {
        int64_t block_end = part.row + blocking_min(part.rows, block + t->mc);
        int64_t first = part.row + block, tiles = (block_end - first + micro->mr - 1) / micro->mr;
        for (int64_t col = part.col; col < part.col + part.cols; col += micro->nr) {
            call.b = t->packed_b + (size_t)(col / micro->nr) * panel_b;
            for (int64_t row = first; row < block_end; row += micro->mr) {
                call.a = t->packed_a + (size_t)(row / micro->mr) * panel_a;
                fetch_ahead((const char *)call.b + panel_b, panel_b, (row - first) / micro->mr, tiles);
                cpu_store tile = store_at(to, row, col);
                multiply_tile(t, &call, &tile, blocking_min(micro->mr, part.row + part.rows - row),
                              blocking_min(micro->nr, part.col + part.cols - col));
            }
        }
    }
}

/* This thread's share of the panels of a chunk's rows of A, or columns of B, `depth` steps from p on. */
static void pack_rows_of_a(const team *t, cpu_rectangle chunk, int64_t p, int64_t depth) {
    const oriented *o = &t->o;
    int mr = o->micro->mr;
    int64_t first, count;
    pack_source a = {cpu_at(t->a, o->in, chunk.row, o->a_row, p, o->a_col), chunk.rows, depth, o->a_row,
                     o->a_col};
    cpu_cut((chunk.rows + mr - 1) / mr, 1, t->threads, t->me, &first, &count);
    o->pack_a(&a, mr, first, first + count, t->packed_a);
}
static void pack_columns_of_b(const team *t, cpu_rectangle chunk, int64_t p, int64_t depth) {
    const oriented *o = &t->o;
    int nr = o->micro->nr;
    int64_t first, count;
    pack_source b = {cpu_at(t->b, o->in, p, o->b_row, chunk.col, o->b_col), chunk.cols, depth, o->b_col,
                     o->b_row};
    cpu_cut((chunk.cols + nr - 1) / nr, 1, t->threads, t->me, &first, &count);
    o->pack_b(&b, nr, first, first + count, t->packed_b);
}

/* Threads take rectangles until none is left, several each, so that one that is held up does not hold up the
 * rest. */
static void multiply_share(team *t, const cpu_store *to, const cpu_grid *grid, int64_t depth) {
    int64_t count = grid->down * grid->across;
    for (int64_t at; (at = atomic_fetch_add(t->next, 1) - t->taken) < count;)
        multiply_rectangle(t, to, cpu_grid_part(grid, at), depth);
    t->taken += count + t->threads; /* each thread asked once in vain */
}

/* The sums of a chunk are complete: this thread's share of them goes to C. */
static void flush_sums(const team *t, const cpu_store *sums, const cpu_store *c, int64_t rows, int64_t cols) {
    int64_t first, count;
    cpu_cut(rows, 1, t->threads, t->me, &first, &count);
    cpu_store to = store_at(c, first, 0), from = store_at(sums, first, 0);
    if (count > 0) cpu_store_sums(&to, from.c, sums->c_row, count, cols);
}

/* One chunk of C over one step of the depth, from p on. */
static void multiply_step(team *t, cpu_rectangle chunk, cpu_store to, int64_t p, int packs_b) {
    enum { LARGE = 1 << 18 }; /* elements of C for each thread from which several rectangles cost nothing */
    const micro_kernel *micro = t->o.micro;
    int64_t each = t->threads > 1 && chunk.rows * chunk.cols / t->threads >= LARGE ? 4 : 1,
            depth = blocking_min(t->kc, t->o.k - p);
    cpu_grid grid = cpu_make_grid(chunk.rows, chunk.cols, micro->mr, micro->nr, each * t->threads);
    if (t->in_use) pool_meet(t->workers, t->threads);
    t->in_use = 1;
    pack_rows_of_a(t, chunk, p, depth);
    if (packs_b) pack_columns_of_b(t, chunk, p, depth);
    pool_meet(t->workers, t->threads);
    if (p > 0) to.beta = 1;
    multiply_share(t, &to, &grid, padded_depth(&t->o, depth));
}

/* Columns of C, a chunk after the other at every step. */
static void multiply_chunks(team *t, cpu_rectangle chunk) {
    for (int64_t p = 0; p < t->o.k; p += t->kc)
        for (chunk.row = 0; chunk.row < t->o.m; chunk.row += t->chunk_rows) {
            chunk.rows = blocking_min(t->chunk_rows, t->o.m - chunk.row);
            multiply_step(t, chunk, store_at(&t->c, chunk.row, chunk.col), p, chunk.row == 0);
        }
}

/* The same where C is narrower than the sums: all steps of a chunk. */
static void multiply_narrow_chunks(team *t, cpu_rectangle chunk) {
    cpu_store sums = {t->o.acc, t->o.acc, t->sums, blocking_round_up(chunk.cols, t->o.micro->nr), 1, 1, 0};
    for (chunk.row = 0; chunk.row < t->o.m; chunk.row += t->chunk_rows) {
        cpu_store c = store_at(&t->c, chunk.row, chunk.col);
        chunk.rows = blocking_min(t->chunk_rows, t->o.m - chunk.row);
        for (int64_t p = 0; p < t->o.k; p += t->kc) multiply_step(t, chunk, sums, p, 1);
        pool_meet(t->workers, t->threads);
        flush_sums(t, &sums, &c, chunk.rows, chunk.cols);
    }
}

/* Columns [first, last) of a product. */
static void multiply_columns(team *t, const cpu_product *product, int64_t first, int64_t last) {
    const problem *what = product->what;
    t->a = t->o.transposed ? product->b : product->a;
    t->b = t->o.transposed ? product->a : product->b;
    t->c =
        (cpu_store){what->out, what->acc, product->c, t->o.c_row, t->o.c_col, product->alpha, product->beta};
    for (int64_t col = first; col < last; col += t->chunk_cols) {
        cpu_rectangle chunk = {.col = col, .cols = blocking_min(t->chunk_cols, last - col)};
        if (t->sums)
            multiply_narrow_chunks(t, chunk);
        else
            multiply_chunks(t, chunk);
    }
}

static void run(cpu_job *job, int thread) {
    const plan *decided = job->decided;
    int alone = teams_of(decided, job->threads) > 1;
    team t = {.o = cpu_plan_of(decided)->o, .workers = job->workers, .threads = alone ? 1 : job->threads};
    part_sizes sizes = sizes_of(&t.o, decided, job->threads);
    t.me = alone ? 0 : thread;
    t.kc = blocking_depth(&t.o, decided->params[KC]);
    t.mc = blocking_round_up(decided->params[MC], t.o.micro->mr);
    t.chunk_rows = sizes.rows, t.chunk_cols = sizes.cols;
    t.element = (size_t)numeric_size(t.o.micro->packed);
    t.packed_a = job->scratch + (alone ? (size_t)thread * (sizes.a + sizes.b + sizes.sums) : 0);
    t.packed_b = t.packed_a + sizes.a;
    t.sums = sizes.sums ? t.packed_b + sizes.b : NULL;
    _Atomic int64_t own = 0;
    t.next = alone ? &own : &job->next;
    int64_t each = is_flat(&t.o, job->threads) ? t.chunk_cols : t.o.n, parts = (t.o.n + each - 1) / each,
            count = parts * decided->what.batch.count;
    for (int64_t i = 0; alone ? (i = atomic_fetch_add(&job->next, 1)) < count : i < count; i++) {
        cpu_product product = cpu_product_at(job, i / parts);
        int64_t first = i % parts * each;
        multiply_columns(&t, &product, first, blocking_min(first + each, t.o.n));
    }
}

const cpu_kernel cpu_03_packed = {"cpu_03_packed", prepare, scratch_size, run};
