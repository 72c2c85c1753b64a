/* tessera_blas.c: sgemm and dgemm under the names that BLAS programs call them by, for LD_PRELOAD:
 *
 *     LD_PRELOAD=/usr/local/lib/libtessera-blas.so python3 script.py
 *
 * Fortran's and CBLAS's names, with integers of 32 and of 64 bits, and as the OpenBLAS inside NumPy and SciPy has them. What
 * else a program calls stays with the BLAS it was linked with. $TESSERA_DEVICE says where products are computed, the CPU if it is
 * not set; $TESSERA_BLAS_VERBOSE=1 tells of each product on stderr.
 *
 * Arguments that BLAS forbids go to xerbla_ or cblas_xerbla, which programs may replace, and the call returns, as BLAS's do. BLAS
 * knows no other failures: where the device asked for cannot multiply (there is none, it broke down, or it did not survive a fork),
 * the CPU does; and what that refuses (memory is short, C lies on top of A or B) is computed by the three loops of its definition.
 *
 * BLAS has no plans, so each thread keeps those of its last products. They all belong to one context: large products take turns. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
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

/* A product has a place in one of the sets, found by a hash of all its numbers. */
enum { SETS = 32, SET_BITS = 5, WAYS = 4 };

typedef struct kept_plan {
    product what;
    tess_plan *plan; /* NULL: none yet */
    tess_matrix A, B, C;
} kept_plan;

typedef struct kept_plans {
    kept_plan each[SETS][WAYS];
    unsigned char oldest[SETS];
    kept_plan *last; /* the one that was used last; NULL: none was */
} kept_plans;

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static tess_context *context, *on_cpu; /* the device asked for, and the CPU; NULL if it cannot be opened */
static pthread_key_t plans_of_thread;
static bool has_key, is_verbose;

static void free_plans(void *kept) {
    kept_plans *plans = kept;
    for (int i = 0; i < SETS * WAYS; i++) tess_free_plan(plans->each[i / WAYS][i % WAYS].plan);
    free(plans);
}

static void open_context(void) {
    const char *device = getenv("TESSERA_DEVICE"), *verbose = getenv("TESSERA_BLAS_VERBOSE");
    is_verbose = verbose && *verbose && strcmp(verbose, "0") != 0;
    has_key = pthread_key_create(&plans_of_thread, free_plans) == 0;
    if (tess_open(&on_cpu, "cpu") != TESS_OK)
        fprintf(stderr, "libtessera-blas: %s; until then products are computed by plain loops, and slowly\n",
                tess_error(NULL));
    context = on_cpu;
    if (device && *device && strcmp(device, "cpu") != 0 && tess_open(&context, device) != TESS_OK) {
        fprintf(stderr, "libtessera-blas: %s; the CPU multiplies instead\n", tess_error(NULL));
        context = on_cpu;
    }
}

/* Whether lines of neighbours in memory are rows of an argument after its transposition. */
static bool is_in_rows(const product *p, tess_trans trans) {
    return (p->layout == TESS_ROW_MAJOR) == (trans == TESS_NO_TRANS);
}

/* The view of an argument that is rows×cols after its transposition. */
static tess_matrix view(const product *p, tess_trans trans, int64_t rows, int64_t cols, int64_t ld) {
    bool in_rows = is_in_rows(p, trans);
    return tess_view_strided(p->type, rows, cols, NULL, in_rows ? ld : 1, in_rows ? 1 : ld);
}

/* The same as lines. */
typedef struct lines {
    int64_t count, length;
} lines;

