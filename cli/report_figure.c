/* report_figure.c: what the makers of figures share: names, units, sources, captions.
 *
 * Invariant: a figure's picture carries what its page says of it: the source is its second title.
 */
#include "report_figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

report_figure *report_add_figure(report_figures *f, chart_kind kind, const char *name, report_origin origin) {
    f->all = report_grow(f->all, f->count, sizeof *f->all);
    report_figure *figure = &f->all[f->count++];
    *figure = (report_figure){.picture = chart_new(kind, name), .origin = origin};
    return figure;
}

void report_free_figures(report_figures *f) {
    for (size_t i = 0; i < f->count; i++) chart_free(f->all[i].picture);
    free(f->all);
}

void figure_caption(report_figure *f, const char *format, ...) {
    size_t used = strlen(f->caption);
    va_list args;
    va_start(args, format);
    vsnprintf(f->caption + used, sizeof f->caption - used, format, args);
    va_end(args);
}

void figure_set_point(chart_point *p, const report_rate *rate, double unit) {
    p->y = rate->gflops * unit;
    p->throttled = rate->throttled[0] != '\0';
    if (!(rate->ms > 0) || !(rate->p10_ms > 0) || !(rate->p90_ms > 0)) return;
    p->low = p->y * rate->ms / rate->p90_ms;
    p->high = p->y * rate->ms / rate->p10_ms;
}

void figure_name(const char *base, const report_group *group, char out[REPORT_NAME]) {
    bool plain = strcmp(group->type, "f32") == 0;
    snprintf(out, REPORT_NAME, "%s%s%s%.16s", base, strcmp(group->family, "cpu") == 0 ? "-cpu" : "",
             plain ? "" : "-", plain ? "" : group->type);
    for (char *at = out; *at != '\0'; at++)
        if (*at == ':') *at = '-';
}

const char *figure_place(const report_group *group) {
    return strcmp(group->family, "cpu") == 0 ? ", CPU" : "";
}

void figure_set_source(const report *r, report_figure *f, const report_group *group) {
    const char *model = report_fact_of(r, "model");
    const report_rate *like = group->like;
    if (f->origin == REPORT_PREDICTED) {
        snprintf(f->source, sizeof f->source, "predicted by the model for the %s; nothing here was measured",
                 r->on->name);
    } else if (strcmp(group->family, "cpu") == 0) {
        snprintf(f->source, sizeof f->source, "measured on %.100s, %d thread%s",
                 model[0] != '\0' ? model : "a CPU", like->threads, like->threads == 1 ? "" : "s");
    } else {
        snprintf(f->source, sizeof f->source, "measured on %.100s%s%s",
                 model[0] != '\0' ? model : like->device, like->mode[0] != '\0' ? ", timing: " : "",
                 like->mode);
    }
    snprintf(f->picture->subtitle, sizeof f->picture->subtitle, "%s", f->source);
}

double figure_set_unit(chart *c, double largest) {
    bool tera = largest >= 2000;
    snprintf(c->y_title, sizeof c->y_title, tera ? "TFLOPS" : "GFLOPS");
    return tera ? 1e-3 : 1;
}

/* A peak that the kernels exceed is not theirs: it is of other units than they use. */
static double if_not_exceeded(const report *r, const report_group *group, double peak) {
    for (size_t i = 0; i < r->rate_count; i++)
        if (report_in_group(group, &r->rates[i]) && r->rates[i].gflops > 1.1 * peak) return (double)NAN;
    return peak;
}

double figure_peak(const report *r, const report_group *group) {
    double peak = report_peak(r, group);
    tess_type type;
    if (isnan(peak) && group->like->origin == REPORT_PREDICTED &&
        tess_find_type(group->type, &type) == TESS_OK)
        peak = cards_peak(r->on, type, false) * 1e-9;
    return if_not_exceeded(r, group, peak);
}

void figure_add_level(chart *c, const char *name, double value) {
    char label[CHART_NAME], number[32];
    chart_show(value, number);
    snprintf(label, sizeof label, "%.30s %.20s", name, number);
    chart_add_level(c, label, value, false);
}

void figure_add_command(report_figure *f, const report_rate *rate) {
    size_t used = strlen(f->command), length = strlen(rate->command);
    if (f->unrecorded || (length > 0 && strstr(f->command, rate->command) != NULL)) return;
    /* Room is left for the command that draws the figure. */
    f->unrecorded = length == 0 || used + length > sizeof f->command / 2;
    if (f->unrecorded)
        f->command[0] = '\0';
    else
        snprintf(f->command + used, sizeof f->command - used, "%s%s", used > 0 ? "\n" : "", rate->command);
}

void figure_set_command(report_figure *f, const char *format, ...) {
    if (f->command[0] != '\0') return;
    va_list args;
    va_start(args, format);
    vsnprintf(f->command, sizeof f->command, format, args);
    va_end(args);
}

void figure_add_throttled(report_figure *f) {
    size_t count = 0;
    for (size_t i = 0; i < f->picture->series_count; i++)
        for (size_t j = 0; j < f->picture->series[i].count; j++)
            count += f->picture->series[i].points[j].throttled;
    if (count > 0)
        figure_caption(f, " %zu point%s in a diamond: the device held its clocks back while it was measured.",
                       count, count == 1 ? "" : "s");
}
