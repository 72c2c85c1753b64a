/* report_page.c: the page: one file of HTML with its pictures and its style in it.
 *
 * Invariant: nothing is fetched and nothing is run: no address, no script. Every figure says whether it was measured,
 * simulated or predicted, and has the command under it that makes it again.
 */
#include "environment.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

static const char *const origin_names[] =
    {[REPORT_MEASURED] = "measured", [REPORT_PREDICTED] = "predicted", [REPORT_SIMULATED] = "simulated"};

static const char page_style[] =
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,\"Segoe "
    "UI\",Roboto,"
    "\"DejaVu Sans\",sans-serif}\n"
    "main,header,footer{max-width:860px;margin:0 auto;padding:0 24px}\n"
    "header{padding-top:40px}h1{font-size:34px;line-height:1.15;margin:0 0 6px;letter-spacing:-.01em}\n"
    "h2{font-size:22px;line-height:1.25;margin:0 0 4px}h3{font-size:16px;margin:20px 0 4px}\n"
    "p{margin:8px 0}.lead{color:var(--muted);margin:0}a{color:var(--series0)}\n"
    "section{background:var(--ground);border:1px solid var(--grid);border-radius:10px;padding:22px "
    "24px;margin:22px 0}\n"
    ".tiles{display:flex;flex-wrap:wrap;gap:12px;margin:22px 0;padding:0;list-style:none}\n"
    ".tiles li{flex:1 1 150px;background:var(--ground);border:1px solid "
    "var(--grid);border-radius:10px;padding:12px 16px}\n"
    ".tiles b{display:block;font-size:27px;line-height:1.2;letter-spacing:-.01em}.tiles "
    "span{color:var(--muted);font-size:14px}\n"
    "nav ul{display:flex;flex-wrap:wrap;gap:4px 18px;margin:8px 0;padding:0;list-style:none}\n"
    ".origin{color:var(--muted);font-size:14px;margin:0 0 14px}\n"
    ".badge{display:inline-block;border:1.5px solid currentColor;border-radius:99px;padding:0 "
    "9px;font-size:13px;"
    "font-weight:600;margin-right:6px}\n"
    ".measured{color:var(--series2)}.predicted{color:var(--series3)}.simulated{color:var(--series5)}\n"
    "figure{margin:0}svg.chart{display:block;width:100%;height:auto;overflow:visible}.narrow{display:none}\n"
    "figcaption{font-size:15px;margin-top:10px;color:var(--muted)}\n"
    "pre{background:var(--page);border:1px solid var(--grid);border-radius:6px;padding:9px 12px;margin:12px "
    "0 0;"
    "font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans "
    "Mono\",monospace;white-space:pre-wrap;"
    "overflow-wrap:anywhere}\n"
    "code{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}\n"
    "details{margin-top:10px;font-size:14px}summary{cursor:pointer;color:var(--muted)}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;margin-top:8px;font-variant-numeric:tabular-nums}"
    "\n"
    "th,td{padding:3px 12px 3px 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}\n"
    "th:first-child{text-align:left}thead th{color:var(--muted);font-weight:600}tbody th{font-weight:400}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;margin:10px 0;font-size:15px}\n"
    "dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}ul.plain{padding-left:20px}\n"
    "footer{color:var(--muted);font-size:14px;padding-bottom:40px}\n"
    "@media (max-width:640px){main,header,footer{padding:0 12px}header{padding-top:24px}h1{font-size:27px}\n"
    "section{padding:16px 12px;border-radius:8px}.wide{display:none}.narrow{display:block}.tiles "
    "li{flex-basis:130px;padding:10px 12px}.tiles b{font-size:21px}\n"
    "dl{grid-template-columns:1fr}dt{margin-top:6px}}\n"
    "@media "
    "print{body{background:#fff;font-size:11pt}section{border:0;padding:0;break-inside:avoid}nav,details{"
    "display:none}\n"
    ".wide{display:block}.narrow{display:none}main,header,footer{max-width:none;padding:0}.tiles "
    "li{border-color:#999}}\n";

