/* The promises: what a product is packed into takes less than 16 MB for each thread, whatever its shape, and lies in
 * huge pages; how deep its panels are; the rectangles that threads share C out by have every element once; what is not packed;
 * and a small product waits for nobody. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../src/context.h"
#include "../src/cpu/blocking.h"
#include "../src/memory.h"
#include "../src/plan.h"
#include "harness.h"

static void check_packing(tess_context *ctx, const int64_t shape[3], const tess_type types[2],
                          int64_t count) {
    static const int threads[] = {1, 2, 3, 16, 64};
    enum { MOST = 16 << 20 };
    int64_t m = shape[0], n = shape[1], k = shape[2];
    tess_matrix A = tess_view_row_major(types[0], m, k, NULL, 0),
                B = tess_view_row_major(types[0], k, n, NULL, 0),
                C = tess_view_row_major(types[1], m, n, NULL, 0);
    tess_options options = {.kernel = "cpu_03_packed"};
    tess_batch batch = {count, m * k, k * n, m * n};
    plan decided;
    sentence why;
    if (!CHECK(plan_make(ctx->device, &A, &B, &C, &batch, &options, &decided, &why) == TESS_OK, "%s",
               why.text))
        return;
    for (int t = 0; t < 5; t++) {
        size_t bytes = cpu_plan_of(&decided)->kernel->scratch_size(&decided, threads[t]);
        CHECK(bytes > 0 && bytes / (size_t)threads[t] < MOST,
              "%d products of %d×%d×%d in %s, %d threads: %zu bytes", (int)count, (int)m, (int)n, (int)k,
              tess_type_name(types[0]), threads[t], bytes);
    }
}

TEST(cpu_packing_is_less_than_16_mb_a_thread) {
    static const int64_t shapes[][3] = {{1, 1, 1},          {100, 100, 100},
                                        {362, 362, 5000},   {1024, 1024, 1024},
                                        {4096, 4096, 4096}, {30000, 40000, 300},
                                        {16, 30000, 16},    {64, 50000, 9000},
                                        {30000, 16, 30000}, {20000, 20000, 20000}};
    static const tess_type types[][2] = {{TESS_F32, TESS_F32},
                                         {TESS_F64, TESS_F64},
                                         {TESS_BF16, TESS_BF16},
                                         {TESS_I8, TESS_I32}};
    tess_context *ctx = NULL;
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return;
    for (int i = 0; i < 10; i++)
        for (int t = 0; t < 4; t++)
            for (int64_t count = 1; count < 100; count += 30) check_packing(ctx, shapes[i], types[t], count);
    tess_close(ctx);
}

/* Panels of a tile of 6×64, as AVX-512 has it, fit no first-level cache: as few steps along k as up to 1376 allow, or else
 * equal ones of up to 1024. */
TEST(cpu_panels_are_deeper_where_steps_get_fewer) {
    static const struct {
        int64_t m, k, depth;
    } cases[] = {{4096, 4096, 1368}, {4096, 8192, 1368}, {4096, 1100, 1104}, {4096, 1376, 1376},
                 {4096, 1024, 1024}, {4096, 2048, 1024}, {4096, 3000, 1000}, {64, 4096, 512}};
    static const micro_kernel wide = {.mr = 6, .nr = 64, .group = 1, .packed = TESS_F32},
                              narrow = {.mr = 32, .nr = 512, .group = 4, .packed = TESS_I8};
    for (int i = 0; i < 8; i++) {
        oriented o =
            {.micro = &wide, .m = cases[i].m, .n = 4096, .k = cases[i].k, .out = TESS_F32, .acc = TESS_F32};
        block_sizes of = blocking_defaults(&o);
        CHECK(blocking_depth(&o, of.kc) == cases[i].depth, "%d×4096×%d: %d", (int)o.m, (int)o.k,
              (int)blocking_depth(&o, of.kc));
        CHECK(of.kc * of.chunk * 4 <= 15 << 20, "%d columns of %d", (int)of.chunk, (int)of.kc);
        o.micro = &narrow, o.out = o.acc = TESS_I32;
        CHECK(blocking_defaults(&o).kc == 1024, "i8, k = %d: %d", (int)o.k, (int)blocking_defaults(&o).kc);
    }
}