static lines lines_of(const product *p, tess_trans trans, int64_t rows, int64_t cols) {
    return is_in_rows(p, trans) ? (lines){rows, cols} : (lines){cols, rows};
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

static unsigned set_of(const product *p) {
    const int64_t numbers[] = {p->m, p->n, p->k, p->lda, p->ldb, p->ldc};
    uint64_t hash = (uint64_t)p->type << 24 ^ (uint64_t)p->layout << 16 ^ (uint64_t)p->trans_a << 8 ^
                    (uint64_t)p->trans_b;
    for (int i = 0; i < 6; i++) hash = (hash ^ (uint64_t)numbers[i]) * 0x9e3779b97f4a7c15u;
    return (unsigned)(hash >> (64 - SET_BITS));
}

/* NULL where there is none and none can be made. */
static kept_plan *plan_for(const product *p) {
    kept_plans *plans = plans_here();
    if (!plans) return NULL;
    if (plans->last && is_same(&plans->last->what, p)) return plans->last;
    unsigned set = set_of(p);
    kept_plan *in_set = plans->each[set];
    for (int i = 0; i < WAYS; i++)
        if (in_set[i].plan && is_same(&in_set[i].what, p)) return plans->last = &in_set[i];
    kept_plan *found = &in_set[plans->oldest[set]], made = {.what = *p};
    set_views(&made);
    if (tess_plan_gemm(context, &made.A, &made.B, &made.C, NULL, NULL, &made.plan) != TESS_OK) return NULL;
    tess_free_plan(found->plan);
    *found = made;
    plans->oldest[set] = (unsigned char)((plans->oldest[set] + 1) % WAYS);
    return plans->last = found;
}

/* ---- Copies of matrices ---- */

static int64_t at_least_1(int64_t value) {
    return value > 1 ? value : 1;
}

static void copy_lines(const product *p, lines l, void *to, int64_t to_ld, const void *from,
                       int64_t from_ld) {
    int64_t size = (int64_t)tess_type_size(p->type);
    for (int64_t i = 0; i < l.count; i++)
        memcpy((char *)to + i * to_ld * size, (const char *)from + i * from_ld * size,
               (size_t)(l.length * size));
}

/* Memory for all lines without gaps; NULL: there is not enough. */
static void *memory_for(const product *p, lines l) {
    size_t bytes;
    if (__builtin_mul_overflow((size_t)l.count, (size_t)l.length, &bytes) ||
        __builtin_mul_overflow(bytes, tess_type_size(p->type), &bytes))
        return NULL;
    return malloc(bytes > 0 ? bytes : 1);
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

/* A GPU that breaks down may have written some of C, which the CPU then needs as it was. Without memory for that the GPU is not
 * asked. */
static bool run_on_gpu(const product *p, const kept_plan *used, double alpha, double beta) {
    static atomic_bool has_told;
    lines of_c = lines_of(p, TESS_NO_TRANS, p->m, p->n);
    void *before = beta != 0 ? memory_for(p, of_c) : NULL;
    if (beta != 0 && !before) return false;
    if (before) copy_lines(p, of_c, before, of_c.length, used->C.data, p->ldc);
    bool done = tess_run(used->plan, alpha, &used->A, &used->B, beta, &used->C) == TESS_OK;
    if (!done && before) copy_lines(p, of_c, used->C.data, p->ldc, before, of_c.length);
    if (!done && !atomic_exchange(&has_told, true))
        fprintf(stderr, "libtessera-blas: %s; the CPU multiplies instead\n", tess_error(context));
    free(before);
    return done;
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
    if (is_planned)
        done = context == on_cpu ? tess_run(used->plan, alpha, &used->A, &used->B, beta, &used->C) == TESS_OK
                                 : run_on_gpu(p, used, alpha, beta);
    if (is_verbose)
        tell(p, done ? tess_plan_kernel(used->plan) : context ? tess_error(context) : "there is no device");
    if (!done && on_cpu && on_cpu != context)
        done = tess_gemm(on_cpu, alpha, &used->A, &used->B, beta, &used->C, NULL) == TESS_OK;
    if (!done) (p->type == TESS_F32 ? by_loops_f32 : by_loops_f64)(&used->A, &used->B, &used->C, alpha, beta);
}

/* Matrices that lie anywhere, as in Fortran's COMMON blocks, are multiplied as copies that do not; false: there is no memory for
 * them. */
static bool multiply_copies(const product *p, double alpha, const void *a, const void *b, double beta,
                            void *c) {
    const lines of[] = {lines_of(p, p->trans_a, p->m, p->k), lines_of(p, p->trans_b, p->k, p->n),
                        lines_of(p, TESS_NO_TRANS, p->m, p->n)};
    void *copies[3];
    product with = *p;
    for (int i = 0; i < 3; i++) copies[i] = memory_for(p, of[i]);
    bool enough = copies[0] && copies[1] && copies[2];
    if (enough) {
        with.lda = at_least_1(of[0].length), with.ldb = at_least_1(of[1].length), with.ldc = of[2].length;
        if (alpha != 0) copy_lines(p, of[0], copies[0], with.lda, a, p->lda);
        if (alpha != 0) copy_lines(p, of[1], copies[1], with.ldb, b, p->ldb);
        if (beta != 0) copy_lines(p, of[2], copies[2], with.ldc, c, p->ldc);
        multiply(&with, alpha, copies[0], copies[1], beta, copies[2]);
        copy_lines(p, of[2], c, p->ldc, copies[2], with.ldc);
    }
    for (int i = 0; i < 3; i++) free(copies[i]);
    return enough;
}

/* A call whose arguments are right. */
static void call(const product *p, double alpha, const void *a, const void *b, double beta, void *c) {
    size_t off =
        ((size_t)(uintptr_t)a | (size_t)(uintptr_t)b | (size_t)(uintptr_t)c) % tess_type_size(p->type);
    if (p->m == 0 || p->n == 0) return;
    if (off == 0 || !multiply_copies(p, alpha, a, b, beta, c)) multiply(p, alpha, a, b, beta, c);
}

/* ---- What BLAS asks of its arguments ---- */

/* The number of the first argument that is wrong, as Fortran counts them; 0: none is. */
static int first_wrong(const product *p) {
    if (!p->trans_a) return 1;
    if (!p->trans_b) return 2;
    if (p->m < 0) return 3;
    if (p->n < 0) return 4;
    if (p->k < 0) return 5;
    if (p->lda < at_least_1(lines_of(p, p->trans_a, p->m, p->k).length)) return 8;
    if (p->ldb < at_least_1(lines_of(p, p->trans_b, p->k, p->n).length)) return 10;
    if (p->ldc < at_least_1(lines_of(p, TESS_NO_TRANS, p->m, p->n).length)) return 13;
    return 0;
}

/* 0 stands for what is no transposition. Conjugated but not transposed is OpenBLAS's, and of real numbers nothing. */
static tess_trans trans_of_letter(char letter) {
    switch (letter) {
    case 'n':
    case 'N':
    case 'r':
    case 'R': return TESS_NO_TRANS;
    case 't':
    case 'T': return TESS_TRANS;
    case 'c':
    case 'C': return TESS_CONJ_TRANS;
    default: return (tess_trans)0;
    }
}
static tess_trans trans_of_number(int number) {
    enum { CONJ_NO_TRANS = 114 };
    if (number == CONJ_NO_TRANS) return TESS_NO_TRANS;
    return number >= TESS_NO_TRANS && number <= TESS_CONJ_TRANS ? (tess_trans)number : (tess_trans)0;
}

/* The program's own, or another library's. The last is of the reference CBLAS, and of nobody else. */
extern void xerbla_(const char *name, const int64_t *argument, size_t length) __attribute__((weak));
extern void cblas_xerbla(int argument, const char *name, const char *form, ...) __attribute__((weak));
extern int RowMajorStrg __attribute__((weak));

static void refuse_fortran(const product *p, int wrong) {
    const char *name = p->type == TESS_F32 ? "SGEMM " : "DGEMM ";
    int64_t number = wrong; /* read as 32 bits or as 64: machines here have the low ones first */
    if (xerbla_)
        xerbla_(name, &number, strlen(name));
    else
        fprintf(stderr, "libtessera-blas: argument %d of %sis not valid\n", wrong, name);
}

/* The reference tells cblas_xerbla the number that the argument has in Fortran's call, which is of the transposed product where C
 * lies in rows, and one more for the layout; and says by a variable whether it was transposed. OpenBLAS and BLIS tell xerbla_: the
 * cblas_xerbla that they have ends the program. A wrong layout has the number 0. */
static void refuse_cblas(const product *p, int wrong) {
    static const int transposed[] = {[3] = 4, [4] = 3, [8] = 10, [10] = 8, [13] = 0};
    bool by_rows = p->layout == TESS_ROW_MAJOR;
    int number = by_rows && transposed[wrong] ? transposed[wrong] : wrong;
    if (!&RowMajorStrg || !cblas_xerbla) {
        refuse_fortran(p, number);
        return;
    }
    RowMajorStrg = by_rows;
    cblas_xerbla(1 + number, p->type == TESS_F32 ? "cblas_sgemm" : "cblas_dgemm", "");
    RowMajorStrg = 0;
}

static void call_fortran(const product *p, double alpha, const void *a, const void *b, double beta, void *c) {
    int wrong = first_wrong(p);
    if (wrong)
        refuse_fortran(p, wrong);
    else
        call(p, alpha, a, b, beta, c);
}
static void call_cblas(const product *p, double alpha, const void *a, const void *b, double beta, void *c) {
    bool has_layout = p->layout == TESS_ROW_MAJOR || p->layout == TESS_COL_MAJOR;
    int wrong = has_layout ? first_wrong(p) : 0;
    if (wrong || !has_layout)
        refuse_cblas(p, wrong);
    else
        call(p, alpha, a, b, beta, c);
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
