/* chart_bars.c: a row for each rung or size, a bar in it for each series.
 *
 * Invariant: a bar is named where it begins and has its number where it ends; levels are vertical lines named above
 * the rows.
 */
#include "chart_draw.h"

#include <math.h>
#include <string.h>

enum { BAR = 13, GAP = 3, ROW_GAP = 9, LABEL_SIZE = 12, LEVEL_ROOM = 16, VALUE_ROOM = 46 };

typedef struct plot {
    surface s;
    scale length;
    double names, sub_names, notes; /* widths of the columns */
} plot;

static bool is_grouped(const chart *c) {
    return c->series_count > 1;
}

static double row_height(const chart *c) {
    return (double)c->series_count * (BAR + GAP) - GAP + (is_grouped(c) ? ROW_GAP : GAP + 4);
}

static bool has_notes(const chart *c) {
    for (size_t i = 0; i < c->series_count; i++)
        for (size_t j = 0; j < c->series[i].count; j++)
            if (c->series[i].points[j].note[0] != '\0') return true;
    return false;
}

static void measure_columns(plot *p) {
    const chart *c = p->s.c;
    for (size_t i = 0; i < c->row_count; i++)
        p->names = fmax(p->names, surface_text_width(c->rows[i], LABEL_SIZE));
    p->names = fmin(p->names, 0.4 * (p->s.right - p->s.left)) + 8;
    if (is_grouped(c))
        for (size_t i = 0; i < c->series_count; i++)
            p->sub_names = fmax(p->sub_names, surface_text_width(c->series[i].name, 11) + 6);
    if (has_notes(c)) p->notes = fmax(46, surface_text_width(c->note_title, 11) + 4);
}

static void draw_whisker(const plot *p, const chart_point *point, double y) {
    double low = scale_at(&p->length, point->low), high = scale_at(&p->length, point->high),
           middle = y + BAR / 2.0;
    if (!(high - low > 1.5)) return;
    fprintf(p->s.out, "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\" class=\"whisker\"/>", low, middle,
            high, low, middle - 3, high, middle - 3);
}

static void draw_bar(const plot *p, size_t row, size_t index, double y) {
    const chart *c = p->s.c;
    const chart_series *series = &c->series[index];
    if (row >= series->count || !isfinite(series->points[row].y)) return;
    const chart_point *point = &series->points[row];
    chart_series look = {.neutral = series->neutral || c->row_neutral[row]};
    char value[32];
    chart_show(point->y, value);
    double end = scale_at(&p->length, point->y);
    surface_begin(&p->s, "%s%s%s: %s %s%s", c->rows[row], is_grouped(c) ? ", " : "",
                  is_grouped(c) ? series->name : "", value, c->y_title,
                  point->throttled ? ", throttled" : "");
    surface_rect(&p->s, p->s.left, y, end - p->s.left, BAR, surface_ink_of(&look, index).fill);
    draw_whisker(p, point, y);
    if (point->throttled) surface_throttled(&p->s, end, y + BAR / 2.0);
    surface_end(&p->s);
    double after = fmax(end, isfinite(point->high) ? scale_at(&p->length, point->high) : end);
    surface_text(&p->s, after + (point->throttled ? 11 : 5), y + BAR - 2.5, SURFACE_START, "small halo",
                 value);
    if (point->note[0] != '\0')
        surface_text(&p->s, p->s.right + p->notes, y + BAR - 2.5, SURFACE_END, "small strong", point->note);
}

static void draw_row(const plot *p, size_t row, double y) {
    const chart *c = p->s.c;
    double middle = y + ((double)c->series_count * (BAR + GAP) - GAP) / 2;
    surface_text(&p->s, p->s.left - p->sub_names - p->names, middle + 4, SURFACE_START,
                 c->row_neutral[row] ? "strong" : "", c->rows[row]);
    for (size_t i = 0; i < c->series_count; i++) {
        double top = y + (double)i * (BAR + GAP);
        bool there = i < c->series_count && row < c->series[i].count && isfinite(c->series[i].points[row].y);
        if (is_grouped(c) && there)
            surface_text(&p->s, p->s.left - 6, top + BAR - 2.5, SURFACE_END, "small muted",
                         c->series[i].name);
        draw_bar(p, row, i, top);
    }
}

/* Names above the rows, each on a line of its own where there are several. */
static void draw_levels(const plot *p) {
    const chart *c = p->s.c;
    for (size_t i = 0; i < c->level_count; i++) {
        double x = scale_at(&p->length, c->levels[i].value),
               y = p->s.top - 6 - (double)(c->level_count - 1 - i) * LEVEL_ROOM;
        bool left = x > (p->s.left + p->s.right) / 2;
        surface_line(&p->s, x, y - 10, x, p->s.bottom, "level d1");
        surface_text(&p->s, x + (left ? -5 : 5), y, left ? SURFACE_END : SURFACE_START, "small strong halo",
                     c->levels[i].name);
    }
}

static void draw_tick(void *data, double value) {
    const plot *p = data;
    char text[32];
    double x = scale_at(&p->length, value);
    chart_show(value, text);
    if (strchr(text, '.') != NULL && value == floor(value)) snprintf(text, sizeof text, "%.0f", value);
    surface_line(&p->s, x, p->s.top, x, p->s.bottom, "grid");
    surface_text(&p->s, x, p->s.bottom + 15, SURFACE_MIDDLE, "small muted", text);
}

/* The longest bar leaves room for its number; a level needs only to be inside. */
static bool prepare(plot *p) {
    double least, most, longest = 0, inside = p->s.right - p->s.left;
    const chart *c = p->s.c;
    if (!chart_range_y(c, &least, &most) || !(most > 0)) return false;
    for (size_t i = 0; i < c->series_count; i++)
        for (size_t j = 0; j < c->series[i].count; j++) {
            const chart_point *point = &c->series[i].points[j];
            longest = fmax(longest, fmax(point->y, point->high));
        }
    double pixels = fmin((inside - VALUE_ROOM) / longest, (inside - 6) / most);
    p->length = (scale){.low = 0, .high = most, .from = p->s.left, .to = p->s.left + pixels * most};
    return true;
}

void chart_draw_bars(const chart *c, chart_paper paper, FILE *out) {
    plot p = {0};
    double levels =
        (double)c->level_count * LEVEL_ROOM + (c->level_count > 0 || c->note_title[0] != '\0' ? 8 : 2);
    double rows = (double)c->row_count * row_height(c);
    surface_open(&p.s, c, paper, levels + rows + 40, out);
    measure_columns(&p);
    p.s.left += p.names + p.sub_names;
    p.s.right -= p.notes;
    p.s.top += levels;
    p.s.bottom = p.s.top + rows;
    if (prepare(&p)) {
        scale_each_tick(&p.length, draw_tick, &p);
        surface_text(&p.s, (p.s.left + p.s.right) / 2, p.s.bottom + 32, SURFACE_MIDDLE, "muted", c->y_title);
        if (p.notes > 0)
            surface_text(&p.s, p.s.right + p.notes, p.s.top - 6, SURFACE_END, "small muted", c->note_title);
        draw_levels(&p);
        for (size_t i = 0; i < c->row_count; i++) draw_row(&p, i, p.s.top + 4 + (double)i * row_height(c));
        surface_line(&p.s, p.s.left, p.s.top, p.s.left, p.s.bottom, "axis");
    }
    surface_close(&p.s);
}
