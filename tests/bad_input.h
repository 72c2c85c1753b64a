/* bad_input.h: wrong calls, each with the status it must return and the words its sentence must hold. bad_input.c
 * runs them and looks at the sentences, unit_memory.c at what they leave behind. */
#ifndef BAD_INPUT_H
#define BAD_INPUT_H

#include "harness.h"

enum { SIDE = 4, ROOM = 256 };

/* A good product, 4×4 in f32, to be spoilt. A, B and C lie in the middle of their buffers. */
typedef struct good_call {
    tess_context *ctx;
    int on_thread; /* the sentence is the thread's, not the context's */
    float a[ROOM], b[ROOM], c[ROOM];
    tess_matrix A, B, C;
    tess_batch batch;
    tess_options options;
    double alpha, beta;
} good_call;

/* Makes the call good; g->ctx is kept. */
void good_call_make(good_call *g);
/* tess_gemm, tess_gemm_batched and tess_plan_gemm of what g holds. */
tess_status good_call_gemm(good_call *g);
tess_status good_call_batched(good_call *g);
tess_status good_call_plan(good_call *g, tess_plan **plan);

typedef struct bad_call {
    const char *name;
    tess_status (*call)(good_call *g);
    tess_status want;
    const char *words; /* each must stand in the sentence; "a/b" is either */
} bad_call;

void bad_call_register(const char *name, tess_status (*call)(good_call *), tess_status want,
                       const char *words);
int bad_call_count(void);
const bad_call *bad_call_at(int index);

/* A wrong call: makes it and returns its status. */
#define BAD(name, want, words)                                       \
    static tess_status name(good_call *g);                           \
    __attribute__((constructor)) static void register_##name(void) { \
        bad_call_register(#name, name, want, words);                 \
    }                                                                \
    static tess_status name(good_call *g)

#endif
