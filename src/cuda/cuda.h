/* cuda.h: what the files of the CUDA device share.
 *
 * Every call of the seam enters the device's primary context and leaves it again, so that the caller's
 * current context stays what it was. In between, functions take the device, use the driver through
 * CUDA(...), and leave with a sentence when it fails. */
#ifndef CUDA_H
#define CUDA_H

#include <stdatomic.h>

#include "../launch.h"
#include "driver.h"

/* What is known of one card; read once per process. */
typedef struct cuda_facts {
    cu_device handle;
    int architecture; /* 90 for compute capability 9.0 */
    char model[128];
    char bus_id[32];
    tess_gpu_info gpu; /* without clocks and what follows from them */
} cuda_facts;

/* Code on the card: a kernel with its parameters, or a file of helpers (row NULL). */
typedef struct cuda_kernel {
    struct cuda_kernel *next;
    const kernel_row *row;
    const char *file, *type;
    int64_t params[REGISTRY_PARAMS];
    launch_shape shape;
    cu_module module;
    cu_function function; /* of a kernel; helpers are looked up by name */
    int64_t at_once;      /* of a persistent kernel: how many of its blocks the card runs at the same time */
    int spill_bytes;
    double compile_ms;
} cuda_kernel;

/* Device memory that only grows. */
typedef struct cuda_buffer {
    char *memory;
    size_t size;
} cuda_buffer;

enum { CUDA_RETIRED = 48 };

typedef struct cuda_device {
    device base;
    int index;
    const cuda_facts *facts;
    cu_context context;
    int forked;       /* in the child of a fork nothing of CUDA may be touched */
    _Atomic int lost; /* the context is broken, by what `broken` says */
    char broken[320];
    cu_stream stream; /* the caller's; NULL is CUDA's default stream */
    cuda_kernel *kernels;
    cuda_buffer workspace;
    const int32_t *way; /* on the card: the way that the last product took; NULL: it was certain beforehand */
    tess_way certain_way; /* and is this */
    int workspace_lent;   /* it is the caller's: it does not grow and is not freed */
    int clusters;         /* blocks that one of split_prepare.cu may have; 0: it was not asked yet */
    int64_t refused; /* bytes that the card had not left for parts of f32; 0: it was never short of memory */
    /* Workspaces that were too small. They are kept: a graph that the caller captured may still use them.
     * Each is at least twice the one before, so that they are few, unless the card is nearly full. */
    char *retired[CUDA_RETIRED];
    int retired_count;
    char peer_reason[256]; /* why a peer runs, with what the environment does to it */
    /* Parts that are made when first needed. */
    struct cuda_stage *stage;
    struct cuda_timer *timer;
    struct cuda_peers *peers;
} cuda_device;

/* ---- call.c ---- */

/* Makes the context current, or refuses: after a fork, or when the context is lost. cuda_leave passes the
 * status of what was done in between. */
tess_status cuda_enter(cuda_device *self, sentence *why);
tess_status cuda_leave(cuda_device *self, tess_status status);

