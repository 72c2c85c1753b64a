/* driver.c: loading and starting the CUDA driver. It is started at most once per process, and never in the
 * child of a process that has: there CUDA's state is a copy without the threads and devices behind it. */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

driver_table driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ready, devices;
static pid_t owner; /* the process that called cuInit */
static char problem[512];

/* Looks every function up; returns the symbol of the first that is missing and must not be, NULL if all are there. */
static const char *find_functions(void *library) {
#define DRIVER_FIND(name, symbol, ...)                    \
    do {                                                  \
        void *found = dlsym(library, symbol);             \
        memcpy(&driver.name, &found, sizeof driver.name); \
    } while (0);
#define DRIVER_NEED(name, symbol, ...) \
    if (!driver.name) return symbol;
    DRIVER_FUNCTIONS(DRIVER_FIND)
    DRIVER_OPTIONAL(DRIVER_FIND)
    DRIVER_FUNCTIONS(DRIVER_NEED)
#undef DRIVER_FIND
#undef DRIVER_NEED
    return NULL;
}

static void start(void) {
    void *library = library_open(LIBRARY_DRIVER);
    if (!library) {
        snprintf(problem, sizeof problem, "%s", library_problem(LIBRARY_DRIVER));
        return;
    }
    const char *missing = find_functions(library);
    if (missing) {
        snprintf(problem, sizeof problem,
                 "the CUDA driver %.200s has no %s; install a driver for CUDA 12 or later",
                 library_path(LIBRARY_DRIVER), missing);
        return;
    }
    owner = getpid();
    cu_result result = driver.cuInit(0);
    if (result == CU_OK) result = driver.cuDeviceGetCount(&devices);
    if (result != CU_OK && result != CU_NO_DEVICE) {
        char text[256];
        driver_explain(result, text, sizeof text);
        snprintf(problem, sizeof problem,
                 "the CUDA driver does not start: cuInit failed: %s; see whether nvidia-smi works", text);
        return;
    }
    ready = 1;
    if (devices == 0 || result == CU_NO_DEVICE) {
        devices = 0;
        snprintf(problem, sizeof problem,
                 "the CUDA driver finds no GPU; see whether nvidia-smi lists one and CUDA_VISIBLE_DEVICES "
                 "does not hide it");
    }
}

int driver_forked(void) {
    return owner != 0 && owner != getpid();
}

int driver_ready(void) {
    pthread_once(&once, start);
    return ready && !driver_forked();
}

const char *driver_problem(void) {
    if (driver_forked())
        return "this process was forked from one that had started CUDA, which does not survive a fork; open "
               "the GPU only after the fork, or start a new program";
    return problem;
}

int driver_devices(void) {
    return driver_ready() ? devices : 0;
}

void driver_explain(cu_result error, char *text, size_t size) {
    const char *name = NULL, *words = NULL;
    if (driver.cuGetErrorName) driver.cuGetErrorName(error, &name);
    if (driver.cuGetErrorString) driver.cuGetErrorString(error, &words);
    snprintf(text, size, "%s (%d)%s%s", name ? name : "an error", error, words ? ", " : "",
             words ? words : "");
}

int driver_is_sticky(cu_result error) {
    switch (error) {
    case 214: /* uncorrectable ECC error */
    case 220: /* uncorrectable NVLink error */
    case 226: /* contained memory error */
    case 700: /* illegal address */
    case 702: /* launch timeout */
    case 709: /* context destroyed */
    case 710: /* assert */
    case 714: /* hardware stack error */
    case 715: /* illegal instruction */
    case 716: /* misaligned address */
    case 717: /* invalid address space */
    case 718: /* invalid program counter */
    case 719: /* launch failed */
    case 721: /* tensor memory leak */
    case 999: /* unknown */ return 1;
    default: return 0;
    }
}
