/* cuda.h: what the files of the stand-in driver share. One lock guards everything. */
#ifndef STANDIN_CUDA_H
#define STANDIN_CUDA_H

#include "standin.h"

/* CUresult */
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    CAPTURE_UNSUPPORTED = 900
};

/* Things made and not given back; the error that broke the context, 0 while it works; streams being
 * captured. */
extern int standin_made, standin_broken, standin_captures;

/* What every call begins and ends with: takes the lock and refuses as a driver would; gives the lock back. */
int standin_enter(const char *name, int needs_context);
int standin_leave(int result);
void standin_lock(void);

#define CALL(context)                                          \
    do {                                                       \
        int refused = standin_enter(__func__, context);        \
        if (refused != SUCCESS) return standin_leave(refused); \
    } while (0)

/* A function of the driver. */
#define CU(name, ...)             \
    EXPORT int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

static inline char *pointer(unsigned long long address) {
    return (char *)(uintptr_t)address;
}

/* A launch, however it was asked for. */
struct standin_function;
int standin_launch(struct standin_function *function, const unsigned grid[3], const unsigned block[3],
                   unsigned shared, int overlaps, void *stream, void **arguments);

/* Does what stands in CUDA's default stream. */
void standin_run_default(void);

#endif
