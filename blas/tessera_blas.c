/* tessera_blas.c: sgemm and dgemm under the names that BLAS programs call them by, for LD_PRELOAD:
 *
 *     LD_PRELOAD=/usr/local/lib/libtessera-blas.so python3 script.py
 *
 * Fortran's and CBLAS's names, with integers of 32 and of 64 bits, and as the OpenBLAS inside NumPy and SciPy has them. What
 * else a program calls stays with the BLAS it was linked with. $TESSERA_DEVICE says where products are computed, the CPU if it is
 * not set; $TESSERA_BLAS_VERBOSE=1 tells of each product on stderr.
 *
 * Arguments that BLAS forbids go to xerbla_ or cblas_xerbla, which programs may replace, and the call returns, as BLAS's do. BLAS
 * knows no other failures: where the device asked for cannot multiply (there is none, or it did not survive a fork), the CPU does;
 * and what that refuses (memory is short, C lies on top of A or B) is computed by the three loops of its definition.
 *
 * BLAS has no plans, so each thread keeps those of its last products. They all belong to one context: large products take turns. */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera.h>

#define EXPORT __attribute__((visibility("default")))

/* One call, whatever its names and integers were. */
typedef struct product {
    tess_type type;
    tess_layout layout;
    tess_trans trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
} product;

/* ---- What was decided for the last products ---- */

enum { KEPT = 8 };

typedef struct kept_plan {
    product what;
    tess_plan *plan; /* NULL: none yet */
    tess_matrix A, B, C;
} kept_plan;

typedef struct kept_plans {
    kept_plan each[KEPT];
    int oldest;
} kept_plans;

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static tess_context *context, *on_cpu; /* the device asked for, and the CPU; NULL if it cannot be opened */
static pthread_key_t plans_of_thread;
static bool has_key, is_verbose;

static void free_plans(void *kept) {
    kept_plans *plans = kept;
    for (int i = 0; i < KEPT; i++) tess_free_plan(plans->each[i].plan);
    free(plans);
}

static void open_context(void) {
    const char *device = getenv("TESSERA_DEVICE"), *verbose = getenv("TESSERA_BLAS_VERBOSE");
    is_verbose = verbose && *verbose && strcmp(verbose, "0") != 0;
    has_key = pthread_key_create(&plans_of_thread, free_plans) == 0;
    if (tess_open(&on_cpu, "cpu") != TESS_OK) fprintf(stderr, "libtessera-blas: %s\n", tess_error(NULL));
    context = on_cpu;
    if (device && *device && strcmp(device, "cpu") != 0 && tess_open(&context, device) != TESS_OK) {
        fprintf(stderr, "libtessera-blas: %s; the CPU multiplies instead\n", tess_error(NULL));
        context = on_cpu;
    }
}

/* The view of an argument that is rows×cols after its transposition. */
static tess_matrix view(const product *p, tess_trans trans, int64_t rows, int64_t cols, int64_t ld) {
    bool along_rows = (p->layout == TESS_ROW_MAJOR) == (trans == TESS_NO_TRANS);
    return tess_view_strided(p->type, rows, cols, NULL, along_rows ? ld : 1, along_rows ? 1 : ld);
}

static bool is_same(const product *x, const product *y) {
    return x->m == y->m && x->n == y->n && x->k == y->k && x->type == y->type && x->layout == y->layout &&
           x->trans_a == y->trans_a && x->trans_b == y->trans_b && x->lda == y->lda && x->ldb == y->ldb &&
           x->ldc == y->ldc;
}

static kept_plans *plans_here(void) {
    kept_plans *plans = has_key ? pthread_getspecific(plans_of_thread) : NULL;
    if (plans || !has_key) return plans;
    plans = calloc(1, sizeof *plans);
    if (plans && pthread_setspecific(plans_of_thread, plans) != 0) {
        free(plans);
        return NULL;
    }
    return plans;
}

static void set_views(kept_plan *k) {
    const product *p = &k->what;
    k->A = view(p, p->trans_a, p->m, p->k, p->lda);
    k->B = view(p, p->trans_b, p->k, p->n, p->ldb);
    k->C = view(p, TESS_NO_TRANS, p->m, p->n, p->ldc);
}

/* NULL where there is none and none can be made. */
static kept_plan *plan_for(const product *p) {
    kept_plans *plans = plans_here();
    if (!plans) return NULL;
    for (int i = 0; i < KEPT; i++)
        if (plans->each[i].plan && is_same(&plans->each[i].what, p)) return &plans->each[i];
    kept_plan *found = &plans->each[plans->oldest], made = {.what = *p};
    set_views(&made);
    if (tess_plan_gemm(context, &made.A, &made.B, &made.C, NULL, NULL, &made.plan) != TESS_OK) return NULL;
    tess_free_plan(found->plan);
    *found = made;
    plans->oldest = (plans->oldest + 1) % KEPT;
    return found;
}

/* ---- A product ---- */

