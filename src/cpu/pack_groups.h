/* pack_groups.h: packing i8 and bf16 for dot-product instructions, which take GROUP neighbours in k at once.
 *
 * A panel is, for every GROUP elements of depth, `width` groups of GROUP elements. The including file sets
 * ELEMENT, SUFFIX and GROUP; depth is padded to a multiple of PAD. */
static void TYPED(pack_groups)(const pack_source *from, int width, int64_t first, int64_t last, void *to) {
    int64_t along = from->count_stride, deep = from->depth_stride, depth = from->depth;
    int64_t padded = (depth + PAD - 1) / PAD * PAD, whole = depth / GROUP * GROUP;
    for (int64_t panel = first; panel < last; panel++) {
        const ELEMENT *data = (const ELEMENT *)(const void *)from->data + panel * width * along;
        ELEMENT *out = (ELEMENT *)to + panel * width * padded;
        int64_t left = from->count - panel * width;
        int used = left < width ? (int)left : width;
        if (used < width || padded > depth) memset(out, 0, (size_t)(width * padded) * sizeof *out);
        for (int64_t p = 0; p < whole; p += GROUP, out += width * GROUP) {
            const ELEMENT *step = data + p * deep;
            if (deep == 1)
                for (int i = 0; i < used; i++) memcpy(out + i * GROUP, step + i * along, GROUP * sizeof *out);
            else
                for (int i = 0; i < used; i++)
                    for (int g = 0; g < GROUP; g++) out[i * GROUP + g] = step[i * along + g * deep];
        }
        for (int64_t p = whole; p < depth; p++)
            for (int i = 0; i < used; i++) out[i * GROUP + (p - whole)] = data[i * along + p * deep];
    }
}
