/* report_rungs.c: figures of counters: every rung under the roofline, and what moves from one rung to the next.
 *
 * Invariant: counters are the simulator's, as compiled; a rate under the roofline is measured where there is one, else
 * predicted, and the source says which.
 */
#include "report.h"
#include "report_figure.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SECTOR = 32 };

/* ---- Roofline ---- */

static const char *const levels_of_memory = "L1, L2 and memory";

/* Bytes per clock and multiprocessor as GB/s of the card. */
static double gbytes(const card *on, double bytes) {
    return bytes * on->sms * on->clock * 1e-9;
}

static void add_ceilings(chart *c, const card *on, double peak, double unit) {
    const struct {
        const char *name;
        double rate;
    } slopes[] = {{"L1", gbytes(on, on->pass_bytes)},
                  {"L2", gbytes(on, on->l2_bytes)},
                  {"memory", on->dram_bytes * 1e-9}};
    char name[CHART_NAME], number[32];
    for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++) {
        chart_show(slopes[i].rate * 1e-3, number);
        snprintf(name, sizeof name, "%s %.20s TB/s", slopes[i].name, number);
        chart_add_level(c, name, slopes[i].rate * unit, true);
    }
    figure_add_level(c, "peak", peak * unit);
}

/* The measured rate of a rung, or the predicted one; *measured says which. */
static const report_rate *rate_of(const report *r, const report_rung *rung, const report_group *group) {
    return group->like->origin == REPORT_MEASURED ? report_find_rate(r, group, rung->kernel, r->size) : NULL;
}

static void make_roofline(report *r, report_figures *f, const report_group *group) {
    report_figure *figure = report_add_figure(f, CHART_ROOFLINE, "roofline", REPORT_SIMULATED);
    chart *c = figure->picture;
    size_t measured = 0;
    double largest = 0, peak = figure_peak(r, group);
    if (!(peak > 0)) peak = cards_peak(r->on, TESS_F32, false) * 1e-9;
    for (size_t i = 0; i < r->rung_count; i++) largest = fmax(largest, r->rungs[i].gflops);
    double unit = figure_set_unit(c, largest);
    c->log = true;
    snprintf(c->title, sizeof c->title, "Roofline at %" PRId64 ", f32", r->size);
    snprintf(c->x_title, sizeof c->x_title, "FLOP per byte asked of global memory");
    snprintf(c->row_title, sizeof c->row_title, "kernel");
    for (size_t i = 0; i < r->rung_count; i++) {
        const report_rung *rung = &r->rungs[i];
        const tess_counters *n = &rung->counts;
        const report_rate *rate = rate_of(r, rung, group);
        double bytes = SECTOR * (n->global_load_sectors + n->global_store_sectors);
        char label[CHART_NAME];
        if (!(bytes > 0) || (rate == NULL && !(rung->gflops > 0))) continue;
        report_short_name(rung->kernel, label);
        chart_point *p = chart_add_point(chart_add_series(c, label), n->flops / bytes, rung->gflops * unit);
        if (rate != NULL) figure_set_point(p, rate, unit), measured++;
    }
    add_ceilings(c, r->on, peak, unit);
    snprintf(figure->source, sizeof figure->source, "bytes counted by the simulator; rates %s",
             measured == c->series_count ? "measured"
             : measured == 0             ? "predicted by the model"
                                         : "measured or predicted");
    snprintf(c->subtitle, sizeof c->subtitle, "%.200s; ceilings of the %.60s", figure->source, r->on->name);
    figure_caption(
        figure,
        "A rung's place from left to right is how many operations it gets out of each byte it asks of global "
        "memory, in sectors of 32 bytes; %s are the slopes, arithmetic the flat roof. A point above the "
        "slope "
        "of memory is served by caches; one far below its own roof waits for something else: shared memory, "
        "instructions, or latency.",
        levels_of_memory);
    figure_add_throttled(figure);
    figure_set_command(figure, "tessera explain 9 --gpu '%s' --size %" PRId64 "   # each rung", r->on->name,
                       r->size);
    report_draw_command(r, figure);
}

