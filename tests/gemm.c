/* gemm.c: the promise of tess_gemm on every type, transpose, scalar and size of the project's list, with the kernel
 * the planner chooses. Sizes are those around every tile edge; strides of every sort; canaries around all. */
#include "problem.h"

static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 257};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Every type × (A, B, C row- or column-major) × alpha and beta of {0, 1, other}: all 576, in turn. */
enum { CASES = TYPE_PAIRS * 8 * 9 };
static problem_spec numbered_case(int64_t number, test_rng *rng) {
    int64_t rest = number % CASES;
    problem_spec s = {.types = type_pairs[rest % TYPE_PAIRS]};
    rest /= TYPE_PAIRS;
    s.store_a = rest & 1 ? STORE_COL : STORE_ROW;
    s.store_b = rest & 2 ? STORE_COL : STORE_ROW;
    s.store_c = rest & 4 ? STORE_COL : STORE_ROW;
    rest /= 8;
    s.data = (data_kind)rng_range(rng, DATA_RANDOM, DATA_EXACT);
    s.alpha = draw_scalar(rng, s.types.in, s.data, (int)(rest % 3));
    s.beta = draw_scalar(rng, s.types.in, s.data, (int)(rest / 3));
    return s;
}

/* A permutation of 0 … count-1, so that a run cut short has still sampled evenly. `step` is prime to count. */
static int64_t scattered(int64_t index, int64_t count, int64_t step) {
    return index * step % count;
}

TEST(gemm_small_every_case) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (sampling s = sampling_start(CASES, 60 * CASES, 4); sampling_next(&s);) {
        problem_spec spec = numbered_case(scattered(s.index % CASES, CASES, 257), rng);
        spec.m = sizes[rng_range(rng, 0, 8)];
        spec.n = sizes[rng_range(rng, 0, 8)];
        spec.k = sizes[rng_range(rng, 0, 8)];
        if (!problem_try(&spec, ctx, NULL, rng)) break;
    }
    tess_close(ctx);
}

TEST(gemm_small_every_storage) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    const int64_t all = STORAGES * STORAGES * STORAGES_OF_C;
    for (sampling s = sampling_start(all, 20 * all, 4); sampling_next(&s);) {
        int64_t number = scattered(s.index % all, all, 601);
        problem_spec spec = draw_spec(rng, 0, 20);
        spec.store_a = (storage)(number % STORAGES);
        spec.store_b = (storage)(number / STORAGES % STORAGES);
        spec.store_c = (storage)(number / STORAGES / STORAGES);
        if (!problem_try(&spec, ctx, NULL, rng)) break;
    }
    tess_close(ctx);
}

/* All 18³ triples of the list, each with the next of the 576 cases. */
TEST(gemm_every_size) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    const int64_t all = (int64_t)SIZES * SIZES * SIZES;
    for (sampling s = sampling_start(1500, all, 14); sampling_next(&s);) {
        int64_t number = scattered(s.index % all, all, 2971);
        problem_spec spec = numbered_case(s.index, rng);
        spec.m = sizes[number % SIZES];
        spec.n = sizes[number / SIZES % SIZES];
        spec.k = sizes[number / SIZES / SIZES];
        if (!problem_try(&spec, ctx, NULL, rng)) break;
    }
    tess_close(ctx);
}

/* Every case at sizes beyond the small ones, padded and with general strides. */
TEST(gemm_every_case_strided) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (sampling s = sampling_start(CASES, 12 * CASES, 5); sampling_next(&s);) {
        problem_spec spec = numbered_case(scattered(s.index % CASES, CASES, 257), rng);
        spec.m = sizes[rng_range(rng, 4, SIZES - 3)];
        spec.n = sizes[rng_range(rng, 4, SIZES - 3)];
        spec.k = sizes[rng_range(rng, 4, SIZES - 3)];
        static const storage strided[] = {STORE_ROW_PADDED,  STORE_COL_PADDED, STORE_GENERAL,
                                          STORE_GENERAL_COL, STORE_NEGATIVE,   STORE_NEGATIVE_ROWS};
        spec.store_a = strided[rng_range(rng, 0, 5)];
        spec.store_b = strided[rng_range(rng, 0, 5)];
        spec.store_c = strided[rng_range(rng, 0, 5)];
        if (!problem_try(&spec, ctx, NULL, rng)) break;
    }
    tess_close(ctx);
}