/* The definition. */
#define BY_LOOPS(name, real)                                                                                 \
    static void name(const tess_matrix *A, const tess_matrix *B, const tess_matrix *C, double alpha,         \
                     double beta) {                                                                          \
        const real *a = A->data, *b = B->data;                                                               \
        real *c = C->data;                                                                                   \
        for (int64_t i = 0; i < C->rows; i++)                                                                \
            for (int64_t j = 0; j < C->cols; j++) {                                                          \
                real sum = 0, *at = c + i * C->row_stride + j * C->col_stride;                               \
                for (int64_t p = 0; alpha != 0 && p < A->cols; p++)                                          \
                    sum +=                                                                                   \
                        a[i * A->row_stride + p * A->col_stride] * b[p * B->row_stride + j * B->col_stride]; \
                sum *= (real)alpha;                                                                          \
                *at = beta == 0 ? sum : sum + (real)beta * *at;                                              \
            }                                                                                                \
    }
BY_LOOPS(by_loops_f32, float)
BY_LOOPS(by_loops_f64, double)

static void tell(const product *p, const char *how) {
    fprintf(stderr, "libtessera-blas: %cgemm %" PRId64 "x%" PRId64 "x%" PRId64 ", %s\n",
            p->type == TESS_F32 ? 's' : 'd', p->m, p->n, p->k, how);
}

static void multiply(const product *p, double alpha, const void *a, const void *b, double beta, void *c) {
    pthread_once(&opened, open_context);
    kept_plan unplanned = {.what = *p}, *used = context ? plan_for(p) : NULL;
    bool is_planned = used, done = false;
    if (!is_planned) {
        used = &unplanned;
        set_views(used);
    }
    memcpy(&used->A.data, &a, sizeof a); /* a view's data is not const; those of A and B are only read */
    memcpy(&used->B.data, &b, sizeof b);
    used->C.data = c;
    if (is_planned) done = tess_run(used->plan, alpha, &used->A, &used->B, beta, &used->C) == TESS_OK;
    if (is_verbose)
        tell(p, done ? tess_plan_kernel(used->plan) : context ? tess_error(context) : "there is no device");
    if (!done && on_cpu && on_cpu != context)
        done = tess_gemm(on_cpu, alpha, &used->A, &used->B, beta, &used->C, NULL) == TESS_OK;
    if (!done) (p->type == TESS_F32 ? by_loops_f32 : by_loops_f64)(&used->A, &used->B, &used->C, alpha, beta);
}

/* ---- What BLAS asks of its arguments ---- */

/* The number of the first argument that is wrong, as Fortran counts them; 0: none is. */
static int first_wrong(const product *p) {
    bool by_rows = p->layout == TESS_ROW_MAJOR;
    int64_t a_least = by_rows == (p->trans_a == TESS_NO_TRANS) ? p->k : p->m,
            b_least = by_rows == (p->trans_b == TESS_NO_TRANS) ? p->n : p->k, c_least = by_rows ? p->n : p->m;
    if (!p->trans_a) return 1;
    if (!p->trans_b) return 2;
    if (p->m < 0) return 3;
    if (p->n < 0) return 4;
    if (p->k < 0) return 5;
    if (p->lda < (a_least > 1 ? a_least : 1)) return 8;
    if (p->ldb < (b_least > 1 ? b_least : 1)) return 10;
    if (p->ldc < (c_least > 1 ? c_least : 1)) return 13;
    return 0;
}

/* 0 stands for what is no transposition. */
static tess_trans trans_of_letter(char letter) {
    switch (letter) {
    case 'n':
    case 'N': return TESS_NO_TRANS;
    case 't':
    case 'T': return TESS_TRANS;
    case 'c':
    case 'C': return TESS_CONJ_TRANS;
    default: return (tess_trans)0;
    }
}
static tess_trans trans_of_number(int number) {
    return number >= TESS_NO_TRANS && number <= TESS_CONJ_TRANS ? (tess_trans)number : (tess_trans)0;
}

/* The program's own, or another library's. */
extern void xerbla_(const char *name, const int64_t *argument, size_t length) __attribute__((weak));
extern void cblas_xerbla(int argument, const char *name, const char *form, ...) __attribute__((weak));

static void call_fortran(const product *p, double alpha, const void *a, const void *b, double beta, void *c) {
    const char *name = p->type == TESS_F32 ? "SGEMM " : "DGEMM ";
    /* Read as 32 bits or as 64: machines here have the low ones first. */
    int64_t wrong = first_wrong(p);
    if (!wrong && p->m > 0 && p->n > 0) multiply(p, alpha, a, b, beta, c);
    if (wrong && xerbla_) xerbla_(name, &wrong, strlen(name));
    if (wrong && !xerbla_)
        fprintf(stderr, "libtessera-blas: argument %d of %sis not valid\n", (int)wrong, name);
}

/* The first argument is the layout, so that the others' numbers are one more. cblas_xerbla is told those of the product that Fortran
 * would be asked for, the transposed one where C lies in rows, and puts them right itself: so the reference has it. */
