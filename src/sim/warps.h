/* warps.h: from lanes to instructions. The lanes of a warp are run one after the other; what each did is kept
 * until the warp stops, and then put together again to the instructions of the warp, each with the lanes that
 * took part in it and the addresses they gave. */
#ifndef WARPS_H
#define WARPS_H

#include <stdint.h>

#include "ways.h"

enum { WARPS_LANES = 32 };

/* What an event is: its bytes, and these. Fixed is what the compiler leaves as it is written: a part of an
 * instruction for tensor cores. A copy is a load and, as the next event, a store of one instruction
 * (cp.async). An event of no bytes is a step: the lane came to a place in the code (modules that record steps
 * do so at every branch). */
enum {
    WARPS_BYTES = 0xff,
    WARPS_WRITE = 1 << 8,
    WARPS_SHARED = 1 << 9,
    WARPS_FIXED = 1 << 10,
    WARPS_COPY = 1 << 11
};

/* The lane executes the instruction, but has nothing to access. */
static const uint64_t WARPS_NOWHERE = UINT64_MAX;

typedef struct warps_event {
    uint64_t at; /* an address, or an offset in shared memory */
    uint32_t site;
    uint32_t kind;
} warps_event;

typedef struct warps_lane {
    warps_event *events;
    int count, room;
} warps_lane;

/* What the lanes of the running warp have done since it last stopped. All zeros is empty. */
typedef struct warps_lanes {
    warps_lane lanes[WARPS_LANES];
    ways graph;   /* of lanes that parted */
    int diverged; /* since this was last set to 0 lanes have gone different ways */
} warps_lanes;

/* One instruction of a warp. */
typedef struct warps_request {
    uint32_t site, kind;
    uint32_t mask; /* lanes that access something */
    uint64_t at[WARPS_LANES];
} warps_request;

/* Keeps an event. Returns 0 if there is no memory. */
int warps_note(warps_lanes *w, int lane, const warps_event *event);

/* The warp has stopped: hands over its instructions, in order, and forgets them. Returns what `take` returned
 * if that is 0, else 1. */
int warps_gather(warps_lanes *w, int (*take)(void *self, const warps_request *request), void *self);

void warps_free(warps_lanes *w);

#endif
