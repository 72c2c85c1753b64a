/* explain_ladder.c: the whole ladder, a row for each rung: what changed, which counter moved, what is predicted. */
#include "explain.h"
#include "kernels.h"
#include "say.h"

#include <math.h>
#include <string.h>

enum { NUMBER, NAME, CHANGE, SHORT, COUNTER, TIMES, BOUND, GFLOPS };
const table_column explain_ladder_columns[] = {
    [NUMBER] = {"number", "no.", TABLE_COUNT, TABLE_IN_FILES, 0},
    [NAME] = {"name", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [CHANGE] = {"change", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [SHORT] = {"short", "what changes", TABLE_TEXT, 0, 0},
    [COUNTER] = {"counter", "counter that moves", TABLE_TEXT, TABLE_IN_FILES, 0},
    [TIMES] = {"times", "times", TABLE_RATIO, TABLE_IN_FILES, 0},
    [BOUND] = {"bound", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [GFLOPS] = {"predicted_gflops", "GFLOPS", TABLE_RATE, TABLE_IN_FILES, 0},
};
const size_t explain_ladder_column_count = sizeof explain_ladder_columns / sizeof *explain_ladder_columns;
enum { RUNGS_MOST = 100, WIDEST = 47 };

/* The first counter of the header's expectations that is not what it was. */
static bool moved(const explain_rung *r, const explain_rung *before, const char **name, double *times) {
    char text[EXPLAIN_TEXT];
    for (const char *at = r->text; explain_story_field(&at, "expect", text);)
        for (size_t i = 0; i < explain_counter_count; i++) {
            size_t length = strlen(explain_counters[i].name);
            if (strncmp(text, explain_counters[i].name, length) != 0 || text[length] != ' ') continue;
            double now = explain_counter_value(&r->compiled, i),
                   was = explain_counter_value(&before->compiled, i);
            if (was <= 0 || now == was) continue;
            *name = explain_counters[i].name;
            *times = now / was;
            return true;
        }
    return false;
}

/* Cut where a word ends, so that the table fits a screen. */
static void set_short(table *t, size_t column, const char *text) {
    char out[WIDEST + sizeof "…"];
    size_t length = strlen(text), cut = length;
    if (cut > WIDEST)
        for (cut = WIDEST; cut > 0 && strchr(" ;,:", text[cut]) == NULL;) cut--;
    snprintf(out, sizeof out, "%.*s%s", (int)cut, text, cut < length ? "…" : "");
    table_set_text(t, column, out);
}

static void add_row(table *t, const explain_rung *r, const explain_rung *before) {
    const char *name = "";
    double times = (double)NAN;
    table_add_row(t);
    table_set_count(t, NUMBER, r->info.number);
    table_set_text(t, NAME, r->info.name);
    char change[EXPLAIN_TEXT];
    const char *at = r->text;
    if (explain_story_field(&at, "change", change)) {
        table_set_text(t, CHANGE, change);
        set_short(t, SHORT, change);
    }
    if (before != NULL && moved(r, before, &name, &times)) {
        table_set_text(t, COUNTER, name);
        table_set_real(t, TIMES, times);
    }
    if (!r->predicted) return;
    table_set_text(t, BOUND, r->model.bound == MODEL_UNITS ? "latency" : model_unit_names[r->model.bound]);
    table_set_real(t, GFLOPS, r->model.gflops);
}

static const explain_rung *find_rung(explain_rung *const *rungs, size_t count, const explain_rung *of) {
    tess_kernel_info before;
    if (!explain_before(of, &before)) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(rungs[i]->info.name, before.name) == 0) return rungs[i];
    return NULL;
}

bool explain_is_rung(const tess_kernel_info *kernel, const explain_case *asked) {
    char types[16];
    problem_show_types(asked->types, types);
    bool rounds = asked->types.in == TESS_F32 && kernels_is_tensor(kernel); /* which has to be allowed */
    if (rounds && (asked->compute == TESS_COMPUTE_DEFAULT || asked->compute == TESS_COMPUTE_F32_STRICT))
        return false;
    return strncmp(kernel->name, "vector", 6) != 0 && strstr(kernel->types, types) != NULL &&
           kernels_is_counted(kernel);
}

bool explain_ladder_add(table *t, const explain_case *asked) {
    explain_rung *rungs[RUNGS_MOST];
    kernels_list list = {0};
    size_t count = 0;
    bool good = kernels_add_ours(&list, "gpu");
    for (size_t i = 0; good && i < list.count && count < RUNGS_MOST; i++) {
        if (!explain_is_rung(&list.kernels[i], asked)) continue;
        say_progress("%s", list.kernels[i].name);
        rungs[count] = explain_rung_open(asked, &list.kernels[i]);
        good = rungs[count] != NULL;
        if (good) add_row(t, rungs[count], find_rung(rungs, count, rungs[count])), count++;
    }
    for (size_t i = 0; i < count; i++) explain_rung_close(rungs[i]);
    kernels_free(&list);
    return good;
}