/* ---- From one rung to the next ---- */

typedef struct quantity {
    const char *name;
    double (*value)(const tess_counters *n);
} quantity;

static double requests(const tess_counters *n) {
    return n->global_load_requests;
}
static double sectors(const tess_counters *n) {
    return n->global_load_sectors;
}
static double wavefronts(const tess_counters *n) {
    return n->shared_load_wavefronts;
}
static double conflicts(const tess_counters *n) {
    return n->shared_load_conflicts + n->shared_store_conflicts;
}
static double barriers(const tess_counters *n) {
    return n->barriers;
}

static const quantity quantities[] = {{"global loads", requests},
                                      {"sectors loaded", sectors},
                                      {"shared passes", wavefronts},
                                      {"bank conflicts", conflicts},
                                      {"barriers", barriers}};

static const report_rung *find_rung(const report *r, const char *kernel) {
    for (size_t i = 0; i < r->rung_count; i++)
        if (strcmp(r->rungs[i].kernel, kernel) == 0) return &r->rungs[i];
    return NULL;
}

/* "÷32" or "×3.4" against the rung before; "" where nothing moved or one of them is 0. */
static void note_change(chart_point *p, double before) {
    double now = p->y, times = now > before ? now / before : before / now;
    if (!(now > 0) || !(before > 0) || fabs(now - before) < 1e-9 * now) return;
    snprintf(p->note, sizeof p->note, times >= 9.95 ? "%s%.0f" : "%s%.1f", now > before ? "×" : "÷", times);
    char *end = p->note + strlen(p->note);
    if (times < 9.95 && strcmp(end - 2, ".0") == 0) end[-2] = '\0';
}

static void make_counters(report *r, report_figures *f) {
    report_figure *figure = report_add_figure(f, CHART_PANELS, "counters", REPORT_SIMULATED);
    chart *c = figure->picture;
    snprintf(c->title, sizeof c->title, "Counters from one rung to the next at %" PRId64 ", f32", r->size);
    snprintf(c->row_title, sizeof c->row_title, "kernel");
    for (size_t q = 0; q < sizeof quantities / sizeof *quantities; q++)
        chart_add_series(c, quantities[q].name);
    for (size_t i = 0; i < r->rung_count; i++) {
        const report_rung *rung = &r->rungs[i], *before = find_rung(r, rung->before);
        char label[CHART_NAME];
        report_short_name(rung->kernel, label);
        size_t row = chart_add_row(c, label);
        for (size_t q = 0; q < sizeof quantities / sizeof *quantities; q++) {
            chart_point *p = chart_at(&c->series[q], row);
            p->y = quantities[q].value(&rung->counts);
            if (before != NULL) note_change(p, quantities[q].value(&before->counts));
        }
    }
    snprintf(figure->source, sizeof figure->source, "counted by the simulator; no GPU is needed for it");
    snprintf(c->subtitle, sizeof c->subtitle, "%s", figure->source);
    figure_caption(figure, "Loads are instructions of a warp, sectors 32 bytes, passes go through the 32 "
                           "banks of shared memory, "
                           "conflicts are passes a better layout would save, barriers are those of one "
                           "block. The bold factor is "
                           "against the rung that the kernel's header names, not always the one above. Bars "
                           "grow by factors, in "
                           "each column by its own.");
    figure_set_command(figure, "tessera explain 5 --size %" PRId64 "   # each rung", r->size);
    report_draw_command(r, figure);
}

void report_make_rungs(report *r, report_figures *f) {
    report_group group;
    if (r->rung_count == 0 || !report_find_group(r, "gpu", "f32", &group)) return;
    if (report_wants(r, "roofline")) make_roofline(r, f, &group);
    if (report_wants(r, "counters")) make_counters(r, f);
}
