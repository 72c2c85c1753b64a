/* pack.c: copies a block into panels. Types are widened here, once, so that the inner loop knows three types only. */
#include "pack.h"

#include "../numeric.h"

#define TEMPLATE "pack_typed.h"
#include "each_type.h"

void pack_panels(const pack_source *from, int width, void *to) {
    size_t panel = (size_t)(from->depth * width) * tess_type_size(numeric_accumulator(from->type));
    char *out = to;
    for (int64_t first = 0; first < from->count; first += width, out += panel) {
        switch (from->type) {
        case TESS_F32: pack_f32(from, first, width, out); break;
        case TESS_F64: pack_f64(from, first, width, out); break;
        case TESS_F16: pack_f16(from, first, width, out); break;
        case TESS_BF16: pack_bf16(from, first, width, out); break;
        case TESS_I32: pack_i32(from, first, width, out); break;
        case TESS_I8: pack_i8(from, first, width, out); break;
        }
    }
}
