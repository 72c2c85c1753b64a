/* module_build.h: the bytes of a module: made with the library, taken from the cache, or compiled. */
#ifndef MODULE_BUILD_H
#define MODULE_BUILD_H

#include "module.h"

/* On success the caller gives *image back with memory_free. *compile_ms is 0 if nothing had to be compiled.
 */
tess_status module_build(const module_request *request, char **image, size_t *size, double *compile_ms,
                         sentence *why);

/* ---- Modules made with the library (tools/sim_modules.c makes them) ---- */

/* All of them are in one file, one after the other: an entry, and the module's bytes. */
#define MODULE_ARCHIVE "sim.modules"
enum { MODULE_NAME = 120 };
typedef struct module_entry {
    char name[MODULE_NAME];
    uint64_t size;
} module_entry;

/* The name of a module in that file: what it was made from, hashed. */
tess_status module_file_name(const module_request *request, char name[MODULE_NAME], sentence *why);
/* Returns 1 and the bytes if it is there. */
int module_find_in(const char *path, const char *name, char **image, size_t *size);
/* Compiles it, whatever is there. */
tess_status module_compile(const module_request *request, char **image, size_t *size, sentence *why);

#endif
