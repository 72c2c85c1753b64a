/* cublaslt.c: the peer cublaslt: of the algorithms that cublasLt proposes, the one that proves fastest.
 * They are timed when a shape is first seen, on the call's own matrices but with a result thrown away; the
 * choice is kept. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "../memory.h"
#include "../numeric.h"
#include "library.h"
#include "peers.h"

enum { CANDIDATES = 16, TIMED_RUNS = 3 };

/* Attributes of cublasLt's descriptors. */
enum {
    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    LAYOUT_BATCH_COUNT = 5,
    LAYOUT_BATCH_OFFSET = 6,
    PREFERENCE_WORKSPACE = 1,
    PREFERENCE_ALIGNMENT = 5 /* of A; B, C and D follow */
};

/* cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t */
typedef struct lt_algorithm {
    uint64_t data[8];
} lt_algorithm;
typedef struct lt_candidate {
    lt_algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} lt_candidate;

/* One row per function; the name is the symbol. */
#define LT_FUNCTIONS(F)                                                                                      \
    F(cublasLtCreate, void **handle)                                                                         \
    F(cublasLtDestroy, void *handle)                                                                         \
    F(cublasLtMatmulDescCreate, void **desc, int compute, int scale_type)                                    \
    F(cublasLtMatmulDescDestroy, void *desc)                                                                 \
    F(cublasLtMatmulDescSetAttribute, void *desc, int attribute, const void *value, size_t size)             \
    F(cublasLtMatrixLayoutCreate, void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld)         \
    F(cublasLtMatrixLayoutDestroy, void *layout)                                                             \
    F(cublasLtMatrixLayoutSetAttribute, void *layout, int attribute, const void *value, size_t size)         \
    F(cublasLtMatmulPreferenceCreate, void **preference)                                                     \
    F(cublasLtMatmulPreferenceDestroy, void *preference)                                                     \
    F(cublasLtMatmulPreferenceSetAttribute, void *preference, int attribute, const void *value, size_t size) \
    F(cublasLtMatmulAlgoGetHeuristic, void *handle, void *desc, void *x, void *y, void *c, void *d,          \
      void *preference, int asked, lt_candidate *results, int *found)                                        \
    F(cublasLtMatmul, void *handle, void *desc, const void *alpha, const void *x, void *layout_x,            \
      const void *y, void *layout_y, const void *beta, const void *c, void *layout_c, void *d,               \
      void *layout_d, const lt_algorithm *algorithm, void *workspace, size_t workspace_size,                 \
      cu_stream stream)

static struct lt_table {
#define LT_FIELD(name, ...) int (*name)(__VA_ARGS__);
    LT_FUNCTIONS(LT_FIELD)
#undef LT_FIELD
} lt;
static const char *missing;

/* The algorithm for a shape, so far as it matters to cublasLt: everything but addresses and scalars. */
typedef struct lt_choice {
    struct lt_choice *next;
    peer_call shape;
    uint32_t alignment[3];
    lt_algorithm algorithm;
} lt_choice;

/* The descriptors of one call. */
typedef struct lt_objects {
    void *desc, *x, *y, *z, *preference;
} lt_objects;

static void find_functions(void) {
    void *library = library_open(LIBRARY_CUBLASLT);
    if (!library) return;
#define LT_FIND(name, ...)                        \
    do {                                          \
        void *found = dlsym(library, #name);      \
        if (!found) missing = #name;              \
        memcpy(&lt.name, &found, sizeof lt.name); \
    } while (0);
    LT_FUNCTIONS(LT_FIND)
#undef LT_FIND
}

static tess_status load(sentence *why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!library_open(LIBRARY_CUBLASLT))
        return status_fail(why, TESS_ERROR_KERNEL, "cublaslt cannot run: %.700s",
                           library_problem(LIBRARY_CUBLASLT));
    pthread_once(&once, find_functions);
    if (missing)
        return status_fail(why, TESS_ERROR_KERNEL, "cublaslt cannot run: %.300s has no %s",
                           library_path(LIBRARY_CUBLASLT), missing);
    return TESS_OK;
}

