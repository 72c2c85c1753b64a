/* cpu_device.c: the CPU behind the seam. It chooses a kernel and the number of threads, starts the kernel on all of
 * them, and owns the memory kernels pack into. Memory is had before the first element of C is written. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../memory.h"
#include "cpu.h"

static const cpu_kernel *const kernels[] = {
#define CPU_KERNEL(name, number, types, summary, params) &name,
#include "../../kernels/kernels.def"
};

static const cpu_kernel *find_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i]->name, name) == 0) return kernels[i];
    return NULL;
}

static int count(void) {
    return 1;
}

static void describe(int index, tess_device_info *info) {
    (void)index;
    const cpu_facts *facts = cpu_read_facts();
    snprintf(info->name, sizeof info->name, "cpu");
    snprintf(info->model, sizeof info->model, "%s", facts->model);
    snprintf(info->isa, sizeof info->isa, "%s", isa_current()->label);
    snprintf(info->kernels, sizeof info->kernels, "cpu");
    info->cores = facts->cores;
    info->threads = cpu_default_threads();
    info->memory = facts->memory;
    info->l1d = facts->l1d, info->l2 = facts->l2, info->l3 = facts->l3;
}

static tess_status open_device(device **out, int index, sentence *why) {
    (void)index;
    TRY(isa_check_environment(why));
    cpu_device *self = memory_alloc_zeroed(sizeof *self);
    pool *workers = pool_create();
    if (!self || !workers) {
        memory_free(self);
        pool_destroy(workers);
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for the cpu device");
    }
    self->base.ops = &cpu_device_ops;
    self->workers = workers;
    self->threads = self->threads_at_first = cpu_default_threads();
    *out = &self->base;
    return TESS_OK;
}

static void close_device(device *base) {
    cpu_device *self = (cpu_device *)base;
    pool_destroy(self->workers);
    workspace_close(&self->packing);
    memory_free(self->flush);
    memory_free(self);
}

static void after_fork(device *base) {
    pool_forget(((cpu_device *)base)->workers);
}

static tess_status set_threads(device *base, int threads, sentence *why) {
    (void)why;
    cpu_device *self = (cpu_device *)base;
    self->threads = threads ? threads : self->threads_at_first;
    return TESS_OK;
}

static int threads_of(const device *base) {
    return ((const cpu_device *)base)->threads;
}

/* Below this many multiply-adds a thread, waking it costs more than it does. */
enum { WORTH_A_THREAD = 1 << 18 };

static int most_threads(const problem *what) {
    double useful =
        (double)what->m * (double)what->n * (double)what->k * (double)what->batch.count / WORTH_A_THREAD;
    return useful >= INT_MAX ? INT_MAX : useful < 1 ? 1 : (int)useful;
}

/* As many as pay, as far as the context has them now. */
static int useful_threads(const cpu_device *self, const cpu_plan *kept) {
    return kept->most_threads < self->threads ? kept->most_threads : self->threads;
}

static choice choose(const device *base, const problem *what, choice_cut *cut) {
    (void)base, (void)cut;
    if (what->m == 1 || what->n == 1)
        return (
            choice){"cpu_05_vector", NULL,
                    "with one row or column of C every element is used once, so that only reading in order "
                    "helps"};
    if (cpu_direct_pays(what))
        return (choice){"cpu_04_direct", NULL,
                        "copies would cost more than they give: B is near as it lies, or used too little"};
    return (choice){"cpu_03_packed", NULL,
                    "it is the fastest kernel of this device for all but small and thin products"};
}

/* What a run needs; or, if no other threads can be had then, one by itself, which packs otherwise than several. */
static size_t workspace_of(const plan *decided) {
    const cpu_kernel *kernel = cpu_plan_of(decided)->kernel;
    size_t together = kernel->scratch_size(decided, decided->threads);
    size_t alone = decided->threads > 1 ? kernel->scratch_size(decided, 1) : 0;
    return together > alone ? together : alone;
}

