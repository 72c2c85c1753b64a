/* bench_case.c: plans, verifies and times one kernel on one product, beside its peers.
 *
 * Invariant: nothing is timed whose result was not found right just before (unless --no-verify).
 */
#include "bench.h"
#include "bench_sides.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_modes[BENCH_MODE_COUNT] = {"burst", "continuous", "sustained"};

problem_spec bench_spec_of(const bench_request *r, size_t index, problem_types types) {
    problem_spec spec = r->base;
    spec.types = types;
    spec.m = r->sizes.shapes[index].m;
    spec.n = r->sizes.shapes[index].n;
    spec.k = r->sizes.shapes[index].k;
    if (r->sizes.batches[index] > 0) spec.batch = r->sizes.batches[index];
    return spec;
}

/* What a kernel does not take it refuses when it is planned. */
static void note_refusal(const bench_request *r, tess_status status, bench_result *result) {
    bool refused = status == TESS_ERROR_KERNEL || status == TESS_ERROR_TYPE || status == TESS_ERROR_ARGUMENT;
    result->state = refused ? BENCH_REFUSED : BENCH_STOPPED;
    snprintf(result->why, sizeof result->why, "%s", tess_error(r->ctx));
}

/* A run that fails concerns its scalars, its kernel, or everything. */
static void note_failure(const bench_request *r, tess_status status, bench_result *result) {
    result->state = status == TESS_ERROR_ARGUMENT ? BENCH_REFUSED
                    : status == TESS_ERROR_KERNEL ? BENCH_FAILED
                                                  : BENCH_STOPPED;
    snprintf(result->why, sizeof result->why, "%s", tess_error(r->ctx));
}

/* Runs and checks on one kind of data; where that does not exist for a product there is nothing to check. */
static bool verify_with(const bench_request *r, const bench_side *s, problem *p, problem_data data,
                        bench_result *result) {
    tess_check check;
    if (!problem_has_data(&p->spec, data)) return true;
    result->state = BENCH_STOPPED;
    if (!problem_fill(p, data, result->why)) return false;
    tess_status status = bench_side_run(s);
    if (status != TESS_OK) {
        note_failure(r, status, result);
        return false;
    }
    bool right = problem_check(p, data, &check, result->why);
    if (!p->undone) result->state = BENCH_WRONG;
    if (data == PROBLEM_RANDOM) {
        result->rel_error = check.rel_error;
        result->max_error = check.max_error;
        result->used = check.used;
    }
    return right;
}

/* Exact data first, random data last: that is what is timed. */
static bool verify(const bench_request *r, const bench_side *s, problem *p, bench_result *result) {
    if (r->verify) {
        result->checked = true;
        return verify_with(r, s, p, PROBLEM_EXACT, result) && verify_with(r, s, p, PROBLEM_RANDOM, result);
    }
    result->state = BENCH_STOPPED;
    if (!problem_fill(p, PROBLEM_RANDOM, result->why)) return false;
    tess_status status = bench_side_run(s);
    if (status != TESS_OK) note_failure(r, status, result);
    return status == TESS_OK;
}

/* Plans a kernel by name, or the planner's choice for NULL. */
static tess_status plan_kernel(const bench_request *r, const problem *p, const char *kernel,
                               const char *params, tess_plan **plan) {
    tess_options options = {.kernel = kernel, .params = params, .compute = r->base.compute};
    *plan = NULL;
    return problem_plan(p, r->ctx, &options, plan);
}

/* A library may add up 16-bit parts of k, which round once more each, and then neither exact data nor the bound of our own
 * kernels holds for it. That is said, and it is compared. */
static bool verify_peer(const bench_request *r, const bench_peer *other, const bench_side *s, problem *p,
                        bench_result *result) {
    const double most_used = 4;
    if (!r->verify || tess_type_size(p->spec.types.out) != 2) return verify(r, s, p, result);
    if (verify_with(r, s, p, PROBLEM_RANDOM, result)) return true;
    if (result->state != BENCH_WRONG || result->used <= 1 || result->used > most_used) return false;
    say_note("%s is compared although it is off by %.1f times what one rounding allows: %s", other->name,
             result->used, result->why);
    return true;
}

