/* chart_table.c: the numbers of a chart as an HTML table, for those who want them or cannot see the picture.
 *
 * Invariant: what is drawn is in the table, and nothing else.
 */
#include "chart.h"

#include <math.h>

static void print_cell(FILE *out, const char *tag, const char *text) {
    fprintf(out, "<%s>", tag);
    chart_print_text(text, out);
    fprintf(out, "</%s>", tag);
}

static void print_number(FILE *out, const chart_point *p, bool large) {
    char text[32] = "";
    if (p != NULL && isfinite(p->y)) (large ? chart_show_large : chart_show)(p->y, text);
    fputs("<td>", out);
    chart_print_text(text, out);
    if (p != NULL && p->throttled) fputs(" (throttled)", out);
    if (p != NULL && p->note[0] != '\0') {
        fputs(" <b>", out);
        chart_print_text(p->note, out);
        fputs("</b>", out);
    }
    fputs("</td>", out);
}

/* Rows are the chart's own, columns its series. */
static void print_rows(const chart *c, FILE *out) {
    fputs("<thead><tr>", out);
    print_cell(out, "th", c->row_title);
    for (size_t i = 0; i < c->series_count; i++) print_cell(out, "th", c->series[i].name);
    fputs("</tr></thead><tbody>\n", out);
    for (size_t row = 0; row < c->row_count; row++) {
        fputs("<tr>", out);
        print_cell(out, "th", c->rows[row]);
        for (size_t i = 0; i < c->series_count; i++)
            print_number(out, row < c->series[i].count ? &c->series[i].points[row] : NULL,
                         c->kind == CHART_PANELS);
        fputs("</tr>\n", out);
    }
}

static const chart_point *find_x(const chart_series *s, double x) {
    for (size_t i = 0; i < s->count; i++)
        if (s->points[i].x == x) return &s->points[i];
    return NULL;
}

/* The next larger x of all series; infinity after the last. */
static double next_x(const chart *c, double after) {
    double next = (double)INFINITY;
    for (size_t i = 0; i < c->series_count; i++)
        for (size_t j = 0; j < c->series[i].count; j++)
            if (c->series[i].points[j].x > after) next = fmin(next, c->series[i].points[j].x);
    return next;
}

/* Rows are the series, columns the sizes. */
static void print_lines(const chart *c, FILE *out) {
    fputs("<thead><tr>", out);
    print_cell(out, "th", c->row_title);
    for (double x = next_x(c, 0); isfinite(x); x = next_x(c, x)) fprintf(out, "<th>%.0f</th>", x);
    fputs("</tr></thead><tbody>\n", out);
    for (size_t i = 0; i < c->series_count; i++) {
        fputs("<tr>", out);
        print_cell(out, "th", c->series[i].name);
        for (double x = next_x(c, 0); isfinite(x); x = next_x(c, x))
            print_number(out, find_x(&c->series[i], x), false);
        fputs("</tr>\n", out);
    }
}

static void print_points(const chart *c, FILE *out) {
    fputs("<thead><tr>", out);
    print_cell(out, "th", c->row_title);
    print_cell(out, "th", c->x_title);
    print_cell(out, "th", c->y_title);
    fputs("</tr></thead><tbody>\n", out);
    for (size_t i = 0; i < c->series_count; i++) {
        const chart_series *s = &c->series[i];
        if (s->count == 0) continue;
        chart_point x = {.y = s->points[0].x};
        fputs("<tr>", out);
        print_cell(out, "th", s->name);
        print_number(out, &x, false);
        print_number(out, &s->points[0], false);
        fputs("</tr>\n", out);
    }
}

void chart_print_table(const chart *c, FILE *out) {
    fputs("<table>\n", out);
    if (c->kind == CHART_LINES)
        print_lines(c, out);
    else if (c->kind == CHART_ROOFLINE)
        print_points(c, out);
    else
        print_rows(c, out);
    fputs("</tbody></table>\n", out);
}
