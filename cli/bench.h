/* bench.h: what `tessera bench` was asked to measure, and what one measurement found.
 *
 *   cmd_bench.c    the loop over types, threads, shapes and kernels
 *   bench_case.c   plans and verifies one kernel on one product, beside its peers
 *   bench_sides.c  times them in turns
 *   bench_watch.c  what the device says of itself meanwhile
 *   bench_table.c  a measurement as a row of the table
 */
#ifndef BENCH_H
#define BENCH_H

#include "kernels.h"
#include "output.h"
#include "peer.h"
#include "problem.h"
#include "sizes.h"
#include "timing.h"

enum { BENCH_TYPES_MAX = 16, BENCH_THREADS_MAX = 64, BENCH_PEERS_MAX = 8 };

/* What a device does between two samples: nothing for a while, the next sample at once, or the next one
 * after half a second of the same work. */
typedef enum bench_mode { BENCH_BURST, BENCH_CONTINUOUS, BENCH_SUSTAINED } bench_mode;
enum { BENCH_MODE_COUNT = 3 };
extern const char *const bench_modes[BENCH_MODE_COUNT];

/* Somebody else's product: a BLAS of the host, or a kernel of the device's own registry that is a peer. */
typedef struct bench_peer {
    char name[32];
    bool is_kernel; /* planned as our kernels are */
    peer blas;      /* otherwise */
} bench_peer;

/* A kernel with its parameters: --tile and --sweep make several of one. */
typedef struct bench_variant {
    const tess_kernel_info *kernel; /* in the request's list */
    char *params;                   /* NULL: the defaults */
} bench_variant;

typedef struct bench_request {
    tess_context *ctx;
    tess_device_info device;
    kernels_list kernels;
    bench_variant *variants;
    size_t variant_count;
    bool sorted; /* of each shape the fastest first, when all are known */
    sizes_list sizes;
    problem_types types[BENCH_TYPES_MAX];
    size_t type_count;
    int threads[BENCH_THREADS_MAX];
    size_t threads_count;
    bench_peer peers[BENCH_PEERS_MAX];
    size_t peer_count;
    problem_spec base;         /* everything but types and sizes */
    double min_time, max_time; /* seconds to sample a case for */
    double precision;          /* between the two: until the median is known to this share of it */
    int64_t samples;           /* 0: as many as that takes */
    int64_t repeats;           /* how often everything is measured */
    bench_mode mode;
    bool verify, cold;
    bool prepared;  /* A and B are prepared before they are timed */
    bool transfers; /* operands in host memory though the device has its own: copies are part of the time */
    unsigned char *flush; /* larger than the last cache, if cold on the host */
    size_t flush_bytes;
    output out;
    char method[256], command[512]; /* what the files say of it */
} bench_request;

/* Whether operands lie in the device's own memory, where its own clock times them. */
static inline bool bench_on_device(const bench_request *r) {
    return r->device.own_memory && !r->transfers;
}
/* The context whose memory the operands are put in; NULL: the host's. */
static inline tess_context *bench_memory(const bench_request *r) {
    return bench_on_device(r) ? r->ctx : NULL;
}

typedef enum bench_state {
    BENCH_MEASURED,
    BENCH_WRONG,   /* the result is wrong: not timed */
    BENCH_REFUSED, /* the kernel does not take this product */
    BENCH_FAILED,  /* the kernel takes it and cannot be run: it does not compile, for one */
    BENCH_STOPPED  /* interrupted, or an error that was said */
} bench_state;

/* What the device can do at best with the threads of a case; NaN where it is not known. */
typedef struct bench_limits {
    double flops; /* of multiply-adds a second, for the type of the case */
    double bytes; /* read from memory a second */
} bench_limits;

/* A kernel (or a peer alone) on one product: a row for each peer beside it, or one row without. */
typedef struct bench_case {
    const bench_variant *variant;
    const bench_peer *alone; /* NULL: the variant itself */
    const bench_peer *peers[BENCH_PEERS_MAX];
    size_t peer_count;
    int threads;
    int64_t repeat; /* from 1 */
    bench_limits limits;
} bench_case;

typedef struct bench_result {
    bench_state state;
    char kernel[64];            /* the name of what ran */
    char why[PROBLEM_SENTENCE]; /* if it was not measured */
    bool checked;
    double rel_error, max_error;
    double used; /* the error as a share of what is allowed */
    timing_summary own, peers[BENCH_PEERS_MAX];
    double ratios[BENCH_PEERS_MAX]; /* a peer's time over ours: the median of the rounds */
    double call;                    /* seconds of a single tess_gemm call; NaN if not measured */
    double to_device, to_host;      /* seconds of copying, with transfers */
    double cpu;                     /* CPU seconds of one product */
    int64_t iterations;
    int64_t workspace;              /* bytes; -1: not known */
    tess_device_state device_state; /* while it was sampled */
} bench_result;

/* Fills, verifies and times. The problem is open; what is in it afterwards is not specified. */
void bench_measure(const bench_request *r, const bench_case *c, problem *p, bench_result *result);
/* Whether the peer multiplies this product, and right. If it does it wrong, that is said and *wrong is set. */
bool bench_peer_is_right(const bench_request *r, const bench_peer *other, problem *p, bool *wrong);
/* Seconds that one run will take, judged from a smaller product; 0 if it cannot be told. */
double bench_estimate(const bench_request *r, const bench_case *c, const problem_spec *spec);

extern const table_column bench_columns[];
extern const size_t bench_column_count;
/* Hides from people what all rows have in common. */
void bench_prepare_table(table *t, const bench_request *r);
void bench_add_rows(table *t, const bench_request *r, const bench_case *c, const problem *p,
                    const bench_result *result);
/* Sorts the rows from number `first` on by their time. */
void bench_sort_rows(table *t, size_t first);

/* The product of the shape number `index`. */
problem_spec bench_spec_of(const bench_request *r, size_t index, problem_types types);
double bench_gflops(const problem_spec *spec, double seconds);
/* The type whose peak a product is held against: 16-bit types compute in f32. False for integers, which have none,
 * and where a GPU may use tensor cores. */
bool bench_peak_type(const bench_request *r, problem_types types, tess_type *type);
/* Whether a product of a matrix and a vector is among the shapes: those are held against the bandwidth. */
bool bench_has_vectors(const bench_request *r);

#endif
