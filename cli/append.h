/* append.h: results added to a file that holds some already. */
#ifndef APPEND_H
#define APPEND_H

#include "table.h"

typedef struct append_target {
    char *text; /* what the file holds; NULL: it is not there, or empty, or no file but a pipe or device */
    char *end;  /* of JSON: where rows are put in */
} append_target;

/* Reads the file, and makes sure that it holds results with the columns of the table, or with the first of
 * them: columns are only ever appended. On failure says a sentence. append_close is due in any case. */
bool append_open(append_target *old, const char *path, const table *t, bool json);
void append_close(append_target *old);

/* The old file under the heading of the table; its rows get empty fields for columns they lack. */
void append_print_csv_start(const append_target *old, const table *t, FILE *stream);
/* The old file up to the end of its rows; and what follows them, up to the place for one more object. */
void append_print_json_start(const append_target *old, FILE *stream);
void append_print_json_middle(const append_target *old, FILE *stream);

#endif
