/* gpu.h: tests of a GPU. They are there only when TESSERA_DEVICE names one, be it a card or the stand-in
 * driver (tests/standin), and then a GPU that cannot be opened is a failure. Of those that need the
 * stand-in, the names begin with gpu_standin. */
#ifndef GPU_H
#define GPU_H

#include <string.h>

#include "problem.h"

int gpu_is_asked_for(void);
int gpu_is_standin(void);

#define GPU_TEST(name)                                               \
    static void name(void);                                          \
    __attribute__((constructor)) static void register_##name(void) { \
        if (gpu_is_asked_for()) harness_register(#name, name);       \
    }                                                                \
    static void name(void)

#define STANDIN_TEST(name)                                                         \
    static void name(void);                                                        \
    __attribute__((constructor)) static void register_##name(void) {               \
        if (gpu_is_asked_for() && gpu_is_standin()) harness_register(#name, name); \
    }                                                                              \
    static void name(void)

/* A context on the GPU that TESSERA_DEVICE names; fails the test and returns NULL if there is none. */
tess_context *gpu_open(void);

/* The place of an operand. PINNED only where the driver can be asked for pinned memory. */
typedef enum gpu_place { GPU_ON_HOST, GPU_ON_DEVICE, GPU_ASK_HOST, GPU_ASK_DEVICE, GPU_PLACES } gpu_place;

/* The problem with its operands where `places` says (A, B, C): runs it and copies C back, so that
 * problem_check can look.
 */
tess_status gpu_run(problem *p, tess_context *ctx, const tess_options *options, const gpu_place places[3]);
/* make, run, check, free; a refusal by the kernel is fine if `may_refuse`. Returns whether all was right. */
int gpu_try(const problem_spec *spec, tess_context *ctx, const tess_options *options,
            const gpu_place places[3], int may_refuse, int *taken);

/* A matrix in device memory: `bytes` of `from` are copied there (NULL: left as they are). */
void *gpu_alloc(tess_context *ctx, const void *from, size_t bytes);

/* A function of the driver, by its symbol; fails the test if there is none. The device's primary context
 * is current in this thread between gpu_enter and gpu_leave. */
void *gpu_symbol(const char *name);
/* Declares `variable` as that function. dlsym gives an object's address; a function's is the same bits. */
#define GPU_FUNCTION(variable, name, ...)   \
    int (*variable)(__VA_ARGS__);           \
    void *variable##_at = gpu_symbol(name); \
    memcpy(&variable, &variable##_at, sizeof variable)
int gpu_enter(void);
void gpu_leave(void);

#endif
