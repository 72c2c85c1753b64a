/* chart_roofline.c: a point for each rung, by operations per byte and by rate, under the ceilings of memory and
 * arithmetic.
 *
 * Invariant: every point has its name beside it; a name lies on no other name and on no point, and on no ceiling where
 * there is room elsewhere.
 */
#include "chart_draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_SIZE = 12, LABEL_HEIGHT = 13, MARK = 5, SLOPE_BOXES = 24 };

typedef struct box {
    double left, top, right, bottom;
} box;

typedef struct segment {
    double x1, y1, x2, y2;
} segment;

typedef struct plot {
    surface s;
    scale x, y;
    segment ceilings[CHART_LEVELS];
    size_t ceiling_count;
    box *taken; /* points first, then the labels placed so far */
    size_t taken_count;
} plot;

static bool is_there(const chart_series *s) {
    return s->count > 0 && s->points[0].x > 0 && s->points[0].y > 0 && isfinite(s->points[0].y);
}

static double peak_of(const chart *c) {
    for (size_t i = 0; i < c->level_count; i++)
        if (!c->levels[i].slope) return c->levels[i].value;
    return (double)INFINITY;
}

/* How far a place is from the nearest point of the chart. */
static double clearance(const plot *p, double x, double y) {
    double nearest = 1e9;
    for (size_t i = 0; i < p->s.c->series_count; i++) {
        const chart_series *s = &p->s.c->series[i];
        if (!is_there(s)) continue;
        nearest =
            fmin(nearest, hypot(scale_at(&p->x, s->points[0].x) - x, scale_at(&p->y, s->points[0].y) - y));
    }
    return nearest;
}

/* Where along its line the name of a slope begins: where points are furthest. */
static double find_start(const plot *p, const segment *line, double length, double width) {
    double best = 12, most = -1, dx = (line->x2 - line->x1) / length, dy = (line->y2 - line->y1) / length;
    for (double start = 12; start + width + 12 < length; start += 8) {
        double least = 1e9;
        for (double at = 0; at <= width; at += width / 4)
            least = fmin(least, clearance(p, line->x1 + (start + at) * dx, line->y1 + (start + at) * dy));
        if (least > most + 1) most = least, best = start;
    }
    return best;
}

/* The name leans as its line does and lies above it; its place is taken. */
static void draw_slope_name(plot *p, const segment *line, const char *name) {
    double dx = line->x2 - line->x1, dy = line->y2 - line->y1, length = hypot(dx, dy), angle = atan2(dy, dx);
    double width = surface_text_width(name, 11), start = find_start(p, line, length, width);
    fprintf(p->s.out,
            "<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" class=\"small strong halo\" dy=\"-5\">",
            line->x1 + start * cos(angle), line->y1 + start * sin(angle), angle * 180 / acos(-1));
    chart_print_text(name, p->s.out);
    fputs("</text>\n", p->s.out);
    for (int i = 0; i <= SLOPE_BOXES / 2; i++) {
        double at = start + width * i / (SLOPE_BOXES / 2.0), x = line->x1 + at * cos(angle) + 9 * sin(angle),
               y = line->y1 + at * sin(angle) - 9 * cos(angle);
        p->taken[p->taken_count++] = (box){x - 6, y - 6, x + 6, y + 6};
    }
}

/* A slope from where it enters the plot to the roof. */
static bool slope_line(const plot *p, const chart_level *level, segment *line) {
    double peak = fmin(peak_of(p->s.c), p->y.high), from = fmax(p->x.low, p->y.low / level->value),
           to = fmin(p->x.high, peak / level->value);
    if (!(to > from)) return false;
    *line = (segment){scale_at(&p->x, from), scale_at(&p->y, from * level->value), scale_at(&p->x, to),
                      scale_at(&p->y, to * level->value)};
    return true;
}

static void add_ceiling(plot *p, const segment *line) {
    p->ceilings[p->ceiling_count++] = *line;
    surface_line(&p->s, line->x1, line->y1, line->x2, line->y2, "level");
}

