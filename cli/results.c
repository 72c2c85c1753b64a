/* results.c: rows and facts of a file of results, found by name.
 *
 * Invariant: every string that is handed out lies in the text of the file, which is kept; a field that is not
 * there is "", and as a number NaN.
 */
#include "results.h"
#include "results_parse.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more of the items. Returns false after a sentence. */
static bool grow(void **items, size_t count, size_t size) {
    /* Full exactly at the powers of two. */
    if (count != 0 && (count & (count - 1)) != 0) return true;
    void *larger = realloc(*items, (count == 0 ? 1 : 2 * count) * size);
    if (larger == NULL) {
        say_error("out of memory");
        return false;
    }
    *items = larger;
    return true;
}

bool results_add_row(results *r) {
    void *rows = r->rows;
    bool good = grow(&rows, r->row_count, sizeof *r->rows);
    r->rows = rows;
    if (good) r->rows[r->row_count++] = (results_row){.facts = r->fact_count};
    return good;
}

void results_drop_row(results *r) {
    free(r->rows[--r->row_count].cells);
}

bool results_add_cell(results *r, size_t column, const char *value) {
    results_row *row = &r->rows[r->row_count - 1];
    while (row->count <= column) {
        void *cells = row->cells;
        bool good = grow(&cells, row->count, sizeof *row->cells);
        row->cells = cells;
        if (!good) return false;
        row->cells[row->count++] = NULL;
    }
    row->cells[column] = value;
    return true;
}

static size_t find_column(const results *r, const char *name) {
    for (size_t i = 0; i < r->column_count; i++)
        if (strcmp(r->columns[i], name) == 0) return i;
    return (size_t)-1;
}

size_t results_add_column(results *r, const char *name) {
    size_t found = find_column(r, name);
    if (found != (size_t)-1) return found;
    void *columns = r->columns;
    bool good = grow(&columns, r->column_count, sizeof *r->columns);
    r->columns = columns;
    if (!good) return (size_t)-1;
    r->columns[r->column_count] = name;
    return r->column_count++;
}

bool results_add_fact(results *r, const char *group, const char *key, const char *value) {
    void *facts = r->facts;
    bool good = grow(&facts, r->fact_count, sizeof *r->facts);
    r->facts = facts;
    if (good) r->facts[r->fact_count++] = (results_fact){group, key, value};
    return good;
}

bool results_bad_line(const results *r, size_t line, const char *sentence) {
    say_error("line %zu of '%s': %s", line, r->name, sentence);
    return false;
}

void results_free(results *r) {
    for (size_t i = 0; i < r->row_count; i++) free(r->rows[i].cells);
    free(r->rows);
    free(r->columns);
    free(r->facts);
    free(r->text);
    *r = (results){0};
}

bool results_need(const results *r, const char *const *columns, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (find_column(r, columns[i]) != (size_t)-1) continue;
        say_error("'%s' has no column '%s'; results are what 'tessera bench --csv FILE' or --json writes",
                  r->name, columns[i]);
        return false;
    }
    return true;
}

const char *results_text(const results *r, size_t row, const char *column) {
    size_t at = find_column(r, column);
    if (row >= r->row_count || at >= r->rows[row].count || r->rows[row].cells[at] == NULL) return "";
    return r->rows[row].cells[at];
}

double results_number(const results *r, size_t row, const char *column) {
    const char *text = results_text(r, row, column);
    char *end;
    double value = strtod(text, &end);
    return end != text && *end == '\0' ? value : (double)NAN;
}

static bool is_about(const results_fact *f, const char *key) {
    size_t length = strlen(f->group);
    bool inside = length == 0 || (strncmp(key, f->group, length) == 0 && key[length] == '.');
    return inside && strcmp(key + length + (length > 0), f->key) == 0;
}

const char *results_about(const results *r, const char *key) {
    for (size_t i = 0; i < r->fact_count; i++)
        if (is_about(&r->facts[i], key)) return r->facts[i].value;
    return "";
}

const char *results_about_row(const results *r, size_t row, const char *key) {
    for (size_t i = r->rows[row].facts; i > 0; i--)
        if (is_about(&r->facts[i - 1], key)) return r->facts[i - 1].value;
    return "";
}
