/* results_read.c: a file of results, CSV or JSON. */
#include "results_parse.h"
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 256 << 20 };

/* The whole stream with a terminator; NULL with errno set. */
static char *read_all(FILE *stream, size_t *length) {
    size_t room = 1 << 16;
    char *text = malloc(room);
    *length = 0;
    while (text != NULL) {
        *length += fread(text + *length, 1, room - *length - 1, stream);
        if (*length + 1 < room) break;
        room *= 2;
        char *larger = room > LARGEST_FILE ? NULL : realloc(text, room);
        if (larger == NULL) {
            free(text);
            errno = room > LARGEST_FILE ? EFBIG : ENOMEM;
        }
        text = larger;
    }
    if (text == NULL) return NULL;
    if (ferror(stream)) {
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

static bool load(results *r, const char *path) {
    bool from_stdin = strcmp(path, "-") == 0;
    size_t length = 0;
    FILE *stream = from_stdin ? stdin : fopen(path, "re");
    if (stream != NULL) r->text = read_all(stream, &length);
    int why = errno;
    if (stream != NULL && !from_stdin) fclose(stream);
    if (r->text == NULL) {
        say_error("could not read '%s': %s", r->name, strerror(why));
        return false;
    }
    if (strncmp(r->text, "\xef\xbb\xbf", 3) == 0) { /* a mark of the byte order, as some editors write it */
        length -= 3;
        memmove(r->text, r->text + 3, length + 1);
    }
    if (strlen(r->text) == length) return true;
    say_error("'%s' is no text: it holds a zero byte; results are CSV or JSON", r->name);
    return false;
}

bool results_read(results *r, const char *path) {
    *r = (results){.name = strcmp(path, "-") == 0 ? "standard input" : path};
    if (!load(r, path)) return false;
    bool json = r->text[strspn(r->text, " \t\r\n")] == '{';
    if (!(json ? results_parse_json(r) : results_parse_csv(r))) return false;
    if (r->row_count > 0) return true;
    say_error("'%s' holds no rows; results are what 'tessera bench --csv FILE' or --json writes", r->name);
    return false;
}
