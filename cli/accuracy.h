/* accuracy.h: what `tessera verify --accuracy` is made of: data, a reference in f64, sides that multiply, and errors.
 *
 * All matrices are f32 and row-major. The reference is the product of the same numbers in f64, by the library itself on
 * the device or the CPU, with some elements computed again in order: its error is at most k·2^-53 of |A||B|, for k up to
 * 65536 less than 2^-13 of f32's unit roundoff. */
#ifndef ACCURACY_H
#define ACCURACY_H

#include "peer.h"
#include "tessera.h"

#include <stdbool.h>

#define ACCURACY_U 0x1p-24 /* f32's unit roundoff */

/* ---- Data ---- */

/* A kind of random data: N(0,1), or what is made of it. */
typedef struct accuracy_kind {
    const char *name;
    int elements; /* every element is multiplied by a power of two of up to ± so much */
    int lines;    /* every row of A and column of B is */
    int ramp;     /* along k A grows from 2^-ramp to 2^ramp, and B shrinks as much */
    bool uniform; /* U(0,1) instead */
    bool cancels; /* the second half of k nearly undoes the first */
    bool scaled;  /* elements of C differ so much that each is measured in units of its |A||B| */
} accuracy_kind;
extern const accuracy_kind accuracy_kinds[];
extern const size_t accuracy_kind_count;

/* Data with a result that is known, or a bound of its own. */
typedef enum accuracy_exact {
    ACCURACY_INTEGERS,      /* small enough that all sums are exact */
    ACCURACY_IDENTITY,      /* B is the identity */
    ACCURACY_WIDE_IDENTITY, /* and A has exponents of ±40 */
    ACCURACY_SUBNORMAL,     /* A is; C is not */
    ACCURACY_UNDERFLOW,     /* C is */
    ACCURACY_LARGEST,       /* A up to the largest number, and C as far as that can be */
    ACCURACY_INF_IN_A,
    ACCURACY_INF_IN_B,
    ACCURACY_NAN_IN_A,
    ACCURACY_NAN_IN_B,
    ACCURACY_INF_IN_BOTH,
    ACCURACY_EXACTS
} accuracy_exact;
extern const char *const accuracy_exact_names[ACCURACY_EXACTS];
/* Whether infinities and NaN are all that matters. */
bool accuracy_is_special(accuracy_exact what);

/* ---- One product ---- */

typedef struct accuracy_case {
    tess_context *ctx, *reference; /* that multiplies; that computes in f64 */
    bool on_device;                /* ctx has memory of its own */
    int64_t m, n, k;
    float *a, *b, *c;
    float *base_a, *base_b;   /* N(0,1) of a seed, of which kinds are made */
    double *wide_a, *wide_b;  /* a and b in f64 */
    double *want, *magnitude; /* A·B and |A||B| */
    void *device_a, *device_b, *device_c;
    void *wide_on_device[3]; /* of f64, where the reference is a device with memory of its own */
} accuracy_case;

/* accuracy_close is due even after false, which comes with a sentence said. */
bool accuracy_open(accuracy_case *c, tess_context *ctx, bool on_device, tess_context *reference, int64_t m,
                   int64_t n, int64_t k);
void accuracy_close(accuracy_case *c);

/* Draws what the kinds of this seed are made of. */
void accuracy_draw(accuracy_case *c, uint64_t seed);
/* Make a and b of one kind, or exact data, and the reference, and put them where ctx wants them. On failure a sentence is
 * said. */
bool accuracy_make(accuracy_case *c, const accuracy_kind *kind, uint64_t seed);
bool accuracy_make_exact(accuracy_case *c, accuracy_exact what, uint64_t seed);

/* Who multiplies: a BLAS of the host, or a kernel of ctx. */
typedef struct accuracy_side {
    const char *name;
    const peer *blas; /* NULL: a kernel */
    tess_options options;
} accuracy_side;

/* The product to c->c. `planned` is the kernel that ran. A status but TESS_OK is the library's, with its sentence. */
tess_status accuracy_multiply(accuracy_case *c, const accuracy_side *side, char planned[64], tess_way *way);

/* ---- Errors ---- */

typedef struct accuracy_tally {
    double squares, all;    /* of errors and of results */
    double most;            /* of |error| / |A||B| */
    double sum;             /* of error / |A||B|, with its sign */
    int64_t count, unequal; /* elements; those that are not the reference, rounded */
    unsigned ways;          /* bits, by tess_way */
    char planned[64];
} accuracy_tally;

/* Adds what c->c differs from the reference. */
void accuracy_count(accuracy_tally *t, const accuracy_case *c, bool scaled);
double accuracy_frobenius(const accuracy_tally *t);
double accuracy_mean(const accuracy_tally *t);

/* How many elements of c->c are not of the same class (finite, NaN, an infinity of the same sign) as in `like`. */
int64_t accuracy_misplaced(const accuracy_case *c, const float *like);

#endif
