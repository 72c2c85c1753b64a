/* chart_panels.c: a column for each quantity and a row for each rung: its number, a bar on a scale of factors, and what
 * it is against the rung before.
 *
 * Invariant: quantities differ by many powers of ten, so each column has a scale of its own; the bars of one column
 * can be compared, those of two cannot.
 */
#include "chart_draw.h"

#include <math.h>

enum { ROW = 30, HEADING = 30, BAR = 5, PANEL_LEAST = 118, LABEL_SIZE = 12, BLOCK_GAP = 16 };

typedef struct layout {
    double names, panel; /* widths */
    size_t across;       /* panels beside each other */
} layout;

static layout lay_out(const chart *c, chart_paper paper) {
    layout l = {0};
    for (size_t i = 0; i < c->row_count; i++)
        l.names = fmax(l.names, surface_text_width(c->rows[i], LABEL_SIZE) + 8);
    l.names = fmin(l.names, 0.4 * surface_width(paper));
    double room = surface_width(paper) - l.names;
    l.across = (size_t)fmax(1, floor(room / PANEL_LEAST));
    if (l.across > c->series_count) l.across = c->series_count;
    l.panel = room / (double)l.across;
    return l;
}

static scale scale_of(const chart_series *s, double width) {
    scale of = {.log = true, .low = (double)INFINITY, .high = 0, .from = 0, .to = width};
    for (size_t i = 0; i < s->count; i++) {
        if (!(s->points[i].y > 0)) continue;
        of.low = fmin(of.low, s->points[i].y);
        of.high = fmax(of.high, s->points[i].y);
    }
    /* The smallest keeps a bar that can be seen. */
    of.low /= pow(fmax(of.high / of.low, 1.5), 0.12);
    return of;
}

static void draw_cell(const surface *s, const chart_series *series, size_t index, size_t row, double x,
                      double y, const scale *of) {
    if (row >= series->count || !isfinite(series->points[row].y)) return;
    const chart_point *point = &series->points[row];
    char value[32];
    chart_show_large(point->y, value);
    surface_begin(s, "%s, %s: %.0f %s", s->c->rows[row], series->name, point->y, point->note);
    surface_text(s, x, y + 12, SURFACE_START, point->y > 0 ? "small" : "small muted", value);
    if (point->note[0] != '\0') surface_text(s, x + of->to, y + 12, SURFACE_END, "small strong", point->note);
    surface_rect(s, x, y + 17, of->to, 1, "peer-fill band");
    if (point->y > 0)
        surface_rect(s, x, y + 15, scale_at(of, point->y), BAR, surface_ink_of(series, index).fill);
    surface_end(s);
}

static void draw_block(const surface *s, const layout *l, size_t first, double top) {
    const chart *c = s->c;
    for (size_t row = 0; row < c->row_count; row++) {
        double y = top + HEADING + (double)row * ROW;
        surface_line(s, s->left, y, s->right, y, "grid");
        surface_text(s, s->left, y + 19, SURFACE_START, "", c->rows[row]);
    }
    for (size_t i = first; i < first + l->across && i < c->series_count; i++) {
        double x = s->left + l->names + (double)(i - first) * l->panel;
        scale of = scale_of(&c->series[i], l->panel - 16);
        char classes[64];
        snprintf(classes, sizeof classes, "small %s", surface_ink_of(&c->series[i], i).text);
        surface_text(s, x, top + 20, SURFACE_START, classes, c->series[i].name);
        for (size_t row = 0; row < c->row_count; row++)
            draw_cell(s, &c->series[i], i, row, x, top + HEADING + (double)row * ROW, &of);
    }
}

void chart_draw_panels(const chart *c, chart_paper paper, FILE *out) {
    layout l = lay_out(c, paper);
    size_t blocks = l.across > 0 ? (c->series_count + l.across - 1) / l.across : 0;
    double block = HEADING + (double)c->row_count * ROW;
    surface s;
    surface_open(&s, c, paper, (double)blocks * (block + BLOCK_GAP), out);
    for (size_t i = 0; i < blocks; i++)
        draw_block(&s, &l, i * l.across, s.top + (double)i * (block + BLOCK_GAP));
    surface_close(&s);
}
