/* plan.c: a plan says which kernel, on what, and why; runs as often as wanted with the same bits as tess_gemm; and the
 * registry describes what can be asked for. */
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static tess_plan *plan_of(tess_context *ctx, const problem *p, const tess_options *options) {
    tess_plan *plan = NULL;
    const tess_batch *batch = p->spec.count > 0 ? &p->batch : NULL;
    CHECK_STATUS(tess_plan_gemm(ctx, &p->A.view, &p->B.view, &p->C.view, batch, options, &plan), TESS_OK,
                 ctx);
    return plan;
}

static void check_sentence(const tess_plan *plan, const problem_spec *s) {
    const char *sentence = tess_plan_sentence(plan), *kernel = tess_plan_kernel(plan);
    CHECK(strstr(sentence, kernel), "\"%s\" does not name its kernel %s", sentence, kernel);
    const int64_t sizes[] = {s->m, s->n, s->k};
    for (int i = 0; i < 3; i++) {
        char number[32];
        snprintf(number, sizeof number, "%lld", (long long)sizes[i]);
        CHECK(strstr(sentence, number), "\"%s\" does not say %s", sentence, number);
    }
    CHECK(strstr(sentence, tess_type_name(s->types.in)), "\"%s\" does not say the type", sentence);
    CHECK(strstr(sentence, "because"), "\"%s\" does not say why", sentence);
}

TEST(plan_describes_itself) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    static const int64_t shapes[][3] = {{1, 1, 1},
                                        {131, 17, 23},
                                        {1, 300, 401},
                                        {300, 1, 401},
                                        {600, 500, 400}};
    for (int i = 0; i < 5; i++)
        for (int t = 0; t < TYPE_PAIRS; t++) {
            problem_spec spec = {.types = type_pairs[t],
                                 .m = shapes[i][0],
                                 .n = shapes[i][1],
                                 .k = shapes[i][2]};
            tess_matrix A = {NULL, spec.types.in, TESS_HOST, spec.m, spec.k, spec.k, 1};
            tess_matrix B = {NULL, spec.types.in, TESS_HOST, spec.k, spec.n, spec.n, 1};
            tess_matrix C = {NULL, spec.types.out, TESS_HOST, spec.m, spec.n, spec.n, 1};
            tess_plan *plan = NULL; /* data may be NULL: no element is read */
            if (!CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, NULL, &plan), TESS_OK, ctx)) continue;
            check_sentence(plan, &spec);
            tess_free_plan(plan);
        }
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* Plans of every sort run twice, right both times, with the bits tess_gemm gives. */
TEST(plan_runs_many_times) {
    tess_context *ctx = open_cpu(2);
    if (!ctx) return;
    test_rng *rng = test_random();
    for (sampling s = sampling_start(100, 400, 2); sampling_next(&s);) {
        problem_spec spec = draw_spec(rng, 0, 60);
        if (s.index % 3 == 0) spec.count = rng_range(rng, 1, 4);
        problem p;
        problem_make(&p, &spec, rng);
        tess_plan *plan = plan_of(ctx, &p, NULL);
        unsigned char *direct = test_alloc(p.C.bytes);
        CHECK_STATUS(problem_run(&p, ctx, NULL), TESS_OK, ctx);
        memcpy(direct, p.C.block, p.C.bytes);
        for (int round = 0; plan && round < 2; round++) {
            problem_reset(&p);
            CHECK_STATUS(tess_run(plan, spec.alpha, &p.A.view, &p.B.view, spec.beta, &p.C.view), TESS_OK,
                         ctx);
            problem_check(&p, tess_plan_sentence(plan));
            CHECK(memcmp(direct, p.C.block, p.C.bytes) == 0, "%s: a plan and tess_gemm differ",
                  problem_text(&p));
        }
        tess_free_plan(plan);
        free(direct);
        problem_free(&p);
    }
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* Only the data may differ: another alpha, beta and buffer are fine, another number of threads too. */
TEST(plan_takes_other_data) {
    tess_context *ctx = open_cpu(2);
    if (!ctx) return;
    problem_spec spec = {.types = type_pairs[0], .m = 33, .n = 44, .k = 55, .alpha = 1, .data = DATA_EXACT};
    problem p;
    problem_make(&p, &spec, test_random());
    tess_plan *plan = plan_of(ctx, &p, NULL);
    for (int i = 0; plan && i < 9; i++) {
        problem other;
        spec.alpha = i % 3;
        spec.beta = i / 3;
        problem_make(&other, &spec, test_random());
        CHECK_STATUS(tess_set_threads(ctx, 1 + i), TESS_OK, ctx);
        CHECK_STATUS(tess_run(plan, spec.alpha, &other.A.view, &other.B.view, spec.beta, &other.C.view),
                     TESS_OK, ctx);
        problem_check(&other, "other data");
        problem_free(&other);
    }
    tess_free_plan(plan);
    tess_free_plan(NULL);
    problem_free(&p);
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

TEST(plan_refuses_what_it_was_not_made_for) {
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    problem_spec spec = {.types = type_pairs[0],
                         .m = 6,
                         .n = 7,
                         .k = 8,
                         .alpha = 1,
                         .beta = 1,
                         .store_a = STORE_ROW_PADDED,
                         .store_b = STORE_ROW_PADDED,
                         .store_c = STORE_ROW_PADDED};
    problem p;
    problem_make(&p, &spec, test_random());
    tess_plan *plan = plan_of(ctx, &p, NULL);
    for (int which = 0; plan && which < 3; which++)
        for (int field = 0; field < 5; field++) {
            tess_matrix views[3] = {p.A.view, p.B.view, p.C.view}, *M = &views[which];
            if (field == 0) M->rows--;
            if (field == 1) M->cols--;
            if (field == 2) M->row_stride++;
            if (field == 3) M->col_stride = -1;
            if (field == 4) M->type = TESS_I32;
            tess_status status = tess_run(plan, 1, &views[0], &views[1], 1, &views[2]);
            CHECK(status != TESS_OK, "view %d with field %d changed was accepted", which, field);
            CHECK(tess_error(ctx)[0], "no sentence");
            problem_check_untouched(&p, "a refused run");
        }
    tess_free_plan(plan);
    problem_free(&p);
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

TEST(plan_kernel_by_name) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    /* One column: a shape every kernel takes. */
    problem_spec spec = {.types = type_pairs[0], .m = 20, .n = 1, .k = 40, .alpha = 1, .data = DATA_EXACT};
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        if (!CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL)) break;
        if (strcmp(info.device, "cpu") != 0) continue;
        problem p;
        problem_make(&p, &spec, test_random());
        tess_options options = {.kernel = info.name};
        tess_plan *plan = plan_of(ctx, &p, &options);
        if (plan) {
            CHECK(strcmp(tess_plan_kernel(plan), info.name) == 0, "asked for %s, got %s", info.name,
                  tess_plan_kernel(plan));
            check_sentence(plan, &spec);
        }
        tess_free_plan(plan);
        problem_free(&p);
    }
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* Parameters asked for appear in the sentence. */
TEST(plan_says_its_parameters) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    problem_spec spec = {.types = type_pairs[0], .m = 20, .n = 30, .k = 40, .alpha = 1, .data = DATA_EXACT};
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info;
        if (!CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL)) break;
        if (strcmp(info.device, "cpu") != 0 || !strchr(info.params, ':')) continue;
        char params[60];
        snprintf(params, sizeof params, "%.*s=37", (int)strcspn(info.params, ":"), info.params);
        problem p;
        problem_make(&p, &spec, test_random());
        tess_options options = {.kernel = info.name, .params = params};
        tess_plan *plan = plan_of(ctx, &p, &options);
        if (plan)
            CHECK(strstr(tess_plan_sentence(plan), params), "\"%s\" lacks %s", tess_plan_sentence(plan),
                  params);
        tess_free_plan(plan);
        problem_free(&p);
    }
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

