/* chart_draw.c: text, lines, marks, scales and axes.
 *
 * Invariant: coordinates have one decimal and nothing depends on the time or the place, so that the same chart is the
 * same bytes everywhere.
 */
#include "chart_draw.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { WIDTH_WIDE = 760, WIDTH_NARROW = 360, TITLE_HEIGHT = 58, TICKS_MOST = 20 };

double surface_width(chart_paper paper) {
    return paper == CHART_NARROW ? WIDTH_NARROW : WIDTH_WIDE;
}

void surface_open(surface *s, const chart *c, chart_paper paper, double height, FILE *out) {
    double above = paper == CHART_ALONE ? TITLE_HEIGHT : 0, margin = paper == CHART_ALONE ? 12 : 0;
    *s = (surface){.c = c, .paper = paper, .out = out, .width = surface_width(paper) + 2 * margin};
    s->height = height + above + margin;
    s->left = margin;
    s->right = s->width - margin;
    s->top = above;
    s->bottom = s->height - margin;
    fprintf(out, "<svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", s->width,
            s->height);
    chart_print_text(c->title, out);
    fputs(". ", out);
    chart_print_text(c->subtitle, out);
    fputc('"', out);
    if (paper == CHART_ALONE)
        fprintf(out, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\"", s->width,
                s->height);
    fputs(">\n", out);
    if (paper != CHART_ALONE) return;
    fputs("<title>", out);
    chart_print_text(c->title, out);
    fputs("</title>\n<style>\n", out);
    chart_print_style(out);
    fputs("</style>\n", out);
    surface_rect(s, 0, 0, s->width, s->height, "ground");
    surface_text(s, s->left, 26, SURFACE_START, "heading", c->title);
    surface_text(s, s->left, 45, SURFACE_START, "muted", c->subtitle);
}

void surface_close(surface *s) {
    fputs("</svg>\n", s->out);
}

void surface_text(const surface *s, double x, double y, surface_anchor anchor, const char *classes,
                  const char *text) {
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    fprintf(s->out, "<text x=\"%.1f\" y=\"%.1f\"%s", x, y, anchors[anchor]);
    if (classes[0] != '\0') fprintf(s->out, " class=\"%s\"", classes);
    fputc('>', s->out);
    chart_print_text(text, s->out);
    fputs("</text>\n", s->out);
}

void surface_line(const surface *s, double x1, double y1, double x2, double y2, const char *classes) {
    fprintf(s->out, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, classes);
}

void surface_rect(const surface *s, double x, double y, double width, double height, const char *classes) {
    fprintf(s->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n", x, y,
            fmax(width, 0), height, classes);
}

