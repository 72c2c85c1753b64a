/* cpu.h: what the files of the CPU device share. */
#ifndef CPU_H
#define CPU_H

#include <stdatomic.h>

#include "../device.h"
#include "../workspace.h"
#include "../numeric.h"
#include "isa.h"
#include "pool.h"

/* Some choices follow from measurements on the one kind of CPU or the other. */
#if defined(__aarch64__)
enum { CPU_IS_ARM = 1 };
#else
enum { CPU_IS_ARM = 0 };
#endif

typedef struct cpu_device {
    device base;
    pool *workers;
    int threads;              /* a product may use this many, the caller among them */
    int threads_at_first;     /* when it was opened */
    device_workspace packing; /* what kernels pack into */
    unsigned char *flush;     /* more than the last cache, for timing with cold caches; NULL until then */
} cpu_device;

/* The product as kernels with tiles see it (blocking.h). If it is computed as its transpose, C' = B'A', so that stores run in
 * order, a, b and c stand for B', A' and C'. */
typedef struct oriented {
    const micro_kernel *micro;
    pack_function *pack_a, *pack_b;
    tess_type in, out, acc;
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    int transposed;
} oriented;

/* What the CPU keeps in a plan, so that no run has to work it out again. */
typedef struct cpu_plan {
    const struct cpu_kernel *kernel;
    int most_threads; /* that pay, were there as many */
    oriented o;       /* of kernels with tiles */
    /* Instead of the kernel's `run`, for products that need no memory, no threads and no sharing out; NULL: this is none. */
    void (*at_once)(const oriented *o, const operands *data);
} cpu_plan;
_Static_assert(sizeof(cpu_plan) <= PLAN_OWN, "a plan must have room for what the CPU keeps in it");
static inline const cpu_plan *cpu_plan_of(const plan *decided) {
    return (const cpu_plan *)(const void *)decided->own;
}
static inline cpu_plan *cpu_plan_to_fill(plan *decided) {
    return (cpu_plan *)(void *)decided->own;
}

/* One call, as the threads that work on it share it. */
typedef struct cpu_job {
    const plan *decided;
    const operands *data;
    pool *workers;
    int threads; /* that run it at once */
    char *scratch;
    _Atomic int64_t next; /* the first piece of work nobody has taken */
} cpu_job;

/* One product of a batch. */
typedef struct cpu_product {
    const problem *what;
    const char *a, *b;
    char *c;
    double alpha, beta;
} cpu_product;
static inline cpu_product cpu_product_at(const cpu_job *job, int64_t index) {
    const problem *what = &job->decided->what;
    int64_t in_size = numeric_size(what->in), out_size = numeric_size(what->out);
    return (cpu_product){
        .what = what,
        .a = (const char *)job->data->a + index * what->batch.stride_a * in_size,
        .b = (const char *)job->data->b + index * what->batch.stride_b * in_size,
        .c = (char *)job->data->c + index * what->batch.stride_c * out_size,
        .alpha = job->data->alpha,
        .beta = job->data->beta,
    };
}

/* What a row of kernels.def names. The sums of an element are added up in an order that depends on the plan
 * alone, never on how the work is shared out: that is why the number of threads cannot change a bit. */
typedef struct cpu_kernel {
    const char *name;
    /* Fills the parameters that are still 0, or refuses what the kernel cannot do. */
    tess_status (*prepare)(plan *decided, sentence *why);
    /* Bytes of scratch memory that `threads` threads need together. */
    size_t (*scratch_size)(const plan *decided, int threads);
    /* Called on every thread of the job at once. */
    void (*run)(cpu_job *job, int thread);
} cpu_kernel;

#define CPU_KERNEL(name, number, types, summary, params) extern const cpu_kernel name;
#include "../../kernels/kernels.def"

/* Part of C: rows [row, row+rows) × columns [col, col+cols). */
typedef struct cpu_rectangle {
    int64_t row, rows, col, cols;
} cpu_rectangle;

/* Part `index` of `parts` of [0, length), cut at multiples of `grain`. (split.c) */
void cpu_cut(int64_t length, int64_t grain, int64_t parts, int64_t index, int64_t *first, int64_t *count);
/* Cuts rows×cols into at most `parts` rectangles, at multiples of the grains, such that the largest is
 * smallest. */
typedef struct cpu_grid {
    int64_t rows, cols;             /* of C */
    int64_t grain_rows, grain_cols; /* no tile is cut in two */
    int64_t down, across;           /* rectangles */
} cpu_grid;
cpu_grid cpu_make_grid(int64_t rows, int64_t cols, int64_t grain_rows, int64_t grain_cols, int64_t parts);
cpu_rectangle cpu_grid_part(const cpu_grid *grid, int64_t index);
/* At most so many rows and columns has a part. */
int64_t cpu_grid_part_rows(const cpu_grid *grid);
int64_t cpu_grid_part_cols(const cpu_grid *grid);

/* For kernels that work row by row: the sums of one row of A times `cols` columns of B. (rows.c) */
typedef struct cpu_row {
    const void *a, *b;
    int64_t a_col, b_row, b_col, k, cols;
} cpu_row;
typedef void (*cpu_row_sums)(const cpu_row *row, void *sums);
void cpu_run_rows(cpu_job *job, int thread, const cpu_row_sums by_type[]);
tess_status cpu_rows_prepare(plan *decided, sentence *why);
size_t cpu_rows_scratch_size(const plan *decided, int threads);

/* Element (row, col) of C, and how C's sums are merged into it: C = alpha*sum + beta*C. `sums` is rows×cols
 * with `sums_row` elements between rows, in the accumulation type; NULL sums mean C = beta*C. beta = 0 does
 * not read C. (store.c) */
typedef struct cpu_store {
    tess_type out, acc;
    char *c; /* element (0, 0) of the part to write */
    int64_t c_row, c_col;
    double alpha, beta;
} cpu_store;
void cpu_store_sums(const cpu_store *where, const void *sums, int64_t sums_row, int64_t rows, int64_t cols);

/* The address of element (row, col) in bytes, for elements of `type`. */
static inline const char *cpu_at(const char *base, tess_type type, int64_t row, int64_t row_stride,
                                 int64_t col, int64_t col_stride) {
    return base + (row * row_stride + col * col_stride) * numeric_size(type);
}

/* Facts of the machine. (facts.c) */
typedef struct cpu_facts {
    char model[128];
    int cores;
    int64_t memory, l1d, l2, l3;
} cpu_facts;
const cpu_facts *cpu_read_facts(void);
/* TESSERA_NUM_THREADS, else OMP_NUM_THREADS, else the cores. */
int cpu_default_threads(void);

/* tess_measure_peak and tess_measure_bandwidth. (measure.c) */
tess_status cpu_measure_peak(device *base, tess_type type, double *flops, sentence *why);
tess_status cpu_measure_bandwidth(device *base, double *bytes, sentence *why);
/* Seconds of one run, by the clock. */
tess_status cpu_time(device *base, const plan *decided, const operands *data, int64_t repeats, int cold,
                     double *seconds, sentence *why);

/* Whether cpu_04_direct takes this product, and packing it would cost more than it saves. */
int cpu_direct_pays(const problem *what);

#endif
