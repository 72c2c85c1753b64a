/* unit_split_gpu.c: f32 products that are split into parts: the way that the data took can be asked for, a card that is full
 * computes them without parts, and the maps that the kernel gets are those of the parts. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#include "standin/standin.h"

enum { EDGE = 200, DEPTH = 130, PARTS = 3 * 192 }; /* PARTS: elements that a line's three chunks take */

/* A product of ones but for one element of A, all in device memory. */
typedef struct case_of_ones {
    float *a, *b, *c; /* on the host */
    void *device[3];
    tess_matrix A, B, C;
} case_of_ones;

static void open_case(case_of_ones *t, tess_context *ctx) {
    const int64_t sizes[3][2] = {{EDGE, DEPTH}, {DEPTH, EDGE}, {EDGE, EDGE}};
    float **hosts[3] = {&t->a, &t->b, &t->c};
    tess_matrix *views[3] = {&t->A, &t->B, &t->C};
    for (int i = 0; i < 3; i++) {
        size_t count = (size_t)(sizes[i][0] * sizes[i][1]);
        *hosts[i] = test_alloc(count * sizeof(float));
        for (size_t j = 0; j < count; j++) (*hosts[i])[j] = 1;
        t->device[i] = gpu_alloc(ctx, *hosts[i], count * sizeof(float));
        *views[i] = tess_view_row_major(TESS_F32, sizes[i][0], sizes[i][1], t->device[i], 0);
        views[i]->place = TESS_DEVICE;
    }
}

static void close_case(case_of_ones *t, tess_context *ctx) {
    for (int i = 0; i < 3; i++) tess_free(ctx, t->device[i]);
    free(t->a), free(t->b), free(t->c);
}

/* Row 3 of A is x and zeros. Returns 0 if the card does not have the kernel. */
static int run_case(case_of_ones *t, tess_context *ctx, const char *kernel, float x, float y) {
    tess_options options = {.kernel = kernel};
    for (int k = 0; k < DEPTH; k++) t->a[3 * DEPTH + k] = k == 0 ? x : k == 1 ? y : 0;
    CHECK_STATUS(tess_copy(ctx, t->device[0], t->a, EDGE * DEPTH * sizeof(float)), TESS_OK, ctx);
    tess_status status = tess_gemm(ctx, 1, &t->A, &t->B, 0, &t->C, &options);
    if (status == TESS_ERROR_KERNEL && strstr(tess_error(ctx), "sm_90 alone")) return 0;
    CHECK(status == TESS_OK, "%s: %s", kernel, tess_error(ctx));
    CHECK_STATUS(tess_copy(ctx, t->c, t->device[2], EDGE * EDGE * sizeof(float)), TESS_OK, ctx);
    double want = (double)x + (double)y, got = (double)t->c[3 * EDGE + 7];
    CHECK((double)t->c[0] == DEPTH, "C[0][0] is %g, not %d", (double)t->c[0], DEPTH);
    CHECK(got == want || (want != want && got != got) || fabs(got - want) <= 0x1p-22 * fabs(want),
          "%s: C[3][7] is %a, not %a", kernel, got, want);
    return 1;
}

static void check_way(tess_context *ctx, tess_way expected, const char *what) {
    tess_way way = (tess_way)-1;
    CHECK_STATUS(tess_way_taken(ctx, &way), TESS_OK, ctx);
    CHECK(way == expected, "%s: way %d, not %d", what, (int)way, (int)expected);
}

/* The stand-in takes one way for all. */
GPU_TEST(gpu_split_way_can_be_asked_for) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    int certain = gpu_is_standin();
    case_of_ones t;
    open_case(&t, ctx);
    check_way(ctx, TESS_WAY_ONLY, "nothing");
    if (run_case(&t, ctx, "split_01_fp16x3", 1, 2)) {
        check_way(ctx, certain ? TESS_WAY_F32 : TESS_WAY_FP16X3, "small integers");
        run_case(&t, ctx, "split_01_fp16x3", 1, 0x1p-60f);
        check_way(ctx, certain ? TESS_WAY_F32 : TESS_WAY_BF16X6, "a wide row");
        run_case(&t, ctx, "split_02_bf16x6", 1, 2);
        check_way(ctx, certain ? TESS_WAY_F32 : TESS_WAY_BF16X6, "split_02_bf16x6");
        run_case(&t, ctx, "split_03_mma", 1, 0x1p-60f);
        check_way(ctx, certain ? TESS_WAY_F32 : TESS_WAY_BF16X6, "split_03_mma");
        run_case(&t, ctx, "split_01_fp16x3", 1, INFINITY);
        check_way(ctx, TESS_WAY_F32, "an infinity");
        run_case(&t, ctx, "simt_09_tile2d", 1, 2);
        check_way(ctx, TESS_WAY_ONLY, "simt_09_tile2d");
    } else {
        harness_skip("kernels that split f32 are for sm_90 alone");
    }
    close_case(&t, ctx);
    tess_close(ctx);
}

