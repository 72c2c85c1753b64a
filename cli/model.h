/* model.h: a rate predicted from counters, occupancy and one table of constants for each GPU. docs/MODEL.md explains
 * it. */
#ifndef MODEL_H
#define MODEL_H

#include "cards.h"
#include "occupancy.h"

typedef struct model_input {
    const card *on;
    tess_type type;
    const tess_counters *counts; /* as compiled */
    int block_threads;
    occupancy fit;
    double m, n, k;
} model_input;

/* What a multiprocessor's units are busy with, and what busy_with calls it. */
enum { MODEL_ISSUE, MODEL_ARITHMETIC, MODEL_PASSES, MODEL_L2, MODEL_DRAM, MODEL_UNITS };
extern const char *const model_unit_names[MODEL_UNITS];

typedef struct model_result {
    double clocks[MODEL_UNITS]; /* of one multiprocessor with all its blocks, from their start to their end */
    double overlap;             /* the exponent under which they are added: 1 is one after the other */
    double busy, waiting; /* the clocks of all units together; and those in which all warps wait for memory */
    int bound;            /* the unit that takes longest; MODEL_UNITS: waiting does */
    double waves;
    double seconds, gflops;
} model_result;

/* False if no block fits the GPU, or if it needs tensor cores and the GPU has none. */
bool model_predict(const model_input *in, model_result *out);

#endif
