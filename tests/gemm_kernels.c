/* gemm_kernels.c: every kernel of the registry keeps the promise of tess_gemm, by name, with its default parameters
 * and with others; the compute modes are accepted; and the same call gives the same bits whatever the number of
 * threads and the layout of C. */
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether `word` stands in the blank-separated list. */
static int lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return 1;
    return 0;
}

/* Whether the registry says the kernel takes this product. */
static int takes(const tess_kernel_info *info, const type_pair *types) {
    return lists(info->types, types->name) || lists(info->types, tess_type_name(types->in));
}

/* "KC=8,MC=3" for the kernel's own parameter names, with values that are no multiple of anything. */
static void draw_params(const tess_kernel_info *info, test_rng *rng, char *text, size_t size) {
    static const int values[] = {1, 2, 3, 5, 8, 16, 24, 50, 64, 100};
    text[0] = '\0';
    size_t used = 0;
    for (const char *line = info->params; line && *line;) {
        const char *colon = strchr(line, ':');
        if (!CHECK(colon, "%s: a parameter line has no colon: %s", info->name, line)) return;
        used += (size_t)snprintf(text + used, size - used, "%s%.*s=%d", used ? "," : "", (int)(colon - line),
                                 line, values[rng_range(rng, 0, 9)]);
        const char *next = strchr(line, '\n');
        line = next ? next + 1 : NULL;
    }
}

/* Runs the product, or sees it refused: a kernel may take only some shapes or layouts, but of the types its row lists it
 * must take some (*taken), of others none. */
static int try_kernel(tess_context *ctx, const tess_kernel_info *info, problem_spec *spec, const char *params,
                      int *taken) {
    tess_options options = {.kernel = info->name, .params = params};
    problem p;
    problem_make(&p, spec, test_random());
    tess_status status = problem_run(&p, ctx, &options);
    int right;
    if (status == TESS_ERROR_KERNEL) {
        right = problem_check_untouched(&p, info->name);
    } else {
        right = CHECK(takes(info, &spec->types), "%s takes only \"%s\", yet it took %s", info->name,
                      info->types, problem_text(&p)) &&
                CHECK(status == TESS_OK, "%s: %s: %s", problem_text(&p), tess_status_name(status),
                      tess_error(ctx)) &&
                problem_check(&p, info->name);
        ++*taken;
    }
    problem_free(&p);
    return right;
}

TEST(gemm_kernels_by_name) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    CHECK(tess_count_kernels() > 0, "the registry is empty");
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        if (!CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL)) break;
        if (strcmp(info.device, "cpu") != 0) continue;
        int taken = 0;
        for (sampling s = sampling_start(100, 400, 1.5); sampling_next(&s);) {
            problem_spec spec = draw_spec(rng, 0, s.index % 4 ? 40 : 150);
            if (s.index % 5 == 0) *(s.index % 2 ? &spec.m : &spec.n) = 1;
            spec.types = type_pairs[s.index % TYPE_PAIRS];
            spec.alpha = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
            spec.beta = draw_scalar(rng, spec.types.in, spec.data, (int)rng_range(rng, 0, 2));
            if (s.index % 3 == 0) spec.count = rng_range(rng, 1, 4);
            if (!try_kernel(ctx, &info, &spec, NULL, &taken)) break;
        }
        CHECK(taken > 0, "%s took none of the products it was asked for", info.name);
    }
    tess_close(ctx);
}

/* Rows and columns longer than what a kernel sums up at a time. */
TEST(gemm_kernels_of_long_sides) {
    enum { LONG = 4099 };
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        if (!CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL)) break;
        if (strcmp(info.device, "cpu") != 0) continue;
        int taken = 0, vectors = strstr(info.name, "vector") != NULL, rows = vectors ? 1 : 3,
            cols = vectors ? 1 : 5;
        for (int side = 0; side < 4; side++) {
            problem_spec spec = {.types = type_pairs[side == 3],
                                 .m = side == 0 ? LONG : rows,
                                 .n = side % 2 ? LONG : cols,
                                 .k = side == 2 ? LONG : 7,
                                 .alpha = 2,
                                 .beta = 1,
                                 .store_c = side == 3 ? STORE_GENERAL : STORE_ROW_PADDED,
                                 .data = DATA_EXACT};
            if (!try_kernel(ctx, &info, &spec, NULL, &taken)) break;
        }
        CHECK(taken > 2, "%s took %d of 4 products", info.name, taken);
    }
    tess_close(ctx);
}

TEST(gemm_kernels_with_params) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        if (!CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL)) break;
        if (strcmp(info.device, "cpu") != 0 || !info.params[0]) continue;
        int taken = 0;
        for (sampling s = sampling_start(100, 600, 2.5); sampling_next(&s);) {
            problem_spec spec =
                draw_spec(rng, 1, s.index % 4 ? 90 : 230); /* beyond twice the largest value, too */
            char params[200];
            draw_params(&info, rng, params, sizeof params);
            if (!try_kernel(ctx, &info, &spec, params, &taken)) {
                printf("    with parameters %s\n", params);
                break;
            }
        }
        CHECK(taken > 0, "%s took none of the products it was asked for", info.name);
    }
    tess_close(ctx);
}

