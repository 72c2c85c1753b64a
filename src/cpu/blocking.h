/* blocking.h: how a product is cut up for the caches. (blocking.c) */
#ifndef BLOCKING_H
#define BLOCKING_H

#include "cpu.h"

/* If C's steps down its columns are shorter than along its rows, the product is computed as its transpose. */
oriented blocking_orient(const problem *what);
/* The other way round where that fits tiles a good deal better: a C of 16 columns is two thirds of two tiles of 12. */
oriented blocking_orient_tight(const problem *what);

/* Bytes of the first- and second-level caches that a thread can count on. */
int64_t blocking_first_cache(void);
int64_t blocking_second_cache(void);

enum { FLAT_ROWS = 64 }; /* up to so many rows of C use what is packed of B too seldom to keep it long */

/* Default block sizes for this machine's caches: depth, and the one that the first-level cache would rather have; rows of A a
 * core works on at once, and columns of B that are packed together for each thread. */
typedef struct block_sizes {
    int64_t kc, near_kc, mc, chunk;
} block_sizes;
block_sizes blocking_defaults(const oriented *o);

/* The depth of a step when k is done in steps of at most `kc`, all but the last equally deep, and rounded up to whole
 * grains at most. */
enum { DEPTH_GRAIN = 8 };
int64_t blocking_depth(const oriented *o, int64_t kc);
/* `length` in equal parts of at most `most`, a multiple of `grain` each (which may take them past `most`). */
int64_t blocking_even(int64_t length, int64_t most, int64_t grain);

/* Whether C holds less than the sums: they must then be complete before they are rounded into it. */
static inline int blocking_is_narrow(const oriented *o) {
    return numeric_size(o->out) < numeric_size(o->acc);
}

static inline int64_t blocking_round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static inline int64_t blocking_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

#endif