static tess_status prepare(const device *base, plan *decided, sentence *why) {
    const problem *what = &decided->what;
    const tess_place places[3] = {what->place_a, what->place_b, what->place_c};
    for (int i = 0; i < 3; i++)
        if (places[i] == TESS_DEVICE)
            return status_fail(why, TESS_ERROR_DEVICE,
                               "%c lies in device memory, but this context is the cpu", "ABC"[i]);
    const cpu_kernel *kernel = find_kernel(decided->kernel->info.name);
    if (!kernel)
        return status_fail(why, TESS_ERROR_INTERNAL, "kernel '%s' has a row but no function",
                           decided->kernel->info.name);
    cpu_plan *kept = cpu_plan_to_fill(decided);
    kept->kernel = kernel;
    kept->most_threads = most_threads(what);
    TRY(kernel->prepare(decided, why));
    decided->threads = useful_threads((const cpu_device *)base, kept);
    decided->shares_nothing = kept->at_once != NULL;
    int is_empty = what->m == 0 || what->n == 0 || what->k == 0 || what->batch.count == 0; /* it is not run */
    if (!kept->at_once && !is_empty) decided->workspace = (int64_t)workspace_of(decided);
    return TESS_OK;
}

static void run_on_thread(void *argument, int thread) {
    cpu_job *job = argument;
    cpu_plan_of(job->decided)->kernel->run(job, thread);
}

/* Where the system refuses some of the threads, those that are left may want more memory than the plan told the caller to lend;
 * one by itself does not. */
static int threads_to_run(cpu_device *self, const plan *decided) {
    const cpu_plan *kept = cpu_plan_of(decided);
    int wanted = useful_threads(self, kept), threads = wanted > 1 ? pool_ready(self->workers, wanted) : 1;
    if (threads < wanted && self->packing.lent &&
        kept->kernel->scratch_size(decided, threads) > self->packing.size)
        return 1;
    return threads;
}

static tess_status run(device *base, const plan *decided, const operands *data, sentence *why) {
    cpu_device *self = (cpu_device *)base;
    const cpu_plan *kept = cpu_plan_of(decided);
    if (kept->at_once) {
        kept->at_once(&kept->o, data);
        return TESS_OK;
    }
    int threads = threads_to_run(self, decided);
    TRY(workspace_grow(&self->packing, kept->kernel->scratch_size(decided, threads), "packing", why));
    cpu_job job = {.decided = decided,
                   .data = data,
                   .workers = self->workers,
                   .threads = threads,
                   .scratch = self->packing.memory};
    if (threads > 1)
        pool_run(self->workers, threads, run_on_thread, &job);
    else
        run_on_thread(&job, 0);
    return TESS_OK;
}

static tess_status scale(device *base, const problem *what, const operands *data, sentence *why) {
    (void)base, (void)why;
    cpu_store store = {what->out, what->acc, NULL, what->c_row, what->c_col, data->alpha, data->beta};
    for (int64_t i = 0; i < what->batch.count; i++) {
        store.c = (char *)data->c + i * what->batch.stride_c * numeric_size(what->out);
        cpu_store_sums(&store, NULL, 0, what->m, what->n);
    }
    return TESS_OK;
}

static tess_status alloc(device *base, size_t bytes, void **memory, sentence *why) {
    (void)base;
    *memory = memory_alloc(bytes);
    return *memory ? TESS_OK
                   : status_fail(why, TESS_ERROR_MEMORY, "no memory: %zu bytes were asked for", bytes);
}

static tess_status free_memory(device *base, void *memory, sentence *why) {
    (void)base, (void)why;
    memory_free(memory);
    return TESS_OK;
}

static tess_status copy(device *base, void *to, const void *from, size_t bytes, sentence *why) {
    (void)base, (void)why;
    memmove(to, from, bytes);
    return TESS_OK;
}

/* Products are done when the call returns. */
static tess_status wait_for_all(device *base, sentence *why) {
    (void)base, (void)why;
    return TESS_OK;
}

static tess_status set_workspace(device *base, void *memory, size_t bytes, sentence *why) {
    return workspace_lend(&((cpu_device *)base)->packing, memory, bytes, why);
}

const device_ops cpu_device_ops = {
    .kind = "cpu",
    .kernels = "cpu",
    .count = count,
    .describe = describe,
    .open = open_device,
    .close = close_device,
    .after_fork = after_fork,
    .set_threads = set_threads,
    .threads = threads_of,
    .choose = choose,
    .prepare = prepare,
    .run = run,
    .measure_peak = cpu_measure_peak,
    .measure_bandwidth = cpu_measure_bandwidth,
    .scale = scale,
    .alloc = alloc,
    .free = free_memory,
    .copy = copy,
    .wait = wait_for_all,
    .set_workspace = set_workspace,
    .time = cpu_time,
};
