/* registry.h: the kernels, as data. The rows come from kernels/kernels.def. */
#ifndef REGISTRY_H
#define REGISTRY_H

#include "status.h"

enum { REGISTRY_PARAMS = 8 };

typedef tess_kernel_info kernel_row;

/* The kernel of that name on that kind of device; NULL and a sentence with the nearest name if there is none.
 */
const kernel_row *registry_find(const char *device, const char *name, sentence *why);

/* Reads "KC=256,MC=96" into values[], in the order of the kernel's parameters; those not named are left
 * alone. NULL and "" set nothing. */
tess_status registry_parse_params(const kernel_row *kernel, const char *text, int64_t values[REGISTRY_PARAMS],
                                  sentence *why);

/* Writes "KC=256 MC=96", or "" for a kernel without parameters. */
void registry_print_params(const kernel_row *kernel, const int64_t values[REGISTRY_PARAMS], char *text,
                           size_t size);

#endif
