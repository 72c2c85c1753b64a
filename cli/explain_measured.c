/* explain_measured.c: predictions beside rates that somebody measured, row by row of a CSV file.
 *
 * Invariant: columns are found by name; a row that cannot be predicted is an error, not left out. Lines that begin with
 * '#' are remarks. */
#include "explain.h"
#include "say.h"

#include <errno.h>
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

enum {
    F_KERNEL,
    F_PARAMS,
    F_TYPE,
    F_M,
    F_N,
    F_K,
    F_GFLOPS,
    F_GPU,
    FIELDS,
    COLUMNS_MOST = 96,
    ROWS_MOST = 4096
};
static const char *const field_names[FIELDS] = {"kernel", "params", "type", "m", "n", "k", "gflops", "gpu"};

/* A file of rates, line by line. */
typedef struct reader {
    FILE *stream;
    const char *name;
    int places[FIELDS]; /* the column of each field; -1: none */
    char line[4096];
    const char *fields[FIELDS];
    int line_number;
} reader;

/* Cuts a line into its cells, in place; returns how many. Quotes are not used in such files but around lists. */
static int cut(char *line, char *cells[COLUMNS_MOST]) {
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *rest = line, *cell; count < COLUMNS_MOST && rest != NULL;) {
        if (*rest == '"') {
            cell = rest + 1;
            rest = strchr(cell, '"');
            if (rest != NULL) *rest++ = '\0', rest = strchr(rest, ',');
            if (rest != NULL) rest++;
        } else {
            cell = strsep(&rest, ",");
        }
        cells[count++] = cell;
    }
    return count;
}

static bool next_line(reader *in) {
    do {
        if (fgets(in->line, sizeof in->line, in->stream) == NULL) return false;
        in->line_number++;
    } while (in->line[0] == '#' || in->line[0] == '\n');
    return true;
}

static bool read_heading(reader *in) {
    char *cells[COLUMNS_MOST];
    int count = next_line(in) ? cut(in->line, cells) : 0;
    for (int f = 0; f < FIELDS; f++) {
        in->places[f] = -1;
        for (int i = 0; i < count; i++)
            if (strcmp(cells[i], field_names[f]) == 0) in->places[f] = i;
        if (in->places[f] >= 0 || f == F_GPU || f == F_PARAMS) continue;
        say_error("'%s' has no column '%s'; a file of rates has kernel, type, m, n, k and gflops", in->name,
                  field_names[f]);
        return false;
    }
    return true;
}

static bool read_row(reader *in) {
    char *cells[COLUMNS_MOST];
    if (!next_line(in)) return false;
    int count = cut(in->line, cells);
    for (int f = 0; f < FIELDS; f++) {
        bool there = in->places[f] >= 0 && in->places[f] < count;
        in->fields[f] = there ? cells[in->places[f]] : "";
    }
    return true;
}

/* Whether the row is a rung's, measured on the card that is asked about. */
static bool concerns(const reader *in, const explain_case *asked, tess_kernel_info *kernel) {
    if (in->fields[F_GPU][0] != '\0' && strcmp(in->fields[F_GPU], asked->on->name) != 0) return false;
    return strncmp(in->fields[F_KERNEL], "simt_", 5) == 0 &&
           explain_find_kernel(in->fields[F_KERNEL], kernel);
}

static bool read_case(const reader *in, explain_case *c, char params[256]) {
    snprintf(params, 256, "%s", in->fields[F_PARAMS]);
    for (char *at = params; *at != '\0'; at++)
        if (*at == ' ' || *at == ';') *at = ',';
    c->params = params;
    return problem_parse_types(in->fields[F_TYPE], &c->types) &&
           sizes_parse_one(in->fields[F_M], NULL, &c->shape.m) &&
           sizes_parse_one(in->fields[F_N], NULL, &c->shape.n) &&
           sizes_parse_one(in->fields[F_K], NULL, &c->shape.k) && strtod(in->fields[F_GFLOPS], NULL) > 0;
}

static void add_row(table *t, const reader *in, const explain_rung *r, double measured) {
    char shape[80];
    const sizes_shape *s = &r->asked->shape;
    bool square = s->m == s->n && s->n == s->k;
    snprintf(shape, sizeof shape, square ? "%lld" : "%lldx%lldx%lld", (long long)s->m, (long long)s->n,
             (long long)s->k);
    table_add_row(t);
    table_set_text(t, KERNEL, r->info.name);
    table_set_text(t, PARAMS, in->fields[F_PARAMS]);
    table_set_text(t, TYPE, in->fields[F_TYPE]);
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
static bool predict_all(table *t, reader *in, const explain_case *asked, double errors[ROWS_MOST],
                        size_t *count) {
    for (*count = 0; *count < ROWS_MOST && read_row(in);) {
        explain_case one = *asked;
        tess_kernel_info kernel;
        char params[256];
        if (!concerns(in, asked, &kernel)) continue;
        if (!read_case(in, &one, params)) {
            say_error("line %d of '%s' has no type, size or rate that could be read", in->line_number,
                      in->name);
            return false;
        }
        say_progress("%s %s %s", kernel.name, in->fields[F_TYPE], in->fields[F_M]);
        explain_rung *r = explain_rung_open(&one, &kernel);
        if (r == NULL) return false;
        double measured = strtod(in->fields[F_GFLOPS], NULL);
        add_row(t, in, r, measured);
        errors[(*count)++] = r->predicted ? fabs(100 * (r->model.gflops / measured - 1)) : (double)INFINITY;
        explain_rung_close(r);
    }
    return true;
}

bool explain_measured_add(table *t, const explain_case *asked, const char *file, double *median,
                          double *worst) {
    reader in = {.stream = fopen(file, "r"), .name = file};
    static double errors[ROWS_MOST];
    size_t count = 0;
    if (in.stream == NULL) {
        say_error("could not read '%s': %s", file, strerror(errno));
        return false;
    }
    bool good = read_heading(&in) && predict_all(t, &in, asked, errors, &count);
    fclose(in.stream);
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
