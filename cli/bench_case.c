/* bench_case.c: verifies and times one kernel on one product, beside its peers.
 *
 * Invariant: nothing is timed whose result was not found right just before (unless --no-verify), and all
 * sides of a comparison are timed in turns, so that what slows the machine slows them all.
 */
#include "bench.h"
#include "environment.h"
#include "interrupt.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 2000, MOST_REPEATS = 1000000 };
/* A sample is many calls if one is shorter than this: the clock's own noise must not show. */
static const double SHORTEST_SAMPLE = 1e-3;
/* After the other side has run, its threads get this long to fall asleep. */
static const double SETTLE = 1e-3;
/* A product shorter than this is called once, untimed, before each sample, to wake its own threads. */
static const double WAKE_BELOW = 5e-3;
/* A product longer than this is warm from being verified: its first call is a sample already. */
static const double WARM_ABOVE = 0.5;

/* One of the things that are timed: a plan, or a peer. */
typedef struct side {
    const problem *p;
    tess_plan *plan;
    const peer *peer;
    double seconds; /* of one call, roughly */
    int64_t repeats;
    double calibration_cpu; /* CPU seconds */
    double cpu;             /* of all samples */
    int64_t calls;
    double samples[MOST_SAMPLES];
} side;

static int64_t at_least_one(int64_t ld) {
    return ld > 0 ? ld : 1;
}

static peer_call make_call(const problem *p) {
    const problem_spec *s = &p->spec;
    return (peer_call){.type = s->types.in,
                       .trans_a = (s->layout & 2) != 0,
                       .trans_b = (s->layout & 1) != 0,
                       .m = s->m,
                       .n = s->n,
                       .k = s->k,
                       .lda = at_least_one(p->lda),
                       .ldb = at_least_one(p->ldb),
                       .ldc = at_least_one(p->ldc),
                       .alpha = s->alpha,
                       .beta = s->beta,
                       .a = p->A.data,
                       .b = p->B.data,
                       .c = p->C.data};
}

/* Peers have no batched call in common: theirs is a loop. */
static void run_peer(const peer *blas, const problem *p) {
    peer_call call = make_call(p);
    int64_t bytes = (int64_t)tess_type_size(call.type);
    for (int64_t i = 0; i < p->spec.batch; i++) {
        call.a = (const char *)p->A.data + i * p->batch.stride_a * bytes;
        call.b = (const char *)p->B.data + i * p->batch.stride_b * bytes;
        call.c = (char *)p->C.data + i * p->batch.stride_c * bytes;
        peer_gemm(blas, &call);
    }
}

static tess_status run_once(const side *s) {
    if (s->peer == NULL) return problem_run(s->p, s->plan);
    run_peer(s->peer, s->p);
    return TESS_OK;
}

/* Sorts a failure of the library into what the kernel does not take and what stops everything. */
static void note_failure(const bench_request *r, tess_status status, bench_result *result) {
    bool refused = status == TESS_ERROR_KERNEL || status == TESS_ERROR_TYPE || status == TESS_ERROR_ARGUMENT;
    result->state = refused ? BENCH_REFUSED : BENCH_STOPPED;
    snprintf(result->why, sizeof result->why, "%s", tess_error(r->ctx));
}

/* Runs and checks on one kind of data; where that does not exist for a product there is nothing to check. */
static bool verify_with(const bench_request *r, side *s, problem *p, problem_data data,
                        bench_result *result) {
    tess_check check;
    if (!problem_fill(p, data)) return data == PROBLEM_EXACT;
    tess_status status = run_once(s);
    if (status != TESS_OK) {
        note_failure(r, status, result);
        return false;
    }
    result->state = BENCH_WRONG;
    bool right = problem_check(p, data, &check, result->why);
    if (data == PROBLEM_RANDOM) {
        result->rel_error = check.rel_error;
        result->max_error = check.max_error;
    }
    return right;
}

/* Exact data first, random data last: that is what is timed. */
static bool verify(const bench_request *r, side *s, problem *p, bench_result *result) {
    if (r->verify) {
        result->checked = true;
        return verify_with(r, s, p, PROBLEM_EXACT, result) && verify_with(r, s, p, PROBLEM_RANDOM, result);
    }
    tess_status status = problem_fill(p, PROBLEM_RANDOM) ? run_once(s) : TESS_ERROR_INTERNAL;
    if (status != TESS_OK) note_failure(r, status, result);
    return status == TESS_OK;
}

