/* report_figure.h: what the makers of figures share. */
#ifndef REPORT_FIGURE_H
#define REPORT_FIGURE_H

#include "report.h"

/* "ladder-cpu-f64": the base, then what is not a GPU and not f32. */
void figure_name(const char *base, const report_group *group, char out[REPORT_NAME]);
/* What a title ends with: "" or ", CPU". */
const char *figure_place(const report_group *group);
/* What was measured or predicted, on what; the picture gets it as its second title. */
void figure_set_source(const report *r, report_figure *f, const report_group *group);
/* GFLOPS or TFLOPS for rates up to the largest; returns what GFLOPS are multiplied with. */
double figure_set_unit(chart *c, double largest);
void figure_set_point(chart_point *p, const report_rate *rate, double unit);
/* The device's peak in GFLOPS: as measured, or by the card's clocks; NaN if not known. */
double figure_peak(const report *r, const report_group *group);
void figure_add_level(chart *c, const char *name, double value);
/* Appends to the caption. */
void figure_caption(report_figure *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The command of a rate's file, if the figure does not have it yet. Once a rate comes without, the figure has none: some of
 * the commands would not make the whole of it. */
void figure_add_command(report_figure *f, const report_rate *rate);
/* A command of our own making, if files do not name them all. */
void figure_set_command(report_figure *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says how many points were throttled, if any. */
void figure_add_throttled(report_figure *f);

/* Each adds a figure, or says that it is missing and which command would make it. */
void figure_make_tile(report *r, report_figures *f, const report_group *group);
void figure_make_types(report *r, report_figures *f, const report_group *group);
void figure_make_split(report *r, report_figures *f, const report_group *group);
void figure_make_cache(report *r, report_figures *f, const report_group *group);

#endif
