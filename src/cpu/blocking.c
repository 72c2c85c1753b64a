/* blocking.c: orientation of a product, and block sizes from the caches of this machine. */
#include "blocking.h"

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

static oriented orient(const problem *what, int transposed) {
    const isa_product *product = &isa_current()->products[what->in];
    oriented o = {.micro = product->micro,
                  .pack_a = product->pack_a,
                  .pack_b = product->pack_b,
                  .in = what->in,
                  .out = what->out,
                  .acc = what->acc,
                  .transposed = transposed};
    o.k = what->k;
    if (transposed) {
        o.m = what->n, o.n = what->m;
        o.a_row = what->b_col, o.a_col = what->b_row;
        o.b_row = what->a_col, o.b_col = what->a_row;
        o.c_row = what->c_col, o.c_col = what->c_row;
    } else {
        o.m = what->m, o.n = what->n;
        o.a_row = what->a_row, o.a_col = what->a_col;
        o.b_row = what->b_row, o.b_col = what->b_col;
        o.c_row = what->c_row, o.c_col = what->c_col;
    }
    return o;
}

oriented blocking_orient(const problem *what) {
    return orient(what, magnitude(what->c_row) < magnitude(what->c_col));
}

/* Elements of C with what its last tiles have beyond it. */
static double tiled(const oriented *o) {
    return (double)blocking_round_up(o->m, o->micro->mr) * (double)blocking_round_up(o->n, o->micro->nr);
}

oriented blocking_orient_tight(const problem *what) {
    oriented o = blocking_orient(what), other = orient(what, !o.transposed);
    return tiled(&other) < 0.8 * tiled(&o) ? other : o;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

int64_t blocking_first_cache(void) {
    int64_t l1 = cpu_read_facts()->l1d;
    return l1 ? l1 : 32 << 10;
}

/* x86 cores run two threads at a time, whatever a virtual machine says of them, and the other may be anybody's. */
int64_t blocking_second_cache(void) {
    int64_t l2 = cpu_read_facts()->l2;
    if (l2 == 0) l2 = 512 << 10;
#if defined(__x86_64__)
    return l2 / 2;
#else
    return l2;
#endif
}

/* Parts of at most so many. */
static int64_t parts_of(int64_t length, int64_t most) {
    return (length + most - 1) / most;
}

/* How deep panels are that do not fit the first cache in any case. C is merged after each: a third deeper if that makes them
 * fewer. (Narrow elements, for which it was not measured, stay as they are.) */
enum { DEEP = 1024, DEEPER = 1376 };
static int64_t deepest(const oriented *o, int64_t size) {
    return size >= 4 && parts_of(o->k, DEEPER) < parts_of(o->k, DEEP) ? DEEPER : DEEP;
}

/* A panel of A and one of B share five eighths of the first-level cache, unless that makes them so short that
 * merging their sums into C shows: then B's streams from the second level, of which a block of A takes half; and one that
 * does not fit the first in any case is twice as deep, so that C is merged half as often, but for a C of few rows or columns.
 * Beyond that the depth depends on k alone, not on how C lies, so that neither does the order of additions. */
block_sizes blocking_defaults(const oriented *o) {
    int64_t size = numeric_size(o->micro->packed), least = size < 4 ? 1024 : 512, most = deepest(o, size);
    int64_t l1 = blocking_first_cache(),
            near = clamp(l1 / 8 * 5 / ((o->micro->mr + o->micro->nr) * size) / 64 * 64, least, DEEP);
    int64_t kc = near * o->micro->nr * size > l1 && blocking_min(o->m, o->n) > FLAT_ROWS ? most : near;
    int64_t mc = clamp(blocking_second_cache() / 2 / (kc * size), 48, 1024);
    /* Packed chunks of at most 15 MB of B, for A is packed again for each; or of 6, where few rows use what is packed of B.
     * Narrow results keep a chunk of sums besides. */
    int64_t bytes = o->m <= FLAT_ROWS ? 6 << 20 : 15 << 20;
    int64_t chunk = blocking_is_narrow(o) ? 1024 : clamp(bytes / (kc * size), 256, 8192);
    return (block_sizes){kc, near, mc, chunk};
}

int64_t blocking_even(int64_t length, int64_t most, int64_t grain) {
    int64_t parts = parts_of(length, most);
    return parts == 0 ? grain : blocking_round_up((length + parts - 1) / parts, grain);
}

int64_t blocking_depth(const oriented *o, int64_t kc) {
    int64_t grain = kc < 64 ? 1 : DEPTH_GRAIN;
    return blocking_even(o->k, kc, o->micro->group > grain ? o->micro->group : grain);
}
