/* results_csv.c: comma-separated values as RFC 4180 has them, with remarks.
 *
 * Invariant: a row has as many fields as the heading, or the file is refused with the number of its line: a
 * row cut short by a full disk is not taken for a result. A heading that comes again, as in files put one
 * after the other, is passed over.
 */
#include "results_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_KEY = 48 };

typedef struct reader {
    results *r;
    char *at;
    size_t line; /* where `at` is */
} reader;

/* One field, with its quotes taken off in place. *last: it ends its row. NULL if a quote is not closed. */
static char *next_field(reader *in, bool *last) {
    char *field = in->at, *to = in->at;
    bool quoted = *in->at == '"';
    if (quoted) {
        for (in->at++; *in->at != '\0' && !(in->at[0] == '"' && in->at[1] != '"'); in->at++) {
            if (*in->at == '"') in->at++;
            in->line += *in->at == '\n';
            *to++ = *in->at;
        }
        if (*in->at++ == '\0') return NULL;
    } else {
        to += strcspn(to, ",\n");
        in->at = to;
        if (*to != ',' && to > field && to[-1] == '\r') to--;
    }
    if (*in->at == '\r' && in->at[1] == '\n') in->at++;
    *last = *in->at != ',';
    in->line += *in->at == '\n';
    if (*in->at != '\0') in->at++;
    *to = '\0';
    return field;
}

/* "# key: value", where the key is short. Other remarks say nothing to us. */
static bool read_remark(reader *in) {
    char *line = in->at + 1, *end = line + strcspn(line, "\n");
    in->at = *end == '\0' ? end : end + 1;
    in->line++;
    while (end > line && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
    line += strspn(line, " ");
    char *colon = strstr(line, ": ");
    if (colon == NULL || colon - line > LONGEST_KEY) return true;
    *colon = '\0';
    return results_add_fact(in->r, "", line, colon + 2);
}

static bool read_heading(reader *in) {
    for (bool last = false; !last;) {
        size_t line = in->line, before = in->r->column_count;
        char *name = next_field(in, &last);
        if (name == NULL) return results_bad_line(in->r, line, "a quote is not closed");
        if (results_add_column(in->r, name) == (size_t)-1) return false;
        if (in->r->column_count != before) continue;
        char sentence[160];
        snprintf(sentence, sizeof sentence, "the heading names the column '%.60s' twice", name);
        return results_bad_line(in->r, line, sentence);
    }
    return true;
}

static bool is_heading(const results *r, const results_row *row) {
    for (size_t i = 0; i < r->column_count; i++)
        if (strcmp(row->cells[i], r->columns[i]) != 0) return false;
    return true;
}

static bool read_row(reader *in) {
    results *r = in->r;
    size_t line = in->line, count = 0;
    if (!results_add_row(r)) return false;
    for (bool last = false; !last; count++) {
        const char *field = next_field(in, &last);
        if (field == NULL) return results_bad_line(r, line, "a quote is not closed");
        if (count < r->column_count && !results_add_cell(r, count, field)) return false;
    }
    if (count != r->column_count) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "the row has %zu fields, but the heading has %zu", count,
                 r->column_count);
        return results_bad_line(r, line, sentence);
    }
    if (is_heading(r, &r->rows[r->row_count - 1])) results_drop_row(r);
    return true;
}

bool results_parse_csv(results *r) {
    reader in = {.r = r, .at = r->text, .line = 1};
    bool good = true;
    while (good && *in.at != '\0') {
        if (*in.at == '\n' || (in.at[0] == '\r' && in.at[1] == '\n')) {
            in.at += *in.at == '\n' ? 1 : 2;
            in.line++;
        } else if (*in.at == '#') {
            good = read_remark(&in);
        } else {
            good = r->column_count == 0 ? read_heading(&in) : read_row(&in);
        }
    }
    return good;
}