TEST(gemm_compute_modes) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    static const tess_compute modes[] = {TESS_COMPUTE_DEFAULT, TESS_COMPUTE_F32_STRICT, TESS_COMPUTE_TF32,
                                         TESS_COMPUTE_BF16};
    for (int mode = 0; mode < 4; mode++)
        for (int i = 0; i < TYPE_PAIRS; i++) {
            problem_spec spec = draw_spec(test_random(), 1, 70);
            spec.types = type_pairs[i];
            spec.alpha = 1;
            spec.beta = 1;
            spec.data = DATA_EXACT; /* small integers stay exact in every mode */
            tess_options options = {.compute = modes[mode]};
            if (spec.types.in == TESS_F32 || mode == 0) {
                problem_try(&spec, ctx, &options, test_random());
                continue;
            }
            problem p;
            problem_make(&p, &spec, test_random());
            CHECK(problem_run(&p, ctx, &options) != TESS_OK, "%s took compute mode %d, which is for f32",
                  problem_text(&p), mode);
            problem_check_untouched(&p, "compute mode");
            problem_free(&p);
        }
    tess_close(ctx);
}

/* C, element by element in row order, so that layouts can be compared. */
static unsigned char *elements_of(const tess_matrix *C) {
    size_t size = tess_type_size(C->type), at = 0;
    unsigned char *bytes = test_alloc((size_t)(C->rows * C->cols) * size);
    for (int64_t i = 0; i < C->rows; i++)
        for (int64_t j = 0; j < C->cols; j++, at += size) memcpy(bytes + at, oracle_at(C, i, j), size);
    return bytes;
}

/* Returns how many of the runs the kernel took; a layout it refuses is passed over. */
static int check_same_bits(tess_context *ctx, problem_spec spec, const tess_options *options) {
    static const int threads[] = {1, 2, 3, 7, 16};
    int taken = 0;
    unsigned char *first = NULL;
    test_rng start = *test_random();
    for (int layout = 0; layout < 2; layout++)
        for (int t = 0; t < 5; t++) {
            test_rng rng = start; /* the same data each time: dense layouts draw alike */
            spec.store_c = layout ? STORE_COL : STORE_ROW;
            problem p;
            problem_make(&p, &spec, &rng);
            CHECK_STATUS(tess_set_threads(ctx, threads[t]), TESS_OK, ctx);
            tess_status status = problem_run(&p, ctx, options);
            if (options && status == TESS_ERROR_KERNEL) {
                problem_free(&p);
                continue;
            }
            int ran = CHECK_STATUS(status, TESS_OK, ctx);
            taken++;
            unsigned char *bits = elements_of(&p.C.view);
            if (!first) {
                if (ran) problem_check(&p, "one thread");
                first = bits;
            } else {
                size_t size = tess_type_size(spec.types.out) * (size_t)(spec.m * spec.n);
                CHECK(memcmp(first, bits, size) == 0, "%s: with %d threads the bits differ from one thread's",
                      problem_text(&p), threads[t]);
                free(bits);
            }
            problem_free(&p);
            *test_random() = rng;
        }
    free(first);
    return taken;
}

TEST(gemm_same_bits_whatever_threads) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    static const int64_t shapes[][3] = {{1, 1, 3000},   {3, 900, 1300},  {900, 3, 1300}, {64, 64, 64},
                                        {19, 31, 8000}, {129, 257, 100}, {300, 200, 520}};
    for (int i = 0; i < 7; i++)
        for (int t = 0; t < 6; t += i == 6 ? 2 : 1) {
            if (harness_tier() == TIER_SHORT && (i != 5 || t % 2)) continue;
            problem_spec spec = {.types = type_pairs[t],
                                 .m = shapes[i][0],
                                 .n = shapes[i][1],
                                 .k = shapes[i][2]};
            spec.store_a = i & 1 ? STORE_COL : STORE_ROW;
            spec.store_b = i & 2 ? STORE_COL : STORE_ROW;
            spec.alpha = 1.7;
            spec.beta = t & 1 ? 0 : -0.3;
            check_same_bits(ctx, spec, NULL);
        }
    tess_close(ctx);
}

TEST(gemm_same_bits_every_kernel_threads) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        if (!CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL)) break;
        problem_spec spec = {.types = type_pairs[0], .m = 183, .n = 121, .k = 305, .alpha = 0.7, .beta = 1};
        if (strcmp(info.device, "cpu") != 0 || !takes(&info, &spec.types)) continue;
        tess_options options = {.kernel = info.name};
        int taken = check_same_bits(ctx, spec, &options);
        spec.m = 1, spec.n = 2000;
        taken += check_same_bits(ctx, spec, &options);
        CHECK(taken > 0, "%s took none of these products", info.name);
    }
    tess_close(ctx);
}

/* Two and three threads share what they pack of a C of this size; seven and sixteen work by themselves. */
TEST(gemm_same_bits_shared_or_alone) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int t = 0; t < TYPE_PAIRS; t++) {
        problem_spec spec = {.types = type_pairs[t], .m = 633, .n = 641, .k = 20, .alpha = 1, .beta = 1};
        if (harness_tier() == TIER_SHORT && spec.types.in != TESS_F32 && spec.types.out != TESS_BF16)
            continue;
        tess_options options = {.kernel = "cpu_03_packed", .params = "KC=8,MC=50,NC=100"};
        CHECK(check_same_bits(ctx, spec, &options) == 10, "cpu_03_packed refused a product");
    }
    tess_close(ctx);
}
