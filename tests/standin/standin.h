/* standin.h: what the stand-in libraries share. Device memory is host memory, but it is known which is
 * which; streams are queues, and nothing in them is done before somebody waits for it: whatever forgets to
 * wait sees old data. */
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct standin_stream standin_stream;

/* One thing to do, in its turn; returns a CUresult. `argument` is freed afterwards. */
typedef int (*standin_work)(void *argument);
EXPORT int standin_queue(standin_stream *stream, standin_work work, const void *argument, size_t size);

/* Whether [address + low, address + high) lies in one piece of device memory. */
EXPORT int standin_is_device(const void *address, int64_t low, int64_t high);

/* Everything that was made and not given back: memory, streams, events, modules, graphs, contexts. */
EXPORT int standin_live(void);

/* A product, as kernels are passed it. */
typedef struct standin_gemm {
    char *a, *b, *c;
    int32_t m, n, k, count;
    int64_t lda, ldb, ldc;
    int64_t a_step, b_step, c_step;
    int64_t batch_a, batch_b, batch_c;
    union {
        float f;
        double d;
        int32_t i;
    } alpha, beta;
} standin_gemm;

/* A strided copy, as kernels are passed it. */
typedef struct standin_move {
    char *from, *to;
    int32_t rows, cols, rows_to, cols_to;
    int64_t from_row, from_col, to_row, to_col;
    int64_t batch_from, batch_to;
} standin_move;

/* A tensor map, as the stand-in's cuTensorMapEncodeTiled writes it. */
typedef struct standin_map {
    char *address;
    uint64_t dimensions[3], strides[2]; /* elements; bytes */
    uint32_t box[3];
    int32_t type, interleave, swizzle, promotion, fill;
} standin_map;

typedef union standin_place {
    standin_map map;
    _Alignas(64) char room[128];
} standin_place;

/* What a kernel is passed whose tiles TMA moves. */
typedef struct standin_tma {
    standin_place a, b, c;
    standin_gemm g;
} standin_tma;

/* And one that takes rows of A apart: `apart_gemm` in kernels/apart.h. */
typedef struct standin_apart {
    standin_tma all;
    standin_place rows[8], rim_a, rim_b;
    int32_t rim_rows, rim_cols;
    const char *late_from;
    char *late_to;
    int32_t *late_counts;
    int32_t late_from_row, late_to_row, late_whole, late_some, late_chunk, unused;
} standin_apart;

/* What kernels around a product are passed that is split into parts: `split` in kernels/parts.h. */
typedef struct standin_side {
    char *from, *parts, *undo;
    int32_t *kept;
    int32_t lines, products, together, rows, vec, unused;
    int64_t line, step, batch;
} standin_side;
typedef struct standin_split {
    standin_side a, b;
    int32_t *state;
    int32_t k, count, strip_blocks, blocks, least_way, known, packs, cluster;
    float alpha, beta;
    char *c;
    int64_t c_row, c_col, batch_c;
} standin_split;

/* And the product itself: `split_gemm` in kernels/split.h. */
typedef struct standin_split_tma {
    standin_tma tma;
    standin_split whole;
} standin_split_tma;

/* The last launch of such a kernel, for tests to look at. */
typedef struct standin_seen {
    char name[64];
    unsigned grid[3], block[3], shared;
    int overlaps; /* it was launched so that it may start before the one ahead of it ends */
    standin_tma with;
} standin_seen;
EXPORT int standin_last_tma(standin_seen *seen);

/* The parameters of a kernel that say how A and B lie, and C. */
typedef struct standin_order {
    int at, bt, vec; /* vec 0: the kernel has no such parameters */
    int along_k;     /* elements that are not 2 bytes must lie along k */
    int b_rows;      /* but those of B in rows */
    int store;       /* TMA writes C */
    int cvec;        /* as vec, of rows of C, which are made of whole ones */
} standin_order;

/* They return a CUresult: 700 if something lies outside device memory, 716 if not as the kernel was told. `types`
 * is "F32", "F16_F32", ... */
int standin_multiply(const standin_gemm *g, const char *types, const standin_order *order, int64_t products);
/* The same by the maps: what they say must be what g says. */
int standin_multiply_mapped(const standin_tma *t, const char *types, const standin_order *order);
/* Rows of A by the maps of their classes, and those of the rim by their copy's. */
int standin_multiply_apart(const standin_apart *t, const char *types);
/* It finds that nothing can be split, so that the product is computed from A and B themselves. */
int standin_prepare_split(const standin_split *s);
int standin_pack_split(const standin_split *s);
int standin_multiply_split(const standin_split *s);
int standin_scale(const standin_gemm *g, const char *types, int64_t products);
int standin_copy(const standin_move *v, const char *types, int64_t products);
int standin_add(const standin_gemm *g, const char *types);
int standin_copy_lines(const standin_move *moves, unsigned count, const char *types, int64_t products);
int standin_round(const standin_move *v, int to_tf32, int64_t products); /* f32 to bf16, or to TF32 */

#endif
