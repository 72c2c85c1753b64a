/* problem.h: one product to run: its types, shape and data, and the check of its result.
 *
 * The data are made and checked in host memory. A device with memory of its own gets copies there: a call
 * then finds its operands in device memory, and the check fetches the result first. */
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

/* nn nt tn tt: bit 1 says that A is column-major, bit 0 that B is; and ss: neither is, nor are their rows contiguous. */
enum { PROBLEM_STRIDED = 4, PROBLEM_LAYOUTS };
extern const char *const problem_layouts[PROBLEM_LAYOUTS];
/* By tess_compute; behind those f32, another name of the first. */
enum { PROBLEM_COMPUTES = 4 };
extern const char *const problem_computes[PROBLEM_COMPUTES + 1];

typedef struct problem_spec {
    problem_types types;
    tess_compute compute; /* what the check allows for */
    int64_t m, n, k, batch;
    int layout;
    int64_t ld_pad;
    int64_t
        misalign; /* elements between an address that is a multiple of 64 bytes and the first of each matrix */
    double alpha, beta;
    bool special; /* whether verify runs it on special data too, where those exist */
    uint64_t seed;
} problem_spec;

typedef enum problem_data {
    PROBLEM_RANDOM, /* uniform in [-1, 1); integers over most of their range */
    PROBLEM_EXACT,  /* integers small enough that every sum is exact */
    PROBLEM_SPECIAL /* NaN, infinities, zeros, and sums too large for their type */
} problem_data;
enum { PROBLEM_DATA_KINDS = 3, PROBLEM_EMPTY = -1, PROBLEM_SENTENCE = 1024 };

/* A and B of one kind of data; NULL until they are asked for. */
typedef struct problem_inputs {
    unsigned char *a, *b;
} problem_inputs;

typedef struct problem {
    problem_spec spec;
    int64_t lda, ldb, ldc;
    tess_matrix A, B, C, C0; /* of the first product, in host memory */
    tess_batch batch;
    size_t size_a, size_b, size_c; /* bytes */
    size_t skip_in, skip_out;      /* bytes before A and B, and before C, in their buffers */
    problem_inputs inputs[PROBLEM_DATA_KINDS];
    unsigned char *c, *c0;
    int filled;             /* the data C0 was filled for, or PROBLEM_EMPTY */
    unsigned char *right_c; /* C of exact data, once found right: there is only one; else NULL */
    tess_context *ctx;      /* whose memory a call's operands are in; NULL: the host's */
    void *device_a, *device_b, *device_c;
    bool undone; /* there was no memory to fill or to check it, which tells nothing of a kernel */
} problem;

#define PROBLEM_DATA_SENTENCE "uniform in [-1, 1); integer types uniform over +-127 (i8) or +-1000000 (i32)"

/* Allocates, in the memory of `ctx` too unless it is NULL. problem_free is due even after false, which
 * comes with a sentence said. */
bool problem_open(problem *p, const problem_spec *spec, tess_context *ctx);
void problem_free(problem *p);

/* Whether this kind of data exists for the product: exact sums need a range; special data are for small products of floating
 * types, if they were asked for. */
bool problem_has_data(const problem_spec *spec, problem_data data);
/* Fills A, B and C, which is poison if beta is 0. On failure *why is a sentence, and `undone` is set. */
bool problem_fill(problem *p, problem_data data, char why[PROBLEM_SENTENCE]);
/* Checks every product of the batch, the gaps between C's rows and the memory around it. On failure *why is a
 * sentence; `undone` is set if it is not about the result. */
bool problem_check(problem *p, problem_data data, tess_check *worst, char why[PROBLEM_SENTENCE]);

/* The views, strides and batch as a call takes them. Work on device memory is queued, not done, when they
 * return. */
tess_status problem_call(const problem *p, tess_context *ctx, const tess_options *options);
tess_status problem_plan(const problem *p, tess_context *ctx, const tess_options *options, tess_plan **plan);
tess_status problem_run(const problem *p, tess_plan *plan);
/* Prepares A and B for the plan's runs, as they are now. What was made of them is tess_free_operand's, after the plan. */
tess_status problem_prepare(const problem *p, tess_context *ctx, tess_plan *plan, tess_operand *prepared[2]);
/* Seconds of one run, as tess_time measures them. */
tess_status problem_time(const problem *p, tess_plan *plan, int64_t repeats, bool cold, double *seconds);

double problem_flops(const problem_spec *spec);
/* Bytes that must move, each once: A, B and C, and C a second time if it is read. */
double problem_bytes(const problem_spec *spec);
/* Whether one operand is a vector: memory, not arithmetic, then decides the time. */
bool problem_is_vector(int64_t m, int64_t n);

#endif
