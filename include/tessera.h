/* tessera.h: matrix multiplication, C = alpha*A*B + beta*C.
 *
 * Intro
 *
 *     tess_context *ctx;
 *     if (tess_open(&ctx, "auto") != TESS_OK) { puts(tess_error(NULL)); return 1; }
 *     tess_matrix A = tess_view_row_major(TESS_F32, m, k, a, k);
 *     tess_matrix B = tess_view_row_major(TESS_F32, k, n, b, n);
 *     tess_matrix C = tess_view_row_major(TESS_F32, m, n, c, n);
 *     if (tess_gemm(ctx, 1.0, &A, &B, 0.0, &C, NULL) != TESS_OK) puts(tess_error(ctx));
 *     tess_close(ctx);
 *
 * A matrix is a view: a pointer, a type, two sizes and two strides. Nothing is ever copied to make one, and a
 * view owns nothing. Every call returns a status; on failure the context keeps a sentence that says which
 * argument was wrong, what it was and what it should have been. The library never prints, exits or aborts,
 * and a call that fails has not touched C; only a GPU that breaks down while a C in host memory is being
 * copied back may leave parts of it written.
 *
 * The header reads in tiers: Errors, Views, Simple (one product), Context, Plans, Expert. Most programs need
 * the first four. It needs C99 or C++11.
 */
#ifndef TESSERA_H
#define TESSERA_H

#include <stddef.h>
#include <stdint.h>

#define TESS_VERSION_MAJOR  0
#define TESS_VERSION_MINOR  1
#define TESS_VERSION_PATCH  0
#define TESS_VERSION_STRING "0.1.0"
#define TESS_VERSION        (TESS_VERSION_MAJOR * 10000 + TESS_VERSION_MINOR * 100 + TESS_VERSION_PATCH)

#if defined(__GNUC__)
#define TESS_API __attribute__((visibility("default")))
#else
#define TESS_API
#endif

/* A view function does not read what its fourth argument points to: no warning if it is not initialised yet.
 */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define TESS_UNREAD __attribute__((access(none, 4)))
#else
#define TESS_UNREAD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library at run time, "major.minor.patch"; the macros above are the header's. */
TESS_API const char *tess_version(void);

/* ---- Errors ---- */

/* What every call returns. The values are part of the ABI and are never renumbered. */
typedef enum tess_status {
    TESS_OK = 0,
    TESS_ERROR_ARGUMENT = 1, /* an argument is NULL, negative, too large or not one of its choices */
    TESS_ERROR_SHAPE = 2,    /* the sizes or strides of the matrices do not fit together */
    TESS_ERROR_TYPE = 3,     /* no product exists for this mix of types */
    TESS_ERROR_ALIAS = 4,    /* C would be written over an element of A, of B or of itself */
    TESS_ERROR_KERNEL = 5,   /* the kernel or parameter asked for is unknown, or refuses this product */
    TESS_ERROR_DEVICE = 6,   /* the device is unknown, absent or lost */
    TESS_ERROR_MEMORY = 7,   /* memory could not be had */
    TESS_ERROR_INTERNAL = 8  /* a defect in the library: please report the sentence */
} tess_status;

/* The name of a status, such as "TESS_ERROR_SHAPE"; "unknown status" for a number that is none. */
TESS_API const char *tess_status_name(tess_status status);

typedef struct tess_context tess_context;

/* The sentence of the last call that failed on this context, or "" if none did. With NULL: of the last call
 * that failed on this thread without a context (tess_open, the view functions, the Expert tier).
 * The text stays valid until the calling thread's next tess_error. */
TESS_API const char *tess_error(const tess_context *ctx);

/* ---- Views ---- */

typedef enum tess_type {
    TESS_F32 = 0,  /* float */
    TESS_F64 = 1,  /* double */
    TESS_F16 = 2,  /* IEEE binary16, held in uint16_t */
    TESS_BF16 = 3, /* the upper half of a float, held in uint16_t */
    TESS_I32 = 4,  /* int32_t; arithmetic wraps modulo 2^32 */
    TESS_I8 = 5    /* int8_t; products accumulate in i32 */
} tess_type;

