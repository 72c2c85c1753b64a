/* context.c: opening, threads, devices and their facts, and what the environment says about them. */
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets variables for a test and puts back what was there. */
typedef struct variable {
    const char *name;
    char *before;
} variable;

static variable set_variable(const char *name, const char *value) {
    const char *now = getenv(name);
    variable v = {name, now ? strdup(now) : NULL};
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
    return v;
}

static void restore_variable(variable *v) {
    if (v->before)
        setenv(v->name, v->before, 1);
    else
        unsetenv(v->name);
    free(v->before);
}

static int threads_of_fresh_context(void) {
    tess_context *ctx = NULL;
    if (!CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL)) return -1;
    int threads = tess_threads(ctx);
    tess_close(ctx);
    return threads;
}

TEST(context_open_and_close) {
    static const char *const names[] = {"auto", "cpu", NULL};
    for (int i = 0; i < 3; i++) {
        tess_context *ctx = NULL;
        if (!CHECK_STATUS(tess_open(&ctx, names[i]), TESS_OK, NULL)) continue;
        CHECK(ctx != NULL, "no context");
        CHECK(strcmp(tess_error(ctx), "") == 0, "a fresh context says \"%s\"", tess_error(ctx));
        CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
    }
    CHECK_STATUS(tess_close(NULL), TESS_OK, NULL);
}

/* A hundred contexts, one after another, each starting threads: all of it goes back. */
TEST(context_threads_end_with_it) {
    enum { N = 150 };
    float *x = calloc(3 * N * N, sizeof *x);
    if (!CHECK(x, "no memory")) return;
    for (int i = 0; i < (harness_tier() == TIER_SHORT ? 10 : 100); i++) {
        tess_context *ctx = open_cpu(4);
        tess_matrix A = tess_view_row_major(TESS_F32, N, N, x, 0), B = A, C = A;
        C.data = x + 2 * N * N;
        CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL), TESS_OK, ctx);
        CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
    }
    FILE *status = fopen("/proc/self/status", "r");
    char line[200];
    int threads = 0;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %d", &threads) == 1) break;
    if (status) fclose(status);
    /* A sanitizer may have a thread of its own. */
    CHECK(threads <= 2, "%d threads are left", threads);
    free(x);
}

TEST(context_number_of_threads) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    int usual = tess_threads(ctx);
    CHECK(usual >= 1, "%d threads", usual);
    static const int tries[] = {1, 2, 7, 1024};
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(tess_set_threads(ctx, tries[i]), TESS_OK, ctx);
        CHECK(tess_threads(ctx) == tries[i], "%d threads, want %d", tess_threads(ctx), tries[i]);
    }
    CHECK(tess_set_threads(ctx, 1025) != TESS_OK && tess_threads(ctx) == 1024, "%d threads",
          tess_threads(ctx));
    CHECK_STATUS(tess_set_threads(ctx, 0), TESS_OK, ctx);
    CHECK(tess_threads(ctx) == usual, "%d threads, want the usual %d", tess_threads(ctx), usual);
    tess_close(ctx);
}

TEST(context_threads_from_the_environment) {
    variable omp = set_variable("OMP_NUM_THREADS", NULL), own = set_variable("TESSERA_NUM_THREADS", NULL);
    int usual = threads_of_fresh_context();
    CHECK(usual >= 1, "%d threads", usual);
    setenv("OMP_NUM_THREADS", "5", 1);
    CHECK(threads_of_fresh_context() == 5, "OMP_NUM_THREADS=5 gives %d", threads_of_fresh_context());
    setenv("TESSERA_NUM_THREADS", "3", 1);
    CHECK(threads_of_fresh_context() == 3, "TESSERA_NUM_THREADS=3 gives %d", threads_of_fresh_context());
    setenv("TESSERA_NUM_THREADS", "", 1);
    CHECK(threads_of_fresh_context() == 5, "an empty TESSERA_NUM_THREADS counts");
    tess_context *earlier = open_cpu(0);
    setenv("TESSERA_NUM_THREADS", "4", 1);
    CHECK(tess_set_threads(earlier, 2) == TESS_OK && tess_set_threads(earlier, 0) == TESS_OK &&
              tess_threads(earlier) == 5,
          "the default of a context that was open before is %d, not 5", tess_threads(earlier));
    tess_close(earlier);
    /* What is no number of threads is refused, by its name. */
    static const char *const odd[] = {"0", "-4", "many", "3x", "1025", "99999999999999999999"};
    for (int i = 0; i < 6; i++) {
        setenv("TESSERA_NUM_THREADS", odd[i], 1);
        tess_context *ctx = NULL;
        tess_status status = tess_open(&ctx, "cpu");
        CHECK(status == TESS_ERROR_ARGUMENT && !ctx && strstr(tess_error(NULL), "TESSERA_NUM_THREADS is '"),
              "TESSERA_NUM_THREADS=%s: %s, \"%s\"", odd[i], tess_status_name(status), tess_error(NULL));
        tess_close(ctx);
    }
    tess_context *none = NULL;
    CHECK(tess_open(&none, "tpu") == TESS_ERROR_DEVICE && strstr(tess_error(NULL), "no device 'tpu'"),
          "a wrong number of threads hides that there is no device: \"%s\"", tess_error(NULL));
    restore_variable(&own);
    restore_variable(&omp);
}