static void print_element(FILE *out, const char *tag, const char *text) {
    fprintf(out, "<%s>", tag);
    chart_print_text(text, out);
    fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

static void print_badge(FILE *out, report_origin origin) {
    fprintf(out, "<span class=\"badge %s\">%s</span>", origin_names[origin], origin_names[origin]);
}

/* ---- The top ---- */

static void print_tile(FILE *out, const char *value, const char *text) {
    fputs("<li><b>", out);
    chart_print_text(value, out);
    fputs("</b><span>", out);
    chart_print_text(text, out);
    fputs("</span></li>\n", out);
}

static const report_rate *fastest(const report *r, const report_group *group, int64_t size) {
    const report_rate *best = NULL;
    for (size_t i = 0; i < r->rate_count; i++)
        if (report_in_group(group, &r->rates[i]) && r->rates[i].m == size &&
            !report_is_peer(r, group, r->rates[i].kernel) &&
            (best == NULL || r->rates[i].gflops > best->gflops))
            best = &r->rates[i];
    return best;
}

/* The numbers somebody looks for first, of one family. */
static void print_tiles(const report *r, const char *family, FILE *out) {
    report_group group;
    char value[48], text[200], number[32];
    if (!report_find_group(r, family, "f32", &group)) return;
    int64_t size = report_best_size(r, &group);
    const report_rate *best = fastest(r, &group, size);
    if (best == NULL) return;
    const char *how = origin_names[best->origin];
    bool tera = best->gflops >= 2000;
    fputs("<ul class=\"tiles\">\n", out);
    chart_show(best->gflops * (tera ? 1e-3 : 1), number);
    snprintf(value, sizeof value, "%s %s", number, tera ? "TFLOPS" : "GFLOPS");
    snprintf(text, sizeof text, "f32 at %" PRId64 ", %.60s, %s", size, best->kernel, how);
    print_tile(out, value, text);
    if (best->ratio > 0) {
        snprintf(value, sizeof value, "%.2f ×", best->ratio);
        snprintf(text, sizeof text, "the rate of %.30s, in turns with it", best->peer);
        print_tile(out, value, text);
    }
    double peak =
        best->origin == REPORT_PREDICTED ? cards_peak(r->on, TESS_F32, false) * 1e-9 : report_peak(r, &group);
    if (peak > 0) {
        snprintf(value, sizeof value, "%.0f %%", 100 * best->gflops / peak);
        snprintf(text, sizeof text, "of the peak, %s",
                 best->origin == REPORT_PREDICTED ? "by clocks" : "measured");
        print_tile(out, value, text);
    }
    fputs("</ul>\n", out);
}

static bool has_origin(const report_figures *f, report_origin origin) {
    for (size_t i = 0; i < f->count; i++)
        if (f->all[i].origin == origin) return true;
    return false;
}

/* Ends the sentence that the results were verified with those of which no file says so. */
static void print_unverified(const report *r, FILE *out) {
    size_t measured = 0, verified = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        if (r->rates[i].origin != REPORT_MEASURED) continue;
        measured++;
        verified += r->rates[i].verified;
    }
    if (verified < measured)
        fprintf(out, "; of %zu of %zu rates the files do not say that it was", measured - verified, measured);
}

/* Which kinds of numbers are on this page. */
static void print_honesty(const report *r, const report_figures *f, FILE *out) {
    fputs("<section><h2>What these numbers are</h2>\n", out);
    if (has_origin(f, REPORT_MEASURED)) {
        fputs("<p>", out);
        print_badge(out, REPORT_MEASURED);
        fputs("timed on ", out);
        const char *model = report_fact_of(r, "model");
        chart_print_text(model[0] != '\0' ? model : "a machine whose name is not in the files", out);
        fputs(", after the result was verified", out);
        print_unverified(r, out);
        fputs(".</p>\n", out);
    }
    if (has_origin(f, REPORT_SIMULATED)) {
        fputs("<p>", out);
        print_badge(out, REPORT_SIMULATED);
        fputs("counted by running the GPU kernels, thread by thread, on a CPU: exact counts, no times.</p>\n",
              out);
    }
    if (has_origin(f, REPORT_PREDICTED)) {
        fputs("<p>", out);
        print_badge(out, REPORT_PREDICTED);
        fputs("computed by a model from those counts for the ", out);
        chart_print_text(r->on->name, out);
        fputs(". <strong>There was no GPU: no rate of a GPU on this page was measured.</strong></p>\n", out);
    }
    fputs("<nav aria-label=\"Figures\"><ul>\n", out);
    for (size_t i = 0; i < f->count; i++) {
        fprintf(out, "<li><a href=\"#%s\">", f->all[i].picture->name);
        chart_print_text(f->all[i].picture->title, out);
        fputs("</a></li>\n", out);
    }
    fputs("<li><a href=\"#environment\">Environment</a></li><li><a "
          "href=\"#method\">Method</a></li></ul></nav></section>\n",
          out);
}

/* ---- Figures ---- */

static void print_figure(const report_figure *f, FILE *out) {
    fputs("<section id=\"", out);
    chart_print_text(f->picture->name, out);
    fputs("\">\n", out);
    print_element(out, "h2", f->picture->title);
    fputs("<p class=\"origin\">", out);
    print_badge(out, f->origin);
    chart_print_text(f->source, out);
    fputs("</p>\n<figure>\n<div class=\"wide\">", out);
    chart_draw(f->picture, CHART_WIDE, out);
    fputs("</div><div class=\"narrow\">", out);
    chart_draw(f->picture, CHART_NARROW, out);
    fputs("</div>\n<figcaption>", out);
    chart_print_text(f->caption, out);
    fputs("</figcaption>\n</figure>\n<pre><code>", out);
    const char *line = f->command;
    for (size_t length; *line != '\0'; line += length + (line[length] == '\n')) {
        char one[REPORT_TEXT];
        length = strcspn(line, "\n");
        snprintf(one, sizeof one, "%.*s", (int)length, line);
        chart_print_text(one, out);
        fputc('\n', out);
    }
    fputs("</code></pre>\n<details><summary>The numbers</summary><div class=\"scroll\">\n", out);
    chart_print_table(f->picture, out);
    fputs("</div></details>\n</section>\n", out);
}

