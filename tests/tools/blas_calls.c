/* blas_calls.c: a program that calls sgemm and dgemm by BLAS's names, in every spelling, as tests/blas.sh wants: all products are of
 * small integers, so that results are exact. It has error handlers of its own, as BLAS's testers do. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROW = 101, COL = 102, NO_TRANS = 111, TRANS = 112, CONJ_TRANS = 113, CONJ_NO_TRANS = 114 };

static int passed, failed;

static void check(int good, const char *what, const char *name) {
    passed += good;
    failed += !good;
    if (!good) printf("FAIL %s: %s\n", name, what);
}

/* ---- Every spelling behind one type ---- */

typedef struct arguments {
    int layout, trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const void *a, *b;
    void *c;
} arguments;

/* Large and small ones in turns. */
static char letter(int trans) {
    static _Atomic int turn;
    const char *pair = trans == NO_TRANS        ? "Nn"
                       : trans == TRANS         ? "Tt"
                       : trans == CONJ_TRANS    ? "Cc"
                       : trans == CONJ_NO_TRANS ? "Rr"
                                                : "??";
    return pair[turn++ / 3 % 2];
}

#define FORTRAN(name, real, integer)                                                                \
    extern void name(const char *, const char *, const integer *, const integer *, const integer *, \
                     const real *, const real *, const integer *, const real *, const integer *,    \
                     const real *, real *, const integer *);                                        \
    static void call_##name(const arguments *x) {                                                   \
        char ta = letter(x->trans_a), tb = letter(x->trans_b);                                      \
        integer m = (integer)x->m, n = (integer)x->n, k = (integer)x->k, lda = (integer)x->lda,     \
                ldb = (integer)x->ldb, ldc = (integer)x->ldc;                                       \
        real alpha = (real)x->alpha, beta = (real)x->beta;                                          \
        name(&ta, &tb, &m, &n, &k, &alpha, x->a, &lda, x->b, &ldb, &beta, x->c, &ldc);              \
    }
#define CBLAS(name, real, integer)                                                                           \
    extern void name(int, int, int, integer, integer, integer, real, const real *, integer, const real *,    \
                     integer, real, real *, integer);                                                        \
    static void call_##name(const arguments *x) {                                                            \
        name(x->layout, x->trans_a, x->trans_b, (integer)x->m, (integer)x->n, (integer)x->k, (real)x->alpha, \
             x->a, (integer)x->lda, x->b, (integer)x->ldb, (real)x->beta, x->c, (integer)x->ldc);            \
    }
#define FORTRAN_NAMES(DO)               \
    DO(sgemm_, float, int32_t)          \
    DO(dgemm_, double, int32_t)         \
    DO(scipy_sgemm_, float, int32_t)    \
    DO(scipy_dgemm_, double, int32_t)   \
    DO(sgemm_64_, float, int64_t)       \
    DO(dgemm_64_, double, int64_t)      \
    DO(scipy_sgemm_64_, float, int64_t) \
    DO(scipy_dgemm_64_, double, int64_t)
#define CBLAS_NAMES(DO)                      \
    DO(cblas_sgemm, float, int32_t)          \
    DO(cblas_dgemm, double, int32_t)         \
    DO(scipy_cblas_sgemm, float, int32_t)    \
    DO(scipy_cblas_dgemm, double, int32_t)   \
    DO(cblas_sgemm64_, float, int64_t)       \
    DO(cblas_dgemm64_, double, int64_t)      \
    DO(cblas_sgemm_64, float, int64_t)       \
    DO(cblas_dgemm_64, double, int64_t)      \
    DO(scipy_cblas_sgemm64_, float, int64_t) \
    DO(scipy_cblas_dgemm64_, double, int64_t)
FORTRAN_NAMES(FORTRAN)
CBLAS_NAMES(CBLAS)

typedef struct routine {
    const char *name;
    int is_cblas, size;
    void (*call)(const arguments *);
} routine;
#define ROW_F(name, real, integer) {#name, 0, sizeof(real), call_##name},
#define ROW_C(name, real, integer) {#name, 1, sizeof(real), call_##name},
static const routine routines[] = {FORTRAN_NAMES(ROW_F) CBLAS_NAMES(ROW_C)};
enum { ROUTINES = sizeof routines / sizeof *routines };

/* ---- Wrong arguments ---- */

static int refused, was_by_rows; /* the number of the argument, and what RowMajorStrg said then */

