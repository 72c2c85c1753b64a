/* banks.h: shared memory as the hardware has it: 32 banks of 4 bytes. Each instruction of a warp (warps.h) is
 * charged the wavefronts it takes. */
#ifndef BANKS_H
#define BANKS_H

#include <stdint.h>

#include "warps.h"

enum { BANKS_LANES = 32, BANKS_SITES = 64 };

/* What one instruction cost, over a block. */
typedef struct banks_site {
    uint32_t site;
    uint16_t bytes, writes;
    uint64_t requests, wavefronts, least; /* least: without any conflict */
} banks_site;

typedef struct banks_tally {
    banks_site sites[BANKS_SITES];
    int count;
} banks_tally;

/* Adds an instruction of a warp, as warps_gather hands it over; `tally` is a banks_tally. */
int banks_add(void *tally, const warps_request *request);

/* Wavefronts of one instruction: lanes in `mask` access `bytes` bytes at their offsets. `apart`: no two parts
 * of it are served together, as of a store and of ldmatrix. *least is what it would take without
 * conflicts. */
int banks_wavefronts(const uint32_t offsets[BANKS_LANES], uint32_t mask, int bytes, int apart, int *least);
static inline int banks_are_apart(uint32_t kind) {
    return (kind & (WARPS_WRITE | WARPS_FIXED)) != 0;
}
/* The same of a copy, which loads from global memory and stores to shared memory. */
int banks_copy_wavefronts(const warps_request *load, const warps_request *store, int *least);

/* The sectors that a copy of 16 bytes loads beyond those that its lanes touch: in each quarter as many as its
 * places in shared memory touch pieces of 32 bytes more than those in global memory do. */
int banks_copy_split_sectors(const warps_request *load, const warps_request *store);

#endif