TEST(plan_registry_is_in_order) {
    for (int i = 0; i < tess_count_kernels(); i++) {
        tess_kernel_info info, other;
        if (!CHECK_STATUS(tess_describe_kernel(i, &info), TESS_OK, NULL)) continue;
        CHECK(info.name[0] && info.device[0] && info.summary[0] && info.types[0] && info.params,
              "kernel %d lacks a text", i);
        CHECK(strstr(info.name, info.device) == info.name || strcmp(info.device, "cpu") != 0,
              "%s is of the cpu but not called so", info.name);
        for (int j = 0; j < i; j++) {
            tess_describe_kernel(j, &other);
            CHECK(strcmp(info.name, other.name) != 0, "two kernels are called %s", info.name);
            /* Peers all have the number 0. */
            CHECK(strcmp(info.device, other.device) != 0 || info.number > other.number || info.number == 0,
                  "%s comes after %s", info.name, other.name);
        }
    }
    tess_kernel_info info;
    CHECK(tess_describe_kernel(tess_count_kernels(), &info) == TESS_ERROR_ARGUMENT, "one kernel too many");
}

TEST(plan_counts_for_closing) {
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    problem_spec spec = {.types = type_pairs[0], .m = 2, .n = 3, .k = 4, .alpha = 1};
    problem p;
    problem_make(&p, &spec, test_random());
    tess_plan *first = plan_of(ctx, &p, NULL), *second = plan_of(ctx, &p, NULL);
    CHECK(tess_close(ctx) != TESS_OK, "closed with two plans alive");
    tess_free_plan(first);
    CHECK(tess_close(ctx) != TESS_OK, "closed with one plan alive");
    CHECK_STATUS(tess_run(second, 1, &p.A.view, &p.B.view, 0, &p.C.view), TESS_OK, ctx);
    problem_check(&p, "after a refused close");
    tess_free_plan(second);
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
    problem_free(&p);
}

