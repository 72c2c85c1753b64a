/* driver.h: the CUDA driver, as far as it is used here: its types, numbers and functions, declared from its
 * documentation and found with dlsym, so that nothing of CUDA is needed to build.
 *
 * Functions are called as driver.cuMemAlloc(...). The names are CUDA's; where the symbol carries a version
 * (cuMemAlloc_v2), the table knows. CUDA does not survive a fork: driver_ready says no in a child. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stdint.h>

#include "../status.h"

typedef int cu_result;
typedef int cu_device;
typedef unsigned long long cu_address; /* of device memory */
typedef struct cu_context_opaque *cu_context;
typedef struct cu_module_opaque *cu_module;
typedef struct cu_function_opaque *cu_function;
typedef struct cu_stream_opaque *cu_stream;
typedef struct cu_event_opaque *cu_event;
typedef struct cu_graph_opaque *cu_graph;
typedef struct cu_executable_opaque *cu_executable; /* a graph, ready to be launched */

enum {
    CU_OK = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_NOT_READY = 600,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_RECORD_EXTERNAL = 1,
    CU_CAPTURE_THREAD_LOCAL = 1,
    CU_HOST_PORTABLE = 1,
    CU_MEMORY_HOST = 1,
    CU_MEMORY_DEVICE = 2
};

/* CUpointer_attribute */
enum { CU_POINTER_MEMORY_TYPE = 2, CU_POINTER_IS_MANAGED = 8 };

/* CUfunction_attribute */
enum {
    CU_FUNCTION_SHARED = 1,
    CU_FUNCTION_LOCAL = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_FUNCTION_MOST_DYNAMIC_SHARED = 8,
    CU_FUNCTION_CARVEOUT = 9,
    CU_FUNCTION_LARGE_CLUSTERS = 14
};

/* CUDA_MEMCPY2D */
typedef struct cu_copy_2d {
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    cu_address from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    cu_address to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
} cu_copy_2d;

/* CUtensorMapDataType, and what else describes a tensor map. */
enum {
    CU_MAP_U8 = 0,
    CU_MAP_I32 = 3,
    CU_MAP_F16 = 6,
    CU_MAP_F32 = 7,
    CU_MAP_BF16 = 9,
    CU_MAP_TF32 = 11, /* of f32, rounded to TF32 on the way to shared memory */
    CU_MAP_SWIZZLE_NONE = 0,
    CU_MAP_SWIZZLE_128B = 3,
    CU_MAP_PROMOTE_128B = 2
};

