/* cmd_compare.c: `tessera compare OLD NEW`: what became faster or slower, and how surely.
 *
 * Invariant: every case of either file is a row with a verdict; the exit status is 1 if and only if one of
 * them is slower or failed.
 */
#include "commands.h"
#include "compare.h"
#include "output.h"
#include "output_file.h"
#include "say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const args_option options[] = {
    {"threshold", "PERCENT", "the smallest change that matters; default 2"},
    {"drift", "PERCENT", "how much one run differs from the next beside its noise; default 0.4"},
    {"changed", NULL, "leave out the cases that are equal"},
    ARGS_OUTPUT_ROWS,
    ARGS_QUIET_ROW,
};

const args_spec compare_spec =
    {"compare",
     "OLD NEW",
     2,
     "Compare two files of bench, case by case, and say what became slower",
     "  tessera bench --csv old.csv           before a change\n"
     "  tessera bench --csv new.csv           after it\n"
     "  tessera compare old.csv new.csv       0: nothing is slower; 1: something is; 2: no comparison\n\n"
     "Files are those of bench --csv or --json; - is standard input. A case is a kernel with its parameters "
     "on\n"
     "one product on one device, timed in one way. Change is the new time over the old, with an interval "
     "that\n"
     "holds it in 95 of 100 comparisons. It is made of the error of each median (the column interval_pct; "
     "for\n"
     "a file without it 1.253 s / sqrt(n), n samples of deviation s = (90th - 10th percentile) / 2.563), of\n"
     "the deviation of the samples below the median where that is near 10 % or more, because then something\n"
     "slowed the machine, of CPU time lost to others, and of the drift. Repeated runs (bench --repeat) "
     "lessen\n"
     "the first two. Verdicts:\n"
     "  slower, faster  the change exceeds the threshold, and the interval does not hold 1\n"
     "  equal           the whole interval lies within the threshold\n"
     "  unsure          neither: repeat the runs, or run longer, on a machine that is idle\n"
     "  failed          in NEW the result was wrong, and not timed\n"
     "  only old, only new\n",
     options,
     sizeof options / sizeof *options};

/* The fields that tell cases apart come first, in the order of the CSV of bench. */
enum {
    KERNEL,
    PARAMS,
    DEVICE,
    THREADS,
    TYPE,
    COMPUTE,
    M,
    N,
    K,
    BATCH,
    LAYOUT,
    LDA,
    LDB,
    LDC,
    ALPHA,
    BETA,
    CACHE,
    MODE,
    KEY_COLUMNS,
    OLD_MS = KEY_COLUMNS,
    NEW_MS,
    CHANGE_SHOWN,
    INTERVAL_SHOWN,
    OLD_RUNS,
    NEW_RUNS,
    RATIO,
    RATIO_LOW,
    RATIO_HIGH,
    VERDICT
};