#define EXPORT __attribute__((visibility("default")))
EXPORT void xerbla_(const char *name, const int *argument, size_t length);
void xerbla_(const char *name, const int *argument, size_t length) {
    refused = length == 6 && (!memcmp(name, "SGEMM ", 6) || !memcmp(name, "DGEMM ", 6)) ? *argument : -1;
}
/* By which the reference CBLAS tells its cblas_xerbla that C lies in rows. */
EXPORT extern int RowMajorStrg;
int RowMajorStrg;
EXPORT void cblas_xerbla(int argument, const char *name, const char *form, ...);
void cblas_xerbla(int argument, const char *name, const char *form, ...) {
    was_by_rows = RowMajorStrg;
    refused = form && strstr(name, "gemm") ? argument : -1;
}

static void check_refused(const routine *r, arguments x, int argument) {
    double c = 7;
    x.c = &c;
    refused = was_by_rows = 0;
    r->call(&x);
    check(refused == argument + (r->is_cblas ? 1 : 0) && c == 7, "a wrong argument", r->name);
    check(!r->is_cblas || (was_by_rows == (x.layout == ROW) && RowMajorStrg == 0),
          "whether it was transposed", r->name);
}

static void check_refusals(const routine *r) {
    static const double one[16] = {1};
    const arguments good = {COL, NO_TRANS, TRANS, 2, 3, 4, 2, 3, 2, 1, 0, one, one, NULL};
    arguments x;
    x = good, x.trans_a = 7, check_refused(r, x, 1);
    x = good, x.trans_b = 7, check_refused(r, x, 2);
    x = good, x.m = -1, check_refused(r, x, 3);
    x = good, x.n = -1, check_refused(r, x, 4);
    x = good, x.k = -1, check_refused(r, x, 5);
    x = good, x.lda = 1, check_refused(r, x, 8);
    x = good, x.ldb = 2, check_refused(r, x, 10);
    x = good, x.ldc = 1, check_refused(r, x, 13);
    if (!r->is_cblas) return;
    x = good, x.layout = 0, check_refused(r, x, 0);
    /* In rows they are those of the transposed product. */
    x = good, x.layout = ROW, x.lda = 3, check_refused(r, x, 10);
    x = good, x.layout = ROW, x.m = -1, check_refused(r, x, 4);
    x = good, x.layout = ROW, x.lda = 4, x.ldb = 4, x.ldc = 2, check_refused(r, x, 13);
}

/* ---- Right ones ---- */

static double get(const void *data, int size, int64_t at) {
    return size == 4 ? (double)((const float *)data)[at] : ((const double *)data)[at];
}
static void put(void *data, int size, int64_t at, double value) {
    if (size == 4)
        ((float *)data)[at] = (float)value;
    else
        ((double *)data)[at] = value;
}

/* A matrix of `lines` lines, `ld` apart. What lies behind a line is NaN. */
static void *make(int size, int64_t lines, int64_t length, int64_t ld, int seed) {
    int64_t count = lines > 0 ? lines * ld : 1;
    void *data = malloc((size_t)(count * size));
    if (!data) abort();
    for (int64_t i = 0; i < count; i++)
        put(data, size, i, i % ld < length ? (double)((i * 7 + seed) % 9 - 4) : (double)NAN);
    return data;
}

/* Element (i, j) of op(M): lines are rows in row-major order. */
static int64_t place(int layout, int trans, int64_t ld, int64_t i, int64_t j) {
    return (layout == ROW) == (trans == NO_TRANS) ? i * ld + j : j * ld + i;
}

static int is_product(const arguments *x, int size, const void *before) {
    int64_t lines = x->layout == ROW ? x->m : x->n, length = x->layout == ROW ? x->n : x->m;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int64_t at = place(x->layout, NO_TRANS, x->ldc, i, j);
            double sum = 0;
            for (int64_t p = 0; p < x->k; p++)
                sum += get(x->a, size, place(x->layout, x->trans_a, x->lda, i, p)) *
                       get(x->b, size, place(x->layout, x->trans_b, x->ldb, p, j));
            sum = x->alpha * sum + (x->beta == 0 ? 0 : x->beta * get(before, size, at));
            if (get(x->c, size, at) != sum) return 0;
        }
    for (int64_t line = 0; line < lines; line++)
        for (int64_t i = length; i < x->ldc; i++)
            if (!isnan(get(x->c, size, line * x->ldc + i))) return 0;
    return 1;
}

