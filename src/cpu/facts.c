/* facts.c: what this machine is, read once. What cannot be read stays 0 or "unknown"; nothing here can fail.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu.h"

/* Arm cores name themselves by number only. */
static const struct {
    unsigned part;
    const char *name;
} arm_parts[] = {
    {0xd03, "Cortex-A53"},  {0xd08, "Cortex-A72"},  {0xd0b, "Cortex-A76"},
    {0xd0c, "Neoverse-N1"}, {0xd40, "Neoverse-V1"}, {0xd49, "Neoverse-N2"},
    {0xd4f, "Neoverse-V2"}, {0xd8e, "Neoverse-N3"}, {0xd84, "Neoverse-V3"},
};

/* The value behind "key : value" in a line of /proc/cpuinfo, NULL if the line is of another key. */
static const char *value_of(const char *line, const char *key) {
    if (strncmp(line, key, strlen(key)) != 0) return NULL;
    const char *colon = strchr(line, ':');
    return colon ? colon + 1 + strspn(colon + 1, " \t") : NULL;
}

static void read_model(char *model, size_t size) {
    snprintf(model, size, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[512];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *name = value_of(line, "model name"), *part = value_of(line, "CPU part");
        if (name) {
            snprintf(model, size, "%s", name);
            break;
        }
        if (part) {
            unsigned number = (unsigned)strtoul(part, NULL, 16);
            snprintf(model, size, "Arm core 0x%x", number);
            for (size_t i = 0; i < sizeof arm_parts / sizeof arm_parts[0]; i++)
                if (arm_parts[i].part == number) snprintf(model, size, "%s", arm_parts[i].name);
            break;
        }
    }
    fclose(file);
}

/* One word of a file under cpu0's cache directory; "" if it is not there. */
static void read_cache_word(int index, const char *what, char *word, size_t size) {
    char path[96];
    word[0] = '\0';
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    FILE *file = fopen(path, "r");
    if (!file) return;
    if (!fgets(word, (int)size, file)) word[0] = '\0';
    word[strcspn(word, "\n")] = '\0';
    fclose(file);
}

static void read_caches(cpu_facts *facts) {
    for (int index = 0; index < 8; index++) {
        char level[16], type[32], size[32], *unit;
        read_cache_word(index, "level", level, sizeof level);
        read_cache_word(index, "type", type, sizeof type);
        read_cache_word(index, "size", size, sizeof size);
        if (strcmp(type, "Instruction") == 0) continue;
        int64_t bytes = strtoll(size, &unit, 10);
        if (*unit == 'K') bytes *= 1024;
        if (*unit == 'M') bytes *= 1024 * 1024;
        if (strcmp(level, "1") == 0) facts->l1d = bytes;
        if (strcmp(level, "2") == 0) facts->l2 = bytes;
        if (strcmp(level, "3") == 0) facts->l3 = bytes;
    }
}

static int count_cores(void) {
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

static cpu_facts machine;

static void read_all(void) {
    read_model(machine.model, sizeof machine.model);
    read_caches(&machine);
    machine.cores = count_cores();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    machine.memory = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
}

const cpu_facts *cpu_read_facts(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_all);
    return &machine;
}

/* A positive number from the environment, 0 if there is none. OMP_NUM_THREADS may be a list: its first
 * counts. */
static int number_from(const char *variable) {
    const char *text = getenv(variable);
    long number = text ? strtol(text, NULL, 10) : 0;
    return number <= 0 ? 0 : number < DEVICE_MOST_THREADS ? (int)number : DEVICE_MOST_THREADS;
}

int cpu_default_threads(void) {
    int threads = number_from("TESSERA_NUM_THREADS");
    if (threads == 0) threads = number_from("OMP_NUM_THREADS");
    if (threads == 0) threads = count_cores(); /* a program may have given some away since */
    return threads < DEVICE_MOST_THREADS ? threads : DEVICE_MOST_THREADS;
}
