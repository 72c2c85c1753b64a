/* chart_draw.h: what the drawers of the kinds of charts share. */
#ifndef CHART_DRAW_H
#define CHART_DRAW_H

#include "chart.h"

/* Where is drawn, in pixels; the plot lies between the four edges. */
typedef struct surface {
    const chart *c;
    chart_paper paper;
    FILE *out;
    double width, height;
    double left, right, top, bottom;
} surface;

/* Begins the file or element, with title and description; `height` is what the kind needs below the title. The edges
 * are set to the whole area below it. */
void surface_open(surface *s, const chart *c, chart_paper paper, double height, FILE *out);
void surface_close(surface *s);
/* The width that a paper gives, for kinds whose height depends on it. */
double surface_width(chart_paper paper);

typedef enum surface_anchor { SURFACE_START, SURFACE_MIDDLE, SURFACE_END } surface_anchor;
/* `classes` are of the style sheet. */
void surface_text(const surface *s, double x, double y, surface_anchor anchor, const char *classes,
                  const char *text);
void surface_line(const surface *s, double x1, double y1, double x2, double y2, const char *classes);
void surface_rect(const surface *s, double x, double y, double width, double height, const char *classes);
/* Opens and closes something with a tooltip. */
void surface_begin(const surface *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void surface_end(const surface *s);
/* About how wide a text is: fonts differ, so it is an upper guess. */
double surface_text_width(const char *text, double size);

/* The classes of the n-th series: its line, its fill, its text. Valid until the next call of the same kind. */
typedef struct surface_ink {
    char line[32], fill[32], text[48];
} surface_ink;
surface_ink surface_ink_of(const chart_series *series, size_t index);
/* The mark of the n-th series at a place. */
void surface_mark(const surface *s, double x, double y, size_t index, const char *classes);
/* The sign of a point whose clocks were held back. */
void surface_throttled(const surface *s, double x, double y);

typedef struct scale {
    bool log;
    double low, high; /* values */
    double from, to;  /* pixels */
} scale;
double scale_at(const scale *s, double value);
/* Widens the range to whole ticks and calls `each` with every tick. */
void scale_widen(scale *s);
void scale_each_tick(const scale *s, void (*each)(void *data, double value), void *data);

/* The range of all points and levels that there are; false if there are none. */
bool chart_range_y(const chart *c, double *low, double *high);
bool chart_range_x(const chart *c, double *low, double *high);
/* The horizontal grid with its numbers and the title of y, above. */
void surface_y_axis(const surface *s, const scale *y);
/* The powers of two that the points have, and the title of x, below. */
void surface_x_axis_sizes(const surface *s, const scale *x);

/* Moves labels apart: places[] are wanted and become given, at least `distance` from each other and within low ...
 * high where they fit. They need not be sorted. */
void labels_spread(double *places, size_t count, double distance, double low, double high);

void chart_draw_lines(const chart *c, chart_paper paper, FILE *out);
void chart_draw_bars(const chart *c, chart_paper paper, FILE *out);
void chart_draw_roofline(const chart *c, chart_paper paper, FILE *out);
void chart_draw_panels(const chart *c, chart_paper paper, FILE *out);

#endif
