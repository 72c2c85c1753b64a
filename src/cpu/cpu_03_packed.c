/* cpu_03_packed: blocks packed for the caches, a tile of C held in registers.
 * before:  cpu_02_streamed
 * change:  up to KC steps of A and of B are copied into panels; a micro-kernel multiplies two panels with all
 *          of its sums in registers, and merges them into C once
 * why:     every sum was loaded and stored at every step; now each load of A or B feeds a row or column of a
 *          tile, and the copies are reused from the cache they were sized for (Goto and van de Geijn, 2008)
 * next:    small and thin products do not earn the copying back → cpu_04_direct
 *
 * The threads of a job pack columns of B together, two thirds of NC for each as far as the last cache has room, and up to half
 * as many rows of A, meet, and multiply rectangles of that chunk of C, MC rows at a time; then they meet again before the next
 * rows of A overwrite the panels. B's stay until all rows have passed. In a batch of at least as many products as threads
 * each thread does products of its own, and of a C that is small or has few rows a rectangle of its own: then nobody waits,
 * and nothing is fetched from where others packed it.
 *
 * The sums of one depth are rounded into C before the next are added. When C is narrower than the sums (f16,
 * bf16) that would round more than once, so a chunk of sums is kept until the depth is done. */
#include "blocking.h"

enum { KC, MC, NC }; /* the order of kernels.def */

/* A product and the threads that work on it. */
typedef struct team {
    oriented o;
    int64_t kc, mc, chunk_rows, chunk_cols;
    int64_t rows; /* of C, or of the part of it that this team has */
    const char *a, *b;
    cpu_store c;    /* of that part, oriented */
    size_t element; /* bytes of a packed element */
    char *packed_a, *packed_b, *sums;
    pool *workers;
    int threads, me;
    int in_use;            /* the panels: somebody may still read them */
    _Atomic int64_t *next; /* work nobody has taken: counts on from step to step, */
    int64_t taken;         /* and this is what it was when the present step began */
} team;

/* How a product is shared out. */
typedef struct sharing {
    cpu_grid parts;     /* of C: threads do these by themselves, if they are `alone`; else it is one */
    int alone;          /* a team is one thread */
    int64_t rows, cols; /* of a chunk of C */
    size_t a, b, sums;  /* bytes of what a team packs for it, and of its sums */
} sharing;

static int64_t padded_depth(const oriented *o, int64_t depth) {
    return blocking_round_up(depth, o->micro->group);
}

/* Few tiles use a panel, so that it had better be where it was packed; and there are tiles for all threads. */
static int is_flat(const oriented *o, int threads) {
    enum { PANELS_EACH = 2 };
    return o->m <= FLAT_ROWS && o->n >= (int64_t)threads * PANELS_EACH * o->micro->nr;
}
/* Packing the same twice takes less time than fetching it from where another thread packed it, and waiting for that. */
static int is_small(const oriented *o, int threads) {
    enum { FEW_EACH = 1 << 17 }; /* elements of C */
    return (double)o->m * (double)o->n <= (double)FEW_EACH * threads;
}

/* Columns of B that are packed at a time: NC by a thread that packs few rows of A beside them. A team packs half as many rows,
 * so that it has two thirds of NC; or where many threads share it, and would meet too often, up to a quarter of the last cache.
 * `step` is the bytes of one. */
static int64_t most_cols(const oriented *o, const plan *decided, int sharers, int64_t step) {
    int64_t nc = decided->params[NC], shared = nc * 2 / 3, room = cpu_read_facts()->l3 / 4 / step;
    if (sharers == 1 || blocking_is_narrow(o)) return nc;
    return room < shared ? shared : blocking_min(shared * sharers, room);
}

/* Rows of A. A thread by itself packs what its second-level cache holds, and multiplies it from there. Where sums are kept B
 * is packed for every chunk of rows: they are as many as columns. */
static int64_t most_rows(const oriented *o, const plan *decided, int alone, int64_t cols) {
    if (blocking_is_narrow(o)) return cols;
    return alone ? decided->params[MC] : (cols + 1) / 2;
}

