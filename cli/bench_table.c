/* bench_table.c: a measurement as a row.
 *
 * Invariant: the columns of the CSV are those of schema 1, in this order; new ones are only ever appended.
 * What is not known is an empty field.
 */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME,
    RUN_NAME,
    RUN_TYPE,
    REPETITIONS,
    REPETITION_INDEX,
    ITERATIONS,
    REAL_TIME,
    CPU_TIME,
    TIME_UNIT,
    ERROR_OCCURRED,
    ERROR_MESSAGE,
    SCHEMA,
    KERNEL,
    PARAMS,
    DEVICE,
    THREADS,
    TYPE,
    COMPUTE,
    SIZE,
    M,
    N,
    K,
    BATCH,
    LAYOUT,
    THREADS_SHOWN,
    LDA,
    LDB,
    LDC,
    ALPHA,
    BETA,
    CACHE,
    SAMPLES,
    TIME_MS,
    P10_MS,
    P90_MS,
    NOISE_PCT,
    CALL_MS,
    H2D_MS,
    D2H_MS,
    GFLOPS,
    PCT_PEAK,
    GBYTES_SHOWN,
    BANDWIDTH_SHOWN,
    PEER,
    PEER_MS,
    PEER_GFLOPS,
    RATIO,
    NOISE_SHOWN,
    REL_ERROR,
    MAX_ERROR,
    VERIFIED,
    CLOCK_MHZ,
    POWER_W,
    THROTTLED,
    WORKSPACE_BYTES,
    MODE,
    GBYTES_S,
    PCT_BANDWIDTH,
    INTERVAL_PCT,
    CPU_MS,
    REPEAT
};