TEST(context_device_from_the_environment) {
    variable device = set_variable("TESSERA_DEVICE", "cpu");
    tess_context *ctx = NULL;
    tess_device_info info;
    CHECK_STATUS(tess_open(&ctx, "auto"), TESS_OK, NULL);
    CHECK_STATUS(tess_device_facts(ctx, &info), TESS_OK, ctx);
    CHECK(strcmp(info.name, "cpu") == 0, "TESSERA_DEVICE=cpu opened %s", info.name);
    tess_close(ctx);
    setenv("TESSERA_DEVICE", "abacus", 1);
    CHECK(tess_open(&ctx, NULL) == TESS_ERROR_DEVICE && !ctx, "TESSERA_DEVICE=abacus opened something");
    CHECK(strstr(tess_error(NULL), "abacus"), "the sentence is \"%s\"", tess_error(NULL));
    CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL); /* a name beats the environment */
    tess_close(ctx);
    restore_variable(&device);
}

TEST(context_device_facts) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    tess_device_info info;
    memset(&info, 0x55, sizeof info);
    CHECK_STATUS(tess_device_facts(ctx, &info), TESS_OK, ctx);
    CHECK(strcmp(info.name, "cpu") == 0, "the cpu is called \"%.31s\"", info.name);
    CHECK(memchr(info.model, 0, sizeof info.model) && info.model[0], "no model");
    CHECK(memchr(info.isa, 0, sizeof info.isa) && info.isa[0], "no instruction set");
    CHECK(info.cores >= 1 && info.threads >= 1, "%d cores, %d threads", info.cores, info.threads);
    CHECK(info.memory > (1 << 20), "%lld bytes of memory", (long long)info.memory);
    CHECK(info.l1d >= 0 && info.l2 >= 0 && info.l3 >= 0, "%lld %lld %lld", (long long)info.l1d,
          (long long)info.l2, (long long)info.l3);
    tess_close(ctx);
}

TEST(context_devices_can_be_opened) {
    CHECK(tess_count_devices() >= 1, "%d devices", tess_count_devices());
    int has_cpu = 0;
    for (int i = 0; i < tess_count_devices(); i++) {
        tess_device_info info;
        if (!CHECK_STATUS(tess_describe_device(i, &info), TESS_OK, NULL)) continue;
        has_cpu |= strcmp(info.name, "cpu") == 0;
        tess_context *ctx = NULL;
        CHECK_STATUS(tess_open(&ctx, info.name), TESS_OK, NULL);
        tess_close(ctx);
    }
    CHECK(has_cpu, "no device is called cpu");
}

/* The last failure stays until the next: a call that succeeds does not wipe it, and the text outlives other calls. */
TEST(context_less_sentence_stays_until_it_is_asked_for_again) {
    tess_context *ctx = NULL;
    char before[400];
    CHECK_STATUS(tess_open(&ctx, "no such device"), TESS_ERROR_DEVICE, NULL);
    const char *said = tess_error(NULL);
    snprintf(before, sizeof before, "%s", said);
    CHECK(strstr(before, "no such device") != NULL, "it says '%s'", before);
    tess_matrix bad = tess_view_row_major(TESS_F32, -1, 2, NULL, 0);
    CHECK(bad.rows == -1 && strcmp(said, before) == 0, "'%s' has become '%s'", before, said);
}

TEST(context_keeps_its_sentence) {
    tess_context *ctx = open_cpu(1), *other = open_cpu(1);
    if (!ctx || !other) return;
    CHECK(tess_set_threads(ctx, -77) == TESS_ERROR_ARGUMENT, "-77 threads were taken");
    CHECK_STATUS(tess_set_threads(ctx, 1), TESS_OK, ctx);
    CHECK(strstr(tess_error(ctx), "-77"), "the sentence is \"%s\"", tess_error(ctx));
    CHECK(strcmp(tess_error(other), "") == 0, "the other context says \"%s\"", tess_error(other));
    CHECK(tess_set_threads(other, -88) == TESS_ERROR_ARGUMENT, "-88 threads were taken");
    CHECK(strstr(tess_error(ctx), "-77"), "the sentence is \"%s\"", tess_error(ctx));
    tess_close(ctx);
    tess_close(other);
}
