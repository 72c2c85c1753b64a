/* say.c: messages and progress on stderr.
 *
 * Invariant: a progress line is never left standing: whatever is written after it erases it first, so that
 * stderr, read as text, holds whole sentences only.
 */
#include "say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool quiet_mode;
static bool line_is_standing;

bool say_verbose(void) {
    const char *value = getenv("TESSERA_VERBOSE");
    return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

bool say_in_colour(FILE *stream) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (no_color != NULL && no_color[0] != '\0') return false;
    return isatty(fileno(stream)) && term != NULL && strcmp(term, "dumb") != 0;
}

/* A dumb terminal cannot take back what was written, so it gets no progress line. */
static bool can_overwrite(void) {
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

void say_progress_end(void) {
    if (!line_is_standing) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    line_is_standing = false;
}

/* What could not be written is given up by the stream, so that a second try has nothing to fail on. */
int say_flush(void) {
    static int reason;
    errno = 0;
    if (fflush(stdout) != 0 && reason == 0) reason = errno;
    return reason;
}

void say_plain(char *text) {
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == '\177') *text = '?';
}

/* Tables go to stdout; both streams are often one terminal, so what was printed before comes out before. */
__attribute__((format(printf, 1, 0))) static void write_sentence(const char *format, va_list args) {
    say_flush();
    say_progress_end();
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) text = NULL;
    if (text != NULL) say_plain(text);
    fprintf(stderr, "tessera: %s\n", text != NULL ? text : "out of memory");
    free(text);
}

void say_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_sentence(format, args);
    va_end(args);
}

int say_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_sentence(format, args);
    va_end(args);
    return EXIT_USAGE;
}

void say_note(const char *format, ...) {
    if (quiet_mode) return;
    va_list args;
    va_start(args, format);
    write_sentence(format, args);
    va_end(args);
}

void say_quiet(bool quiet) {
    quiet_mode = quiet;
}

void say_progress(const char *format, ...) {
    if (quiet_mode) return;
    bool overwrite = can_overwrite() && !say_verbose();
    if (!overwrite && !say_verbose()) return;
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say_flush();
    if (overwrite) {
        /* Longer than the usual terminal would wrap, and a wrapped line cannot be erased. */
        fprintf(stderr, "\r\033[K%.78s", text);
        line_is_standing = true;
    } else {
        fprintf(stderr, "%s\n", text);
    }
    fflush(stderr);
}
