/* counters_widen.c: loads of shared memory as ptxas makes them.
 *
 * What it does is visible in its code: a load that repeats one before it is left out, and loads of
 * neighbouring words become one of 64 or 128 bits where the address is a multiple of that for certain. The
 * compiler proves that for all threads; here it is taken to be proven if it holds for every thread of the
 * block. That is why all warps decide together, instruction by instruction. */
#include "counters_widen.h"

#include <string.h>

#include "../memory.h"

enum { WINDOW = 64, WIDEST = 16 }; /* instructions the compiler looks ahead; bytes of a load */

/* The loads of some warps that came the same way: [warp][i]. */
typedef struct lists {
    const counters_shared_load **of[BLOCK_WARPS];
    int warps, length;
} lists;

static const warps_request *request_of(const lists *all, int warp, int i) {
    return &all->of[warp][i]->request;
}

/* Whether load j is `distance` bytes behind load i, for every thread of every warp. */
static int is_apart(const lists *all, int i, int j, uint64_t distance) {
    for (int warp = 0; warp < all->warps; warp++) {
        const warps_request *x = request_of(all, warp, i), *y = request_of(all, warp, j);
        if (x->mask != y->mask || x->kind != y->kind || all->of[warp][i]->after != all->of[warp][j]->after)
            return 0;
        for (uint32_t left = x->mask; left; left &= left - 1) {
            int lane = __builtin_ctz(left);
            if (y->at[lane] != x->at[lane] + distance) return 0;
        }
    }
    return 1;
}

static int is_aligned(const lists *all, int i, uint64_t bytes) {
    for (int warp = 0; warp < all->warps; warp++) {
        const warps_request *r = request_of(all, warp, i);
        for (uint32_t left = r->mask; left; left &= left - 1)
            if (r->at[__builtin_ctz(left)] % bytes) return 0;
    }
    return 1;
}

/* Takes load i out of every list. */
static void drop(lists *all, int i) {
    for (int warp = 0; warp < all->warps; warp++)
        memmove(&all->of[warp][i], &all->of[warp][i + 1],
                (size_t)(all->length - i - 1) * sizeof *all->of[warp]);
    all->length--;
}

static void drop_repeated(lists *all) {
    for (int i = 0; i < all->length; i++)
        for (int j = i + 1; j < all->length && j <= i + WINDOW;)
            if (is_apart(all, i, j, 0))
                drop(all, j);
            else
                j++;
}

/* How many loads of the window, i the first, are neighbours in a row; their places go to `parts`. */
static int find_neighbours(const lists *all, int i, int most, int parts[WIDEST]) {
    uint64_t bytes = request_of(all, 0, i)->kind & WARPS_BYTES;
    int found = 1;
    for (int j = i + 1; found < most && j < all->length && j <= i + WINDOW; j++)
        if (is_apart(all, i, j, (uint64_t)found * bytes)) parts[found++] = j;
    return found;
}

/* Joins load i with its neighbours behind it; returns the bytes it then has. */
static uint32_t join_neighbours(lists *all, int i) {
    uint32_t bytes = request_of(all, 0, i)->kind & WARPS_BYTES;
    int parts[WIDEST];
    for (uint32_t wide = WIDEST; bytes >= 4 && wide > bytes; wide /= 2) {
        int wanted = (int)(wide / bytes);
        if (!is_aligned(all, i, wide) || find_neighbours(all, i, wanted, parts) < wanted) continue;
        while (--wanted > 0) drop(all, parts[wanted]);
        return wide;
    }
    return bytes;
}

static void add_lists(counters *c, lists *all) {
    drop_repeated(all);
    for (int i = 0; i < all->length; i++) {
        uint32_t bytes = join_neighbours(all, i);
        for (int warp = 0; warp < all->warps; warp++) {
            warps_request wide = *request_of(all, warp, i);
            wide.kind = (wide.kind & ~(uint32_t)WARPS_BYTES) | bytes;
            counters_add_shared(c, &wide);
        }
    }
}

static int came_the_same_way(const lists *x, const lists *y) {
    if (x->length != y->length) return 0;
    for (int i = 0; i < x->length; i++)
        if (request_of(x, 0, i)->site != request_of(y, 0, i)->site) return 0;
    return 1;
}

/* Sorts the loads by warps; `room` has a pointer for each. Returns how many warps have any. */
static int sort_by_warp(const counters *c, const counters_shared_load **room, lists *each) {
    int count = 0;
    for (int warp = 0; warp < BLOCK_WARPS; warp++) {
        lists *one = &each[count];
        *one = (lists){.of = {room}, .warps = 1};
        for (int i = 0; i < c->load_count; i++)
            if (c->loads[i].warp == warp) one->of[0][one->length++] = &c->loads[i];
        room += one->length;
        count += one->length > 0;
    }
    return count;
}

int counters_add_widened(counters *c) {
    if (c->load_count == 0) return 1;
    lists each[BLOCK_WARPS + 1], all;
    const counters_shared_load **room = memory_alloc((size_t)c->load_count * sizeof *room);
    if (!room) return 0;
    int count = sort_by_warp(c, room, each), together = 1;
    all = each[0];
    for (int i = 1; i < count; i++) {
        together &= came_the_same_way(&each[0], &each[i]);
        all.of[all.warps++] = each[i].of[0];
    }
    if (together) add_lists(c, &all);
    for (int i = 0; !together && i < count; i++) add_lists(c, &each[i]);
    memory_free(room);
    c->load_count = 0;
    return 1;
}
