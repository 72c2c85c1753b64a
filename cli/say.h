/* say.h: everything the command writes to stderr, whether stdout could be written, and whether a stream wants colour. */
#ifndef SAY_H
#define SAY_H

#include <stdbool.h>
#include <stdio.h>

#define SAY_FORMAT __attribute__((format(printf, 1, 2)))

/* What the command returns to its caller. */
enum { EXIT_FINE = 0, EXIT_CHECK = 1, EXIT_USAGE = 2 };

/* "tessera: SENTENCE" on stderr. */
void say_error(const char *format, ...) SAY_FORMAT;
/* The same, and EXIT_USAGE, so that a caller can return it. */
int say_usage(const char *format, ...) SAY_FORMAT;
/* A remark that is not an error; say_quiet(true) silences these and the progress line. */
void say_note(const char *format, ...) SAY_FORMAT;
void say_quiet(bool quiet);

/* One line that is overwritten by the next: on a terminal only, or as plain lines with TESSERA_VERBOSE.
 * Each of the functions above erases it first; say_progress_end erases it for good. */
void say_progress(const char *format, ...) SAY_FORMAT;
void say_progress_end(void);

/* Writes out what was printed to stdout. Returns the reason (of errno) why that failed, now or at an earlier call; 0 if it
 * did not. */
int say_flush(void);

/* Makes '?' of control characters but line ends and tabs: what a file holds must not steer the terminal. */
void say_plain(char *text);

/* Whether TESSERA_VERBOSE is set to anything but "" or "0". */
bool say_verbose(void);
/* Whether escape codes may be written: a terminal that can show them, and NO_COLOR not set. */
bool say_in_colour(FILE *stream);

#endif