/* Sums of one sign that no f32 holds: what is kept of their rounding must not turn infinities into NaN. */
GPU_TEST(gpu_split_sums_beyond_f32_are_infinite) {
    static const char *const kernels[] = {"split_02_bf16x6", "split_03_mma"};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    case_of_ones t;
    open_case(&t, ctx);
    for (int i = 0; i < EDGE * DEPTH; i++) t.a[i] = t.b[i] = i == 7 ? 1 : 0x1p64f;
    CHECK_STATUS(tess_copy(ctx, t.device[0], t.a, EDGE * DEPTH * sizeof(float)), TESS_OK, ctx);
    CHECK_STATUS(tess_copy(ctx, t.device[1], t.b, EDGE * DEPTH * sizeof(float)), TESS_OK, ctx);
    for (int i = 0; i < 2; i++) {
        tess_status status = tess_gemm(ctx, 1, &t.A, &t.B, 0, &t.C, &(tess_options){.kernel = kernels[i]});
        if (status == TESS_ERROR_KERNEL && strstr(tess_error(ctx), "sm_90 alone")) continue;
        CHECK(status == TESS_OK, "%s: %s", kernels[i], tess_error(ctx));
        CHECK_STATUS(tess_copy(ctx, t.c, t.device[2], EDGE * EDGE * sizeof(float)), TESS_OK, ctx);
        int finite = 0;
        for (int j = 0; j < EDGE * EDGE; j++) finite += t.c[j] != INFINITY;
        CHECK(finite == 0, "%s: %d elements are not infinite", kernels[i], finite);
    }
    close_case(&t, ctx);
    tess_close(ctx);
}

STANDIN_TEST(gpu_standin_split_without_memory) {
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    case_of_ones t;
    open_case(&t, ctx);
    setenv("STANDIN_FAULT", "cuMemAlloc:1:2", 1);
    run_case(&t, ctx, "split_01_fp16x3", 1, 2);
    unsetenv("STANDIN_FAULT");
    check_way(ctx, TESS_WAY_F32, "no memory for parts");
    close_case(&t, ctx);
    tess_close(ctx);
}

static void check_map(const standin_map *m, char name, uint64_t length, uint64_t count, uint64_t distance,
                      uint32_t box) {
    CHECK(m->dimensions[0] == length && m->dimensions[1] == count && m->dimensions[2] == 1 &&
              m->strides[0] == distance && m->box[1] == box,
          "%c: %d by %d by %d, %d bytes apart, boxes of %d lines", name, (int)m->dimensions[0],
          (int)m->dimensions[1], (int)m->dimensions[2], (int)m->strides[0], (int)m->box[1]);
}

STANDIN_TEST(gpu_standin_split_maps_are_of_the_parts) {
    standin_seen seen = {.grid = {0}};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    case_of_ones t;
    GPU_FUNCTION(last, "standin_last_tma", standin_seen *);
    open_case(&t, ctx);
    run_case(&t, ctx, "split_01_fp16x3", 1, 2);
    CHECK(last(&seen) && strcmp(seen.name, "split_01_fp16x3") == 0, "the last kernel with maps is '%s'",
          seen.name);
    check_map(&seen.with.a.map, 'A', PARTS, EDGE, 2 * PARTS, 128);
    check_map(&seen.with.b.map, 'B', PARTS, EDGE, 2 * PARTS, 96);
    check_map(&seen.with.c.map, 'C', EDGE, EDGE, 4 * EDGE, 16);
    CHECK(seen.with.a.map.type == 6 && seen.with.b.map.type == 6 && seen.with.c.map.type == 7,
          "types %d, %d, %d", seen.with.a.map.type, seen.with.b.map.type, seen.with.c.map.type);
    CHECK(seen.overlaps == 1 && seen.grid[0] % 2 == 0, "overlaps %d, %u blocks", seen.overlaps, seen.grid[0]);
    close_case(&t, ctx);
    tess_close(ctx);
}
