/* Packing one panel of one type (each_type.h). */
static void TYPED(pack)(const pack_source *from, int64_t first, int width, void *to) {
    const IN *data = (const IN *)(const void *)from->data + first * from->count_stride;
    int64_t along = from->count_stride, deep = from->depth_stride, depth = from->depth;
    int used = from->count - first < width ? (int)(from->count - first) : width;
    SUM *out = to;
    if (used < width) memset(out, 0, (size_t)(depth * width) * sizeof *out);
    if (along == 1) { /* the panel's width lies in order: read row by row */
        for (int64_t p = 0; p < depth; p++)
            for (int i = 0; i < used; i++) out[p * width + i] = LOAD(data[p * deep + i]);
    } else { /* read along the depth, so that a line of the source is used up before the next */
        for (int i = 0; i < used; i++)
            for (int64_t p = 0; p < depth; p++) out[p * width + i] = LOAD(data[i * along + p * deep]);
    }
}
