/* append.c: puts new rows into files of results.
 *
 * Invariant: what a file held stays as it was, to the last digit; a file that could not be read back as
 * results is refused before anything is measured.
 *
 * The files are text that output.c wrote: a row a line in CSV, with no line breaks in fields, and in JSON an
 * array whose closing bracket stands alone on its line, indented by two. What was formatted by others is
 * refused.
 */
#include "append.h"
#include "results.h"
#include "say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char ARRAY_END[] = "\n  ]", OBJECT_END[] = "\n}\n";

static bool refuse(const char *path, const char *why) {
    say_error("cannot append to '%s': %s", path, why);
    return false;
}

static bool is_there(const char *path) {
    struct stat facts;
    return strcmp(path, "-") != 0 && stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
}

/* The whole file, with a terminator. */
static char *load(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    if (file == NULL) return NULL;
    if (getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

/* Columns of the table as they stand in files of one kind. */
static size_t file_columns(const table *t, int kind) {
    size_t count = 0;
    for (size_t i = 0; i < t->column_count; i++) count += (t->columns[i].files & kind) != 0;
    return count;
}

static bool has_first_columns(const results *r, const table *t) {
    size_t at = 0;
    for (size_t i = 0; i < t->column_count && at < r->column_count; i++) {
        if (!(t->columns[i].files & TABLE_IN_CSV)) continue;
        if (strcmp(t->columns[i].name, r->columns[at++]) != 0) return false;
    }
    return r->column_count <= file_columns(t, TABLE_IN_CSV);
}

/* Whether the file can be read, and is of the right kind. */
static bool is_right(const char *path, const table *t, bool json) {
    results r;
    bool good = results_read(&r, path);
    if (good) {
        bool is_json = r.text[strspn(r.text, " \t\r\n")] == '{';
        if (is_json != json)
            good = refuse(path, json ? "it holds no JSON" : "it holds JSON, not comma-separated values");
        else if (!json && !has_first_columns(&r, t))
            good = refuse(path, "its columns are not those that this version writes, nor the first of them");
    }
    results_free(&r);
    return good;
}

static char *last_of(char *text, const char *what) {
    char *found = NULL;
    for (char *at = text; (at = strstr(at, what)) != NULL; at++) found = at;
    return found;
}

bool append_open(append_target *old, const char *path, const table *t, bool json) {
    *old = (append_target){0};
    if (!is_there(path)) return true;
    if (!is_right(path, t, json)) return false;
    old->text = load(path);
    if (old->text == NULL) return refuse(path, strerror(errno));
    if (!json) return true;
    size_t length = strlen(old->text), tail = strlen(OBJECT_END);
    old->end = last_of(old->text, ARRAY_END);
    if (old->end != NULL && length > tail && strcmp(old->text + length - tail, OBJECT_END) == 0) return true;
    return refuse(path, "it is not formatted as 'tessera bench --json' does it");
}

void append_close(append_target *old) {
    free(old->text);
    *old = (append_target){0};
}

static size_t count_fields(const char *line, size_t length) {
    size_t fields = 1;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        quoted = quoted != (line[i] == '"');
        fields += !quoted && line[i] == ',';
    }
    return fields;
}

void append_print_csv_start(const append_target *old, const table *t, FILE *stream) {
    size_t columns = file_columns(t, TABLE_IN_CSV);
    bool headed = false;
    for (const char *line = old->text; *line != '\0';) {
        size_t whole = strcspn(line, "\n"), length = whole - (whole > 0 && line[whole - 1] == '\r');
        bool remark = line[0] == '#' || length == 0;
        if (!remark && !headed) {
            table_print_csv_heading(t, stream);
            headed = true;
        } else {
            fprintf(stream, "%.*s", (int)length, line);
            for (size_t i = remark ? columns : count_fields(line, length); i < columns; i++)
                fputc(',', stream);
            fputc('\n', stream);
        }
        line += whole;
        line += *line == '\n';
    }
}

void append_print_json_start(const append_target *old, FILE *stream) {
    fprintf(stream, "%.*s,", (int)(old->end - old->text), old->text);
}

/* Each run appended has its environment under a name of its own, which readers of the first one's pass
 * over. */
void append_print_json_middle(const append_target *old, FILE *stream) {
    int runs = 1;
    for (const char *at = old->text; (at = strstr(at, "\n  \"context")) != NULL; at++) runs++;
    fprintf(stream, "%.*s,\n  \"context_%d\": ", (int)(strlen(old->end) - strlen(OBJECT_END)), old->end,
            runs);
}
