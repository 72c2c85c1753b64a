/* cmd_bench.c: `tessera bench`: the loop over types, threads, shapes and kernels.
 *
 * Invariant: every product that was asked for is a row, or a note says why it is not. A row is complete: an
 * interrupted measurement leaves none.
 */
#include "bench.h"
#include "bench_left.h"
#include "bench_options.h"
#include "commands.h"
#include "interrupt.h"
#include "limits.h"
#include "say.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rung nobody asked for by name is not run where one product takes longer than this. */
static const double PATIENCE = 10;
/* Products below this are run without asking how long they take. */
static const double SURELY_QUICK = 2e9;

/* The fastest kernel on the largest product of a ladder. */
typedef struct best {
    double flops, gflops;
    char shape[64];
    bench_case c;
    bench_result result;
} best;

typedef struct progress {
    table t;
    size_t done, total;
    bench_left left;
    bool failed, noisy;
    size_t throttled; /* rows */
    char reasons[96]; /* of the last of them */
    best best;
    bench_limits limits;            /* for this type and number of threads */
    bool *refused;                  /* per variant, for this type: noted once */
    char refusal[PROBLEM_SENTENCE]; /* of the last of them */
    double *per_flop;               /* seconds, per variant, as measured last; 0: not yet */
} progress;

/* Percent between the 10th and the 90th percentile beyond which a row deserves a warning. */
static const double NOISY = 20;

static void show_shape(const problem_spec *s, char out[64]) {
    int used;
    if (s->m == s->n && s->n == s->k)
        used = snprintf(out, 64, "%" PRId64, s->m);
    else
        used = snprintf(out, 64, "%" PRId64 "x%" PRId64 "x%" PRId64, s->m, s->n, s->k);
    if (s->batch > 1) snprintf(out + used, 64 - (size_t)used, " by %" PRId64, s->batch);
}

static void keep_best(best *b, const problem_spec *s, const bench_case *c, const bench_result *result) {
    double flops = problem_flops(s), gflops = bench_gflops(s, result->own.median);
    if (flops < b->flops || (flops == b->flops && gflops <= b->gflops)) return;
    *b = (best){.flops = flops, .gflops = gflops, .c = *c, .result = *result};
    show_shape(s, b->shape);
}

static void print_best(const bench_request *r, const best *b, problem_types types, int threads) {
    char type[16], where[48];
    if (!r->out.people || b->flops == 0 || r->variant_count < 2) return;
    problem_show_types(types, type);
    snprintf(where, sizeof where, "%d thread%s", threads, threads == 1 ? "" : "s");
    const char *params = b->c.alone == NULL ? b->c.variant->params : NULL;
    printf("fastest in %s at %s on %s: %s%s%s, %.1f GFLOPS", type, b->shape,
           r->device.own_memory ? r->device.name : where, b->result.kernel, params != NULL ? " " : "",
           params != NULL ? params : "", b->gflops);
    for (size_t i = 0; i < b->c.peer_count; i++)
        printf(", %.2f times %s", b->result.ratios[i], b->c.peers[i]->name);
    printf("\n");
}

/* Whether to leave this one out because it would take too long. */
static bool too_slow(const bench_request *r, progress *g, const bench_case *c, size_t index,
                     const problem_spec *s) {
    double flops = problem_flops(s);
    if (r->kernels.chosen || flops < SURELY_QUICK) return false;
    double seconds = g->per_flop[index] > 0 ? g->per_flop[index] * flops : bench_estimate(r, c, s);
    if (seconds <= PATIENCE) return false;
    char shape[64];
    show_shape(s, shape);
    say_note("%s at %s is left out: one run would take about %.0f s; to run it, name it: --kernels %s",
             c->variant->kernel->name, shape, seconds, c->variant->kernel->name);
    return true;
}

static void note_refusal(const bench_variant *v, const bench_result *result) {
    say_note("%s%s%s is left out: %s", v->kernel->name, v->params != NULL ? " " : "",
             v->params != NULL ? v->params : "", result->why);
}

static void note_throttled(progress *g, const bench_result *result) {
    if (result->device_state.throttled[0] == '\0') return;
    g->throttled++;
    memcpy(g->reasons, result->device_state.throttled, sizeof g->reasons);
}