/* Each thread alone, or all of them together? What a team packs begins on a cache line. */
static sharing share_out(const plan *decided, int threads) {
    const oriented *o = &cpu_plan_of(decided)->o;
    int cut = decided->what.batch.count < threads && (is_flat(o, threads) || is_small(o, threads));
    sharing how = {.parts = cpu_make_grid(o->m, o->n, o->micro->mr, o->micro->nr, cut ? threads : 1)};
    how.alone = cut || decided->what.batch.count >= threads;
    int64_t kc = padded_depth(o, blocking_min(blocking_depth(o, decided->params[KC]), o->k));
    int64_t step = kc * numeric_size(o->micro->packed),
            cols = most_cols(o, decided, how.alone ? 1 : threads, step);
    how.rows =
        blocking_even(cpu_grid_part_rows(&how.parts), most_rows(o, decided, how.alone, cols), o->micro->mr);
    how.cols = blocking_even(cpu_grid_part_cols(&how.parts), cols, o->micro->nr);
    how.a = (size_t)blocking_round_up(how.rows * step, 64);
    /* What is fetched ahead may end behind the last panel: a byte for each step of the next, and some rows of the same. */
    how.b = (size_t)blocking_round_up(how.cols * step + kc + ISA_FETCHED_AHEAD, 64);
    how.sums =
        blocking_is_narrow(o) ? (size_t)blocking_round_up(how.rows * how.cols * numeric_size(o->acc), 64) : 0;
    return how;
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

static size_t scratch_size(const plan *decided, int threads) {
    sharing how = share_out(decided, threads);
    return (how.a + how.b + how.sums) * (size_t)(how.alone ? threads : 1);
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

/* Rows and columns of the chunk, MC rows at a time so that their panels stay in the second-level cache. Each tile fetches its
 * share of the panel of B that comes next, which is too far away to be read when it is needed; few tiles would wait for it. */
static void multiply_rectangle(const team *t, const cpu_store *to, cpu_rectangle part, int64_t depth) {
    enum { WORTH_TILES = 8 };
    const micro_kernel *micro = t->o.micro;
    size_t panel_a = (size_t)(micro->mr * depth) * t->element,
           panel_b = (size_t)(micro->nr * depth) * t->element;
    micro_call call = {.depth = depth, .b_row = micro->nr};
    for (int64_t block = 0; block < part.rows; block += t->mc) {
        int64_t block_end = part.row + blocking_min(part.rows, block + t->mc);
        int64_t first = part.row + block, tiles = (block_end - first + micro->mr - 1) / micro->mr;
        size_t share = panel_b / (size_t)tiles;
        call.next_step = tiles < WORTH_TILES ? 0 : (int64_t)share / depth + 1;
        for (int64_t col = part.col; col < part.col + part.cols; col += micro->nr) {
            int64_t after = col + micro->nr < part.col + part.cols ? col + micro->nr : part.col;
            call.b = t->packed_b + (size_t)(col / micro->nr) * panel_b;
            call.next = t->packed_b + (size_t)(after / micro->nr) * panel_b;
            for (int64_t row = first; row < block_end; row += micro->mr, call.next += share) {
                call.a = t->packed_a + (size_t)(row / micro->mr) * panel_a;
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
        for (chunk.row = 0; chunk.row < t->rows; chunk.row += t->chunk_rows) {
            chunk.rows = blocking_min(t->chunk_rows, t->rows - chunk.row);
            multiply_step(t, chunk, store_at(&t->c, chunk.row, chunk.col), p, chunk.row == 0);
        }
}

/* The same where C is narrower than the sums: all steps of a chunk. */
static void multiply_narrow_chunks(team *t, cpu_rectangle chunk) {
    cpu_store sums = {t->o.acc, t->o.acc, t->sums, blocking_round_up(chunk.cols, t->o.micro->nr), 1, 1, 0};
    for (chunk.row = 0; chunk.row < t->rows; chunk.row += t->chunk_rows) {
        cpu_store c = store_at(&t->c, chunk.row, chunk.col);
        chunk.rows = blocking_min(t->chunk_rows, t->rows - chunk.row);
        for (int64_t p = 0; p < t->o.k; p += t->kc) multiply_step(t, chunk, sums, p, 1);
        pool_meet(t->workers, t->threads);
        flush_sums(t, &sums, &c, chunk.rows, chunk.cols);
    }
}

static void multiply_part(team *t, const cpu_product *product, cpu_rectangle part) {
    const problem *what = product->what;
    const oriented *o = &t->o;
    cpu_store c = {what->out, what->acc, product->c, o->c_row, o->c_col, product->alpha, product->beta};
    t->a = cpu_at(o->transposed ? product->b : product->a, o->in, part.row, o->a_row, 0, 0);
    t->b = cpu_at(o->transposed ? product->a : product->b, o->in, 0, 0, part.col, o->b_col);
    t->c = store_at(&c, part.row, part.col);
    t->rows = part.rows;
    for (int64_t col = 0; col < part.cols; col += t->chunk_cols) {
        cpu_rectangle chunk = {.col = col, .cols = blocking_min(t->chunk_cols, part.cols - col)};
        if (t->sums)
            multiply_narrow_chunks(t, chunk);
        else
            multiply_chunks(t, chunk);
    }
}

static void run(cpu_job *job, int thread) {
    const plan *decided = job->decided;
    const oriented *o = &cpu_plan_of(decided)->o;
    sharing how = share_out(decided, job->threads);
    _Atomic int64_t own = 0;
    team t = {.o = *o,
              .kc = blocking_depth(o, decided->params[KC]),
              .mc = blocking_round_up(decided->params[MC], o->micro->mr),
              .chunk_rows = how.rows,
              .chunk_cols = how.cols,
              .element = (size_t)numeric_size(o->micro->packed),
              .packed_a = job->scratch + (how.alone ? (size_t)thread * (how.a + how.b + how.sums) : 0),
              .workers = job->workers,
              .threads = how.alone ? 1 : job->threads,
              .me = how.alone ? 0 : thread,
              .next = how.alone ? &own : &job->next};
    t.packed_b = t.packed_a + how.a;
    t.sums = how.sums ? t.packed_b + how.b : NULL;
    int64_t each = how.parts.down * how.parts.across, count = each * decided->what.batch.count;
    for (int64_t i = 0; how.alone ? (i = atomic_fetch_add(&job->next, 1)) < count : i < count; i++) {
        cpu_product product = cpu_product_at(job, i / each);
        multiply_part(&t, &product, cpu_grid_part(&how.parts, i % each));
    }
}

const cpu_kernel cpu_03_packed = {"cpu_03_packed", prepare, scratch_size, run};
