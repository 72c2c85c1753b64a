/* explain_rows.c: everything about one rung as rows of (section, name, value, before, text).
 *
 * Invariant: people and files get the same rows; people get the sections as paragraphs. */
#include "explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SECTION, NAME, VALUE, BEFORE, TEXT };
const table_column explain_columns[] = {
    [SECTION] = {"section", "section", TABLE_TEXT, TABLE_IN_FILES, 0},
    [NAME] = {"name", "name", TABLE_TEXT, TABLE_IN_FILES, 0},
    [VALUE] = {"value", "value", TABLE_RATIO, TABLE_IN_FILES, 0},
    [BEFORE] = {"before", "before", TABLE_RATIO, TABLE_IN_FILES, 0},
    [TEXT] = {"text", "text", TABLE_TEXT, TABLE_IN_FILES, 0},
};
const size_t explain_column_count = sizeof explain_columns / sizeof *explain_columns;

typedef struct rows {
    table *t;
    const char *section;
} rows;

static void add(rows *to, const char *name, double value, double before, const char *text) {
    table_add_row(to->t);
    table_set_text(to->t, SECTION, to->section);
    table_set_text(to->t, NAME, name);
    table_set_real(to->t, VALUE, value);
    table_set_real(to->t, BEFORE, before);
    table_set_text(to->t, TEXT, text);
}

static void add_number(rows *to, const char *name, double value, const char *text) {
    add(to, name, value, (double)NAN, text);
}

static void add_text(rows *to, const char *name, const char *text) {
    add(to, name, (double)NAN, (double)NAN, text);
}

static void add_story(rows *to, const explain_rung *r) {
    static const char *const fields[] = {"before", "change", "why", "limits", "next"};
    char text[EXPLAIN_TEXT];
    to->section = "story";
    add_text(to, r->info.name, r->info.summary);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *at = r->text;
        if (explain_story_field(&at, fields[i], text)) add_text(to, fields[i], text);
    }
    const sizes_shape *s = &r->asked->shape;
    char types[16];
    problem_show_types(r->asked->types, types);
    snprintf(text, sizeof text, "%s, %lldx%lldx%lld%s%s", types, (long long)s->m, (long long)s->n,
             (long long)s->k, r->params[0] != '\0' ? ", " : "", r->params);
    add_text(to, "product", text);
}

static double counter_of(const explain_rung *r, size_t index, bool compiled) {
    return r == NULL ? (double)NAN : explain_counter_value(compiled ? &r->compiled : &r->source, index);
}

static void add_counters(rows *to, const explain_rung *r, const explain_rung *before, bool compiled) {
    for (size_t i = 0; i < explain_counter_count; i++) {
        double value = counter_of(r, i, compiled), was = counter_of(before, i, compiled);
        bool shared = strncmp(explain_counters[i].name, "shared_load", 11) == 0;
        if (compiled && !shared) continue;
        if (value == 0 && !(was > 0)) continue;
        add(to, explain_counters[i].name, value, was, "");
    }
}

static double per(double a, double b) {
    return b > 0 ? a / b : (double)NAN;
}

static void add_ratios(rows *to, const explain_rung *r, const explain_rung *before) {
    const tess_counters *c = &r->source, none = {0}, *b = before != NULL ? &before->source : &none;
    add(to, "sectors per load request", per(c->global_load_sectors, c->global_load_requests),
        per(b->global_load_sectors, b->global_load_requests), "");
    add(to, "bytes used per sector", per(c->global_load_bytes, c->global_load_sectors),
        per(b->global_load_bytes, b->global_load_sectors), "");
}

/* Expectations are about whole tiles: at an edge whole warps have nothing to load, and a last tile is loaded for few
 * of its elements. Every tile of the ladder divides 128. */
static bool is_whole(const sizes_shape *s) {
    return s->m % 128 == 0 && s->n % 128 == 0 && s->k % 128 == 0;
}

static bool add_expectations(rows *to, const explain_rung *r, const explain_rung *before) {
    explain_expect e;
    bool good = true;
    int more;
    to->section = "expect";
    for (const char *at = r->text; (more = explain_expect_next(&at, r, before, &e)) != 0;) {
        bool whole = is_whole(&r->asked->shape);
        if (more > 0 && !e.compared) {
            add(to, e.text, (double)NAN, (double)NAN, "not checked: the rung before does not take this type");
            continue;
        }
        good = good && more > 0 && (e.holds || !whole);
        if (more < 0) continue;
        add(to, e.text, e.left, e.right,
            e.holds ? "holds"
            : whole ? "DOES NOT HOLD"
                    : "does not hold for this shape; it is about multiples of 128");
    }
    return good;
}

/* What a line costs: passes through L1 and shared memory, the unit that memory instructions share. */
static double cost_of(const tess_counters *c) {
    return c->shared_load_wavefronts + c->shared_store_wavefronts + c->global_wavefronts;
}

