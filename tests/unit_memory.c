/* unit_memory.c: when memory cannot be had. Every allocation of every operation is made to fail in turn: the status is
 * TESS_ERROR_MEMORY with a sentence, or the library managed without; nothing leaks; C is untouched, or right.
 * White-box: the hook is src/memory.h's. */
#include "bad_input.h"
#include "problem.h"
#include "../src/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the hook set by memory_fail_after(n) has not fired yet: then one of the next n+1 allocations fails. */
static int hook_is_armed(int64_t n) {
    int armed = 0;
    for (int64_t i = 0; i <= n && !armed; i++) {
        void *block = memory_alloc(1);
        armed = !block;
        memory_free(block);
    }
    memory_fail_after(-1);
    return armed;
}

/* One operation under test: returns its status and leaves the sentence in `sentence`. */
typedef struct operation {
    const char *name;
    tess_status (*run)(tess_context *ctx, problem *p, char *sentence, size_t size);
    problem_spec spec;
    int threads;
    int multiplied; /* C is multiplied before the hook is set */
} operation;

static tess_status keep(tess_status status, const tess_context *ctx, char *sentence, size_t size) {
    snprintf(sentence, size, "%s", status == TESS_OK ? "" : tess_error(ctx));
    return status;
}

static tess_status op_gemm(tess_context *ctx, problem *p, char *sentence, size_t size) {
    return keep(problem_run(p, ctx, NULL), ctx, sentence, size);
}

static tess_status op_open(tess_context *ctx, problem *p, char *sentence, size_t size) {
    tess_context *own = ctx; /* not NULL, to see it become so */
    tess_status status = keep(tess_open(&own, "cpu"), NULL, sentence, size);
    CHECK((status == TESS_OK) == (own != NULL), "tess_open returned %s and left %p", tess_status_name(status),
          (void *)own);
    if (status != TESS_OK) return status;
    status = tess_set_threads(own, 3);
    if (status == TESS_OK) status = problem_run(p, own, NULL);
    keep(status, own, sentence, size);
    CHECK(tess_close(own) == TESS_OK, "a context that ran short could not be closed");
    return status;
}

static tess_status op_plan(tess_context *ctx, problem *p, char *sentence, size_t size) {
    tess_plan *plan = (tess_plan *)(void *)p;
    const tess_batch *batch = p->spec.count > 0 ? &p->batch : NULL;
    tess_status status = tess_plan_gemm(ctx, &p->A.view, &p->B.view, &p->C.view, batch, NULL, &plan);
    keep(status, ctx, sentence, size);
    CHECK((status == TESS_OK) == (plan != NULL), "tess_plan_gemm returned %s and left %p",
          tess_status_name(status), (void *)plan);
    if (status != TESS_OK) return status;
    status = tess_run(plan, p->spec.alpha, &p->A.view, &p->B.view, p->spec.beta, &p->C.view);
    keep(status, ctx, sentence, size);
    tess_free_plan(plan);
    return status;
}

static tess_status op_threads(tess_context *ctx, problem *p, char *sentence, size_t size) {
    tess_status status = tess_set_threads(ctx, 5);
    if (status == TESS_OK) status = problem_run(p, ctx, NULL);
    keep(status, ctx, sentence, size);
    tess_set_threads(ctx, 2);
    return status;
}

/* C holds the product already. A check that runs short of memory must not say anything about it. */
static tess_status run_check(tess_check_method method, problem *p, char *sentence, size_t size) {
    tess_check check;
    memset(&check, 0, sizeof check);
    tess_matrix C0 = p->C.view;
    C0.data = p->C.copy + ((unsigned char *)p->C.view.data - p->C.block);
    tess_status status = tess_check_gemm(p->spec.alpha, &p->A.view, &p->B.view, p->spec.beta, &C0, &p->C.view,
                                         method, 1, &check);
    CHECK(status != TESS_OK || check.passed, "C is right, yet the check did not pass");
    return keep(status, NULL, sentence, size);
}

static tess_status op_check_oracle(tess_context *ctx, problem *p, char *sentence, size_t size) {
    (void)ctx;
    return run_check(TESS_CHECK_ORACLE, p, sentence, size);
}

static tess_status op_check_checksum(tess_context *ctx, problem *p, char *sentence, size_t size) {
    (void)ctx;
    return run_check(TESS_CHECK_CHECKSUM, p, sentence, size);
}

