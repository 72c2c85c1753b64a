/* cpu_device.c: the CPU behind the seam. It cuts a batch of products into rectangles of C, hands them to the pool,
 * and owns the memory kernels pack into. Memory is had before the first element of C is written. */
#include <stdio.h>
#include <string.h>

#include "../memory.h"
#include "cpu.h"
#include "micro.h"

static const cpu_kernel *const kernels[] = {
#define CPU_KERNEL(name, number, summary, params) &name,
#include "../../kernels/kernels.def"
#undef CPU_KERNEL
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
    snprintf(info->isa, sizeof info->isa, "%s", micro_isa());
    info->cores = facts->cores;
    info->threads = cpu_default_threads();
    info->memory = facts->memory;
    info->l1d = facts->l1d, info->l2 = facts->l2, info->l3 = facts->l3;
}

static tess_status open_device(device **out, int index, sentence *why) {
    (void)index;
    cpu_device *self = memory_alloc_zeroed(sizeof *self);
    pool *workers = pool_create();
    if (!self || !workers) {
        memory_free(self);
        pool_destroy(workers);
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for the cpu device");
    }
    self->base.ops = &cpu_device_ops;
    self->workers = workers;
    self->threads = cpu_default_threads();
    *out = &self->base;
    return TESS_OK;
}

static void close_device(device *base) {
    cpu_device *self = (cpu_device *)base;
    pool_destroy(self->workers);
    memory_free(self->workspace);
    memory_free(self);
}

static void after_fork(device *base) {
    pool_forget(((cpu_device *)base)->workers);
}

static tess_status set_threads(device *base, int threads, sentence *why) {
    (void)why;
    ((cpu_device *)base)->threads = threads ? threads : cpu_default_threads();
    return TESS_OK;
}

static int threads_of(const device *base) {
    return ((const cpu_device *)base)->threads;
}

/* Below this many multiply-adds a thread, waking it costs more than it does. */
enum { WORTH_A_THREAD = 1 << 20, SMALL = 1 << 9 };

static double multiply_adds(const problem *what) {
    return (double)what->m * (double)what->n * (double)what->k * (double)what->batch.count;
}

static int useful_threads(const cpu_device *self, const problem *what) {
    double useful = multiply_adds(what) / WORTH_A_THREAD;
    return useful >= self->threads ? self->threads : useful < 1 ? 1 : (int)useful;
}

static const char *choose(const device *base, const problem *what, const char **reason) {
    (void)base;
    if ((double)what->m * (double)what->n * (double)what->k <= SMALL) {
        *reason = "the product is so small that packing would cost more than it saves";
        return "cpu_01_naive";
    }
    *reason = "it is the fastest kernel of this device for all but the smallest products";
    return "cpu_03_packed";
}

static tess_status prepare(const device *base, plan *decided, sentence *why) {
    const problem *what = &decided->what;
    const tess_place places[3] = {what->place_a, what->place_b, what->place_c};
    for (int i = 0; i < 3; i++)
        if (places[i] == TESS_DEVICE)
            return status_fail(why, TESS_ERROR_DEVICE,
                               "%c lies in device memory, but this context is the cpu", "ABC"[i]);
    const cpu_kernel *kernel = find_kernel(decided->kernel->name);
    if (!kernel)
        return status_fail(why, TESS_ERROR_INTERNAL, "kernel '%s' has a row but no function",
                           decided->kernel->name);
    kernel->prepare(decided);
    decided->threads = useful_threads((const cpu_device *)base, what);
    return TESS_OK;
}

/* All that the threads of one call share. Part t of product i is rectangle number i*grid_rows*grid_cols + t. */
typedef struct team {
    const cpu_kernel *kernel;
    const plan *decided;
    const operands *data;
    int64_t grid_rows, grid_cols, grain_rows, grain_cols;
    char *scratch;
    size_t scratch_size;
    _Atomic int64_t next; /* the first rectangle nobody has taken */
} team;

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* Cuts C into at most `parts` rectangles such that the largest is smallest. */
static void choose_grid(team *t, int64_t parts) {
    const problem *what = &t->decided->what;
    int64_t units_m = ceil_div(what->m, t->grain_rows), units_n = ceil_div(what->n, t->grain_cols),
            best = INT64_MAX;
    for (int64_t rows = 1; rows <= parts && rows <= units_m; rows++) {
        int64_t cols = parts / rows < units_n ? parts / rows : units_n;
        int64_t height = ceil_div(units_m, rows) * t->grain_rows,
                width = ceil_div(units_n, cols) * t->grain_cols;
        int64_t cost = height * width + height + width; /* the sides stand for what is packed */
        if (cost < best) best = cost, t->grid_rows = rows, t->grid_cols = cols;
    }
}