static void draw_ceilings(plot *p) {
    const chart *c = p->s.c;
    double highest = 0;
    segment line;
    for (size_t i = 0; i < c->level_count; i++)
        if (c->levels[i].slope) highest = fmax(highest, c->levels[i].value);
    for (size_t i = 0; i < c->level_count; i++) {
        const chart_level *level = &c->levels[i];
        if (level->slope) {
            if (slope_line(p, level, &line)) add_ceiling(p, &line);
            continue;
        }
        double x = scale_at(&p->x, fmax(p->x.low, highest > 0 ? level->value / highest : 0)),
               y = scale_at(&p->y, level->value);
        add_ceiling(p, &(segment){x, y, p->s.right, y});
        surface_text(&p->s, x + 8, y - 6, SURFACE_START, "small strong halo", level->name);
        p->taken[p->taken_count++] = (box){x + 8, y - 18, x + 8 + surface_text_width(level->name, 11), y - 2};
    }
    for (size_t i = 0; i < c->level_count; i++)
        if (c->levels[i].slope && slope_line(p, &c->levels[i], &line))
            draw_slope_name(p, &line, c->levels[i].name);
}

static void x_tick(void *data, double value) {
    const plot *p = data;
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    double x = scale_at(&p->x, value);
    surface_line(&p->s, x, p->s.top, x, p->s.bottom, "grid");
    surface_text(&p->s, x, p->s.bottom + 16, SURFACE_MIDDLE, "small muted", text);
}

/* ---- Names ---- */

static bool overlaps(const box *a, const box *b) {
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Whether a line passes through a box: what the box's edges leave of it. */
static bool crosses(const segment *l, const box *b) {
    double from = 0, to = 1, d[] = {l->x2 - l->x1, l->y2 - l->y1}, start[] = {l->x1, l->y1};
    const double low[] = {b->left, b->top}, high[] = {b->right, b->bottom};
    for (int i = 0; i < 2; i++) {
        if (d[i] == 0 && (start[i] < low[i] || start[i] > high[i])) return false;
        if (d[i] == 0) continue;
        double enter = (low[i] - start[i]) / d[i], leave = (high[i] - start[i]) / d[i];
        from = fmax(from, fmin(enter, leave));
        to = fmin(to, fmax(enter, leave));
    }
    return from < to;
}

static bool is_free(const plot *p, const box *b, bool strict) {
    for (size_t i = 0; strict && i < p->ceiling_count; i++)
        if (crosses(&p->ceilings[i], b)) return false;
    if (b->left < p->s.left + 2 || b->right > p->s.right || b->top < p->s.top || b->bottom > p->s.bottom)
        return false;
    for (size_t i = 0; i < p->taken_count; i++)
        if (overlaps(b, &p->taken[i])) return false;
    return true;
}

typedef struct direction {
    int x, y;
} direction;

static box label_box(double x, double y, direction d, double distance, double width) {
    double reach = distance * (d.x != 0 && d.y != 0 ? 0.75 : 1), at_x = x + d.x * reach,
           at_y = y + d.y * reach;
    double left = d.x > 0 ? at_x : d.x < 0 ? at_x - width : at_x - width / 2;
    double top = d.y > 0 ? at_y : d.y < 0 ? at_y - LABEL_HEIGHT : at_y - LABEL_HEIGHT / 2.0;
    return (box){left, top, left + width, top + LABEL_HEIGHT};
}

/* The nearest free place around a point, beside it first; with strict, one that no ceiling passes through. */
static bool find_place(const plot *p, double x, double y, double width, bool strict, box *place) {
    static const direction around[] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
    for (double distance = 8; distance < (strict ? 50 : 160); distance += 7)
        for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
            *place = label_box(x, y, around[i], distance, width);
            if (is_free(p, place, strict)) return true;
        }
    return false;
}

/* On narrow paper a rung's number has to do. */
static void short_name(const plot *p, const char *name, char out[CHART_NAME]) {
    size_t digits = strspn(name, "0123456789");
    snprintf(out, CHART_NAME, "%s", name);
    if (p->s.paper == CHART_NARROW && digits > 0 && name[digits] == ' ') out[digits] = '\0';
}

