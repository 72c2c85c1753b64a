/* peer_call.h: a product as NVIDIA's libraries see it, by columns, and what both say of it. */
#ifndef PEER_CALL_H
#define PEER_CALL_H

#include "cuda.h"

/* cudaDataType, cublasComputeType_t and cublasStatus_t, as far as they are used. */
enum { CUBLAS_F32 = 0, CUBLAS_F64 = 1, CUBLAS_F16 = 2, CUBLAS_I8 = 3, CUBLAS_I32 = 10, CUBLAS_BF16 = 14 };
enum {
    CUBLAS_COMPUTE_F32 = 68,
    CUBLAS_COMPUTE_F32_PEDANTIC = 69,
    CUBLAS_COMPUTE_F64 = 70,
    CUBLAS_COMPUTE_I32 = 72,
    CUBLAS_COMPUTE_F32_BF16 = 75,
    CUBLAS_COMPUTE_F32_TF32 = 77
};
enum { CUBLAS_OK = 0 };

/* One operand by columns: rows×cols after the transposition, if any. */
typedef struct peer_matrix {
    int64_t rows, cols, ld, stride;
    int transposed;
    int type; /* a cudaDataType */
    const void *data;
} peer_matrix;

typedef union peer_scalar {
    float f;
    double d;
    int32_t i;
} peer_scalar;

/* Z = alpha*X*Y + beta*Z by columns; X and Y are A and B, or B and A transposed. */
typedef struct peer_call {
    peer_matrix x, y, z;
    int64_t m, n, k, count;
    int compute, scale_type;
    peer_scalar alpha, beta;
} peer_call;

/* Memory both libraries may use; what NVIDIA recommends for Hopper. */
enum { PEER_WORKSPACE = 32 << 20 };

/* What a context keeps of both libraries. */
typedef struct cuda_peers {
    void *cublas, *cublaslt;   /* handles, NULL until needed */
    struct lt_choice *choices; /* the fastest algorithms found so far */
} cuda_peers;

/* A sentence for a status that is not 0; both libraries have the same statuses. */
tess_status peer_fail(const char *function, int status, const peer_call *call, sentence *why);

#endif
