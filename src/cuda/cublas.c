/* cublas.c: the peer cublas: cublasGemmEx with the algorithm it picks by itself. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "library.h"
#include "peers.h"

enum { CUBLAS_GEMM_DEFAULT = -1 };

/* One row per function: its name, its symbol, its arguments. */
#define CUBLAS_FUNCTIONS(F)                                                                             \
    F(cublasCreate, "cublasCreate_v2", void **handle)                                                   \
    F(cublasDestroy, "cublasDestroy_v2", void *handle)                                                  \
    F(cublasSetStream, "cublasSetStream_v2", void *handle, cu_stream stream)                            \
    F(cublasSetWorkspace, "cublasSetWorkspace_v2", void *handle, void *memory, size_t bytes)            \
    F(cublasGemmEx, "cublasGemmEx", void *handle, int trans_x, int trans_y, int m, int n, int k,        \
      const void *alpha, const void *x, int type_x, int ldx, const void *y, int type_y, int ldy,        \
      const void *beta, void *z, int type_z, int ldz, int compute, int algorithm)                       \
    F(cublasGemmStridedBatchedEx, "cublasGemmStridedBatchedEx", void *handle, int trans_x, int trans_y, \
      int m, int n, int k, const void *alpha, const void *x, int type_x, int ldx, long long stride_x,   \
      const void *y, int type_y, int ldy, long long stride_y, const void *beta, void *z, int type_z,    \
      int ldz, long long stride_z, int count, int compute, int algorithm)

static struct cublas_table {
#define CUBLAS_FIELD(name, symbol, ...) int (*name)(__VA_ARGS__);
    CUBLAS_FUNCTIONS(CUBLAS_FIELD)
#undef CUBLAS_FIELD
} cublas;
static const char *missing;

static void find_functions(void) {
    void *library = library_open(LIBRARY_CUBLAS);
    if (!library) return;
#define CUBLAS_FIND(name, symbol, ...)                    \
    do {                                                  \
        void *found = dlsym(library, symbol);             \
        if (!found) missing = symbol;                     \
        memcpy(&cublas.name, &found, sizeof cublas.name); \
    } while (0);
    CUBLAS_FUNCTIONS(CUBLAS_FIND)
#undef CUBLAS_FIND
}

static tess_status load(sentence *why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!library_open(LIBRARY_CUBLAS))
        return status_fail(why, TESS_ERROR_KERNEL, "cublas cannot run: %.700s",
                           library_problem(LIBRARY_CUBLAS));
    pthread_once(&once, find_functions);
    if (missing)
        return status_fail(why, TESS_ERROR_KERNEL, "cublas cannot run: %.300s has no %s",
                           library_path(LIBRARY_CUBLAS), missing);
    return TESS_OK;
}

#define CUBLAS(function, ...)                                                                  \
    do {                                                                                       \
        int cublas_status = cublas.function(__VA_ARGS__);                                      \
        if (cublas_status != CUBLAS_OK) return peer_fail(#function, cublas_status, call, why); \
    } while (0)

tess_status cublas_queue(cuda_device *self, const peer_call *call, char *workspace, cu_stream stream,
                         sentence *why) {
    TRY(load(why));
    void **handle = &self->peers->cublas;
    const peer_matrix *x = &call->x, *y = &call->y, *z = &call->z;
    if (!*handle) CUBLAS(cublasCreate, handle);
    /* A new stream resets the workspace, so it is set after it, each time. */
    CUBLAS(cublasSetStream, *handle, stream);
    CUBLAS(cublasSetWorkspace, *handle, workspace, PEER_WORKSPACE);
    if (call->count == 1)
        CUBLAS(cublasGemmEx, *handle, x->transposed, y->transposed, (int)call->m, (int)call->n, (int)call->k,
               &call->alpha, x->data, x->type, (int)x->ld, y->data, y->type, (int)y->ld, &call->beta,
               (void *)(uintptr_t)z->data, z->type, (int)z->ld, call->compute, CUBLAS_GEMM_DEFAULT);
    else
        CUBLAS(cublasGemmStridedBatchedEx, *handle, x->transposed, y->transposed, (int)call->m, (int)call->n,
               (int)call->k, &call->alpha, x->data, x->type, (int)x->ld, x->stride, y->data, y->type,
               (int)y->ld, y->stride, &call->beta, (void *)(uintptr_t)z->data, z->type, (int)z->ld, z->stride,
               (int)call->count, call->compute, CUBLAS_GEMM_DEFAULT);
    return TESS_OK;
}

void cublas_close(cuda_peers *peers) {
    if (peers->cublas) cublas.cublasDestroy(peers->cublas);
    peers->cublas = NULL;
}