/* Lines are as many elements longer than they must be as x says. */
static int try_gaps(const routine *r, arguments x) {
    int along_a = (x.layout == ROW) == (x.trans_a == NO_TRANS),
        along_b = (x.layout == ROW) == (x.trans_b == NO_TRANS);
    int64_t a_lines = along_a ? x.m : x.k, a_length = along_a ? x.k : x.m, b_lines = along_b ? x.k : x.n,
            b_length = along_b ? x.n : x.k, c_lines = x.layout == ROW ? x.m : x.n,
            c_length = x.layout == ROW ? x.n : x.m;
    x.lda += a_length, x.ldb += b_length, x.ldc += c_length;
    void *a = make(r->size, a_lines, a_length, x.lda, 1), *b = make(r->size, b_lines, b_length, x.ldb, 5);
    /* beta = 0 does not read C. */
    void *c = make(r->size, c_lines, x.beta == 0 ? 0 : c_length, x.ldc, 2),
         *before = make(r->size, c_lines, c_length, x.ldc, 2);
    x.a = a, x.b = b, x.c = c;
    r->call(&x);
    int good = is_product(&x, r->size, before);
    free(a), free(b), free(c), free(before);
    return good;
}

static int try_product(const routine *r, arguments x) {
    x.lda = 3, x.ldb = 1, x.ldc = 2;
    return try_gaps(r, x);
}

/* Products that differ from the one before in a single number: what was decided for that is not for them. */
static void check_neighbours(const routine *r) {
    const arguments first = {COL, NO_TRANS, NO_TRANS, 9, 9, 9, 1, 1, 1, 1, 0, NULL, NULL, NULL};
    int good = 1;
    for (int i = 0; i < 9; i++) {
        arguments x = first;
        int64_t *numbers[] = {&x.m, &x.n, &x.k, &x.lda, &x.ldb, &x.ldc};
        if (i < 6) *numbers[i] += 2;
        if (i == 6) x.trans_a = TRANS;
        if (i == 7) x.trans_b = TRANS;
        if (i == 8 && r->is_cblas) x.layout = ROW;
        good &= try_gaps(r, first) && try_gaps(r, x);
    }
    check(good, "products that differ in one number", r->name);
}

/* Kilobytes that the program has had at most. */
static long most_memory(void) {
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_maxrss : 0;
}

/* What was decided for products is forgotten some time: thousands of shapes take as much memory as hundreds. A sanitizer keeps what
 * is freed, and tells of leaks itself. */
static void check_many_shapes(const routine *r) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    enum { SHAPES = 12000, FEW = 1000, MOST_GROWTH = 4096 };
    static double zeros[SHAPES];
    double c = 0;
    long before = 0;
    for (int k = 1; k <= SHAPES; k++) {
        arguments x = {COL, TRANS, NO_TRANS, 1, 1, k, k, k, 1, 1, 0, zeros, zeros, &c};
        if (k == FEW) before = most_memory();
        r->call(&x);
    }
    check(most_memory() - before < MOST_GROWTH, "many shapes take ever more memory", r->name);
#else
    (void)r;
#endif
}

static void check_products(const routine *r) {
    static const int64_t shapes[][3] = {{1, 1, 1}, {5, 3, 2},   {17, 33, 9}, {64, 64, 64},
                                        {2, 3, 0}, {1, 40, 30}, {90, 1, 70}};
    static const double scalars[][2] = {{1, 0}, {-2, 1}, {0, 3}, {1, -1}};
    static const int transposes[] = {NO_TRANS, TRANS, CONJ_TRANS};
    int good = 1;
    for (int layout = r->is_cblas ? ROW : COL; layout <= COL; layout++)
        for (int ta = 0; ta < 3; ta++)
            for (int tb = 0; tb < 3; tb++)
                for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                    for (int i = 0; i < 4; i++)
                        good &= try_product(r, (arguments){.layout = layout,
                                                           .trans_a = transposes[ta],
                                                           .trans_b = transposes[tb],
                                                           .m = shapes[s][0],
                                                           .n = shapes[s][1],
                                                           .k = shapes[s][2],
                                                           .alpha = scalars[i][0],
                                                           .beta = scalars[i][1]});
    check(good, "products", r->name);
    /* Nothing is read or written where there is nothing. */
    arguments none = {.layout = COL,
                      .trans_a = NO_TRANS,
                      .trans_b = NO_TRANS,
                      .k = 3,
                      .n = 2,
                      .lda = 1,
                      .ldb = 3,
                      .ldc = 1};
    r->call(&none);
    check(1, "an empty product", r->name);
}

