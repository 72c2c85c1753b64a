/* block.h: one block of a kernel, thread by thread.
 *
 * One of its fibers runs until it must wait (at a barrier, for its warp) or ends; then the next that is ready goes on, the rest
 * of its warp first. So a block runs in an order that is always the same. */
#ifndef BLOCK_H
#define BLOCK_H

#include "worker.h"

/* Prepares the worker for the blocks of a launch; must be called on the thread that will run them. */
void block_begin(sim_worker *worker, const sim_launch *launch, sentence *why);
/* Runs one block to its end, or until it is given up. */
tess_status block_run(sim_worker *worker, unsigned x, unsigned y, unsigned z);

/* What the kernels call. */
extern const sim_calls block_calls;

#endif
