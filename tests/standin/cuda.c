/* cuda.c: a stand-in for the CUDA driver, for machines without a GPU. It reads the text that the stand-in
 * NVRTC makes of a kernel, and computes what the kernel would.
 *
 * What it is to be like is said in the environment, which is read at every call:
 *     STANDIN_DEVICES=2            how many cards there are (1)
 *     STANDIN_ARCHITECTURE=75      their compute capability (90)
 *     STANDIN_LARGEST=1000000      bytes of the largest piece of memory that there is (16 GB)
 *     STANDIN_FAULT=cuMemAlloc:3:2 the third call of cuMemAlloc since this was set fails with error 2; an
 *                                  error of the 700s breaks the context until it is given back
 * Calls without a current context fail, calls in the child of a fork fail, and what lies outside device
 * memory is an illegal address, as on a card. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda.h"

int standin_made, standin_broken, standin_captures;

static pthread_mutex_t lock;
static pid_t owner;
static int contexts[16], current_contexts[16];
static _Thread_local int depth;

/* A work of one stream may run another's, so that the lock must be one that a thread can take twice. */
__attribute__((constructor)) static void start(void) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
}

/* Whether this call is the one that STANDIN_FAULT names. */
static int fault(const char *name) {
    static char seen[128];
    static int calls;
    const char *text = getenv("STANDIN_FAULT");
    if (!text) text = "";
    if (strcmp(seen, text) != 0) {
        snprintf(seen, sizeof seen, "%s", text);
        calls = 0;
    }
    size_t length = strcspn(name, "_"); /* without the version */
    if (strncmp(text, name, length) != 0 || text[length] != ':') return SUCCESS;
    int at = 1, error = 999;
    sscanf(text + length + 1, "%d:%d", &at, &error);
    if (++calls != at) return SUCCESS;
    if (error >= 700 && error < 800) standin_broken = error;
    return error;
}

/* What every call begins with: refuses as a driver would. */
int standin_enter(const char *name, int needs_context) {
    standin_lock();
    int error = fault(name);
    if (error != SUCCESS) return error;
    if (owner != getpid()) return NOT_INITIALIZED;
    if (needs_context && depth == 0) return INVALID_CONTEXT;
    return needs_context ? standin_broken : SUCCESS;
}

void standin_lock(void) {
    pthread_mutex_lock(&lock);
}

int standin_leave(int result) {
    pthread_mutex_unlock(&lock);
    return result;
}

static int number_of(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text && *text ? atoi(text) : otherwise;
}

int standin_live(void) {
    return standin_made;
}

/* ---- Memory ---- */

typedef struct allocation {
    struct allocation *next;
    char *memory;
    size_t bytes;
    int pinned;
} allocation;

static allocation *allocations;

static allocation *find_allocation(const void *address) {
    for (allocation *a = allocations; a; a = a->next)
        if ((const char *)address >= a->memory && (const char *)address < a->memory + a->bytes) return a;
    return NULL;
}

int standin_is_device(const void *address, int64_t low, int64_t high) {
    const allocation *a = find_allocation((const char *)address + low);
    return a && !a->pinned && (const char *)address + high <= a->memory + a->bytes;
}

static int allocate(void **memory, size_t bytes, int pinned) {
    allocation *made = calloc(1, sizeof *made);
    size_t room = (bytes + 255) / 256 * 256;
    *memory = made ? aligned_alloc(256, room) : NULL;
    if (!*memory) {
        free(made);
        return OUT_OF_MEMORY;
    }
    memset(*memory, 0xa5, room);
    *made = (allocation){allocations, *memory, bytes, pinned};
    allocations = made;
    standin_made++;
    return SUCCESS;
}

static int release(const void *memory, int pinned) {
    for (allocation **link = &allocations; *link; link = &(*link)->next) {
        allocation *a = *link;
        if (a->memory != memory || a->pinned != pinned) continue;
        *link = a->next;
        free(a->memory);
        free(a);
        standin_made--;
        return SUCCESS;
    }
    return INVALID_VALUE;
}

CU(cuMemAlloc_v2, unsigned long long *memory, size_t bytes) {
    CALL(1);
    if (standin_captures > 0) return standin_leave(CAPTURE_UNSUPPORTED);
    void *made = NULL;
    const char *text = getenv("STANDIN_LARGEST");
    size_t largest = text ? strtoull(text, NULL, 10) : (size_t)1 << 34;
    int result = bytes > largest ? OUT_OF_MEMORY : allocate(&made, bytes, 0);
    *memory = (uintptr_t)made;
    return standin_leave(result);
}

/* All that is queued may use the memory, so it is done first, as a driver waits before it takes memory
 * back. */
CU(cuMemFree_v2, unsigned long long memory) {
    CALL(0);
    standin_run_default();
    return standin_leave(release(pointer(memory), 0));
}