bool bench_peer_is_right(const bench_request *r, const peer *blas, problem *p, bool *wrong) {
    peer_call call = make_call(p);
    if (p->spec.types.in != p->spec.types.out || !peer_takes(blas, &call)) return false;
    side s = {.p = p, .peer = blas};
    bench_result result = {0};
    if (verify(r, &s, p, &result)) return true;
    say_error("%s (%s) gives a wrong product, so nothing is compared with it here: %s", blas->name,
              blas->path, result.why);
    *wrong = true;
    return false;
}

static void flush_caches(const bench_request *r) {
    static unsigned char mark;
    memset(r->flush, ++mark, r->flush_bytes);
}

/* Runs until the time of one call is known well enough to choose how many make a sample. */
static void calibrate(const bench_request *r, side *s) {
    double cpu = timing_cpu(), start = timing_now(), elapsed = 0;
    int64_t calls = 0;
    do {
        run_once(s);
        calls++;
        elapsed = timing_now() - start;
    } while (elapsed < 2e-3 && calls < 1000);
    s->seconds = elapsed / (double)calls;
    s->calibration_cpu = timing_cpu() - cpu;
    double sample = fmax(SHORTEST_SAMPLE, r->min_time / 40);
    double repeats = s->seconds > 0 ? ceil(sample / s->seconds) : MOST_REPEATS;
    s->repeats = r->cold ? 1 : (int64_t)fmin(fmax(repeats, 1), MOST_REPEATS);
}

static void take_sample(const bench_request *r, side *s, size_t index, bool others) {
    if (others) timing_sleep(SETTLE);
    if (others && s->seconds < WAKE_BELOW) run_once(s);
    if (r->cold) flush_caches(r);
    double cpu = timing_cpu(), start = timing_now();
    for (int64_t i = 0; i < s->repeats; i++) run_once(s);
    s->samples[index] = (timing_now() - start) / (double)s->repeats;
    s->cpu += timing_cpu() - cpu;
    s->calls += s->repeats;
}

/* Fewer samples of what takes seconds: there the clock is not the problem, and patience is. */
static size_t fewest_samples(double seconds) {
    return seconds > 3 ? 2 : seconds > 0.5 ? 3 : 7;
}

/* Where all sides take long, calibrating them was a first round. Returns the number of rounds: 0 or 1. */
static size_t keep_calibration(const bench_request *r, side *sides, size_t side_count) {
    for (size_t i = 0; i < side_count; i++)
        if (r->cold || sides[i].seconds < WARM_ABOVE) return 0;
    for (size_t i = 0; i < side_count; i++) {
        sides[i].samples[0] = sides[i].seconds;
        sides[i].cpu = sides[i].calibration_cpu;
        sides[i].calls = 1;
    }
    return 1;
}

/* Samples the sides in turns. Returns how many each has, 0 if interrupted. */
static size_t take_samples(const bench_request *r, side *sides, size_t side_count) {
    for (size_t i = 0; i < side_count; i++) {
        if (interrupt_came()) return 0;
        calibrate(r, &sides[i]);
    }
    size_t fewest = fewest_samples(sides[0].seconds), count = keep_calibration(r, sides, side_count);
    double spent = count > 0 ? sides[0].samples[0] : 0;
    for (;; count++) {
        if (r->samples > 0 ? count >= (size_t)r->samples : spent >= r->min_time && count >= fewest) break;
        if (count == MOST_SAMPLES) break;
        for (size_t i = 0; i < side_count; i++) {
            if (interrupt_came()) return 0;
            take_sample(r, &sides[i], count, side_count > 1);
        }
        spent += sides[0].samples[count] * (double)sides[0].repeats;
    }
    return count;
}

/* The median of single calls that plan, run and forget; not worth the wait where planning cannot show. */
static double time_calls(const bench_request *r, const bench_case *c, const problem *p, double seconds) {
    enum { CALLS = 15 };
    double samples[CALLS], spent = 0;
    size_t count = 0;
    tess_options options = r->options;
    options.kernel = c->kernel->number < 0 ? NULL : c->kernel->name;
    if (seconds > 2) return (double)NAN;
    for (; count < CALLS && (count == 0 || spent < 0.1); count++) {
        if (r->cold) flush_caches(r);
        double start = timing_now();
        if (problem_call(p, r->ctx, &options) != TESS_OK) return (double)NAN;
        samples[count] = timing_now() - start;
        spent += samples[count];
    }
    return timing_summarize(samples, count).median;
}

