/* chart_kinds.c: which kind of chart is drawn by whom. */
#include "chart_draw.h"

void chart_draw(const chart *c, chart_paper paper, FILE *out) {
    switch (c->kind) {
    case CHART_LINES: chart_draw_lines(c, paper, out); break;
    case CHART_BARS: chart_draw_bars(c, paper, out); break;
    case CHART_ROOFLINE: chart_draw_roofline(c, paper, out); break;
    case CHART_PANELS: chart_draw_panels(c, paper, out); break;
    }
}
