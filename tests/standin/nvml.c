/* nvml.c: a stand-in for NVML: one card, warm and held back. */
#include <stdio.h>
#include <string.h>

#include "standin.h"

enum { OK = 0, INVALID_ARGUMENT = 2 };

#define NVML(name, ...)           \
    EXPORT int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

static char the_card;

NVML(nvmlInit_v2, void) {
    return OK;
}

NVML(nvmlSystemGetNVMLVersion, char *version, unsigned length) {
    snprintf(version, length, "13.999.0");
    return OK;
}

NVML(nvmlDeviceGetHandleByPciBusId_v2, const char *bus_id, void **card) {
    *card = &the_card;
    return strcmp(bus_id, "0000:01:00.0") == 0 ? OK : INVALID_ARGUMENT;
}

/* Clock 1 is the multiprocessors', 2 the memory's. */
NVML(nvmlDeviceGetClockInfo, const void *card, int clock, unsigned *mhz) {
    *mhz = clock == 2 ? 3201 : 1755;
    return card == &the_card ? OK : INVALID_ARGUMENT;
}

NVML(nvmlDeviceGetMaxClockInfo, const void *card, int clock, unsigned *mhz) {
    *mhz = clock == 2 ? 3201 : 1980;
    return card == &the_card ? OK : INVALID_ARGUMENT;
}

NVML(nvmlDeviceGetPowerUsage, const void *card, unsigned *milliwatts) {
    *milliwatts = 698500;
    return card == &the_card ? OK : INVALID_ARGUMENT;
}

NVML(nvmlDeviceGetTemperature, const void *card, int sensor, unsigned *celsius) {
    *celsius = 61;
    return card == &the_card && sensor == 0 ? OK : INVALID_ARGUMENT;
}

NVML(nvmlDeviceGetCurrentClocksThrottleReasons, const void *card, unsigned long long *reasons) {
    *reasons = 0x4 | 0x20;
    return card == &the_card ? OK : INVALID_ARGUMENT;
}
