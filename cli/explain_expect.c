/* explain_expect.c: checks what a kernel's header says of its counters.
 *
 * Invariant: an expectation that cannot be evaluated is a failure, never passed over. Counters are those as compiled,
 * which a card would show. */
#include "explain.h"
#include "say.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNTER(name) \
    { #name, offsetof(tess_counters, name) }
const explain_counter explain_counters[] = {
    COUNTER(global_load_requests),
    COUNTER(global_load_sectors),
    COUNTER(global_load_bytes),
    COUNTER(global_store_requests),
    COUNTER(global_store_sectors),
    COUNTER(global_store_bytes),
    COUNTER(global_wavefronts),
    COUNTER(shared_load_instructions),
    COUNTER(shared_load_wavefronts),
    COUNTER(shared_load_conflicts),
    COUNTER(shared_store_instructions),
    COUNTER(shared_store_wavefronts),
    COUNTER(shared_store_conflicts),
    COUNTER(mma_instructions),
    COUNTER(barriers),
    COUNTER(flops),
    COUNTER(flops_issued),
    COUNTER(l2_sectors_least),
    COUNTER(l2_sectors_most),
    COUNTER(dram_sectors_least),
    COUNTER(distinct_bytes),
    COUNTER(blocks),
};
const size_t explain_counter_count = sizeof explain_counters / sizeof *explain_counters;
enum { COUNTERS = sizeof explain_counters / sizeof *explain_counters, LONGEST = 80 };

double explain_counter_value(const tess_counters *counters, size_t index) {
    double value;
    memcpy(&value, (const char *)counters + explain_counters[index].offset, sizeof value);
    return value;
}

/* Everything a formula may name. */
typedef struct scope {
    tess_named_value values[EXPLAIN_NAMES];
    size_t count;
    char names[EXPLAIN_NAMES][LONGEST];
} scope;

static void add_name(scope *s, const char *prefix, size_t length, const char *name, double value) {
    if (s->count == EXPLAIN_NAMES) return;
    char *room = s->names[s->count];
    snprintf(room, LONGEST, "%s%.*s", prefix, (int)length, name);
    s->values[s->count++] = (tess_named_value){room, value};
}

static void add_counters(scope *s, const char *prefix, const tess_counters *counters) {
    for (size_t i = 0; i < COUNTERS; i++)
        add_name(s, prefix, strlen(explain_counters[i].name), explain_counters[i].name,
                 explain_counter_value(counters, i));
}

static void add_params(scope *s, const char *params) {
    for (const char *at = params; *at != '\0';) {
        size_t length = strcspn(at, "=");
        if (at[length] == '\0') return;
        add_name(s, "", length, at, strtod(at + length + 1, NULL));
        at += strcspn(at, ",");
        at += *at == ',';
    }
}

static void fill_scope(scope *s, const explain_rung *rung, const explain_rung *before) {
    s->count = 0;
    const sizes_shape *shape = &rung->asked->shape;
    add_name(s, "", 1, "m", (double)shape->m);
    add_name(s, "", 1, "n", (double)shape->n);
    add_name(s, "", 1, "k", (double)shape->k);
    add_name(s, "", 4, "size", (double)tess_type_size(rung->asked->types.in));
    add_params(s, rung->params);
    add_counters(s, "", &rung->compiled);
    if (before != NULL) add_counters(s, "before.", &before->compiled);
}

/* "left < right", cut in two. */
typedef struct relation {
    char left[EXPLAIN_TEXT], sign[3];
    const char *right;
} relation;

static bool split(const char *text, relation *out) {
    size_t at = strcspn(text, "=<>"), length = strspn(text + at, "=<>");
    if (length < 1 || length > 2) return false;
    snprintf(out->left, sizeof out->left, "%.*s", (int)at, text);
    for (size_t end = at; end > 0 && out->left[end - 1] == ' ';) out->left[--end] = '\0';
    snprintf(out->sign, sizeof out->sign, "%.*s", (int)length, text + at);
    out->right = text + at + length;
    return true;
}

static bool compare(const char *sign, double left, double right) {
    bool equal = fabs(left - right) <= 1e-9 * fabs(right);
    if (strchr(sign, '=') != NULL && equal) return true;
    return (sign[0] == '<' && left < right) || (sign[0] == '>' && left > right);
}

/* Both sides; false after tess_error has the sentence. */
static bool evaluate(const relation *r, const explain_rung *rung, const explain_rung *before,
                     explain_expect *out) {
    scope *s = malloc(sizeof *s);
    if (s == NULL) return false;
    fill_scope(s, rung, before);
    bool good = tess_evaluate(r->left, s->values, s->count, &out->left) == TESS_OK &&
                tess_evaluate(r->right, s->values, s->count, &out->right) == TESS_OK;
    free(s);
    return good;
}

int explain_expect_next(const char **at, const explain_rung *rung, const explain_rung *before,
                        explain_expect *out) {
    relation r;
    if (!explain_story_field(at, "expect", out->text)) return 0;
    out->compared = before != NULL || strstr(out->text, "before.") == NULL;
    if (!out->compared) return 1;
    bool apart = split(out->text, &r);
    if (!apart || !evaluate(&r, rung, before, out)) {
        say_error("the header of %s expects '%s', which cannot be evaluated: %s", rung->info.name, out->text,
                  apart ? tess_error(NULL) : "it has no =, <, >, <= or >=");
        return -1;
    }
    out->holds = compare(r.sign, out->left, out->right);
    return 1;
}