TEST(cpu_panels_lie_in_huge_pages) {
    device_workspace w = {NULL, 0, 0};
    sentence why;
    CHECK(workspace_grow(&w, 1000, "a test", &why) == TESS_OK && w.size == 1000, "%zu bytes", w.size);
    CHECK(workspace_grow(&w, 300000, "a test", &why) == TESS_OK && w.size == MEMORY_HUGE_PAGE &&
              (uintptr_t)w.memory % MEMORY_HUGE_PAGE == 0,
          "%zu bytes at %p", w.size, (void *)w.memory);
    workspace_close(&w);
}

TEST(cpu_rectangles_have_every_element_once) {
    test_rng *rng = test_random();
    for (int i = 0; i < 300; i++) {
        enum { SIDE = 60 };
        unsigned char seen[SIDE][SIDE] = {{0}};
        int64_t rows = rng_range(rng, 1, SIDE), cols = rng_range(rng, 1, SIDE);
        cpu_grid grid =
            cpu_make_grid(rows, cols, rng_range(rng, 1, 9), rng_range(rng, 1, 17), rng_range(rng, 1, 20));
        int64_t most_rows = cpu_grid_part_rows(&grid), most_cols = cpu_grid_part_cols(&grid), wrong = 0;
        for (int64_t at = 0; at < grid.down * grid.across; at++) {
            cpu_rectangle part = cpu_grid_part(&grid, at);
            CHECK(part.rows <= most_rows && part.cols <= most_cols,
                  "a part is %d×%d, and should be %d×%d at most", (int)part.rows, (int)part.cols,
                  (int)most_rows, (int)most_cols);
            for (int64_t r = 0; r < part.rows; r++)
                for (int64_t c = 0; c < part.cols; c++) seen[part.row + r][part.col + c]++;
        }
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++) wrong += seen[r][c] != 1;
        CHECK(wrong == 0, "%d×%d in %d×%d parts: %d elements in none or several", (int)rows, (int)cols,
              (int)grid.down, (int)grid.across, (int)wrong);
    }
}

/* A planned product of ones, on a thread of its own. */
typedef struct small_product {
    tess_plan *plan;
    tess_matrix A, B, C;
    atomic_int done;
} small_product;

static void *run_small(void *argument) {
    small_product *small = argument;
    tess_status status = tess_run(small->plan, 1, &small->A, &small->B, 0, &small->C);
    atomic_store(&small->done, status == TESS_OK ? 1 : -1);
    return NULL;
}

/* While the context is in use, which here means that its lock is held, a small product runs, and a large one waits. */
static void check_waiting(tess_context *ctx, int64_t side, int waits) {
    small_product small = {.plan = NULL};
    int64_t bytes = side * side * (int64_t)sizeof(float);
    float *a = malloc((size_t)bytes), *c = malloc((size_t)bytes);
    if (!CHECK(a && c, "no memory")) abort();
    for (int64_t i = 0; i < side * side; i++) a[i] = 1, c[i] = -1;
    small.A = small.B = tess_view_row_major(TESS_F32, side, side, a, 0);
    small.C = tess_view_row_major(TESS_F32, side, side, c, 0);
    CHECK_STATUS(tess_plan_gemm(ctx, &small.A, &small.B, &small.C, NULL, NULL, &small.plan), TESS_OK, ctx);
    pthread_t thread;
    pthread_mutex_lock(&ctx->lock);
    if (!CHECK(pthread_create(&thread, NULL, run_small, &small) == 0, "no thread")) abort();
    double end = harness_now() + (waits ? 0.2 : 20);
    while (!atomic_load(&small.done) && harness_now() < end) sched_yield();
    int done = atomic_load(&small.done);
    pthread_mutex_unlock(&ctx->lock);
    pthread_join(thread, NULL);
    CHECK(done == !waits, "%d³ %s", (int)side, waits ? "did not wait" : "waited, or failed");
    CHECK(atomic_load(&small.done) == 1 && c[0] == (float)side && c[side * side - 1] == (float)side,
          "%d³: %g", (int)side, (double)c[0]);
    tess_free_plan(small.plan);
    free(a), free(c);
}

