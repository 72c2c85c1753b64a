/* output_file.h: a file that appears whole or not at all. */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Whether the file of an option could be written, as far as that can be known before; says a sentence if not. NULL and
 * "-" always can. */
bool output_could_write(const char *option, const char *path);
/* "-", or a name that the system has for it. */
bool output_is_stdout(const char *path);
/* Whether the file of an option is another than that input; says a sentence if not. */
bool output_spares(const char *option, const char *path, const char *input);
/* Writes what `print` prints to the file, or to stdout for "-". Returns false after saying a sentence. */
bool output_write_file(const char *path, void (*print)(const void *data, FILE *stream), const void *data);

#endif
