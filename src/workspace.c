/* workspace.c: memory that grows, unless it is somebody else's.
 *
 * What is freed is forgotten first, and a size is never larger than what is there: a child that is forked meanwhile finds
 * what the others have left here. */
#include "workspace.h"

#include <stdatomic.h>

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
    char *old = w->memory;
    w->memory = larger;
    atomic_signal_fence(memory_order_seq_cst);
    w->size = bytes;
    memory_free(old);
    return TESS_OK;
}

tess_status workspace_lend(device_workspace *w, void *memory, size_t bytes, sentence *why) {
    enum { ALIGNMENT = 16 };
    if ((uintptr_t)memory % ALIGNMENT != 0)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "the workspace is at %p; it must begin at a multiple of %d bytes, as malloc's "
                           "memory does",
                           memory, ALIGNMENT);
    workspace_close(w);
    w->memory = memory, w->lent = memory != NULL;
    atomic_signal_fence(memory_order_seq_cst);
    w->size = bytes;
    return TESS_OK;
}

void workspace_close(device_workspace *w) {
    device_workspace old = *w;
    w->size = 0;
    atomic_signal_fence(memory_order_seq_cst);
    w->memory = NULL, w->lent = 0;
    if (!old.lent) memory_free(old.memory);
}