static int by_cost(const void *a, const void *b) {
    double x = cost_of(&((const tess_line_counters *)a)->counters),
           y = cost_of(&((const tess_line_counters *)b)->counters);
    return (x < y) - (x > y);
}

static void add_lines(rows *to, const explain_rung *r) {
    tess_line_counters *sorted = malloc((r->line_count + 1) * sizeof *sorted);
    if (sorted == NULL) return;
    memcpy(sorted, r->lines, r->line_count * sizeof *sorted);
    qsort(sorted, r->line_count, sizeof *sorted, by_cost);
    double all = cost_of(&r->compiled);
    to->section = "costliest lines, % of passes";
    for (size_t i = 0; i < r->line_count && i < 3 && cost_of(&sorted[i].counters) > 0; i++) {
        char name[32], text[EXPLAIN_TEXT];
        snprintf(name, sizeof name, "line %d", sorted[i].line);
        explain_story_line(r->text, sorted[i].line, text);
        add_number(to, name, 100 * cost_of(&sorted[i].counters) / all, text);
    }
    free(sorted);
}

static void add_occupancy(rows *to, const explain_rung *r) {
    char text[EXPLAIN_TEXT];
    to->section = "occupancy";
    add_number(to, "registers of a thread", r->facts.registers, r->registers_from);
    if (r->no_compiler[0] != '\0') add_text(to, "note", r->no_compiler);
    add_number(to, "spilled bytes of a thread", r->facts.spill_bytes, "");
    add_number(to, "shared bytes of a block", r->facts.shared_bytes, "");
    add_number(to, "threads of a block", r->facts.block_threads, "");
    snprintf(text, sizeof text, "limited by %s", r->fit.limit);
    add_number(to, "blocks on a multiprocessor", r->fit.blocks, text);
    snprintf(text, sizeof text, "of %d", r->fit.most_warps);
    add_number(to, "warps on a multiprocessor", r->fit.warps, text);
    add_number(to, "occupancy, %", 100 * r->fit.share, "");
}

static void add_roofline(rows *to, const explain_rung *r) {
    const tess_counters *c = &r->compiled;
    const card *on = r->asked->on;
    double peak = cards_peak(on, r->asked->types.in, c->mma_instructions > 0) * 1e-9,
           l2 = on->l2_bytes * on->clock * on->sms * 1e-9;
    double at_l2 = per(c->flops, 32 * (on->l1_keeps_loads ? c->l2_sectors_least : c->l2_sectors_most));
    double at_dram = per(c->flops, 32 * c->dram_sectors_least), dram = on->dram_bytes * 1e-9;
    to->section = "roofline";
    add_number(to, "FLOP per distinct byte", per(c->flops, c->distinct_bytes),
               "each byte once for each request");
    add_number(to, "FLOP per byte at L1",
               per(c->flops, 32 * (c->global_load_sectors + c->global_store_sectors)),
               "by sectors asked for");
    add_number(to, "FLOP per byte at L2", at_l2, "at best: a block takes nothing twice");
    add_number(to, "FLOP per byte at L2, at worst", per(c->flops, 32 * c->l2_sectors_most),
               "no load finds L1");
    add_number(to, "FLOP per byte at DRAM", at_dram, "at best: A, B and C once");
    add_number(to, "ceiling of arithmetic, GFLOPS", peak, "");
    add_number(to, "ceiling of L2, GFLOPS", fmin(peak, at_l2 * l2), "");
    add_number(to, "ceiling of DRAM, GFLOPS", fmin(peak, at_dram * dram), "");
    add_number(to, "memory decides below FLOP/byte", peak / dram, "the ridge of the roofline at DRAM");
}

static void add_model(rows *to, const explain_rung *r) {
    const model_result *m = &r->model;
    const card *on = r->asked->on;
    char text[EXPLAIN_TEXT];
    to->section = "model";
    add_text(to, "GPU", on->name);
    int needs = 0;
    if (sscanf(r->info.needs, "sm_%d", &needs) == 1 && needs > on->architecture) {
        snprintf(text, sizeof text,
                 "the kernel needs sm_%d, this GPU is sm_%d: predicted as if it had what is missing", needs,
                 on->architecture);
        add_text(to, "note", text);
    }
    if (r->compiled.mma_instructions > 0)
        add_text(to, "note", "not calibrated for tensor cores: see docs/MODEL.md");
    if (!r->predicted) {
        snprintf(text, sizeof text, "a block does not fit a multiprocessor of this GPU: %s", r->fit.limit);
        add_text(to, "prediction", r->fit.blocks < 1 ? text : "none: this GPU has no tensor cores");
        return;
    }
    for (int i = 0; i < MODEL_UNITS; i++) {
        snprintf(text, sizeof text, "%.0f%% of the clocks of a wave",
                 100 * m->clocks[i] / (m->busy + m->waiting));
        add_number(to, model_unit_names[i], m->clocks[i], text);
    }
    add_number(to, "overlap", m->overlap, "exponent: 1 is one after the other, more is beside each other");
    add_number(to, "busy", m->busy, "clocks: all of these together");
    add_number(to, "waiting", m->waiting, "clocks in which no block has its tile");
    add_number(to, "waves", m->waves, "of blocks");
    add_text(to, "bound by", m->bound == MODEL_UNITS ? "the latency of memory" : model_unit_names[m->bound]);
    add_number(to, "predicted ms", m->seconds * 1e3, "");
    add_number(to, "predicted GFLOPS", m->gflops,
               r->compiled.estimated ? "from counters that are estimates" : "");
    add_number(to, "% of the peak",
               100e9 * m->gflops / cards_peak(on, r->asked->types.in, r->compiled.mma_instructions > 0), "");
}

