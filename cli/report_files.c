/* report_files.c: rates and facts from files.
 *
 * Invariant: a file that was named is used or said to be wrong. In a directory, files of other things than rates are
 * passed over, but not files that cannot be read.
 */
#include "report.h"
#include "say.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void *report_grow(void *items, size_t count, size_t size) {
    /* Full exactly at the powers of two. */
    if (count != 0 && (count & (count - 1)) != 0) return items;
    void *larger = realloc(items, (count == 0 ? 1 : 2 * count) * size);
    if (larger != NULL) return larger;
    say_error("out of memory");
    exit(EXIT_CHECK);
}

void report_free(report *r) {
    for (size_t i = 0; i < r->fact_count; i++) {
        free(r->facts[i].key);
        free(r->facts[i].value);
    }
    for (size_t i = 0; i < r->command_count; i++) free(r->commands[i]);
    free(r->commands);
    free(r->facts);
    free(r->rates);
    free(r->rungs);
    free(r->missing);
}

bool report_wants(const report *r, const char *base) {
    size_t length = strlen(base);
    if (r->chart == NULL) return true;
    return strncmp(r->chart, base, length) == 0 && (r->chart[length] == '\0' || r->chart[length] == '-');
}

void report_add_rate(report *r, const report_rate *rate) {
    r->rates = report_grow(r->rates, r->rate_count, sizeof *r->rates);
    r->rates[r->rate_count++] = *rate;
}

const char *report_fact_of(const report *r, const char *key) {
    for (size_t i = 0; i < r->fact_count; i++)
        if (strcmp(r->facts[i].key, key) == 0) return r->facts[i].value;
    return "";
}

static char *copy(const char *text) {
    char *made = report_grow(NULL, 0, strlen(text) + 1);
    return strcpy(made, text);
}

void report_add_fact(report *r, const char *key, const char *value) {
    if (value[0] == '\0') return;
    for (size_t i = 0; i < r->fact_count; i++) {
        report_fact *f = &r->facts[i];
        if (strcmp(f->key, key) != 0) continue;
        if (strstr(f->value, value) != NULL || strlen(f->value) > 200) return;
        char *both = report_grow(NULL, 0, strlen(f->value) + strlen(value) + 3);
        sprintf(both, "%s; %s", f->value, value);
        free(f->value);
        f->value = both;
        return;
    }
    r->facts = report_grow(r->facts, r->fact_count, sizeof *r->facts);
    r->facts[r->fact_count++] = (report_fact){copy(key), copy(value)};
}

