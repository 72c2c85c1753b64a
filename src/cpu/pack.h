/* pack.h: operands of any stride and type, laid out for the micro-kernel. */
#ifndef PACK_H
#define PACK_H

#include "../device.h"

/* What is packed: `count` rows of A (or columns of B), `depth` deep, in panels of `width`. */
typedef struct pack_source {
    tess_type type;
    const char *data; /* its first element */
    int64_t count, depth;
    int64_t count_stride, depth_stride; /* in elements */
} pack_source;

/* Writes ⌈count/width⌉ panels of depth×width elements of the accumulation type; the last is padded with zeros. */
void pack_panels(const pack_source *from, int width, void *to);

#endif
