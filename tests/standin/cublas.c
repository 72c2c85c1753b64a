/* cublas.c: a stand-in for cuBLAS and cuBLASLt: products by columns, as far as the library asks for them.
 * It computes what it is told to, on the stand-in driver's streams, and is strict about what it is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

enum { OK = 0, INVALID = 7, NOT_SUPPORTED = 15 };

#define CUBLAS(name, ...)         \
    EXPORT int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

/* One operand: op(matrix) is rows×cols. */
typedef struct operand {
    const void *data;
    int type, transposed;
    int64_t rows, cols, ld, stride;
} operand;

typedef struct product {
    standin_gemm gemm;
    char types[16];
    int64_t count;
} product;

/* cudaDataType numbers of A and C to the name of the product; "" if there is none. */
static const char *name_of(int in, int out) {
    static const struct {
        int in, out;
        const char *name;
    } names[] = {{0, 0, "F32"},    {1, 1, "F64"},       {2, 2, "F16"},    {2, 0, "F16_F32"},
                 {14, 14, "BF16"}, {14, 0, "BF16_F32"}, {3, 10, "I8_I32"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].in == in && names[i].out == out) return names[i].name;
    return "";
}

/* With $STANDIN_CUBLAS_OFF the first element of bf16 is so many units in the last place off. */
static int multiply_now(void *argument) {
    const product *p = argument;
    const char *off = getenv("STANDIN_CUBLAS_OFF");
    int error = standin_multiply(&p->gemm, p->types, &(standin_order){.vec = 0}, p->count);
    if (off && strcmp(p->types, "BF16") == 0) {
        uint16_t bits;
        memcpy(&bits, p->gemm.c, sizeof bits);
        bits = (uint16_t)(bits + atoi(off));
        memcpy(p->gemm.c, &bits, sizeof bits);
    }
    return error;
}

/* A leading dimension spans a column of the matrix as it lies. */
static int fits(const operand *o) {
    return o->ld >= (o->transposed ? o->cols : o->rows) && o->ld > 0;
}

static int queue_product(void *stream, operand x, operand y, const void *alpha, const void *beta, operand z,
                         void *result, int compute, int64_t count) {
    product p = {.count = count};
    snprintf(p.types, sizeof p.types, "%s", name_of(x.type, z.type));
    if (!p.types[0] || x.type != y.type) return NOT_SUPPORTED;
    if (!fits(&x) || !fits(&y) || !fits(&z) || z.transposed) return INVALID;
    if (compute == 72 && (x.ld % 4 || y.ld % 4)) return NOT_SUPPORTED;
    standin_gemm *g = &p.gemm;
    g->a = (char *)(uintptr_t)x.data, g->b = (char *)(uintptr_t)y.data, g->c = result;
    g->m = (int32_t)x.rows, g->k = (int32_t)x.cols, g->n = (int32_t)y.cols;
    g->lda = x.transposed ? x.ld : 1, g->a_step = x.transposed ? 1 : x.ld;
    g->ldb = y.transposed ? y.ld : 1, g->b_step = y.transposed ? 1 : y.ld;
    g->ldc = 1, g->c_step = z.ld;
    g->batch_a = x.stride, g->batch_b = y.stride, g->batch_c = z.stride;
    memcpy(&g->alpha, alpha, compute == 70 ? 8 : 4);
    memcpy(&g->beta, beta, compute == 70 ? 8 : 4);
    return standin_queue(stream, multiply_now, &p, sizeof p) == 0 ? OK : 14;
}

/* Version 13.0.0: a property is one of its three numbers. */
CUBLAS(cublasGetProperty, int property, int *value) {
    *value = property == 0 ? 13 : 0;
    return OK;
}
CUBLAS(cublasLtGetProperty, int property, int *value) {
    return cublasGetProperty(property, value);
}

/* ---- cuBLAS ---- */

typedef struct handle {
    void *stream, *workspace;
} handle;

CUBLAS(cublasCreate_v2, handle **out) {
    *out = calloc(1, sizeof **out);
    return *out ? OK : 3;
}
CUBLAS(cublasDestroy_v2, handle *h) {
    free(h);
    return OK;
}
CUBLAS(cublasSetStream_v2, handle *h, void *stream) {
    h->stream = stream;
    h->workspace = NULL;
    return OK;
}
CUBLAS(cublasSetWorkspace_v2, handle *h, void *workspace, size_t bytes) {
    if (!standin_is_device(workspace, 0, (int64_t)bytes)) return INVALID;
    h->workspace = workspace;
    return OK;
}
CUBLAS(cublasGemmStridedBatchedEx, handle *h, int trans_x, int trans_y, int m, int n, int k,
       const void *alpha, const void *x, int type_x, int ldx, long long stride_x, const void *y, int type_y,
       int ldy, long long stride_y, const void *beta, void *z, int type_z, int ldz, long long stride_z,
       int count, int compute, int algorithm) {
    if (algorithm != -1 || !h->workspace) return INVALID;
    return queue_product(h->stream, (operand){x, type_x, trans_x, m, k, ldx, stride_x},
                         (operand){y, type_y, trans_y, k, n, ldy, stride_y}, alpha, beta,
                         (operand){z, type_z, 0, m, n, ldz, stride_z}, z, compute, count);
}
CUBLAS(cublasGemmEx, handle *h, int trans_x, int trans_y, int m, int n, int k, const void *alpha,
       const void *x, int type_x, int ldx, const void *y, int type_y, int ldy, const void *beta, void *z,
       int type_z, int ldz, int compute, int algorithm) {
    return cublasGemmStridedBatchedEx(h, trans_x, trans_y, m, n, k, alpha, x, type_x, ldx, 0, y, type_y, ldy,
                                      0, beta, z, type_z, ldz, 0, 1, compute, algorithm);
}

