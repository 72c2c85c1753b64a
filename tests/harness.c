/* harness.c: runs the tests, one after another, in one process or in several that take the next one each, and reports.
 * Promises: the last line of a finished run is "N passed, N failed"; a crash or a hang ends its process with the test's
 * name, and the run with a non-zero status. */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TESTS = 512, MAX_MESSAGES = 5, MAX_JOBS = 64 };
enum { HANG_SECONDS = 1800 };
static const uint64_t DEFAULT_SEED = 20240229;

typedef struct test_entry {
    const char *name;
    void (*run)(void);
} test_entry;

static test_entry tests[MAX_TESTS];
static int test_count;

static const char *program = "tests";
static const char *volatile current = "(none)";
static uint64_t run_seed;
static test_rng current_rng;
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static int current_failures;
static int current_skipped;

void harness_register(const char *name, void (*run)(void)) {
    if (test_count == MAX_TESTS) {
        fprintf(stderr, "%s: more than %d tests; raise MAX_TESTS in harness.c\n", name, (int)MAX_TESTS);
        abort();
    }
    tests[test_count++] = (test_entry){name, run};
}

int harness_fail(const char *file, int line, const char *condition, const char *format, ...) {
    pthread_mutex_lock(&report_lock);
    if (++current_failures <= MAX_MESSAGES) {
        va_list arguments;
        va_start(arguments, format);
        printf("%s:%d: %s: not so: %s\n    ", file, line, current, condition);
        vprintf(format, arguments);
        printf("\n    again: %s %s --seed=%llu\n", program, current, (unsigned long long)run_seed);
        va_end(arguments);
    } else if (current_failures == MAX_MESSAGES + 1) {
        printf("%s: further failures are counted, not shown\n", current);
    }
    fflush(stdout);
    pthread_mutex_unlock(&report_lock);
    return 0;
}

int harness_check_status(const char *file, int line, const char *call, tess_status got, tess_status expected,
                         const tess_context *ctx) {
    if (got == expected) return 1;
    return harness_fail(file, line, call, "got %s, want %s; the sentence is \"%s\"", tess_status_name(got),
                        tess_status_name(expected), tess_error(ctx));
}

void harness_skip(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&report_lock);
    printf("skipped %s: ", current);
    vprintf(format, arguments);
    printf("\n");
    current_skipped = 1;
    pthread_mutex_unlock(&report_lock);
    va_end(arguments);
}

static int environment_is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value && strcmp(value, "0") != 0;
}

test_tier harness_tier(void) {
    if (environment_is_set("TESSERA_TEST_SHORT")) return TIER_SHORT;
    if (environment_is_set("TESSERA_TEST_LONG")) return TIER_LONG;
    return TIER_DEFAULT;
}

double harness_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

sampling sampling_start(int64_t least, int64_t most, double seconds) {
    test_tier tier = harness_tier();
    if (tier == TIER_SHORT) {
        most = most / 10 > 1 ? most / 10 : 1;
        least = least / 10 > 1 ? least / 10 : 1;
    }
    if (tier == TIER_LONG) {
        most *= 10;
        seconds *= 10;
    }
    return (sampling){-1, least, most, harness_now() + seconds};
}

int sampling_next(sampling *s) {
    s->index++;
    return s->index < s->most && (s->index < s->least || harness_now() < s->end);
}

/* splitmix64: every seed is a good seed. */
uint64_t rng_bits(test_rng *rng) {
    uint64_t z = rng->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int64_t rng_range(test_rng *rng, int64_t low, int64_t high) {
    return low + (int64_t)(rng_bits(rng) % (uint64_t)(high - low + 1));
}

double rng_real(test_rng *rng) {
    return (double)(int64_t)(rng_bits(rng) >> 11) * 0x1p-52 - 1.0;
}

test_rng *test_random(void) {
    return &current_rng;
}

uint64_t harness_seed(void) {
    return run_seed;
}

void *test_alloc(size_t bytes) {
    void *block = malloc(bytes ? bytes : 1);
    if (block) return block;
    fprintf(stderr, "%s: no memory for %zu bytes\n", current, bytes);
    _exit(1);
}

/* Only what a signal handler may call. */
static void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { CRASHES = sizeof crashes / sizeof crashes[0] };
static struct sigaction before_us[CRASHES];

/* Names the test, then lets whoever was there before (a sanitizer, or the default) handle the same signal again. */
static void on_crash(int number) {
    say("\ncrashed in test: ");
    say(current);
    say("\n");
    for (int i = 0; i < CRASHES; i++)
        if (crashes[i] == number) sigaction(number, &before_us[i], NULL);
}

static void on_alarm(int number) {
    (void)number;
    say("\nhung in test: ");
    say(current);
    say("\n");
    _exit(1);
}

static void catch_crashes(void) {
    static char stack[1 << 16]; /* so that a stack overflow is named too */
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_crash;
    action.sa_flags = SA_ONSTACK;
    for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], &action, &before_us[i]);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
}

