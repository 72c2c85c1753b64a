/* count_block.h: one block of a launch, counted. */
#ifndef COUNT_BLOCK_H
#define COUNT_BLOCK_H

#include "counters.h"
#include "sim.h"

/* One block, run with other arguments than the launch's. */
typedef struct count_run {
    const launch_gemm *args;
    unsigned block[3];
    tess_count_view view;
    int steps;       /* by a module that records every step */
    int first_store; /* only as far as the first store to global memory */
} count_run;
/* counters_free must be called for `out`, also after a failure. */
tess_status count_run_block(sim_device *self, const product_launch *launch, const count_run *how,
                            counters *out, sentence *why);

#endif
