/* sim_device.c: the simulator behind the seam, as two devices. "sim" runs kernels as fast as it can;
 * "sim:checked" watches every access. Device memory is host memory, and a product is done when the call
 * returns. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../memory.h"
#include "../product.h"
#include "count.h"
#include "grid.h"
#include "limits.h"
#include "sim.h"

static int count_plain(void) {
    return 1;
}

static int count_checked(void) {
    char why[256];
    return module_can_trace(why);
}

static const char *absent_checked(void) {
    static _Thread_local char why[256];
    return module_can_trace(why) ? "" : why;
}

static void describe_as(const char *name, const char *model, tess_device_info *info) {
    const limits *of;
    sentence ignored;
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(info->model, sizeof info->model, "%s", model);
    if (limits_here(&of, &ignored) == TESS_OK)
        snprintf(info->isa, sizeof info->isa, "sm_%d", of->architecture);
    snprintf(info->kernels, sizeof info->kernels, "gpu");
    info->cores = info->threads = sim_default_threads();
    info->own_memory = 1;
}

static void describe_plain(int index, tess_device_info *info) {
    (void)index;
    describe_as("sim", "simulator: GPU kernels on the CPU", info);
}

static void describe_checked(int index, tess_device_info *info) {
    (void)index;
    describe_as("sim:checked", "simulator: every access checked", info);
}

/* ---- Opening ---- */

static tess_status open_as(device **out, const device_ops *ops, int checked, sentence *why) {
    const limits *of;
    TRY(limits_here(&of, why));
    sim_device *self = memory_alloc_zeroed(sizeof *self);
    if (!self) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the simulator");
    self->base.ops = ops;
    self->limits = of;
    self->checked = checked;
    self->threads = sim_default_threads();
    *out = &self->base;
    return TESS_OK;
}

static tess_status open_plain(device **out, int index, sentence *why) {
    (void)index;
    return open_as(out, &sim_device_ops, 0, why);
}

static tess_status open_checked(device **out, int index, sentence *why) {
    (void)index;
    return open_as(out, &sim_checked_device_ops, 1, why);
}

static void close_device(device *base) {
    sim_device *self = (sim_device *)base;
    module_close(&self->modules);
    grid_close(&self->workers);
    blocks_close(&self->blocks);
    workspace_close(&self->copies);
    memory_free(self);
}

/* Threads live only as long as a launch. */
static void after_fork(device *base) {
    (void)base;
}

static tess_status set_threads(device *base, int threads, sentence *why) {
    (void)why;
    ((sim_device *)base)->threads = threads ? threads : sim_default_threads();
    return TESS_OK;
}

static int threads_of(const device *base) {
    return ((const sim_device *)base)->threads;
}

/* ---- Products ---- */

static choice choose(const device *base, const problem *what, choice_cut *cut) {
    (void)base, (void)cut;
    if (what->m == 1 || what->n == 1)
        return (choice){"vector_01_shuffle", NULL,
                        "with one row or column of C every element is used once, so that only reading in "
                        "order helps"};
    return (choice){"simt_09_tile2d", NULL,
                    "it has the fewest barriers for its work, which is what costs time in the simulator"};
}

static tess_status prepare(const device *base, plan *decided, sentence *why) {
    const sim_device *self = (const sim_device *)base;
    const kernel_row *kernel = decided->kernel;
    if (!kernel->block)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s is a library for GPUs; the simulator runs kernels with a file",
                           kernel->info.name);
    if (kernel->box)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s moves tiles by TMA and multiplies with wgmma, which the simulator does not "
                           "have; run it on an sm_90 card",
                           kernel->info.name);
    TRY(product_prepare(decided, why));
    tess_type in = route_input(&decided->what, kernel);
    int least = registry_architecture(kernel, in);
    if (least > self->limits->architecture)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s needs sm_%d%s%s, but sm_%d is simulated; TESSERA_SIM_ARCH says which",
                           kernel->info.name, least, least > kernel->architecture ? " for " : "",
                           least > kernel->architecture ? tess_type_name(in) : "",
                           self->limits->architecture);
    launch_shape shape;
    return launch_shape_of(kernel, in, decided->params, &shape, why);
}

/* A product that is given up halfway must leave C as it was. */
static tess_status save_c(const problem *what, const operands *data, char **saved, sentence *why) {
    size_t bytes = (size_t)(what->bytes_c.high - what->bytes_c.low);
    *saved = memory_alloc(bytes);
    if (!*saved) return status_fail(why, TESS_ERROR_MEMORY, "no memory for a copy of C (%zu bytes)", bytes);
    memcpy(*saved, (char *)data->c + what->bytes_c.low, bytes);
    return TESS_OK;
}

static void restore_c(const problem *what, const operands *data, const char *saved) {
    memcpy((char *)data->c + what->bytes_c.low, saved, (size_t)(what->bytes_c.high - what->bytes_c.low));
}

