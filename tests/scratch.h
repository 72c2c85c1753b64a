/* scratch.h: a directory for a test alone, named in a variable of the environment while the test runs. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>

typedef struct scratch {
    char path[64];
    const char *variable;
    char *before; /* what the variable was; NULL: not set */
} scratch;

/* Makes the directory (mode 0700) and sets the variable to it. */
void scratch_enter(scratch *s, const char *variable);
/* Removes the directory with all that is in it, and sets the variable back. */
void scratch_leave(scratch *s);

/* Writes a file of the directory, or fails the test. */
void scratch_write(const scratch *s, const char *name, const void *data, size_t size);

#endif
