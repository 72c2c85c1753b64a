/* chart_lines.c: rates against sizes: a line for each series, its name at its end, its percentiles as a band.
 *
 * Invariant: every series is named beside its own last point; nobody has to look a colour up.
 */
#include "chart_draw.h"

#include <math.h>
#include <stdlib.h>

enum { LABEL_DISTANCE = 14, LABEL_SIZE = 12, LEADER = 20 };

typedef struct plot {
    surface s;
    scale x, y;
} plot;

static double at_x(const plot *p, const chart_point *point) {
    return scale_at(&p->x, point->x);
}
static double at_y(const plot *p, double value) {
    return scale_at(&p->y, value);
}

static bool is_there(const chart_point *p) {
    return isfinite(p->x) && p->x > 0 && isfinite(p->y) && p->y > 0;
}
static bool has_band(const chart_point *p) {
    return is_there(p) && p->low > 0 && p->high > 0;
}

/* From 10th to 90th percentile: along the upper edge and back along the lower one. */
static void draw_band(const plot *p, const chart_series *series, const char *fill) {
    size_t first = 0, last = 0, there = 0;
    for (size_t i = 0; i < series->count; i++)
        if (has_band(&series->points[i])) last = i, first = there++ == 0 ? i : first;
    if (there < 2) return;
    fprintf(p->s.out, "<path d=\"");
    char letter = 'M';
    for (size_t i = first; i <= last; i++, letter = 'L')
        if (has_band(&series->points[i]))
            fprintf(p->s.out, "%c%.1f %.1f", letter, at_x(p, &series->points[i]),
                    at_y(p, series->points[i].high));
    for (size_t i = last + 1; i-- > first;)
        if (has_band(&series->points[i]))
            fprintf(p->s.out, "L%.1f %.1f", at_x(p, &series->points[i]), at_y(p, series->points[i].low));
    fprintf(p->s.out, "z\" class=\"band %s\"/>\n", fill);
}

static void draw_line(const plot *p, const chart_series *series, const char *classes) {
    char letter = 'M';
    fprintf(p->s.out, "<path d=\"");
    for (size_t i = 0; i < series->count; i++) {
        const chart_point *point = &series->points[i];
        if (!is_there(point)) continue;
        fprintf(p->s.out, "%c%.1f %.1f", letter, at_x(p, point), at_y(p, point->y));
        letter = 'L';
    }
    fprintf(p->s.out, "\" class=\"%s\"/>\n", classes);
}

static void draw_points(const plot *p, const chart_series *series, size_t index, const char *fill) {
    for (size_t i = 0; i < series->count; i++) {
        const chart_point *point = &series->points[i];
        char value[32];
        if (!is_there(point)) continue;
        chart_show(point->y, value);
        surface_begin(&p->s, "%s at %.0f: %s %s%s", series->name, point->x, value, p->s.c->y_title,
                      point->throttled ? ", throttled" : "");
        if (point->throttled) surface_throttled(&p->s, at_x(p, point), at_y(p, point->y));
        surface_mark(&p->s, at_x(p, point), at_y(p, point->y), series->neutral ? 0 : index, fill);
        surface_end(&p->s);
    }
}

static const chart_point *last_point(const chart_series *series) {
    for (size_t i = series->count; i-- > 0;)
        if (is_there(&series->points[i])) return &series->points[i];
    return NULL;
}

/* Names in a column at the right, each led to the end of its line. */
static void draw_labels(const plot *p) {
    const chart *c = p->s.c;
    double *places = calloc(c->series_count + 1, sizeof *places);
    const chart_point **ends = calloc(c->series_count + 1, sizeof *ends);
    size_t count = 0;
    if (places == NULL || ends == NULL) goto out;
    for (size_t i = 0; i < c->series_count; i++) {
        const chart_point *end = last_point(&c->series[i]);
        if (end == NULL) continue;
        ends[count] = end;
        places[count++] = at_y(p, end->y);
    }
    labels_spread(places, count, LABEL_DISTANCE, p->s.top, p->s.bottom - 2);
    for (size_t i = 0, label = 0; i < c->series_count; i++) {
        if (last_point(&c->series[i]) == NULL) continue;
        const chart_point *end = ends[label];
        surface_ink ink = surface_ink_of(&c->series[i], i);
        fprintf(p->s.out, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f\" class=\"leader\"/>\n", at_x(p, end) + 5,
                at_y(p, end->y), p->s.right + 4, at_y(p, end->y), p->s.right + LEADER - 4, places[label]);
        surface_text(&p->s, p->s.right + LEADER, places[label] + 4, SURFACE_START, ink.text,
                     c->series[i].name);
        label++;
    }
out:
    free(places);
    free(ends);
}

static void draw_levels(const plot *p) {
    for (size_t i = 0; i < p->s.c->level_count; i++) {
        double y = at_y(p, p->s.c->levels[i].value);
        surface_line(&p->s, p->s.left, y, p->s.right, y, "level");
    }
}

/* The widest name decides how much room there is for the plot. */
static double label_width(const chart *c) {
    double widest = 0;
    for (size_t i = 0; i < c->series_count; i++)
        widest = fmax(widest, surface_text_width(c->series[i].name, LABEL_SIZE));
    /* They are strong, which is wider. */
    return 1.06 * widest;
}

void chart_draw_lines(const chart *c, chart_paper paper, FILE *out) {
    bool narrow = paper == CHART_NARROW;
    double least = (double)c->series_count * LABEL_DISTANCE + 90;
    plot p = {.x = {.log = true}, .y = {.log = c->log}};
    surface_open(&p.s, c, paper, fmax(narrow ? 340 : 420, least), out);
    p.s.left += narrow ? 40 : 48;
    p.s.right -= fmin(label_width(c) + LEADER, (p.s.right - p.s.left) * 0.45);
    p.s.top += 30;
    p.s.bottom -= 44;
    if (chart_range_x(c, &p.x.low, &p.x.high) && chart_range_y(c, &p.y.low, &p.y.high)) {
        scale_widen(&p.x);
        scale_widen(&p.y);
        p.x.from = p.s.left, p.x.to = p.s.right;
        p.y.from = p.s.bottom, p.y.to = p.s.top;
        surface_y_axis(&p.s, &p.y);
        surface_x_axis_sizes(&p.s, &p.x);
        draw_levels(&p);
        for (size_t i = 0; i < c->series_count; i++) {
            surface_ink ink = surface_ink_of(&c->series[i], i);
            draw_band(&p, &c->series[i], ink.fill);
            draw_line(&p, &c->series[i], ink.line);
        }
        for (size_t i = 0; i < c->series_count; i++)
            draw_points(&p, &c->series[i], i, surface_ink_of(&c->series[i], i).fill);
        draw_labels(&p);
        for (size_t i = 0; i < c->level_count; i++)
            surface_text(&p.s, p.s.left + 6, at_y(&p, c->levels[i].value) - 5, SURFACE_START,
                         "small strong halo", c->levels[i].name);
    }
    surface_close(&p.s);
}
