/* shadow.h: what is remembered of every cell of a block's shared memory: who wrote it last, who read it
 * since, and when.
 *
 * Time is counted in epochs, which barriers end, and within an epoch in meetings of a warp (__syncwarp,
 * shuffles). Two accesses of different threads in one epoch, one of them a write, are a race, unless the
 * threads are of one warp and it has met in between. A cell is as large as the smallest access the kernel
 * makes. */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdint.h>

/* Who has read a cell in its epoch. */
enum { SHADOW_ONE_READER, SHADOW_ONE_WARP, SHADOW_SEVERAL_WARPS };

typedef struct shadow_cell {
    uint32_t wrote, read; /* epochs; 0: never */
    uint32_t wrote_site, read_site;
    uint32_t block; /* the one in which it was last written: in any other it holds nothing */
    uint16_t writer, reader;
    uint16_t wrote_meeting, read_meeting;
    uint8_t readers;
    uint8_t in_flight; /* a cp_async has been queued and has not arrived; `writer` queued it */
} shadow_cell;

/* A thread at one moment. */
typedef struct shadow_moment {
    uint32_t epoch, block, site;
    uint16_t thread, meeting;
} shadow_moment;

typedef enum shadow_fault {
    SHADOW_FINE,
    SHADOW_READ_AFTER_WRITE,
    SHADOW_WRITE_AFTER_WRITE,
    SHADOW_WRITE_AFTER_READ,
    SHADOW_IN_FLIGHT,
    SHADOW_NEVER_WRITTEN
} shadow_fault;

static inline int shadow_same_warp(unsigned x, unsigned y) {
    return x / 32 == y / 32;
}

static inline int shadow_write_is_before(const shadow_cell *c, const shadow_moment *now) {
    return c->wrote != now->epoch || c->writer == now->thread ||
           (shadow_same_warp(c->writer, now->thread) && c->wrote_meeting != now->meeting);
}

static inline int shadow_reads_are_before(const shadow_cell *c, const shadow_moment *now) {
    if (c->read != now->epoch) return 1;
    if (c->readers == SHADOW_SEVERAL_WARPS || !shadow_same_warp(c->reader, now->thread)) return 0;
    if (c->read_meeting != now->meeting) return 1;
    return c->readers == SHADOW_ONE_READER && c->reader == now->thread;
}

/* Remembers the read. Readers before the last meeting of the only warp that reads need not be remembered. */
static inline void shadow_note_read(shadow_cell *c, const shadow_moment *now) {
    if (c->read == now->epoch && c->reader != now->thread) {
        if (!shadow_same_warp(c->reader, now->thread))
            c->readers = SHADOW_SEVERAL_WARPS;
        else if (c->readers == SHADOW_ONE_READER && c->read_meeting == now->meeting)
            c->readers = SHADOW_ONE_WARP;
    } else if (c->read != now->epoch) {
        c->readers = SHADOW_ONE_READER;
    }
    c->read = now->epoch;
    c->reader = now->thread;
    c->read_meeting = now->meeting;
    c->read_site = now->site;
}

/* Whether a read adds nothing to what is known: no write in this epoch, and enough other readers. What was
 * read in an epoch was fine then, and nothing but a write changes that. */
static inline int shadow_knows_read(const shadow_cell *c, const shadow_moment *now) {
    if (c->read != now->epoch || c->wrote == now->epoch) return 0;
    return c->readers == SHADOW_SEVERAL_WARPS ||
           (c->readers == SHADOW_ONE_WARP && c->read_meeting == now->meeting &&
            shadow_same_warp(c->reader, now->thread));
}

static inline shadow_fault shadow_read(shadow_cell *c, const shadow_moment *now) {
    if (shadow_knows_read(c, now)) return SHADOW_FINE;
    if (c->in_flight) return SHADOW_IN_FLIGHT;
    if (!shadow_write_is_before(c, now)) return SHADOW_READ_AFTER_WRITE;
    shadow_note_read(c, now);
    return c->block == now->block ? SHADOW_FINE : SHADOW_NEVER_WRITTEN;
}

static inline shadow_fault shadow_write(shadow_cell *c, const shadow_moment *now) {
    if (c->in_flight) return SHADOW_IN_FLIGHT;
    if (!shadow_write_is_before(c, now)) return SHADOW_WRITE_AFTER_WRITE;
    if (!shadow_reads_are_before(c, now)) return SHADOW_WRITE_AFTER_READ;
    c->wrote = now->epoch;
    c->writer = now->thread;
    c->wrote_meeting = now->meeting;
    c->wrote_site = now->site;
    c->block = now->block;
    return SHADOW_FINE;
}

#endif
