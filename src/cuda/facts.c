/* facts.c: what the driver says of each card. Read once per process; cards do not change. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cuda.h"
#include "library.h"

enum { MOST_DEVICES = 64 };

/* CUdevice_attribute */
enum {
    MAX_THREADS_PER_BLOCK = 1,
    MAX_BLOCK_X = 2,
    MAX_GRID_X = 5,
    SHARED_PER_BLOCK = 8,
    WARP_SIZE = 10,
    REGISTERS_PER_BLOCK = 12,
    CLOCK_RATE = 13,
    MULTIPROCESSORS = 16,
    MEMORY_CLOCK_RATE = 36,
    MEMORY_BUS_WIDTH = 37,
    L2_SIZE = 38,
    MAX_THREADS_PER_SM = 39,
    COMPUTE_MAJOR = 75,
    COMPUTE_MINOR = 76,
    SHARED_PER_SM = 81,
    REGISTERS_PER_SM = 82,
    SHARED_PER_BLOCK_OPTIN = 97,
    MAX_BLOCKS_PER_SM = 106,
    SHARED_RESERVED = 111
};

static cuda_facts cards[MOST_DEVICES];
static int card_read[MOST_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int attribute(cu_device handle, int which) {
    int value = 0;
    return driver.cuDeviceGetAttribute(&value, which, handle) == CU_OK ? value : 0;
}

static void read_limits(cu_device handle, tess_gpu_info *gpu) {
    gpu->compute_major = attribute(handle, COMPUTE_MAJOR);
    gpu->compute_minor = attribute(handle, COMPUTE_MINOR);
    gpu->sms = attribute(handle, MULTIPROCESSORS);
    gpu->warp = attribute(handle, WARP_SIZE);
    gpu->max_threads_per_block = attribute(handle, MAX_THREADS_PER_BLOCK);
    gpu->max_threads_per_sm = attribute(handle, MAX_THREADS_PER_SM);
    gpu->max_blocks_per_sm = attribute(handle, MAX_BLOCKS_PER_SM);
    for (int i = 0; i < 3; i++) {
        gpu->max_block[i] = attribute(handle, MAX_BLOCK_X + i);
        gpu->max_grid[i] = attribute(handle, MAX_GRID_X + i);
    }
    gpu->registers_per_block = attribute(handle, REGISTERS_PER_BLOCK);
    gpu->registers_per_sm = attribute(handle, REGISTERS_PER_SM);
    gpu->shared_per_block = attribute(handle, SHARED_PER_BLOCK);
    gpu->shared_per_block_most = attribute(handle, SHARED_PER_BLOCK_OPTIN);
    gpu->shared_per_sm = attribute(handle, SHARED_PER_SM);
    gpu->shared_reserved = attribute(handle, SHARED_RESERVED);
    gpu->l2 = attribute(handle, L2_SIZE);
    gpu->memory_bus_bits = attribute(handle, MEMORY_BUS_WIDTH);
}

/* The driver may not tell clocks; NVML does. */
static void read_clocks(cu_device handle, const char *bus_id, tess_gpu_info *gpu) {
    gpu->clock_khz = attribute(handle, CLOCK_RATE);
    gpu->memory_clock_khz = attribute(handle, MEMORY_CLOCK_RATE);
    if (gpu->clock_khz > 0 && gpu->memory_clock_khz > 0) return;
    unsigned clock, memory_clock;
    cuda_nvml_clocks(bus_id, &clock, &memory_clock);
    if (gpu->clock_khz <= 0) gpu->clock_khz = (int)clock * 1000;
    if (gpu->memory_clock_khz <= 0) gpu->memory_clock_khz = (int)memory_clock * 1000;
}

/* Multiply-adds a clock of one multiprocessor, in f32 and f64; 0 for cards not known. */
typedef struct units {
    int architecture, f32, f64;
} units;

static units units_of(int architecture) {
    static const units known[] = {{75, 64, 2},   {80, 64, 32},   {86, 128, 2}, {89, 128, 2},
                                  {90, 128, 64}, {100, 128, 64}, {120, 128, 2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].architecture == architecture) return known[i];
    return (units){architecture, 0, 0};
}

static void work_out_peaks(int architecture, tess_gpu_info *gpu) {
    units u = units_of(architecture);
    double clocks = 1e3 * gpu->clock_khz * gpu->sms;
    gpu->f32_flops = 2 * clocks * u.f32;
    gpu->f64_flops = 2 * clocks * u.f64;
    gpu->memory_bytes = 2e3 * gpu->memory_clock_khz * (gpu->memory_bus_bits / 8.0);
    if (gpu->memory_bytes > 0) gpu->critical_intensity = gpu->f32_flops / gpu->memory_bytes;
}

static int read_card(int index, cuda_facts *card) {
    size_t memory = 0;
    if (driver.cuDeviceGet(&card->handle, index) != CU_OK) return 0;
    if (driver.cuDeviceGetName(card->model, sizeof card->model, card->handle) != CU_OK) return 0;
    if (driver.cuDeviceTotalMem(&memory, card->handle) != CU_OK) return 0;
    driver.cuDeviceGetPCIBusId(card->bus_id, sizeof card->bus_id, card->handle);
    tess_gpu_info *gpu = &card->gpu;
    gpu->memory = (int64_t)memory;
    read_limits(card->handle, gpu);
    card->architecture = gpu->compute_major * 10 + gpu->compute_minor;
    driver.cuDriverGetVersion(&gpu->driver_version);
    gpu->compiler_version = library_version(LIBRARY_NVRTC);
    return gpu->sms > 0;
}

const cuda_facts *cuda_facts_of(int index) {
    if (index < 0 || index >= MOST_DEVICES || index >= driver_devices()) return NULL;
    pthread_mutex_lock(&lock);
    if (!card_read[index]) card_read[index] = read_card(index, &cards[index]);
    const cuda_facts *facts = card_read[index] ? &cards[index] : NULL;
    pthread_mutex_unlock(&lock);
    return facts;
}

tess_gpu_info cuda_all_facts_of(int index) {
    const cuda_facts *facts = cuda_facts_of(index);
    tess_gpu_info gpu = facts->gpu;
    read_clocks(facts->handle, facts->bus_id, &gpu);
    work_out_peaks(facts->architecture, &gpu);
    return gpu;
}
