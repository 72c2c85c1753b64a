/* results_json.c: JSON as --json writes it, and as Google Benchmark does.
 *
 * Invariant: what is no JSON is refused with its line. Of what is, the fields of "context" become facts
 * (those of an object in it under its name), the objects of the first array of objects rows, and the rest is
 * passed over.
 *
 * Strings lose their escapes in place. A number is ended by a terminator only once the character after it has
 * been read, because that character gives up its place.
 */
#include "results_parse.h"

#include <string.h>

enum { DEEPEST = 32 };

typedef struct reader {
    results *r;
    char *at;
    char *pending; /* where the terminator of the last scalar is still to be put; NULL: nowhere */
} reader;

static bool refuse(const reader *in, const char *sentence) {
    size_t line = 1;
    for (const char *c = in->r->text; c < in->at; c++) line += *c == '\n';
    return results_bad_line(in->r, line, sentence);
}

static char skip_blanks(reader *in) {
    in->at += strspn(in->at, " \t\r\n");
    return *in->at;
}

static bool expect(reader *in, char c, const char *sentence) {
    if (skip_blanks(in) != c) return refuse(in, sentence);
    in->at++;
    return true;
}

/* Four hexadecimal digits; -1 if they are not there. */
static long read_hex(const char *text) {
    long value = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdefABCDEF", *found = text[i] ? strchr(digits, text[i]) : NULL;
        if (found == NULL) return -1;
        long digit = found - digits;
        value = 16 * value + (digit > 15 ? digit - 6 : digit);
    }
    return value;
}

/* A character in UTF-8. Halves of a pair stay two characters of three bytes: none of our files has them. */
static char *write_character(char *to, long code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | (code >> 6));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xe0 | (code >> 12));
        *to++ = (char)(0x80 | ((code >> 6) & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* What follows a backslash. Returns where to write on, or NULL. */
static char *read_escape(reader *in, char *to) {
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *found = *in->at != '\0' ? strchr(names, *in->at) : NULL;
    if (found != NULL) {
        *to++ = meant[found - names];
        in->at++;
        return to;
    }
    long code = *in->at == 'u' ? read_hex(in->at + 1) : -1;
    if (code < 1) return NULL;
    in->at += 5;
    return write_character(to, code);
}

static const char *read_string(reader *in) {
    if (!expect(in, '"', "a string was expected")) return NULL;
    char *start = in->at, *to = in->at;
    while (*in->at != '"') {
        if ((unsigned char)*in->at < 0x20) {
            refuse(in, "a string is not closed");
            return NULL;
        }
        if (*in->at != '\\') {
            *to++ = *in->at++;
            continue;
        }
        in->at++;
        to = read_escape(in, to);
        if (to == NULL) {
            refuse(in, "what follows a backslash is no escape");
            return NULL;
        }
    }
    in->at++;
    *to = '\0';
    return start;
}

/* A string, a number, true or false; "" for null. NULL after a sentence. */
static const char *read_scalar(reader *in) {
    if (skip_blanks(in) == '"') return read_string(in);
    char *start = in->at;
    in->at += strspn(in->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzEINT");
    if (in->at == start) {
        refuse(in, "a value was expected");
        return NULL;
    }
    in->pending = in->at;
    return in->at - start == 4 && strncmp(start, "null", 4) == 0 ? "" : start;
}

/* Moves past a comma or the closing bracket. */
static bool read_separator(reader *in, char closing, bool *more) {
    char c = skip_blanks(in);
    if (c != ',' && c != closing) return refuse(in, "a comma or a closing bracket was expected");
    *more = c == ',';
    in->at++;
    if (in->pending != NULL) *in->pending = '\0';
    in->pending = NULL;
    return true;
}

/* Reads the value of a member. `depth` counts the brackets around it. */
typedef bool take_value(reader *in, const char *group, const char *key, int depth);

static bool read_members(reader *in, const char *group, int depth, take_value *take) {
    if (depth > DEEPEST) return refuse(in, "this is nested too deeply");
    if (!expect(in, '{', "an object was expected")) return false;
    bool more = skip_blanks(in) != '}';
    if (!more) in->at++;
    while (more) {
        skip_blanks(in);
        const char *key = read_string(in);
        if (key == NULL || !expect(in, ':', "a colon was expected")) return false;
        if (!take(in, group, key, depth + 1) || !read_separator(in, '}', &more)) return false;
    }
    return true;
}

/* Reads the values of an array; group and key are those of the array. */
static bool read_elements(reader *in, const char *group, const char *key, int depth, take_value *take) {
    if (depth > DEEPEST) return refuse(in, "this is nested too deeply");
    if (!expect(in, '[', "an array was expected")) return false;
    bool more = skip_blanks(in) != ']';
    if (!more) in->at++;
    while (more)
        if (!take(in, group, key, depth + 1) || !read_separator(in, ']', &more)) return false;
    return true;
}

static bool pass_over(reader *in, const char *group, const char *key, int depth) {
    char c = skip_blanks(in);
    if (c == '{') return read_members(in, group, depth, pass_over);
    if (c == '[') return read_elements(in, group, key, depth, pass_over);
    return read_scalar(in) != NULL;
}

static bool is_bracket(char c) {
    return c == '{' || c == '[';
}

static bool take_fact(reader *in, const char *group, const char *key, int depth) {
    char c = skip_blanks(in);
    if (c == '{' && group[0] == '\0') return read_members(in, key, depth, take_fact);
    if (is_bracket(c)) return pass_over(in, group, key, depth);
    const char *value = read_scalar(in);
    return value != NULL && results_add_fact(in->r, group, key, value);
}

static bool take_cell(reader *in, const char *group, const char *key, int depth) {
    if (is_bracket(skip_blanks(in))) return pass_over(in, group, key, depth);
    const char *value = read_scalar(in);
    if (value == NULL) return false;
    size_t column = results_add_column(in->r, key);
    return column != (size_t)-1 && results_add_cell(in->r, column, value);
}

static bool take_row(reader *in, const char *group, const char *key, int depth) {
    if (skip_blanks(in) != '{') return pass_over(in, group, key, depth);
    return results_add_row(in->r) && read_members(in, "", depth, take_cell);
}

static bool take_part(reader *in, const char *group, const char *key, int depth) {
    char c = skip_blanks(in);
    if (c == '{' && strcmp(key, "context") == 0) return read_members(in, "", depth, take_fact);
    if (c == '[' && in->r->row_count == 0) return read_elements(in, group, key, depth, take_row);
    return pass_over(in, group, key, depth);
}

bool results_parse_json(results *r) {
    reader in = {.r = r, .at = r->text};
    if (!read_members(&in, "", 0, take_part)) return false;
    return skip_blanks(&in) == '\0' || refuse(&in, "something follows the closing bracket");
}
