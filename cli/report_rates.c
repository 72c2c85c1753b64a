/* report_rates.c: figures of rates: against sizes, as a ladder, by type.
 *
 * Invariant: a figure's points come from one group, so they may be compared; what is not measured is called so in
 * its source.
 */
#include "report.h"
#include "report_figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double largest_of(const report *r, const report_group *group) {
    double largest = 0;
    for (size_t i = 0; i < r->rate_count; i++)
        if (report_in_group(group, &r->rates[i])) largest = fmax(largest, r->rates[i].gflops);
    return largest;
}

/* ---- Rate against size ---- */

/* The next larger size that the group has; INT64_MAX after the last. */
static int64_t next_size(const report *r, const report_group *group, int64_t after) {
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < r->rate_count; i++)
        if (report_in_group(group, &r->rates[i]) && r->rates[i].m > after && r->rates[i].m < next)
            next = r->rates[i].m;
    return next;
}

static void add_sizes(const report *r, const report_group *group, const char *kernel, double unit,
                      report_figure *f) {
    chart_series *s = &f->picture->series[f->picture->series_count - 1];
    for (int64_t next = next_size(r, group, 0); next < INT64_MAX; next = next_size(r, group, next)) {
        const report_rate *rate = kernel != NULL ? report_find_rate(r, group, kernel, next) : NULL;
        double peer = kernel == NULL ? report_peer_rate(r, group, s->name, next) : (double)NAN;
        if (rate != NULL) {
            figure_set_point(chart_add_point(s, (double)next, 0), rate, unit);
            figure_add_command(f, rate);
        } else if (peer > 0) {
            chart_add_point(s, (double)next, peer * unit);
        }
    }
}

static void caption_rate(const report *r, report_figure *f, const report_group *group, double peak) {
    const char *peer;
    if (f->origin == REPORT_PREDICTED) {
        figure_caption(f, "Both axes grow by factors. Points are what the model makes of the simulator's "
                          "counters; "
                          "docs/MODEL.md sets it beside rates that were measured.");
        return;
    }
    figure_caption(f, "Both axes grow by factors. Points are medians; the band around a line reaches from "
                      "the 10th to the "
                      "90th percentile, and is often thinner than the line.");
    if ((peer = report_peer(r, group, 0)) != NULL)
        figure_caption(f, " The broken dark line is the peer, timed in turns with every kernel.");
    if (peak > 0) figure_caption(f, " The level is what the device does on registers alone.");
    for (size_t i = 0; (peer = report_peer(r, group, i)) != NULL; i++)
        if (report_peer_rate(r, group, peer, report_best_size(r, group)) > 1.02 * peak)
            figure_caption(f, " %.30s is above it: it has units that the kernels here do not use.", peer);
    figure_add_throttled(f);
}

static void make_rate(report *r, report_figures *f, const report_group *group) {
    char name[REPORT_NAME], label[CHART_NAME];
    const char **kernels, *peer;
    size_t count = report_list_kernels(r, group, &kernels);
    figure_name("rate", group, name);
    report_figure *figure = report_add_figure(f, CHART_LINES, name, group->like->origin);
    chart *c = figure->picture;
    double unit = figure_set_unit(c, largest_of(r, group)), peak = figure_peak(r, group);
    snprintf(c->title, sizeof c->title, "Rate against size, %s%s", group->type, figure_place(group));
    snprintf(c->x_title, sizeof c->x_title, "size n of an n × n × n product");
    snprintf(c->row_title, sizeof c->row_title, "%s", c->y_title);
    c->log = true;
    for (size_t i = 0; i < count; i++) {
        report_short_name(kernels[i], label);
        chart_add_series(c, label);
        add_sizes(r, group, kernels[i], unit, figure);
    }
    free(kernels);
    for (size_t i = 0; (peer = report_peer(r, group, i)) != NULL; i++) {
        chart_add_series(c, peer)->neutral = true;
        add_sizes(r, group, NULL, unit, figure);
    }
    figure_add_level(c,
                     figure->origin == REPORT_MEASURED ? "peak, measured:" : "peak by clocks:", peak * unit);
    figure_set_source(r, figure, group);
    caption_rate(r, figure, group, peak);
    if (figure->origin == REPORT_PREDICTED)
        figure_set_command(figure, "tessera explain --gpu '%s' --size 4096 --type %s   # each size",
                           r->on->name, group->type);
    report_bench_command(r, group, figure);
    report_draw_command(r, figure);
}

/* ---- The ladder ---- */

static void add_rung_row(report_figure *f, const report_rate *rate, const char *peer, double peak,
                         double unit) {
    char label[CHART_NAME];
    report_short_name(rate->kernel, label);
    chart_point *p = chart_at(&f->picture->series[0], chart_add_row(f->picture, label));
    figure_set_point(p, rate, unit);
    figure_add_command(f, rate);
    if (peer != NULL && rate->ratio > 0)
        snprintf(p->note, sizeof p->note, "%.2f", rate->ratio);
    else if (peer == NULL && peak > 0)
        snprintf(p->note, sizeof p->note, "%.1f", 100 * rate->gflops / peak);
}

static void add_peer_row(const report *r, const report_group *group, chart *c, const char *peer, int64_t size,
                         double unit) {
    double rate = report_peer_rate(r, group, peer, size);
    if (!(rate > 0)) return;
    size_t row = chart_add_row(c, peer);
    c->row_neutral[row] = true;
    chart_at(&c->series[0], row)->y = rate * unit;
}