/* ---- The end ---- */

static void print_environment(const report *r, FILE *out) {
    fputs("<section id=\"environment\"><h2>Environment</h2>\n", out);
    if (r->fact_count == 0)
        fputs("<p>The files do not say what they were measured on; files that <code>tessera bench</code> "
              "writes now "
              "do.</p>\n",
              out);
    fputs(r->fact_count > 0 ? "<dl>\n" : "", out);
    bool versions = report_fact_of(r, "libraries CUDA driver")[0] != '\0';
    for (size_t i = 0; i < r->fact_count; i++) {
        char key[128];
        /* The same as among the libraries, as a bare number. */
        if (versions &&
            (strcmp(r->facts[i].key, "driver_cuda") == 0 || strcmp(r->facts[i].key, "nvrtc") == 0))
            continue;
        snprintf(key, sizeof key, "%s", r->facts[i].key);
        for (char *at = key; *at != '\0'; at++)
            if (*at == '_') *at = ' ';
        print_element(out, "dt", key);
        print_element(out, "dd", r->facts[i].value);
    }
    fputs(r->fact_count > 0 ? "</dl>\n</section>\n" : "</section>\n", out);
}

static void print_method(const report *r, const report_figures *f, FILE *out) {
    fputs("<section id=\"method\"><h2>Method</h2>\n", out);
    if (has_origin(f, REPORT_MEASURED))
        fputs("<p>Every kernel is verified on random and on integer-valued data before it is timed. Kernel "
              "and peer are "
              "timed in turns; shown is the median, with the 10th and 90th percentiles. A ratio is taken "
              "within each "
              "round, and is the median of all rounds. A rate is 2&#183;m&#183;n&#183;k operations over the "
              "time of one "
              "product from a plan; on a GPU the device's own clock takes it, with the matrices in its "
              "memory. The peak "
              "is the rate of multiply-adds on registers alone, measured in the same run.</p>\n",
              out);
    if (has_origin(f, REPORT_SIMULATED))
        fputs("<p>Counters are Nsight Compute's by definition and the simulator's by origin: each kernel is "
              "run "
              "thread by "
              "thread on a CPU, and every access of a warp is cut into sectors and passes by the rules of "
              "the "
              "hardware.</p>\n",
              out);
    if (has_origin(f, REPORT_PREDICTED))
        fputs("<p>The model adds up, for one multiprocessor, the clocks of its units that those counters "
              "need, lets them "
              "overlap as far as the warps it holds allow, and adds the waiting for memory. One set of "
              "constants serves "
              "all kernels.</p>\n",
              out);
    if (r->missing != NULL) {
        fputs("<h3>Not on this page</h3>\n<ul class=\"plain\">\n", out);
        const char *line = r->missing;
        for (size_t length; *line != '\0'; line += length + 1) {
            char one[REPORT_TEXT];
            length = strcspn(line, "\n");
            snprintf(one, sizeof one, "%.*s", (int)length, line);
            print_element(out, "li", one);
        }
        fputs("</ul>\n", out);
    }
    fputs("</section>\n", out);
}

void report_print_page(const report *r, const report_figures *f, FILE *out) {
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    const char *model = report_fact_of(r, "model");
    if (gmtime_r(&now, &utc) != NULL) strftime(date, sizeof date, "%Y-%m-%d", &utc);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>Tessera report",
          out);
    fputs(model[0] != '\0' ? ": " : "", out);
    chart_print_text(model, out);
    fputs("</title>\n<style>\n", out);
    chart_print_style(out);
    fprintf(out, "%s</style>\n</head>\n<body>\n<header>\n<h1>Tessera report</h1>\n<p class=\"lead\">",
            page_style);
    chart_print_text(model[0] != '\0' ? model : "Matrix multiplication", out);
    if (has_origin(f, REPORT_PREDICTED)) {
        fputs(" · ", out);
        chart_print_text(r->on->name, out);
        fputs(" predicted", out);
    }
    fprintf(out, " · made on %s by tessera %s (%s)</p>\n</header>\n<main>\n", date, TESS_VERSION_STRING,
            environment_revision());
    print_tiles(r, "gpu", out);
    print_tiles(r, "cpu", out);
    print_honesty(r, f, out);
    for (size_t i = 0; i < f->count; i++) print_figure(&f->all[i], out);
    print_environment(r, out);
    print_method(r, f, out);
    fputs("</main>\n<footer><p>Made by <code>tessera report</code>. Everything on this page is in this one "
          "file.</p></footer>\n"
          "</body>\n</html>\n",
          out);
}
