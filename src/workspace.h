/* workspace.h: host memory that a device's products use beside their matrices: the device's own, which grows to the
 * largest ever asked for, or lent by the caller, which does not grow and is not freed. */
#ifndef WORKSPACE_H
#define WORKSPACE_H

#include "status.h"

typedef struct device_workspace {
    char *memory;
    size_t size; /* bytes */
    int lent;
} device_workspace;

/* Makes it larger: at least that large; what it held is lost. */
tess_status workspace_enlarge(device_workspace *w, size_t bytes, const char *purpose, sentence *why);
/* The same, unless it is as large as that. `purpose` completes "... bytes are needed for". */
static inline tess_status workspace_grow(device_workspace *w, size_t bytes, const char *purpose,
                                         sentence *why) {
    return bytes <= w->size ? TESS_OK : workspace_enlarge(w, bytes, purpose, why);
}
/* Uses the caller's memory from now on, which must be aligned; NULL: its own again. */
tess_status workspace_lend(device_workspace *w, void *memory, size_t bytes, sentence *why);
void workspace_close(device_workspace *w);

#endif
