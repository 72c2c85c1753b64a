/* cuda_tma.c: what the stand-in driver has for kernels whose tiles TMA moves. A driver made without this file is an old
 * one, which lacks these functions. */
#include <string.h>

#include "cuda.h"

/* What a driver refuses: see cuTensorMapEncodeTiled in its documentation. */
static int is_legal(const standin_map *m, const void *place, unsigned rank, uint64_t size,
                    const unsigned *steps) {
    enum { UNIT = 16, SWIZZLE_NONE = 0, SWIZZLE_128B = 3 };
    const uint64_t longest = (uint64_t)1 << 32, farthest = (uint64_t)1 << 40;
    if (rank != 3 || size == 0 || (uintptr_t)place % 64 != 0 || (uintptr_t)m->address % UNIT != 0) return 0;
    for (int i = 0; i < 3; i++)
        if (m->dimensions[i] < 1 || m->dimensions[i] > longest || m->box[i] < 1 || m->box[i] > 256 ||
            steps[i] != 1)
            return 0;
    for (int i = 0; i < 2; i++)
        if (m->strides[i] == 0 || m->strides[i] % UNIT != 0 || m->strides[i] >= farthest) return 0;
    return m->box[0] * size == (m->swizzle == SWIZZLE_128B ? 128 : m->swizzle == SWIZZLE_NONE ? UNIT : 0);
}

CU(cuTensorMapEncodeTiled, void *map, int type, unsigned rank, void *address, const uint64_t *dimensions,
   const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle,
   int promotion, int fill) {
    static const uint64_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    CALL(1);
    standin_map made = {.address = address,
                        .type = type,
                        .interleave = interleave,
                        .swizzle = swizzle,
                        .promotion = promotion,
                        .fill = fill};
    memcpy(made.dimensions, dimensions, sizeof made.dimensions);
    memcpy(made.strides, strides, sizeof made.strides);
    memcpy(made.box, box, sizeof made.box);
    uint64_t size = type >= 0 && (size_t)type < sizeof sizes / sizeof *sizes ? sizes[type] : 0;
    if (!is_legal(&made, map, rank, size, steps)) return standin_leave(INVALID_VALUE);
    memset(map, 0, 128);
    memcpy(map, &made, sizeof made);
    return standin_leave(SUCCESS);
}

/* CUlaunchAttribute and CUlaunchConfig */
typedef struct attribute {
    int id, padding;
    union {
        int value;
        char room[64];
    } what;
} attribute;
typedef struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    const attribute *attributes;
    unsigned count;
} config;

CU(cuLaunchKernelEx, const config *c, struct standin_function *function, void **arguments, void **extra) {
    enum { PROGRAMMATIC = 6 };
    int overlaps = 0;
    (void)extra;
    CALL(1);
    for (unsigned i = 0; i < c->count; i++) {
        if (c->attributes[i].id != PROGRAMMATIC) return standin_leave(INVALID_VALUE);
        overlaps = c->attributes[i].what.value;
    }
    return standin_leave(
        standin_launch(function, c->grid, c->block, c->shared, overlaps, c->stream, arguments));
}

/* As on a card whose groups of multiprocessors have room for three. */
CU(cuOccupancyMaxActiveClusters, int *clusters, struct standin_function *function, const config *c) {
    (void)function;
    CALL(1);
    if (c->grid[0] == 0 || c->block[0] == 0) return standin_leave(INVALID_VALUE);
    *clusters = 3;
    return standin_leave(SUCCESS);
}
