/* device.h: the seam between planning and doing. Above it, views and options; below it, a device that
 * multiplies.
 *
 * A device is a struct of functions. What stands above the seam has checked the views, refused aliasing and
 * handled empty products, so a device sees only problems with m, n ≥ 1 and valid strides. */
#ifndef DEVICE_H
#define DEVICE_H

#include "matrix.h"
#include "registry.h"

/* What is multiplied: everything about a product but its data and scalars. */
typedef struct problem {
    tess_type in, out, acc; /* of A and B; of C; of the sums */
    tess_compute compute;
    tess_place place_a, place_b, place_c;
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col; /* strides in elements */
    tess_batch batch;
    extent bytes_a, bytes_b, bytes_c; /* around each data pointer, over the whole batch */
} problem;

/* The rest of one call. `a` and `b` may be NULL when they are not read. */
typedef struct operands {
    const void *a, *b;
    void *c;
    double alpha, beta; /* already rounded to the accumulation type */
    const void *kept_a,
        *kept_b; /* what the device keeps of A and B since they were prepared; NULL: nothing */
} operands;

/* A matrix to be prepared, as lines along k: the rows of an A, the columns of a B. */
typedef struct line_matrix {
    tess_type type;
    tess_place place;
    const void *data;
    int64_t lines, k, line, step; /* from one line, and element along k, to the next */
} line_matrix;

/* The part of C that a plan's kernel does not compute: rows below its first ones, or columns right of them. */
typedef struct plan_rest {
    const kernel_row *kernel; /* NULL: there is none */
    int64_t params[REGISTRY_PARAMS];
    int64_t rows, cols; /* of C that come before it: all of them in one direction */
} plan_rest;

/* A decision: this kernel, these parameters, for this reason. The device fills `own`, `params` (those still
 * 0) and `threads`. Plans are copied. */
enum { PLAN_OWN = 160 };
typedef struct plan {
    problem what;
    const kernel_row *kernel;
    _Alignas(8) char own[PLAN_OWN]; /* what the device keeps for its runs */
    int64_t params[REGISTRY_PARAMS];
    int threads;
    int64_t workspace; /* bytes a run needs beside the matrices, if the device knows before it runs */
    const char *reason;
    char route[256]; /* what happens to views the kernel does not take as they are; "": nothing */
    int less_exact;  /* what the problem's compute mode allows beyond f32 is made use of */
    plan_rest rest;
    int64_t share; /* of k, for each of several products whose sums are added (product.h); 0: all of it */
    int shares_nothing;               /* a run changes nothing of the device: several may run it at once */
    struct tess_operand *prepared[2]; /* A and B, if they are */
} plan;

/* What a device would run, and why; kernel NULL: nothing, because of `reason`. params NULL: the kernel's
 * defaults. */
typedef struct choice {
    const char *kernel, *params, *reason;
} choice;

/* How it would cut the product. The rest of C, if that is better computed apart; kernel NULL: there is no rest. Or shares of
 * k, as in a plan. */
typedef struct choice_cut {
    const char *kernel, *params;
    int64_t rows, cols; /* that come before the rest, as in plan_rest */
    int64_t share;
} choice_cut;

typedef struct device device;

/* Threads that a context may have. */
enum { DEVICE_MOST_THREADS = 1024 };

typedef struct device_ops {
    const char *kind;    /* "cpu"; names are the kind, or the kind and an index: "cuda:0" */
    const char *kernels; /* which rows of the registry it runs: "cpu" or "gpu" */
    int by_name_only;    /* "auto" never picks it */

    int (*count)(void);
    void (*describe)(int index, tess_device_info *info);
    /* Optional: why there is none of this kind, for the sentence of whatever is used instead. */
    const char *(*absent)(void);
    tess_status (*describe_gpu)(int index, tess_gpu_info *info, sentence *why); /* optional */

    tess_status (*open)(device **out, int index, sentence *why);
    void (*close)(device *self);
    /* In the child after fork(): threads are gone and locks are in no known state. */
    void (*after_fork)(device *self);

    /* 0 asks for the default. */
    tess_status (*set_threads)(device *self, int threads, sentence *why);
    int (*threads)(const device *self);

    /* `cut` comes as zeros. */
    choice (*choose)(const device *self, const problem *what, choice_cut *cut);
    /* Completes the parameters, or refuses what the kernel cannot do. Allocates nothing, runs nothing. */
    tess_status (*prepare)(const device *self, plan *decided, sentence *why);
    /* C = alpha*A*B + beta*C with k ≥ 1 and alpha ≠ 0. Whatever can fail does so before C is written. */
    tess_status (*run)(device *self, const plan *decided, const operands *data, sentence *why);
    /* The measurements of tessera.h. */
    tess_status (*measure_peak)(device *self, tess_type type, double *flops, sentence *why);
    tess_status (*measure_bandwidth)(device *self, double *bytes, sentence *why);
    /* C = beta*C, with beta ≠ 1. */
    tess_status (*scale)(device *self, const problem *what, const operands *data, sentence *why);

    /* The rest of tessera.h that differs by device. */
    tess_status (*alloc)(device *self, size_t bytes, void **memory, sentence *why);
    tess_status (*free)(device *self, void *memory, sentence *why);
    tess_status (*copy)(device *self, void *to, const void *from, size_t bytes, sentence *why);
    tess_status (*wait)(device *self, sentence *why);
    tess_status (*set_workspace)(device *self, void *memory, size_t bytes, sentence *why);
    /* Seconds of one run, as tess_time says. */
    tess_status (*time)(device *self, const plan *decided, const operands *data, int64_t repeats, int cold,
                        double *seconds, sentence *why);
    /* Optional: without them the call says that this device has no such thing. */
    tess_status (*set_stream)(device *self, void *stream, sentence *why);
    tess_status (*measure_level)(device *self, tess_level level, tess_level_info *info, sentence *why);
    tess_status (*counters)(device *self, const plan *decided, tess_count_view view, tess_counters *sum,
                            tess_line_counters *lines, size_t *line_count, sentence *why);
    /* Optional, both or none: what can be done once for all products of a matrix in device memory. *kept NULL: nothing. */
    tess_status (*keep)(device *self, const line_matrix *what, void **kept, int64_t *bytes, sentence *why);
    void (*drop)(device *self, void *kept);
    /* Optional: without them the answer is all zeros, or unknown. */
    tess_status (*facts)(device *self, const plan *decided, tess_kernel_facts *facts, sentence *why);
    void (*staging)(const device *self, tess_staging *times);
    tess_status (*way)(device *self, tess_way *way, sentence *why);
    void (*state)(const device *self, tess_device_state *state);
    const char *(*observed)(const device *self);
} device_ops;

/* Every device begins with this. */
struct device {
    const device_ops *ops;
};

extern const device_ops cpu_device_ops, cuda_device_ops, sim_device_ops, sim_checked_device_ops;

#endif
