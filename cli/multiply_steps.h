/* multiply_steps.h: a large product in steps, with progress between them. */
#ifndef MULTIPLY_STEPS_H
#define MULTIPLY_STEPS_H

#include "multiply_shape.h"

typedef struct multiply_job {
    tess_context *ctx;
    tess_options options;
    multiply_shape shape;
    double alpha, beta;
    void *a, *b, *c;      /* the data; c is written */
    const void *c0;       /* what beta multiplies, or NULL */
    npy_header c0_header; /* same type and shape as the result */
} multiply_job;

typedef enum multiply_end { MULTIPLY_DONE, MULTIPLY_INTERRUPTED, MULTIPLY_FAILED } multiply_end;

/* Plans the first step without touching data: what the library has against the product, it says here. The
 * plan's owner is the caller. Returns false after a sentence. */
bool multiply_steps_plan(const multiply_job *job, tess_plan **plan);

/* Computes C. *seconds is the time it took. After MULTIPLY_FAILED a sentence has been said. */
multiply_end multiply_steps_run(const multiply_job *job, double *seconds);

#endif