const table_column bench_columns[] = {
    [NAME] = {"name", NULL, TABLE_TEXT, TABLE_IN_JSON, 0},
    [RUN_NAME] = {"run_name", NULL, TABLE_TEXT, TABLE_IN_JSON, 0},
    [RUN_TYPE] = {"run_type", NULL, TABLE_TEXT, TABLE_IN_JSON, 0},
    [REPETITIONS] = {"repetitions", NULL, TABLE_COUNT, TABLE_IN_JSON, 0},
    [REPETITION_INDEX] = {"repetition_index", NULL, TABLE_COUNT, TABLE_IN_JSON, 0},
    [ITERATIONS] = {"iterations", NULL, TABLE_COUNT, TABLE_IN_JSON, 0},
    [REAL_TIME] = {"real_time", NULL, TABLE_MILLIS, TABLE_IN_JSON, 0},
    [CPU_TIME] = {"cpu_time", NULL, TABLE_MILLIS, TABLE_IN_JSON, 0},
    [TIME_UNIT] = {"time_unit", NULL, TABLE_TEXT, TABLE_IN_JSON, 0},
    [ERROR_OCCURRED] = {"error_occurred", NULL, TABLE_COUNT, TABLE_IN_JSON, 0},
    [ERROR_MESSAGE] = {"error_message", NULL, TABLE_TEXT, TABLE_IN_JSON, 0},
    [SCHEMA] = {"schema", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [KERNEL] = {"kernel", "kernel", TABLE_TEXT, TABLE_IN_FILES, 0},
    [PARAMS] = {"params", "params", TABLE_TEXT, TABLE_IN_FILES, 0},
    [DEVICE] = {"device", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [THREADS] = {"threads", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [TYPE] = {"type", "type", TABLE_TEXT, TABLE_IN_FILES, 0},
    [COMPUTE] = {"compute", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [SIZE] = {"size", "size", TABLE_COUNT, 0, 5},
    [M] = {"m", "m", TABLE_COUNT, TABLE_IN_FILES, 5},
    [N] = {"n", "n", TABLE_COUNT, TABLE_IN_FILES, 5},
    [K] = {"k", "k", TABLE_COUNT, TABLE_IN_FILES, 5},
    [BATCH] = {"batch", "batch", TABLE_COUNT, TABLE_IN_FILES, 0},
    [LAYOUT] = {"layout", "layout", TABLE_TEXT, TABLE_IN_FILES, 0},
    [THREADS_SHOWN] = {"threads", "threads", TABLE_COUNT, 0, 0},
    [LDA] = {"lda", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [LDB] = {"ldb", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [LDC] = {"ldc", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [ALPHA] = {"alpha", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [BETA] = {"beta", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [CACHE] = {"cache", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [SAMPLES] = {"samples", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [TIME_MS] = {"time_ms", "time", TABLE_MILLIS, TABLE_IN_FILES, 7},
    [P10_MS] = {"p10_ms", NULL, TABLE_MILLIS, TABLE_IN_FILES, 0},
    [P90_MS] = {"p90_ms", NULL, TABLE_MILLIS, TABLE_IN_FILES, 0},
    [NOISE_PCT] = {"noise_pct", NULL, TABLE_PERCENT, TABLE_IN_FILES, 0},
    [CALL_MS] = {"call_ms", NULL, TABLE_MILLIS, TABLE_IN_FILES, 0},
    [H2D_MS] = {"h2d_ms", "to device", TABLE_MILLIS, TABLE_IN_FILES, 0},
    [D2H_MS] = {"d2h_ms", "to host", TABLE_MILLIS, TABLE_IN_FILES, 0},
    [GFLOPS] = {"gflops", "GFLOPS", TABLE_RATE, TABLE_IN_FILES, 6},
    [PCT_PEAK] = {"pct_peak", "peak", TABLE_PERCENT, TABLE_IN_FILES, 5},
    [GBYTES_SHOWN] = {"gbytes_s", "GB/s", TABLE_RATE, 0, 5},
    [BANDWIDTH_SHOWN] = {"pct_bandwidth", "bandwidth", TABLE_PERCENT, 0, 0},
    [PEER] = {"peer", "peer", TABLE_TEXT, TABLE_IN_FILES, 0},
    [PEER_MS] = {"peer_ms", NULL, TABLE_MILLIS, TABLE_IN_FILES, 0},
    [PEER_GFLOPS] = {"peer_gflops", "peer GFLOPS", TABLE_RATE, TABLE_IN_FILES, 0},
    [RATIO] = {"ratio", "ratio", TABLE_RATIO, TABLE_IN_FILES, 0},
    [NOISE_SHOWN] = {"noise", "noise", TABLE_PERCENT, 0, 0},
    [REL_ERROR] = {"rel_error", "error", TABLE_ERROR, TABLE_IN_FILES, 7},
    [MAX_ERROR] = {"max_error", NULL, TABLE_ERROR, TABLE_IN_FILES, 0},
    [VERIFIED] = {"verified", "ok", TABLE_TEXT, TABLE_IN_FILES, 0},
    [CLOCK_MHZ] = {"clock_mhz", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [POWER_W] = {"power_w", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [THROTTLED] = {"throttled", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [WORKSPACE_BYTES] = {"workspace_bytes", NULL, TABLE_BYTES, TABLE_IN_FILES, 0},
    [MODE] = {"mode", "mode", TABLE_TEXT, TABLE_IN_FILES, 0},
    [GBYTES_S] = {"gbytes_s", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [PCT_BANDWIDTH] = {"pct_bandwidth", NULL, TABLE_PERCENT, TABLE_IN_FILES, 0},
    [INTERVAL_PCT] = {"interval_pct", NULL, TABLE_PERCENT, TABLE_IN_FILES, 0},
    [CPU_MS] = {"cpu_ms", NULL, TABLE_MILLIS, TABLE_IN_FILES, 0},
    [REPEAT] = {"repeat", "repeat", TABLE_COUNT, TABLE_IN_FILES, 0},
};
const size_t bench_column_count = sizeof bench_columns / sizeof *bench_columns;

double bench_gflops(const problem_spec *spec, double seconds) {
    return problem_flops(spec) / seconds / 1e9;
}

bool bench_peak_type(const bench_request *r, problem_types types, tess_type *type) {
    *type = types.in == TESS_F64 ? TESS_F64 : TESS_F32;
    if (r->device.own_memory) /* tensor cores take the others, and the peak is not of those */
        return types.in == TESS_F64 || (types.in == TESS_F32 && r->base.compute <= TESS_COMPUTE_F32_STRICT);
    return types.in != TESS_I32 && types.in != TESS_I8;
}

bool bench_has_vectors(const bench_request *r) {
    for (size_t i = 0; i < r->sizes.count; i++)
        if (problem_is_vector(r->sizes.shapes[i].m, r->sizes.shapes[i].n)) return true;
    return false;
}

void bench_sort_rows(table *t, size_t first) {
    table_sort_rows(t, first, TIME_MS);
}

void bench_prepare_table(table *t, const bench_request *r) {
    bool square = sizes_all_square(&r->sizes), compared = false, peaked = false, tuned = false;
    for (size_t i = 0; i < r->kernels.count; i++) {
        bool unknown = r->kernels.kernels[i].number < 0;
        table_widen(t, KERNEL, unknown ? 28 : strlen(r->kernels.kernels[i].name));
    }
    for (size_t i = 0; i < r->variant_count; i++) {
        if (r->variants[i].params == NULL) continue;
        table_widen(t, PARAMS, strlen(r->variants[i].params));
        tuned = true;
    }
    for (size_t i = 0; i < r->peer_count; i++) table_widen(t, PEER, strlen(r->peers[i].name));
    for (size_t i = 0; i < r->type_count; i++) {
        char name[16];
        problem_show_types(r->types[i], name);
        table_widen(t, TYPE, strlen(name));
        compared =
            compared || r->device.own_memory || r->types[i].in == TESS_F32 || r->types[i].in == TESS_F64;
        peaked = bench_peak_type(r, r->types[i], &(tess_type){TESS_F32}) || peaked;
    }
    if (!square) table_hide(t, SIZE);
    for (size_t column = M; square && column <= K; column++) table_hide(t, column);
    if (r->base.batch == 1 && !sizes_any_batch(&r->sizes)) table_hide(t, BATCH);
    if (r->repeats == 1) table_hide(t, REPEAT);
    /* On a terminal a line below the table says it. */
    if (r->out.people) table_hide(t, MODE);
    if (r->base.layout == 0) table_hide(t, LAYOUT);
    if (!tuned) table_hide(t, PARAMS);
    if (r->device.own_memory) table_hide(t, THREADS_SHOWN);
    if (!r->transfers) {
        table_hide(t, H2D_MS);
        table_hide(t, D2H_MS);
    }
    if (!peaked) table_hide(t, PCT_PEAK);
    if (!bench_has_vectors(r)) {
        table_hide(t, GBYTES_SHOWN);
        table_hide(t, BANDWIDTH_SHOWN);
    }
    if (r->peer_count > 0 && compared) return;
    for (size_t column = PEER; column <= RATIO; column++) table_hide(t, column);
}

static void set_product(table *t, const bench_request *r, const bench_case *c, const problem *p) {
    const problem_spec *s = &p->spec;
    char type[16];
    problem_show_types(s->types, type);
    const char *params = c->alone == NULL ? c->variant->params : NULL;
    table_set_text(t, PARAMS, params != NULL ? params : "");
    table_set_text(t, DEVICE, r->device.name);
    table_set_count(t, THREADS, c->threads);
    table_set_count(t, THREADS_SHOWN, c->threads);
    table_set_text(t, TYPE, type);
    table_set_text(t, COMPUTE, problem_computes[s->compute]);
    table_set_count(t, SIZE, s->m);
    table_set_count(t, M, s->m);
    table_set_count(t, N, s->n);
    table_set_count(t, K, s->k);
    table_set_count(t, BATCH, s->batch);
    table_set_text(t, LAYOUT, problem_layouts[s->layout]);
    table_set_count(t, LDA, p->lda);
    table_set_count(t, LDB, p->ldb);
    table_set_count(t, LDC, p->ldc);
    table_set_real(t, ALPHA, s->alpha);
    table_set_real(t, BETA, s->beta);
}

/* The time as a share of what the device can do at best. */
static void set_shares(table *t, const problem_spec *s, const bench_limits *limits, double seconds) {
    table_set_real(t, PCT_PEAK, 100 * problem_flops(s) / seconds / limits->flops);
    if (!problem_is_vector(s->m, s->n)) return;
    double rate = problem_bytes(s) / seconds;
    table_set_real(t, GBYTES_S, rate / 1e9);
    table_set_real(t, GBYTES_SHOWN, rate / 1e9);
    table_set_real(t, PCT_BANDWIDTH, 100 * rate / limits->bytes);
    table_set_real(t, BANDWIDTH_SHOWN, 100 * rate / limits->bytes);
}

static void set_times(table *t, const problem_spec *s, const bench_case *c, const bench_result *result) {
    table_set_count(t, SAMPLES, (int64_t)result->own.samples);
    table_set_real(t, TIME_MS, 1e3 * result->own.median);
    table_set_real(t, P10_MS, 1e3 * result->own.p10);
    table_set_real(t, P90_MS, 1e3 * result->own.p90);
    table_set_real(t, NOISE_PCT, result->own.noise);
    table_set_real(t, NOISE_SHOWN, result->own.noise);
    if (isfinite(result->own.interval)) table_set_real(t, INTERVAL_PCT, 100 * result->own.interval);
    table_set_real(t, CALL_MS, 1e3 * result->call);
    table_set_real(t, H2D_MS, 1e3 * result->to_device);
    table_set_real(t, D2H_MS, 1e3 * result->to_host);
    table_set_real(t, GFLOPS, bench_gflops(s, result->own.median));
    set_shares(t, s, &c->limits, result->own.median);
}

static void set_device_state(table *t, const bench_result *result) {
    table_set_real(t, CLOCK_MHZ, result->device_state.clock_mhz);
    table_set_real(t, POWER_W, result->device_state.power_w);
    if (result->device_state.throttled[0] != '\0')
        table_set_text(t, THROTTLED, result->device_state.throttled);
    if (result->workspace >= 0) table_set_count(t, WORKSPACE_BYTES, result->workspace);
}

static void set_peer(table *t, const problem_spec *s, const bench_case *c, const bench_result *result,
                     size_t index) {
    double seconds = result->peers[index].median;
    table_set_text(t, PEER, c->peers[index]->name);
    table_set_real(t, PEER_MS, 1e3 * seconds);
    table_set_real(t, PEER_GFLOPS, bench_gflops(s, seconds));
    table_set_real(t, RATIO, result->ratios[index]);
}

/* What Google Benchmark's tools look for. */
static void set_benchmark(table *t, const bench_request *r, const problem_spec *s, const bench_case *c,
                          const bench_result *result) {
    char name[256], type[16];
    problem_show_types(s->types, type);
    snprintf(name, sizeof name, "%s/%s/%" PRId64 "/%" PRId64 "/%" PRId64 "/threads:%d", result->kernel, type,
             s->m, s->n, s->k, c->threads);
    table_set_text(t, NAME, name);
    table_set_text(t, RUN_NAME, name);
    table_set_text(t, RUN_TYPE, "iteration");
    table_set_count(t, REPETITIONS, r->repeats);
    table_set_count(t, REPETITION_INDEX, c->repeat - 1);
    table_set_count(t, ITERATIONS, result->iterations);
    table_set_real(t, REAL_TIME, 1e3 * result->own.median);
    table_set_real(t, CPU_TIME, 1e3 * result->cpu);
    table_set_text(t, TIME_UNIT, "ms");
    table_set_flag(t, ERROR_OCCURRED, result->state != BENCH_MEASURED);
    if (result->state != BENCH_MEASURED) table_set_text(t, ERROR_MESSAGE, result->why);
}

static void add_row(table *t, const bench_request *r, const bench_case *c, const problem *p,
                    const bench_result *result) {
    bool right = result->state == BENCH_MEASURED;
    table_add_row(t);
    set_benchmark(t, r, &p->spec, c, result);
    table_set_count(t, SCHEMA, 1);
    table_set_text(t, KERNEL, result->kernel);
    set_product(t, r, c, p);
    table_set_text(t, CACHE, r->cold ? "cold" : r->prepared ? "prepared" : "warm");
    if (right) set_times(t, &p->spec, c, result);
    if (right) set_device_state(t, result);
    table_set_real(t, REL_ERROR, result->rel_error);
    table_set_real(t, MAX_ERROR, result->max_error);
    if (result->checked) {
        table_set_text(t, VERIFIED, right ? "yes" : "FAILED");
        table_set_tone(t, VERIFIED, right ? TABLE_GOOD : TABLE_BAD);
    }
    table_set_text(t, MODE, bench_modes[r->mode]);
    table_set_count(t, REPEAT, c->repeat);
    /* While a device computes, the host only waits. */
    if (right && !r->device.own_memory) table_set_real(t, CPU_MS, 1e3 * result->cpu);
}

void bench_add_rows(table *t, const bench_request *r, const bench_case *c, const problem *p,
                    const bench_result *result) {
    size_t peers = result->state == BENCH_MEASURED ? c->peer_count : 0;
    if (peers == 0) add_row(t, r, c, p, result);
    for (size_t i = 0; i < peers; i++) {
        add_row(t, r, c, p, result);
        set_peer(t, &p->spec, c, result, i);
    }
}