/* Turns a measurement into a row, a note, or neither. Returns false to stop. */
static bool take_result(const bench_request *r, progress *g, const bench_case *c, size_t index,
                        const problem *p, const bench_result *result) {
    switch (result->state) {
    case BENCH_STOPPED:
        if (result->why[0] != '\0') say_error("%s: %s", c->variant->kernel->name, result->why);
        g->failed = g->failed || result->why[0] != '\0';
        return false;
    case BENCH_REFUSED:
        if (!g->refused[index] && !r->sorted) note_refusal(c->variant, result);
        g->refused[index] = true;
        snprintf(g->refusal, sizeof g->refusal, "%s", result->why);
        return true;
    case BENCH_FAILED:
        say_error("%s cannot be run: %s", result->kernel, result->why);
        g->failed = true;
        return true;
    case BENCH_WRONG:
        say_error("%s gives a wrong product and is not timed: %s", result->kernel, result->why);
        g->failed = true;
        break;
    case BENCH_MEASURED:
        keep_best(&g->best, &p->spec, c, result);
        g->noisy = g->noisy || result->own.noise > NOISY;
        note_throttled(g, result);
        if (problem_flops(&p->spec) > 0) g->per_flop[index] = result->own.median / problem_flops(&p->spec);
        break;
    }
    bench_add_rows(&g->t, r, c, p, result);
    if (r->out.people && !r->sorted) table_print(&g->t, stdout);
    return true;
}

/* Returns false to stop. */
static bool bench_one(const bench_request *r, progress *g, const bench_case *c, size_t index, problem *p) {
    char shape[64], left[32];
    bench_result result;
    show_shape(&p->spec, shape);
    bench_left_show(&g->left, left, sizeof left);
    say_progress("[%zu/%zu] %s at %s%s", g->done, g->total,
                 c->alone != NULL ? c->alone->name : c->variant->kernel->name, shape, left);
    bench_measure(r, c, p, &result);
    return take_result(r, g, c, index, p, &result) && interrupt_came() == 0;
}

/* One kernel on one product, beside all peers that multiply it. */
static bool bench_kernel(const bench_request *r, progress *g, bench_case c, size_t index, problem *p,
                         const bool *peer_right) {
    for (size_t i = 0; i < r->peer_count; i++)
        if (peer_right[i]) c.peers[c.peer_count++] = &r->peers[i];
    return bench_one(r, g, &c, index, p);
}

/* Kernel 0: each peer by itself. */
static bool bench_peers(const bench_request *r, progress *g, bench_case c, size_t index, problem *p,
                        const bool *peer_right) {
    char shape[64];
    show_shape(&p->spec, shape);
    for (size_t i = 0; i < r->peer_count; i++) {
        if (!peer_right[i]) continue;
        c.alone = &r->peers[i];
        if (!bench_one(r, g, &c, index, p)) return false;
    }
    if (c.alone == NULL) say_note("at %s there is no row of the peer: it does not take this product", shape);
    return true;
}

static bool bench_shape(const bench_request *r, progress *g, const problem_spec *spec, int threads,
                        int64_t repeat) {
    problem p;
    bool peer_right[BENCH_PEERS_MAX] = {0};
    size_t first = g->t.row_count;
    bool go_on = problem_open(&p, spec, bench_memory(r));
    g->failed = g->failed || !go_on;
    for (size_t i = 0; go_on && i < r->peer_count; i++)
        peer_right[i] = bench_peer_is_right(r, &r->peers[i], &p, &g->failed);
    for (size_t i = 0; go_on && i < r->variant_count; i++) {
        const bench_case c = {.variant = &r->variants[i],
                              .threads = threads,
                              .repeat = repeat,
                              .limits = g->limits};
        g->done++;
        if (!too_slow(r, g, &c, i, spec))
            go_on = kernels_is_peer(c.variant->kernel) ? bench_peers(r, g, c, i, &p, peer_right)
                                                       : bench_kernel(r, g, c, i, &p, peer_right);
        bench_left_take(&g->left, r, spec);
    }
    problem_free(&p);
    if (r->sorted) bench_sort_rows(&g->t, first);
    if (r->out.people && r->sorted) table_print(&g->t, stdout);
    return go_on;
}

/* Of a sweep: most combinations that are not taken are not meant, so that one sentence is enough. */
static void note_refusals(const bench_request *r, const progress *g) {
    size_t count = 0;
    for (size_t i = 0; i < r->variant_count; i++) count += g->refused[i];
    if (r->sorted && count > 0)
        say_note("%zu of %zu combinations are left out; of the last: %s", count, r->variant_count,
                 g->refusal);
}

static double limit_or_nan(const bench_request *r, tess_status status, double value) {
    if (status == TESS_OK) return value;
    say_note("shares of the device's best are left out: %s", tess_error(r->ctx));
    return (double)NAN;
}