/* Where a view's memory lies. The cpu takes host memory only. A GPU takes both: device memory is used in place
 * and the call returns when the work is queued; host memory is copied there and back, and the call returns when
 * C is written. */
typedef enum tess_place {
    TESS_HOST = 0,
    TESS_DEVICE = 1,
    TESS_ASK = 2 /* the driver is asked, at each call */
} tess_place;

/* Element (i, j) lies at data + i*row_stride + j*col_stride, counted in elements. Strides may be negative;
 * those of A and B may be zero or let elements overlap, those of C may not. The fields
 * may be filled by hand. */
typedef struct tess_matrix {
    void *data;
    tess_type type;
    tess_place place;
    int64_t rows, cols;
    int64_t row_stride, col_stride;
} tess_matrix;

/* Bytes of one element, 0 for a number that is no type. Names: "f32", "f64", "f16", "bf16", "i32", "i8". */
TESS_API size_t tess_type_size(tess_type type);
TESS_API const char *tess_type_name(tess_type type);
/* Finds the type of that name. Returns TESS_ERROR_TYPE and leaves *type alone if there is none. */
TESS_API tess_status tess_find_type(const char *name, tess_type *type);

/* Views of host memory. `ld` is the distance, in elements, between rows (row-major: at least cols) or between
 * columns (column-major: at least rows); 0 means dense. `data` is const so that inputs need no cast: a view
 * does not record whether its memory may be written, and only a C is ever written. On bad arguments the view
 * is invalid (rows and cols -1, no data), tess_error(NULL) says why, and every call refuses it. */
TESS_API tess_matrix tess_view_row_major(tess_type type, int64_t rows, int64_t cols, const void *data,
                                         int64_t ld) TESS_UNREAD;
TESS_API tess_matrix tess_view_col_major(tess_type type, int64_t rows, int64_t cols, const void *data,
                                         int64_t ld) TESS_UNREAD;
TESS_API tess_matrix tess_view_strided(tess_type type, int64_t rows, int64_t cols, const void *data,
                                       int64_t row_stride, int64_t col_stride) TESS_UNREAD;

/* The transpose, and the rows×cols part whose first element is (row, col): views of the same memory.
 * Bad arguments give an invalid view, as above. */
TESS_API tess_matrix tess_transpose(tess_matrix M);
TESS_API tess_matrix tess_submatrix(tess_matrix M, int64_t row, int64_t col, int64_t rows, int64_t cols);

/* One element of a host view, as double (exact for every type). NaN if there is no such element, and
 * tess_error(NULL) says why. */
TESS_API double tess_get(tess_matrix M, int64_t row, int64_t col);
/* Rounds `value` to the view's type, once, to nearest even. Integer types take only integers in their range.
 * Returns TESS_OK or TESS_ERROR_ARGUMENT, with the sentence in tess_error(NULL). */
TESS_API tess_status tess_set(tess_matrix M, int64_t row, int64_t col, double value);

/* ---- Simple: one product ---- */

/* How f32 products may be computed. Other types take only TESS_COMPUTE_DEFAULT. A mode is a permission: a
 * device without the faster, less exact arithmetic computes in full f32, and the plan says so. */
typedef enum tess_compute {
    TESS_COMPUTE_DEFAULT = 0, /* f32: the fastest way whose error bound is not above that of multiply-adds */
    TESS_COMPUTE_F32_STRICT = 1, /* f32 multiply-adds and nothing else */
    TESS_COMPUTE_TF32 = 2,       /* inputs may be rounded to 11 significant bits */
    TESS_COMPUTE_BF16 = 3        /* inputs may be rounded to 8 significant bits */
} tess_compute;