/* Whether the planner leaves B where it is, or turns it where it lies in columns; else it packs it. */
static void check_in_place(tess_context *ctx, const int64_t *s, int b_in_columns, int in_place) {
    tess_matrix A = tess_view_row_major(TESS_F32, s[0], s[2], NULL, 0),
                B = b_in_columns ? tess_view_col_major(TESS_F32, s[2], s[1], NULL, 0)
                                 : tess_view_row_major(TESS_F32, s[2], s[1], NULL, 0),
                C = tess_view_row_major(TESS_F32, s[0], s[1], NULL, 0);
    tess_plan *made = NULL;
    if (!CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, NULL, &made), TESS_OK, ctx)) return;
    CHECK(!strcmp(tess_plan_kernel(made), in_place ? "cpu_04_direct" : "cpu_03_packed"), "%d×%d×%d%s: %s",
          (int)s[0], (int)s[1], (int)s[2], b_in_columns ? ", B in columns" : "", tess_plan_kernel(made));
    tess_free_plan(made);
}

/* Few rows of A by a long B of short rows; on x86 by any B of up to eight times the second-level cache. As measured, on either. */
TEST(cpu_few_rows_of_a_leave_b_where_it_is) {
    static const struct {
        int64_t shape[3];
        int in_place;
    } cases[] = {{{4, 64, 20000}, 1}, {{2, 8, 100000}, 1},  {{3, 33, 20000}, 1},
                 {{4, 500, 500}, 1},  {{4, 256, 20000}, 0}, {{8, 64, 20000}, 0}};
    int64_t l2 = blocking_second_cache();
    if (CPU_IS_ARM ? cpu_read_facts()->l3 < 32 << 20 : l2 < 512 << 10 || l2 > 1 << 20) {
        harness_skip(
            "measured with 32 MB of last-level cache on Arm, and 1 or 2 MB of second-level cache on x86");
        return;
    }
    tess_context *ctx = NULL;
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_in_place(ctx, cases[i].shape, 0, cases[i].in_place);
    tess_close(ctx);
}

/* A small B in columns is turned; one that the first-level cache does not hold is packed. */
TEST(cpu_small_transposed_b_is_turned) {
    tess_context *ctx = NULL;
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return;
    for (int64_t side = 4; side <= 64; side *= 2)
        check_in_place(ctx, (const int64_t[]){side, side, side}, 1, 1);
    check_in_place(ctx, (const int64_t[]){512, 512, 512}, 1, 0);
    tess_close(ctx);
}

/* On Arm a tiny C is computed from A and B as they lie, however long k is and however they lie; and so are few rows of a short
 * k, however large B is. */
TEST(cpu_tiny_results_pack_nothing) {
    tess_context *ctx = NULL;
    if (!CPU_IS_ARM) {
        harness_skip("measured on Arm alone");
        return;
    }
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return;
    for (int in_columns = 0; in_columns < 2; in_columns++) {
        check_in_place(ctx, (const int64_t[]){2, 2, 100000}, in_columns, 1);
        check_in_place(ctx, (const int64_t[]){8, 8, 100000}, in_columns, 1);
    }
    check_in_place(ctx, (const int64_t[]){32, 32, 20000}, 1, 0);
    check_in_place(ctx, (const int64_t[]){4, 50000, 64}, 0, 1);
    check_in_place(ctx, (const int64_t[]){4, 50000, 200}, 0, 0);
    tess_close(ctx);
}

TEST(cpu_small_products_wait_for_nobody) {
    tess_context *ctx = NULL;
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return;
    check_waiting(ctx, 8, 0);
    check_waiting(ctx, 400, 1);
    tess_close(ctx);
}
