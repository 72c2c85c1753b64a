/* call.c: what surrounds every call of the driver: the context it is made in, the sentence when it fails, and device memory.
 *
 * The context is current only inside a call of the seam. An error that breaks it is remembered: later calls say so at once
 * instead of failing one by one. */
#include <stdio.h>
#include <time.h>

#include "cuda.h"

double cuda_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- Errors ---- */

tess_status cuda_fail(cuda_device *self, cu_result error, const char *call, sentence *why) {
    char text[256];
    driver_explain(error, text, sizeof text);
    if (!driver_is_sticky(error))
        return status_fail(why, error == CU_OUT_OF_MEMORY ? TESS_ERROR_MEMORY : TESS_ERROR_DEVICE,
                           "%s failed: %s", call, text);
    if (!atomic_exchange(&self->lost, 1))
        snprintf(self->broken, sizeof self->broken, "%s failed: %s", call, text);
    return status_fail(why, TESS_ERROR_DEVICE,
                       "%s failed: %s; the context is lost and every further call on it will fail: close it, "
                       "and every other context of this GPU, and open it again",
                       call, text);
}

tess_status cuda_enter(cuda_device *self, sentence *why) {
    if (self->forked || driver_forked())
        return status_fail(why, TESS_ERROR_DEVICE, "cuda:%d cannot be used here: %s", self->index,
                           driver_problem());
    if (self->lost)
        return status_fail(why, TESS_ERROR_DEVICE,
                           "the context was lost earlier, when %s; close it, and every other context of this "
                           "GPU, and open it again",
                           self->broken);
    CUDA(self, cuCtxPushCurrent, self->context);
    return TESS_OK;
}

tess_status cuda_leave(cuda_device *self, tess_status status) {
    (void)self;
    cu_context popped;
    driver.cuCtxPopCurrent(&popped);
    return status;
}

/* ---- Memory ---- */

tess_status cuda_alloc(cuda_device *self, size_t bytes, const char *purpose, char **memory, sentence *why) {
    cu_address address = 0;
    cu_result result = driver.cuMemAlloc(&address, bytes > 0 ? bytes : 1);
    *memory = (char *)(uintptr_t)address;
    if (result == CU_OK) return TESS_OK;
    if (result != CU_OUT_OF_MEMORY) return cuda_fail(self, result, "cuMemAlloc", why);
    size_t free_bytes = 0, total = 0;
    driver.cuMemGetInfo(&free_bytes, &total);
    return status_fail(why, TESS_ERROR_MEMORY,
                       "no device memory for %s: %zu bytes were asked for, and %zu of the %zu of cuda:%d are "
                       "free",
                       purpose, bytes, free_bytes, total, self->index);
}

tess_status cuda_grow(cuda_device *self, cuda_buffer *buffer, size_t bytes, const char *purpose,
                      sentence *why) {
    if (bytes <= buffer->size) return TESS_OK;
    if (buffer->memory) driver.cuMemFree(cuda_address(buffer->memory));
    *buffer = (cuda_buffer){NULL, 0};
    TRY(cuda_alloc(self, bytes, purpose, &buffer->memory, why));
    buffer->size = bytes;
    return TESS_OK;
}

tess_status cuda_workspace(cuda_device *self, int64_t bytes, char **memory, sentence *why) {
    cuda_buffer *own = &self->workspace;
    size_t needed = (size_t)bytes;
    *memory = own->memory;
    if (needed <= own->size) return TESS_OK;
    if (self->workspace_lent)
        return status_fail(why, TESS_ERROR_MEMORY,
                           "the workspace has %zu bytes, but this product needs %zu; pass a larger one to "
                           "tess_set_workspace, or none",
                           own->size, needed);
    size_t larger = needed > 2 * own->size ? needed : 2 * own->size;
    if (self->retired_count == CUDA_RETIRED)
        return status_fail(why, TESS_ERROR_INTERNAL, "the workspace has grown %d times", CUDA_RETIRED);
    if (larger > needed && cuda_alloc(self, larger, "the workspace", memory, why) != TESS_OK) larger = needed;
    if (larger == needed) TRY(cuda_alloc(self, needed, "the workspace", memory, why));
    if (own->memory) self->retired[self->retired_count++] = own->memory;
    *own = (cuda_buffer){*memory, larger};
    return TESS_OK;
}