bool bench_peer_is_right(const bench_request *r, const bench_peer *other, problem *p, bool *wrong) {
    bench_result result = {0};
    bench_side *s = calloc(1, sizeof *s);
    if (s == NULL) return false;
    *s = (bench_side){.p = p, .blas = other->is_kernel ? NULL : &other->blas};
    bool takes = other->is_kernel || bench_side_takes(&other->blas, p), right = false;
    if (other->is_kernel) {
        tess_status status = plan_kernel(r, p, other->name, NULL, &s->plan);
        takes = status == TESS_OK;
        if (!takes) note_refusal(r, status, &result);
    }
    if (takes) right = verify_peer(r, other, s, p, &result);
    if (!right && result.state == BENCH_WRONG)
        say_error("%s gives a wrong product, so nothing is compared with it here: %s", other->name,
                  result.why);
    else if (!right && result.state == BENCH_STOPPED)
        say_error("%s could not be run, so nothing is compared with it here: %s", other->name, result.why);
    *wrong = *wrong || (!right && (result.state == BENCH_WRONG || result.state == BENCH_STOPPED));
    tess_free_plan(s->plan);
    free(s);
    return right;
}

static const char *kernel_of(const bench_case *c) {
    if (c->alone != NULL) return c->alone->name;
    return c->variant->kernel->number < 0 ? NULL : c->variant->kernel->name;
}

static const char *params_of(const bench_case *c) {
    return c->alone != NULL ? NULL : c->variant->params;
}

/* The median of single calls that plan, run and wait; not worth the wait where planning cannot show. */
static double time_calls(const bench_request *r, const bench_case *c, const problem *p, double seconds) {
    enum { CALLS = 15 };
    double samples[CALLS], spent = 0;
    size_t count = 0;
    tess_options options = {.kernel = kernel_of(c), .params = params_of(c), .compute = r->base.compute};
    if (seconds > 2) return (double)NAN;
    for (; count < CALLS && (count == 0 || spent < 0.1); count++) {
        bench_flush(r);
        double start = timing_now();
        if (problem_call(p, r->ctx, &options) != TESS_OK || tess_wait(r->ctx) != TESS_OK) return (double)NAN;
        samples[count] = timing_now() - start;
        spent += samples[count];
    }
    return timing_summarize(samples, count).median;
}

/* With --prepared: what can be done once for A and B, and a product with it that is checked like the others. */
static bool prepare(const bench_request *r, bench_side *s, problem *p, bench_result *result) {
    if (!r->prepared || s->plan == NULL) return true;
    tess_status status = problem_prepare(p, r->ctx, s->plan, s->prepared);
    if (status != TESS_OK) note_refusal(r, status, result);
    return status == TESS_OK && (!r->verify || verify_with(r, s, p, PROBLEM_RANDOM, result));
}

/* What happens to the machine from one round to the next cancels in a ratio of samples taken in one round, but
 * not in a ratio of medians that may come from different rounds. */
static double median_ratio(const double *above, const double *below, size_t count) {
    double ratios[BENCH_SAMPLES_MAX];
    for (size_t i = 0; i < count; i++) ratios[i] = above[i] / below[i];
    return timing_summarize(ratios, count).median;
}

static void time_sides(const bench_request *r, const bench_case *c, bench_side *sides, size_t side_count,
                       bench_result *result) {
    tess_status status;
    bench_watch watch = {0};
    size_t count = bench_sides_sample(r, sides, side_count, &watch, &status);
    if (count == 0) {
        result->state = BENCH_STOPPED;
        result->why[0] = '\0';
        if (status != TESS_OK) note_failure(r, status, result);
        return;
    }
    result->device_state = bench_watch_end(&watch, r);
    /* The ratios first: a summary sorts the samples. */
    for (size_t i = 1; i < side_count; i++) {
        result->ratios[i - 1] = median_ratio(sides[i].samples, sides[0].samples, count);
        result->peers[i - 1] = timing_summarize(sides[i].samples, count);
    }
    result->own = timing_summarize(sides[0].samples, count);
    result->cpu = sides[0].cpu / (double)sides[0].calls;
    result->iterations = sides[0].calls;
    if (r->transfers) {
        result->to_device = timing_summarize(sides[0].to_device, count).median;
        result->to_host = timing_summarize(sides[0].to_host, count).median;
    }
    if (sides[0].plan != NULL) {
        if (!r->prepared) result->call = time_calls(r, c, sides[0].p, result->own.median);
        result->workspace = tess_plan_workspace(sides[0].plan);
    }
    result->state = BENCH_MEASURED;
}

