/* measure.c: what a card can do at best, found out by the kernels of kernels/measure.cu. Each measurement
 * is the best of a few short ones. */
#include "measure.h"

#include <string.h>

#include "timer.h"

enum {
    REPEATS = 4,
    CHASE_STEPS = 1 << 14,
    PEAK_SUMS = 8,
    PEAK_PER_ROUND = 16,
    PEAK_ROUNDS = 2000,
    FILLER_NANOSECONDS = 30000
};

/* The least seconds of a few launches on all multiprocessors. */
static tess_status time_launches(cuda_device *self, const char *type, const char *name, measurement *what,
                                 double *seconds, sentence *why) {
    cuda_timer *timer = self->timer;
    int blocks = self->facts->gpu.sms * (self->facts->gpu.max_threads_per_sm / MEASURE_THREADS);
    *seconds = 0;
    for (int i = 0; i <= REPEATS; i++) {
        double one;
        TRY(measure_spin(self, FILLER_NANOSECONDS, timer->stream, why));
        CUDA(self, cuEventRecord, timer->start, timer->stream);
        TRY(measure_launch(self, type, name, blocks, MEASURE_THREADS, timer->stream, what, why));
        CUDA(self, cuEventRecord, timer->end, timer->stream);
        TRY(timer_seconds(self, &one, why));
        if (i > 0 && (*seconds == 0 || one < *seconds)) *seconds = one; /* the first one warms up */
    }
    return TESS_OK;
}

static double threads_in_flight(const cuda_device *self) {
    const tess_gpu_info *gpu = &self->facts->gpu;
    return (double)gpu->sms * (gpu->max_threads_per_sm / MEASURE_THREADS) * MEASURE_THREADS;
}

/* f64 is measured on tensor cores where they have it: a thread of a warp then makes 64 multiply-adds at once, half as often.
 */
static tess_status find_peak(cuda_device *self, tess_type type, double *flops, sentence *why) {
    double seconds, at_once = 1;
    const char *kernel = "peak";
    measurement what = {.bytes = 1, .rounds = PEAK_ROUNDS};
    TRY(timer_ready(self, why));
    TRY(cuda_workspace(self, 256, (char **)&what.out, why));
    if (type == TESS_F64 && cuda_has_tensor_f64(self)) {
        kernel = "peak_tensor";
        at_once = 64 / 2;
        what.rounds = PEAK_ROUNDS / 16;
    }
    TRY(time_launches(self, type == TESS_F64 ? "F64" : "F32", kernel, &what, &seconds, why));
    *flops = 2.0 * at_once * PEAK_SUMS * PEAK_PER_ROUND * what.rounds * threads_in_flight(self) / seconds;
    return TESS_OK;
}

tess_status cuda_measure_peak(device *base, tess_type type, double *flops, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    return cuda_leave(self, find_peak(self, type, flops, why));
}

/* ---- Levels of memory ---- */

/* How a level is measured. Latency: `chase` over `chase_bytes`; bandwidth: `read` with `rounds`, over
 * read_bytes if the blocks share one buffer. */
typedef struct level_plan {
    const char *chase, *read;
    int64_t chase_bytes, read_bytes;
    int warm; /* the chase goes round once before it is timed */
    int rounds;
} level_plan;

static int64_t power_of_two_above(int64_t value) {
    int64_t power = 1;
    while (power < value) power *= 2;
    return power;
}

/* Of the second-level cache a quarter is used: it is split in halves that may each keep a copy. Memory
 * takes eight times the cache, so that little of it is found there. */
static level_plan plan_level(const cuda_device *self, tess_level level) {
    int64_t l2 = self->facts->gpu.l2 > 0 ? self->facts->gpu.l2 : 4 << 20;
    switch (level) {
    case TESS_LEVEL_REGISTERS: return (level_plan){"chase_registers", "peak", 0, 0, 0, PEAK_ROUNDS};
    case TESS_LEVEL_SHARED: return (level_plan){"chase_shared", "read_shared", 0, 0, 0, 20000};
    case TESS_LEVEL_L1: return (level_plan){"chase_l1", "read_l1", 16 << 10, 0, 1, 20000};
    case TESS_LEVEL_L2:
        return (level_plan){"chase_l2", "read_all", power_of_two_above(l2 / 8), l2 / 4, 1, 100};
    case TESS_LEVEL_MEMORY: break;
    }
    return (level_plan){"chase_l2", "read_all", power_of_two_above(8 * l2), power_of_two_above(8 * l2), 0, 1};
}

/* Bytes of all of it. The first-level cache is what shared memory leaves of the memory they have in
 * common. */