/* ---- cuBLASLt ---- */

typedef struct lt_desc {
    int compute, trans[2];
} lt_desc;
typedef struct lt_layout {
    int type;
    uint64_t rows, cols;
    int64_t ld, stride;
    int32_t count;
} lt_layout;
typedef struct lt_result {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} lt_result;
enum { ALGORITHMS = 3 };

static int make(void **out, size_t size) {
    *out = calloc(1, size);
    return *out ? OK : 3;
}
static int unmake(void *object) {
    free(object);
    return OK;
}

CUBLAS(cublasLtCreate, void **out) {
    return make(out, 1);
}
CUBLAS(cublasLtDestroy, void *h) {
    return unmake(h);
}
CUBLAS(cublasLtMatmulDescCreate, void **out, int compute, int scale_type) {
    (void)scale_type;
    int status = make(out, sizeof(lt_desc));
    if (status == OK) ((lt_desc *)*out)->compute = compute;
    return status;
}
CUBLAS(cublasLtMatmulDescDestroy, void *desc) {
    return unmake(desc);
}
CUBLAS(cublasLtMatmulDescSetAttribute, lt_desc *desc, int attribute, const void *value, size_t size) {
    if ((attribute != 3 && attribute != 4) || size != sizeof(int32_t)) return INVALID;
    memcpy(&desc->trans[attribute - 3], value, size);
    return OK;
}
CUBLAS(cublasLtMatrixLayoutCreate, void **out, int type, uint64_t rows, uint64_t cols, int64_t ld) {
    int status = make(out, sizeof(lt_layout));
    if (status == OK) *(lt_layout *)*out = (lt_layout){type, rows, cols, ld, 0, 1};
    return status;
}
CUBLAS(cublasLtMatrixLayoutDestroy, void *layout) {
    return unmake(layout);
}
CUBLAS(cublasLtMatrixLayoutSetAttribute, lt_layout *layout, int attribute, const void *value, size_t size) {
    if (attribute == 5 && size == 4)
        memcpy(&layout->count, value, size);
    else if (attribute == 6 && size == 8)
        memcpy(&layout->stride, value, size);
    else
        return INVALID;
    return OK;
}
CUBLAS(cublasLtMatmulPreferenceCreate, void **out) {
    return make(out, 1);
}
CUBLAS(cublasLtMatmulPreferenceDestroy, void *preference) {
    return unmake(preference);
}
CUBLAS(cublasLtMatmulPreferenceSetAttribute, void *preference, int attribute, const void *value,
       size_t size) {
    (void)preference, (void)value;
    return size == (attribute == 1 ? 8 : 4) ? OK : INVALID;
}
CUBLAS(cublasLtMatmulAlgoGetHeuristic, void *h, void *desc, void *x, void *y, void *c, void *d,
       void *preference, int asked, lt_result *results, int *found) {
    (void)h, (void)desc, (void)x, (void)y, (void)c, (void)d, (void)preference;
    *found = asked < ALGORITHMS ? asked : ALGORITHMS;
    for (int i = 0; i < *found; i++) results[i] = (lt_result){.algorithm = {(uint64_t)i + 1}};
    return OK;
}

static operand operand_of(const lt_layout *l, const void *data, int transposed) {
    int64_t rows = (int64_t)l->rows, cols = (int64_t)l->cols;
    return (operand){data,  l->type,  transposed, transposed ? cols : rows, transposed ? rows : cols,
                     l->ld, l->stride};
}

CUBLAS(cublasLtMatmul, void *h, const lt_desc *desc, const void *alpha, const void *x,
       const lt_layout *layout_x, const void *y, const lt_layout *layout_y, const void *beta, const void *c,
       const lt_layout *layout_c, void *d, const lt_layout *layout_d, const uint64_t *algorithm,
       void *workspace, size_t bytes, void *stream) {
    (void)h, (void)layout_c;
    if (algorithm[0] < 1 || algorithm[0] > ALGORITHMS || !standin_is_device(workspace, 0, (int64_t)bytes))
        return INVALID;
    operand z = operand_of(layout_d, c, 0);
    float zero = 0;
    const void *scale = c == d ? beta : desc->compute == 70 ? (const void *)&(double){0} : &zero;
    return queue_product(stream, operand_of(layout_x, x, desc->trans[0]),
                         operand_of(layout_y, y, desc->trans[1]), alpha, scale, z, d, desc->compute,
                         layout_d->count);
}
