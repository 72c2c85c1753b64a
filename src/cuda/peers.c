/* peers.c: a product as NVIDIA's libraries want it: by columns, with transpositions instead of strides. A
 * view that lies neither by rows nor by columns is refused: copying it first would measure our copy. */
#include "peers.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../memory.h"
#include "../numeric.h"

static int data_type(tess_type type) {
    static const int types[] = {CUBLAS_F32, CUBLAS_F64, CUBLAS_F16, CUBLAS_BF16, CUBLAS_I32, CUBLAS_I8};
    return types[type];
}

static int compute_type(const problem *what) {
    if (what->acc == TESS_F64) return CUBLAS_COMPUTE_F64;
    if (what->acc == TESS_I32) return CUBLAS_COMPUTE_I32;
    switch (what->compute) {
    case TESS_COMPUTE_F32_STRICT: return CUBLAS_COMPUTE_F32_PEDANTIC;
    case TESS_COMPUTE_TF32: return CUBLAS_COMPUTE_F32_TF32;
    case TESS_COMPUTE_BF16: return CUBLAS_COMPUTE_F32_BF16;
    case TESS_COMPUTE_DEFAULT: break;
    }
    return CUBLAS_COMPUTE_F32;
}

static peer_scalar scalar(tess_type acc, double value) {
    peer_scalar s = {.d = 0};
    if (acc == TESS_F64)
        s.d = value;
    else if (acc == TESS_F32)
        s.f = (float)value;
    else
        s.i = (int32_t)(uint32_t)(int64_t)value;
    return s;
}

/* A rows×cols matrix by columns, or its transpose by columns; `name` is the argument's. */
static tess_status by_columns(peer_matrix *m, int64_t rows, int64_t cols, int64_t row_stride,
                              int64_t col_stride, char name, sentence *why) {
    m->rows = rows, m->cols = cols;
    if ((row_stride == 1 || rows == 1) && (col_stride >= rows || cols == 1)) {
        m->ld = cols == 1 && col_stride < rows ? rows : col_stride;
        return TESS_OK;
    }
    if ((col_stride == 1 || cols == 1) && (row_stride >= cols || rows == 1)) {
        m->transposed = 1;
        m->ld = rows == 1 && row_stride < cols ? cols : row_stride;
        return TESS_OK;
    }
    return status_fail(why, TESS_ERROR_KERNEL,
                       "cuBLAS takes matrices that lie by rows or by columns, but %c has strides %" PRId64
                       " and %" PRId64,
                       name, row_stride, col_stride);
}

static tess_status check_sizes(const peer_call *call, sentence *why) {
    const int64_t sizes[] = {call->m, call->n, call->k, call->count, call->x.ld, call->y.ld, call->z.ld};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] > INT_MAX)
            return status_fail(why, TESS_ERROR_KERNEL, "cuBLAS takes sizes up to %d, but one is %" PRId64,
                               INT_MAX, sizes[i]);
    return TESS_OK;
}

static tess_status check_alignment(const peer_call *call, sentence *why) {
    if (call->compute != CUBLAS_COMPUTE_I32) return TESS_OK;
    const peer_matrix *inputs[] = {&call->x, &call->y};
    for (int i = 0; i < 2; i++)
        if (inputs[i]->ld % 4 != 0 || (uintptr_t)inputs[i]->data % 4 != 0 || inputs[i]->stride % 4 != 0)
            return status_fail(why, TESS_ERROR_KERNEL,
                               "cuBLAS takes i8 matrices whose rows (or columns) begin at multiples of 4 "
                               "bytes; the distance between those of one is %" PRId64,
                               inputs[i]->ld);
    return TESS_OK;
}