/* CUlaunchAttribute and CUlaunchConfig */
enum { CU_LAUNCH_PROGRAMMATIC = 6 };
typedef struct cu_launch_attribute {
    int id, padding;
    union {
        int value;
        char room[64];
    } what;
} cu_launch_attribute;
typedef struct cu_launch_config {
    unsigned grid[3], block[3], shared;
    cu_stream stream;
    cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch_config;

/* One row per function: its name, its symbol in the library, its arguments. */
#define DRIVER_FUNCTIONS(F)                                                                                  \
    F(cuInit, "cuInit", unsigned flags)                                                                      \
    F(cuDriverGetVersion, "cuDriverGetVersion", int *version)                                                \
    F(cuGetErrorName, "cuGetErrorName", cu_result error, const char **name)                                  \
    F(cuGetErrorString, "cuGetErrorString", cu_result error, const char **text)                              \
    F(cuDeviceGetCount, "cuDeviceGetCount", int *count)                                                      \
    F(cuDeviceGet, "cuDeviceGet", cu_device *device, int ordinal)                                            \
    F(cuDeviceGetName, "cuDeviceGetName", char *name, int length, cu_device device)                          \
    F(cuDeviceTotalMem, "cuDeviceTotalMem_v2", size_t *bytes, cu_device device)                              \
    F(cuDeviceGetAttribute, "cuDeviceGetAttribute", int *value, int attribute, cu_device device)             \
    F(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", char *id, int length, cu_device device)                    \
    F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", cu_context *context, cu_device device)           \
    F(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", cu_device device)                           \
    F(cuCtxPushCurrent, "cuCtxPushCurrent_v2", cu_context context)                                           \
    F(cuCtxPopCurrent, "cuCtxPopCurrent_v2", cu_context *context)                                            \
    F(cuCtxSynchronize, "cuCtxSynchronize", void)                                                            \
    F(cuMemGetInfo, "cuMemGetInfo_v2", size_t *free, size_t *total)                                          \
    F(cuMemAlloc, "cuMemAlloc_v2", cu_address *memory, size_t bytes)                                         \
    F(cuMemFree, "cuMemFree_v2", cu_address memory)                                                          \
    F(cuMemHostAlloc, "cuMemHostAlloc", void **memory, size_t bytes, unsigned flags)                         \
    F(cuMemFreeHost, "cuMemFreeHost", void *memory)                                                          \
    F(cuMemcpyAsync, "cuMemcpyAsync", cu_address to, cu_address from, size_t bytes, cu_stream stream)        \
    F(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", cu_address to, const void *from, size_t bytes,              \
      cu_stream stream)                                                                                      \
    F(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void *to, cu_address from, size_t bytes, cu_stream stream)  \
    F(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", const cu_copy_2d *copy, cu_stream stream)                       \
    F(cuMemsetD8Async, "cuMemsetD8Async", cu_address memory, unsigned char value, size_t bytes,              \
      cu_stream stream)                                                                                      \
    F(cuPointerGetAttribute, "cuPointerGetAttribute", void *value, int attribute, cu_address pointer)        \
    F(cuModuleLoadData, "cuModuleLoadData", cu_module *module, const void *image)                            \
    F(cuModuleUnload, "cuModuleUnload", cu_module module)                                                    \
    F(cuModuleGetFunction, "cuModuleGetFunction", cu_function *function, cu_module module, const char *name) \
    F(cuFuncGetAttribute, "cuFuncGetAttribute", int *value, int attribute, cu_function function)             \
    F(cuFuncSetAttribute, "cuFuncSetAttribute", cu_function function, int attribute, int value)              \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",            \
      int *blocks, cu_function function, int threads, size_t dynamic_shared)                                 \
    F(cuLaunchKernel, "cuLaunchKernel", cu_function function, unsigned grid_x, unsigned grid_y,              \
      unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,                \
      cu_stream stream, void **arguments, void **extra)                                                      \
    F(cuStreamCreate, "cuStreamCreate", cu_stream *stream, unsigned flags)                                   \
    F(cuStreamDestroy, "cuStreamDestroy_v2", cu_stream stream)                                               \
    F(cuStreamSynchronize, "cuStreamSynchronize", cu_stream stream)                                          \
    F(cuStreamWaitEvent, "cuStreamWaitEvent", cu_stream stream, cu_event event, unsigned flags)              \
    F(cuStreamIsCapturing, "cuStreamIsCapturing", cu_stream stream, int *status)                             \
    F(cuStreamBeginCapture, "cuStreamBeginCapture_v2", cu_stream stream, int mode)                           \
    F(cuStreamEndCapture, "cuStreamEndCapture", cu_stream stream, cu_graph *graph)                           \
    F(cuEventCreate, "cuEventCreate", cu_event *event, unsigned flags)                                       \
    F(cuEventDestroy, "cuEventDestroy_v2", cu_event event)                                                   \
    F(cuEventRecord, "cuEventRecord", cu_event event, cu_stream stream)                                      \
    F(cuEventRecordWithFlags, "cuEventRecordWithFlags", cu_event event, cu_stream stream, unsigned flags)    \
    F(cuEventQuery, "cuEventQuery", cu_event event)                                                          \
    F(cuEventSynchronize, "cuEventSynchronize", cu_event event)                                              \
    F(cuEventElapsedTime, "cuEventElapsedTime", float *milliseconds, cu_event start, cu_event end)           \
    F(cuGraphInstantiate, "cuGraphInstantiateWithFlags", cu_executable *executable, cu_graph graph,          \
      unsigned long long flags)                                                                              \
    F(cuGraphLaunch, "cuGraphLaunch", cu_executable executable, cu_stream stream)                            \
    F(cuGraphDestroy, "cuGraphDestroy", cu_graph graph)                                                      \
    F(cuGraphExecDestroy, "cuGraphExecDestroy", cu_executable executable)

/* Functions that older drivers lack: NULL there. */
#define DRIVER_OPTIONAL(F)                                                                                 \
    F(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", void *map, int type, unsigned rank, void *address, \
      const uint64_t *dimensions, const uint64_t *strides, const unsigned *box, const unsigned *steps,     \
      int interleave, int swizzle, int promotion, int fill)                                                \
    F(cuLaunchKernelEx, "cuLaunchKernelEx", const cu_launch_config *config, cu_function function,          \
      void **arguments, void **extra)                                                                      \
    F(cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters", int *clusters, cu_function function,   \
      const cu_launch_config *config)

typedef struct driver_table {
#define DRIVER_FIELD(name, symbol, ...) cu_result (*name)(__VA_ARGS__);
    DRIVER_FUNCTIONS(DRIVER_FIELD)
    DRIVER_OPTIONAL(DRIVER_FIELD)
#undef DRIVER_FIELD
} driver_table;

/* Valid once driver_ready has returned 1. */
extern driver_table driver;

/* Loads and starts the driver, once per process. Returns 0 where it cannot be used: driver_problem says
 * why and what to do. */
int driver_ready(void);
const char *driver_problem(void);

/* How many devices the driver has; 0 if it is not ready. */
int driver_devices(void);

/* Whether this process is the child of one that used CUDA. */
int driver_forked(void);

/* "CUDA_ERROR_ILLEGAL_ADDRESS (700), an illegal memory access was encountered". */
void driver_explain(cu_result error, char *text, size_t size);

/* Errors after which every further call on the context fails. */
int driver_is_sticky(cu_result error);

#endif
