/* api_device.c: the calls that go to the device more or less as they come: its memory, its streams, its facts. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "context.h"

/* A call made with NULL where something must be. */
static tess_status refuse_null(tess_context *ctx, const char *function, const char *argument) {
    sentence why;
    return context_finish(ctx,
                          status_fail(&why, TESS_ERROR_ARGUMENT, "%s: %s is NULL", function,
                                      ctx ? argument : "ctx"),
                          &why);
}

tess_status tess_alloc(tess_context *ctx, size_t bytes, void **memory) {
    sentence why;
    if (memory) *memory = NULL;
    if (!ctx || !memory) return refuse_null(ctx, "tess_alloc", "memory");
    pthread_mutex_lock(&ctx->lock);
    tess_status status = ctx->device->ops->alloc(ctx->device, bytes, memory, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

tess_status tess_free(tess_context *ctx, void *memory) {
    sentence why;
    if (!ctx) return refuse_null(ctx, "tess_free", "ctx");
    if (!memory) return TESS_OK;
    pthread_mutex_lock(&ctx->lock);
    tess_status status = ctx->device->ops->free(ctx->device, memory, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

tess_status tess_copy(tess_context *ctx, void *to, const void *from, size_t bytes) {
    sentence why;
    if (!ctx || ((!to || !from) && bytes > 0)) return refuse_null(ctx, "tess_copy", to ? "from" : "to");
    if (bytes == 0) return TESS_OK;
    pthread_mutex_lock(&ctx->lock);
    tess_status status = ctx->device->ops->copy(ctx->device, to, from, bytes, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

tess_status tess_wait(tess_context *ctx) {
    sentence why;
    if (!ctx) return refuse_null(ctx, "tess_wait", "ctx");
    pthread_mutex_lock(&ctx->lock);
    tess_status status = ctx->device->ops->wait(ctx->device, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

tess_status tess_set_stream(tess_context *ctx, void *stream) {
    sentence why;
    if (!ctx) return refuse_null(ctx, "tess_set_stream", "ctx");
    tess_status status = TESS_OK;
    pthread_mutex_lock(&ctx->lock);
    if (ctx->device->ops->set_stream)
        status = ctx->device->ops->set_stream(ctx->device, stream, &why);
    else if (stream)
        status = status_fail(&why, TESS_ERROR_DEVICE,
                             "a %s device has no streams; its products are done when the call "
                             "returns",
                             ctx->device->ops->kind);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

tess_status tess_set_workspace(tess_context *ctx, void *memory, size_t bytes) {
    sentence why;
    if (!ctx) return refuse_null(ctx, "tess_set_workspace", "ctx");
    if (!memory && bytes > 0)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT,
                                          "memory is NULL, but has %zu bytes; to go back to the context's "
                                          "own workspace pass NULL and 0",
                                          bytes),
                              &why);
    pthread_mutex_lock(&ctx->lock);
    tess_status status = ctx->device->ops->set_workspace(ctx->device, memory, bytes, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

/* The lock of a context that is only looked at. */
static pthread_mutex_t *lock_of(const tess_context *ctx) {
    return (pthread_mutex_t *)(uintptr_t)&ctx->lock;
}

tess_status tess_staging_times(const tess_context *ctx, tess_staging *times) {
    if (!ctx || !times) return refuse_null((tess_context *)(uintptr_t)ctx, "tess_staging_times", "times");
    memset(times, 0, sizeof *times);
    pthread_mutex_lock(lock_of(ctx));
    if (ctx->device->ops->staging) ctx->device->ops->staging(ctx->device, times);
    pthread_mutex_unlock(lock_of(ctx));
    return TESS_OK;
}

tess_status tess_way_taken(tess_context *ctx, tess_way *way) {
    sentence why;
    if (!ctx || !way) return refuse_null(ctx, "tess_way_taken", "way");
    *way = TESS_WAY_ONLY;
    pthread_mutex_lock(&ctx->lock);
    const device_ops *ops = ctx->device->ops;
    tess_status status = ops->way ? ops->way(ctx->device, way, &why) : TESS_OK;
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

tess_status tess_read_state(const tess_context *ctx, tess_device_state *state) {
    if (!ctx || !state) return refuse_null((tess_context *)(uintptr_t)ctx, "tess_read_state", "state");
    *state = (tess_device_state){.clock_mhz = (double)NAN,
                                 .memory_clock_mhz = (double)NAN,
                                 .power_w = (double)NAN,
                                 .temperature_c = (double)NAN};
    pthread_mutex_lock(lock_of(ctx));
    if (ctx->device->ops->state) ctx->device->ops->state(ctx->device, state);
    pthread_mutex_unlock(lock_of(ctx));
    return TESS_OK;
}

const char *tess_observations(const tess_context *ctx) {
    if (!ctx || !ctx->device->ops->observed) return "";
    pthread_mutex_lock(lock_of(ctx));
    const char *text = ctx->device->ops->observed(ctx->device);
    pthread_mutex_unlock(lock_of(ctx));
    return text;
}

tess_status tess_measure_level(tess_context *ctx, tess_level level, tess_level_info *info) {
    sentence why;
    if (!ctx || !info) return refuse_null(ctx, "tess_measure_level", "info");
    if ((int)level < TESS_LEVEL_REGISTERS || (int)level > TESS_LEVEL_MEMORY)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "level is %d, which is no tess_level",
                                          (int)level),
                              &why);
    memset(info, 0, sizeof *info);
    pthread_mutex_lock(&ctx->lock);
    const device_ops *ops = ctx->device->ops;
    tess_status status =
        ops->measure_level
            ? ops->measure_level(ctx->device, level, info, &why)
            : status_fail(&why, TESS_ERROR_DEVICE,
                          "the levels of memory are measured on a GPU; this context is a %s", ops->kind);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}
