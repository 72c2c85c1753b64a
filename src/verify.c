/* verify.c: is this C right? Small products are computed again, every element of them (verify_oracle.c); large ones
 * are checked in O(n²) (verify_checksum.c). docs/NUMERICS.md derives the bounds. */
#include "verify.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "memory.h"
#include "numeric.h"
#include "plan.h"

static tess_status check_all(verdict *v, sentence *why) {
    oracle *o = NULL;
    TRY(verify_make_oracle(&o, why));
    verify_by_oracle(v, o, (lines){.count = v->C->rows}, (lines){.count = v->C->cols});
    memory_free(o);
    return TESS_OK;
}

/* ‖C − ref‖ / ‖ref‖, where either norm alone may be too large for a number. */
static double relative_error(const verdict *v) {
    if (!(v->error.largest > 0)) return 0;
    return v->error.largest / v->want.largest * sqrt(v->error.sum / v->want.sum);
}

/* Refuses what cannot be read. */
static tess_status check_views(const verdict *v, double alpha, double beta, sentence *why) {
    TRY(matrix_check(v->A, "A", why));
    TRY(matrix_check(v->B, "B", why));
    TRY(matrix_check(v->C, "C", why));
    TRY(plan_check_product(v->A, v->B, v->C, TESS_COMPUTE_DEFAULT, why));
    TRY(plan_check_scalars(alpha, beta, numeric_accumulator(v->A->type), why));
    if (beta != 0) {
        if (!v->C0)
            return status_fail(why, TESS_ERROR_ARGUMENT, "C0 is NULL, but beta is %g: C as it was is needed",
                               beta);
        TRY(matrix_check(v->C0, "C0", why));
        if (v->C0->type != v->C->type || v->C0->rows != v->C->rows || v->C0->cols != v->C->cols)
            return status_fail(why, TESS_ERROR_SHAPE,
                               "C0 is %" PRId64 "×%" PRId64 " %s but C is %" PRId64 "×%" PRId64
                               " %s; they must be alike",
                               v->C0->rows, v->C0->cols, tess_type_name(v->C0->type), v->C->rows, v->C->cols,
                               tess_type_name(v->C->type));
    }
    int reads = alpha != 0 && v->C->rows > 0 && v->C->cols > 0;
    const tess_matrix *views[4] = {reads ? v->A : NULL, reads ? v->B : NULL, beta != 0 ? v->C0 : NULL, v->C};
    static const char *const names[4] = {"A", "B", "C0", "C"};
    for (int i = 0; i < 4; i++) {
        if (!views[i] || views[i]->rows == 0 || views[i]->cols == 0) continue;
        if (!views[i]->data) return status_fail(why, TESS_ERROR_ARGUMENT, "%s.data is NULL", names[i]);
        if (views[i]->place == TESS_DEVICE)
            return status_fail(why, TESS_ERROR_ARGUMENT, "%s lies in device memory; check a copy on the host",
                               names[i]);
    }
    return TESS_OK;
}

/* What the bound allows for these types and this k. */
static void set_bounds(verdict *v, double alpha, double beta, int64_t k) {
    tess_type acc = numeric_accumulator(v->A->type), out = v->C->type;
    int is_f32 = acc == TESS_F32;
    v->alpha = k == 0 ? 0 : is_f32 ? (double)(float)alpha : alpha;
    v->beta = is_f32 ? (double)(float)beta : beta;
    v->exact = v->exact || numeric_is_integer(out);
    v->sum_error = (double)(k + 8) * numeric_unit_roundoff(acc);
    v->out_error = numeric_unit_roundoff(out);
    v->underflow = numeric_underflow(out) + (double)(k + 8) * numeric_underflow(acc) * (1 + fabs(v->alpha));
    v->acc_largest = numeric_largest(acc);
    v->out_largest = numeric_largest(out);
}

tess_status tess_check_gemm(double alpha, const tess_matrix *A, const tess_matrix *B, double beta,
                            const tess_matrix *C0, const tess_matrix *C, tess_check_method method,
                            uint64_t seed, tess_check *check) {
    sentence *why = status_of_thread();
    if (!check) return status_fail(why, TESS_ERROR_ARGUMENT, "check is NULL");
    memset(check, 0, sizeof *check);
    if ((int)method < TESS_CHECK_AUTO || (int)method > TESS_CHECK_EXACT)
        return status_fail(why, TESS_ERROR_ARGUMENT, "method is %d, which is no tess_check_method",
                           (int)method);
    verdict v = {.A = A, .B = B, .C0 = C0, .C = C, .exact = method == TESS_CHECK_EXACT, .check = check};
    TRY(check_views(&v, alpha, beta, why));
    set_bounds(&v, alpha, beta, A->cols);

    /* Multiply-adds: about half a second. Those of twice f64 take four times as long; and an exact checksum tells as much
     * as the oracle, but for the column. */
    const double oracle_limit = verify_can_be_exact(&v) ? 3e7 : A->type == TESS_F64 ? 2.5e8 : 1e9;
    double work = (double)C->rows * (double)C->cols * (double)A->cols;
    int small = method == TESS_CHECK_ORACLE || (method != TESS_CHECK_CHECKSUM && work <= oracle_limit);
    check->method = small ? TESS_CHECK_ORACLE : TESS_CHECK_CHECKSUM;
    if (C->rows > 0 && C->cols > 0) TRY(small ? check_all(&v, why) : verify_by_checksum(&v, seed, why));
    check->rel_error = relative_error(&v);
    check->passed = check->wrong == 0;
    return TESS_OK;
}