static const table_column columns[] = {
    [KERNEL] = {"kernel", "kernel", TABLE_TEXT, TABLE_IN_FILES, 0},
    [PARAMS] = {"params", "params", TABLE_TEXT, TABLE_IN_FILES, 0},
    [DEVICE] = {"device", "device", TABLE_TEXT, TABLE_IN_FILES, 0},
    [THREADS] = {"threads", "threads", TABLE_TEXT, TABLE_IN_FILES, 0},
    [TYPE] = {"type", "type", TABLE_TEXT, TABLE_IN_FILES, 0},
    [COMPUTE] = {"compute", "compute", TABLE_TEXT, TABLE_IN_FILES, 0},
    [M] = {"m", "m", TABLE_COUNT, TABLE_IN_FILES, 0},
    [N] = {"n", "n", TABLE_COUNT, TABLE_IN_FILES, 0},
    [K] = {"k", "k", TABLE_COUNT, TABLE_IN_FILES, 0},
    [BATCH] = {"batch", "batch", TABLE_COUNT, TABLE_IN_FILES, 0},
    [LAYOUT] = {"layout", "layout", TABLE_TEXT, TABLE_IN_FILES, 0},
    [LDA] = {"lda", "lda", TABLE_COUNT, TABLE_IN_FILES, 0},
    [LDB] = {"ldb", "ldb", TABLE_COUNT, TABLE_IN_FILES, 0},
    [LDC] = {"ldc", "ldc", TABLE_COUNT, TABLE_IN_FILES, 0},
    [ALPHA] = {"alpha", "alpha", TABLE_TEXT, TABLE_IN_FILES, 0},
    [BETA] = {"beta", "beta", TABLE_TEXT, TABLE_IN_FILES, 0},
    [CACHE] = {"cache", "cache", TABLE_TEXT, TABLE_IN_FILES, 0},
    [MODE] = {"mode", "mode", TABLE_TEXT, TABLE_IN_FILES, 0},
    [OLD_MS] = {"old_ms", "old", TABLE_MILLIS, TABLE_IN_FILES, 0},
    [NEW_MS] = {"new_ms", "new", TABLE_MILLIS, TABLE_IN_FILES, 0},
    [CHANGE_SHOWN] = {"change", "change", TABLE_TEXT, 0, 0},
    [INTERVAL_SHOWN] = {"interval", "interval", TABLE_TEXT, 0, 0},
    [OLD_RUNS] = {"old_runs", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [NEW_RUNS] = {"new_runs", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [RATIO] = {"ratio", NULL, TABLE_RATIO, TABLE_IN_FILES, 0},
    [RATIO_LOW] = {"ratio_low", NULL, TABLE_RATIO, TABLE_IN_FILES, 0},
    [RATIO_HIGH] = {"ratio_high", NULL, TABLE_RATIO, TABLE_IN_FILES, 0},
    [VERDICT] = {"verdict", "verdict", TABLE_TEXT, TABLE_IN_FILES, 0},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

typedef struct comparison {
    results files[2]; /* OLD, NEW */
    compare_cases cases;
    compare_limits limits;
    size_t verdicts[COMPARE_VERDICTS]; /* how many of each */
    double log_sum;                    /* of the ratios */
    output out;
    bool changed_only;
} comparison;

static bool is_common(const comparison *c, const char *column) {
    char first[128], text[128];
    compare_show_key(&c->cases.cases[0], column, first, sizeof first);
    for (size_t i = 1; i < c->cases.count; i++) {
        compare_show_key(&c->cases.cases[i], column, text, sizeof text);
        if (strcmp(first, text) != 0) return false;
    }
    return true;
}

/* What all cases have in common tells people nothing. Leading dimensions follow from the sizes but for
 * --ld-pad. */
static void hide_common(table *t, const comparison *c) {
    for (size_t column = PARAMS; column < KEY_COLUMNS; column++) {
        bool size = column >= M && column <= K, leading = column >= LDA && column <= LDC;
        if (leading || (!size && is_common(c, columns[column].name))) table_hide(t, column);
    }
}

static void set_key(table *t, const compare_case *c, size_t column) {
    char text[128], *end;
    compare_show_key(c, columns[column].name, text, sizeof text);
    long long number = strtoll(text, &end, 10);
    if (columns[column].kind == TABLE_COUNT && end != text && *end == '\0')
        table_set_count(t, column, number);
    else
        table_set_text(t, column, text);
}

static void add_row(table *t, const compare_case *c, const compare_change *change) {
    static const table_tone tones[COMPARE_VERDICTS] =
        {[COMPARE_FASTER] = TABLE_GOOD, [COMPARE_SLOWER] = TABLE_BAD, [COMPARE_FAILED] = TABLE_BAD};
    char text[64];
    table_add_row(t);
    for (size_t column = KERNEL; column < KEY_COLUMNS; column++) set_key(t, c, column);
    table_set_text(t, KERNEL, results_text(c->from, c->row, "kernel"));
    table_set_real(t, OLD_MS, change->times[0]);
    table_set_real(t, NEW_MS, change->times[1]);
    table_set_count(t, OLD_RUNS, (int64_t)c->sides[0].count);
    table_set_count(t, NEW_RUNS, (int64_t)c->sides[1].count);
    table_set_real(t, RATIO, change->ratio);
    table_set_real(t, RATIO_LOW, change->low);
    table_set_real(t, RATIO_HIGH, change->high);
    if (!isnan(change->ratio)) {
        snprintf(text, sizeof text, "%+.1f%%", 100 * (change->ratio - 1));
        table_set_text(t, CHANGE_SHOWN, text);
        snprintf(text, sizeof text, "%+.1f%% to %+.1f%%", 100 * (change->low - 1), 100 * (change->high - 1));
        table_set_text(t, INTERVAL_SHOWN, text);
    }
    table_set_text(t, VERDICT, compare_verdicts[change->verdict]);
    table_set_tone(t, VERDICT, tones[change->verdict]);
}

static void fill_table(table *t, comparison *c) {
    hide_common(t, c);
    for (size_t i = 0; i < c->cases.count; i++) {
        compare_change change = compare_judge(&c->cases.cases[i], &c->limits);
        c->verdicts[change.verdict]++;
        if (!isnan(change.ratio)) c->log_sum += log(change.ratio);
        if (!c->changed_only || change.verdict != COMPARE_EQUAL) add_row(t, &c->cases.cases[i], &change);
    }
}

static size_t compared(const comparison *c) {
    return c->verdicts[COMPARE_EQUAL] + c->verdicts[COMPARE_FASTER] + c->verdicts[COMPARE_SLOWER] +
           c->verdicts[COMPARE_UNSURE];
}

/* Numbers of different machines, or of different ways of timing, can be compared, but somebody should
 * know. */
static void note_difference(const comparison *c, const char *key, const char *what) {
    const char *before = results_about(&c->files[0], key), *after = results_about(&c->files[1], key);
    if (before[0] != '\0' && after[0] != '\0' && strcmp(before, after) != 0)
        say_note("%s differs: '%s' in %s, '%s' in %s", what, before, c->files[0].name, after,
                 c->files[1].name);
}

static void print_summary(const comparison *c) {
    size_t count = compared(c);
    printf("%zu case%s:", c->cases.count, c->cases.count == 1 ? "" : "s");
    const char *separator = " ";
    for (size_t i = 0; i < COMPARE_VERDICTS; i++) {
        if (c->verdicts[i] == 0) continue;
        printf("%s%zu %s", separator, c->verdicts[i], compare_verdicts[i]);
        separator = ", ";
    }
    printf("; threshold %g%%", 100 * c->limits.threshold);
    if (count > 1) printf("; geometric mean of the changes %+.2f%%", 100 * expm1(c->log_sum / (double)count));
    printf("\n");
}

static int report(comparison *c) {
    /* The context of a JSON file says where the comparison was made; that is not where the results are
     * from. */
    tess_device_info device = {.name = "", .model = ""};
    table t;
    table_open(&t, columns, COLUMN_COUNT);
    fill_table(&t, c);
    bool written = output_write(&c->out, &t, "comparison", &device, NULL);
    table_close(&t);
    if (c->out.people) print_summary(c);
    if (!written) return EXIT_USAGE;
    if (compared(c) == 0 && c->verdicts[COMPARE_FAILED] == 0)
        return say_usage("'%s' and '%s' have no case in common", c->files[0].name, c->files[1].name);
    if (c->verdicts[COMPARE_UNSURE] > 0)
        say_note("unsure cases become clear with more or longer runs on an idle machine: "
                 "tessera bench --repeat 5 --min-time 1");
    return c->verdicts[COMPARE_SLOWER] + c->verdicts[COMPARE_FAILED] > 0 ? EXIT_CHECK : EXIT_FINE;
}

static bool spares_inputs(const output *out, const args *a) {
    for (size_t i = 0; i < a->word_count; i++)
        if (!output_spares("csv", out->csv, a->words[i]) || !output_spares("json", out->json, a->words[i]))
            return false;
    return true;
}

int compare_run(const args *a) {
    comparison c = {.limits = {.threshold = 2, .drift = 0.4}, .changed_only = args_given(a, "changed")};
    say_quiet(args_given(a, "quiet"));
    if (a->word_count != 2) return say_usage("compare needs two files of results: tessera compare OLD NEW");
    if (strcmp(a->words[0], "-") == 0 && strcmp(a->words[1], "-") == 0)
        return say_usage("only one of OLD and NEW can be standard input");
    if (!output_open(&c.out, a) || !spares_inputs(&c.out, a) ||
        !args_real(a, "threshold", 0, 1000, &c.limits.threshold) ||
        !args_real(a, "drift", 0, 100, &c.limits.drift))
        return EXIT_USAGE;
    c.limits.threshold /= 100;
    c.limits.drift /= 100;
    int status = EXIT_USAGE;
    if (results_read(&c.files[0], a->words[0]) && results_read(&c.files[1], a->words[1]) &&
        compare_match(&c.cases, &c.files[0], &c.files[1])) {
        note_difference(&c, "model", "the device");
        note_difference(&c, "data", "the data");
        status = report(&c);
    }
    compare_free(&c.cases);
    results_free(&c.files[0]);
    results_free(&c.files[1]);
    return status;
}
