/* sim_launch.c: from a launch to a module and its blocks. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../numeric.h"
#include "observe.h"
#include "report.h"
#include "sim.h"
#include "tensor_core.h"

/* Blocks of a kernel that walks over tiles: few, so that even small products have several tiles for each. */
enum { AT_ONCE = 4 };

/* A count in the environment, 0 if it is no number of threads. */
static int threads_from(const char *name) {
    const char *text = getenv(name);
    char *end;
    long threads = text ? strtol(text, &end, 10) : 0;
    return text && end != text && threads >= 1 && threads <= DEVICE_MOST_THREADS ? (int)threads : 0;
}

int sim_default_threads(void) {
    cpu_set_t set;
    int asked = threads_from("TESSERA_NUM_THREADS");
    if (!asked) asked = threads_from("OMP_NUM_THREADS");
    if (asked) return asked;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

tess_status sim_get_module(sim_device *self, const product_launch *launch, int traced, int steps,
                           module **out, sentence *why) {
    char file[512];
    if (!launch->row)
        snprintf(file, sizeof file, "%s", launch->file ? launch->file : "move.cu");
    else if (launch->row->path)
        snprintf(file, sizeof file, "%s", launch->row->path);
    else
        snprintf(file, sizeof file, "%s.cu", launch->row->info.name);
    module_request request = {.file = file,
                              .row = launch->row,
                              .params = launch->params,
                              .in = launch->in,
                              .out = launch->out,
                              .traced = traced,
                              .steps = steps};
    return module_get(&self->modules, &request, out, why);
}

/* More than a block may have is an error when the kernel is launched; static memory is the compiler's to
 * refuse. */
static tess_status check_shared(const sim_device *self, const module *m, const launch_shape *shape,
                                sentence *why) {
    enum { STATIC_MOST = 48 * 1024 };
    int total = m->shared_bytes + shape->shared;
    if (m->shared_bytes > STATIC_MOST)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s has %d bytes of __shared__ variables, but a kernel may have %d; make the "
                           "tiles smaller, or "
                           "take dynamic shared memory",
                           m->file, m->shared_bytes, STATIC_MOST);
    if (total > self->limits->block_shared)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s needs %d bytes of shared memory a block, but sm_%d has %d; make the tiles "
                           "smaller",
                           m->file, total, self->limits->architecture, self->limits->block_shared);
    return TESS_OK;
}

/* Runs it watched, and looks at what is there afterwards. */
static tess_status run_checked(sim_device *self, const module *m, const product_launch *launch,
                               const sim_launch *run, sentence *why) {
    banks_tally banks = {.count = 0};
    trace_checks checks = {.m = m, .banks = launch->row ? &banks : NULL};
    checks.cell_shift = self->fine ? 0 : __builtin_ctz((unsigned)numeric_size(launch->in));
    tess_status status = regions_make(launch, &self->blocks, &checks.memory, why);
    if (status == TESS_OK) status = grid_run(&self->workers, self->threads, m, run, &checks, why);
    if (status == TESS_OK) status = report_unwritten(&checks, why);
    if (status == TESS_OK && launch->row) observe_launch(self, m, launch, &banks);
    self->finer |= checks.finer;
    regions_close(&checks.memory, &self->blocks);
    return status;
}

tess_status sim_launch_one(void *target, const product_launch *launch, sentence *why) {
    sim_device *self = target;
    module *m;
    sim_launch run = {.arguments = launch->arguments,
                      .moves = launch->moves,
                      .splits = launch->split != NULL,
                      .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                      .block_x = launch->shape.block_x,
                      .block_y = launch->shape.block_y,
                      .shared = launch->shape.shared,
                      .rule = tensor_rule_of(self->limits->architecture)};
    if (launch->row) launch_fit_grid(launch->row, &launch->shape, AT_ONCE, run.grid);
    TRY(sim_get_module(self, launch, self->checked, 0, &m, why));
    TRY(check_shared(self, m, &launch->shape, why));
    TRY(module_kernel(m, launch->entry, &run.kernel, why));
    if (self->checked) return run_checked(self, m, launch, &run, why);
    return grid_run(&self->workers, self->threads, m, &run, NULL, why);
}

tess_status sim_kernel_facts(sim_device *self, const plan *decided, tess_kernel_facts *facts, sentence *why) {
    const problem *what = &decided->what;
    route way;
    module *m;
    const char *limit;
    TRY(route_of(what, decided->kernel, decided->params, NULL, &way, why));
    product_launch launch = {.row = decided->kernel,
                             .params = decided->params,
                             .in = way.run.in,
                             .out = way.run.out};
    TRY(launch_shape_of(decided->kernel, launch.in, decided->params, &launch.shape, why));
    TRY(sim_get_module(self, &launch, self->checked, 0, &m, why));
    const launch_shape *shape = &launch.shape;
    facts->block_threads = shape->block_x * shape->block_y;
    facts->shared_bytes = m->shared_bytes + shape->shared;
    facts->blocks_per_sm = limits_blocks(self->limits, facts->block_threads, facts->shared_bytes, &limit);
    facts->compile_ms = m->compile_ms;
    facts->blocks = launch_tiles(shape, &way.run);
    return TESS_OK;
}
