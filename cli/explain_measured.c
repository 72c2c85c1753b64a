/* explain_measured.c: predictions beside rates that somebody measured, row by row of a file of results.
 *
 * Invariant: a row that cannot be predicted is an error, not left out. */
#include "explain.h"
#include "results.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL, PARAMS, TYPE, SHAPE, GPU, MEASURED, PREDICTED, ERROR };
const table_column explain_measured_columns[] = {
    [KERNEL] = {"kernel", "kernel", TABLE_TEXT, TABLE_IN_FILES, 0},
    [PARAMS] = {"params", "params", TABLE_TEXT, TABLE_IN_FILES, 0},
    [TYPE] = {"type", "type", TABLE_TEXT, TABLE_IN_FILES, 0},
    [SHAPE] = {"shape", "shape", TABLE_TEXT, TABLE_IN_FILES, 0},
    [GPU] = {"gpu", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [MEASURED] = {"gflops", "measured", TABLE_RATE, TABLE_IN_FILES, 0},
    [PREDICTED] = {"predicted_gflops", "predicted", TABLE_RATE, TABLE_IN_FILES, 0},
    [ERROR] = {"error_pct", "error", TABLE_PERCENT, TABLE_IN_FILES, 0},
};
const size_t explain_measured_column_count =
    sizeof explain_measured_columns / sizeof *explain_measured_columns;

enum { ROWS_MOST = 4096 };
static const char *const needed[] = {"kernel", "type", "m", "n", "k", "gflops"};

/* Whether the row is a rung's, measured on the card that is asked about. */
static bool concerns(const results *in, size_t row, const explain_case *asked, tess_kernel_info *kernel) {
    const char *gpu = results_text(in, row, "gpu"), *name = results_text(in, row, "kernel");
    if (gpu[0] != '\0' && strcmp(gpu, asked->on->name) != 0) return false;
    return strncmp(name, "simt_", 5) == 0 && explain_find_kernel(name, kernel);
}

static bool read_case(const results *in, size_t row, explain_case *c, char params[256]) {
    snprintf(params, 256, "%s", results_text(in, row, "params"));
    for (char *at = params; *at != '\0'; at++)
        if (*at == ' ' || *at == ';') *at = ',';
    c->params = params;
    return problem_parse_types(results_text(in, row, "type"), &c->types) &&
           sizes_parse_one(results_text(in, row, "m"), NULL, &c->shape.m) &&
           sizes_parse_one(results_text(in, row, "n"), NULL, &c->shape.n) &&
           sizes_parse_one(results_text(in, row, "k"), NULL, &c->shape.k) &&
           results_number(in, row, "gflops") > 0;
}

static void add_row(table *t, const results *in, size_t row, const explain_rung *r, double measured) {
    char shape[80];
    const sizes_shape *s = &r->asked->shape;
    bool square = s->m == s->n && s->n == s->k;
    snprintf(shape, sizeof shape, square ? "%lld" : "%lldx%lldx%lld", (long long)s->m, (long long)s->n,
             (long long)s->k);
    table_add_row(t);
    table_set_text(t, KERNEL, r->info.name);
    table_set_text(t, PARAMS, results_text(in, row, "params"));
    table_set_text(t, TYPE, results_text(in, row, "type"));
    table_set_text(t, SHAPE, shape);
    table_set_text(t, GPU, r->asked->on->name);
    table_set_real(t, MEASURED, measured);
    table_set_real(t, PREDICTED, r->predicted ? r->model.gflops : (double)NAN);
    table_set_real(t, ERROR, r->predicted ? 100 * (r->model.gflops / measured - 1) : (double)NAN);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Predicts the rows; errors[] gets the size of each error. */
static bool predict_all(table *t, const results *in, const explain_case *asked, double errors[ROWS_MOST],
                        size_t *count) {
    for (size_t row = 0; row < in->row_count && *count < ROWS_MOST; row++) {
        explain_case one = *asked;
        tess_kernel_info kernel;
        char params[256];
        if (!concerns(in, row, asked, &kernel)) continue;
        if (!read_case(in, row, &one, params)) {
            say_error("row %zu of '%s' has no type, size or rate that could be read", row + 1, in->name);
            return false;
        }
        say_progress("%s %s %s", kernel.name, results_text(in, row, "type"), results_text(in, row, "m"));
        explain_rung *r = explain_rung_open(&one, &kernel);
        if (r == NULL) return false;
        double measured = results_number(in, row, "gflops");
        add_row(t, in, row, r, measured);
        errors[(*count)++] = r->predicted ? fabs(100 * (r->model.gflops / measured - 1)) : (double)INFINITY;
        explain_rung_close(r);
    }
    return true;
}

bool explain_measured_add(table *t, const explain_case *asked, const char *file, double *median,
                          double *worst) {
    results in;
    static double errors[ROWS_MOST];
    size_t count = 0;
    bool good = results_read(&in, file) && results_need(&in, needed, sizeof needed / sizeof *needed) &&
                predict_all(t, &in, asked, errors, &count);
    results_free(&in);
    if (good && count == 0) {
        say_error("'%s' has no rate of a rung on a %s", file, asked->on->name);
        good = false;
    }
    if (!good) return false;
    qsort(errors, count, sizeof *errors, by_size);
    *median = count % 2 == 1 ? errors[count / 2] : (errors[count / 2 - 1] + errors[count / 2]) / 2;
    *worst = errors[count - 1];
    return true;
}
