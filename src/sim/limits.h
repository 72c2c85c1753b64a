/* limits.h: what an architecture has room for, and how many blocks of a kernel a multiprocessor holds. */
#ifndef LIMITS_H
#define LIMITS_H

#include "../status.h"

typedef struct limits {
    int architecture;  /* 90 is sm_90 */
    int warps, blocks; /* of a multiprocessor, at most */
    int shared;        /* bytes of a multiprocessor */
    int block_shared;  /* bytes of a block, at most, when a kernel asks for it */
    int reserved;      /* bytes the system takes of each block's share */
    int unit;          /* bytes in which shared memory is given out */
} limits;

/* The architecture that is simulated: $TESSERA_SIM_ARCH, else sm_90. */
tess_status limits_here(const limits **out, sentence *why);

/* How many blocks of `threads` threads and `shared` bytes fit a multiprocessor, and what more would be too
 * much of: "shared memory", "warps" or "blocks". Registers are not known here and not counted. */
int limits_blocks(const limits *of, int threads, int shared, const char **limit);

#endif
