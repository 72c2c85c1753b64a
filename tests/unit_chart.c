/* unit_chart.c: pictures of results: colours that everybody can tell apart, labels that do not lie on each other, text
 * that is XML whatever a file holds. */
#include "../cli/chart_draw.h"
#include "harness.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Colours ---- */

typedef struct rgb {
    double v[3]; /* linear, 0 ... 1 */
} rgb;

static rgb parse(const char *text) {
    unsigned r = 0, g = 0, b = 0;
    rgb colour;
    CHECK(sscanf(text, "#%2x%2x%2x", &r, &g, &b) == 3, "'%s' is no colour", text);
    const unsigned parts[] = {r, g, b};
    for (int i = 0; i < 3; i++) {
        double s = parts[i] / 255.0;
        colour.v[i] = s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
    }
    return colour;
}

/* WCAG 2: how much lighter one of two colours is. */
static double contrast(rgb a, rgb b) {
    double x = 0.2126 * a.v[0] + 0.7152 * a.v[1] + 0.0722 * a.v[2],
           y = 0.2126 * b.v[0] + 0.7152 * b.v[1] + 0.0722 * b.v[2];
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static const char *shade(const chart_colour *c, int dark) {
    return dark ? c->dark : c->light;
}

TEST(chart_contrast_of_text_and_lines) {
    for (int dark = 0; dark < 2; dark++)
        for (size_t i = 0; i < chart_palette_count; i++)
            for (size_t j = 0; j < chart_palette_count; j++) {
                const chart_colour *ground = &chart_palette[i], *mark = &chart_palette[j];
                if (ground->use != CHART_GROUND || (mark->use != CHART_INK && mark->use != CHART_LINE))
                    continue;
                /* Names stand beside lines in the lines' colours, so lines have what text needs. */
                double found = contrast(parse(shade(ground, dark)), parse(shade(mark, dark)));
                CHECK(found >= 4.5, "%s on %s (%s) has a contrast of %.2f", mark->name, ground->name,
                      dark ? "dark" : "light", found);
            }
}

/* Machado, Oliveira and Fernandes 2009, for people without one kind of cone; the first is for those with all. */
static const double sights[4][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
};
static const char *const sight_names[4] = {"all cones", "no red cones", "no green cones", "no blue cones"};

static rgb seen(rgb c, int sight) {
    rgb out;
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int j = 0; j < 3; j++) sum += sights[sight][i][j] * c.v[j];
        out.v[i] = fmin(1, fmax(0, sum));
    }
    return out;
}

/* Ottosson 2020: distances in Oklab are about as large as they look; 0.02 can just be told apart. */
static void to_oklab(rgb c, double lab[3]) {
    double l = cbrt(0.4122214708 * c.v[0] + 0.5363325363 * c.v[1] + 0.0514459929 * c.v[2]),
           m = cbrt(0.2119034982 * c.v[0] + 0.6806995451 * c.v[1] + 0.1073969566 * c.v[2]),
           s = cbrt(0.0883024619 * c.v[0] + 0.2817188376 * c.v[1] + 0.6299787005 * c.v[2]);
    lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
    lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
    lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
}

static double distance(rgb a, rgb b) {
    double x[3], y[3];
    to_oklab(a, x);
    to_oklab(b, y);
    return sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
                (x[2] - y[2]) * (x[2] - y[2]));
}

TEST(chart_colours_stay_apart_for_the_colour_blind) {
    int lines = 0;
    for (size_t i = 0; i < chart_palette_count; i++) lines += chart_palette[i].use == CHART_LINE;
    CHECK(lines == CHART_COLOURS, "%d colours of series, not %d", lines, CHART_COLOURS);
    for (int dark = 0; dark < 2; dark++)
        for (int sight = 0; sight < 4; sight++)
            for (size_t i = 0; i < chart_palette_count; i++)
                for (size_t j = 0; j < i; j++) {
                    const chart_colour *a = &chart_palette[i], *b = &chart_palette[j];
                    if (a->use != CHART_LINE || b->use != CHART_LINE) continue;
                    double found =
                        distance(seen(parse(shade(a, dark)), sight), seen(parse(shade(b, dark)), sight));
                    CHECK(found >= 0.075, "%s and %s (%s, %s) are %.3f apart", a->name, b->name,
                          sight_names[sight], dark ? "dark" : "light", found);
                }
}

/* ---- Labels ---- */

TEST(chart_labels_spread_apart_in_order) {
    for (sampling s = sampling_start(50, 500, 1.0); sampling_next(&s);) {
        double wanted[24], given[24];
        size_t count = (size_t)rng_range(test_random(), 1, 24);
        for (size_t i = 0; i < count; i++) given[i] = wanted[i] = 200 + 190 * rng_real(test_random());
        labels_spread(given, count, 14, 10, 390);
        for (size_t i = 0; i < count; i++) {
            CHECK(given[i] >= 10 - 1e-6 && given[i] <= 390 + 1e-6, "label %zu of %zu is at %g", i, count,
                  given[i]);
            for (size_t j = 0; j < i; j++) {
                CHECK(fabs(given[i] - given[j]) >= 14 - 1e-6, "labels %g and %g touch", given[i], given[j]);
                CHECK((wanted[i] < wanted[j]) == (given[i] < given[j]), "%g and %g changed places", wanted[i],
                      wanted[j]);
            }
        }
    }
}

