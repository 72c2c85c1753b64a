/* explain_story.c: reads the comment at the head of a kernel's file.
 *
 *    * why:     the first line of a field
 *    *          and its continuation, with nothing but blanks where the name of a field would stand */
#include "explain.h"

#include <stdio.h>
#include <string.h>

/* Where the next line begins; the end of the text after the last. */
static const char *next_line(const char *at) {
    at += strcspn(at, "\n");
    return *at == '\n' ? at + 1 : at;
}

static void append_line(char out[EXPLAIN_TEXT], const char *from) {
    size_t length = strcspn(from, "\n"), used = strlen(out);
    while (length > 0 && from[length - 1] == ' ') length--;
    snprintf(out + used, EXPLAIN_TEXT - used, "%s%.*s", used > 0 ? " " : "", (int)length, from);
}

/* What follows the field's name and the blanks behind it, or NULL if this line has another. */
static const char *after_name(const char *line, const char *field) {
    size_t length = strlen(field);
    if (strncmp(line, " * ", 3) != 0 || strncmp(line + 3, field, length) != 0 || line[3 + length] != ':')
        return NULL;
    line += 3 + length + 1;
    return line + strspn(line, " ");
}

bool explain_story_field(const char **at, const char *field, char out[EXPLAIN_TEXT]) {
    static const char continuation[] = " *          ";
    out[0] = '\0';
    for (const char *line = *at; *line != '\0' && strncmp(line, " */", 3) != 0; line = next_line(line)) {
        const char *text = after_name(line, field);
        if (text == NULL) continue;
        append_line(out, text);
        line = next_line(line);
        for (; strncmp(line, continuation, sizeof continuation - 1) == 0; line = next_line(line))
            append_line(out, line + sizeof continuation - 1);
        *at = line;
        return true;
    }
    return false;
}

void explain_story_line(const char *text, int line, char out[EXPLAIN_TEXT]) {
    while (--line > 0) text = next_line(text);
    out[0] = '\0';
    append_line(out, text + strspn(text, " \t"));
}