#define LT(function, ...)                                                              \
    do {                                                                               \
        int lt_status = lt.function(__VA_ARGS__);                                      \
        if (lt_status != CUBLAS_OK) return peer_fail(#function, lt_status, call, why); \
    } while (0)

/* The layout is of the matrix as it lies: what is transposed has its sizes the other way round. */
static tess_status make_layout(void **layout, const peer_matrix *m, const peer_call *call, sentence *why) {
    uint64_t rows = (uint64_t)(m->transposed ? m->cols : m->rows),
             cols = (uint64_t)(m->transposed ? m->rows : m->cols);
    int32_t count = (int32_t)call->count;
    LT(cublasLtMatrixLayoutCreate, layout, m->type, rows, cols, m->ld);
    if (count == 1) return TESS_OK;
    LT(cublasLtMatrixLayoutSetAttribute, *layout, LAYOUT_BATCH_COUNT, &count, sizeof count);
    LT(cublasLtMatrixLayoutSetAttribute, *layout, LAYOUT_BATCH_OFFSET, &m->stride, sizeof m->stride);
    return TESS_OK;
}

/* The largest power of two, up to 256, that divides the address. */
static uint32_t alignment_of(const void *memory) {
    uint32_t alignment = 256;
    while ((uintptr_t)memory % alignment != 0) alignment /= 2;
    return alignment;
}

static tess_status make_objects(lt_objects *o, const peer_call *call, sentence *why) {
    int32_t trans_x = call->x.transposed, trans_y = call->y.transposed;
    uint64_t workspace = PEER_WORKSPACE;
    LT(cublasLtMatmulDescCreate, &o->desc, call->compute, call->scale_type);
    LT(cublasLtMatmulDescSetAttribute, o->desc, DESC_TRANSA, &trans_x, sizeof trans_x);
    LT(cublasLtMatmulDescSetAttribute, o->desc, DESC_TRANSB, &trans_y, sizeof trans_y);
    TRY(make_layout(&o->x, &call->x, call, why));
    TRY(make_layout(&o->y, &call->y, call, why));
    TRY(make_layout(&o->z, &call->z, call, why));
    LT(cublasLtMatmulPreferenceCreate, &o->preference);
    LT(cublasLtMatmulPreferenceSetAttribute, o->preference, PREFERENCE_WORKSPACE, &workspace,
       sizeof workspace);
    const void *const data[4] = {call->x.data, call->y.data, call->z.data, call->z.data};
    for (int i = 0; i < 4; i++) {
        uint32_t alignment = alignment_of(data[i]);
        LT(cublasLtMatmulPreferenceSetAttribute, o->preference, PREFERENCE_ALIGNMENT + i, &alignment,
           sizeof alignment);
    }
    return TESS_OK;
}

static void free_objects(lt_objects *o) {
    if (o->desc) lt.cublasLtMatmulDescDestroy(o->desc);
    if (o->x) lt.cublasLtMatrixLayoutDestroy(o->x);
    if (o->y) lt.cublasLtMatrixLayoutDestroy(o->y);
    if (o->z) lt.cublasLtMatrixLayoutDestroy(o->z);
    if (o->preference) lt.cublasLtMatmulPreferenceDestroy(o->preference);
}

static tess_status multiply(cuda_device *self, const lt_objects *o, const peer_call *call,
                            const lt_algorithm *algorithm, void *result, char *workspace, cu_stream stream,
                            sentence *why) {
    LT(cublasLtMatmul, self->peers->cublaslt, o->desc, &call->alpha, call->x.data, o->x, call->y.data, o->y,
       &call->beta, call->z.data, o->z, result, o->z, algorithm, workspace, PEER_WORKSPACE, stream);
    return TESS_OK;
}

/* ---- The choice ---- */

static peer_call shape_of(const peer_call *call) {
    peer_call shape;
    memset(&shape, 0, sizeof shape);
    const peer_matrix *from[3] = {&call->x, &call->y, &call->z};
    peer_matrix *to[3] = {&shape.x, &shape.y, &shape.z};
    for (int i = 0; i < 3; i++) {
        to[i]->rows = from[i]->rows, to[i]->cols = from[i]->cols;
        to[i]->ld = from[i]->ld, to[i]->stride = from[i]->stride;
        to[i]->transposed = from[i]->transposed, to[i]->type = from[i]->type;
    }
    shape.m = call->m, shape.n = call->n, shape.k = call->k, shape.count = call->count;
    shape.compute = call->compute, shape.scale_type = call->scale_type;
    return shape;
}

static lt_choice *find_choice(cuda_device *self, const peer_call *shape, const uint32_t alignment[3]) {
    for (lt_choice *c = self->peers->choices; c; c = c->next)
        if (memcmp(&c->shape, shape, sizeof *shape) == 0 &&
            memcmp(c->alignment, alignment, sizeof c->alignment) == 0)
            return c;
    return NULL;
}

/* Milliseconds of a few runs, after one that warms up. */
static tess_status time_candidate(cuda_device *self, const lt_objects *o, const peer_call *call,
                                  const lt_algorithm *algorithm, void *result, char *workspace,
                                  cu_stream stream, cu_event start, cu_event end, float *milliseconds,
                                  sentence *why) {
    TRY(multiply(self, o, call, algorithm, result, workspace, stream, why));
    CUDA(self, cuEventRecord, start, stream);
    for (int i = 0; i < TIMED_RUNS; i++)
        TRY(multiply(self, o, call, algorithm, result, workspace, stream, why));
    CUDA(self, cuEventRecord, end, stream);
    CUDA(self, cuEventSynchronize, end);
    CUDA(self, cuEventElapsedTime, milliseconds, start, end);
    return TESS_OK;
}

/* Bytes of the result, around its first element: the library takes no negative strides. */
static size_t result_bytes(const peer_call *call) {
    int64_t size = call->z.type == CUBLAS_F64                                  ? 8
                   : call->z.type == CUBLAS_F16 || call->z.type == CUBLAS_BF16 ? 2
                                                                               : 4;
    int64_t stride = call->z.stride > 0 ? call->z.stride : 0;
    return (size_t)((stride * (call->count - 1) + call->z.ld * call->z.cols) * size);
}

/* Moves the fastest candidate to the front. A candidate that does not run is passed over. */
static tess_status find_fastest(cuda_device *self, const lt_objects *o, const peer_call *call,
                                lt_candidate *candidates, int found, char *workspace, cu_stream stream,
                                sentence *why) {
    char *result;
    cu_event start = NULL, end = NULL;
    int best = 0;
    float least = 0;
    TRY(cuda_alloc(self, result_bytes(call), "choosing cublasLt's algorithm", &result, why));
    cu_result made = driver.cuEventCreate(&start, 0);
    if (made == CU_OK) made = driver.cuEventCreate(&end, 0);
    for (int i = 0; i < found && made == CU_OK; i++) {
        float milliseconds;
        if (time_candidate(self, o, call, &candidates[i].algorithm, result, workspace, stream, start, end,
                           &milliseconds, why) != TESS_OK)
            continue;
        if (least == 0 || milliseconds < least) least = milliseconds, best = i;
    }
    if (start) driver.cuEventDestroy(start);
    if (end) driver.cuEventDestroy(end);
    driver.cuMemFree(cuda_address(result));
    candidates[0] = candidates[best];
    return made == CU_OK ? TESS_OK : cuda_fail(self, made, "cuEventCreate", why);
}

static tess_status choose(cuda_device *self, const lt_objects *o, const peer_call *call, char *workspace,
                          cu_stream stream, lt_algorithm *algorithm, sentence *why) {
    peer_call shape = shape_of(call);
    const uint32_t alignment[3] = {alignment_of(call->x.data), alignment_of(call->y.data),
                                   alignment_of(call->z.data)};
    lt_choice *known = find_choice(self, &shape, alignment);
    if (!known) {
        lt_candidate candidates[CANDIDATES];
        int found = 0, capturing = 0;
        LT(cublasLtMatmulAlgoGetHeuristic, self->peers->cublaslt, o->desc, o->x, o->y, o->z, o->z,
           o->preference, CANDIDATES, candidates, &found);
        if (found == 0) return peer_fail("cublasLtMatmulAlgoGetHeuristic", 15, call, why);
        /* In a capture nothing can be timed: the proposal that is first is taken, and not kept. */
        CUDA(self, cuStreamIsCapturing, stream, &capturing);
        if (!capturing) TRY(find_fastest(self, o, call, candidates, found, workspace, stream, why));
        *algorithm = candidates[0].algorithm;
        if (capturing) return TESS_OK;
        known = memory_alloc_zeroed(sizeof *known);
        if (!known) return status_fail(why, TESS_ERROR_MEMORY, "no memory for cublasLt's choice");
        memcpy(&known->shape, &shape, sizeof shape);
        memcpy(known->alignment, alignment, sizeof alignment);
        known->algorithm = *algorithm;
        known->next = self->peers->choices;
        self->peers->choices = known;
    }
    *algorithm = known->algorithm;
    return TESS_OK;
}

static tess_status choose_and_multiply(cuda_device *self, lt_objects *o, const peer_call *call,
                                       char *workspace, cu_stream stream, sentence *why) {
    lt_algorithm algorithm;
    TRY(make_objects(o, call, why));
    TRY(choose(self, o, call, workspace, stream, &algorithm, why));
    return multiply(self, o, call, &algorithm, (void *)(uintptr_t)call->z.data, workspace, stream, why);
}

tess_status cublaslt_queue(cuda_device *self, const peer_call *call, char *workspace, cu_stream stream,
                           sentence *why) {
    TRY(load(why));
    if (!self->peers->cublaslt) LT(cublasLtCreate, &self->peers->cublaslt);
    lt_objects objects = {NULL, NULL, NULL, NULL, NULL};
    tess_status status = choose_and_multiply(self, &objects, call, workspace, stream, why);
    free_objects(&objects);
    return status;
}

void cublaslt_close(cuda_peers *peers, int usable) {
    if (peers->cublaslt && usable) lt.cublasLtDestroy(peers->cublaslt);
    while (peers->choices) {
        lt_choice *next = peers->choices->next;
        memory_free(peers->choices);
        peers->choices = next;
    }
}
