/* chart.h: pictures of results, as SVG.
 *
 * A chart is data: rows, series of points, levels to hold them against. One description is drawn as often as wanted,
 * wide or narrow, inside a page or as a file of its own, and as a table.
 *
 *   chart.c           the description: names, series, points
 *   chart_style.c     colours, and the style sheet of a page or a file
 *   chart_kinds.c     which kind is drawn by whom
 *   chart_draw.c      text, lines and axes
 *   chart_labels.c    labels that do not lie on each other
 *   chart_lines.c     rates against sizes
 *   chart_bars.c      rows of bars
 *   chart_roofline.c  points under ceilings
 *   chart_panels.c    a column for each quantity, a row for each rung
 *   chart_table.c     the same numbers as an HTML table
 */
#ifndef CHART_H
#define CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum chart_kind { CHART_LINES, CHART_BARS, CHART_ROOFLINE, CHART_PANELS } chart_kind;
enum { CHART_NAME = 64, CHART_TEXT = 320, CHART_LEVELS = 6 };

/* Lines and rooflines have x and y, bars and panels a y for each row; NaN where there is none. */
typedef struct chart_point {
    double x, y;
    double low, high; /* 10th and 90th percentile; NaN: not known */
    bool throttled;   /* measured with the clocks held back */
    char note[32];    /* beside a bar or in a panel: "0.89", "÷32" */
} chart_point;

typedef struct chart_series {
    char name[CHART_NAME];
    bool neutral; /* somebody else's: in ink, not in a colour */
    chart_point *points;
    size_t count;
} chart_series;

/* A line to hold points against: a value, or in a roofline a rate of bytes (in units of y for each unit of x). */
typedef struct chart_level {
    char name[CHART_NAME];
    double value;
    bool slope;
} chart_level;

typedef struct chart {
    chart_kind kind;
    char name[CHART_NAME]; /* "ladder": what --chart takes */
    char title[CHART_TEXT], subtitle[CHART_TEXT];
    char x_title[CHART_NAME], y_title[CHART_NAME]; /* of bars: y is the length */
    char row_title[CHART_NAME], note_title[CHART_NAME];
    bool log; /* y grows by factors; x of lines and rooflines always does */
    char (*rows)[CHART_NAME];
    bool *row_neutral; /* the bars of this row are somebody else's */
    size_t row_count;
    chart_series *series;
    size_t series_count;
    chart_level levels[CHART_LEVELS];
    size_t level_count;
} chart;

/* Memory that cannot be had ends the program with a sentence. What is returned is valid until the next of its kind is
 * added. */
chart *chart_new(chart_kind kind, const char *name);
void chart_free(chart *c);
chart_series *chart_add_series(chart *c, const char *name);
chart_point *chart_add_point(chart_series *s, double x, double y);
size_t chart_add_row(chart *c, const char *name);
/* The point of a series at a row; points between are made, empty. */
chart_point *chart_at(chart_series *s, size_t row);
/* Levels beyond the last are left out. A value that is not positive is none. */
void chart_add_level(chart *c, const char *name, double value, bool slope);

/* How it is drawn. */
typedef enum chart_paper {
    CHART_WIDE,   /* inside a page, for a screen or paper */
    CHART_NARROW, /* inside a page, for a phone */
    CHART_ALONE   /* a file of its own: with its title and its style */
} chart_paper;
void chart_draw(const chart *c, chart_paper paper, FILE *out);
/* The numbers as an HTML table. */
void chart_print_table(const chart *c, FILE *out);

/* The style sheet that charts in a page need; it also sets the colours the page may use. */
void chart_print_style(FILE *out);

/* Text as it may stand in XML: escaped, control characters and broken UTF-8 replaced. */
void chart_print_text(const char *text, FILE *out);
/* A number for people: three digits that matter, "49.2", "0.031", "1,240". */
void chart_show(double value, char out[32]);
/* The same with a letter for large ones: "1.07G". */
void chart_show_large(double value, char out[32]);

/* What the test of the palette looks at: `#rrggbb` for light and dark. */
typedef struct chart_colour {
    const char *name; /* of its CSS variable */
    const char *light, *dark;
    enum {
        CHART_GROUND,
        CHART_INK,
        CHART_LINE,
        CHART_FAINT
    } use; /* ground under all; text; lines and text; grid */
} chart_colour;
extern const chart_colour chart_palette[];
extern const size_t chart_palette_count;
enum { CHART_COLOURS = 6 };

#endif
