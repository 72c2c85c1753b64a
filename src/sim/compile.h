/* compile.h: running the machine's C compiler, without a shell. */
#ifndef COMPILE_H
#define COMPILE_H

#include "../status.h"

/* One file of what is compiled; the list ends with a NULL name. */
typedef struct compile_file {
    const char *name, *text;
} compile_file;

/* Compiles files[0], before which files[1] stands, to a shared object. `options` ends with NULL. The compiler
 * is the first of `compilers` that is there; the others are asked if it does not take the options. On success
 * *image is the object's bytes, which the caller gives back with memory_free; on failure the sentence has
 * what the compiler said. */
tess_status compile_shared(const char *const *compilers, const char *const *options,
                           const compile_file *files, char **image, size_t *size, sentence *why);

/* Where the first of `compilers` is, NULL if there is none. The text is the caller's buffer. */
const char *compile_find(const char *const *compilers, char path[1024]);

#endif
