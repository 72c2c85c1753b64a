/* count_block.c: a block by itself, its module asked for and its events counted. */
#include "count_block.h"

#include "counters_events.h"

tess_status count_run_block(sim_device *self, const product_launch *launch, const count_run *how,
                            counters *out, sentence *why) {
    module *m;
    sim_launch run = {.arguments = how->args,
                      .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                      .block_x = launch->shape.block_x,
                      .block_y = launch->shape.block_y,
                      .shared = launch->shape.shared};
    TRY(sim_get_module(self, launch, 1, how->steps, &m, why));
    TRY(module_kernel(m, launch->entry, &run.kernel, why));
    TRY(counters_begin(out, m, how->view, why));
    out->until_store = how->first_store;
    trace_checks checks = {.m = m, .counting = out};
    TRY(grid_run_block(&self->workers, m, &run, &checks, how->block, why));
    if (counters_finish(out)) return TESS_OK;
    return status_fail(why, TESS_ERROR_MEMORY, "no memory for the loads of a block");
}
