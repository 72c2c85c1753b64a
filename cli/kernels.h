/* kernels.h: which kernels a command line means. */
#ifndef KERNELS_H
#define KERNELS_H

#include "tessera.h"

#include <stdbool.h>

/* What selects the planner's own choice, and the number of the peer on every ladder. */
#define KERNELS_AUTO "auto"
enum { KERNELS_PEER = 0 };

typedef struct kernels_list {
    tess_kernel_info *kernels; /* "auto" has number -1, the peer number 0 and the name "peer" */
    size_t count;
    bool chosen; /* somebody asked for these, rather than for everything */
} kernels_list;

/* Appends the kernels of `device` (NULL: of all) that match one of the patterns in a comma-separated list:
 * names, globs or numbers. Nothing is added twice. On failure says a sentence, with near misses, and returns
 * false. */
bool kernels_add(kernels_list *list, const char *device, const char *patterns);
/* All of the device, in the order of the registry. */
bool kernels_add_all(kernels_list *list, const char *device);
/* Appends the planner's choice. */
bool kernels_add_auto(kernels_list *list);
void kernels_free(kernels_list *list);

#endif
