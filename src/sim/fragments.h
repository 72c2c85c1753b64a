/* fragments.h: what the lanes of a warp do together with tensor cores: ldmatrix, mma, wmma. */
#ifndef FRAGMENTS_H
#define FRAGMENTS_H

#include "worker.h"
#include "tensor_core.h"

/* The running lane has come: its accesses are announced, as its own. */
void fragments_announce(sim_worker *worker, const sim_tensor *ask);
/* All lanes of the running thread's warp have come, the last just now: does what they ask for. */
void fragments_settle(sim_worker *worker, sim_warp *warp);

#endif