static int number_for_cblas(const product *p, int wrong) {
    static const int transposed[] = {[3] = 4, [4] = 3, [8] = 10, [10] = 8, [13] = 0};
    return 1 + (p->layout == TESS_ROW_MAJOR && transposed[wrong] ? transposed[wrong] : wrong);
}
static void call_cblas(const product *p, double alpha, const void *a, const void *b, double beta, void *c) {
    const char *name = p->type == TESS_F32 ? "cblas_sgemm" : "cblas_dgemm";
    bool has_layout = p->layout == TESS_ROW_MAJOR || p->layout == TESS_COL_MAJOR;
    int wrong = has_layout ? first_wrong(p) : 0;
    bool is_right = has_layout && !wrong;
    if (is_right && p->m > 0 && p->n > 0) multiply(p, alpha, a, b, beta, c);
    if (!is_right && cblas_xerbla) cblas_xerbla(number_for_cblas(p, wrong), name, "");
    if (!is_right && !cblas_xerbla)
        fprintf(stderr, "libtessera-blas: argument %d of %s is not valid\n", wrong + 1, name);
}

/* ---- The names ---- */

#define FORTRAN(name, type, real, integer)                                                                  \
    EXPORT void name(const char *trans_a, const char *trans_b, const integer *m, const integer *n,          \
                     const integer *k, const real *alpha, const real *a, const integer *lda, const real *b, \
                     const integer *ldb, const real *beta, real *c, const integer *ldc);                    \
    void name(const char *trans_a, const char *trans_b, const integer *m, const integer *n,                 \
              const integer *k, const real *alpha, const real *a, const integer *lda, const real *b,        \
              const integer *ldb, const real *beta, real *c, const integer *ldc) {                          \
        const product p = {type,                                                                            \
                           TESS_COL_MAJOR,                                                                  \
                           trans_of_letter(*trans_a),                                                       \
                           trans_of_letter(*trans_b),                                                       \
                           *m,                                                                              \
                           *n,                                                                              \
                           *k,                                                                              \
                           *lda,                                                                            \
                           *ldb,                                                                            \
                           *ldc};                                                                           \
        call_fortran(&p, (double)*alpha, a, b, (double)*beta, c);                                           \
    }

#define CBLAS(name, type, real, integer)                                                                 \
    EXPORT void name(int layout, int trans_a, int trans_b, integer m, integer n, integer k, real alpha,  \
                     const real *a, integer lda, const real *b, integer ldb, real beta, real *c,         \
                     integer ldc);                                                                       \
    void name(int layout, int trans_a, int trans_b, integer m, integer n, integer k, real alpha,         \
              const real *a, integer lda, const real *b, integer ldb, real beta, real *c, integer ldc) { \
        const product p = {type,                                                                         \
                           (tess_layout)layout,                                                          \
                           trans_of_number(trans_a),                                                     \
                           trans_of_number(trans_b),                                                     \
                           m,                                                                            \
                           n,                                                                            \
                           k,                                                                            \
                           lda,                                                                          \
                           ldb,                                                                          \
                           ldc};                                                                         \
        call_cblas(&p, (double)alpha, a, b, (double)beta, c);                                            \
    }

/* Reference BLAS, OpenBLAS, BLIS; their kin with integers of 64 bits; and the OpenBLAS inside the wheels of NumPy and SciPy, of
 * either width. */
#define SINGLE(kind, name, integer) kind(name, TESS_F32, float, integer)
#define DOUBLE(kind, name, integer) kind(name, TESS_F64, double, integer)
SINGLE(FORTRAN, sgemm_, int32_t)
DOUBLE(FORTRAN, dgemm_, int32_t)
SINGLE(FORTRAN, scipy_sgemm_, int32_t)
DOUBLE(FORTRAN, scipy_dgemm_, int32_t)
SINGLE(FORTRAN, sgemm_64_, int64_t)
DOUBLE(FORTRAN, dgemm_64_, int64_t)
SINGLE(FORTRAN, scipy_sgemm_64_, int64_t)
DOUBLE(FORTRAN, scipy_dgemm_64_, int64_t)

SINGLE(CBLAS, cblas_sgemm, int32_t)
DOUBLE(CBLAS, cblas_dgemm, int32_t)
SINGLE(CBLAS, scipy_cblas_sgemm, int32_t)
DOUBLE(CBLAS, scipy_cblas_dgemm, int32_t)
SINGLE(CBLAS, cblas_sgemm64_, int64_t)
DOUBLE(CBLAS, cblas_dgemm64_, int64_t)
SINGLE(CBLAS, cblas_sgemm_64, int64_t)
DOUBLE(CBLAS, cblas_dgemm_64, int64_t)
SINGLE(CBLAS, scipy_cblas_sgemm64_, int64_t)
DOUBLE(CBLAS, scipy_cblas_dgemm64_, int64_t)