/* What happens to the machine from one round to the next cancels in a ratio of samples taken in one round, but
 * not in a ratio of medians that may come from different rounds. */
static double median_ratio(const double *above, const double *below, size_t count) {
    double ratios[MOST_SAMPLES];
    for (size_t i = 0; i < count; i++) ratios[i] = above[i] / below[i];
    return timing_summarize(ratios, count).median;
}

static void time_sides(const bench_request *r, const bench_case *c, side *sides, size_t side_count,
                       bench_result *result) {
    size_t count = take_samples(r, sides, side_count);
    if (count == 0) {
        result->state = BENCH_STOPPED;
        return;
    }
    /* The ratios first: a summary sorts the samples. */
    for (size_t i = 1; i < side_count; i++) {
        result->ratios[i - 1] = median_ratio(sides[i].samples, sides[0].samples, count);
        result->peers[i - 1] = timing_summarize(sides[i].samples, count);
    }
    result->own = timing_summarize(sides[0].samples, count);
    result->cpu = sides[0].cpu / (double)sides[0].calls;
    result->iterations = sides[0].calls;
    if (sides[0].plan != NULL) result->call = time_calls(r, c, sides[0].p, result->own.median);
    result->clock_mhz = environment_clock_mhz();
    result->state = BENCH_MEASURED;
}

/* Plans the kernel of this case. On failure the result says whether it was refused. */
static tess_plan *plan_case(const bench_request *r, const bench_case *c, const problem *p,
                            bench_result *result) {
    tess_plan *plan = NULL;
    tess_options options = r->options;
    options.kernel = c->kernel->number < 0 ? NULL : c->kernel->name;
    tess_status status = problem_plan(p, r->ctx, &options, &plan);
    if (status != TESS_OK) {
        note_failure(r, status, result);
        return NULL;
    }
    bool named = c->kernel->number >= 0;
    snprintf(result->kernel, sizeof result->kernel, named ? "%s" : KERNELS_AUTO ":%s",
             tess_plan_kernel(plan));
    if (say_verbose()) say_note("%s", tess_plan_sentence(plan));
    return plan;
}

void bench_measure(const bench_request *r, const bench_case *c, problem *p, bench_result *result) {
    double none = (double)NAN;
    timing_summary nothing = {.median = none, .p10 = none, .p90 = none, .noise = none};
    *result = (bench_result){.rel_error = none,
                             .max_error = none,
                             .call = none,
                             .cpu = none,
                             .own = nothing,
                             .clock_mhz = none};
    side sides[1 + BENCH_PEERS_MAX] = {{.p = p, .peer = c->alone}};
    for (size_t i = 0; i < c->peer_count; i++) sides[1 + i] = (side){.p = p, .peer = c->peers[i]};
    if (c->alone != NULL)
        snprintf(result->kernel, sizeof result->kernel, "%s", c->alone->name);
    else if ((sides[0].plan = plan_case(r, c, p, result)) == NULL)
        return;
    if (verify(r, &sides[0], p, result)) time_sides(r, c, sides, 1 + c->peer_count, result);
    tess_free_plan(sides[0].plan);
}

static int64_t clipped(int64_t size) {
    return size < 256 ? size : 256;
}

double bench_estimate(const bench_request *r, const bench_case *c, const problem_spec *spec) {
    problem_spec small = *spec;
    small.m = clipped(spec->m);
    small.n = clipped(spec->n);
    small.k = clipped(spec->k);
    small.batch = 1;
    problem p;
    bench_result ignored;
    tess_plan *plan = NULL;
    double seconds = 0;
    if (problem_open(&p, &small) && problem_fill(&p, PROBLEM_RANDOM) &&
        (plan = plan_case(r, c, &p, &ignored)) != NULL && problem_run(&p, plan) == TESS_OK) {
        double start = timing_now();
        problem_run(&p, plan);
        seconds = (timing_now() - start) * problem_flops(spec) / problem_flops(&small);
    }
    tess_free_plan(plan);
    problem_free(&p);
    return seconds;
}