static void caption_ladder(report_figure *f, const report_rate *best, double peak) {
    figure_caption(f, "Each rung changes one thing against the rung its header names. ");
    if (best->ratio > 0)
        figure_caption(f, "%.60s runs at %.2f times the rate of %.30s", best->kernel, best->ratio,
                       best->peer);
    else
        figure_caption(f, "%.60s is the fastest", best->kernel);
    if (peak > 0) figure_caption(f, ", %.0f %% of the peak", 100 * best->gflops / peak);
    figure_caption(f, ".");
    if (best->ratio > 0)
        figure_caption(f, " A ratio is the median over the rounds of one run, in which kernel and peer take "
                          "turns.");
    figure_add_throttled(f);
}

static void make_ladder(report *r, report_figures *f, const report_group *group) {
    char name[REPORT_NAME];
    const char **kernels, *peer = report_peer(r, group, 0);
    size_t count = report_list_kernels(r, group, &kernels);
    int64_t size = report_best_size(r, group);
    const report_rate *best = group->like;
    figure_name("ladder", group, name);
    report_figure *figure = report_add_figure(f, CHART_BARS, name, group->like->origin);
    chart *c = figure->picture;
    double unit = figure_set_unit(c, largest_of(r, group)), peak = figure_peak(r, group);
    snprintf(c->title, sizeof c->title, "The ladder at %" PRId64 ", %s%s", size, group->type,
             figure_place(group));
    snprintf(c->row_title, sizeof c->row_title, "kernel");
    snprintf(c->note_title, sizeof c->note_title, peer != NULL ? "× %.20s" : "%% of peak", peer);
    chart_add_series(c, c->y_title);
    for (size_t i = 0; i < count; i++) {
        const report_rate *rate = report_find_rate(r, group, kernels[i], size);
        /* The planner's choice is no rung. */
        if (rate == NULL || (count > 2 && strncmp(kernels[i], "auto", 4) == 0)) continue;
        add_rung_row(figure, rate, peer, peak, unit);
        if (best->m != size || rate->gflops > best->gflops) best = rate;
    }
    free(kernels);
    for (size_t i = 0; (peer = report_peer(r, group, i)) != NULL; i++)
        add_peer_row(r, group, c, peer, size, unit);
    figure_add_level(c, "peak", peak * unit);
    figure_set_source(r, figure, group);
    caption_ladder(figure, best, peak);
    if (figure->origin == REPORT_PREDICTED)
        figure_set_command(figure, "tessera explain --gpu '%s' --size %" PRId64 " --type %s", r->on->name,
                           size, group->type);
    report_bench_command(r, group, figure);
    report_draw_command(r, figure);
}

/* ---- All of them ---- */

/* The n-th type with plain rates in a family, f32 first; NULL after the last. */
static const char *type_at(const report *r, const char *family, size_t index) {
    const char *seen[16];
    size_t count = 0;
    report_group group;
    if (report_find_group(r, family, "f32", &group)) seen[count++] = "f32";
    for (size_t i = 0; i < r->rate_count && count <= index; i++) {
        const report_rate *rate = &r->rates[i];
        size_t known = 0;
        if (strcmp(report_family(rate), family) != 0 || !report_is_plain(rate)) continue;
        while (known < count && strcmp(seen[known], rate->type) != 0) known++;
        if (known == count && count < sizeof seen / sizeof *seen) seen[count++] = rate->type;
    }
    return index < count ? seen[index] : NULL;
}

/* How many sizes there are: lines need two. */
static size_t count_sizes(const report *r, const report_group *group) {
    size_t count = 0;
    for (int64_t size = next_size(r, group, 0); size < INT64_MAX; size = next_size(r, group, size)) count++;
    return count;
}

static bool has_rungs(const report *r, const report_group *group) {
    const char **names;
    size_t count = report_list_kernels(r, group, &names);
    free(names);
    return count > 1;
}

/* What holds one thing against another: files may have that and no ladder. */
static void make_pairs(report *r, report_figures *f, const report_group *group) {
    figure_make_tile(r, f, group);
    figure_make_types(r, f, group);
    figure_make_split(r, f, group);
    figure_make_cache(r, f, group);
}

static void make_without_ladder(report *r, report_figures *f, const char *family) {
    for (size_t i = 0; i < r->rate_count; i++) {
        if (strcmp(report_family(&r->rates[i]), family) != 0) continue;
        const report_group group = {family, r->rates[i].type, &r->rates[i]};
        make_pairs(r, f, &group);
        return;
    }
}

/* Of the first type everything is shown; of others, what the figure of types does not show already. */
static void make_family(report *r, report_figures *f, const char *family) {
    const char *type;
    report_group group;
    for (size_t i = 0; (type = type_at(r, family, i)) != NULL; i++) {
        if (!report_find_group(r, family, type, &group)) continue;
        bool peer = report_peer(r, &group, 0) != NULL;
        bool lines = count_sizes(r, &group) >= (i == 0 ? 2 : 3);
        if (lines) make_rate(r, f, &group);
        /* A single rate is a bar. */
        if (i == 0 ? has_rungs(r, &group) || !lines : has_rungs(r, &group) && peer) make_ladder(r, f, &group);
        if (i > 0) continue;
        if (strcmp(family, "gpu") == 0) report_make_rungs(r, f);
        make_pairs(r, f, &group);
    }
    if (type_at(r, family, 0) == NULL) make_without_ladder(r, f, family);
}

void report_make_figures(report *r, report_figures *f) {
    make_family(r, f, "gpu");
    make_family(r, f, "cpu");
}