/* Zero-initialise, then set what matters; NULL wherever options are taken means all defaults. */
typedef struct tess_options {
    const char *kernel;   /* a name from tess_describe_kernel; NULL: the planner chooses. With a '/': a GPU
                             kernel's file (docs/SIMULATOR.md says what it must have) */
    const char *params;   /* "KC=256,MC=96", parameters of that kernel; NULL: its defaults */
    tess_compute compute; /* TESS_COMPUTE_DEFAULT */
} tess_options;

/* C = alpha*A*B + beta*C, with A m×k, B k×n, C m×n.
 *   Types       A and B alike, and C:  f32→f32  f64→f64  f16→f16 or f32  bf16→bf16 or f32  i32→i32  i8→i32.
 *               16-bit inputs accumulate in f32 and round once at the end. Integers wrap modulo 2^32.
 *   alpha, beta are rounded to the accumulation type; for integer results they must be integers.
 *   Zero sizes  are fine; k = 0 gives beta*C. beta = 0 never reads C. alpha = 0 never reads A or B.
 *   Aliasing    C must share no element with A or B; disjoint parts of one buffer are fine, but for strides so
 *               entangled that it cannot be told in time: those are refused.
 * The same call on the same device gives the same bits, whatever the number of threads; but for f32 by parts and shares of k on a
 * GPU whose memory is too full for them, which are then multiplied otherwise. */
TESS_API tess_status tess_gemm(tess_context *ctx, double alpha, const tess_matrix *A, const tess_matrix *B,
                               double beta, const tess_matrix *C, const tess_options *options);

/* `count` products at fixed distances, in elements: product i uses A.data + i*stride_a, and so on. stride_a
 * and stride_b may be 0 (one matrix for all); no two C may share an element. */
typedef struct tess_batch {
    int64_t count;
    int64_t stride_a, stride_b, stride_c;
} tess_batch;

/* A, B and C are the views of the first product. */
TESS_API tess_status tess_gemm_batched(tess_context *ctx, double alpha, const tess_matrix *A,
                                       const tess_matrix *B, double beta, const tess_matrix *C,
                                       const tess_batch *batch, const tess_options *options);

/* For those who think in leading dimensions. The numbers are CBLAS's, so its constants can be passed. */
typedef enum tess_layout { TESS_ROW_MAJOR = 101, TESS_COL_MAJOR = 102 } tess_layout;
typedef enum tess_trans { TESS_NO_TRANS = 111, TESS_TRANS = 112, TESS_CONJ_TRANS = 113 } tess_trans;