/* The sentence of a failed call of the driver. */
tess_status cuda_fail(cuda_device *self, cu_result error, const char *call, sentence *why);
#define CUDA(self, call, ...)                                                      \
    do {                                                                           \
        cu_result cuda_result = driver.call(__VA_ARGS__);                          \
        if (cuda_result != CU_OK) return cuda_fail(self, cuda_result, #call, why); \
    } while (0)

/* Device memory; `purpose` completes "no device memory for". */
tess_status cuda_alloc(cuda_device *self, size_t bytes, const char *purpose, char **memory, sentence *why);
/* Makes it at least that large. What it held is lost, and nothing may still be using it. */
tess_status cuda_grow(cuda_device *self, cuda_buffer *buffer, size_t bytes, const char *purpose,
                      sentence *why);
/* Memory for one product beside its matrices. What is queued on it later must be on the same stream. */
tess_status cuda_workspace(cuda_device *self, int64_t bytes, char **memory, sentence *why);

/* The address as the driver counts them. */
static inline cu_address cuda_address(const void *memory) {
    return (cu_address)(uintptr_t)memory;
}

double cuda_now(void);

/* ---- facts.c, nvml.c ---- */

/* NULL if it cannot be read. */
const cuda_facts *cuda_facts_of(int index);
/* With clocks and peaks: these may have to be asked of NVML, which takes a while to start. */
tess_gpu_info cuda_all_facts_of(int index);
/* Highest clocks in MHz, 0 where NVML does not tell; and the state of tessera.h. */
void cuda_nvml_clocks(const char *bus_id, unsigned *clock, unsigned *memory_clock);
void cuda_nvml_state(const char *bus_id, tess_device_state *state);

/* ---- choose.c ---- */

choice cuda_choose(const device *base, const problem *what, choice_cut *cut);
tess_status cuda_prepare(const device *base, plan *decided, sentence *why);

/* How many tiles of that size all products of a batch have. */
static inline double cuda_tiles(const problem *what, int rows, int cols) {
    return (double)((what->m + rows - 1) / rows) * (double)((what->n + cols - 1) / cols) *
           (double)what->batch.count;
}
/* Nanoseconds of a launch that copies so many bytes of A and B to lines that are aligned, on an H200. */
static inline double cuda_copy_time(double bytes) {
    return 3000 + 2 * bytes / 3600;
}

/* ---- choose_hopper.c ---- */

/* kernel NULL: wgmma is not for this card, or this product. *time: the nanoseconds it takes, copies ahead of it included. */
choice cuda_choose_hopper(const cuda_device *self, const problem *what, choice_cut *cut, double *time);

/* ---- choose_split.c ---- */

/* Whether f32 is split on this card without being asked. */
int cuda_splits(const cuda_device *self);
/* kernel NULL: f32 is not to be split here. Else the nanoseconds that it takes by parts; and that multiply-adds take at least,
 * whatever their tiles. */
choice cuda_choose_split(const cuda_device *self, const problem *what, choice_cut *cut, double *time,
                         double *plain);

/* ---- choose_simt.c ---- */

/* For f32 on sm_80 and later; and the nanoseconds that it takes on an H200. */
choice cuda_choose_simt(const cuda_device *self, const problem *what, choice_cut *cut, double *time);

/* ---- choose_shares.c ---- */

/* A way to multiply, by which C has so many tiles, and the nanoseconds that a product takes so. Shares are multiples of
 * `unit`, so that lines stay aligned. */
typedef struct cuda_sharing {
    double tiles;
    int sms, unit;
    double (*time_of)(const void *with, const problem *run);
    const void *with;
} cuda_sharing;
/* What shares must take less than to be worth their while, if all of k at once takes that. */
double cuda_worth_sharing(double time);
/* The share of k with which it takes less than *time, which is then that; 0: there is none. */
int64_t cuda_choose_share(const problem *run, const cuda_sharing *by, double *time);

/* ---- choose_batched.c ---- */

/* What takes less than *time nanoseconds, which is then that, if the product is a batch of many; kernel NULL: nothing does. For
 * f32, f64 and i32 on sm_80 and later. */
choice cuda_choose_batched(const cuda_device *self, const problem *what, double *time);

/* ---- choose_f64.c ---- */

/* Whether tensor cores multiply f64: those of cards for computing do. */
int cuda_has_tensor_f64(const cuda_device *self);
/* kernel NULL: this card has no tensor cores for f64. */
choice cuda_choose_f64(const cuda_device *self, const problem *what, choice_cut *cut);

/* ---- modules.c ---- */

tess_status cuda_load_kernel(cuda_device *self, const kernel_row *row, tess_type in, tess_type out,
                             const int64_t params[REGISTRY_PARAMS], cuda_kernel **kernel, sentence *why);
/* A function of move.cu or measure.cu. `type` as jit_type_macro gives it. */
tess_status cuda_load_helper(cuda_device *self, const char *file, const char *type, const char *name,
                             cu_function *function, sentence *why);
/* The loaded kernel, NULL if it is not there. */
const cuda_kernel *cuda_find_kernel(const cuda_device *self, const kernel_row *row, tess_type in,
                                    tess_type out, const int64_t params[REGISTRY_PARAMS]);
void cuda_unload_all(cuda_device *self);

/* ---- queue.c ---- */

/* Queues the product on the stream. All operands are device memory. */
tess_status cuda_queue(cuda_device *self, const plan *decided, const operands *data, cu_stream stream,
                       sentence *why);
/* Queues what is to be kept of a matrix (split_keep). */
tess_status cuda_queue_parts(cuda_device *self, const line_matrix *what, char *memory, int64_t *words,
                             sentence *why);
/* Queues C = beta*C. */
tess_status cuda_queue_scale(cuda_device *self, const problem *what, const operands *data, cu_stream stream,
                             sentence *why);
tess_status cuda_launch(cuda_device *self, cu_function function, const unsigned grid[3], int block_x,
                        int block_y, int shared, cu_stream stream, void *arguments, sentence *why);

/* ---- place.c ---- */

/* Where operands lie: bits. */
enum { CUDA_A_ON_HOST = 1, CUDA_B_ON_HOST = 2, CUDA_C_ON_HOST = 4 };
tess_status cuda_places(cuda_device *self, const problem *what, const operands *data, int *on_host,
                        sentence *why);
/* Whether host memory is pinned, so that the card can copy it by itself. */
int cuda_is_pinned(const void *memory);

/* ---- run.c ---- */

tess_status cuda_run(device *base, const plan *decided, const operands *data, sentence *why);
tess_status cuda_scale(device *base, const problem *what, const operands *data, sentence *why);
tess_status cuda_kernel_facts(device *base, const plan *decided, tess_kernel_facts *facts, sentence *why);

/* ---- keep.c ---- */

tess_status cuda_keep(device *base, const line_matrix *what, void **kept, int64_t *bytes, sentence *why);
void cuda_drop(device *base, void *kept);

/* ---- stage.c ---- */

/* The product, or with decided->kernel NULL the scaling of C, when some operands lie in host memory.
 * Returns when C is written. */
tess_status cuda_stage_run(cuda_device *self, const plan *decided, const operands *data, int on_host,
                           sentence *why);
void cuda_stage_times(const cuda_device *self, tess_staging *times);
void cuda_stage_close(cuda_device *self);

/* ---- time.c, measure.c ---- */

tess_status cuda_time(device *base, const plan *decided, const operands *data, int64_t repeats, int cold,
                      double *seconds, sentence *why);
/* The graphs kept for timing point to the workspace: forget them when it changes hands. */
void cuda_timer_forget(cuda_device *self);
void cuda_timer_close(cuda_device *self);

tess_status cuda_measure_peak(device *base, tess_type type, double *flops, sentence *why);
tess_status cuda_measure_bandwidth(device *base, double *bytes, sentence *why);
tess_status cuda_measure_level(device *base, tess_level level, tess_level_info *info, sentence *why);

/* ---- peers.c, cublas.c, cublaslt.c ---- */

/* Refuses what cuBLAS cannot do; needs no library. */
tess_status cuda_peer_prepare(const cuda_device *self, plan *decided, sentence *why);
tess_status cuda_peer_queue(cuda_device *self, const plan *decided, const operands *data, cu_stream stream,
                            sentence *why);
void cuda_peers_close(cuda_device *self);
/* What in the environment changes what cuBLAS computes: "NVIDIA_TF32_OVERRIDE is set to 0", or "". */
void cuda_peer_reason(char *text, size_t size);

#endif