static tess_status describe(const problem *what, const operands *data, peer_call *call, sentence *why) {
    *call = (peer_call){.k = what->k, .count = what->batch.count, .compute = compute_type(what)};
    call->scale_type = data_type(what->acc);
    peer_matrix *a = &call->x, *b = &call->y;
    /* Of a C that lies by rows the transpose lies by columns: C' = B'*A'. */
    int turned = !((what->c_row == 1 || what->m == 1) && (what->c_col >= what->m || what->n == 1));
    if (turned) {
        a = &call->y, b = &call->x;
        call->m = what->n, call->n = what->m;
        TRY(by_columns(a, what->k, what->m, what->a_col, what->a_row, 'A', why));
        TRY(by_columns(b, what->n, what->k, what->b_col, what->b_row, 'B', why));
        TRY(by_columns(&call->z, what->n, what->m, what->c_col, what->c_row, 'C', why));
    } else {
        call->m = what->m, call->n = what->n;
        TRY(by_columns(a, what->m, what->k, what->a_row, what->a_col, 'A', why));
        TRY(by_columns(b, what->k, what->n, what->b_row, what->b_col, 'B', why));
        TRY(by_columns(&call->z, what->m, what->n, what->c_row, what->c_col, 'C', why));
    }
    if (call->z.transposed || what->batch.stride_c < 0)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "cuBLAS takes a C that lies by rows or by columns, its batch forwards, but its "
                           "strides are %" PRId64 " and %" PRId64 ", and %" PRId64 " from product to product",
                           what->c_row, what->c_col, what->batch.stride_c);
    a->stride = what->batch.stride_a, b->stride = what->batch.stride_b, call->z.stride = what->batch.stride_c;
    a->type = b->type = data_type(what->in);
    call->z.type = data_type(what->out);
    if (data) {
        a->data = data->a, b->data = data->b, call->z.data = data->c;
        call->alpha = scalar(what->acc, data->alpha), call->beta = scalar(what->acc, data->beta);
    }
    TRY(check_sizes(call, why));
    return check_alignment(call, why);
}

tess_status cuda_peer_prepare(const cuda_device *self, plan *decided, sentence *why) {
    const problem *what = &decided->what;
    peer_call call;
    if (!registry_takes(decided->kernel, what->in, what->out))
        return status_fail(why, TESS_ERROR_KERNEL, "%s takes %s, not %s to %s", decided->kernel->info.name,
                           decided->kernel->info.types, tess_type_name(what->in), tess_type_name(what->out));
    TRY(describe(what, NULL, &call, why));
    decided->threads = 0;
    decided->workspace = PEER_WORKSPACE;
    decided->less_exact = 1;
    decided->reason = self->peer_reason;
    return TESS_OK;
}

tess_status cuda_peer_queue(cuda_device *self, const plan *decided, const operands *data, cu_stream stream,
                            sentence *why) {
    peer_call call;
    char *workspace;
    TRY(describe(&decided->what, data, &call, why));
    TRY(cuda_workspace(self, PEER_WORKSPACE, &workspace, why));
    if (!self->peers) self->peers = memory_alloc_zeroed(sizeof *self->peers);
    if (!self->peers) return status_fail(why, TESS_ERROR_MEMORY, "no memory for cuBLAS's handles");
    return strcmp(decided->kernel->info.name, "cublaslt") == 0
               ? cublaslt_queue(self, &call, workspace, stream, why)
               : cublas_queue(self, &call, workspace, stream, why);
}

void cuda_peers_close(cuda_device *self) {
    if (!self->peers) return;
    if (!self->forked) cublas_close(self->peers);
    cublaslt_close(self->peers, !self->forked);
    memory_free(self->peers);
    self->peers = NULL;
}

void cuda_peer_reason(char *text, size_t size) {
    static const char *const variables[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                                            "CUBLAS_EMULATION_STRATEGY", "CUBLAS_WORKSPACE_CONFIG"};
    size_t used = (size_t)snprintf(text, size, "it was asked for by name");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && used < size)
            used += (size_t)snprintf(text + used, size - used, "; %s is set to %.20s", variables[i], value);
    }
}
