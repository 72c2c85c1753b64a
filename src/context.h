/* context.h: a context is a device, a lock and a sentence. */
#ifndef CONTEXT_H
#define CONTEXT_H

#include <pthread.h>

#include "device.h"

struct tess_context {
    device *device;
    int index;            /* of the device within its kind */
    pthread_mutex_t lock; /* held by whichever call is using the device */
    pthread_mutex_t sentence_lock;
    sentence last;       /* of the last call that failed */
    int plans, operands; /* alive; guarded by lock */
    const char *instead; /* why "auto" took no better device; NULL: there is nothing to say */
    tess_context *next;
};

/* Keeps `why` as the context's sentence; with no context, as the thread's. Returns `status`. */
tess_status context_fail(tess_context *ctx, tess_status status, const sentence *why);
/* The same, if `status` is a failure. */
static inline tess_status context_finish(tess_context *ctx, tess_status status, const sentence *why) {
    return status == TESS_OK ? status : context_fail(ctx, status, why);
}

#endif
