/* cmd_report.c: `tessera report`: one page, or one picture, of results.
 *
 * Invariant: what can be refused is refused before anything is measured, and the file of the user is written whole at
 * the very end or not at all.
 */
#include "commands.h"
#include "interrupt.h"
#include "kernels.h"
#include "open_device.h"
#include "output_file.h"
#include "report.h"
#include "say.h"

#include <stdlib.h>
#include <string.h>

static const args_option options[] = {
    {"output", "FILE|-", "write the page to FILE, or to stdout; default report.html"},
    {"svg", "FILE|-", "write one picture instead, as SVG; needs --chart"},
    {"chart", "NAME", "which picture: rate, ladder, roofline, counters, tile, types, split, cache, ..."},
    {"gpu", "NAME", "count and predict for this GPU; default the one measured, else H200"},
    ARGS_DEVICE_ROW,
    {"quick", NULL, "fresh runs of small products only, in a few seconds"},
    ARGS_QUIET_ROW,
};
const args_spec report_spec = {"report",
                               "[FILE|DIR...]",
                               64,
                               "A page of results: rates, the ladder, roofline, counters",
                               "Makes one HTML file that needs nothing else: pictures and style are in it. "
                               "From files that bench wrote (CSV or "
                               "JSON;\na directory means all of those in it), or without words from fresh "
                               "runs on this machine: a GPU's ladder is "
                               "measured;\nwithout a GPU its counters are simulated and its rates predicted, "
                               "and the CPU is measured. Every figure "
                               "says which\nof these it is, and the command that makes it again.\n",
                               options,
                               sizeof options / sizeof *options};

/* ---- What to read or run ---- */

/* The files as given, for the commands under the figures. */
static void keep_words(report *r, const args *a) {
    for (size_t i = 0; i < a->word_count; i++) {
        size_t used = strlen(r->words);
        args_show_word(" ", a->words[i], r->words + used, sizeof r->words - used);
    }
}

static bool read_files(report *r, const args *a) {
    for (size_t i = 0; i < a->word_count; i++)
        if (!report_read(r, a->words[i])) return false;
    return true;
}

static bool has_family(const report *r, const char *family) {
    for (size_t i = 0; i < r->rate_count; i++)
        if (strcmp(report_family(&r->rates[i]), family) == 0) return true;
    return false;
}

/* The card that --gpu names; else the one that was measured, where it is known; else the H200. */
static bool choose_card(report *r, const args *a) {
    const char *asked = args_text(a, "gpu", NULL);
    r->on = asked != NULL ? cards_find(asked) : cards_match(report_fact_of(r, "model"));
    if (r->on == NULL && asked == NULL) r->on = cards_find("H200");
    return r->on != NULL;
}

/* Fresh runs on --device: its name, so that it is the same in every run. */
static bool find_device(const args *a, char name[32]) {
    tess_context *ctx;
    tess_device_info info;
    if (!open_device(a, &ctx, &info)) return false;
    snprintf(name, 32, "%s", info.name);
    tess_close(ctx);
    return true;
}

/* The size at which rungs are counted: where the ladder was measured. */
static int64_t rung_size(const report *r) {
    report_group group;
    int64_t size = report_find_group(r, "gpu", "f32", &group) ? report_best_size(r, &group) : 0;
    return size > 0 ? size : 4096;
}

static int gather(report *r, const args *a) {
    char device[32];
    if (args_given(a, "gpu") && !choose_card(r, a)) return EXIT_USAGE;
    if (a->word_count > 0) {
        if (!read_files(r, a)) return EXIT_CHECK;
    } else {
        if (!find_device(a, device)) return EXIT_CHECK;
        if (!report_run_fresh(r, device)) return interrupt_came() != 0 ? 128 + interrupt_came() : EXIT_CHECK;
    }
    if (!choose_card(r, a)) return EXIT_USAGE;
    r->size = rung_size(r);
    bool fresh = a->word_count == 0, measured = has_family(r, "gpu");
    if (measured || fresh || args_given(a, "gpu")) report_predict(r, !measured && fresh);
    return interrupt_came() != 0 ? 128 + interrupt_came() : EXIT_FINE;
}

/* ---- What to write ---- */

typedef struct document {
    const report *r;
    const report_figures *figures;
    const chart *alone;
} document;

static void print_document(const void *data, FILE *out) {
    const document *d = data;
    if (d->alone != NULL)
        chart_draw(d->alone, CHART_ALONE, out);
    else
        report_print_page(d->r, d->figures, out);
}

static const chart *find_chart(const report_figures *f, const char *name) {
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->all[i].picture->name, name) == 0) return f->all[i].picture;
    return NULL;
}

static void refuse_chart(const report_figures *f, const char *name) {
    char list[512] = "";
    for (size_t i = 0; i < f->count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", f->all[i].picture->name);
    }
    if (f->count > 0)
        say_error("there is no chart '%s' of these results; there are: %s", name, list);
    else
        say_error("there is no chart '%s' of these results, and no other: they hold no rate of a square "
                  "product",
                  name);
}

static int write_report(const report *r, const report_figures *f, const args *a) {
    const char *svg = args_text(a, "svg", NULL),
               *path = svg != NULL ? svg : args_text(a, "output", "report.html");
    document d = {r, f, svg != NULL ? find_chart(f, r->chart) : NULL};
    if (svg != NULL && d.alone == NULL) {
        refuse_chart(f, r->chart);
        return EXIT_CHECK;
    }
    if (f->count == 0) {
        say_error("there is nothing to show: the files hold no rate of a square product");
        return EXIT_CHECK;
    }
    if (!output_write_file(path, print_document, &d)) return EXIT_CHECK;
    if (!output_is_stdout(path)) say_note("wrote %s", path);
    return EXIT_FINE;
}

static bool check_words(const args *a) {
    if (args_given(a, "svg") != args_given(a, "chart")) {
        say_error("--svg FILE and --chart NAME belong together: which picture, and where to");
        return false;
    }
    if (args_given(a, "svg") && args_given(a, "output")) {
        say_error("--svg writes a picture and -o the page; give one of them");
        return false;
    }
    if (a->word_count > 0 && (args_given(a, "quick") || args_given(a, "device"))) {
        say_error("--quick and --device are for fresh runs, but files are given");
        return false;
    }
    const char *option = args_given(a, "svg") ? "svg" : "output", *path = args_text(a, option, "report.html");
    for (size_t i = 0; i < a->word_count; i++)
        if (!output_spares(option, path, a->words[i])) return false;
    return output_could_write(option, path);
}

int report_run(const args *a) {
    say_quiet(args_given(a, "quiet"));
    if (!check_words(a)) return EXIT_USAGE;
    report r = {.chart = args_text(a, "chart", NULL), .quick = args_given(a, "quick")};
    report_figures figures = {0};
    keep_words(&r, a);
    if (a->word_count == 0) interrupt_watch(); /* files are read in a moment, or left */
    int status = gather(&r, a);
    if (status == EXIT_FINE) {
        report_make_figures(&r, &figures);
        interrupt_watch();
        status = write_report(&r, &figures, a);
    } else if (interrupt_came() != 0) {
        say_error("interrupted; nothing was written");
    }
    report_free_figures(&figures);
    report_free(&r);
    return status;
}
