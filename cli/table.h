/* table.h: one set of results, rendered as an aligned table, CSV, JSON or Markdown. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a column holds decides how people see it; files always get the full value. */
typedef enum table_kind {
    TABLE_TEXT,
    TABLE_COUNT,   /* an integer */
    TABLE_BYTES,   /* an integer; people see "32 KiB" */
    TABLE_MILLIS,  /* people see "1.23 ms" or "45.6 us" */
    TABLE_RATE,    /* people see one decimal */
    TABLE_RATIO,   /* people see two decimals */
    TABLE_PERCENT, /* people see "1.5%" */
    TABLE_ERROR    /* people see "1.2e-07" */
} table_kind;

enum { TABLE_IN_CSV = 1, TABLE_IN_JSON = 2, TABLE_IN_FILES = 3 };

typedef struct table_column {
    const char *name;  /* in files */
    const char *title; /* for people; NULL: files only */
    table_kind kind;
    int files; /* TABLE_IN_… */
    int width; /* at least so wide when rows are printed as they come */
} table_column;

typedef enum table_tone { TABLE_PLAIN, TABLE_GOOD, TABLE_BAD } table_tone;

typedef struct table_cell {
    enum { CELL_EMPTY, CELL_TEXT, CELL_COUNT, CELL_REAL, CELL_FLAG } held;
    char *text;
    int64_t count;
    double real;
    table_tone tone;
} table_cell;

typedef struct table {
    const table_column *columns;
    size_t column_count;
    bool *hidden; /* per column, from people only */
    int *widths;
    table_cell *cells;
    size_t row_count, room, printed;
} table;

/* The columns must outlive the table. Memory that cannot be had ends the program with a sentence. */
void table_open(table *t, const table_column *columns, size_t count);
void table_close(table *t);
void table_hide(table *t, size_t column);
/* Makes the column at least so wide, for rows that are printed as they come. */
void table_widen(table *t, size_t column, size_t width);

/* Cells are set on the last row; those not set stay empty, as do numbers that are NaN. */
void table_add_row(table *t);
void table_drop_row(table *t);
/* Sorts the rows from number `first` on by a column of numbers, the smallest first; empty cells come last. */
void table_sort_rows(table *t, size_t first, size_t column);
void table_set_text(table *t, size_t column, const char *text);
void table_set_count(table *t, size_t column, int64_t value);
void table_set_flag(table *t, size_t column, bool value);
void table_set_real(table *t, size_t column, double value);
void table_set_tone(table *t, size_t column, table_tone tone);

/* The rows that were not printed yet, with the heading before the first. */
void table_print(table *t, FILE *stream);
void table_print_markdown(const table *t, FILE *stream);
/* The names of the columns; and the rows. */
void table_print_csv_heading(const table *t, FILE *stream);
void table_print_csv_rows(const table *t, FILE *stream);
/* An array of objects: `[ {...}, ... ]`; and without its brackets. */
void table_print_json(const table *t, FILE *stream);
void table_print_json_rows(const table *t, FILE *stream);

/* A JSON string with its quotes. */
void table_print_json_text(const char *text, FILE *stream);

#endif
