/* cuda_device.c: a CUDA GPU behind the seam: opening and closing it, and its memory.
 *
 * The context is the device's primary one, which other libraries in the process share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../memory.h"
#include "cuda.h"
#include "jit.h"
#include "library.h"

/* ---- Memory ---- */

static tess_status alloc(device *base, size_t bytes, void **memory, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    char *got = NULL;
    TRY(cuda_enter(self, why));
    tess_status status = cuda_leave(self, cuda_alloc(self, bytes, "tess_alloc", &got, why));
    *memory = got;
    return status;
}

static tess_status release(cuda_device *self, void *memory, sentence *why) {
    CUDA(self, cuMemFree, cuda_address(memory));
    self->refused = 0;
    return TESS_OK;
}

static tess_status free_memory(device *base, void *memory, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    return cuda_leave(self, release(self, memory, why));
}

static tess_status copy_and_wait(cuda_device *self, void *to, const void *from, size_t bytes, sentence *why) {
    CUDA(self, cuMemcpyAsync, cuda_address(to), cuda_address(from), bytes, self->stream);
    CUDA(self, cuStreamSynchronize, self->stream);
    return TESS_OK;
}

static tess_status copy(device *base, void *to, const void *from, size_t bytes, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    return cuda_leave(self, copy_and_wait(self, to, from, bytes, why));
}

static tess_status synchronize(cuda_device *self, sentence *why) {
    CUDA(self, cuStreamSynchronize, self->stream);
    return TESS_OK;
}

static tess_status wait_for_all(device *base, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    return cuda_leave(self, synchronize(self, why));
}

static tess_status set_stream(device *base, void *stream, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    self->stream = stream;
    return cuda_leave(self, TESS_OK);
}

static void retire_workspaces(cuda_device *self) {
    if (!self->workspace_lent && self->workspace.memory)
        driver.cuMemFree(cuda_address(self->workspace.memory));
    for (int i = 0; i < self->retired_count; i++) driver.cuMemFree(cuda_address(self->retired[i]));
    self->retired_count = 0;
    self->workspace = (cuda_buffer){NULL, 0};
}

static tess_status read_way(device *base, tess_way *way, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    int32_t number = (int32_t)self->certain_way;
    if (self->way) TRY(copy(base, &number, self->way, sizeof number, why));
    *way = (tess_way)number;
    return TESS_OK;
}

static tess_status set_workspace(device *base, void *memory, size_t bytes, sentence *why) {
    enum { ALIGNMENT = 256 };
    cuda_device *self = (cuda_device *)base;
    if ((uintptr_t)memory % ALIGNMENT != 0)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "the workspace is at %p; it must begin at a multiple of %d bytes, as tess_alloc's "
                           "memory does",
                           memory, ALIGNMENT);
    TRY(cuda_enter(self, why));
    cuda_timer_forget(self);
    retire_workspaces(self);
    self->workspace = (cuda_buffer){memory, bytes};
    self->workspace_lent = memory != NULL;
    self->refused = 0;
    self->way = NULL;
    self->certain_way = TESS_WAY_ONLY;
    return cuda_leave(self, TESS_OK);
}

/* ---- Devices ---- */

static int count(void) {
    return driver_devices() > 0 && library_open(LIBRARY_NVRTC) ? driver_devices() : 0;
}

static const char *absent(void) {
    if (driver_devices() == 0) return driver_problem();
    return library_problem(LIBRARY_NVRTC);
}

static void describe(int index, tess_device_info *info) {
    snprintf(info->name, sizeof info->name, "cuda:%d", index);
    snprintf(info->kernels, sizeof info->kernels, "gpu");
    info->threads = 1;
    info->own_memory = 1;
    const cuda_facts *facts = cuda_facts_of(index);
    if (!facts) return;
    snprintf(info->model, sizeof info->model, "%s", facts->model);
    char name[16];
    jit_architecture_name(facts->architecture, name);
    snprintf(info->isa, sizeof info->isa, "%s", name);
    info->cores = facts->gpu.sms;
    info->memory = facts->gpu.memory;
    info->l2 = facts->gpu.l2;
}

