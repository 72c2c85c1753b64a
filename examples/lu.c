/* lu.c: blocked LU factorisation with partial pivoting, P*A = L*U, in place, on views.
 *
 *     lu [size] [block]
 *
 * At each step a block of columns is factored by hand; almost all of the work is then one product,
 * A22 -= A21*A12, where all three are sub-matrices of one buffer. That is what tess_gemm is for here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tessera.h"

/* The matrix, row-major, and the row that ended up in each place. */
typedef struct factors {
    int64_t n;
    double *a;
    int64_t *row;
} factors;

static double *at(const factors *f, int64_t i, int64_t j) {
    return &f->a[i * f->n + j];
}

static void swap_rows(factors *f, int64_t i, int64_t j) {
    if (i == j) return;
    for (int64_t col = 0; col < f->n; col++) {
        double kept = *at(f, i, col);
        *at(f, i, col) = *at(f, j, col);
        *at(f, j, col) = kept;
    }
    int64_t kept = f->row[i];
    f->row[i] = f->row[j];
    f->row[j] = kept;
}

/* Factors columns first … last-1 below row `first`, taking the largest pivot of each column. */
static int factor_panel(factors *f, int64_t first, int64_t last) {
    for (int64_t col = first; col < last; col++) {
        int64_t pivot = col;
        for (int64_t i = col + 1; i < f->n; i++)
            if (fabs(*at(f, i, col)) > fabs(*at(f, pivot, col))) pivot = i;
        if (*at(f, pivot, col) == 0) return 0;
        swap_rows(f, col, pivot);
        for (int64_t i = col + 1; i < f->n; i++) {
            double multiplier = *at(f, i, col) /= *at(f, col, col);
            for (int64_t j = col + 1; j < last; j++) *at(f, i, j) -= multiplier * *at(f, col, j);
        }
    }
    return 1;
}

/* A12 = L11^-1 * A12: the rows to the right of the block. */
static void solve_rows(factors *f, int64_t first, int64_t last) {
    for (int64_t i = first + 1; i < last; i++)
        for (int64_t l = first; l < i; l++)
            for (int64_t j = last; j < f->n; j++) *at(f, i, j) -= *at(f, i, l) * *at(f, l, j);
}

static int factor(tess_context *ctx, factors *f, int64_t block) {
    tess_matrix A = tess_view_row_major(TESS_F64, f->n, f->n, f->a, f->n);
    for (int64_t first = 0; first < f->n; first += block) {
        int64_t last = first + block < f->n ? first + block : f->n, rest = f->n - last;
        if (!factor_panel(f, first, last)) return !puts("the matrix is singular");
        solve_rows(f, first, last);
        tess_matrix A21 = tess_submatrix(A, last, first, rest, last - first);
        tess_matrix A12 = tess_submatrix(A, first, last, last - first, rest);
        tess_matrix A22 = tess_submatrix(A, last, last, rest, rest);
        if (tess_gemm(ctx, -1.0, &A21, &A12, 1.0, &A22, NULL) != TESS_OK) return !puts(tess_error(ctx));
    }
    return 1;
}

/* ‖P*A - L*U‖ / ‖A‖, Frobenius, by the definition. */
static double residual(const factors *f, const double *original) {
    double difference = 0, size = 0;
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t j = 0; j < f->n; j++) {
            double sum = i <= j ? *at(f, i, j) : 0; /* L's diagonal is 1 */
            for (int64_t l = 0; l < i && l <= j; l++) sum += *at(f, i, l) * *at(f, l, j);
            double want = original[f->row[i] * f->n + j];
            difference += (want - sum) * (want - sum);
            size += want * want;
        }
    return sqrt(difference) / sqrt(size);
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 256, block = argc > 2 ? atoll(argv[2]) : 48;
    if (n < 1 || n > 20000 || block < 1) {
        puts("usage: lu [size, 1 to 20000] [block, at least 1]");
        return 2;
    }
    size_t count = (size_t)n * (size_t)n;
    factors f = {n, malloc(count * sizeof(double)), malloc((size_t)n * sizeof(int64_t))};
    double *original = malloc(count * sizeof(double));
    tess_context *ctx = NULL;
    int right = 0;
    if (!f.a || !f.row || !original) {
        puts("not enough memory");
    } else if (tess_open(&ctx, "auto") != TESS_OK) {
        puts(tess_error(NULL));
    } else {
        tess_matrix A = tess_view_row_major(TESS_F64, n, n, original, n);
        tess_fill(&A, TESS_FILL_UNIFORM, 1.0, 1);
        for (size_t i = 0; i < count; i++) f.a[i] = original[i];
        for (int64_t i = 0; i < n; i++) f.row[i] = i;
        if (factor(ctx, &f, block)) {
            double error = residual(&f, original), allowed = (double)n * 0x1p-52;
            right = error <= allowed;
            printf("LU of %lld x %lld in blocks of %lld: |PA - LU| / |A| is %.1e, %s\n", (long long)n,
                   (long long)n, (long long)block, error, right ? "as it should be" : "too large");
        }
    }
    tess_close(ctx);
    free(f.a), free(f.row), free(original);
    return !right;
}
