/* results.h: reads back what a command wrote with --csv or --json. */
#ifndef RESULTS_H
#define RESULTS_H

#include <stdbool.h>
#include <stddef.h>

/* One row: as many cells as its columns; NULL where it has none. */
typedef struct results_row {
    const char **cells;
    size_t count;
    size_t facts; /* how many facts of the file stand before it */
} results_row;

/* A fact of the environment. Of an object in JSON's context the group is its name, else it is "". */
typedef struct results_fact {
    const char *group, *key, *value;
} results_fact;

typedef struct results {
    const char *name; /* of the file, for messages */
    const char **columns;
    size_t column_count;
    results_row *rows;
    size_t row_count;
    results_fact *facts;
    size_t fact_count;
    char *text; /* the whole file: every string above points into it */
} results;

/* Reads a file, or stdin for "-". CSV has a row of names first, fields may be quoted, lines that begin
 * with '#' are remarks, and "# key: value" is a fact of the environment. JSON is an object: "context"
 * holds the facts, the first array of objects the rows. On failure a sentence is said, with the line where
 * that helps, and false returned; results_free is due in any case. `path` must outlive the results. */
bool results_read(results *r, const char *path);
void results_free(results *r);

/* Whether the file has all of these columns; if not, a sentence names the missing one. */
bool results_need(const results *r, const char *const *columns, size_t count);
/* "" where the row has no such field. */
const char *results_text(const results *r, size_t row, const char *column);
/* NaN where the row has no such field, or it is empty or no number. */
double results_number(const results *r, size_t row, const char *column);
/* A fact of the environment: "model", "date", "revision", "libraries.cuBLAS"; "" where it is not there. Of
 * a file that was appended to, the first run's. */
const char *results_about(const results *r, const char *key);
/* The same of the run that a row comes from: the last such fact before it. */
const char *results_about_row(const results *r, size_t row, const char *key);

#endif
