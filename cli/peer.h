/* peer.h: the BLAS libraries of this machine, to be measured beside our kernels. */
#ifndef PEER_H
#define PEER_H

#include "tessera.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct peer {
    char name[32]; /* "openblas", "blis", "mkl", "armpl", "numpy"; "cblas" for one nobody knows */
    char version[160];
    char path[PATH_MAX];
    bool wide; /* 64-bit integers in its interface */
    void *handle;
    void (*sgemm)(void), (*dgemm)(void);
    void (*set_threads)(void);
} peer;

/* What a search tried, for those who want to know why nothing was found. */
typedef struct peer_trail {
    char **paths;
    size_t count;
} peer_trail;

/* The names of the libraries looked for, in the order of "auto". */
extern const char *const peer_names[];
extern const size_t peer_name_count;
/* How to get one of them. */
#define PEER_ADVICE \
    "sh setup.sh, or: apt install libopenblas0-pthread libblis4-pthread, or: pip install numpy"

/* A library found stays loaded: several crash when they are unloaded while their threads wait.
 * Looks for the named library, for the first found ("auto"), or opens the file at a path. `trail` may be NULL.
 * Returns false, silently, if there is none. */
bool peer_find(peer *p, const char *name, peer_trail *trail);
void peer_free_trail(peer_trail *trail);
/* Whether the word can be given to peer_find. */
bool peer_is_name(const char *name);

typedef struct peer_call {
    tess_type type;
    bool trans_a, trans_b; /* stored column-major */
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const void *a, *b;
    void *c;
} peer_call;

/* Peers take f32 and f64 whose sizes fit their integers. */
bool peer_takes(const peer *p, const peer_call *call);
void peer_gemm(const peer *p, const peer_call *call);
void peer_set_threads(const peer *p, int threads);

#endif
