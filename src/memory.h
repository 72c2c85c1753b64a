/* memory.h: every allocation the library makes goes through here, so that a test can make each one fail in
 * turn and count what is left afterwards. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* What one entry of the page table can map on x86 and on most Arm systems. */
enum { MEMORY_HUGE_PAGE = 2 << 20 };

/* `size` bytes, aligned for vectors and cache lines (64), and in whole huge pages from the size of one on; NULL if there
 * are none, or if the hook says so. `size` of 0 is taken as 1. */
void *memory_alloc(size_t size);
/* The same, all bits zero. */
void *memory_alloc_zeroed(size_t size);
void memory_free(void *block);

/* Test hooks. memory_fail_after(n): n more allocations succeed, then one fails, then all succeed again;
 * negative: none fails. memory_live(): allocations not yet freed. */
void memory_fail_after(int64_t successes);
int64_t memory_live(void);

#endif
