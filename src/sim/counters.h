/* counters.h: what a block costs: the instructions of its warps, each charged what Nsight Compute would count
 * for it (docs/COUNTERS.md has the rules), and added up by lines of the kernel's file. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "worker.h"
#include "module.h"
#include "warps.h"

/* What is added up for every line. Each kind has its three in this order. */
enum {
    COUNTERS_GLOBAL_LOAD = 0,  /* requests, sectors, bytes */
    COUNTERS_GLOBAL_STORE = 3, /* requests, sectors, bytes */
    COUNTERS_SHARED_LOAD = 6,  /* instructions, wavefronts, conflicts */
    COUNTERS_SHARED_STORE = 9, /* instructions, wavefronts, conflicts */
    COUNTERS_DISTINCT = 12,    /* bytes of global memory, each once a request */
    COUNTERS_WAVEFRONTS = 13,  /* of global memory: passes through L1 */
    COUNTERS_MMA = 14,         /* instructions, operations */
    COUNTERS_VALUES = 16
};

/* Of a block. */
typedef struct counters_tally {
    uint64_t (*lines)[COUNTERS_VALUES]; /* by line of the file; 0: no line */
    int line_count;
    uint64_t barriers;
} counters_tally;

/* Loads of shared memory since the last barrier, of all warps: the compiled view looks at them together. */
typedef struct counters_shared_load {
    warps_request request;
    int warp;
    int after; /* stores to shared memory that this warp has made before */
} counters_shared_load;

typedef struct counters {
    const module *m;
    tess_count_view view;
    char *shared; /* the worker's __shared__ variables */
    counters_tally tally;
    warps_lanes running;
    counters_shared_load *loads;
    int load_count, load_room;
    warps_request copied;    /* what the copy whose store comes next loads */
    int stores[BLOCK_WARPS]; /* to shared memory, since the last barrier */
    int until_store;         /* the block is run to its first store to global memory only, */
    const void *first_store; /* which is there */
    int warp;                /* whose instructions are being added */
} counters;

/* Prepares for a block of `m`; counters_free gives everything back, also after a failure. */
tess_status counters_begin(counters *c, const module *m, tess_count_view view, sentence *why);
void counters_free(counters *c);

/* Adds an instruction that accesses global memory, or shared. */
void counters_add_global(counters *c, const warps_request *request);
void counters_add_shared(counters *c, const warps_request *request);
/* What the line has whose code is there. */
uint64_t *counters_line(counters *c, uint32_t site);

#endif
