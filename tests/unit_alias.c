/* The promise: C written over an element of A or B is always noticed, and disjoint parts of one buffer never
 * are. alias.c is compared with a map of every byte, over random strided views. */
#include <string.h>

#include "../src/alias.h"
#include "harness.h"

enum { BYTES = 4096 };

/* A small random matrix inside a buffer of BYTES, and its batch. */
typedef struct sample {
    tess_matrix view;
    int64_t count, stride;
} sample;

/* Marks every byte of the sample; returns -1 if it leaves the buffer, else how often a byte was marked twice.
 */
static int mark(const sample *s, const unsigned char *buffer, unsigned char *map) {
    int64_t size = (int64_t)tess_type_size(s->view.type), base = (const unsigned char *)s->view.data - buffer;
    int twice = 0;
    memset(map, 0, BYTES);
    for (int64_t b = 0; b < s->count; b++)
        for (int64_t i = 0; i < s->view.rows; i++)
            for (int64_t j = 0; j < s->view.cols; j++) {
                int64_t at = base + (i * s->view.row_stride + j * s->view.col_stride + b * s->stride) * size;
                if (at < 0 || at + size > BYTES) return -1;
                twice += map[at];
                memset(map + at, 1, (size_t)size);
            }
    return twice;
}

static sample draw(test_rng *rng, unsigned char *buffer, int64_t stride_of_parent) {
    static const tess_type types[] = {TESS_F32, TESS_F64, TESS_F16, TESS_I8};
    sample s;
    tess_type type = types[rng_range(rng, 0, 3)];
    int64_t size = (int64_t)tess_type_size(type);
    int regular = (int)rng_range(rng, 0, 1);
    s.view = (tess_matrix){buffer + rng_range(rng, 0, BYTES / size - 1) * size,
                           type,
                           TESS_HOST,
                           rng_range(rng, 1, 6),
                           rng_range(rng, 1, 6),
                           0,
                           0};
    s.view.row_stride = regular ? stride_of_parent : rng_range(rng, -20, 20);
    s.view.col_stride = regular ? 1 : rng_range(rng, -6, 6);
    if (rng_range(rng, 0, 1)) {
        int64_t row_stride = s.view.row_stride;
        s.view.row_stride = s.view.col_stride, s.view.col_stride = row_stride;
    }
    s.count = rng_range(rng, 1, 3);
    s.stride = rng_range(rng, -40, 40);
    return s;
}

TEST(alias_agrees_with_a_map_of_every_byte) {
    static _Alignas(8) unsigned char buffer[BYTES];
    static unsigned char map_x[BYTES], map_y[BYTES];
    test_rng *rng = test_random();
    int met = 0, apart = 0, folded = 0;
    for (int round = 0; round < 40000; round++) {
        int64_t parent = rng_range(rng, 1, 24);
        sample x = draw(rng, buffer, parent), y = draw(rng, buffer, parent);
        int twice_x = mark(&x, buffer, map_x), twice_y = mark(&y, buffer, map_y);
        if (twice_x < 0 || twice_y < 0) continue;
        int share = 0;
        for (int i = 0; i < BYTES; i++) share |= map_x[i] & map_y[i];
        footprint fx = alias_footprint(&x.view, x.count, x.stride),
                  fy = alias_footprint(&y.view, y.count, y.stride);
        overlap between = alias_between(&fx, &fy), back = alias_between(&fy, &fx), within = alias_within(&fx);
        CHECK(between == (share ? OVERLAP_SOME : OVERLAP_NONE), "round %d: the map says %d, alias_between %d",
              round, share, (int)between);
        CHECK(back == between, "round %d: the other way round it is %d, not %d", round, (int)back,
              (int)between);
        CHECK(within == (twice_x ? OVERLAP_SOME : OVERLAP_NONE),
              "round %d: %d bytes twice, alias_within says %d", round, twice_x, (int)within);
        met += share, apart += !share, folded += twice_x > 0;
    }
    CHECK(met > 500 && apart > 500 && folded > 500, "the samples met %d times, not %d times, folded %d times",
          met, apart, folded);
}

TEST(alias_of_parts_of_a_huge_matrix_takes_no_time) {
    /* 2^20 × 2^20 in one buffer nobody has: only addresses are compared. Interleaved halves of every row. */
    const int64_t n = INT64_C(1) << 20;
    char *base = (char *)(uintptr_t)0x10000000;
    tess_matrix left = tess_view_row_major(TESS_F32, n, n / 2, base, n);
    tess_matrix right = tess_view_row_major(TESS_F32, n, n / 2, base + n / 2 * 4, n);
    footprint x = alias_footprint(&left, 1, 0), y = alias_footprint(&right, 1, 0);
    CHECK(alias_between(&x, &y) == OVERLAP_NONE, "the halves are apart");
    right.data = base + (n / 2 - 1) * 4;
    y = alias_footprint(&right, 1, 0);
    CHECK(alias_between(&x, &y) == OVERLAP_SOME, "now they share a column");
}
