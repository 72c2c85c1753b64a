/* problem.h: one product to run: its types, shape and data, and the check of its result. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include "tessera.h"

#include <stdbool.h>

typedef struct problem_types {
    tess_type in, out;
} problem_types;

enum { PROBLEM_TYPE_COUNT = 8 };
/* Every mix of types the library multiplies. */
extern const problem_types problem_all_types[PROBLEM_TYPE_COUNT];

/* "f32", "bf16:f32". A name alone means the default output: i32 for i8, else the same type. Returns false if
 * there is no such product. */
bool problem_parse_types(const char *text, problem_types *types);
/* Writes the shortest name. */
void problem_show_types(problem_types types, char out[16]);

extern const char *const problem_layouts[4]; /* nn nt tn tt; bit 1: A is column-major, bit 0: B is */
extern const char *const problem_computes[4];

typedef struct problem_spec {
    problem_types types;
    int64_t m, n, k, batch;
    int layout;
    int64_t ld_pad;
    double alpha, beta;
    uint64_t seed;
} problem_spec;

typedef struct problem {
    problem_spec spec;
    int64_t lda, ldb, ldc;
    tess_matrix A, B, C, C0; /* of the first product */
    tess_batch batch;
    size_t size_a, size_b, size_c; /* bytes */
    unsigned char *a, *b, *c, *c0;
} problem;

typedef enum problem_data {
    PROBLEM_RANDOM, /* uniform in [-1, 1); integers over most of their range */
    PROBLEM_EXACT   /* integers small enough that every sum is exact */
} problem_data;
#define PROBLEM_DATA_SENTENCE "uniform in [-1, 1); integer types uniform over +-127 (i8) or +-1000000 (i32)"

/* Allocates; problem_free is due even after false, which comes with a sentence said. */
bool problem_open(problem *p, const problem_spec *spec);
void problem_free(problem *p);

/* Fills A, B and C. Returns false if this data does not exist for this product (silently) or on an error. */
bool problem_fill(problem *p, problem_data data);
/* Puts C back as it was filled: poison if beta is 0. */
void problem_reset(problem *p);
/* Checks every product of the batch, the gaps between C's rows and the memory around it. On failure *why, if
 * not NULL, is a sentence. */
bool problem_check(const problem *p, problem_data data, tess_check *worst, char why[256]);

/* The views, strides and batch as a call takes them. */
tess_status problem_call(const problem *p, tess_context *ctx, const tess_options *options);
tess_status problem_plan(const problem *p, tess_context *ctx, const tess_options *options, tess_plan **plan);
tess_status problem_run(const problem *p, tess_plan *plan);

double problem_flops(const problem_spec *spec);
/* Bytes that must move, each once: A, B and C, and C a second time if it is read. */
double problem_bytes(const problem_spec *spec);
/* Whether one operand is a vector: memory, not arithmetic, then decides the time. */
bool problem_is_vector(int64_t m, int64_t n);

#endif
