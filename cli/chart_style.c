/* chart_style.c: the colours of charts and pages, for light and for dark.
 *
 * Invariant: tests/unit_chart.c holds the palette to this: text and lines have a contrast of at least 4.5 to 1 with
 * every ground, and the six colours of series stay apart for people who do not see red, green or blue. Rungs beyond
 * the sixth take the colours again, with other dashes and marks.
 */
#include "chart.h"

const chart_colour chart_palette[] = {
    {"page", "#f5f6f8", "#0e1114", CHART_GROUND},  {"ground", "#ffffff", "#161a1f", CHART_GROUND},
    {"ink", "#1b1f24", "#e8ebee", CHART_INK},      {"muted", "#57606a", "#a4aeb9", CHART_INK},
    {"warn", "#9a3412", "#fdba74", CHART_INK},     {"grid", "#dfe3e8", "#2c333b", CHART_FAINT},
    {"series0", "#016bbc", "#5691e9", CHART_LINE}, {"series1", "#dd0301", "#ff7f50", CHART_LINE},
    {"series2", "#086853", "#09c187", CHART_LINE}, {"series3", "#b1317e", "#f08cc8", CHART_LINE},
    {"series4", "#5b6f1e", "#e7be3e", CHART_LINE}, {"series5", "#4d3a9c", "#b7a8ff", CHART_LINE},
};
const size_t chart_palette_count = sizeof chart_palette / sizeof *chart_palette;

static void print_colours(FILE *out, bool dark) {
    fputs(":root{", out);
    for (size_t i = 0; i < chart_palette_count; i++)
        fprintf(out, "--%s:%s;", chart_palette[i].name,
                dark ? chart_palette[i].dark : chart_palette[i].light);
    fprintf(out, "color-scheme:%s}", dark ? "dark" : "light");
}

void chart_print_style(FILE *out) {
    print_colours(out, false);
    fputs("\n@media screen and (prefers-color-scheme:dark){", out);
    print_colours(out, true);
    fputs("}\n"
          ".chart text{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu "
          "Sans\",sans-serif;fill:var(--ink)}\n"
          ".chart .muted{fill:var(--muted)}.chart .small{font-size:11px}.chart .strong{font-weight:600}\n"
          ".chart .heading{font-size:17px;font-weight:650}.chart .warn{fill:var(--warn)}\n"
          /* A label is legible on top of lines: its outline has the colour of the ground. */
          ".chart .halo{paint-order:stroke;stroke:var(--ground);stroke-width:4px;stroke-linejoin:round}\n"
          ".chart .ground{fill:var(--ground)}.chart .grid{stroke:var(--grid);stroke-width:1;fill:none}\n"
          ".chart .axis{stroke:var(--muted);stroke-width:1;fill:none}\n"
          ".chart .leader{stroke:var(--muted);stroke-width:.75;fill:none;opacity:.7}\n"
          ".chart .level{stroke:var(--ink);stroke-width:1.25;fill:none}\n"
          ".chart .throttled{stroke:var(--warn);stroke-width:2;fill:none}\n"
          ".chart .line{fill:none;stroke-width:2;stroke-linejoin:round}\n"
          ".chart .band{stroke:none;opacity:.22}.chart "
          ".whisker{stroke:var(--ink);stroke-width:1.25;fill:none}\n"
          ".chart .d1{stroke-dasharray:7 3}.chart .d2{stroke-dasharray:2 3}.chart .d3{stroke-dasharray:9 3 2 "
          "3}\n"
          ".chart .peer{stroke:var(--ink)}.chart .peer-fill{fill:var(--muted)}\n",
          out);
    for (int i = 0; i < CHART_COLOURS; i++)
        fprintf(out, ".chart .s%d{stroke:var(--series%d)}.chart .f%d,.chart text.f%d{fill:var(--series%d)}\n",
                i, i, i, i, i);
}
