/* harness.h: what a test is written with.
 *
 *     TEST(gemm_small_identity) {
 *         CHECK(c[0] == 1.0f, "c[0] is %g", (double)c[0]);
 *     }
 *
 * A test registers itself. A failed CHECK is counted, printed with its place and a command that replays it, and
 * the test goes on; CHECK's value is whether it held, so a test that cannot go on says `if (!CHECK(...)) return;`.
 * CHECK may be used from any thread. Everything random comes from `test_random`, which starts from the run's seed
 * and the test's name, so a test alone draws what it drew among the others. */
#ifndef HARNESS_H
#define HARNESS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "tessera.h"

void harness_register(const char *name, void (*run)(void));
int harness_fail(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Counts the running test as skipped, unless it fails, and prints why. */
void harness_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define TEST(name)                                                   \
    static void name(void);                                          \
    __attribute__((constructor)) static void register_##name(void) { \
        harness_register(#name, name);                               \
    }                                                                \
    static void name(void)

/* The function keeps compilers from minding that a value goes unused. */
static inline int harness_held(int held) {
    return held;
}
#define CHECK(condition, ...) \
    harness_held((condition) || harness_fail(__FILE__, __LINE__, #condition, __VA_ARGS__))

/* Compares a status and shows the sentence that came with it; `ctx` is where the sentence lies (NULL: the
 * thread). */
#define CHECK_STATUS(call, expected, ctx) harness_check_status(__FILE__, __LINE__, #call, call, expected, ctx)
int harness_check_status(const char *file, int line, const char *call, tess_status got, tess_status expected,
                         const tess_context *ctx);

/* How much a run samples: TESSERA_TEST_SHORT=1 (sanitizers, valgrind), the default, TESSERA_TEST_LONG=1. */
typedef enum test_tier { TIER_SHORT, TIER_DEFAULT, TIER_LONG } test_tier;
test_tier harness_tier(void);

/* A loop over samples that ends with its samples or its time, whichever comes first, but makes at least
 * `least`. `seconds` and `most` are the default tier's: SHORT takes a tenth of the samples, LONG ten times the time
 * and the samples.
 *     for (sampling s = sampling_start(10, 1000, 3.0); sampling_next(&s);) ... s.index ... */
typedef struct sampling {
    int64_t index, least, most;
    double end;
} sampling;
sampling sampling_start(int64_t least, int64_t most, double seconds);
int sampling_next(sampling *s);

double harness_now(void);

/* Random numbers. A test that needs several streams (one per thread) seeds its own. */
typedef struct test_rng {
    uint64_t state;
} test_rng;
test_rng *test_random(void);
uint64_t harness_seed(void);
uint64_t rng_bits(test_rng *rng);
int64_t rng_range(test_rng *rng, int64_t low, int64_t high); /* both ends included */
double rng_real(test_rng *rng);                              /* uniform in [-1, 1) */

/* math.h has them as float, which -Wdouble-promotion minds. */
#define TEST_NAN ((double)NAN)
#define TEST_INF ((double)INFINITY)

/* Memory for a test: never NULL (the run ends with a sentence instead). */
void *test_alloc(size_t bytes);

#endif