static int64_t level_bytes(const cuda_device *self, tess_level level) {
    const tess_gpu_info *gpu = &self->facts->gpu;
    switch (level) {
    case TESS_LEVEL_REGISTERS: return (int64_t)gpu->sms * gpu->registers_per_sm * 4;
    case TESS_LEVEL_SHARED:
    case TESS_LEVEL_L1: return (int64_t)gpu->sms * gpu->shared_per_sm;
    case TESS_LEVEL_L2: return gpu->l2;
    case TESS_LEVEL_MEMORY: break;
    }
    return gpu->memory;
}

static tess_status find_latency(cuda_device *self, const level_plan *p, measurement *what,
                                tess_level_info *info, sentence *why) {
    cuda_timer *timer = self->timer;
    int64_t numbers[3];
    what->bytes = p->chase_bytes, what->rounds = CHASE_STEPS, what->from_l2 = p->warm;
    if (p->chase_bytes > 0)
        TRY(measure_launch(self, "F32", "link_lines", self->facts->gpu.sms, MEASURE_THREADS, timer->stream,
                           what, why));
    for (int i = 0; i < REPEATS; i++) {
        if (p->chase_bytes > 0 && !p->warm)
            TRY(timer_flush(self, why)); /* the lines of the last time are still there */
        TRY(measure_launch(self, "F32", p->chase, 1, 1, timer->stream, what, why));
        CUDA(self, cuMemcpyDtoHAsync, numbers, cuda_address(what->out), sizeof numbers, timer->stream);
        CUDA(self, cuStreamSynchronize, timer->stream);
        double cycles = (double)numbers[0] / CHASE_STEPS, nanoseconds = (double)numbers[1] / CHASE_STEPS;
        if (i == 0 || cycles < info->cycles) info->cycles = cycles;
        if (i == 0 || nanoseconds < info->nanoseconds) info->nanoseconds = nanoseconds;
    }
    return TESS_OK;
}

/* Bytes that one launch of the level's kernel reads. Of registers a multiply-add reads three operands of 4
 * bytes. */
static double bytes_read(const cuda_device *self, tess_level level, const level_plan *p) {
    if (level == TESS_LEVEL_REGISTERS)
        return 12.0 * PEAK_SUMS * PEAK_PER_ROUND * p->rounds * threads_in_flight(self);
    if (p->read_bytes == 0) return 16.0 * p->rounds * threads_in_flight(self);
    return (double)p->read_bytes * p->rounds;
}

static tess_status find_bandwidth(cuda_device *self, tess_level level, const level_plan *p, measurement *what,
                                  double *bytes_per_second, sentence *why) {
    double seconds;
    what->bytes = p->read_bytes, what->rounds = p->rounds;
    TRY(time_launches(self, "F32", p->read, what, &seconds, why));
    *bytes_per_second = bytes_read(self, level, p) / seconds;
    return TESS_OK;
}

static tess_status measure_with(cuda_device *self, tess_level level, const level_plan *p, char *memory,
                                int latency, tess_level_info *info, sentence *why) {
    enum { NUMBERS = 256 }; /* room for what kernels report, before the buffer they read */
    measurement what = {.data = memory + NUMBERS, .out = (int64_t *)(void *)memory};
    CUDA(self, cuMemsetD8Async, cuda_address(memory), 0, NUMBERS, self->timer->stream);
    TRY(find_bandwidth(self, level, p, &what, &info->bytes_per_second, why));
    return latency ? find_latency(self, p, &what, info, why) : TESS_OK;
}

static tess_status measure(cuda_device *self, tess_level level, int latency, tess_level_info *info,
                           sentence *why) {
    level_plan p = plan_level(self, level);
    int64_t bytes = p.chase_bytes > p.read_bytes ? p.chase_bytes : p.read_bytes;
    char *memory;
    TRY(timer_ready(self, why));
    info->bytes = level_bytes(self, level);
    TRY(cuda_alloc(self, (size_t)bytes + 4096, "measuring", &memory, why));
    tess_status status = measure_with(self, level, &p, memory, latency, info, why);
    if (!self->lost) driver.cuMemFree(cuda_address(memory));
    return status;
}

tess_status cuda_measure_bandwidth(device *base, double *bytes, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    tess_level_info info = {.bytes = 0};
    TRY(cuda_enter(self, why));
    tess_status status = cuda_leave(self, measure(self, TESS_LEVEL_MEMORY, 0, &info, why));
    *bytes = info.bytes_per_second;
    return status;
}

tess_status cuda_measure_level(device *base, tess_level level, tess_level_info *info, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    return cuda_leave(self, measure(self, level, 1, info, why));
}