/* Part `index` of `parts` of `length`, cut at multiples of `grain`. */
static void cut(int64_t length, int64_t grain, int64_t parts, int64_t index, int64_t *first,
                int64_t *count_of) {
    int64_t units = ceil_div(length, grain);
    int64_t from = units / parts * index + units % parts * index / parts;
    int64_t to = units / parts * (index + 1) + units % parts * (index + 1) / parts;
    *first = from * grain;
    *count_of = (to * grain < length ? to * grain : length) - *first;
}

static void run_rectangles(void *argument, int worker) {
    team *t = argument;
    const problem *what = &t->decided->what;
    int64_t in_size = (int64_t)tess_type_size(what->in), out_size = (int64_t)tess_type_size(what->out);
    int64_t per_product = t->grid_rows * t->grid_cols, total = per_product * what->batch.count;
    for (int64_t at; (at = atomic_fetch_add(&t->next, 1)) < total;) {
        int64_t i = at / per_product, part = at % per_product;
        cpu_product product = {
            .decided = t->decided,
            .a = (const char *)t->data->a + i * what->batch.stride_a * in_size,
            .b = (const char *)t->data->b + i * what->batch.stride_b * in_size,
            .c = (char *)t->data->c + i * what->batch.stride_c * out_size,
            .alpha = t->data->alpha,
            .beta = t->data->beta,
        };
        cpu_rectangle r;
        cut(what->m, t->grain_rows, t->grid_rows, part / t->grid_cols, &r.row, &r.rows);
        cut(what->n, t->grain_cols, t->grid_cols, part % t->grid_cols, &r.col, &r.cols);
        if (r.rows > 0 && r.cols > 0)
            t->kernel->run(&product, r, t->scratch + (size_t)worker * t->scratch_size);
    }
}

static tess_status grow_workspace(cpu_device *self, size_t size, int threads, sentence *why) {
    if (size <= self->workspace_size) return TESS_OK;
    void *larger = memory_alloc(size);
    if (!larger)
        return status_fail(why, TESS_ERROR_MEMORY,
                           "no memory for the packing buffers: %zu bytes for %d threads", size, threads);
    memory_free(self->workspace);
    self->workspace = larger;
    self->workspace_size = size;
    return TESS_OK;
}

static tess_status run(device *base, const plan *decided, const operands *data, sentence *why) {
    cpu_device *self = (cpu_device *)base;
    const problem *what = &decided->what;
    int threads = useful_threads(self, what);
    team t = {.kernel = find_kernel(decided->kernel->name), .decided = decided, .data = data};
    t.kernel->grain(decided, &t.grain_rows, &t.grain_cols);
    t.grid_rows = t.grid_cols = 1;
    if (threads > what->batch.count) choose_grid(&t, ceil_div(threads, what->batch.count));
    t.scratch_size = (t.kernel->scratch_size(decided) + 63) / 64 * 64;
    TRY(grow_workspace(self, t.scratch_size * (size_t)threads, threads, why));
    t.scratch = self->workspace;
    pool_run(self->workers, threads, run_rectangles, &t);
    return TESS_OK;
}

static tess_status scale(device *base, const problem *what, const operands *data, sentence *why) {
    (void)base, (void)why;
    cpu_store store = {what->out, what->acc, NULL, what->c_row, what->c_col, data->alpha, data->beta};
    for (int64_t i = 0; i < what->batch.count; i++) {
        store.c = (char *)data->c + i * what->batch.stride_c * (int64_t)tess_type_size(what->out);
        cpu_store_sums(&store, NULL, 0, what->m, what->n);
    }
    return TESS_OK;
}

const device_ops cpu_device_ops = {
    .kind = "cpu",
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
    .scale = scale,
};
