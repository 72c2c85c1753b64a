/* compare_cases.c: which rows of two files are measurements of the same thing.
 *
 * Invariant: rows of one case agree, as text, in every field that tells cases apart and that both files have,
 * so that a file from before a column existed can still be compared. A row for each peer repeats one
 * measurement, which counts once.
 */
#include "compare.h"
#include "say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tell_apart[] = {"kernel", "params", "device", "threads", "type",   "compute",
                                         "m",      "n",      "k",      "batch",   "layout", "lda",
                                         "ldb",    "ldc",    "alpha",  "beta",    "cache",  "mode"};
enum { TELL_APART = sizeof tell_apart / sizeof *tell_apart };
static const char *const needed[] = {"kernel", "m", "n", "k", "samples", "time_ms", "p10_ms", "p90_ms"};

static bool has_column(const results *r, const char *name) {
    for (size_t i = 0; i < r->column_count; i++)
        if (strcmp(r->columns[i], name) == 0) return true;
    return false;
}

/* What the planner chose may differ from one version to the next: the case is that it chose. */
static const char *key_of(const results *r, size_t row, const char *column) {
    const char *text = results_text(r, row, column);
    bool chosen = strcmp(column, "kernel") == 0 && strncmp(text, "auto:", 5) == 0;
    return chosen ? "auto" : text;
}

void compare_show_key(const compare_case *c, const char *column, char *out, size_t room) {
    snprintf(out, room, "%s", key_of(c->from, c->row, column));
}

/* All fields that tell cases apart, in one text; NULL without memory. */
static char *make_key(const compare_cases *c, const results *r, size_t row) {
    char *key = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&key, &length);
    if (stream == NULL) return NULL;
    for (size_t i = 0; i < c->key_count; i++) fprintf(stream, "%s\n", key_of(r, row, c->keys[i]));
    return fclose(stream) == 0 ? key : NULL;
}

/* Takes the key over. */
static compare_case *find_case(compare_cases *c, const results *r, size_t row, char *key) {
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->cases[i].key, key) != 0) continue;
        free(key);
        return &c->cases[i];
    }
    compare_case *cases = realloc(c->cases, (c->count + 1) * sizeof *cases);
    if (cases == NULL) {
        free(key);
        return NULL;
    }
    c->cases = cases;
    c->cases[c->count] = (compare_case){.from = r, .row = row, .key = key};
    return &c->cases[c->count++];
}

static compare_timed read_run(const results *r, size_t row) {
    double samples = results_number(r, row, "samples");
    return (compare_timed){.times = {.samples = samples >= 1 && samples < 1e9 ? (size_t)samples : 1,
                                     .median = results_number(r, row, "time_ms"),
                                     .p10 = results_number(r, row, "p10_ms"),
                                     .p90 = results_number(r, row, "p90_ms"),
                                     .interval = results_number(r, row, "interval_pct") / 100},
                           .cpu = results_number(r, row, "cpu_ms")};
}

bool compare_same_run(const compare_timed *a, const compare_timed *b) {
    return a->times.median == b->times.median && a->times.p10 == b->times.p10 && a->times.p90 == b->times.p90;
}

static bool is_known(const compare_side *side, const compare_timed *run) {
    for (size_t i = 0; i < side->count; i++)
        if (compare_same_run(&side->runs[i], run)) return true;
    return false;
}

static bool add_run(compare_side *side, const results *r, size_t row) {
    compare_timed run = read_run(r, row);
    if (!(run.times.median > 0) || isinf(run.times.median)) {
        side->failed = true;
        return true;
    }
    if (isnan(run.times.p10) || isnan(run.times.p90)) {
        say_error("a row of '%s' (%s) has a time but no percentiles, so nothing says how sure it is", r->name,
                  results_text(r, row, "kernel"));
        return false;
    }
    if (is_known(side, &run)) return true;
    compare_timed *runs = realloc(side->runs, (side->count + 1) * sizeof *runs);
    if (runs == NULL) {
        say_error("out of memory");
        return false;
    }
    side->runs = runs;
    side->runs[side->count++] = run;
    return true;
}

static bool add_file(compare_cases *c, const results *r, int side) {
    for (size_t row = 0; row < r->row_count; row++) {
        char *key = make_key(c, r, row);
        compare_case *one = key != NULL ? find_case(c, r, row, key) : NULL;
        if (one == NULL) {
            say_error("out of memory");
            return false;
        }
        if (!add_run(&one->sides[side], r, row)) return false;
    }
    return true;
}

bool compare_match(compare_cases *c, const results *before, const results *after) {
    *c = (compare_cases){.keys = calloc(TELL_APART, sizeof *c->keys)};
    if (c->keys == NULL) {
        say_error("out of memory");
        return false;
    }
    if (!results_need(before, needed, sizeof needed / sizeof *needed) ||
        !results_need(after, needed, sizeof needed / sizeof *needed))
        return false;
    for (size_t i = 0; i < TELL_APART; i++)
        if (has_column(before, tell_apart[i]) && has_column(after, tell_apart[i]))
            c->keys[c->key_count++] = tell_apart[i];
    return add_file(c, after, 1) && add_file(c, before, 0);
}

void compare_free(compare_cases *c) {
    for (size_t i = 0; i < c->count; i++) {
        for (int side = 0; side < 2; side++) free(c->cases[i].sides[side].runs);
        free(c->cases[i].key);
    }
    free(c->cases);
    free(c->keys);
    *c = (compare_cases){0};
}
