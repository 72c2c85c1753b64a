/* regions.h: the global memory a launch may touch, element by element: A and B, which are read, and C, which
 * is read and written; or what a move copies from and to; and of f32 that is split its parts (split.h). What lies
 * between their rows belongs to nobody. */
#ifndef REGIONS_H
#define REGIONS_H

#include <stdatomic.h>

#include "../product.h"
#include "blocks.h"

enum { REGIONS_MOST = 8 };

/* Of an element: it is one; it holds something. */
enum { REGION_ELEMENT = 1, REGION_WRITTEN = 2 };

typedef struct region {
    const char *name;
    const char *low;
    uint64_t bytes;
    int shift; /* of the element's size */
    int writable;
    int partly;       /* not all of it has to be written */
    const char *data; /* of the first product of the batch */
    int64_t rows, cols, row_stride, col_stride, count, batch_stride;
    _Atomic uint8_t *state;   /* one an element of low ... low + bytes */
    _Atomic uint32_t *writer; /* if writable: which thread wrote it, 0 if none */
} region;

typedef struct regions {
    region list[REGIONS_MOST];
    int count;
    int beta_is_zero;
} regions;

/* What the launch's arguments say. `blocks` tells which memory of the device has been written. */
tess_status regions_make(const product_launch *launch, const block_list *blocks, regions *out, sentence *why);
/* Tells `blocks` what the launch has written, and gives the memory back. */
void regions_close(regions *r, block_list *blocks);

typedef enum region_fault {
    REGION_FINE,
    REGION_OUTSIDE,
    REGION_READ_ONLY,
    REGION_UNWRITTEN, /* an element that holds nothing is read */
    REGION_TWICE      /* another thread has written it before */
} region_fault;

/* Judges an access of `thread`, which is a number from 1, and remembers it. *found is the region it fell
 * into, or the nearest one. */
region_fault regions_access(const regions *r, const char *at, unsigned bytes, int writes, uint32_t thread,
                            const region **found);

/* The same for the ordinary case, a read within one element that holds something. 0: ask regions_access. */
static inline int regions_can_read(const regions *r, const char *at, unsigned bytes) {
    for (int i = 0; i < r->count; i++) {
        const region *it = &r->list[i];
        uint64_t offset = (uintptr_t)at - (uintptr_t)it->low;
        if (offset < it->bytes && bytes <= 1u << it->shift &&
            atomic_load_explicit(&it->state[offset >> it->shift], memory_order_relaxed) ==
                (REGION_ELEMENT | REGION_WRITTEN))
            return 1;
    }
    return 0;
}

/* Where `at` lies, in words: "A[3][4]", "8 bytes past the end of A (5×7)". */
void regions_describe(const region *of, const char *at, char text[160]);

/* An element of C that no thread has written; 0 if there is none. */
int regions_unwritten(const regions *r, const region **found, const char **at);

#endif