TEST(chart_labels_that_fit_stay_where_they_are) {
    double places[] = {30, 60, 45};
    labels_spread(places, 3, 14, 0, 100);
    CHECK(places[0] == 30 && places[1] == 60 && places[2] == 45, "%g %g %g", places[0], places[1], places[2]);
}

/* ---- Text and numbers ---- */

/* What a function prints, as a string to be freed. */
static char *printed(void (*print)(const void *data, FILE *out), const void *data) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!CHECK(out != NULL, "no memory")) return NULL;
    print(data, out);
    fclose(out);
    return text;
}

static void print_text(const void *data, FILE *out) {
    chart_print_text(data, out);
}

TEST(chart_text_is_xml) {
    const struct {
        const char *in, *out;
    } cases[] = {{"a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"},
                 {"n × n", "n × n"},
                 {"\001\x7f\x1b", "???"},
                 {"\xff\xc0\xaf", "???"},
                 {"\xe2\x82", "??"},
                 {"\xed\xa0\x80", "???"},
                 {"\xef\xbf\xbf", "???"},
                 {"a\nb\tc", "a b c"},
                 {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = printed(print_text, cases[i].in);
        if (text != NULL) CHECK(strcmp(text, cases[i].out) == 0, "case %zu gives '%s'", i, text);
        free(text);
    }
}

TEST(chart_numbers_for_people) {
    const struct {
        double value;
        const char *plain, *large;
    } cases[] = {{0, "0", "0"},
                 {0.0312, "0.0312", "0.0312"},
                 {0.498, "0.498", "0.498"},
                 {6.297, "6.30", "6.30"},
                 {49.18, "49.2", "49.2"},
                 {99.97, "100", "100"},
                 {1240, "1,240", "1.24k"},
                 {9.999, "10.0", "10.0"},
                 {70866960384, "70,866,960,384", "70.9G"},
                 {999999, "999,999", "1.00M"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char plain[32], large[32];
        chart_show(cases[i].value, plain);
        chart_show_large(cases[i].value, large);
        CHECK(strcmp(plain, cases[i].plain) == 0, "%g is '%s', not '%s'", cases[i].value, plain,
              cases[i].plain);
        CHECK(strcmp(large, cases[i].large) == 0, "%g is '%s', not '%s'", cases[i].value, large,
              cases[i].large);
    }
}

/* ---- Whole charts ---- */

typedef struct job {
    const chart *c;
    chart_paper paper;
} job;

static void print_job(const void *data, FILE *out) {
    const job *j = data;
    chart_draw(j->c, j->paper, out);
}

/* A chart with that many series and rows, some of its numbers missing. */
static chart *make(chart_kind kind, size_t series, size_t rows) {
    chart *c = chart_new(kind, "test");
    snprintf(c->title, sizeof c->title, "A title & <more>");
    c->log = kind == CHART_LINES || kind == CHART_ROOFLINE;
    for (size_t i = 0; i < rows; i++) chart_add_row(c, "a row");
    for (size_t i = 0; i < series; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu series", i);
        chart_series *s = chart_add_series(c, name);
        for (size_t j = 0; j < rows; j++) {
            bool none = rng_range(test_random(), 0, 9) == 0;
            chart_point *p = chart_add_point(s, pow(2, 6 + (double)j),
                                             none ? TEST_NAN : 1 + 100 * fabs(rng_real(test_random())));
            p->low = p->y * 0.9;
            p->high = p->y * 1.1;
            p->throttled = rng_range(test_random(), 0, 3) == 0;
        }
    }
    chart_add_level(c, "peak", 200, false);
    chart_add_level(c, "memory", 10, true);
    return c;
}

TEST(chart_draws_whatever_there_is) {
    static const size_t counts[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {3, 2}, {20, 7}};
    for (int kind = CHART_LINES; kind <= CHART_PANELS; kind++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int paper = CHART_WIDE; paper <= CHART_ALONE; paper++) {
                chart *c = make((chart_kind)kind, counts[i][0], counts[i][1]);
                const job j = {c, (chart_paper)paper};
                char *once = printed(print_job, &j), *again = printed(print_job, &j);
                if (once != NULL && again != NULL) {
                    CHECK(strcmp(once, again) == 0, "kind %d of %zu series is not the same twice", kind,
                          counts[i][0]);
                    CHECK(strstr(once, "nan") == NULL && strstr(once, "inf") == NULL,
                          "kind %d of %zu series has a place that is no number", kind, counts[i][0]);
                    CHECK(strstr(once, "</svg>") != NULL && strstr(once, "<more>") == NULL, "kind %d", kind);
                }
                free(once);
                free(again);
                chart_free(c);
            }
}

TEST(chart_draws_numbers_of_any_size) {
    static const double sizes[] = {1e-300, 1e-9, 1, 1e9, 1e300};
    for (int kind = CHART_LINES; kind <= CHART_PANELS; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
                chart *c = chart_new((chart_kind)kind, "test");
                c->log = kind != CHART_BARS;
                chart_add_series(c, "one");
                chart_add_point(&c->series[0], 128, sizes[i]);
                chart_add_point(&c->series[0], 256, sizes[j]);
                for (int row = 0; row < 2; row++) chart_add_row(c, "row");
                const job drawn = {c, CHART_WIDE};
                char *text = printed(print_job, &drawn);
                CHECK(text != NULL && strlen(text) < 100000, "kind %d of %g and %g", kind, sizes[i],
                      sizes[j]);
                free(text);
                chart_free(c);
            }
}
