/* unit_f64.c: where the planner takes tensor cores for f64, and with which tiles. White-box: it asks cuda_choose_f64; no GPU
 * is needed. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "../src/cuda/cuda.h"
#include "../src/route.h"

/* Sizes, and whether A lies in columns; C lies in rows. */
static problem problem_of(int64_t m, int64_t n, int64_t k, int a_by_columns) {
    problem p = {.in = TESS_F64, .out = TESS_F64, .acc = TESS_F64, .m = m, .n = n, .k = k};
    p.a_row = a_by_columns ? 1 : k, p.a_col = a_by_columns ? m : 1;
    p.b_row = n, p.b_col = 1;
    p.c_row = n, p.c_col = 1;
    p.batch.count = 1;
    return p;
}

static choice choose_on(int architecture, int shared, const problem *what) {
    cuda_facts facts = {.architecture = architecture, .gpu = {.sms = 132, .shared_per_block_most = shared}};
    cuda_device self = {.facts = &facts};
    choice_cut cut = {.share = 0};
    return cuda_choose_f64(&self, what, &cut);
}
enum { H200_SHARED = 232448, A100_SHARED = 166912, LITTLE_SHARED = 101376 };

TEST(f64_tensor_cores_are_taken_where_cards_have_them) {
    static const int architectures[] = {80, 86, 89, 90, 100, 120}, has[] = {1, 0, 0, 1, 1, 0};
    problem what = problem_of(2048, 2048, 2048, 0);
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        choice chosen = choose_on(architectures[i], has[i] ? A100_SHARED : LITTLE_SHARED, &what);
        CHECK(has[i] ? chosen.kernel && strcmp(chosen.kernel, "mma_08_f64") == 0 : !chosen.kernel,
              "sm_%d: %s", architectures[i], chosen.kernel ? chosen.kernel : "nothing");
    }
}

/* A parameter of the choice; what it does not name is the kernel's own. */
static int64_t value_of(const choice *chosen, const char *name) {
    sentence why;
    int64_t params[REGISTRY_PARAMS];
    const kernel_row *kernel = registry_find("gpu", "mma_08_f64", &why);
    registry_defaults(kernel, TESS_F64, params);
    CHECK_STATUS(registry_parse_params(kernel, chosen->params, params, &why), TESS_OK, NULL);
    return params[registry_find_param(kernel, name)];
}

/* Small products are one round, of tiles for as many multiprocessors as there can be; large ones have large tiles. */
TEST(f64_tensor_tiles_give_multiprocessors_equal_work) {
    static const struct {
        int64_t size;
        int least, most; /* tiles */
        int64_t area;    /* of a tile, at least */
    } tries[] = {{32, 1, 4, 0},
                 {128, 16, 64, 0},
                 {256, 64, 132, 0},
                 {512, 64, 132, 0},
                 {1024, 100, 132, 0},
                 {2048, 132, 10000, 96 * 128},
                 {4096, 132, 10000, 96 * 128},
                 {8192, 132, 10000, 96 * 128}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        int64_t size = tries[i].size;
        problem what = problem_of(size, size, size, 0), swapped = route_transposed(&what);
        choice chosen = choose_on(90, H200_SHARED, &what), other = choose_on(90, H200_SHARED, &swapped);
        int64_t rows = value_of(&chosen, "BM"), cols = value_of(&chosen, "BN");
        int64_t tiles = (size + rows - 1) / rows * ((size + cols - 1) / cols);
        CHECK(tiles >= tries[i].least && tiles <= tries[i].most && rows * cols >= tries[i].area,
              "%d: %d tiles of %dx%d", (int)size, (int)tiles, (int)rows, (int)cols);
        CHECK(other.params == chosen.params, "%d: C in columns gets %s", (int)size,
              other.params ? other.params : "the defaults");
    }
}

/* Where rows are not aligned, tiles are taken that lose little by copies of 8 bytes. */
TEST(f64_tensor_tiles_for_rows_that_are_not_aligned) {
    problem even = problem_of(4096, 4096, 4096, 0), odd = problem_of(4095, 4095, 4095, 0),
            turned = problem_of(4095, 4095, 4095, 1);
    choice of_even = choose_on(90, H200_SHARED, &even), of_odd = choose_on(90, H200_SHARED, &odd),
           of_turned = choose_on(90, H200_SHARED, &turned);
    CHECK(value_of(&of_even, "BM") == 128, "4096: rows of a tile are %d", (int)value_of(&of_even, "BM"));
    CHECK(value_of(&of_odd, "BM") == 96, "4095: rows of a tile are %d", (int)value_of(&of_odd, "BM"));
    CHECK(value_of(&of_turned, "BM") != 96, "4095, A in columns: rows of a tile are 96");
}

/* What is chosen is what the kernel takes, whatever the sizes and however A lies. */
TEST(f64_tensor_tiles_are_possible) {
    sentence why;
    const kernel_row *kernel = registry_find("gpu", "mma_08_f64", &why);
    if (!CHECK(kernel != NULL, "%s", why.text)) return;
    for (int i = 0; i < 2000; i++) {
        static const int limits[] = {H200_SHARED, A100_SHARED, LITTLE_SHARED};
        test_rng *rng = test_random();
        int by_columns = (int)rng_range(rng, 0, 1), shared = limits[i % 3];
        int64_t most = i % 2 ? 9000 : 700, params[REGISTRY_PARAMS];
        problem what =
            problem_of(rng_range(rng, 2, most), rng_range(rng, 2, most), rng_range(rng, 1, 9000), by_columns);
        choice chosen = choose_on(90, shared, &what);
        launch_shape shape;
        registry_defaults(kernel, TESS_F64, params);
        params[registry_find_param(kernel, "AT")] = by_columns;
        params[registry_find_param(kernel, "VEC")] = 1 + i % 2;
        if (!chosen.kernel && shared == LITTLE_SHARED) continue;
        if (!CHECK(chosen.kernel && chosen.reason, "nothing was chosen")) break;
        CHECK_STATUS(registry_parse_params(kernel, chosen.params, params, &why), TESS_OK, NULL);
        CHECK(launch_shape_of(kernel, TESS_F64, params, &shape, &why) == TESS_OK && shape.shared <= shared,
              "%s: %s", chosen.params ? chosen.params : "the defaults", why.text);
    }
}
