/* unit_f32.c: whether the planner takes parts on tensor cores for f32, or multiply-adds, beside what both took on an H200.
 * White-box: it asks cuda_choose; no GPU is needed. */
#include "harness.h"

#include <string.h>

#include "unit_h200.h"

/* Products in rows; and microseconds, in bursts: of f32-strict, and of the fastest of split_01_fp16x3's tiles. */
typedef struct timed_case {
    int64_t m, n, k, count;
    double plain, parts;
} timed_case;

static const timed_case cases[] = {{384, 384, 384, 1, 6.8, 11.1},      {448, 448, 448, 1, 8.8, 12.4},
                                   {512, 512, 512, 1, 8.2, 13.3},      {576, 576, 576, 1, 18.0, 14.4},
                                   {640, 640, 640, 1, 20.3, 14.8},     {704, 704, 704, 1, 22.2, 15.9},
                                   {768, 768, 768, 1, 23.0, 17.0},     {832, 832, 832, 1, 41.9, 18.5},
                                   {1024, 512, 512, 1, 16.6, 13.6},    {300, 300, 3000, 1, 25.4, 35.3},
                                   {128, 2048, 1024, 1, 15.4, 19.2},   {256, 1024, 1024, 1, 15.2, 18.3},
                                   {449, 449, 449, 1, 12.4, 14.8},     {513, 513, 513, 1, 20.9, 16.2},
                                   {577, 577, 577, 1, 25.1, 17.0},     {641, 641, 641, 1, 27.7, 17.8},
                                   {705, 705, 705, 1, 29.7, 18.7},     {769, 769, 769, 1, 46.0, 22.2},
                                   {833, 833, 833, 1, 49.1, 21.1},     {1001, 1001, 1001, 1, 55.8, 22.9},
                                   {1025, 1025, 1025, 1, 70.1, 33.1},  {1025, 513, 513, 1, 23.7, 17.3},
                                   {129, 2049, 1025, 1, 41.3, 30.3},   {257, 1025, 1025, 1, 39.2, 22.4},
                                   {1000, 1000, 1000, 1, 47.2, 19.7},  {16384, 64, 256, 1, 14.2, 33.3},
                                   {256, 256, 256, 32, 28.3, 37.6},    {512, 512, 512, 8, 50.5, 31.7},
                                   {512, 4096, 4096, 1, 361.5, 118.4}, {1024, 128, 1024, 32, 174.0, 146.1},
                                   {512, 512, 256, 16, 48.8, 44.8}};

static problem problem_of(const timed_case *t, tess_compute compute) {
    return h200_problem(TESS_F32, compute, t->m, t->n, t->k, t->count);
}

static void with_h200(void (*look)(const cuda_device *self, const timed_case *t)) {
    const cuda_device *self = h200_begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) look(self, &cases[i]);
    h200_end();
}

/* The planner takes what was faster: multiply-adds, or tensor cores by kernels of that family. */
static void expect_faster(const cuda_device *self, const timed_case *t, tess_compute compute,
                          const char *family) {
    choice_cut cut = {.share = 0};
    problem what = problem_of(t, compute);
    choice chosen = cuda_choose((const device *)self, &what, &cut);
    CHECK(chosen.kernel && strncmp(chosen.kernel, t->parts < t->plain ? family : "simt_", 5) == 0,
          "%lldx%lldx%lld: %s, where multiply-adds took %.1f us and %s %.1f", (long long)t->m,
          (long long)t->n, (long long)t->k, chosen.kernel, t->plain, family, t->parts);
}

static void look_at_choice(const cuda_device *self, const timed_case *t) {
    expect_faster(self, t, TESS_COMPUTE_DEFAULT, "split_");
}

TEST(f32_takes_parts_where_they_were_faster) {
    with_h200(look_at_choice);
}

static void look_at_time(const cuda_device *self, const timed_case *t) {
    problem what = problem_of(t, TESS_COMPUTE_F32_STRICT);
    choice_cut cut = {.share = 0};
    double time;
    cuda_choose_simt(self, &what, &cut, &time);
    time /= 1000;
    CHECK(time > 0.8 * t->plain && time < 1.2 * t->plain, "%lldx%lldx%lld: %.1f us instead of %.1f",
          (long long)t->m, (long long)t->n, (long long)t->k, time, t->plain);
}

