/* results_parse.h: what the readers of CSV and of JSON share. They put terminators into the text they
 * read, and return false after saying a sentence. */
#ifndef RESULTS_PARSE_H
#define RESULTS_PARSE_H

#include "results.h"

bool results_parse_csv(results *r);
bool results_parse_json(results *r);

/* The strings lie in the text of the results. */
bool results_add_row(results *r);
void results_drop_row(results *r);
/* A cell of the last row. */
bool results_add_cell(results *r, size_t column, const char *value);
/* The column of that name, made if it is new; (size_t)-1 without memory. */
size_t results_add_column(results *r, const char *name);
bool results_add_fact(results *r, const char *group, const char *key, const char *value);
/* "line N of 'FILE': SENTENCE". Returns false. */
bool results_bad_line(const results *r, size_t line, const char *sentence);

#endif
