/* report_model.c: what the simulator counts and the model predicts, as rungs and rates of a report.
 *
 * Invariant: nothing is run on a GPU. A rung that cannot be counted is said to be missing, and the others go on.
 */
#include "explain.h"
#include "interrupt.h"
#include "kernels.h"
#include "report.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    report *r;
    tess_context *ctx;
    kernels_list kernels;
} work;

static explain_rung *open_rung(const work *w, const explain_case *asked, const tess_kernel_info *kernel) {
    char type[16];
    problem_show_types(asked->types, type);
    if (interrupt_came() != 0 || !explain_is_rung(kernel, asked)) return NULL;
    say_progress("simulating and predicting %s, %s at %lld", kernel->name, type, (long long)asked->shape.m);
    explain_rung *rung = explain_rung_open(asked, kernel);
    if (rung == NULL) report_miss(w->r, "%s could not be simulated", kernel->name);
    return rung;
}

static explain_case case_of(const work *w, tess_type type, int64_t size, const char *params) {
    return (explain_case){.ctx = w->ctx,
                          .on = w->r->on,
                          .types = {type, type},
                          .shape = {size, size, size},
                          .params = params};
}

static void add_rate(report *r, const explain_rung *rung, const char *params) {
    const explain_case *asked = rung->asked;
    report_rate rate = {.origin = REPORT_PREDICTED,
                        .device = "gpu",
                        .threads = 1,
                        .m = asked->shape.m,
                        .n = asked->shape.n,
                        .k = asked->shape.k,
                        .batch = 1,
                        .alpha = 1,
                        .ms = rung->model.seconds * 1e3,
                        .p10_ms = (double)NAN,
                        .p90_ms = (double)NAN,
                        .h2d_ms = (double)NAN,
                        .d2h_ms = (double)NAN,
                        .gflops = rung->model.gflops,
                        .pct_peak = (double)NAN,
                        .peer_gflops = (double)NAN,
                        .ratio = (double)NAN,
                        .command = ""};
    snprintf(rate.kernel, sizeof rate.kernel, "%s", rung->info.name);
    snprintf(rate.params, sizeof rate.params, "%s", params != NULL ? params : "");
    problem_show_types(asked->types, rate.type);
    if (rung->predicted) report_add_rate(r, &rate);
}

static void predict(const work *w, const tess_kernel_info *kernel, tess_type type, int64_t size,
                    const char *params) {
    explain_case asked = case_of(w, type, size, params);
    explain_rung *rung = open_rung(w, &asked, kernel);
    if (rung != NULL) add_rate(w->r, rung, params);
    explain_rung_close(rung);
}

static void add_rungs(const work *w) {
    explain_case asked = case_of(w, TESS_F32, w->r->size, NULL);
    for (size_t i = 0; i < w->kernels.count; i++) {
        explain_rung *rung = open_rung(w, &asked, &w->kernels.kernels[i]);
        if (rung == NULL) continue;
        report_rung kept = {.counts = rung->compiled,
                            .gflops = rung->predicted ? rung->model.gflops : (double)NAN};
        tess_kernel_info before;
        snprintf(kept.kernel, sizeof kept.kernel, "%s", rung->info.name);
        if (explain_before(rung, &before)) snprintf(kept.before, sizeof kept.before, "%s", before.name);
        w->r->rungs = report_grow(w->r->rungs, w->r->rung_count, sizeof *w->r->rungs);
        w->r->rungs[w->r->rung_count++] = kept;
        explain_rung_close(rung);
    }
}

/* Of other figures' kernels too, at least at the size where they are compared. */
static void add_sizes(const work *w) {
    bool all = report_wants(w->r, "rate");
    int64_t first = w->r->quick ? 512 : 128, factor = w->r->quick ? 8 : 2;
    for (int64_t size = all ? first : w->r->size; size <= 4096; size *= factor)
        for (size_t i = 0; i < w->kernels.count; i++)
            predict(w, &w->kernels.kernels[i], TESS_F32, size, NULL);
}

static void add_types(const work *w) {
    static const tess_type types[] = {TESS_I32, TESS_F64};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; i < w->kernels.count; i++)
            predict(w, &w->kernels.kernels[i], types[t], w->r->size, NULL);
}

static void add_tiles(const work *w) {
    static const int edges[] = {16, 32};
    for (size_t i = 0; i < w->kernels.count; i++)
        for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
            const tess_kernel_info *kernel = &w->kernels.kernels[i];
            char params[32];
            if (kernels_has_param(kernel, "TILE"))
                snprintf(params, sizeof params, "TILE=%d", edges[e]);
            else if (kernels_has_param(kernel, "BX") && kernels_has_param(kernel, "BY"))
                snprintf(params, sizeof params, "BX=%d,BY=%d", edges[e], edges[e]);
            else
                break;
            predict(w, kernel, TESS_F32, w->r->size, params);
        }
}

void report_predict(report *r, bool rates) {
    work w = {.r = r};
    if (tess_open(&w.ctx, "sim") != TESS_OK) {
        report_miss(r, "Counters and predictions: %s", tess_error(NULL));
        return;
    }
    if (kernels_add_ladder(&w.kernels, "gpu")) {
        if (report_wants(r, "roofline") || report_wants(r, "counters")) add_rungs(&w);
        if (rates) add_sizes(&w);
        if (rates && report_wants(r, "types")) add_types(&w);
        if (rates && report_wants(r, "tile")) add_tiles(&w);
    }
    say_progress_end();
    kernels_free(&w.kernels);
    tess_close(w.ctx);
}
