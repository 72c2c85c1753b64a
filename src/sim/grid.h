/* grid.h: all blocks of a launch, shared out among workers. */
#ifndef GRID_H
#define GRID_H

#include "block.h"
#include "module.h"
#include "trace.h"

enum { GRID_WORKERS = 64 };

/* Workers are made when first needed, and kept. */
typedef struct grid_workers {
    sim_worker *list[GRID_WORKERS];
    int count;
} grid_workers;

/* Runs every block on up to `threads` threads. `checks` may be NULL: nothing is checked. On failure the
 * sentence is that of the first block, in order, that failed. */
tess_status grid_run(grid_workers *workers, int threads, const module *m, const sim_launch *launch,
                     trace_checks *checks, sentence *why);
/* Runs one block only, on this thread. */
tess_status grid_run_block(grid_workers *workers, const module *m, const sim_launch *launch,
                           trace_checks *checks, const unsigned block[3], sentence *why);
void grid_close(grid_workers *workers);

#endif
