/* problem.h: one product to try. A problem owns three buffers; every view lies inside guard bands, and what is not
 * an element is poison (NaN in A and B, so that reading it shows) or a canary (around C, so that writing it shows).
 * problem_check holds the result against the oracle and every other byte against its copy. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include "harness.h"
#include "oracle.h"

/* The products the library promises. */
typedef struct type_pair {
    const char *name;
    tess_type in, out;
} type_pair;
enum { TYPE_PAIRS = 8 };
extern const type_pair type_pairs[TYPE_PAIRS];
/* Whether that name is in a list of types, as a kernel has it. */
int type_is_listed(const char *types, const char *name);

/* How a matrix lies in its buffer. Those from STORE_ZERO_ROW on let elements share memory: A and B only. */
typedef enum storage {
    STORE_ROW,
    STORE_COL,
    STORE_ROW_PADDED,
    STORE_COL_PADDED,
    STORE_GENERAL,       /* neither stride is 1 */
    STORE_GENERAL_COL,   /* the same, columns farther apart than rows */
    STORE_NEGATIVE_ROWS, /* last row first */
    STORE_NEGATIVE_COLS,
    STORE_NEGATIVE,
    STORE_ZERO_ROW, /* every row is the same row */
    STORE_ZERO_COL,
    STORE_ZERO,
    STORE_OVERLAPPING, /* row i+1 is row i, one element on: a Hankel matrix */
    STORAGES
} storage;
enum { STORAGES_OF_C = STORE_ZERO_ROW };
extern const char *const storage_names[STORAGES];

/* How the matrices of a batch lie. */
typedef enum batching {
    BATCH_APART,       /* one after the other, with a gap */
    BATCH_INTERLEAVED, /* batch stride 1 */
    BATCH_BACKWARDS,   /* negative batch stride */
    BATCH_SAME,        /* batch stride 0: A and B only */
    BATCHINGS
} batching;

typedef enum data_kind { DATA_RANDOM, DATA_EXACT, DATA_SPECIAL } data_kind;

typedef struct problem_spec {
    type_pair types;
    int64_t m, n, k;
    double alpha, beta;
    storage store_a, store_b, store_c;
    int64_t count; /* 0: no batch */
    batching batch_a, batch_b, batch_c;
    data_kind data; /* SPECIAL: exact, with NaN and infinities strewn in */
} problem_spec;

typedef struct problem_buffer {
    unsigned char *block, *copy;
    size_t bytes;
    tess_matrix view;
    int64_t batch_stride;
} problem_buffer;

typedef struct problem {
    problem_spec spec;
    problem_buffer A, B, C;
    tess_batch batch;
} problem;

/* Buffers and data, drawn from `rng`. */
void problem_make(problem *p, const problem_spec *spec, test_rng *rng);
void problem_free(problem *p);
/* C as it was, so that the same problem can be run again. */
void problem_reset(problem *p);
/* Runs tess_gemm, or tess_gemm_batched if there is a batch. */
tess_status problem_run(problem *p, tess_context *ctx, const tess_options *options);
/* Fails the test unless C is right and nothing else has changed. `what` is shown. Returns whether it held. */
int problem_check(problem *p, const char *what);
/* Fails the test unless every byte, C's too, is as it was. */
int problem_check_untouched(problem *p, const char *what);
/* The spec in words, in a buffer of the calling thread. */
const char *problem_text(const problem *p);

/* make, run, check, free. */
int problem_try(const problem_spec *spec, tess_context *ctx, const tess_options *options, test_rng *rng);

/* Draws. `other` for alpha and beta is something that is neither 0 nor 1. */
double draw_scalar(test_rng *rng, tess_type in, data_kind data, int choice);
problem_spec draw_spec(test_rng *rng, int64_t low, int64_t high);

/* A context on the cpu with that many threads (0: the default); fails the test and returns NULL if there is none. */
tess_context *open_cpu(int threads);

#endif