/* Rows that are not aligned take longer, or copies do. */
TEST(f32_times_are_near_those_measured) {
    with_h200(look_at_time);
}

/* Where TF32 is allowed, it is taken where it was faster than f32-strict. Microseconds of that, and of wgmma_08_registers. */
TEST(f32_as_tf32_only_where_that_is_faster) {
    static const timed_case sizes[] = {{17, 17, 17, 1, 1.2, 5.4},      {33, 33, 33, 1, 1.3, 5.4},
                                       {63, 63, 63, 1, 1.4, 5.0},      {64, 64, 64, 1, 1.2, 2.2},
                                       {65, 65, 65, 1, 1.6, 5.8},      {127, 127, 127, 1, 2.1, 5.3},
                                       {129, 129, 129, 1, 2.9, 6.2},   {255, 255, 255, 1, 3.3, 6.0},
                                       {512, 512, 512, 1, 8.2, 4.1},   {2048, 2048, 2048, 1, 341, 43},
                                       {16, 4096, 4096, 1, 33.8, 22.0}};
    const cuda_device *self = h200_begin();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        expect_faster(self, &sizes[i], TESS_COMPUTE_TF32, "wgmma_");
    h200_end();
}

/* At a short k three bf16 may err more than multiply-adds, on elements of all magnitudes: the kernel is told to do without. */
TEST(f32_of_short_k_goes_without_three_parts) {
    static const struct {
        int64_t m, k;
        int is_short;
    } sizes[] = {{1024, 256, 1}, {1024, 511, 1}, {1024, 512, 0},
                 {4096, 256, 1}, {4096, 511, 1}, {4096, 512, 0}};
    const cuda_device *self = h200_begin();
    for (int i = 0; i < 6; i++) {
        choice_cut cut = {.share = 0};
        problem what = h200_problem(TESS_F32, TESS_COMPUTE_DEFAULT, sizes[i].m, sizes[i].m, sizes[i].k, 1);
        choice chosen = cuda_choose((const device *)self, &what, &cut);
        int is_short = chosen.params && strstr(chosen.params, "SHORT=1");
        CHECK(strcmp(chosen.kernel, "split_01_fp16x3") == 0 && is_short == sizes[i].is_short, "k = %d: %s %s",
              (int)sizes[i].k, chosen.kernel, chosen.params ? chosen.params : "");
    }
    h200_end();
}

/* Where the last round of large tiles is far from full, and joining its pieces takes less than smaller or wider tiles do: what
 * was measured of all four (decisions/0027). */
TEST(f32_last_round_is_cut_where_that_pays) {
    static const struct {
        int64_t m, n, k;
        const char *params;
    } sizes[] = {{4096, 4096, 4096, "SHARE=1"}, {4097, 4099, 4101, "SHARE=1"}, {4608, 4608, 4608, "SHARE=1"},
                 {7168, 7168, 7168, "SHARE=1"}, {3584, 3584, 3584, "BN=128,"}, {5120, 5120, 5120, "BN=200"},
                 {8192, 8192, 8192, "BN=200"},  {2048, 2048, 2048, "BN=128,"}, {3072, 3072, 3072, ""},
                 {8192, 8192, 256, "SHORT=1"}};
    const cuda_device *self = h200_begin();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        choice_cut cut = {.share = 0};
        problem what = h200_problem(TESS_F32, TESS_COMPUTE_DEFAULT, sizes[i].m, sizes[i].n, sizes[i].k, 1);
        choice chosen = cuda_choose((const device *)self, &what, &cut);
        const char *params = chosen.params ? chosen.params : "";
        CHECK(strcmp(chosen.kernel, "split_01_fp16x3") == 0 && (*sizes[i].params || !*params) &&
                  strstr(params, sizes[i].params),
              "%lldx%lldx%lld: %s %s", (long long)sizes[i].m, (long long)sizes[i].n, (long long)sizes[i].k,
              chosen.kernel, params);
    }
    h200_end();
}
