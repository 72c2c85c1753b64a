/* measure.c: what the CPU can do at best. Every thread of the context works at once, for the same time,
 * because clocks and memory are shared; each measurement is the best of a few short ones. */
#include <string.h>
#include <time.h>

#include "../memory.h"
#include "cpu.h"

enum { REPEATS = 5 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct peak_job {
    double (*peak)(int64_t rounds);
    int64_t rounds;
    _Atomic int64_t operations; /* in thousands */
} peak_job;

static void run_peak(void *argument, int thread) {
    (void)thread;
    peak_job *job = argument;
    atomic_fetch_add(&job->operations, (int64_t)(job->peak(job->rounds) / 1000));
}

tess_status cpu_measure_peak(device *base, tess_type type, double *flops, sentence *why) {
    (void)why;
    cpu_device *self = (cpu_device *)base;
    int threads = pool_ready(self->workers, self->threads);
    peak_job job = {.peak = isa_current()->products[type].micro->peak, .rounds = 200000};
    *flops = 0;
    for (int i = 0; i < REPEATS; i++) {
        atomic_store(&job.operations, 0);
        double start = now();
        pool_run(self->workers, threads, run_peak, &job);
        double rate = 1000 * (double)atomic_load(&job.operations) / (now() - start);
        if (rate > *flops) *flops = rate;
    }
    return TESS_OK;
}

typedef struct read_job {
    const uint64_t *memory;
    int64_t words;
    int threads;
    _Atomic uint64_t sum; /* so that the reading is not taken for useless */
} read_job;

static void read_share(void *argument, int thread) {
    read_job *job = argument;
    int64_t first, count;
    cpu_cut(job->words, 1024, job->threads, thread, &first, &count);
    const uint64_t *from = job->memory + first;
    uint64_t sums[8] = {0};
    for (int64_t i = 0; i + 8 <= count; i += 8)
        for (int j = 0; j < 8; j++) sums[j] += from[i + j];
    for (int j = 0; j < 8; j++) atomic_fetch_add(&job->sum, sums[j]);
}

/* Four times the last cache, but not more than an eighth of the memory. */
static int64_t bytes_to_read(void) {
    const cpu_facts *facts = cpu_read_facts();
    int64_t bytes = 4 * facts->l3, least = 128 << 20;
    if (facts->memory > 0 && bytes > facts->memory / 8) bytes = facts->memory / 8;
    return bytes > least ? bytes : least;
}

tess_status cpu_measure_bandwidth(device *base, double *bytes, sentence *why) {
    cpu_device *self = (cpu_device *)base;
    int64_t size = bytes_to_read();
    uint64_t *memory = memory_alloc((size_t)size);
    if (!memory)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory to measure the bandwidth with (%lld bytes)",
                           (long long)size);
    memset(memory, 1, (size_t)size);
    int threads = pool_ready(self->workers, self->threads);
    read_job job = {.memory = memory, .words = size / 8, .threads = threads};
    *bytes = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = now();
        pool_run(self->workers, threads, read_share, &job);
        double rate = (double)size / (now() - start);
        if (rate > *bytes) *bytes = rate;
    }
    memory_free(memory);
    return TESS_OK;
}

/* Writes over more than all caches hold. */
static tess_status evict(cpu_device *self, sentence *why) {
    size_t size = (size_t)bytes_to_read();
    if (!self->flush) self->flush = memory_alloc(size);
    if (!self->flush)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory to empty the caches with (%zu bytes)", size);
    memset(self->flush, self->flush[0] + 1, size);
    return TESS_OK;
}

tess_status cpu_time(device *base, const plan *decided, const operands *data, int64_t repeats, int cold,
                     double *seconds, sentence *why) {
    double spent = 0;
    for (int64_t i = 0; i < repeats;) {
        int64_t runs = cold ? 1 : repeats;
        if (cold) TRY(evict((cpu_device *)base, why));
        double start = now();
        for (int64_t j = 0; j < runs; j++) TRY(base->ops->run(base, decided, data, why));
        spent += now() - start;
        i += runs;
    }
    *seconds = spent / (double)repeats;
    return TESS_OK;
}
