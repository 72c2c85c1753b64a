/* environment.c: date, host, CPU, system, compiler and revision of a set of results.
 *
 * Invariant: a fact that cannot be had is null or "unknown"; it never stops a run.
 */
#include "environment.h"
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifndef TESSERA_REVISION
#define TESSERA_REVISION "unknown"
#endif

const char *environment_revision(void) {
    return TESSERA_REVISION;
}

const char *environment_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown";
#endif
}

/* The first line of a small file, without its newline; "" if it cannot be read. */
static void read_line(const char *path, char *line, size_t room) {
    line[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    if (fgets(line, (int)room, file) == NULL) line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
}

double environment_clock_mhz(void) {
    char line[64];
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", line, sizeof line);
    double khz = strtod(line, NULL);
    return khz > 0 ? khz / 1000 : (double)NAN;
}

/* "performance" is the governor that does not scale; null where there is none. */
static const char *scaling_enabled(void) {
    char line[64];
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", line, sizeof line);
    if (line[0] == '\0') return "null";
    return strcmp(line, "performance") == 0 ? "false" : "true";
}

static void print_field(FILE *stream, const char *name, const char *text) {
    fprintf(stream, "    \"%s\": ", name);
    table_print_json_text(text, stream);
    fputs(",\n", stream);
}

static void print_date(FILE *stream) {
    char date[64] = "unknown";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S%z", &local);
    print_field(stream, "date", date);
}

static void print_caches(FILE *stream, const tess_device_info *device) {
    const struct {
        const char *type;
        int level;
        int64_t size;
    } caches[] = {{"Data", 1, device->l1d}, {"Unified", 2, device->l2}, {"Unified", 3, device->l3}};
    const char *separator = "";
    fputs("    \"caches\": [", stream);
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        if (caches[i].size <= 0) continue;
        fprintf(stream, "%s{\"type\": \"%s\", \"level\": %d, \"size\": %" PRId64 ", \"num_sharing\": null}",
                separator, caches[i].type, caches[i].level, caches[i].size);
        separator = ", ";
    }
    fputs("],\n", stream);
}

/* Variables that change what NVIDIA's libraries do. */
static bool is_nvidia_variable(const char *entry) {
    static const char *const prefixes[] = {"NVIDIA_TF32_", "CUBLAS_",      "CUBLASLT_",   "CUDA_VISIBLE_",
                                           "CUDA_DEVICE_", "CUDA_LAUNCH_", "CUDA_MODULE_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

static void print_variables(FILE *stream) {
    const char *separator = "";
    fputs("    \"environment\": {", stream);
    for (char **entry = environ; *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        if (equals == NULL || !is_nvidia_variable(*entry)) continue;
        fprintf(stream, "%s\"%.*s\": ", separator, (int)(equals - *entry), *entry);
        table_print_json_text(equals + 1, stream);
        separator = ", ";
    }
    fputs("},\n", stream);
}

static void print_libraries(FILE *stream) {
    tess_library_info l;
    const char *separator = "";
    fputs("    \"libraries\": {", stream);
    for (int i = 0; i < tess_count_libraries(); i++) {
        if (tess_describe_library(i, &l) != TESS_OK || l.path[0] == '\0') continue;
        fputs(separator, stream);
        table_print_json_text(l.name, stream);
        fputs(": ", stream);
        table_print_json_text(l.version, stream);
        separator = ", ";
    }
    fputs("},\n", stream);
}

/* The GPU of that name, what it is used through, and what might change its results. */
static void print_gpu(FILE *stream, const char *name) {
    tess_device_info d;
    tess_gpu_info gpu;
    char text[32];
    int index = 0, count = tess_count_devices();
    while (index < count && (tess_describe_device(index, &d) != TESS_OK || strcmp(d.name, name) != 0))
        index++;
    if (index == count || tess_describe_gpu(index, &gpu) != TESS_OK) return;
    snprintf(text, sizeof text, "%d.%d", gpu.compute_major, gpu.compute_minor);
    print_field(stream, "compute_capability", text);
    fprintf(stream, "    \"multiprocessors\": %d,\n    \"driver_cuda\": %d,\n    \"nvrtc\": %d,\n", gpu.sms,
            gpu.driver_version, gpu.compiler_version);
    print_libraries(stream);
    print_variables(stream);
}

void environment_print_json(FILE *stream, const tess_device_info *device, const char *data) {
    struct utsname os;
    char text[512];
    double load[3] = {0};
    bool have_os = uname(&os) == 0;
    double mhz = environment_clock_mhz();
    fputs("{\n", stream);
    print_date(stream);
    print_field(stream, "host_name", have_os ? os.nodename : "unknown");
    print_field(stream, "executable", "tessera");
    fprintf(stream, "    \"num_cpus\": %ld,\n", sysconf(_SC_NPROCESSORS_ONLN));
    if (isnan(mhz))
        fputs("    \"mhz_per_cpu\": null,\n", stream);
    else
        fprintf(stream, "    \"mhz_per_cpu\": %.0f,\n", mhz);
    fprintf(stream, "    \"cpu_scaling_enabled\": %s,\n", scaling_enabled());
    print_caches(stream, device);
    int loads = getloadavg(load, 3);
    fputs("    \"load_avg\": [", stream);
    for (int i = 0; i < loads; i++) fprintf(stream, "%s%.2f", i > 0 ? ", " : "", load[i]);
    fputs("],\n", stream);
    print_field(stream, "library_version", tess_version());
#ifdef __OPTIMIZE__
    print_field(stream, "library_build_type", "release");
#else
    print_field(stream, "library_build_type", "debug");
#endif
    print_field(stream, "device", device->name);
    print_field(stream, "model", device->model);
    print_field(stream, "isa", device->isa);
    print_gpu(stream, device->name);
    snprintf(text, sizeof text, "%s %s %s", have_os ? os.sysname : "unknown", have_os ? os.release : "",
             have_os ? os.machine : "");
    print_field(stream, "os", text);
    print_field(stream, "compiler", environment_compiler());
    print_field(stream, "revision", environment_revision());
    if (data != NULL) print_field(stream, "data", data);
    fputs("    \"json_schema_version\": 1\n  }", stream);
}