/* Plans what is measured. On failure the result says whether it was refused. */
static bool plan_case(const bench_request *r, const bench_case *c, const problem *p, tess_plan **plan,
                      bench_result *result) {
    tess_status status = plan_kernel(r, p, kernel_of(c), params_of(c), plan);
    if (status != TESS_OK) {
        note_refusal(r, status, result);
        return false;
    }
    bool named = kernel_of(c) != NULL;
    snprintf(result->kernel, sizeof result->kernel, named ? "%s" : KERNELS_AUTO ":%s",
             tess_plan_kernel(*plan));
    if (say_verbose()) say_note("%s", tess_plan_sentence(*plan));
    return true;
}

/* Makes a side of each peer. Those that are kernels were planned before, when they were verified. */
static bool plan_peers(const bench_request *r, const bench_case *c, const problem *p, bench_side *sides,
                       bench_result *result) {
    for (size_t i = 0; i < c->peer_count; i++) {
        sides[i] = (bench_side){.p = p, .blas = c->peers[i]->is_kernel ? NULL : &c->peers[i]->blas};
        if (!c->peers[i]->is_kernel) continue;
        tess_status status = plan_kernel(r, p, c->peers[i]->name, NULL, &sides[i].plan);
        if (status == TESS_OK) continue;
        note_refusal(r, status, result);
        return false;
    }
    return true;
}

void bench_measure(const bench_request *r, const bench_case *c, problem *p, bench_result *result) {
    double none = (double)NAN;
    timing_summary nothing = {.median = none, .p10 = none, .p90 = none, .noise = none};
    *result = (bench_result){.state = BENCH_STOPPED,
                             .rel_error = none,
                             .max_error = none,
                             .call = none,
                             .to_device = none,
                             .to_host = none,
                             .cpu = none,
                             .workspace = -1,
                             .own = nothing,
                             .device_state = {none, none, none, none, ""}};
    size_t side_count = 1 + c->peer_count;
    bench_side *sides = calloc(side_count, sizeof *sides);
    if (sides == NULL) {
        snprintf(result->why, sizeof result->why, "no memory for the samples");
        return;
    }
    bool by_blas = c->alone != NULL && !c->alone->is_kernel;
    sides[0] = (bench_side){.p = p, .blas = by_blas ? &c->alone->blas : NULL};
    if (by_blas) snprintf(result->kernel, sizeof result->kernel, "%s", c->alone->name);
    if ((by_blas || plan_case(r, c, p, &sides[0].plan, result)) && plan_peers(r, c, p, sides + 1, result) &&
        verify(r, &sides[0], p, result) && prepare(r, &sides[0], p, result))
        time_sides(r, c, sides, side_count, result);
    for (size_t i = 0; i < side_count; i++) tess_free_plan(sides[i].plan);
    for (int i = 0; i < 2; i++) tess_free_operand(sides[0].prepared[i]);
    free(sides);
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
    bench_side *s = calloc(1, sizeof *s);
    double seconds = 0;
    if (s != NULL && problem_open(&p, &small, bench_memory(r)) &&
        problem_fill(&p, PROBLEM_RANDOM, ignored.why) && plan_case(r, c, &p, &s->plan, &ignored)) {
        s->p = &p;
        if (bench_side_time(r, s, 1, &seconds) == TESS_OK && bench_side_time(r, s, 1, &seconds) == TESS_OK)
            seconds *= problem_flops(spec) / problem_flops(&small);
        else
            seconds = 0;
    }
    if (s != NULL) {
        tess_free_plan(s->plan);
        problem_free(&p);
    }
    free(s);
    return seconds;
}
