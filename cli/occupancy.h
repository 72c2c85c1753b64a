/* occupancy.h: how many blocks of a kernel live on a multiprocessor at once, and what limits them. */
#ifndef OCCUPANCY_H
#define OCCUPANCY_H

#include <stdbool.h>

typedef struct occupancy {
    int blocks, warps, most_warps; /* of a multiprocessor */
    double share;                  /* warps / most_warps */
    const char *limit;             /* "registers", "shared memory", "threads", "blocks" */
} occupancy;

/* Of a block with so many threads, registers a thread and bytes of shared memory, on an architecture (86 is sm_86).
 * False if the architecture is not known. A block that does not fit at all gives 0 blocks. */
bool occupancy_of(int architecture, int threads, int registers, int shared_bytes, occupancy *out);

#endif