TESS_API tess_status tess_sgemm(tess_context *ctx, tess_layout layout, tess_trans trans_a, tess_trans trans_b,
                                int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                                const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
TESS_API tess_status tess_dgemm(tess_context *ctx, tess_layout layout, tess_trans trans_a, tess_trans trans_b,
                                int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                                const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

/* ---- Context: one device, its threads and its memory ---- */

/* Opens a device by name: "auto" (or NULL) takes $TESSERA_DEVICE if set, else the best device here; "cpu";
 * "cuda" or "cuda:1" for a GPU; "sim" for the simulator, which runs a GPU's kernels on the CPU, thread by thread, and
 * "sim:checked" for the same with every access to memory checked. "auto" never takes the simulator.
 * Threads: $TESSERA_NUM_THREADS (1 to 1024; what is no such number is refused), else $OMP_NUM_THREADS, else one per CPU that
 * the calling thread may use.
 * A context may be used from any thread, and from several: calls on one context take turns, but for runs of plans so
 * small that they need nothing of the context, which wait for nobody. Contexts are independent, so one per thread is
 * the way to run products side by side. After fork() the child may go on using a cpu context it inherited or open its
 * own; CUDA does not survive a fork, so there a GPU is refused.
 * On failure *ctx is NULL and the sentence is in tess_error(NULL). */
TESS_API tess_status tess_open(tess_context **ctx, const char *device);

/* Frees everything. Refused while plans or operands of this context live. NULL is fine. */
TESS_API tess_status tess_close(tess_context *ctx);

/* How many threads products may use, 1 to 1024; 0 restores the default of tess_open. */
TESS_API tess_status tess_set_threads(tess_context *ctx, int threads);
TESS_API int tess_threads(const tess_context *ctx);

/* What is known of a device. Sizes are bytes; 0 means not known or not present. */
typedef struct tess_device_info {
    char name[32];    /* what tess_open takes: "cpu", "cuda:0" */
    char model[128];  /* "Neoverse-N1", "NVIDIA H200" */
    char isa[64];     /* the instruction set its kernels use here: "128-bit vectors", "sm_90a" */
    char kernels[16]; /* the tess_kernel_info.device of the kernels it runs: "cpu", "gpu" */
    int cores;        /* CPUs that the thread may use which first asked; multiprocessors of a GPU */
    int threads;      /* the number of threads a product may use; 1 for a GPU */
    int own_memory;   /* 1 if it computes in memory of its own, which tess_alloc gives */
    int64_t memory;
    int64_t l1d, l2, l3;
} tess_device_info;

TESS_API tess_status tess_device_facts(const tess_context *ctx, tess_device_info *info);

/* The devices of this machine, best first: index 0 is what "auto" opens when $TESSERA_DEVICE is not set. */
TESS_API int tess_count_devices(void);
TESS_API tess_status tess_describe_device(int index, tess_device_info *info);

/* What more is known of a GPU. */
typedef struct tess_gpu_info {
    int compute_major, compute_minor; /* compute capability */
    int sms, warp;
    int clock_khz, memory_clock_khz, memory_bus_bits;
    int max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
    int max_block[3], max_grid[3];
    int registers_per_block, registers_per_sm;
    int shared_per_block, shared_per_block_most, shared_per_sm, shared_reserved; /* bytes */
    int64_t l2, memory;
    int driver_version, compiler_version; /* 13000 is 13.0 */
    /* From clocks and units, not measured; 0 if not known for this card. */
    double f32_flops, f64_flops, memory_bytes; /* a second */
    double critical_intensity;                 /* f32 operations per byte below which memory is the limit */
} tess_gpu_info;

/* `index` as in tess_describe_device. TESS_ERROR_DEVICE if that is no GPU. */
TESS_API tess_status tess_describe_gpu(int index, tess_gpu_info *info);

/* The libraries a GPU is used through; they are looked for when first needed. Texts stay valid. */
typedef struct tess_library_info {
    const char *name;    /* "CUDA driver", "NVRTC", "NVML", "cuBLAS", "cuBLASLt" */
    const char *use;     /* what it is for */
    const char *path;    /* "" if it was not found */
    const char *version; /* "" if not known */
    const char *problem; /* why it cannot be used, "" if it can */
    const char *tried;   /* every file tried, one a line */
} tess_library_info;

TESS_API int tess_count_libraries(void);
TESS_API tess_status tess_describe_library(int index, tess_library_info *info);

/* Memory of the device, for products that stay there. On the cpu it is host memory. */
TESS_API tess_status tess_alloc(tess_context *ctx, size_t bytes, void **memory);
TESS_API tess_status tess_free(tess_context *ctx, void *memory);
/* Copies between any two of host and device, after all work queued before, and waits for the end of it. */
TESS_API tess_status tess_copy(tess_context *ctx, void *to, const void *from, size_t bytes);
/* Waits until everything this context has queued on its stream is done, and reports what went wrong with it. */
TESS_API tess_status tess_wait(tess_context *ctx);

/* The stream (a CUstream or cudaStream_t) that products on device memory are queued on; NULL, the default, is
 * CUDA's default stream. Once a product has run, running it again neither allocates nor waits, so that it can
 * be captured in a graph. Products of a context share its workspace, and tess_wait and tess_copy look at the stream that is set:
 * what was queued on another one must have ended before, or be made to come first (cuStreamWaitEvent). */
TESS_API tess_status tess_set_stream(tess_context *ctx, void *stream);

/* Memory of the device that products may use for copies and packing instead of memory the context allocates
 * (see tess_plan_workspace). It must begin at a multiple of 16 bytes, as malloc's does, on a GPU of 256, as
 * tess_alloc's does, and stays the caller's. NULL goes back to the context's own. A product that needs more fails with a sentence that says how much.
 * What the context had allocated for that itself is freed, so that graphs captured with it must not be launched again. */
TESS_API tess_status tess_set_workspace(tess_context *ctx, void *memory, size_t bytes);

/* How the last product whose matrices lay in host memory spent its time, in seconds; the parts overlap. All 0
 * on the cpu. */
typedef struct tess_staging {
    double to_device, kernel, to_host; /* busy with each */
    double total;
} tess_staging;
TESS_API tess_status tess_staging_times(const tess_context *ctx, tess_staging *times);

/* Which way a product of f32 took whose kernel splits its matrices: the data decides, on the device (docs/NUMERICS.md). */
typedef enum tess_way {
    TESS_WAY_ONLY = 0,   /* its kernel has but one way, or nothing has run */
    TESS_WAY_FP16X3 = 1, /* three products of f16 */
    TESS_WAY_BF16X6 = 2, /* six products of bf16 */
    TESS_WAY_F32 = 3     /* f32 multiply-adds: infinities, NaN, or numbers that no parts can carry */
} tess_way;
/* Of the last product on this context, or the last part of it that its matrices were cut into. Waits for its end. */
TESS_API tess_status tess_way_taken(tess_context *ctx, tess_way *way);

/* What the device is doing now; NaN or "" where it does not tell. */
typedef struct tess_device_state {
    double clock_mhz, memory_clock_mhz, power_w, temperature_c;
    char throttled[96]; /* the reasons why clocks are held back: "power cap" */
} tess_device_state;
TESS_API tess_status tess_read_state(const tess_context *ctx, tess_device_state *state);

/* What the simulator noticed in the last product on "sim:checked" that is no error but worth knowing (bank conflicts,
 * shared memory that leaves multiprocessors idle), one sentence a line; "" if nothing, and on every other device. The
 * text stays valid until the next product on this context. */
TESS_API const char *tess_observations(const tess_context *ctx);

/* ---- Plans: decide once, run many times ---- */

typedef struct tess_plan tess_plan;

/* Decides how to multiply matrices of these types, sizes and strides; no element is read, and data may be
 * NULL. `batch` and `options` may be NULL. On failure *plan is NULL. */
TESS_API tess_status tess_plan_gemm(tess_context *ctx, const tess_matrix *A, const tess_matrix *B,
                                    const tess_matrix *C, const tess_batch *batch,
                                    const tess_options *options, tess_plan **plan);

/* Runs it. The views must have the types, sizes and strides planned for; only their data may differ. */
TESS_API tess_status tess_run(tess_plan *plan, double alpha, const tess_matrix *A, const tess_matrix *B,
                              double beta, const tess_matrix *C);

/* The kernel's name; its parameters, as options.params takes them; and a sentence: which kernel, with which
 * parameters, on what, and why. If the last rows or columns of C have a kernel of their own, only the sentence
 * names it. All are valid as long as the plan. */
TESS_API const char *tess_plan_kernel(const tess_plan *plan);
TESS_API const char *tess_plan_params(const tess_plan *plan);
TESS_API const char *tess_plan_sentence(const tess_plan *plan);

/* Bytes of workspace a run uses, with the threads that the context had when the plan was made. On a GPU, matrices that begin
 * at no multiple of 16 bytes may be copied as well, which a plan, without addresses, cannot tell: at most as many bytes as A
 * and B have, with lines rounded up to 128. */
TESS_API int64_t tess_plan_workspace(const tess_plan *plan);

/* A matrix that many products share can be prepared once: what a kernel makes of it before it multiplies (the parts that
 * f32 is split into, on Hopper) is then kept beside it. Results are the same to the bit. The matrix must lie in device
 * memory, and neither change nor go away while the operand lives. Where there is nothing to prepare (other types, other
 * devices, k above 16384) an operand keeps nothing, and products run as without it. Waits for its end.
 * `role` is its place in products: an A, or a B. Products that share an operand must be on one stream, since what is kept
 * may be written anew. On failure *operand is NULL. */
typedef struct tess_operand tess_operand;
typedef enum tess_role { TESS_ROLE_A = 0, TESS_ROLE_B = 1 } tess_role;
TESS_API tess_status tess_prepare(tess_context *ctx, tess_role role, const tess_matrix *M,
                                  tess_operand **operand);
/* Bytes of device memory that it keeps. */
TESS_API int64_t tess_operand_bytes(const tess_operand *operand);
/* Runs of the plan use these from now on, and then take no other data for A and B than they were prepared from; NULL:
 * that matrix is not prepared. Kernels that do not split ignore them. Not for batches, and not while another thread runs
 * the plan. */
TESS_API tess_status tess_use_operands(tess_plan *plan, tess_operand *A, tess_operand *B);
/* Refused while plans use it. NULL is fine. */
TESS_API tess_status tess_free_operand(tess_operand *operand);

/* What a GPU's kernel is made of; all 0 on the cpu. A plan that has not run may have to compile first. */
typedef struct tess_kernel_facts {
    int registers, shared_bytes, spill_bytes; /* of a thread; of a block; of a thread */
    int block_threads, blocks_per_sm;
    int64_t blocks;
    double compile_ms; /* 0: it came from a cache */
} tess_kernel_facts;
TESS_API tess_status tess_plan_facts(tess_plan *plan, tess_kernel_facts *facts);

/* NULL is fine. */
TESS_API void tess_free_plan(tess_plan *plan);

/* ---- Expert: kernels, data, verification ---- */

/* One kernel of the registry. The texts are constants. */
typedef struct tess_kernel_info {
    const char *name;    /* "cpu_03_packed", "simt_05_shared" */
    const char *device;  /* "cpu", "gpu" */
    int number;          /* its place on the ladder of that device; 0: a peer, somebody else's product */
    const char *summary; /* one line */
    const char *types;   /* the products it takes: "f32 f64 f16 ..." */
    const char *params;  /* its parameters and what they mean, one "NAME: text" a line; "" if none */
    const char *needs;   /* what it needs of a device: "sm_80", "sm_90 alone" if no other; "" if nothing */
} tess_kernel_info;

TESS_API int tess_count_kernels(void);
TESS_API tess_status tess_describe_kernel(int index, tess_kernel_info *info);

/* The text of a GPU kernel's file: its header tells its story (change, why, expect, next). *size is the room at `text`,
 * then the bytes of all of it with the zero at its end; text is cut if the room is smaller, and may be NULL. */
TESS_API tess_status tess_kernel_text(const char *kernel, char *text, size_t *size);

/* The value of a formula such as those in kernels' headers: numbers, names, + - * / % ( ), comparisons (1 or 0), && and
 * ||, ceil(x), floor(x), min(x, y), max(x, y). Arithmetic is real: 7/2 is 3.5. */
typedef struct tess_named_value {
    const char *name;
    double value;
} tess_named_value;
TESS_API tess_status tess_evaluate(const char *formula, const tess_named_value *names, size_t count,
                                   double *value);

/* What NVRTC makes of a GPU kernel for an architecture (90 is sm_90): registers, static and dynamic shared memory, spills,
 * threads of a block. No GPU is needed. `params` as in tess_options. TESS_ERROR_DEVICE where there is no NVRTC, or it does
 * not know the architecture. */
TESS_API tess_status tess_compile_facts(const char *kernel, const char *params, tess_type type,
                                        int architecture, tess_kernel_facts *facts);

/* What this context's device can do at best with its present number of threads, measured: operations per
 * second of multiply-adds (two each) on registers alone, for f32 or f64 (where a GPU's tensor cores multiply
 * f64, by those); and bytes per second read from memory. Takes a tenth of a second or so; the second allocates
 * several times the last cache. */
TESS_API tess_status tess_measure_peak(tess_context *ctx, tess_type type, double *flops);
TESS_API tess_status tess_measure_bandwidth(tess_context *ctx, double *bytes);

/* Seconds of one run on the device, the mean of `repeats` back to back. On a GPU the runs are captured as a graph
 * and timed by the device itself, behind other work, so that neither launches nor gaps are in the time; all
 * matrices must lie in device memory. On the cpu it is the clock. cold: the caches are filled with something
 * else before each run, untimed. */
TESS_API tess_status tess_time(tess_plan *plan, double alpha, const tess_matrix *A, const tess_matrix *B,
                               double beta, const tess_matrix *C, int64_t repeats, int cold, double *seconds);

/* A level of a GPU's memory, measured by small kernels: how long one dependent access takes, and how fast all
 * multiprocessors together read it. */
typedef enum tess_level {
    TESS_LEVEL_REGISTERS = 0,
    TESS_LEVEL_SHARED = 1,
    TESS_LEVEL_L1 = 2,
    TESS_LEVEL_L2 = 3,
    TESS_LEVEL_MEMORY = 4
} tess_level;
typedef struct tess_level_info {
    int64_t bytes; /* of all of it: registers, shared memory and L1 of all multiprocessors together */
    double cycles, nanoseconds;
    double bytes_per_second;
} tess_level_info;
TESS_API tess_status tess_measure_level(tess_context *ctx, tess_level level, tess_level_info *info);

/* How shared loads are counted: as the kernel's text has them, or as ptxas makes them: repeated ones once, and
 * neighbouring ones joined to 64 and 128 bits. */
typedef enum tess_count_view { TESS_COUNT_SOURCE = 0, TESS_COUNT_COMPILED = 1 } tess_count_view;

/* What a product does to a GPU's memory, as Nsight Compute counts it; docs/COUNTERS.md has the rules and
 * Nsight's names. A request or instruction is one of a warp; a sector is 32 bytes; a wavefront is one pass
 * through the 32 banks of shared memory, a conflict one that a better layout would save. Asynchronous copies
 * (cp.async) count as loads of global memory and as stores to shared memory. */
typedef struct tess_counters {
    double global_load_requests, global_load_sectors, global_load_bytes; /* bytes: asked for by the lanes */
    double global_store_requests, global_store_sectors, global_store_bytes;
    double shared_load_instructions, shared_load_wavefronts, shared_load_conflicts;
    double shared_store_instructions, shared_store_wavefronts, shared_store_conflicts;
    double barriers;            /* of one block */
    double flops, flops_issued; /* 2*m*n*k; with those on padding */
    /* Read and written through L2: if a block never loads a sector twice from there; if every load goes
     * there. And of A, B and C, each once. */
    double l2_sectors_least, l2_sectors_most;
    double dram_sectors_least;
    double distinct_bytes;    /* of global memory, loads and stores: each byte once a request */
    double global_wavefronts; /* passes of accesses through L1, one 128-byte line at a time; a model */
    double blocks, blocks_traced;
    int estimated;           /* 1: blocks that may not be exactly alike were taken to be so */
    double mma_instructions; /* of tensor cores, 16 by 8 sums each */
} tess_counters;

/* What the instructions of one line of the kernel's file add to the sum: requests to distinct_bytes, without
 * barriers, flops and bounds, which are 0 here. Line 0 is what belongs to no line. */
typedef struct tess_line_counters {
    int line;
    tess_counters counters;
} tess_line_counters;

/* Counts what the planned product, with alpha 1 and beta 0, would do on a GPU whose matrices begin at multiples
 * of 256 bytes. The plan must be of a "sim" context; no data is needed and none is touched. One block of each
 * kind is run and stands for all that are alike. The copies of views that do not lie in rows
 * (tess_plan_sentence names them) are not counted. `lines` may be NULL; else *line_count is its room, and
 * becomes the number of lines there are; they are sorted. */
TESS_API tess_status tess_count(tess_plan *plan, tess_count_view view, tess_counters *sum,
                                tess_line_counters *lines, size_t *line_count);

/* The cache of compiled kernels: $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera. */
typedef struct tess_cache_info {
    char directory[1024];
    char problem[256]; /* why it is not used; "" if it is */
    int64_t entries, bytes;
} tess_cache_info;
TESS_API tess_status tess_describe_cache(tess_cache_info *info);
/* Removes every entry; `removed` may be NULL. */
TESS_API tess_status tess_clear_cache(int64_t *removed);

/* Data to multiply. Element (i, j) depends only on seed, kind, i, j and the number of columns: never on
 * strides or type. Integer types take the integers nearest to the values. */
typedef enum tess_fill_kind {
    TESS_FILL_UNIFORM = 0, /* uniform in [-range, range), then rounded to the type */
    TESS_FILL_NORMAL = 1,  /* normal with standard deviation `range` */
    TESS_FILL_INTEGER = 2, /* integers, uniform in -range … range */
    TESS_FILL_VALUE = 3    /* every element is `range` (NaN poisons; floating types only) */
} tess_fill_kind;
TESS_API tess_status tess_fill(const tess_matrix *M, tess_fill_kind kind, double range, uint64_t seed);

/* An integer r for which products of integers in -r … r, k of them, times alpha plus beta times such an integer, stay exact in
 * the accumulation type of `type`; where a power of two divides alpha or beta there may be a larger one. 0 if there is none. */
TESS_API int64_t tess_exact_range(tess_type type, int64_t k, double alpha, double beta);

typedef enum tess_check_method {
    /* The oracle up to about 10^9 multiply-adds (f64: a quarter of that; integers that add up exactly: 3·10^7), else the
     * checksum. */
    TESS_CHECK_AUTO = 0,
    TESS_CHECK_ORACLE = 1, /* every element against a product accumulated in at least f64 */
    TESS_CHECK_CHECKSUM =
        2, /* C*x against alpha*A*(B*x) + beta*C0*x for random signs x, and sampled elements */
    TESS_CHECK_EXACT =
        3 /* as AUTO, but the data is integer-valued and exact: only equal bits pass (of large products with
                          * f16 or bf16 results, in the sampled elements) */
} tess_check_method;

/* What a check found. Errors are measured two ways (docs/NUMERICS.md):
 *   rel_error  ‖C − ref‖ / ‖ref‖, Frobenius
 *   max_error  max |C − ref| / (|alpha| |A| |B| + |beta| |C0|), componentwise
 * Both are infinite if a wrong element or its ref is not finite. An element is right if
 * |C − ref| ≤ (k + 8) u_acc (|alpha| |A| |B| + |beta| |C0|) + u_out |ref|. */
typedef struct tess_check {
    int passed;
    tess_check_method method; /* what was done: TESS_CHECK_ORACLE or TESS_CHECK_CHECKSUM */
    double rel_error, max_error;
    double used;      /* the largest |C − ref| as a share of what the bound allows; passes up to 1 */
    int64_t wrong;    /* elements and rows of the checksum outside their bound, each time one is looked at */
    int64_t row, col; /* the worst one; col is -1 for a row of the checksum */
    double got, want; /* its value and the reference */
} tess_check;

/* Checks C against alpha*A*B + beta*C0. C0 is C as it was before, and may be NULL if beta is 0. `seed` draws
 * the checksum's vectors and samples. Host memory only. Returns TESS_OK if the check could be made: look at
 * check->passed. */
TESS_API tess_status tess_check_gemm(double alpha, const tess_matrix *A, const tess_matrix *B, double beta,
                                     const tess_matrix *C0, const tess_matrix *C, tess_check_method method,
                                     uint64_t seed, tess_check *check);

#ifdef __cplusplus
}
#endif

#endif