static tess_status run_product(sim_device *self, const plan *decided, const operands *data, sentence *why) {
    const product_target target = {.self = self, .launch = sim_launch_one};
    TRY(workspace_grow(&self->copies, (size_t)decided->workspace, "copies of the matrices", why));
    if (!self->checked) return product_run(&target, decided, data, self->copies.memory, why);
    char *saved;
    TRY(save_c(&decided->what, data, &saved, why));
    self->observed[0] = '\0';
    self->fine = self->finer = 0;
    tess_status status = product_run(&target, decided, data, self->copies.memory, why);
    if (self->finer) {
        restore_c(&decided->what, data, saved);
        self->fine = 1;
        self->observed[0] = '\0';
        status = product_run(&target, decided, data, self->copies.memory, why);
    }
    if (status != TESS_OK) restore_c(&decided->what, data, saved);
    memory_free(saved);
    return status;
}

/* The workspace of a product that was split begins with the way it took. */
static tess_status run(device *base, const plan *decided, const operands *data, sentence *why) {
    sim_device *self = (sim_device *)base;
    int32_t way = TESS_WAY_ONLY;
    TRY(run_product(self, decided, data, why));
    if (decided->kernel->splits) memcpy(&way, self->copies.memory, sizeof way);
    self->way = (tess_way)way;
    return TESS_OK;
}

static tess_status read_way(device *base, tess_way *way, sentence *why) {
    (void)why;
    *way = ((const sim_device *)base)->way;
    return TESS_OK;
}

static tess_status scale(device *base, const problem *what, const operands *data, sentence *why) {
    sim_device *self = (sim_device *)base;
    const product_target target = {.self = self, .launch = sim_launch_one};
    self->observed[0] = '\0';
    return product_scale(&target, what, data, why);
}

static const char *observed(const device *base) {
    return ((const sim_device *)base)->observed;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The clock of the machine that simulates: how long a kernel takes here says nothing of a GPU. Caches are
 * those of the CPU, and are not flushed. */
static tess_status time_run(device *base, const plan *decided, const operands *data, int64_t repeats,
                            int cold, double *seconds, sentence *why) {
    (void)cold;
    double start = now();
    for (int64_t i = 0; i < repeats; i++) TRY(run(base, decided, data, why));
    *seconds = (now() - start) / (double)repeats;
    return TESS_OK;
}

static tess_status measure_peak(device *base, tess_type type, double *flops, sentence *why) {
    (void)base, (void)type, (void)flops;
    return status_fail(why, TESS_ERROR_DEVICE,
                       "the simulator has no peak to measure: its time is not a GPU's");
}

static tess_status measure_bandwidth(device *base, double *bytes, sentence *why) {
    return measure_peak(base, TESS_F32, bytes, why);
}

static tess_status facts(device *base, const plan *decided, tess_kernel_facts *out, sentence *why) {
    return sim_kernel_facts((sim_device *)base, decided, out, why);
}

static tess_status count_for(device *base, const plan *decided, tess_count_view view, tess_counters *sum,
                             tess_line_counters *by_line, size_t *line_count, sentence *why) {
    return count_product((sim_device *)base, decided, view, sum, by_line, line_count, why);
}

/* ---- Memory ---- */

static tess_status alloc(device *base, size_t bytes, void **memory, sentence *why) {
    sim_device *self = (sim_device *)base;
    *memory = memory_alloc(bytes);
    if (*memory && (!self->checked || blocks_add(&self->blocks, *memory, bytes))) return TESS_OK;
    memory_free(*memory);
    *memory = NULL;
    return status_fail(why, TESS_ERROR_MEMORY, "no memory: %zu bytes were asked for", bytes);
}

static tess_status free_memory(device *base, void *memory, sentence *why) {
    (void)why;
    blocks_remove(&((sim_device *)base)->blocks, memory);
    memory_free(memory);
    return TESS_OK;
}

static tess_status copy(device *base, void *to, const void *from, size_t bytes, sentence *why) {
    (void)why;
    memmove(to, from, bytes);
    blocks_note(&((sim_device *)base)->blocks, to, bytes);
    return TESS_OK;
}

static tess_status wait_for_all(device *base, sentence *why) {
    (void)base, (void)why;
    return TESS_OK;
}

static tess_status set_workspace(device *base, void *memory, size_t bytes, sentence *why) {
    return workspace_lend(&((sim_device *)base)->copies, memory, bytes, why);
}

/* All that the two devices share, which is all but their names and what opens them. */
#define SIM_OPS(kind_name, suffix)                                                                        \
    .kind = kind_name, .kernels = "gpu", .by_name_only = 1, .count = count##suffix,                       \
    .describe = describe##suffix, .close = close_device, .after_fork = after_fork,                        \
    .set_threads = set_threads, .threads = threads_of, .choose = choose, .prepare = prepare, .run = run,  \
    .measure_peak = measure_peak, .measure_bandwidth = measure_bandwidth, .scale = scale, .alloc = alloc, \
    .free = free_memory, .copy = copy, .wait = wait_for_all, .set_workspace = set_workspace,              \
    .time = time_run, .facts = facts, .way = read_way, .observed = observed, .counters = count_for

const device_ops sim_device_ops = {SIM_OPS("sim", _plain), .open = open_plain};
const device_ops sim_checked_device_ops = {SIM_OPS("sim:checked", _checked), .open = open_checked,
                                           .absent = absent_checked};