void report_miss(report *r, const char *format, ...) {
    char line[REPORT_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t before = r->missing != NULL ? strlen(r->missing) : 0;
    char *longer = realloc(r->missing, before + strlen(line) + 2);
    if (longer == NULL) return;
    sprintf(longer + before, "%s\n", line);
    r->missing = longer;
}

/* ---- Rows ---- */

/* GFLOPS beyond which a number is a mistake. */
static const double FASTEST = 1e12;

static int64_t whole(const results *from, size_t row, const char *column, int64_t otherwise) {
    double value = results_number(from, row, column);
    return value >= 0 && value < 9e15 ? (int64_t)value : otherwise;
}

#define TAKE_TEXT(field, column) \
    snprintf(rate.field, sizeof rate.field, "%s", results_text(from, row, column))

/* A row as a rate. What a file does not say is the default of bench. */
static report_rate read_row(const results *from, size_t row) {
    report_rate rate = {.origin = REPORT_MEASURED,
                        .verified = strcmp(results_text(from, row, "verified"), "yes") == 0,
                        .threads = (int)fmin((double)whole(from, row, "threads", 1), 1e6),
                        .m = whole(from, row, "m", 0),
                        .n = whole(from, row, "n", 0),
                        .k = whole(from, row, "k", 0),
                        .batch = whole(from, row, "batch", 1),
                        .alpha = results_number(from, row, "alpha"),
                        .beta = results_number(from, row, "beta"),
                        .ms = results_number(from, row, "time_ms"),
                        .p10_ms = results_number(from, row, "p10_ms"),
                        .p90_ms = results_number(from, row, "p90_ms"),
                        .h2d_ms = results_number(from, row, "h2d_ms"),
                        .d2h_ms = results_number(from, row, "d2h_ms"),
                        .gflops = results_number(from, row, "gflops"),
                        .pct_peak = results_number(from, row, "pct_peak"),
                        .peer_gflops = results_number(from, row, "peer_gflops"),
                        .ratio = results_number(from, row, "ratio")};
    TAKE_TEXT(kernel, "kernel");
    TAKE_TEXT(params, "params");
    TAKE_TEXT(device, "device");
    TAKE_TEXT(type, "type");
    TAKE_TEXT(compute, "compute");
    TAKE_TEXT(layout, "layout");
    TAKE_TEXT(cache, "cache");
    TAKE_TEXT(mode, "mode");
    TAKE_TEXT(peer, "peer");
    TAKE_TEXT(throttled, "throttled");
    if (strcmp(rate.throttled, "no") == 0) rate.throttled[0] = '\0';
    /* Products that may be rounded so are compared with each other, not with those in f32. */
    if (strcmp(rate.type, "f32") == 0 && strcmp(rate.compute, "tf32") == 0) {
        strcpy(rate.type, "tf32");
        rate.compute[0] = '\0';
    }
    if (isnan(rate.alpha)) rate.alpha = 1;
    if (isnan(rate.beta)) rate.beta = 0;
    return rate;
}

static bool has_column(const results *from, const char *name) {
    for (size_t i = 0; i < from->column_count; i++)
        if (strcmp(from->columns[i], name) == 0) return true;
    return false;
}

static bool holds_rates(const results *from) {
    return has_column(from, "kernel") && has_column(from, "type") && has_column(from, "m") &&
           has_column(from, "n") && has_column(from, "k") && has_column(from, "gflops");
}

/* Names of machines and of their users are nobody's business. */
static bool is_private(const char *key) {
    static const char *const keys[] = {"host_name", "executable",          "load_avg",
                                       "caches",    "json_schema_version", "command"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

static void add_facts(report *r, const results *from) {
    for (size_t i = 0; i < from->fact_count; i++) {
        const results_fact *f = &from->facts[i];
        char key[128], value[512];
        if (is_private(f->key) || is_private(f->group) || strcmp(f->value, "null") == 0) continue;
        snprintf(key, sizeof key, "%.60s%s%.60s", f->group, f->group[0] != '\0' ? " " : "", f->key);
        /* Runs of one day are one date. */
        snprintf(value, sizeof value, "%.*s", strcmp(f->key, "date") == 0 ? 10 : (int)sizeof value - 1,
                 f->value);
        report_add_fact(r, key, value);
    }
}

/* A command, kept as long as the report. */
static const char *keep_command(report *r, const char *command) {
    r->commands = report_grow(r->commands, r->command_count, sizeof *r->commands);
    return r->commands[r->command_count++] = copy(command);
}

size_t report_add_results(report *r, const results *from) {
    size_t added = 0;
    add_facts(r, from);
    if (!holds_rates(from)) return 0;
    const char *command = NULL, *said = NULL;
    for (size_t i = 0; i < from->row_count; i++) {
        report_rate rate = read_row(from, i);
        const char *says = results_about_row(from, i, "command");
        if (command == NULL || says != said) command = keep_command(r, says);
        said = says;
        if (!(rate.gflops > 0) || rate.gflops > FASTEST || rate.m < 1 || rate.n < 1 || rate.k < 1) continue;
        rate.command = command;
        report_add_rate(r, &rate);
        added++;
    }
    return added;
}

/* ---- Files and directories ---- */

static bool read_file(report *r, const char *path, bool named) {
    results from;
    bool good = results_read(&from, path);
    if (good && report_add_results(r, &from) == 0 && named && !holds_rates(&from)) {
        static const char *const columns[] = {"kernel", "type", "m", "n", "k", "gflops"};
        good = results_need(&from, columns, sizeof columns / sizeof *columns);
    }
    results_free(&from);
    return good;
}

static int is_results(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot != NULL && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".json") == 0);
}

static bool read_directory(report *r, const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, is_results, alphasort);
    if (count < 0) {
        say_error("could not read '%s': %s", path, strerror(errno));
        return false;
    }
    size_t before = r->rate_count;
    bool good = true;
    for (int i = 0; i < count; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        good = good && read_file(r, file, false);
        free(entries[i]);
    }
    free(entries);
    if (good && r->rate_count == before) {
        say_error("'%s' holds no file of rates; those are what 'tessera bench --csv FILE' or --json writes",
                  path);
        good = false;
    }
    return good;
}

bool report_read(report *r, const char *path) {
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) return read_directory(r, path);
    return read_file(r, path, true);
}
