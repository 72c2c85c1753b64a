/* registry_file.h: kernels that are no part of the library: files somebody names.
 *
 * A file named like a kernel of the library is an edited copy of it and has its row. Any other says in its
 * first comment what a row would:
 *
 *     "/" followed by "* my_kernel: what it shows"
 *      * block:   TILE, TILE              threads
 *      * tile:    TILE, TILE              rows and columns of C that a block computes
 *      * shared:  2*TILE*TILE*size        bytes of dynamic shared memory, if any
 *      * types:   f32 f64                 f32 if it does not say
 */
#ifndef REGISTRY_FILE_H
#define REGISTRY_FILE_H

#include "registry.h"

/* The row of the kernel in that file, as it is now; NULL and a sentence if it cannot be one. Rows stay for
 * good: plans point to them. */
const kernel_row *registry_file_row(const char *device, const char *path, sentence *why);

#endif
