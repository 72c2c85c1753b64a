/* memory.c: allocation with a test hook, in huge pages where it is large: packed panels are read over and over, and a CPU
 * whose other thread fills the table of translations they share would look up each of their small pages again, tile by
 * tile. The invariant: memory_live() is the number of blocks handed out and not yet given back. */
#include "memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64 };

static _Atomic int64_t live_blocks;
static _Atomic int64_t successes_left = -1;

/* True when the hook wants this allocation to fail. It disarms itself, so exactly one does. */
static int hook_says_fail(void) {
    int64_t left = atomic_load(&successes_left);
    while (left >= 0) {
        if (atomic_compare_exchange_weak(&successes_left, &left, left - 1)) return left == 0;
    }
    return 0;
}

/* Asks for huge pages; it is no failure if there are none. */
static void ask_for_huge_pages(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
    (void)madvise(block, size, MADV_HUGEPAGE);
#else
    (void)block, (void)size;
#endif
}

void *memory_alloc(size_t size) {
    size_t unit = size < MEMORY_HUGE_PAGE ? ALIGNMENT : MEMORY_HUGE_PAGE;
    if (hook_says_fail() || size > SIZE_MAX - unit) return NULL;
    if (size == 0) size = 1;
    size_t rounded = (size + unit - 1) / unit * unit;
    void *block = aligned_alloc(unit, rounded);
    if (!block) return NULL;
    if (unit == MEMORY_HUGE_PAGE) ask_for_huge_pages(block, rounded);
    atomic_fetch_add(&live_blocks, 1);
    return block;
}

void *memory_alloc_zeroed(size_t size) {
    void *block = memory_alloc(size);
    if (block) memset(block, 0, size);
    return block;
}

void memory_free(void *block) {
    if (!block) return;
    atomic_fetch_sub(&live_blocks, 1);
    free(block);
}

void memory_fail_after(int64_t successes) {
    atomic_store(&successes_left, successes);
}

int64_t memory_live(void) {
    return atomic_load(&live_blocks);
}
