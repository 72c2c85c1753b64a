/* tensor_map.c: matrices as TMA sees them: lines of elements, `lines` of them, and the matrices of a batch.
 *
 * Lines end where the matrix ends: what a box has beyond it reads as zeros, and is not written where a line is whole
 * pieces of 16 bytes. */
#include "tensor_map.h"

#include <string.h>

#include "../numeric.h"

/* Bytes of a line of a box, which the swizzle of 128 bytes needs; and what addresses and distances are multiples of. */
enum { BOX_BYTES = 128, UNIT = 16 };

typedef struct lines {
    const void *data;
    int64_t length, count, distance; /* in elements */
    int64_t products, batch;
} lines;

/* The data type of a map. TMA rounds f32 to TF32 as it loads it, so that only A and B have that type. */
static int type_of(tess_type type, int is_input) {
    switch (type) {
    case TESS_F16: return CU_MAP_F16;
    case TESS_BF16: return CU_MAP_BF16;
    case TESS_I8: return CU_MAP_U8;
    case TESS_I32: return CU_MAP_I32;
    default: return is_input ? CU_MAP_TF32 : CU_MAP_F32;
    }
}

/* The bytes from one line, or matrix, to the next. Where there is only one, it is as far as the next could be. */
static uint64_t stride_of(int64_t count, int64_t elements, int64_t size, uint64_t bytes) {
    return count > 1 ? (uint64_t)(elements * size) : (bytes + UNIT - 1) / UNIT * UNIT;
}

/* What TMA moves at a time: so many lines of 128 bytes, whose pieces are swizzled; or of 16. */
typedef struct box {
    int lines, bytes;
} box;

/* The second-level cache is asked for lines of 128 bytes: were it 256, lines of a box that begin elsewhere than at multiples
 * of those would take a quarter longer. */
static tess_status encode(cuda_device *self, const lines *m, tess_type type, int is_input, box moved,
                          tensor_map *map, sentence *why) {
    int64_t size = numeric_size(type), products = m->batch == 0 ? 1 : m->products;
    const uint64_t dimensions[] = {(uint64_t)m->length, (uint64_t)m->count, (uint64_t)products};
    uint64_t strides[2];
    strides[0] = stride_of(m->count, m->distance, size, dimensions[0] * (uint64_t)size);
    strides[1] = stride_of(products, m->batch, size, dimensions[1] * strides[0]);
    const unsigned boxes[] = {(unsigned)(moved.bytes / size), (unsigned)moved.lines, 1}, steps[] = {1, 1, 1};
    CUDA(self, cuTensorMapEncodeTiled, map, type_of(type, is_input), 3, (void *)(uintptr_t)m->data,
         dimensions, strides, boxes, steps, 0,
         moved.bytes == BOX_BYTES ? CU_MAP_SWIZZLE_128B : CU_MAP_SWIZZLE_NONE, CU_MAP_PROMOTE_128B, 0);
    return TESS_OK;
}

/* 0 for a kernel that has no such parameter. */
static int param_of(const product_launch *launch, const char *name) {
    int at = registry_find_param(launch->row, name);
    return at < 0 ? 0 : (int)launch->params[at];
}

/* The lines of a box of A or B: no more than there are, if the kernel says so. One that lies across k always has all. */
static box box_of(const product_launch *launch, int most, int64_t there, int along_k) {
    int clipped =
        launch->row->clipped && along_k && launch->shape.cluster_rows * launch->shape.cluster_cols == 1;
    return (box){clipped && there < most ? (int)there : most, BOX_BYTES};
}

tess_status tensor_map_arguments(cuda_device *self, const product_launch *launch, tma_gemm *out,
                                 sentence *why) {
    const launch_gemm *g = launch->arguments;
    const launch_shape *shape = &launch->shape;
    lines a = {g->a, g->k, g->m, g->lda, g->count, g->batch_a},
          b = {g->b, g->n, g->k, g->ldb, g->count, g->batch_b},
          c = {g->c, g->n, g->m, g->ldc, g->count, g->batch_c};
    tess_type in = launch->split ? TESS_F16 : launch->in; /* parts of f32 have 16 bits, whichever they are */
    if (launch->split) a.length = g->lda, b.length = b.distance = g->b_step, b.count = g->n;
    int at = param_of(launch, "AT"), bt = param_of(launch, "BT");
    if (at) a.length = g->m, a.count = g->k, a.distance = g->a_step;
    if (bt) b.length = g->k, b.count = g->n, b.distance = g->b_step;
    memset(out, 0, sizeof *out);
    out->g = *g;
    TRY(encode(self, &a, in, 1, box_of(launch, shape->box_a, a.count, !at), &out->a, why));
    TRY(encode(self, &b, in, 1, box_of(launch, shape->box_b, b.count, bt), &out->b, why));
    if (!param_of(launch, "STORE")) return TESS_OK;
    return encode(self, &c, launch->out, 0, (box){shape->box_c, BOX_BYTES}, &out->c, why);
}

/* The rows of A that are a class, from the multiple of 16 bytes on that lies ahead of the first: begin_of in kernels/apart.h is how
 * far. A class that has none gets those of the first, whose sums are not written. */
static lines class_of(const product_launch *launch, int class) {
    const launch_gemm *g = launch->arguments;
    int64_t size = numeric_size(launch->in), rows = g->m - launch->rim.rows;
    if (class >= rows) class = 0;
    int64_t ahead = class * g->lda % (UNIT / size);
    return (lines){(const char *)g->a + (class * g->lda - ahead) * size,
                   g->k + ahead,
                   (rows - class + LACES - 1) / LACES,
                   LACES * g->lda,
                   g->count,
                   g->batch_a};
}

tess_status tensor_map_apart(cuda_device *self, const product_launch *launch, apart_gemm *out,
                             sentence *why) {
    const launch_gemm *g = launch->arguments;
    const launch_rim *rim = &launch->rim;
    const lines b = {g->b, g->n, g->k, g->ldb, g->count, g->batch_b},
                rim_a = {rim->a, g->k, rim->rows, rim->a_row, 1, 0};
    const box of_a = {launch->shape.box_a, BOX_BYTES}, of_b = {launch->shape.box_b, BOX_BYTES},
              of_rim_a = {MOST_RIM, BOX_BYTES}, of_rim_b = {launch->shape.box_b, UNIT};
    memset(out, 0, sizeof *out);
    out->all.g = *g;
    out->rim_rows = rim->rows, out->rim_cols = rim->cols;
    out->late = launch->late;
    for (int i = 0; i < LACES; i++) {
        lines rows = class_of(launch, i);
        TRY(encode(self, &rows, launch->in, 1, of_a, &out->rows[i], why));
    }
    TRY(encode(self, &b, launch->in, 1, of_b, &out->all.b, why));
    if (rim->rows) TRY(encode(self, &rim_a, launch->in, 1, of_rim_a, &out->rim_a, why));
    if (rim->cols) TRY(encode(self, &b, launch->in, 1, of_rim_b, &out->rim_b, why));
    return TESS_OK;
}
