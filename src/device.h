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
} operands;

/* A decision: this kernel, these parameters, for this reason. The device fills `entry`, `params` (those still
 * 0) and `threads`. */
typedef struct plan {
    problem what;
    const kernel_row *kernel;
    const void *entry; /* what the device runs it with */
    int64_t params[REGISTRY_PARAMS];
    int threads;
    const char *reason;
} plan;

typedef struct device device;

typedef struct device_ops {
    const char *kind; /* "cpu"; names are the kind, or the kind and an index: "cuda:0" */

    int (*count)(void);
    void (*describe)(int index, tess_device_info *info);

    tess_status (*open)(device **out, int index, sentence *why);
    void (*close)(device *self);
    /* In the child after fork(): threads are gone and locks are in no known state. */
    void (*after_fork)(device *self);

    /* 0 asks for the default. */
    tess_status (*set_threads)(device *self, int threads, sentence *why);
    int (*threads)(const device *self);

    /* The name of the kernel this device would pick, and why. */
    const char *(*choose)(const device *self, const problem *what, const char **reason);
    /* Completes the parameters, or refuses what the kernel cannot do. Allocates nothing, runs nothing. */
    tess_status (*prepare)(const device *self, plan *decided, sentence *why);
    /* C = alpha*A*B + beta*C with k ≥ 1 and alpha ≠ 0. Whatever can fail does so before C is written. */
    tess_status (*run)(device *self, const plan *decided, const operands *data, sentence *why);
    /* The measurements of tessera.h. */
    tess_status (*measure_peak)(device *self, tess_type type, double *flops, sentence *why);
    tess_status (*measure_bandwidth)(device *self, double *bytes, sentence *why);
    /* C = beta*C, with beta ≠ 1. */
    tess_status (*scale)(device *self, const problem *what, const operands *data, sentence *why);
} device_ops;

/* Every device begins with this. */
struct device {
    const device_ops *ops;
};

extern const device_ops cpu_device_ops;

#endif
