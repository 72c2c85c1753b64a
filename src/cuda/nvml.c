/* nvml.c: clocks, power and temperature, from NVIDIA's management library. Without it they are not known,
 * and nothing else changes. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cuda.h"
#include "library.h"

typedef struct nvml_device_opaque *nvml_device;

enum { NVML_OK = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_SENSOR_GPU = 0 };

/* One row per function: its name, which is its symbol, and its arguments. */
#define NVML_FUNCTIONS(F)                                                        \
    F(nvmlInit_v2, void)                                                         \
    F(nvmlDeviceGetHandleByPciBusId_v2, const char *bus_id, nvml_device *card)   \
    F(nvmlDeviceGetClockInfo, nvml_device card, int clock, unsigned *mhz)        \
    F(nvmlDeviceGetMaxClockInfo, nvml_device card, int clock, unsigned *mhz)     \
    F(nvmlDeviceGetPowerUsage, nvml_device card, unsigned *milliwatts)           \
    F(nvmlDeviceGetTemperature, nvml_device card, int sensor, unsigned *celsius) \
    F(nvmlDeviceGetCurrentClocksThrottleReasons, nvml_device card, unsigned long long *bits)

static struct nvml_table {
#define NVML_FIELD(name, ...) int (*name)(__VA_ARGS__);
    NVML_FUNCTIONS(NVML_FIELD)
#undef NVML_FIELD
} nvml;
static int ready;

/* A function that a version of NVML lacks stays NULL and its value unknown. */
static void start(void) {
    void *library = library_open(LIBRARY_NVML);
    if (!library) return;
#define NVML_FIND(name, ...)                                 \
    do {                                                     \
        void *found = dlsym(library, #name);                 \
        if (found) memcpy(&nvml.name, &found, sizeof found); \
    } while (0);
    NVML_FUNCTIONS(NVML_FIND)
#undef NVML_FIND
    ready = nvml.nvmlInit_v2 && nvml.nvmlDeviceGetHandleByPciBusId_v2 && nvml.nvmlInit_v2() == NVML_OK;
}

static int find_device(const char *bus_id, nvml_device *card) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    return ready && nvml.nvmlDeviceGetHandleByPciBusId_v2(bus_id, card) == NVML_OK;
}

void cuda_nvml_clocks(const char *bus_id, unsigned *clock, unsigned *memory_clock) {
    nvml_device card;
    *clock = *memory_clock = 0;
    if (!find_device(bus_id, &card) || !nvml.nvmlDeviceGetMaxClockInfo) return;
    if (nvml.nvmlDeviceGetMaxClockInfo(card, NVML_CLOCK_SM, clock) != NVML_OK) *clock = 0;
    if (nvml.nvmlDeviceGetMaxClockInfo(card, NVML_CLOCK_MEMORY, memory_clock) != NVML_OK) *memory_clock = 0;
}

/* "power cap, heat" for the bits of the throttle reasons. An idle card is not held back. */
static void name_reasons(unsigned long long bits, char *text, size_t size) {
    static const struct {
        unsigned long long bit;
        const char *name;
    } reasons[] = {{0x2, "application clocks"}, {0x4, "power cap"},      {0x8, "hardware slowdown"},
                   {0x10, "sync boost"},        {0x20, "heat"},          {0x40, "heat (hardware)"},
                   {0x80, "power brake"},       {0x100, "display clock"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if ((bits & reasons[i].bit) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", reasons[i].name);
}

void cuda_nvml_state(const char *bus_id, tess_device_state *state) {
    nvml_device card;
    unsigned value;
    unsigned long long bits;
    if (!find_device(bus_id, &card)) return;
    if (nvml.nvmlDeviceGetClockInfo && nvml.nvmlDeviceGetClockInfo(card, NVML_CLOCK_SM, &value) == NVML_OK)
        state->clock_mhz = value;
    if (nvml.nvmlDeviceGetClockInfo &&
        nvml.nvmlDeviceGetClockInfo(card, NVML_CLOCK_MEMORY, &value) == NVML_OK)
        state->memory_clock_mhz = value;
    if (nvml.nvmlDeviceGetPowerUsage && nvml.nvmlDeviceGetPowerUsage(card, &value) == NVML_OK)
        state->power_w = value / 1000.0;
    if (nvml.nvmlDeviceGetTemperature &&
        nvml.nvmlDeviceGetTemperature(card, NVML_SENSOR_GPU, &value) == NVML_OK)
        state->temperature_c = value;
    if (nvml.nvmlDeviceGetCurrentClocksThrottleReasons &&
        nvml.nvmlDeviceGetCurrentClocksThrottleReasons(card, &bits) == NVML_OK)
        name_reasons(bits, state->throttled, sizeof state->throttled);
}
