/* workspace.c: memory that grows, unless it is somebody else's. */
#include "workspace.h"

#include "memory.h"

/* From here on a whole huge page is had, since less does not come in one. */
enum { WORTH_A_PAGE = 256 << 10 };

tess_status workspace_enlarge(device_workspace *w, size_t bytes, const char *purpose, sentence *why) {
    if (w->lent)
        return status_fail(why, TESS_ERROR_MEMORY,
                           "the workspace has %zu bytes, but %zu bytes are needed for %s; pass a larger one "
                           "to "
                           "tess_set_workspace, or none",
                           w->size, bytes, purpose);
    if (bytes >= WORTH_A_PAGE && bytes < MEMORY_HUGE_PAGE) bytes = MEMORY_HUGE_PAGE;
    char *larger = memory_alloc(bytes);
    if (!larger)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory: %zu bytes are needed for %s", bytes, purpose);
    memory_free(w->memory);
    w->memory = larger;
    w->size = bytes;
    return TESS_OK;
}

void workspace_lend(device_workspace *w, void *memory, size_t bytes) {
    workspace_close(w);
    *w = (device_workspace){memory, bytes, memory != NULL};
}

void workspace_close(device_workspace *w) {
    if (!w->lent) memory_free(w->memory);
    *w = (device_workspace){NULL, 0, 0};
}