/* What the cases to come are held against. */
static bench_limits measure_limits(const bench_request *r, problem_types types) {
    bench_limits limits = {.flops = (double)NAN, .bytes = (double)NAN};
    tess_type type;
    double value = 0;
    say_progress("measuring what the device can do at best");
    if (bench_peak_type(r, types, &type)) {
        tess_status status = limits_peak(r->ctx, type, &value);
        limits.flops = limit_or_nan(r, status, value);
    }
    if (bench_has_vectors(r)) {
        tess_status status = limits_bandwidth(r->ctx, &value);
        limits.bytes = limit_or_nan(r, status, value);
    }
    return limits;
}

/* All shapes with one type and one number of threads: one ladder. */
static bool bench_ladder(const bench_request *r, progress *g, problem_types types, int threads) {
    bool go_on = true;
    if (!r->device.own_memory && tess_set_threads(r->ctx, threads) != TESS_OK) {
        say_error("%s", tess_error(r->ctx));
        g->failed = true;
        return false;
    }
    for (size_t i = 0; i < r->peer_count; i++)
        if (!r->peers[i].is_kernel) peer_set_threads(&r->peers[i].blas, threads);
    g->best = (best){0};
    g->limits = measure_limits(r, types);
    memset(g->refused, 0, r->variant_count * sizeof *g->refused);
    memset(g->per_flop, 0, r->variant_count * sizeof *g->per_flop);
    for (int64_t repeat = 1; go_on && repeat <= r->repeats; repeat++) {
        for (size_t i = 0; go_on && i < r->sizes.count; i++) {
            problem_spec spec = bench_spec_of(r, i, types);
            go_on = bench_shape(r, g, &spec, threads, repeat);
        }
    }
    say_progress_end();
    note_refusals(r, g);
    print_best(r, &g->best, types, threads);
    return go_on;
}

static void bench_everything(const bench_request *r, progress *g) {
    g->total = r->type_count * r->threads_count * r->sizes.count * r->variant_count * (size_t)r->repeats;
    /* The first question may load a library: that must not happen between two samples. */
    (void)tess_read_state(r->ctx, &(tess_device_state){.throttled = ""});
    bench_left_begin(&g->left, r);
    for (size_t i = 0; i < r->type_count; i++)
        for (size_t j = 0; j < r->threads_count; j++)
            if (!bench_ladder(r, g, r->types[i], r->threads[j])) return;
}

/* Writes what there is. A run that measured nothing leaves files as they were. */
static int finish(const bench_request *r, progress *g) {
    int caught = interrupt_came();
    if (g->t.row_count == 0) {
        if (caught == 0 && !g->failed) say_error("nothing was measured");
    } else {
        char data[160];
        snprintf(data, sizeof data, "%s; seed %" PRIu64, PROBLEM_DATA_SENTENCE, r->base.seed);
        if (!output_write(&r->out, &g->t, "benchmarks", &r->device, data)) g->failed = true;
    }
    if (r->out.people && g->t.row_count > 0)
        printf("timed in mode %s, caches %s\n", bench_modes[r->mode], r->cold ? "cold" : "warm");
    if (g->throttled > 0)
        say_note("clocks were held back in %zu case%s (%s); the column 'throttled' marks them", g->throttled,
                 g->throttled == 1 ? "" : "s", g->reasons);
    if (g->noisy)
        say_note("some rows are noisier than %.0f%%: something else uses this machine; run again when it is "
                 "idle",
                 NOISY);
    if (caught != 0) {
        if (g->t.row_count == 0)
            say_error("interrupted before the first row was complete");
        else
            say_error("interrupted; the %zu row%s shown %s complete, of %zu cases", g->t.row_count,
                      g->t.row_count == 1 ? "" : "s", g->t.row_count == 1 ? "is" : "are", g->total);
        return 128 + caught;
    }
    return g->failed || g->t.row_count == 0 ? EXIT_CHECK : EXIT_FINE;
}

int bench_run(const args *a) {
    bench_request r;
    int status = bench_read_options(&r, a);
    if (status == EXIT_FINE) {
        progress g = {.refused = calloc(r.variant_count + 1, sizeof *g.refused),
                      .per_flop = calloc(r.variant_count + 1, sizeof *g.per_flop)};
        table_open(&g.t, bench_columns, bench_column_count);
        bench_prepare_table(&g.t, &r);
        if (r.out.append && !output_could_append(&r.out, &g.t)) {
            status = EXIT_USAGE;
        } else {
            interrupt_watch();
            if (g.refused != NULL && g.per_flop != NULL) bench_everything(&r, &g);
            status = finish(&r, &g);
        }
        table_close(&g.t);
        free(g.refused);
        free(g.per_flop);
    }
    bench_free_options(&r);
    return status;
}