static int matches(const char *name, char **patterns, int count) {
    for (int i = 0; i < count; i++)
        if (strstr(name, patterns[i])) return 1;
    return count == 0;
}

static uint64_t hash_name(const char *name) {
    uint64_t hash = 14695981039346656037u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return hash;
}

typedef enum outcome { PASSED, FAILED, SKIPPED } outcome;

static outcome run_one(const test_entry *test) {
    current = test->name;
    current_failures = current_skipped = 0;
    current_rng.state = run_seed ^ hash_name(test->name);
    alarm(HANG_SECONDS);
    double start = harness_now();
    test->run();
    double took = harness_now() - start;
    alarm(0);
    if (took > 1.0) printf("%s took %.1f s\n", test->name, took);
    if (current_failures) {
        printf("FAILED %s (%d)\n", test->name, current_failures);
        return FAILED;
    }
    return current_skipped ? SKIPPED : PASSED;
}

static int parse_seed(const char *text, uint64_t *seed) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno || end == text || *end) return 0;
    *seed = value;
    return 1;
}

static int usage(const char *why, const char *what) {
    fprintf(stderr, "%s%s\nusage: %s [--list] [--seed=N] [--jobs=N] [part of a test's name]...\n", why, what,
            program);
    return 1;
}

/* What the processes of a run share. */
typedef struct run_state {
    atomic_int next, counts[3];
} run_state;

static run_state *share_state(void) {
    run_state *state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state != MAP_FAILED) return state;
    fprintf(stderr, "%s: no memory that processes share\n", program);
    _exit(1);
}

static void run_tests(run_state *state, const int *chosen, int count) {
    int at;
    while ((at = atomic_fetch_add(&state->next, 1)) < count)
        atomic_fetch_add(&state->counts[run_one(&tests[chosen[at]])], 1);
}

/* In `jobs` processes. One that dies has failed a test, and the others go on. */
static void run_side_by_side(run_state *state, const int *chosen, int count, int jobs) {
    pid_t children[MAX_JOBS];
    for (int i = 0; i < jobs; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            run_tests(state, chosen, count);
            exit(0);
        }
    }
    for (int i = 0; i < jobs; i++) {
        int status = -1;
        if (children[i] < 0 || waitpid(children[i], &status, 0) < 0 || status != 0) {
            printf("FAILED: process %d of %d did not come to its end (status %d)\n", i + 1, jobs, status);
            atomic_fetch_add(&state->counts[FAILED], 1);
        }
    }
}

int main(int argc, char **argv) {
    program = argv[0];
    run_seed = DEFAULT_SEED;
    const char *seed_text = getenv("TESSERA_TEST_SEED");
    if (seed_text && !parse_seed(seed_text, &run_seed))
        return usage("TESSERA_TEST_SEED is not a number: ", seed_text);
    int list = 0, patterns = 0, jobs = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            list = 1;
        } else if (strncmp(argv[i], "--seed=", 7) == 0) {
            if (!parse_seed(argv[i] + 7, &run_seed)) return usage("not a seed: ", argv[i] + 7);
        } else if (strncmp(argv[i], "--jobs=", 7) == 0) {
            jobs = atoi(argv[i] + 7);
            if (jobs < 1 || jobs > MAX_JOBS) return usage("not a number of processes: ", argv[i] + 7);
        } else if (argv[i][0] == '-') {
            return usage("unknown option: ", argv[i]);
        } else {
            argv[1 + patterns++] = argv[i]; /* never ahead of i: the words gather at the front */
        }
    }
    int chosen[MAX_TESTS], count = 0;
    for (int i = 0; i < test_count; i++)
        if (matches(tests[i].name, argv + 1, patterns)) chosen[count++] = i;
    if (count == 0) return usage("no test's name contains what was asked for: ", patterns ? argv[1] : "");
    for (int i = 0; list && i < count; i++) puts(tests[chosen[i]].name);
    if (list) return 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    catch_crashes();
    printf("seed %llu\n", (unsigned long long)run_seed);
    run_state *state = share_state();
    if (jobs > 1)
        run_side_by_side(state, chosen, count, jobs);
    else
        run_tests(state, chosen, count);
    printf("%d passed, %d failed", state->counts[PASSED], state->counts[FAILED]);
    if (state->counts[SKIPPED]) printf(", %d skipped", state->counts[SKIPPED]);
    printf("\n");
    return state->counts[FAILED] != 0;
}
