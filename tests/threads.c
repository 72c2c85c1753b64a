/* threads.c: contexts side by side, one context shared, and sentences that stay with their context. */
#include "problem.h"

#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8 };

typedef struct worker {
    pthread_t thread;
    int number;
    tess_context *ctx; /* NULL: it opens its own */
    int64_t products;
    double deadline;
} worker;

static void *multiply(void *argument) {
    worker *w = argument;
    tess_context *ctx = w->ctx ? w->ctx : open_cpu(1 + w->number % 3);
    if (!ctx) return NULL;
    test_rng rng = {harness_seed() + (uint64_t)w->number * 1000003};
    for (int64_t i = 0; i < w->products && harness_now() < w->deadline; i++) {
        /* Mostly small, and now and then enough work for the context's own threads. */
        problem_spec spec = i % 50 ? draw_spec(&rng, 0, 24) : draw_spec(&rng, 140, 180);
        if (i % 10 == 0) spec.count = rng_range(&rng, 1, 5);
        if (!problem_try(&spec, ctx, NULL, &rng)) break;
    }
    if (!w->ctx) CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
    return NULL;
}

static void multiply_in_threads(tess_context *shared, int64_t products) {
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] =
            (worker){.number = i, .ctx = shared, .products = products, .deadline = harness_now() + 60};
        if (!CHECK(pthread_create(&workers[i].thread, NULL, multiply, &workers[i]) == 0, "no thread %d", i))
            abort();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
}

TEST(threads_with_their_own_contexts) {
    multiply_in_threads(NULL, harness_tier() == TIER_SHORT ? 60 : 1000);
}

TEST(threads_sharing_one_context) {
    tess_context *ctx = open_cpu(3);
    if (!ctx) return;
    multiply_in_threads(ctx, harness_tier() == TIER_SHORT ? 40 : 300);
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* Several threads run one small plan, each with matrices of its own: A is the identity times the thread's number. */
typedef struct plan_runner {
    worker common;
    tess_plan *plan;
} plan_runner;

static void *run_plan(void *argument) {
    plan_runner *r = argument;
    enum { SIDE = 8 };
    float a[SIDE * SIDE] = {0}, b[SIDE * SIDE], c[SIDE * SIDE];
    for (int i = 0; i < SIDE; i++) a[i * SIDE + i] = (float)r->common.number;
    for (int i = 0; i < SIDE * SIDE; i++) b[i] = (float)i;
    tess_matrix A = tess_view_row_major(TESS_F32, SIDE, SIDE, a, 0),
                B = tess_view_row_major(TESS_F32, SIDE, SIDE, b, 0),
                C = tess_view_row_major(TESS_F32, SIDE, SIDE, c, 0);
    for (int64_t at = 0; at < r->common.products; at++) {
        int wrong = 0;
        memset(c, 0xff, sizeof c);
        if (!CHECK_STATUS(tess_run(r->plan, 1, &A, &B, 0, &C), TESS_OK, r->common.ctx)) break;
        for (int i = 0; i < SIDE * SIDE; i++) wrong += c[i] != (float)(r->common.number * i);
        if (!CHECK(wrong == 0, "thread %d: %d elements are wrong", r->common.number, wrong)) break;
    }
    return NULL;
}

TEST(threads_running_one_plan) {
    tess_context *ctx = open_cpu(2);
    if (!ctx) return;
    plan_runner runners[THREADS];
    tess_plan *plan = NULL;
    float x[64];
    tess_matrix M = tess_view_row_major(TESS_F32, 8, 8, x, 0);
    if (!CHECK_STATUS(tess_plan_gemm(ctx, &M, &M, &M, NULL, NULL, &plan), TESS_OK, ctx)) return;
    int64_t products = harness_tier() == TIER_SHORT ? 2000 : 50000;
    for (int i = 0; i < THREADS; i++) {
        runners[i] = (plan_runner){{.number = i, .ctx = ctx, .products = products}, plan};
        if (!CHECK(pthread_create(&runners[i].common.thread, NULL, run_plan, &runners[i]) == 0, "no thread"))
            abort();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(runners[i].common.thread, NULL);
    tess_free_plan(plan);
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* One thread changes the number of threads and asks for facts and plans while others multiply. */
static void *disturb(void *argument) {
    worker *w = argument;
    float x[16] = {0};
    tess_matrix M = tess_view_row_major(TESS_F32, 4, 4, x, 0);
    for (int64_t i = 0; i < w->products; i++) {
        tess_device_info info;
        tess_plan *plan = NULL;
        CHECK_STATUS(tess_set_threads(w->ctx, (int)(i % 5)), TESS_OK, w->ctx);
        CHECK(tess_threads(w->ctx) >= 1, "%d threads", tess_threads(w->ctx));
        CHECK_STATUS(tess_device_facts(w->ctx, &info), TESS_OK, w->ctx);
        CHECK_STATUS(tess_plan_gemm(w->ctx, &M, &M, &M, NULL, NULL, &plan), TESS_OK, w->ctx);
        tess_free_plan(plan);
        (void)tess_error(w->ctx);
    }
    return NULL;
}

TEST(threads_disturbing_a_context) {
    tess_context *ctx = open_cpu(2);
    if (!ctx) return;
    worker workers[4];
    int64_t products = harness_tier() == TIER_SHORT ? 30 : 200;
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){.number = i, .ctx = ctx, .products = products, .deadline = harness_now() + 60};
        if (!CHECK(pthread_create(&workers[i].thread, NULL, i ? multiply : disturb, &workers[i]) == 0,
                   "no thread"))
            abort();
    }
    for (int i = 0; i < 4; i++) pthread_join(workers[i].thread, NULL);
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* Each thread fails in its own way, again and again, and reads its own sentence back. */
static void *fail_in_own_way(void *argument) {
    worker *w = argument;
    tess_context *ctx = open_cpu(1);
    if (!ctx) return NULL;
    float x[64] = {0};
    char number[32];
    snprintf(number, sizeof number, "%d", 700 + w->number);
    for (int64_t i = 0; i < w->products; i++) {
        tess_matrix A = tess_view_strided(TESS_F32, 1, 700 + w->number, x, 1, 0);
        tess_matrix B = tess_view_row_major(TESS_F32, 4, 4, x, 0),
                    C = tess_view_row_major(TESS_F32, 1, 4, x + 32, 0);
        CHECK(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL) == TESS_ERROR_SHAPE, "a misfit was multiplied");
        if (!CHECK(strstr(tess_error(ctx), number), "thread %d reads \"%s\"", w->number, tess_error(ctx)))
            break;
        (void)tess_view_row_major(TESS_F32, 1, 700 + w->number, x, 1);
        if (!CHECK(strstr(tess_error(NULL), number), "thread %d reads \"%s\"", w->number, tess_error(NULL)))
            break;
    }
    tess_close(ctx);
    return NULL;
}

TEST(threads_keep_their_sentences) {
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.number = i, .products = harness_tier() == TIER_SHORT ? 50 : 1000};
        if (!CHECK(pthread_create(&workers[i].thread, NULL, fail_in_own_way, &workers[i]) == 0, "no thread"))
            abort();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
}