CU(cuMemHostAlloc, void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    CALL(1);
    return standin_leave(allocate(memory, bytes, 1));
}

CU(cuMemFreeHost, void *memory) {
    CALL(0);
    return standin_leave(release(memory, 1));
}

CU(cuMemGetInfo_v2, size_t *available, size_t *total) {
    CALL(1);
    *total = (size_t)1 << 34;
    *available = *total;
    for (const allocation *a = allocations; a; a = a->next) *available -= a->pinned ? 0 : a->bytes;
    return standin_leave(SUCCESS);
}

CU(cuPointerGetAttribute, void *value, int attribute, unsigned long long address) {
    enum { MEMORY_TYPE = 2, IS_MANAGED = 8 };
    CALL(1);
    const allocation *a = find_allocation(pointer(address));
    if (!a) return standin_leave(INVALID_VALUE);
    *(unsigned *)value = attribute == MEMORY_TYPE ? (a->pinned ? 1u : 2u) : 0u;
    return standin_leave(attribute == MEMORY_TYPE || attribute == IS_MANAGED ? SUCCESS : INVALID_VALUE);
}

/* ---- Devices and contexts ---- */

CU(cuInit, unsigned flags) {
    (void)flags;
    standin_lock();
    int error = fault(__func__);
    if (error != SUCCESS) return standin_leave(error);
    if (owner == 0) owner = getpid();
    return standin_leave(owner == getpid() ? SUCCESS : NOT_INITIALIZED);
}

CU(cuDriverGetVersion, int *version) {
    *version = 13000;
    return SUCCESS;
}

CU(cuDeviceGetCount, int *count) {
    CALL(0);
    *count = number_of("STANDIN_DEVICES", 1);
    return standin_leave(*count > 0 ? SUCCESS : NO_DEVICE);
}

CU(cuDeviceGet, int *device, int ordinal) {
    CALL(0);
    *device = ordinal;
    return standin_leave(SUCCESS);
}

CU(cuDeviceGetName, char *name, int length, int device) {
    (void)device;
    CALL(0);
    snprintf(name, (size_t)length, "stand-in GPU");
    return standin_leave(SUCCESS);
}

CU(cuDeviceTotalMem_v2, size_t *bytes, int device) {
    (void)device;
    CALL(0);
    *bytes = (size_t)1 << 34;
    return standin_leave(SUCCESS);
}

CU(cuDeviceGetPCIBusId, char *id, int length, int device) {
    CALL(0);
    snprintf(id, (size_t)length, "0000:%02x:00.0", device + 1);
    return standin_leave(SUCCESS);
}

CU(cuDeviceGetAttribute, int *value, int attribute, int device) {
    static const int values[][2] = {{1, 1024},     {2, 1024},    {3, 1024},     {4, 64},      {5, 2147483647},
                                    {6, 65535},    {7, 65535},   {8, 49152},    {10, 32},     {12, 65536},
                                    {13, 1980000}, {16, 4},      {36, 3201000}, {37, 6144},   {38, 1 << 20},
                                    {39, 2048},    {81, 233472}, {82, 65536},   {97, 232448}, {106, 32},
                                    {111, 1024}};
    (void)device;
    CALL(0);
    int architecture = number_of("STANDIN_ARCHITECTURE", 90);
    *value = attribute == 75 ? architecture / 10 : attribute == 76 ? architecture % 10 : 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i][0] == attribute) *value = values[i][1];
    return standin_leave(SUCCESS);
}

CU(cuDevicePrimaryCtxRetain, int **context, int device) {
    CALL(0);
    contexts[device]++;
    standin_made++;
    *context = &current_contexts[device];
    return standin_leave(SUCCESS);
}

/* The last one to let go takes what was standin_broken with it. */
CU(cuDevicePrimaryCtxRelease_v2, int device) {
    CALL(0);
    standin_made--;
    if (--contexts[device] == 0) standin_broken = SUCCESS;
    return standin_leave(SUCCESS);
}

CU(cuCtxPushCurrent_v2, int *context) {
    CALL(0);
    if (!context) return standin_leave(INVALID_CONTEXT);
    depth++;
    return standin_leave(SUCCESS);
}

CU(cuCtxPopCurrent_v2, int **context) {
    CALL(0);
    if (depth == 0) return standin_leave(INVALID_CONTEXT);
    depth--;
    *context = NULL;
    return standin_leave(SUCCESS);
}

/* ---- Errors ---- */

CU(cuGetErrorName, int error, const char **name) {
    *name = error == OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
            : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == 719             ? "CUDA_ERROR_LAUNCH_FAILED"
                                       : "CUDA_ERROR_OTHER";
    return SUCCESS;
}

CU(cuGetErrorString, int error, const char **text) {
    *text =
        error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "what the driver says of it";
    return SUCCESS;
}
