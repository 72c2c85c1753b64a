/* cpu.h: what the files of the CPU device share. */
#ifndef CPU_H
#define CPU_H

#include <stdatomic.h>

#include "../device.h"
#include "pool.h"

typedef struct cpu_device {
    device base;
    pool *workers;
    int threads; /* a product may use this many, the caller among them */
    void *workspace;
    size_t workspace_size; /* bytes; grows to the largest ever asked for */
} cpu_device;

/* One product of a batch as a kernel sees it. */
typedef struct cpu_product {
    const plan *decided;
    const char *a, *b;
    char *c;
    double alpha, beta;
} cpu_product;

/* A kernel computes rows [row, row+rows) × columns [col, col+cols) of one product, on one thread, with `scratch` of
 * its own. The sums of an element are added up in an order that depends on the plan alone, never on the rectangle:
 * that is why the number of threads cannot change a bit. */
typedef struct cpu_rectangle {
    int64_t row, rows, col, cols;
} cpu_rectangle;

/* What a row of kernels.def names. */
typedef struct cpu_kernel {
    const char *name;
    void (*run)(const cpu_product *product, cpu_rectangle part, void *scratch);
    /* Fills the parameters that are still 0 and bounds the others by the problem. */
    void (*prepare)(plan *decided);
    /* Bytes of scratch one thread needs. */
    size_t (*scratch_size)(const plan *decided);
    /* Rectangles begin at multiples of these, so that tiles are not cut in two. */
    void (*grain)(const plan *decided, int64_t *rows, int64_t *cols);
} cpu_kernel;

#define CPU_KERNEL(name, number, summary, params) extern const cpu_kernel name;
#include "../../kernels/kernels.def"
#undef CPU_KERNEL

/* For kernels that work row by row: the sums of one row of A times `cols` columns of B. (rows.c) */
typedef struct cpu_row {
    const void *a, *b;
    int64_t a_col, b_row, b_col, k, cols;
} cpu_row;
typedef void (*cpu_row_sums)(const cpu_row *row, void *sums);
void cpu_run_rows(const cpu_product *product, cpu_rectangle part, void *scratch,
                  const cpu_row_sums by_type[]);
void cpu_rows_prepare(plan *decided);
size_t cpu_rows_scratch_size(const plan *decided);
void cpu_rows_grain(const plan *decided, int64_t *rows, int64_t *cols);

/* Element (row, col) of C, and how C's sums are merged into it: C = alpha*sum + beta*C. `sums` is rows×cols with
 * `sums_row` elements between rows, in the accumulation type; NULL sums mean C = beta*C. beta = 0 does not read
 * C. (store.c) */
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
    return base + (row * row_stride + col * col_stride) * (int64_t)tess_type_size(type);
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

#endif
