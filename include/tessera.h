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
 * and a call that fails has not touched C.
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

/* Where a view's memory lies. On the cpu all three mean the same host memory, except that TESS_DEVICE is
 * refused there. */
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
    TESS_COMPUTE_DEFAULT = 0,    /* at least as accurate as f32 arithmetic */
    TESS_COMPUTE_F32_STRICT = 1, /* f32 multiply-adds and nothing else */
    TESS_COMPUTE_TF32 = 2,       /* inputs may be rounded to 11 significant bits */
    TESS_COMPUTE_BF16 = 3        /* inputs may be rounded to 8 significant bits */
} tess_compute;

/* Zero-initialise, then set what matters; NULL wherever options are taken means all defaults. */
typedef struct tess_options {
    const char *kernel;   /* a name from tess_describe_kernel; NULL: the planner chooses */
    const char *params;   /* "KC=256,MC=96", parameters of that kernel; NULL: its defaults */
    tess_compute compute; /* TESS_COMPUTE_DEFAULT */
} tess_options;

/* C = alpha*A*B + beta*C, with A m×k, B k×n, C m×n.
 *   Types       A and B alike, and C:  f32→f32  f64→f64  f16→f16 or f32  bf16→bf16 or f32  i32→i32  i8→i32.
 *               16-bit inputs accumulate in f32 and round once at the end. Integers wrap modulo 2^32.
 *   alpha, beta are rounded to the accumulation type; for integer results they must be integers.
 *   Zero sizes  are fine; k = 0 gives beta*C. beta = 0 never reads C. alpha = 0 never reads A or B.
 *   Aliasing    C must share no element with A or B; disjoint parts of one buffer are fine.
 * The same call on the same device gives the same bits, whatever the number of threads. */
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

/* Opens a device by name: "auto" (or NULL) takes $TESSERA_DEVICE if set, else the best device here; "cpu".
 * Threads: $TESSERA_NUM_THREADS, else $OMP_NUM_THREADS, else one per CPU this process may use.
 * A context may be used from any thread, and from several: calls on one context take turns. Contexts are
 * independent, so one per thread is the way to run products side by side. After fork() the child may go on
 * using a context it inherited or open its own.
 * On failure *ctx is NULL and the sentence is in tess_error(NULL). */
TESS_API tess_status tess_open(tess_context **ctx, const char *device);

/* Frees everything. Refused while plans of this context live. NULL is fine. */
TESS_API tess_status tess_close(tess_context *ctx);

/* How many threads products may use, 1 to 1024; 0 restores the default of tess_open. */
TESS_API tess_status tess_set_threads(tess_context *ctx, int threads);
TESS_API int tess_threads(const tess_context *ctx);

/* What is known of a device. Sizes are bytes; 0 means not known or not present. */
typedef struct tess_device_info {
    char name[32];   /* what tess_open takes: "cpu" */
    char model[128]; /* "Neoverse-N1" */
    char isa[64];    /* the instruction set its kernels use here: "128-bit vectors" */
    int cores;       /* CPUs this process may use */
    int threads;     /* the number of threads a product uses by default */
    int64_t memory;
    int64_t l1d, l2, l3;
} tess_device_info;

TESS_API tess_status tess_device_facts(const tess_context *ctx, tess_device_info *info);

/* The devices of this machine, best first: index 0 is what "auto" opens when $TESSERA_DEVICE is not set. */
TESS_API int tess_count_devices(void);
TESS_API tess_status tess_describe_device(int index, tess_device_info *info);

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

/* The kernel's name; and a sentence: which kernel, with which parameters, on what, and why. Both are valid as
 * long as the plan. */
TESS_API const char *tess_plan_kernel(const tess_plan *plan);
TESS_API const char *tess_plan_sentence(const tess_plan *plan);

/* NULL is fine. */
TESS_API void tess_free_plan(tess_plan *plan);

/* ---- Expert: kernels, data, verification ---- */

/* One kernel of the registry. The texts are constants. */
typedef struct tess_kernel_info {
    const char *name;    /* "cpu_03_packed" */
    const char *device;  /* "cpu" */
    int number;          /* its place on the ladder of that device */
    const char *summary; /* one line */
    const char *types;   /* the products it takes: "f32 f64 f16 ..." */
    const char *params;  /* its parameters and what they mean, one "NAME: text" a line; "" if none */
} tess_kernel_info;

TESS_API int tess_count_kernels(void);
TESS_API tess_status tess_describe_kernel(int index, tess_kernel_info *info);

/* What this context's device can do at best with its present number of threads, measured: operations per
 * second of multiply-adds (two each) on registers alone, for f32 or f64; and bytes per second read from
 * memory. Takes a tenth of a second or so; the second allocates several times the last cache. */
TESS_API tess_status tess_measure_peak(tess_context *ctx, tess_type type, double *flops);
TESS_API tess_status tess_measure_bandwidth(tess_context *ctx, double *bytes);

/* Data to multiply. Element (i, j) depends only on seed, kind, i, j and the number of columns: never on
 * strides or type. Integer types take the integers nearest to the values. */
typedef enum tess_fill_kind {
    TESS_FILL_UNIFORM = 0, /* uniform in [-range, range) */
    TESS_FILL_NORMAL = 1,  /* normal with standard deviation `range` */
    TESS_FILL_INTEGER = 2, /* integers, uniform in -range … range */
    TESS_FILL_VALUE = 3    /* every element is `range` (NaN poisons; floating types only) */
} tess_fill_kind;
TESS_API tess_status tess_fill(const tess_matrix *M, tess_fill_kind kind, double range, uint64_t seed);

/* The largest integer r for which products of integers in -r … r, k of them, times alpha plus beta times such
 * an integer, stay exact in the accumulation type of `type`. 0 if there is none. */
TESS_API int64_t tess_exact_range(tess_type type, int64_t k, double alpha, double beta);

typedef enum tess_check_method {
    TESS_CHECK_AUTO = 0,   /* the oracle up to about 10^9 multiply-adds, else the checksum */
    TESS_CHECK_ORACLE = 1, /* every element against a product accumulated in at least f64 */
    TESS_CHECK_CHECKSUM =
        2,               /* C*x against alpha*A*(B*x) + beta*C0*x for random signs x, and sampled elements */
    TESS_CHECK_EXACT = 3 /* as AUTO, but the data is integer-valued and exact: only equal bits pass */
} tess_check_method;

/* What a check found. Errors are measured two ways (docs/NUMERICS.md):
 *   rel_error  ‖C − ref‖ / ‖ref‖, Frobenius
 *   max_error  max |C − ref| / (|alpha| |A| |B| + |beta| |C0|), componentwise
 * and an element is right if |C − ref| ≤ (k + 8) u_acc (|alpha| |A| |B| + |beta| |C0|) + u_out |ref|. */
typedef struct tess_check {
    int passed;
    tess_check_method method; /* what was done: TESS_CHECK_ORACLE or TESS_CHECK_CHECKSUM */
    double rel_error, max_error;
    double used;      /* the largest |C − ref| as a share of what the bound allows; passes up to 1 */
    int64_t wrong;    /* elements, or rows of the checksum, outside their bound */
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