void surface_begin(const surface *s, const char *format, ...) {
    char tooltip[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(tooltip, sizeof tooltip, format, args);
    va_end(args);
    fputs("<g><title>", s->out);
    chart_print_text(tooltip, s->out);
    fputs("</title>", s->out);
}

void surface_end(const surface *s) {
    fputs("</g>\n", s->out);
}

double surface_text_width(const char *text, double size) {
    size_t characters = 0;
    for (; *text != '\0'; text++) characters += ((unsigned char)*text & 0xc0) != 0x80;
    return 0.6 * size * (double)characters;
}

surface_ink surface_ink_of(const chart_series *series, size_t index) {
    surface_ink ink;
    int colour = (int)(index % CHART_COLOURS), turn = (int)(index / CHART_COLOURS % 4);
    if (series->neutral) return (surface_ink){"line peer d3", "peer-fill", "strong"};
    snprintf(ink.line, sizeof ink.line, "line s%d d%d", colour, turn);
    snprintf(ink.fill, sizeof ink.fill, "f%d", colour);
    snprintf(ink.text, sizeof ink.text, "strong f%d", colour);
    return ink;
}

void surface_mark(const surface *s, double x, double y, size_t index, const char *classes) {
    switch (index / CHART_COLOURS % 3) {
    case 0: fprintf(s->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" class=\"%s\"/>", x, y, classes); break;
    case 1:
        fprintf(s->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" class=\"%s\"/>", x - 3, y - 3,
                classes);
        break;
    default: fprintf(s->out, "<path d=\"M%.1f %.1fl4 7h-8z\" class=\"%s\"/>", x, y - 4.5, classes); break;
    }
}

void surface_throttled(const surface *s, double x, double y) {
    fprintf(s->out, "<path d=\"M%.1f %.1fl6.5 6.5l-6.5 6.5l-6.5 -6.5z\" class=\"throttled\"/>", x, y - 6.5);
}

/* ---- Scales ---- */

double scale_at(const scale *s, double value) {
    double share = s->log ? (log(value) - log(s->low)) / (log(s->high) - log(s->low))
                          : (value - s->low) / (s->high - s->low);
    return s->from + share * (s->to - s->from);
}

/* The step between ticks: 1, 2 or 5 times a power of ten, so that there are about five. */
static double step_of(const scale *s) {
    double wanted = (s->high - s->low) / 5, power = pow(10, floor(log10(wanted))), times = wanted / power;
    return power * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
}

void scale_widen(scale *s) {
    if (s->log) {
        double margin = fmax(1.05, exp(0.04 * (log(s->high) - log(s->low))));
        s->low = fmax(s->low / margin, 1e-300);
        s->high = fmin(s->high * margin, 1e300);
        return;
    }
    s->low = 0;
    if (!(s->high > 0)) s->high = 1;
    double step = step_of(s);
    s->high = step * ceil(s->high / step - 1e-9);
}

/* Whether 1, 2 and 5 of each power of ten are ticks, or only 1. */
static bool is_tick(double times, double decades) {
    return times == 1 || ((times == 2 || times == 5) && decades < 4);
}

void scale_each_tick(const scale *s, void (*each)(void *data, double value), void *data) {
    if (!s->log) {
        double step = step_of(s);
        for (int i = 0; i < TICKS_MOST && i * step <= s->high * (1 + 1e-9); i++) each(data, i * step);
        return;
    }
    double decades = log10(s->high) - log10(s->low);
    int first = (int)floor(log10(s->low)), last = (int)floor(log10(s->high));
    for (int power = first; power <= last; power += 1 + (last - first) / TICKS_MOST)
        for (double times = 1; times < 10; times++) {
            double value = times * pow(10, power);
            if (value >= s->low && value <= s->high && is_tick(times, decades)) each(data, value);
        }
}

/* ---- Axes ---- */

static void take(double value, bool positive, double *low, double *high) {
    if (!isfinite(value) || (positive && !(value > 0))) return;
    if (!(value >= *low)) *low = value;
    if (!(value <= *high)) *high = value;
}

bool chart_range_y(const chart *c, double *low, double *high) {
    *low = *high = (double)NAN;
    for (size_t i = 0; i < c->series_count; i++)
        for (size_t j = 0; j < c->series[i].count; j++) {
            const chart_point *p = &c->series[i].points[j];
            take(p->y, c->log, low, high);
            take(p->low, c->log, low, high);
            take(p->high, c->log, low, high);
        }
    for (size_t i = 0; i < c->level_count; i++)
        if (!c->levels[i].slope) take(c->levels[i].value, c->log, low, high);
    return isfinite(*low);
}

bool chart_range_x(const chart *c, double *low, double *high) {
    *low = *high = (double)NAN;
    for (size_t i = 0; i < c->series_count; i++)
        for (size_t j = 0; j < c->series[i].count; j++) take(c->series[i].points[j].x, true, low, high);
    return isfinite(*low);
}

typedef struct axis {
    const surface *s;
    const scale *of;
} axis;

static void y_tick(void *data, double value) {
    const axis *a = data;
    char text[32];
    double y = scale_at(a->of, value);
    chart_show(value, text);
    /* Trailing zeros say nothing on an axis. */
    if (strchr(text, '.') != NULL) {
        size_t end = strlen(text);
        while (text[end - 1] == '0') text[--end] = '\0';
        if (text[end - 1] == '.') text[end - 1] = '\0';
    }
    surface_line(a->s, a->s->left, y, a->s->right, y, "grid");
    surface_text(a->s, a->s->left - 6, y + 4, SURFACE_END, "muted small", text);
}

void surface_y_axis(const surface *s, const scale *y) {
    axis a = {s, y};
    scale_each_tick(y, y_tick, &a);
    surface_text(s, s->left - 40, s->top - 10, SURFACE_START, "muted", s->c->y_title);
}

void surface_x_axis_sizes(const surface *s, const scale *x) {
    surface_line(s, s->left, s->bottom, s->right, s->bottom, "axis");
    double first = pow(2, ceil(log2(x->low))), room = scale_at(x, 2 * first) - scale_at(x, first);
    /* Where they would touch, only every other number is written, the last one always. */
    int others = room < 36 ? 2 : 1, place = (int)floor(log2(x->high / first) + 1e-9);
    for (double size = first; size <= x->high; size *= 2, place--) {
        char text[32];
        double at = scale_at(x, size);
        snprintf(text, sizeof text, "%.0f", size);
        surface_line(s, at, s->bottom, at, s->bottom + 4, "axis");
        if (place % others != 0) continue;
        surface_text(s, at, s->bottom + 17, SURFACE_MIDDLE, "muted small", text);
    }
    surface_text(s, (s->left + s->right) / 2, s->bottom + 35, SURFACE_MIDDLE, "muted", s->c->x_title);
}