static tess_status op_describe(tess_context *ctx, problem *p, char *sentence, size_t size) {
    (void)p;
    tess_device_info info;
    tess_status status = keep(tess_device_facts(ctx, &info), ctx, sentence, size);
    for (int i = 0; status == TESS_OK && i < tess_count_devices(); i++)
        status = keep(tess_describe_device(i, &info), NULL, sentence, size);
    return status;
}

#define PRODUCT(type, m_, n_, k_) \
    { .types = {#type, type, type}, .m = m_, .n = n_, .k = k_, .alpha = 1, .beta = 1, .data = DATA_EXACT }

static const operation operations[] = {
    {"gemm, tiny", op_gemm, PRODUCT(TESS_F32, 2, 2, 2), 1, 0},
    {"gemm, small", op_gemm, PRODUCT(TESS_F32, 40, 41, 42), 1, 0},
    {"gemm, one row", op_gemm, PRODUCT(TESS_F64, 1, 300, 200), 2, 0},
    {"gemm, parallel", op_gemm, PRODUCT(TESS_F64, 200, 210, 220), 3, 0},
    {"gemm, f16", op_gemm, PRODUCT(TESS_F16, 90, 70, 80), 2, 0},
    {"gemm, bf16", op_gemm, PRODUCT(TESS_BF16, 90, 70, 80), 2, 0},
    {"gemm, i32", op_gemm, PRODUCT(TESS_I32, 90, 70, 80), 2, 0},
    {"batched",
     op_gemm,
     {.types = {"f32", TESS_F32, TESS_F32},
      .m = 100,
      .n = 101,
      .k = 102,
      .alpha = 1,
      .beta = 1,
      .count = 5,
      .data = DATA_EXACT},
     3,
     0},
    {"open, multiply, close", op_open, PRODUCT(TESS_F32, 190, 180, 170), 1, 0},
    {"plan and run", op_plan, PRODUCT(TESS_F32, 190, 180, 170), 2, 0},
    {"more threads", op_threads, PRODUCT(TESS_F32, 200, 190, 180), 2, 0},
    {"check by oracle", op_check_oracle, PRODUCT(TESS_F32, 30, 40, 50), 1, 1},
    {"check by checksum", op_check_checksum, PRODUCT(TESS_F32, 30, 40, 50), 1, 1},
    {"describe", op_describe, PRODUCT(TESS_F32, 1, 1, 1), 1, 0},
};

/* Runs `op` on a fresh context with allocation number n failing. Returns whether the hook did fire. */
static int fails_at(const operation *op, int64_t n) {
    char what[100], sentence[1000] = "";
    snprintf(what, sizeof what, "%s, allocation %lld fails", op->name, (long long)n);
    int64_t live = memory_live();
    tess_context *ctx = open_cpu(op->threads);
    if (!ctx) return 0;
    test_rng rng = {harness_seed()};
    problem p;
    problem_make(&p, &op->spec, &rng);
    if (op->multiplied) CHECK_STATUS(problem_run(&p, ctx, NULL), TESS_OK, ctx);
    memory_fail_after(n);
    tess_status status = op->run(ctx, &p, sentence, sizeof sentence);
    int fired = !hook_is_armed(n);
    CHECK(status == TESS_OK || (fired && status == TESS_ERROR_MEMORY), "%s: %s (\"%s\")", what,
          tess_status_name(status), sentence);
    CHECK(status == TESS_OK || strstr(sentence, "memory"), "%s: the sentence is \"%s\"", what, sentence);
    if (op->run == op_describe || (status != TESS_OK && !op->multiplied))
        problem_check_untouched(&p, what);
    else
        problem_check(&p, what);
    problem_reset(&p);
    CHECK_STATUS(problem_run(&p, ctx, NULL), TESS_OK, ctx);
    problem_check(&p, "once there is memory again");
    problem_free(&p);
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
    CHECK(memory_live() == live, "%s: %lld allocations leaked", what, (long long)(memory_live() - live));
    return fired;
}

TEST(memory_every_allocation_fails) {
    enum { MOST = 1000 };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        int64_t n = 0;
        while (n < MOST && fails_at(&operations[i], n)) n++;
        CHECK(n < MOST, "%s makes more than %d allocations", operations[i].name, (int)MOST);
    }
}

/* The hook itself: otherwise the test above might test nothing. */
/* Where the next bytes lie: at a multiple of what they are wanted at. */
static size_t misplaced(size_t bytes, size_t at) {
    void *block = memory_alloc(bytes);
    size_t off = block ? (size_t)((uintptr_t)block % at) : 1;
    if (block) memset(block, 1, bytes);
    memory_free(block);
    return off;
}

TEST(memory_is_aligned) {
    static const size_t small[] = {0, 1, 100, 4096, MEMORY_HUGE_PAGE - 1};
    static const size_t large[] = {MEMORY_HUGE_PAGE, MEMORY_HUGE_PAGE + 1, 5000000};
    for (int i = 0; i < 5; i++) CHECK(misplaced(small[i], 64) == 0, "%zu bytes are not at 64", small[i]);
    for (int i = 0; i < 3; i++)
        CHECK(misplaced(large[i], MEMORY_HUGE_PAGE) == 0, "%zu bytes begin within a huge page", large[i]);
    CHECK(!memory_alloc(SIZE_MAX) && !memory_alloc(SIZE_MAX - MEMORY_HUGE_PAGE / 2),
          "there was memory for all");
}

TEST(memory_hook_fires) {
    int64_t live = memory_live();
    memory_fail_after(1);
    void *first = memory_alloc(100), *second = memory_alloc(100), *third = memory_alloc_zeroed(100);
    CHECK(first && !second && third, "%p %p %p", first, second, third);
    CHECK(((uintptr_t)first | (uintptr_t)third) % 64 == 0, "%p or %p is not on a cache line", first, third);
    CHECK(memory_live() == live + 2, "%lld live, want %lld", (long long)memory_live(), (long long)(live + 2));
    memory_free(first);
    memory_free(third);
    memory_free(NULL);
    CHECK(memory_live() == live, "%lld live, want %lld", (long long)memory_live(), (long long)live);
    memory_fail_after(-1);
    int64_t before = memory_live();
    tess_context *ctx = open_cpu(1);
    CHECK(memory_live() > before, "a context takes no memory");
    tess_close(ctx);
}

/* Times a product with cold caches, which takes memory to fill them with. */
static void time_cold(tess_context *ctx) {
    problem_spec spec = PRODUCT(TESS_F32, 8, 8, 8);
    problem p;
    tess_plan *plan = NULL;
    double seconds = 0;
    problem_make(&p, &spec, test_random());
    CHECK_STATUS(tess_plan_gemm(ctx, &p.A.view, &p.B.view, &p.C.view, NULL, NULL, &plan), TESS_OK, ctx);
    CHECK_STATUS(tess_time(plan, 1, &p.A.view, &p.B.view, 0, &p.C.view, 2, 1, &seconds), TESS_OK, ctx);
    CHECK(seconds > 0, "it took %g s", seconds);
    tess_free_plan(plan);
    problem_free(&p);
}

TEST(memory_nothing_leaks) {
    int64_t live = memory_live();
    for (int round = 0; round < 3; round++) {
        tess_context *ctx = open_cpu(2);
        for (int i = 0; i < 20; i++) {
            problem_spec spec = draw_spec(test_random(), 0, 80);
            problem_try(&spec, ctx, NULL, test_random());
        }
        if (round == 0) time_cold(ctx);
        CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
        CHECK(memory_live() == live, "round %d left %lld allocations", round,
              (long long)(memory_live() - live));
    }
}

/* Many products take what one takes. */
TEST(memory_does_not_grow) {
    tess_context *ctx = open_cpu(2);
    int64_t after_first = 0;
    for (int i = 0; i < 50; i++) {
        problem_spec spec = PRODUCT(TESS_F32, 140, 140, 140);
        problem_try(&spec, ctx, NULL, test_random());
        if (i == 0) after_first = memory_live();
    }
    CHECK(memory_live() == after_first, "%lld allocations after one product, %lld after 50",
          (long long)after_first, (long long)memory_live());
    tess_close(ctx);
}

TEST(bad_input_leaks_nothing) {
    good_call g = {.ctx = NULL};
    if (!CHECK_STATUS(tess_open(&g.ctx, "cpu"), TESS_OK, NULL)) return;
    for (int i = 0; i < bad_call_count(); i++) {
        good_call_make(&g);
        int64_t live = memory_live();
        bad_call_at(i)->call(&g);
        CHECK(memory_live() == live, "%s left %lld allocations", bad_call_at(i)->name,
              (long long)(memory_live() - live));
    }
    CHECK_STATUS(tess_close(g.ctx), TESS_OK, g.ctx);
}
