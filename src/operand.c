/* operand.c: matrices prepared for many products.
 *
 * An operand belongs to a context and counts the plans that use it: it is given back only when none does. */
#include "operand.h"

#include <inttypes.h>

#include "matrix.h"
#include "memory.h"

static tess_status check_matrix(tess_role role, const tess_matrix *M, sentence *why) {
    if (role != TESS_ROLE_A && role != TESS_ROLE_B)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "role is %d; it must be TESS_ROLE_A (0) or TESS_ROLE_B (1)", (int)role);
    TRY(matrix_check(M, "M", why));
    if (!M->data && M->rows > 0 && M->cols > 0)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "M.data is NULL, but it has %" PRId64 "×%" PRId64 " elements", M->rows, M->cols);
    return TESS_OK;
}

static tess_status keep(tess_operand *made, sentence *why) {
    const tess_matrix *M = &made->view;
    const device_ops *ops = made->ctx->device->ops;
    int is_a = made->role == TESS_ROLE_A;
    line_matrix lines = {.type = M->type,
                         .place = M->place,
                         .data = M->data,
                         .lines = is_a ? M->rows : M->cols,
                         .k = is_a ? M->cols : M->rows,
                         .line = is_a ? M->row_stride : M->col_stride,
                         .step = is_a ? M->col_stride : M->row_stride};
    if (!ops->keep || lines.lines == 0 || lines.k == 0) return TESS_OK;
    return ops->keep(made->ctx->device, &lines, &made->kept, &made->bytes, why);
}

static tess_status prepare(tess_context *ctx, tess_role role, const tess_matrix *M, tess_operand **out,
                           sentence *why) {
    TRY(check_matrix(role, M, why));
    tess_operand *made = memory_alloc_zeroed(sizeof *made);
    if (!made)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for an operand (%zu bytes)", sizeof *made);
    made->ctx = ctx, made->role = role, made->view = *M;
    tess_status status = keep(made, why);
    if (status != TESS_OK) {
        memory_free(made);
        return status;
    }
    ctx->operands++;
    *out = made;
    return TESS_OK;
}

tess_status tess_prepare(tess_context *ctx, tess_role role, const tess_matrix *M, tess_operand **operand) {
    sentence why;
    if (operand) *operand = NULL;
    if (!ctx || !operand)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "tess_prepare: %s is NULL",
                                          ctx ? "operand" : "ctx"),
                              &why);
    pthread_mutex_lock(&ctx->lock);
    tess_status status = prepare(ctx, role, M, operand, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

int64_t tess_operand_bytes(const tess_operand *operand) {
    return operand ? operand->bytes : 0;
}

/* ---- Use ---- */

/* The matrix must be the plan's. */
static tess_status check_operand(const tess_plan *made, const tess_operand *operand, tess_role role,
                                 sentence *why) {
    const problem *what = &made->decided.what;
    const char *name = role == TESS_ROLE_A ? "A" : "B";
    if (!operand) return TESS_OK;
    const tess_matrix *M = &operand->view;
    int is_a = role == TESS_ROLE_A;
    int64_t rows = is_a ? what->m : what->k, cols = is_a ? what->k : what->n;
    if (operand->ctx != made->ctx || operand->role != role)
        return status_fail(why, TESS_ERROR_ARGUMENT, "the operand given for %s was prepared %s", name,
                           operand->ctx != made->ctx ? "on another context" : "for the other place");
    if (what->batch.count != 1)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "the plan has %" PRId64 " products; operands are for plans of one",
                           what->batch.count);
    if (M->type != what->in || M->rows != rows || M->cols != cols ||
        M->row_stride != (is_a ? what->a_row : what->b_row) ||
        M->col_stride != (is_a ? what->a_col : what->b_col))
        return status_fail(why, TESS_ERROR_SHAPE,
                           "the operand given for %s is %" PRId64 "×%" PRId64
                           " %s, but the plan's is %" PRId64 "×%" PRId64 " %s, or its strides differ",
                           name, M->rows, M->cols, tess_type_name(M->type), rows, cols,
                           tess_type_name(what->in));
    return TESS_OK;
}

void operand_release(plan *decided) {
    for (int role = 0; role < 2; role++) {
        if (decided->prepared[role]) decided->prepared[role]->users--;
        decided->prepared[role] = NULL;
    }
}

static tess_status use(tess_plan *made, tess_operand *A, tess_operand *B, sentence *why) {
    TRY(check_operand(made, A, TESS_ROLE_A, why));
    TRY(check_operand(made, B, TESS_ROLE_B, why));
    if (A) A->users++;
    if (B) B->users++;
    operand_release(&made->decided);
    made->decided.prepared[TESS_ROLE_A] = A;
    made->decided.prepared[TESS_ROLE_B] = B;
    return TESS_OK;
}

tess_status tess_use_operands(tess_plan *made, tess_operand *A, tess_operand *B) {
    sentence why;
    if (!made)
        return context_finish(NULL,
                              status_fail(&why, TESS_ERROR_ARGUMENT,
                                          "plan is NULL; make one with tess_plan_gemm"),
                              &why);
    pthread_mutex_lock(&made->ctx->lock);
    tess_status status = use(made, A, B, &why);
    pthread_mutex_unlock(&made->ctx->lock);
    return context_finish(made->ctx, status, &why);
}

tess_status operand_use(const tess_operand *prepared, const char *name, const void *data, const void **kept,
                        sentence *why) {
    if (prepared->view.data != data)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%s.data is %p, but the operand that the plan uses for it was prepared from %p",
                           name, data, prepared->view.data);
    *kept = prepared->kept;
    return TESS_OK;
}

tess_status tess_free_operand(tess_operand *operand) {
    sentence why;
    if (!operand) return TESS_OK;
    tess_context *ctx = operand->ctx;
    pthread_mutex_lock(&ctx->lock);
    int users = operand->users;
    if (users == 0) {
        if (operand->kept) ctx->device->ops->drop(ctx->device, operand->kept);
        ctx->operands--;
    }
    pthread_mutex_unlock(&ctx->lock);
    if (users > 0)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT,
                                          "%d plan%s still use%s the operand; free %s first", users,
                                          users == 1 ? "" : "s", users == 1 ? "s" : "",
                                          users == 1 ? "it" : "them"),
                              &why);
    memory_free(operand);
    return TESS_OK;
}