/* Sizes that cross the outer blocks (KC, MC, NC) of any reasonable blocking, one side at a time. */
TEST(gemm_long_sides) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (sampling s = sampling_start(24, 192, 4); sampling_next(&s);) {
        problem_spec spec = draw_spec(rng, 1, 40);
        spec.types = type_pairs[s.index % TYPE_PAIRS];
        spec.alpha = draw_scalar(rng, spec.types.in, spec.data, 2);
        spec.beta = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
        int64_t *side[] = {&spec.k, &spec.m, &spec.n};
        *side[s.index / TYPE_PAIRS % 3] = rng_range(rng, 500, s.index / TYPE_PAIRS % 3 ? 9000 : 4000);
        if (!problem_try(&spec, ctx, NULL, rng)) break;
    }
    tess_close(ctx);
}

/* A larger product, checked in sampled elements: all threads, all loops. */
TEST(gemm_large) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (sampling s = sampling_start(TYPE_PAIRS, 2 * TYPE_PAIRS, 5); sampling_next(&s);) {
        problem_spec spec = numbered_case(s.index * 73 + 8 * 8 * 8, rng);
        spec.types = type_pairs[s.index % TYPE_PAIRS];
        int64_t most = harness_tier() == TIER_SHORT ? 150 : 700;
        spec.m = rng_range(rng, most / 2, most);
        spec.n = rng_range(rng, most / 2, most);
        spec.k = rng_range(rng, most / 2, most);
        spec.alpha = draw_scalar(rng, spec.types.in, spec.data, 1);
        spec.beta = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
        problem p;
        problem_make(&p, &spec, rng);
        int right = CHECK_STATUS(problem_run(&p, ctx, NULL), TESS_OK, ctx);
        for (int i = 0; right && i < 2000; i++) {
            oracle_product product =
                {spec.alpha, spec.beta, p.A.view, p.B.view, p.C.view, p.C.view, spec.data == DATA_EXACT};
            product.C0.data = p.C.copy + ((unsigned char *)p.C.view.data - p.C.block);
            oracle_verdict v;
            int64_t row = rng_range(rng, 0, spec.m - 1), col = rng_range(rng, 0, spec.n - 1);
            right = CHECK(oracle_check_element(&product, row, col, &v),
                          "%s: C(%lld, %lld) is %.17g, want %.17g ± %g", problem_text(&p), (long long)row,
                          (long long)col, v.got, v.want, v.allowed);
        }
        problem_free(&p);
        if (!right) break;
    }
    tess_close(ctx);
}

/* The stated scalars at a size that is one element: the arithmetic itself, by hand. */
TEST(gemm_small_by_hand) {
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[] = {1, 1, 1, 1};
    tess_matrix A = tess_view_row_major(TESS_F32, 2, 2, a, 0), B = tess_view_row_major(TESS_F32, 2, 2, b, 0);
    tess_matrix C = tess_view_row_major(TESS_F32, 2, 2, c, 0);
    CHECK_STATUS(tess_gemm(ctx, 2, &A, &B, 3, &C, NULL), TESS_OK, ctx);
    static const float want[] = {41, 47, 89, 103};
    for (int i = 0; i < 4; i++)
        CHECK(c[i] == want[i], "c[%d] is %g, want %g", i, (double)c[i], (double)want[i]);
    tess_matrix At = tess_transpose(A);
    CHECK_STATUS(tess_gemm(ctx, 1, &At, &B, 0, &C, NULL), TESS_OK, ctx);
    static const float turned[] = {26, 30, 38, 44};
    for (int i = 0; i < 4; i++)
        CHECK(c[i] == turned[i], "c[%d] is %g, want %g", i, (double)c[i], (double)turned[i]);
    tess_close(ctx);
}