/* A sentence left by one thread can be read by another, on the same context. */
static void *fail_once(void *argument) {
    tess_context *ctx = argument;
    CHECK(tess_set_threads(ctx, 4321) == TESS_ERROR_ARGUMENT, "4321 threads were taken");
    return NULL;
}

TEST(threads_read_a_contexts_sentence) {
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    CHECK(strcmp(tess_error(ctx), "") == 0, "a fresh context says \"%s\"", tess_error(ctx));
    pthread_t thread;
    if (!CHECK(pthread_create(&thread, NULL, fail_once, ctx) == 0, "no thread")) abort();
    pthread_join(thread, NULL);
    CHECK(strstr(tess_error(ctx), "4321"), "the sentence is \"%s\"", tess_error(ctx));
    tess_close(ctx);
}

/* Threads that were started before round as the one that calls does now: who computes what must not show. */
TEST(threads_round_as_their_caller) {
    enum { SIDE = 700, FLOATS = SIDE * SIDE };
    float *x = calloc(3 * FLOATS, sizeof *x);
    tess_context *ctx = open_cpu(4);
    if (!ctx || !CHECK(x != NULL, "no memory")) return;
    tess_matrix A = tess_view_row_major(TESS_F32, SIDE, SIDE, x, 0),
                C[2] = {tess_view_row_major(TESS_F32, SIDE, SIDE, x + FLOATS, 0),
                        tess_view_row_major(TESS_F32, SIDE, SIDE, x + 2 * FLOATS, 0)};
    CHECK_STATUS(tess_fill(&A, TESS_FILL_UNIFORM, 1, harness_seed()), TESS_OK, NULL);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &A, 0, &C[0], NULL), TESS_OK, ctx);
    if (fesetround(FE_UPWARD) == 0) {
        for (int threads = 1, i = 0; i < 2; i++, threads = 4) {
            CHECK_STATUS(tess_set_threads(ctx, threads), TESS_OK, ctx);
            CHECK_STATUS(tess_gemm(ctx, 1, &A, &A, 0, &C[i], NULL), TESS_OK, ctx);
        }
        fesetround(FE_TONEAREST);
        CHECK(memcmp(C[0].data, C[1].data, FLOATS * sizeof *x) == 0, "4 threads round otherwise than 1");
    }
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
    free(x);
}
