/* kernels.h: which kernels a command line means. */
#ifndef KERNELS_H
#define KERNELS_H

#include "tessera.h"

#include <stdbool.h>

/* What selects the planner's own choice, and the number of peers on every ladder. */
#define KERNELS_AUTO "auto"
enum { KERNELS_PEER = 0 };
/* The second ladder, of tensor cores, has numbers from here on; those below 400 are rungs. */
enum { KERNELS_SECOND_LADDER = 100, KERNELS_NO_LADDER = 400 };

typedef struct kernels_list {
    tess_kernel_info
        *kernels; /* "auto" has number -1; "whatever --peer says" has number 0 and the name "peer" */
    size_t count;
    bool chosen; /* somebody asked for these, rather than for everything */
} kernels_list;

/* Appends the kernels of a family of devices ("cpu", "gpu"; NULL: of all) that match one of the patterns
 * in a comma-separated list: names, globs or numbers. Nothing is added twice. On failure says a sentence,
 * with near misses, and returns false. */
bool kernels_add(kernels_list *list, const char *family, const char *patterns);
/* All of the family, in the order of the registry; all but the peers in it; and of those, all but the rungs of
 * the second ladder. */
bool kernels_add_all(kernels_list *list, const char *family);
bool kernels_add_ours(kernels_list *list, const char *family);
bool kernels_add_ladder(kernels_list *list, const char *family);
/* Appends the planner's choice. */
bool kernels_add_auto(kernels_list *list);
void kernels_free(kernels_list *list);

/* Whether it is a rung of the second ladder. */
bool kernels_is_tensor(const tess_kernel_info *kernel);
/* Whether the simulator can run it: not what one architecture alone has. And the list without those that it cannot. */
bool kernels_is_simulated(const tess_kernel_info *kernel);
void kernels_keep_simulated(kernels_list *list);
/* Whether what it does can be counted without its data: not if it multiplies what other kernels make of that. */
bool kernels_is_counted(const tess_kernel_info *kernel);
/* Whether it stands for the peers of --peer. */
bool kernels_is_peer(const tess_kernel_info *kernel);
/* The family of a device by its name, without opening it: "cuda:1" is a gpu. */
const char *kernels_family(const char *device);
bool kernels_has_param(const tess_kernel_info *kernel, const char *name);

#endif