/* One row for each line of "NAME: meaning (default)". */
static void add_parameters(rows *to, const explain_rung *r) {
    to->section = "parameters";
    for (const char *line = r->info.params; *line != '\0';) {
        size_t length = strcspn(line, "\n"), name = strcspn(line, ":");
        char word[32], text[EXPLAIN_TEXT];
        snprintf(word, sizeof word, "%.*s", (int)name, line);
        snprintf(text, sizeof text, "%.*s", (int)(length > name + 2 ? length - name - 2 : 0),
                 line + name + 2);
        add_text(to, word, text);
        line += length + (line[length] == '\n');
    }
}

/* What is known of a kernel that the simulator does not run. */
static void add_uncounted(rows *to, const explain_rung *r) {
    add_parameters(to, r);
    to->section = "counters";
    add_text(to, "none", r->uncounted);
    if (r->facts.registers > 0) {
        add_occupancy(to, r);
    } else {
        to->section = "occupancy";
        add_text(to, "unknown", r->no_compiler);
    }
}

bool explain_rows_add(table *t, const explain_rung *r, const explain_rung *before) {
    rows to = {t, ""};
    add_story(&to, r);
    if (r->uncounted[0] != '\0') {
        add_uncounted(&to, r);
        return true;
    }
    to.section = "counters";
    add_counters(&to, r, before, false);
    add_ratios(&to, r, before);
    to.section = "counters as compiled";
    add_counters(&to, r, before, true);
    bool good = add_expectations(&to, r, before);
    add_lines(&to, r);
    add_occupancy(&to, r);
    add_roofline(&to, r);
    add_model(&to, r);
    return good;
}

/* ---- For people ---- */

/* Whole numbers in full, others with the digits that matter. */
static void show(double value, char out[32]) {
    if (isnan(value))
        out[0] = '\0';
    else if (value == floor(value) && fabs(value) < 1e15)
        snprintf(out, 32, "%.0f", value);
    else
        snprintf(out, 32, fabs(value) >= 1000 ? "%.0f" : "%.5g", value);
}

/* Text in lines of at most `width` letters, the later ones indented. */
static void print_wrapped(const char *text, int indent, size_t width, FILE *stream) {
    while (strlen(text) > width) {
        size_t cut = width;
        while (cut > width / 2 && text[cut] != ' ') cut--;
        fprintf(stream, "%.*s\n%*s", (int)cut, text, indent, "");
        text += cut + (text[cut] == ' ');
    }
    fprintf(stream, "%s\n", text);
}

static void print_row(const table_cell *row, FILE *stream) {
    char value[32], before[32], change[32] = "";
    double now = row[VALUE].held == CELL_REAL ? row[VALUE].real : (double)NAN;
    double was = row[BEFORE].held == CELL_REAL ? row[BEFORE].real : (double)NAN;
    const char *text = row[TEXT].text != NULL ? row[TEXT].text : "", *name = row[NAME].text;
    show(now, value);
    show(was, before);
    if (isnan(now)) {
        fprintf(stream, "  %-9s ", name);
        print_wrapped(text, 12, 88, stream);
        return;
    }
    if (strcmp(row[SECTION].text, "expect") == 0) {
        fprintf(stream, "  %s\n      %s against %s: %s\n", name, value, before, text);
        return;
    }
    if (strncmp(row[SECTION].text, "costliest", 9) == 0) {
        fprintf(stream, "  %-9s %5.1f  ", name, now);
        print_wrapped(text, 19, 80, stream);
        return;
    }
    if (was > 0 && now > 0)
        snprintf(change, sizeof change, now >= was ? "x%.3g" : "/%.3g", now >= was ? now / was : was / now);
    fprintf(stream, "  %-30s %16s", name, value);
    if (was >= 0 || change[0] != '\0')
        fprintf(stream, " %16s  %s%s%s\n", before, change, text[0] != '\0' ? "  " : "", text);
    else
        fputs("  ", stream), print_wrapped(text, 51, 48, stream);
}

void explain_rows_print(const table *t, FILE *stream) {
    const char *section = "";
    for (size_t i = 0; i < t->row_count; i++) {
        const table_cell *row = &t->cells[i * t->column_count];
        if (strcmp(section, row[SECTION].text) != 0) {
            section = row[SECTION].text;
            fprintf(stream, "%s%s\n", i > 0 ? "\n" : "", section);
        }
        print_row(row, stream);
    }
}
