/* fork.c: after fork() a child multiplies: with the context it inherited, whose threads stayed with the parent, and
 * with one it opens; also when the parent was in the middle of a product. None hangs. */
#include "problem.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_SECONDS = 600 };

/* The thread sanitizer ends a process that starts a thread after a fork from several. Under it the children
 * multiply alone: locks and handlers are still tried, and other builds try the threads. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { CHILD_THREADS = 1 };
#else
enum { CHILD_THREADS = 3 };
#endif
#elif defined(__SANITIZE_THREAD__)
enum { CHILD_THREADS = 1 };
#else
enum { CHILD_THREADS = 3 };
#endif

/* Threads of the parent, multiplying without pause on their own contexts. */
static atomic_int stop;
static void *keep_multiplying(void *argument) {
    tess_context *ctx = argument;
    enum { N = 200 };
    float *x = calloc(3 * N * N, sizeof *x);
    if (!x) abort();
    tess_matrix A = tess_view_row_major(TESS_F32, N, N, x, 0),
                B = tess_view_row_major(TESS_F32, N, N, x + N * N, 0);
    tess_matrix C = tess_view_row_major(TESS_F32, N, N, x + 2 * N * N, 0);
    while (!atomic_load(&stop)) CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL), TESS_OK, ctx);
    free(x);
    return NULL;
}

/* One product, checked; for a child, which must not use the harness's locks: the parent's other threads may have held
 * them. */
static int multiplies(tess_context *ctx, uint64_t seed) {
    enum { N = 170 }; /* enough work for several threads */
    static int32_t a[N * N], b[N * N], c[N * N];
    test_rng rng = {seed};
    for (int i = 0; i < N * N; i++)
        a[i] = (int32_t)rng_range(&rng, -9, 9), b[i] = (int32_t)rng_range(&rng, -9, 9);
    tess_matrix A = tess_view_row_major(TESS_I32, N, N, a, 0), B = tess_view_row_major(TESS_I32, N, N, b, 0);
    tess_matrix C = tess_view_row_major(TESS_I32, N, N, c, 0);
    if (tess_gemm(ctx, 1, &A, &B, 0, &C, NULL) != TESS_OK) return 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int32_t sum = 0;
            for (int l = 0; l < N; l++) sum += a[i * N + l] * b[l * N + j];
            if (c[i * N + j] != sum) return 0;
        }
    return 1;
}

/* What the child returns to the parent: 0 if all went well. */
static int child(tess_context *inherited, int number) {
    alarm(CHILD_SECONDS);
    if (tess_set_threads(inherited, CHILD_THREADS) != TESS_OK) return 7;
    if (number % 2 == 0 && !multiplies(inherited, (uint64_t)number)) return 1;
    tess_context *own;
    if (tess_open(&own, "cpu") != TESS_OK) return 2;
    if (tess_set_threads(own, CHILD_THREADS) != TESS_OK || !multiplies(own, (uint64_t)number)) return 3;
    if (tess_close(own) != TESS_OK) return 4;
    if (number % 2 == 1 && !multiplies(inherited, (uint64_t)number)) return 5;
    if (number % 4 == 0 && tess_close(inherited) != TESS_OK) return 6;
    return 0;
}

/* Waits for a child, for a while. Returns its exit status, or -1 if it hung or died. */
static int wait_for(pid_t pid) {
    double end = harness_now() + CHILD_SECONDS + 10;
    for (;;) {
        int status;
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (harness_now() > end) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        usleep(500);
    }
}

static void fork_children(tess_context *ctx, int count) {
    for (int i = 0; i < count; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) _exit(child(ctx, i));
        if (!CHECK(pid > 0, "fork failed")) return;
        int result = wait_for(pid);
        if (!CHECK(result == 0, "child %d ended with %d (-1: hung or died)", i, result)) return;
    }
}

TEST(fork_children_multiply) {
    tess_context *ctx = open_cpu(3);
    if (!ctx) return;
    CHECK(multiplies(ctx, 1), "the parent's product is wrong");
    fork_children(ctx, harness_tier() == TIER_SHORT ? 10 : 100);
    CHECK(multiplies(ctx, 2), "the parent's product is wrong after its children's");
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* The pool was never used before the fork, or its context was closed: nothing to inherit but the handlers. */
TEST(fork_before_the_first_product) {
    tess_context *ctx = open_cpu(3);
    if (!ctx) return;
    fork_children(ctx, 4);
    CHECK(multiplies(ctx, 2), "the parent's product is wrong");
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

TEST(fork_in_the_middle_of_products) {
    tess_context *ctx = open_cpu(2), *busy[3] = {NULL};
    pthread_t threads[3];
    atomic_store(&stop, 0);
    CHECK(multiplies(ctx, 1), "the parent's product is wrong");
    for (int i = 0; i < 3; i++) {
        busy[i] = open_cpu(1 + i);
        if (!CHECK(pthread_create(&threads[i], NULL, keep_multiplying, busy[i]) == 0, "no thread")) abort();
    }
    usleep(20000);
    fork_children(ctx, harness_tier() == TIER_SHORT ? 5 : 60);
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        CHECK_STATUS(tess_close(busy[i]), TESS_OK, busy[i]);
    }
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* The child inherits the very context another thread of the parent was multiplying on. */
TEST(fork_with_the_busy_context) {
    tess_context *ctx = open_cpu(2);
    if (!ctx) return;
    pthread_t thread;
    atomic_store(&stop, 0);
    if (!CHECK(pthread_create(&thread, NULL, keep_multiplying, ctx) == 0, "no thread")) abort();
    usleep(20000);
    fork_children(ctx, harness_tier() == TIER_SHORT ? 5 : 60);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    CHECK(multiplies(ctx, 3), "the parent's product is wrong");
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}

/* A child's child. */
TEST(fork_twice) {
    tess_context *ctx = open_cpu(2);
    if (!ctx) return;
    CHECK(multiplies(ctx, 1), "the parent's product is wrong");
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (tess_set_threads(ctx, CHILD_THREADS) != TESS_OK || !multiplies(ctx, 2)) _exit(1);
        pid_t grandchild = fork();
        if (grandchild == 0) _exit(child(ctx, 1));
        _exit(grandchild < 0 ? 2 : wait_for(grandchild) == 0 ? 0 : 3);
    }
    CHECK(wait_for(pid) == 0, "the grandchild did not multiply");
    CHECK_STATUS(tess_close(ctx), TESS_OK, ctx);
}