static void draw_label(plot *p, const chart_series *series, size_t index) {
    double x = scale_at(&p->x, series->points[0].x), y = scale_at(&p->y, series->points[0].y);
    char name[CHART_NAME], classes[64];
    short_name(p, series->name, name);
    double width = surface_text_width(name, LABEL_SIZE);
    box place;
    if (!find_place(p, x, y, width, true, &place) && !find_place(p, x, y, width, false, &place))
        place = label_box(x, y, (direction){1, 0}, 8, width);
    p->taken[p->taken_count++] = place;
    /* From the point to the nearest spot of the label's frame, if that is not beside it anyway. */
    double to_x = fmax(place.left, fmin(x, place.right)), to_y = fmax(place.top, fmin(y, place.bottom));
    if (hypot(to_x - x, to_y - y) > 12) surface_line(&p->s, x, y, to_x, to_y, "leader");
    bool left = place.right < x;
    snprintf(classes, sizeof classes, "halo %s", surface_ink_of(series, index).text);
    surface_text(&p->s, left ? place.right : place.left, place.top + LABEL_HEIGHT - 3,
                 left ? SURFACE_END : SURFACE_START, classes, name);
}

/* From top to bottom: the series after `last` (at first series_count), or series_count if there is none. */
static size_t first_below(const chart *c, size_t last) {
    size_t best = c->series_count;
    for (size_t i = 0; i < c->series_count; i++) {
        if (!is_there(&c->series[i]) || i == last) continue;
        double y = c->series[i].points[0].y;
        double above = last < c->series_count ? c->series[last].points[0].y : (double)INFINITY;
        if (y > above || (y == above && i < last)) continue;
        if (best == c->series_count || y > c->series[best].points[0].y) best = i;
    }
    return best;
}

static void draw_points(plot *p) {
    const chart *c = p->s.c;
    for (size_t i = 0; i < c->series_count; i++) {
        if (!is_there(&c->series[i])) continue;
        double x = scale_at(&p->x, c->series[i].points[0].x), y = scale_at(&p->y, c->series[i].points[0].y);
        p->taken[p->taken_count++] = (box){x - MARK, y - MARK, x + MARK, y + MARK};
    }
    for (size_t i = first_below(c, c->series_count); i < c->series_count; i = first_below(c, i))
        draw_label(p, &c->series[i], i);
    for (size_t i = 0; i < c->series_count; i++) {
        const chart_series *s = &c->series[i];
        if (!is_there(s)) continue;
        char rate[32], intensity[32];
        chart_show(s->points[0].y, rate);
        chart_show(s->points[0].x, intensity);
        surface_begin(&p->s, "%s: %s %s at %s %s", s->name, rate, c->y_title, intensity, c->x_title);
        double x = scale_at(&p->x, s->points[0].x), y = scale_at(&p->y, s->points[0].y);
        if (s->points[0].throttled) surface_throttled(&p->s, x, y);
        surface_mark(&p->s, x, y, i, surface_ink_of(s, i).fill);
        surface_end(&p->s);
    }
}

static bool prepare(plot *p) {
    const chart *c = p->s.c;
    if (!chart_range_x(c, &p->x.low, &p->x.high) || !chart_range_y(c, &p->y.low, &p->y.high)) return false;
    /* Room to see the slopes begin and the roof lie flat. */
    p->x.low /= 1.8;
    p->x.high *= 3.6;
    p->y.low /= 1.6;
    p->y.high *= 1.5;
    p->x.from = p->s.left, p->x.to = p->s.right;
    p->y.from = p->s.bottom, p->y.to = p->s.top;
    p->taken = calloc(2 * c->series_count + CHART_LEVELS * (SLOPE_BOXES + 1), sizeof *p->taken);
    return p->taken != NULL;
}

void chart_draw_roofline(const chart *c, chart_paper paper, FILE *out) {
    plot p = {.x = {.log = true}, .y = {.log = true}};
    surface_open(&p.s, c, paper, paper == CHART_NARROW ? 400 : 460, out);
    p.s.left += 48;
    p.s.right -= 8;
    p.s.top += 30;
    p.s.bottom -= 44;
    if (prepare(&p)) {
        surface_y_axis(&p.s, &p.y);
        scale_each_tick(&p.x, x_tick, &p);
        surface_line(&p.s, p.s.left, p.s.bottom, p.s.right, p.s.bottom, "axis");
        surface_text(&p.s, (p.s.left + p.s.right) / 2, p.s.bottom + 35, SURFACE_MIDDLE, "muted", c->x_title);
        draw_ceilings(&p);
        draw_points(&p);
    }
    free(p.taken);
    surface_close(&p.s);
}
