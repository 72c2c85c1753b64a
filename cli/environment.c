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

/* Where facts go, and in which form: fields of a JSON object, or remarks of a CSV file. */
typedef struct facts {
    FILE *stream;
    bool json;
} facts;

static void print_field(const facts *f, const char *name, const char *text) {
    if (!f->json) {
        fprintf(f->stream, "# %s: ", name);
        for (; *text != '\0'; text++)
            fputc(*text == '\n' || *text == '\r' ? ' ' : *text, f->stream); /* one line */
        fputc('\n', f->stream);
        return;
    }
    fprintf(f->stream, "    \"%s\": ", name);
    table_print_json_text(text, f->stream);
    fputs(",\n", f->stream);
}

/* A number, true or false; remarks leave out what is null. */
static void print_word(const facts *f, const char *name, const char *word) {
    if (f->json)
        fprintf(f->stream, "    \"%s\": %s,\n", name, word);
    else if (strcmp(word, "null") != 0)
        fprintf(f->stream, "# %s: %s\n", name, word);
}

/* Fields of an object within the object; in a remark its name stands before theirs. */
typedef struct group {
    const facts *f;
    const char *name, *separator;
} group;

static group begin_group(const facts *f, const char *name) {
    if (f->json) fprintf(f->stream, "    \"%s\": {", name);
    return (group){f, name, ""};
}

static void print_in_group(group *g, const char *name, const char *text) {
    if (!g->f->json) {
        fprintf(g->f->stream, "# %s.%s: %s\n", g->name, name, text);
        return;
    }
    fputs(g->separator, g->f->stream);
    table_print_json_text(name, g->f->stream);
    fputs(": ", g->f->stream);
    table_print_json_text(text, g->f->stream);
    g->separator = ", ";
}

static void end_group(const group *g) {
    if (g->f->json) fputs("},\n", g->f->stream);
}

static void print_date(const facts *f) {
    char date[64] = "unknown";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S%z", &local);
    print_field(f, "date", date);
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

static void print_load(const facts *f) {
    double load[3] = {0};
    char text[96] = "";
    size_t used = 0;
    int loads = getloadavg(load, 3);
    for (int i = 0; i < loads; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.2f", i > 0 ? ", " : "", load[i]);
    if (f->json)
        fprintf(f->stream, "    \"load_avg\": [%s],\n", text);
    else
        print_field(f, "load_avg", text);
}

/* Variables that change what NVIDIA's libraries do. */
static bool is_nvidia_variable(const char *entry) {
    static const char *const prefixes[] = {"NVIDIA_TF32_", "CUBLAS_",      "CUBLASLT_",   "CUDA_VISIBLE_",
                                           "CUDA_DEVICE_", "CUDA_LAUNCH_", "CUDA_MODULE_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

static void print_variables(const facts *f) {
    group g = begin_group(f, "environment");
    char name[128];
    for (char **entry = environ; *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        if (equals == NULL || !is_nvidia_variable(*entry)) continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
        print_in_group(&g, name, equals + 1);
    }
    end_group(&g);
}

static void print_libraries(const facts *f) {
    group g = begin_group(f, "libraries");
    tess_library_info l;
    for (int i = 0; i < tess_count_libraries(); i++)
        if (tess_describe_library(i, &l) == TESS_OK && l.path[0] != '\0')
            print_in_group(&g, l.name, l.version);
    end_group(&g);
}

/* The GPU of that name, what it is used through, and what might change its results. */
static void print_gpu(const facts *f, const char *name) {
    tess_device_info d;
    tess_gpu_info gpu;
    char text[32];
    int index = 0, count = tess_count_devices();
    while (index < count && (tess_describe_device(index, &d) != TESS_OK || strcmp(d.name, name) != 0))
        index++;
    if (index == count || tess_describe_gpu(index, &gpu) != TESS_OK) return;
    snprintf(text, sizeof text, "%d.%d", gpu.compute_major, gpu.compute_minor);
    print_field(f, "compute_capability", text);
    const struct {
        const char *name;
        int value;
    } numbers[] = {{"multiprocessors", gpu.sms},
                   {"driver_cuda", gpu.driver_version},
                   {"nvrtc", gpu.compiler_version}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "%d", numbers[i].value);
        print_word(f, numbers[i].name, text);
    }
    print_libraries(f);
    print_variables(f);
}

static void print_host(const facts *f, const tess_device_info *device) {
    char text[32] = "null";
    double mhz = environment_clock_mhz();
    print_field(f, "executable", "tessera");
    if (!isnan(mhz)) snprintf(text, sizeof text, "%.0f", mhz);
    print_word(f, "mhz_per_cpu", text);
    snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    print_word(f, "num_cpus", text);
    print_word(f, "cpu_scaling_enabled", scaling_enabled());
    if (f->json) print_caches(f->stream, device);
    print_load(f);
}

static void print_facts(const facts *f, const tess_device_info *device, const environment_run *run) {
    struct utsname os;
    char text[512];
    bool have_os = uname(&os) == 0;
    print_date(f);
    /* Files that are kept for others to read are CSV: they do not name the machine. */
    if (f->json) print_field(f, "host_name", have_os ? os.nodename : "unknown");
    print_host(f, device);
    print_field(f, "library_version", tess_version());
#ifdef __OPTIMIZE__
    print_field(f, "library_build_type", "release");
#else
    print_field(f, "library_build_type", "debug");
#endif
    print_field(f, "device", device->name);
    print_field(f, "model", device->model);
    print_field(f, "isa", device->isa);
    print_gpu(f, device->name);
    snprintf(text, sizeof text, "%s %s %s", have_os ? os.sysname : "unknown", have_os ? os.release : "",
             have_os ? os.machine : "");
    print_field(f, "os", text);
    print_field(f, "compiler", environment_compiler());
    print_field(f, "revision", environment_revision());
    if (run->data != NULL) print_field(f, "data", run->data);
    if (run->method != NULL) print_field(f, "method", run->method);
    if (run->command != NULL) print_field(f, "command", run->command);
}

void environment_print_json(FILE *stream, const tess_device_info *device, const environment_run *run) {
    fputs("{\n", stream);
    print_facts(&(facts){stream, true}, device, run);
    fputs("    \"json_schema_version\": 1\n  }", stream);
}

void environment_print_remarks(FILE *stream, const tess_device_info *device, const environment_run *run) {
    print_facts(&(facts){stream, false}, device, run);
}
