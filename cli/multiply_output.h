/* multiply_output.h: a file that appears whole or not at all, filled through a mapping. */
#ifndef MULTIPLY_OUTPUT_H
#define MULTIPLY_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct multiply_output {
    const char *path; /* as the user wrote it */
    char name[NAME_MAX + 1];
    int directory; /* the one `name` is in, links followed; -1: not opened */
    bool exists;
    dev_t device; /* which file it is, if it exists, and its permissions */
    ino_t inode;
    mode_t mode;
    int file; /* what is written aside; -1: nothing */
    void *map;
    size_t size;
} multiply_output;

/* Finds out where the file would be, and that it could be written; nothing is changed. On failure, here and
 * below, says a sentence that names the file. multiply_output_close is due in any case. */
bool multiply_output_open(multiply_output *out, const char *path);

/* Writes aside, in the same directory: reserves `size` bytes on the disk and maps them at out->map. From here
 * on signals that end the program take the unfinished file away first. The first SIGINT or SIGTERM is still
 * only remembered: interrupt_watch comes before. */
bool multiply_output_create(multiply_output *out, size_t size);

/* Puts the bytes on the disk; then gives the file its name, in place of the one that had it. */
bool multiply_output_sync(multiply_output *out);
bool multiply_output_publish(multiply_output *out);

/* What was not published is gone. */
void multiply_output_close(multiply_output *out);

#endif