static tess_status describe_gpu(int index, tess_gpu_info *info, sentence *why) {
    if (!cuda_facts_of(index))
        return status_fail(why, TESS_ERROR_DEVICE, "cuda:%d cannot be asked: %s", index, driver_problem());
    *info = cuda_all_facts_of(index);
    return TESS_OK;
}

static tess_status start(cuda_device *self, sentence *why) {
    self->facts = cuda_facts_of(self->index);
    if (!self->facts)
        return status_fail(why, TESS_ERROR_DEVICE, "cuda:%d does not answer the driver's questions",
                           self->index);
    CUDA(self, cuDevicePrimaryCtxRetain, &self->context, self->facts->handle);
    cuda_peer_reason(self->peer_reason, sizeof self->peer_reason);
    return TESS_OK;
}

static tess_status open_device(device **out, int index, sentence *why) {
    cuda_device *self = memory_alloc_zeroed(sizeof *self);
    if (!self)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for the device (%zu bytes)", sizeof *self);
    self->base.ops = &cuda_device_ops;
    self->index = index;
    tess_status status = start(self, why);
    if (status != TESS_OK) {
        memory_free(self);
        return status;
    }
    *out = &self->base;
    return TESS_OK;
}

/* In the child of a fork only host memory is given back: the device's belongs to the parent. */
static void close_device(device *base) {
    cuda_device *self = (cuda_device *)base;
    int usable = !self->forked && !driver_forked();
    self->forked = !usable;
    if (usable) driver.cuCtxPushCurrent(self->context);
    if (usable && !self->lost) driver.cuCtxSynchronize(); /* the caller's stream may be gone by now */
    cuda_timer_close(self);
    cuda_stage_close(self);
    cuda_peers_close(self);
    cuda_unload_all(self);
    if (usable) {
        retire_workspaces(self);
        cuda_leave(self, TESS_OK);
        driver.cuDevicePrimaryCtxRelease(self->facts->handle);
    }
    memory_free(self);
}

static void after_fork(device *base) {
    ((cuda_device *)base)->forked = 1;
}

/* A product runs on the card's multiprocessors; there is nothing to choose. */
static tess_status set_threads(device *base, int threads, sentence *why) {
    (void)base, (void)threads, (void)why;
    return TESS_OK;
}

static int threads_of(const device *base) {
    (void)base;
    return 1;
}

static void staging(const device *base, tess_staging *times) {
    cuda_stage_times((const cuda_device *)base, times);
}

static void state(const device *base, tess_device_state *now) {
    const cuda_device *self = (const cuda_device *)base;
    if (!self->forked) cuda_nvml_state(self->facts->bus_id, now);
}

const device_ops cuda_device_ops = {
    .kind = "cuda",
    .kernels = "gpu",
    .count = count,
    .describe = describe,
    .absent = absent,
    .describe_gpu = describe_gpu,
    .open = open_device,
    .close = close_device,
    .after_fork = after_fork,
    .set_threads = set_threads,
    .threads = threads_of,
    .choose = cuda_choose,
    .prepare = cuda_prepare,
    .run = cuda_run,
    .measure_peak = cuda_measure_peak,
    .measure_bandwidth = cuda_measure_bandwidth,
    .scale = cuda_scale,
    .alloc = alloc,
    .free = free_memory,
    .copy = copy,
    .wait = wait_for_all,
    .set_workspace = set_workspace,
    .time = cuda_time,
    .set_stream = set_stream,
    .measure_level = cuda_measure_level,
    .keep = cuda_keep,
    .drop = cuda_drop,
    .facts = cuda_kernel_facts,
    .staging = staging,
    .way = read_way,
    .state = state,
};
