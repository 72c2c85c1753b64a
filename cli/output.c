/* output.c: writes results to stdout and to files.
 *
 * Invariant: a file named by the user is either untouched or complete (output_file.c).
 */
#include "output.h"
#include "append.h"
#include "environment.h"
#include "output_file.h"
#include "say.h"

#include <string.h>

bool output_open(output *out, const args *a) {
    *out = (output){.csv = args_text(a, "csv", NULL),
                    .json = args_text(a, "json", NULL),
                    .markdown = args_given(a, "md")};
    if (out->csv != NULL && output_is_stdout(out->csv)) out->csv = "-";
    if (out->json != NULL && output_is_stdout(out->json)) out->json = "-";
    bool csv_here = out->csv != NULL && strcmp(out->csv, "-") == 0;
    bool json_here = out->json != NULL && strcmp(out->json, "-") == 0;
    if (csv_here + json_here + out->markdown > 1) {
        say_error("only one of --csv -, --json - and --md can have stdout; give the others a file");
        return false;
    }
    if (out->csv != NULL && out->json != NULL && !csv_here && strcmp(out->csv, out->json) == 0) {
        say_error("--csv and --json are both '%s'; give each a file of its own", out->csv);
        return false;
    }
    out->people = !csv_here && !json_here && !out->markdown;
    return output_could_write("csv", out->csv) && output_could_write("json", out->json);
}

typedef struct document {
    const table *t;
    const char *list; /* NULL: CSV */
    const tess_device_info *device;
    environment_run run;
    append_target *old; /* what is in the file already; NULL: nothing that is to stay */
} document;

/* A pipe gets rows alone: what reads it is a program that was started just now, on this machine. */
static void print_csv(const document *d, FILE *stream) {
    if (d->old != NULL) append_print_csv_start(d->old, d->t, stream);
    if (d->run.method != NULL && stream != stdout) environment_print_remarks(stream, d->device, &d->run);
    if (d->old == NULL) table_print_csv_heading(d->t, stream);
    table_print_csv_rows(d->t, stream);
}

static void print_json(const document *d, FILE *stream) {
    if (d->old != NULL) {
        append_print_json_start(d->old, stream);
        table_print_json_rows(d->t, stream);
        append_print_json_middle(d->old, stream);
    } else {
        fputs("{\n  \"context\": ", stream);
    }
    environment_print_json(stream, d->device, &d->run);
    if (d->old == NULL) {
        fprintf(stream, ",\n  \"%s\": ", d->list);
        table_print_json(d->t, stream);
    }
    fputs("\n}\n", stream);
}

static void print_document(const void *data, FILE *stream) {
    const document *d = data;
    if (d->list == NULL)
        print_csv(d, stream);
    else
        print_json(d, stream);
}

static bool write_or_append(document *d, const output *out, const char *path) {
    append_target old;
    bool good = !out->append || append_open(&old, path, d->t, d->list != NULL);
    if (good) {
        d->old = out->append && old.text != NULL ? &old : NULL;
        good = output_write_file(path, print_document, d);
    }
    if (out->append) append_close(&old);
    d->old = NULL;
    return good;
}

bool output_could_append(const output *out, const table *t) {
    append_target old = {0};
    bool good = out->csv == NULL || append_open(&old, out->csv, t, false);
    if (out->csv != NULL) append_close(&old);
    if (!good || out->json == NULL) return good;
    good = append_open(&old, out->json, t, true);
    append_close(&old);
    return good;
}

bool output_write(const output *out, table *t, const char *list, const tess_device_info *device,
                  const char *data) {
    bool good = true;
    say_progress_end();
    if (out->people) table_print(t, stdout);
    if (out->markdown) table_print_markdown(t, stdout);
    document d = {.t = t, .device = device, .run = {data, out->method, out->command}};
    if (out->csv != NULL) good = write_or_append(&d, out, out->csv) && good;
    d.list = list;
    if (out->json != NULL) good = write_or_append(&d, out, out->json) && good;
    return good;
}
