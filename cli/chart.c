/* chart.c: the description of a picture.
 *
 * Invariant: every name is cut to its room and ends in a zero; a number that is not known is NaN.
 */
#include "chart.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory) {
    if (memory != NULL) return memory;
    say_error("out of memory");
    exit(EXIT_CHECK);
}

/* Room for one more: arrays are full exactly at the powers of two. */
static void *grow(void *items, size_t count, size_t size) {
    if (count != 0 && (count & (count - 1)) != 0) return items;
    return must(realloc(items, (count == 0 ? 1 : 2 * count) * size));
}

chart *chart_new(chart_kind kind, const char *name) {
    chart *c = must(calloc(1, sizeof *c));
    c->kind = kind;
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

void chart_free(chart *c) {
    if (c == NULL) return;
    for (size_t i = 0; i < c->series_count; i++) free(c->series[i].points);
    free(c->series);
    free(c->rows);
    free(c->row_neutral);
    free(c);
}

chart_series *chart_add_series(chart *c, const char *name) {
    c->series = grow(c->series, c->series_count, sizeof *c->series);
    chart_series *s = &c->series[c->series_count++];
    *s = (chart_series){0};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

chart_point *chart_add_point(chart_series *s, double x, double y) {
    s->points = grow(s->points, s->count, sizeof *s->points);
    chart_point *p = &s->points[s->count++];
    *p = (chart_point){.x = x, .y = y, .low = (double)NAN, .high = (double)NAN};
    return p;
}

size_t chart_add_row(chart *c, const char *name) {
    c->rows = grow(c->rows, c->row_count, sizeof *c->rows);
    c->row_neutral = grow(c->row_neutral, c->row_count, sizeof *c->row_neutral);
    snprintf(c->rows[c->row_count], sizeof *c->rows, "%s", name);
    c->row_neutral[c->row_count] = false;
    return c->row_count++;
}

chart_point *chart_at(chart_series *s, size_t row) {
    while (s->count <= row) chart_add_point(s, (double)s->count, (double)NAN);
    return &s->points[row];
}

void chart_add_level(chart *c, const char *name, double value, bool slope) {
    if (c->level_count == CHART_LEVELS || !(value > 0)) return;
    chart_level *l = &c->levels[c->level_count++];
    *l = (chart_level){.value = value, .slope = slope};
    snprintf(l->name, sizeof l->name, "%s", name);
}

/* Digits in groups of three. */
static void group_digits(double value, char out[32]) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%.0f", value), used = 0;
    for (int i = 0; i < length && used < 30; i++) {
        out[used++] = digits[i];
        int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') out[used++] = ',';
    }
    out[used] = '\0';
}

void chart_show(double value, char out[32]) {
    double size = fabs(value);
    if (!isfinite(value))
        snprintf(out, 32, "–");
    else if (size >= 1e15)
        snprintf(out, 32, "%.2e", value);
    else if (size >= 999.5)
        group_digits(value, out);
    else if (size == 0 || size >= 99.95)
        snprintf(out, 32, "%.0f", value);
    else
        snprintf(out, 32, "%.*f", size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.0995 ? 3 : 4, value);
}

void chart_show_large(double value, char out[32]) {
    static const char letters[] = {'k', 'M', 'G', 'T', 'P'};
    double size = fabs(value);
    size_t step = 0;
    if (!isfinite(value) || size < 1000) {
        if (isfinite(value) && value == floor(value))
            snprintf(out, 32, "%.0f", value);
        else
            chart_show(value, out);
        return;
    }
    for (size /= 1000; size >= 999.5 && step + 1 < sizeof letters; step++) size /= 1000;
    snprintf(out, 32, "%s%.*f%c", value < 0 ? "-" : "",
             size >= 99.95   ? 0
             : size >= 9.995 ? 1
                             : 2,
             size, letters[step]);
}

/* How many bytes of a valid character stand at `text`; 0 if none does. */
static size_t character(const unsigned char *text) {
    if (text[0] < 0x80) return text[0] >= 0x20 && text[0] != 0x7f;
    size_t length = text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
    if (text[0] >= 0xf5) return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    if (text[0] == 0xe0 && text[1] < 0xa0) return 0;
    if (text[0] == 0xed && text[1] > 0x9f) return 0;
    if (text[0] == 0xf0 && text[1] < 0x90) return 0;
    if (text[0] == 0xf4 && text[1] > 0x8f) return 0;
    if (text[0] == 0xef && text[1] == 0xbf && text[2] >= 0xbe) return 0;
    return length;
}

void chart_print_text(const char *text, FILE *out) {
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t length = character(at);
        if (*at == '&')
            fputs("&amp;", out);
        else if (*at == '<')
            fputs("&lt;", out);
        else if (*at == '>')
            fputs("&gt;", out);
        else if (*at == '"')
            fputs("&quot;", out);
        else if (length == 0)
            fputc(*at == '\n' || *at == '\t' ? ' ' : '?', out);
        else
            fwrite(at, 1, length, out);
        at += length > 0 ? length : 1;
    }
}