/* As many bytes as it says are enough, and memory that begins elsewhere than malloc's is refused. */
TEST(plan_says_how_much_workspace_a_cpu_needs) {
    static const int64_t shapes[][3] = {{300, 200, 100}, {600, 600, 600}, {1, 500, 4000}, {5000, 40, 1000}};
    tess_context *ctx = NULL;
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return;
    for (int i = 0; i < 8; i++) {
        const int64_t *s = shapes[i / 2];
        float *data = calloc((size_t)(s[0] * s[2] + s[2] * s[1] + s[0] * s[1]), sizeof *data);
        tess_matrix A = tess_view_row_major(TESS_F32, s[0], s[2], data, 0),
                    B = tess_view_row_major(TESS_F32, s[2], s[1], data + s[0] * s[2], 0),
                    C = tess_view_row_major(TESS_F32, s[0], s[1], data + s[0] * s[2] + s[2] * s[1], 0);
        tess_plan *plan = NULL;
        CHECK_STATUS(tess_set_threads(ctx, 1 + i % 2 * 2), TESS_OK, ctx);
        if (CHECK(data != NULL, "no memory") &&
            CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, NULL, &plan), TESS_OK, ctx)) {
            size_t bytes = (size_t)tess_plan_workspace(plan);
            void *lent = aligned_alloc(16, (bytes + 31) / 16 * 16);
            CHECK(bytes > 0 || strcmp(tess_plan_kernel(plan), "cpu_04_direct") == 0, "%s needs nothing",
                  tess_plan_kernel(plan));
            CHECK_STATUS(tess_set_workspace(ctx, lent, bytes), TESS_OK, ctx);
            CHECK_STATUS(tess_run(plan, 1, &A, &B, 0, &C), TESS_OK, ctx);
            CHECK_STATUS(tess_set_workspace(ctx, (char *)lent + 4, bytes), TESS_ERROR_ARGUMENT, ctx);
            CHECK_STATUS(tess_set_workspace(ctx, NULL, 0), TESS_OK, ctx);
            free(lent);
            tess_free_plan(plan);
        }
        free(data);
    }
    tess_close(ctx);
}

/* In a child that has memory for `stacks` stacks of threads and hardly more. Returns what the child ends with: 0 if it has
 * multiplied. */
static int run_with_stacks(tess_plan *plan, const tess_matrix views[3], int stacks) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        long pages = 0;
        struct rlimit stack, all;
        FILE *file = fopen("/proc/self/statm", "r");
        if (!file || fscanf(file, "%ld", &pages) != 1 || getrlimit(RLIMIT_STACK, &stack) != 0) _exit(2);
        rlim_t one = stack.rlim_cur == RLIM_INFINITY ? 2 << 20 : stack.rlim_cur;
        all.rlim_cur = all.rlim_max =
            (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + one / 2 + one * (rlim_t)stacks;
        if (setrlimit(RLIMIT_AS, &all) != 0) _exit(3);
        _exit(tess_run(plan, 1, &views[0], &views[1], 0, &views[2]) != TESS_OK);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Where the system refuses threads, however many, fewer multiply in the memory that was lent for all. */
TEST(plan_workspace_is_enough_for_fewer_threads) {
    enum { M = 496, N = 623, K = 556, THREADS = 14 };
    if (harness_tier() == TIER_SHORT) {
        harness_skip("a sanitizer, or valgrind, does not bear a process that has no memory for a thread");
        return;
    }
    double *data = calloc(M * K + K * N + M * N, sizeof *data);
    tess_context *ctx = open_cpu(THREADS);
    if (!ctx || !CHECK(data != NULL, "no memory")) return;
    const tess_matrix views[3] = {tess_view_col_major(TESS_F64, M, K, data, 0),
                                  tess_view_col_major(TESS_F64, K, N, data + M * K, 0),
                                  tess_view_col_major(TESS_F64, M, N, data + M * K + K * N, 0)};
    tess_plan *plan = NULL;
    if (CHECK_STATUS(tess_plan_gemm(ctx, &views[0], &views[1], &views[2], NULL, NULL, &plan), TESS_OK, ctx)) {
        size_t bytes = (size_t)tess_plan_workspace(plan);
        void *lent = aligned_alloc(16, (bytes + 31) / 16 * 16);
        CHECK_STATUS(tess_set_workspace(ctx, lent, bytes), TESS_OK, ctx);
        for (int stacks = 0; stacks < THREADS; stacks++)
            CHECK(run_with_stacks(plan, views, stacks) == 0, "it fails with memory for %d stacks", stacks);
        CHECK_STATUS(tess_set_workspace(ctx, NULL, 0), TESS_OK, ctx);
        free(lent);
        tess_free_plan(plan);
    }
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
    free(data);
}