/* Conjugated but not transposed, as OpenBLAS takes it. */
static void check_conjugated(const routine *r) {
    static const double a[4] = {1, 2, 3, 4}, unit[4] = {1, 0, 0, 1};
    static const float a_f32[4] = {1, 2, 3, 4}, unit_f32[4] = {1, 0, 0, 1};
    double c[4] = {0};
    int single = r->size == 4;
    arguments x = {COL,
                   CONJ_NO_TRANS,
                   CONJ_NO_TRANS,
                   2,
                   2,
                   2,
                   2,
                   2,
                   2,
                   1,
                   0,
                   single ? (const void *)a_f32 : a,
                   single ? (const void *)unit_f32 : unit,
                   c};
    r->call(&x);
    check(get(c, r->size, 1) == 2 && get(c, r->size, 2) == 3, "conjugated, and not transposed", r->name);
}

/* Matrices that do not lie at multiples of their elements, with gaps between lines that stay as they are. */
static void check_off(const routine *r) {
    enum { LD = 5, N = 3, OFF = 2 };
    char memory[3][LD * N * sizeof(double) + OFF];
    double values[LD * N], c[LD * N];
    float values_f32[LD * N], c_f32[LD * N];
    for (int i = 0; i < LD * N; i++) values[i] = i % 4 - 1, values_f32[i] = (float)values[i];
    size_t bytes = (size_t)(LD * N * r->size);
    for (int i = 0; i < 3; i++) memcpy(memory[i] + OFF, r->size == 4 ? (void *)values_f32 : values, bytes);
    arguments x =
        {COL, NO_TRANS, TRANS, N, N, N, LD, LD, LD, 1, 2, memory[0] + OFF, memory[1] + OFF, memory[2] + OFF};
    r->call(&x);
    memcpy(r->size == 4 ? (void *)c_f32 : c, memory[2] + OFF, bytes);
    int good = 1;
    for (int i = 0; i < LD * N; i++) {
        double want = i % LD < N ? 2 * values[i] : values[i];
        for (int p = 0; i % LD < N && p < N; p++) want += values[p * LD + i % LD] * values[p * LD + i / LD];
        good &= (r->size == 4 ? (double)c_f32[i] : c[i]) == want;
    }
    check(good, "matrices that are not aligned", r->name);
}

/* A GPU that breaks down after it has written to C: what it wrote is not added to twice. For the stand-in driver, with large
 * matrices, so that C is copied back in pieces. */
static int broken(void) {
    const routine *r = &routines[1];
    arguments x = {.layout = COL, .trans_a = NO_TRANS, .trans_b = NO_TRANS, .alpha = 1, .beta = 1};
    x.m = x.n = x.k = 4;
    int good = try_product(r, x);
    setenv("STANDIN_FAULT", "cuStreamSynchronize:1:700", 1);
    x.m = x.n = 1500, x.k = 40;
    good &= try_product(r, x);
    check(good, "a GPU that breaks down", r->name);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

/* C on top of A, which BLAS forbids: it gets some result, and nothing else happens. */
static void check_overlap(const routine *r) {
    float same[16] = {1, 2, 3, 4};
    double same_f64[16] = {1, 2, 3, 4};
    void *both = r->size == 4 ? (void *)same : (void *)same_f64;
    arguments x = {COL, NO_TRANS, NO_TRANS, 2, 2, 2, 2, 2, 2, 1, 0, both, both, both};
    r->call(&x);
    check(get(both, r->size, 4) == 0, "C on top of A", r->name);
}

static void *many(void *unused) {
    (void)unused;
    int good = 1;
    for (int i = 0; i < 40; i++)
        good &= try_product(&routines[i % ROUTINES], (arguments){.layout = COL,
                                                                 .trans_a = TRANS,
                                                                 .trans_b = NO_TRANS,
                                                                 .m = 20 + i,
                                                                 .n = 31,
                                                                 .k = 12,
                                                                 .alpha = 1});
    return good ? NULL : (void *)&failed;
}

int main(int count, char **words) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    if (count == 2 && strcmp(words[1], "broken") == 0) return broken();
    for (int i = 0; i < ROUTINES; i++) {
        check_refusals(&routines[i]);
        check_products(&routines[i]);
        check_neighbours(&routines[i]);
        check_overlap(&routines[i]);
        check_conjugated(&routines[i]);
        check_off(&routines[i]);
    }
    check_many_shapes(&routines[0]);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, many, NULL) != 0) return 1;
    for (int i = 0; i < THREADS; i++) {
        void *bad = NULL;
        pthread_join(threads[i], &bad);
        check(!bad, "products in threads", "all");
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(many(NULL) ? 1 : 0);
    int status = 1;
    waitpid(child, &status, 0);
    check(status == 0, "products in a forked child", "all");
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
