/* registry.c: the rows, and the parameters of kernels by name. */
#include "registry.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static kernel_row kernel_rows[] = {
#define CPU_KERNEL(name, number, types, summary, params) \
    {.info = {#name, "cpu", number, summary, types, params, ""}},
#define GPU_KERNEL(name, number, types, least, ...) \
    {.info = {#name, "gpu", number, "", types, "", "sm_" #least}, .architecture = least, __VA_ARGS__},
#define GPU_PEER(name, types, summary) {.info = {#name, "gpu", 0, summary, types, "", ""}},
#include "../kernels/kernels.def"
};
enum { KERNEL_COUNT = sizeof kernel_rows / sizeof kernel_rows[0], LONGEST_PARAMS = 1 << 20 };

/* What the files of GPU kernels say; read once. */
static kernel_source sources[KERNEL_COUNT];

static void read_source(kernel_row *row, kernel_source *source) {
    char file[64], *text;
    sentence why;
    snprintf(file, sizeof file, "%s.cu", row->info.name);
    tess_status status = kernel_source_read(file, &text, &why);
    if (status == TESS_OK) status = kernel_source_parse(file, text, source, &why);
    if (status != TESS_OK) {
        snprintf(source->summary, sizeof source->summary, "%.150s", why.text);
        snprintf(source->trouble, sizeof source->trouble, "%.500s", why.text);
    }
    memory_free(text);
    row->info.summary = source->summary;
    if (row->box) row->info.needs = "sm_90 alone";
    row->info.params = source->params;
    row->source = source;
}

static void read_sources(void) {
    for (int i = 0; i < KERNEL_COUNT; i++)
        if (kernel_rows[i].block) read_source(&kernel_rows[i], &sources[i]);
}

/* The rows, complete. */
static const kernel_row *rows(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_sources);
    return kernel_rows;
}

const kernel_row *registry_row(int index) {
    return index >= 0 && index < KERNEL_COUNT ? &rows()[index] : NULL;
}

int tess_count_kernels(void) {
    return KERNEL_COUNT;
}

tess_status tess_describe_kernel(int index, tess_kernel_info *info) {
    sentence *why = status_of_thread();
    if (!info) return status_fail(why, TESS_ERROR_ARGUMENT, "tess_describe_kernel: info is NULL");
    const kernel_row *row = registry_row(index);
    if (!row)
        return status_fail(why, TESS_ERROR_ARGUMENT, "there is no kernel %d; they run from 0 to %d", index,
                           KERNEL_COUNT - 1);
    *info = row->info;
    return TESS_OK;
}

/* Steps through the lines of "NAME: meaning": returns the name's start and length, NULL after the last. */
static const char *next_param(const char **rest, int *length) {
    const char *name = *rest, *colon = strchr(name, ':');
    if (!colon) return NULL;
    const char *end = strchr(colon, '\n');
    *rest = end ? end + 1 : colon + strlen(colon);
    *length = (int)(colon - name);
    return name;
}

/* The place of the parameter `name` among the kernel's, -1 if it has none of that name. */
static int find_param(const kernel_row *kernel, const char *name, size_t name_length) {
    const char *rest = kernel->info.params, *param;
    int length;
    for (int i = 0; (param = next_param(&rest, &length)) != NULL; i++)
        if ((size_t)length == name_length && strncmp(param, name, name_length) == 0) return i;
    return -1;
}

const char *registry_param_name(const kernel_row *kernel, int index) {
    return kernel->source && index < kernel->source->param_count ? kernel->source->names[index] : NULL;
}

int registry_find_param(const kernel_row *kernel, const char *name) {
    const char *found;
    for (int i = 0; (found = registry_param_name(kernel, i)) != NULL; i++)
        if (strcmp(found, name) == 0) return i;
    return -1;
}

/* A tensor-core kernel copies 16 bytes at once, and finds matrices along k where it must. */
static void set_tensor_defaults(const kernel_row *kernel, int64_t size, int64_t values[REGISTRY_PARAMS]) {
    int vec = registry_find_param(kernel, "VEC"), turned = registry_find_param(kernel, "BT");
    if (vec >= 0) values[vec] = 16 / size;
    if (turned >= 0) values[turned] = kernel->k_major && size != 2;
}

void registry_defaults(const kernel_row *kernel, tess_type in, int64_t values[REGISTRY_PARAMS]) {
    sentence ignored;
    const kernel_source *source = kernel->source;
    for (int i = 0; i < REGISTRY_PARAMS; i++)
        values[i] = source && i < source->param_count ? source->defaults[i] : REGISTRY_UNSET;
    if (tess_type_size(in) == 8) registry_parse_params(kernel, kernel->wide, values, &ignored);
    if (kernel->tensor) set_tensor_defaults(kernel, (int64_t)tess_type_size(in), values);
}

int registry_takes(const kernel_row *kernel, tess_type in, tess_type out) {
    char name[16];
    int length =
        snprintf(name, sizeof name, in == out ? "%s" : "%s:%s", tess_type_name(in), tess_type_name(out));
    for (const char *at = kernel->info.types; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == (size_t)length && strncmp(at, name, word) == 0) return 1;
        at += word;
    }
    return 0;
}

int registry_architecture(const kernel_row *kernel, tess_type in) {
    int least = kernel->tensor && (in == TESS_BF16 || in == TESS_F32) ? 80 : 0;
    return kernel->architecture > least ? kernel->architecture : least;
}

tess_status registry_check_architecture(const kernel_row *kernel, tess_type in, int architecture,
                                        const char *card, sentence *why) {
    int least = registry_architecture(kernel, in);
    if (kernel->box && architecture != kernel->architecture)
        return status_fail(why, TESS_ERROR_KERNEL, "%s is for sm_%d alone, but %s is sm_%d",
                           kernel->info.name, kernel->architecture, card, architecture);
    if (least > architecture)
        return status_fail(why, TESS_ERROR_KERNEL, "%s needs sm_%d%s%s, but %s is sm_%d", kernel->info.name,
                           least, least > kernel->architecture ? " for " : "",
                           least > kernel->architecture ? tess_type_name(in) : "", card, architecture);
    return TESS_OK;
}

/* "KC, MC, NC", for sentences. */
static void list_params(const kernel_row *kernel, char *text, size_t size) {
    const char *rest = kernel->info.params, *param;
    size_t used = 0;
    int length;
    snprintf(text, size, "none");
    while ((param = next_param(&rest, &length)) != NULL && used < size)
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? ", " : "", length, param);
}

tess_status registry_parse_params(const kernel_row *kernel, const char *text, int64_t values[REGISTRY_PARAMS],
                                  sentence *why) {
    if (kernel->source && kernel->source->trouble[0])
        return status_fail(why, TESS_ERROR_KERNEL, "%s", kernel->source->trouble);
    while (text && *text) {
        size_t name_length = strcspn(text, "=,"), item_length = strcspn(text, ",");
        if (text[name_length] != '=')
            return status_fail(why, TESS_ERROR_KERNEL,
                               "parameter '%.*s' has no value; write NAME=NUMBER,NAME=NUMBER",
                               (int)(item_length < 40 ? item_length : 40), text);
        int at = find_param(kernel, text, name_length);
        if (at < 0) {
            char known[128];
            list_params(kernel, known, sizeof known);
            return status_fail(why, TESS_ERROR_KERNEL, "kernel %s has no parameter '%.*s'; it has: %s",
                               kernel->info.name, (int)(name_length < 40 ? name_length : 40), text, known);
        }
        const char *number = text + name_length + 1;
        char *end;
        long long value = strtoll(number, &end, 10);
        int least = kernel->block ? 0 : 1;
        if (end == number || end != text + item_length || value < least || value > LONGEST_PARAMS)
            return status_fail(why, TESS_ERROR_KERNEL, "parameter %.*s must be a whole number from %d to %d",
                               (int)(item_length < 60 ? item_length : 60), text, least, LONGEST_PARAMS);
        values[at] = value;
        text += item_length;
        if (*text == ',') text++;
    }
    return TESS_OK;
}

void registry_print_params(const kernel_row *kernel, const int64_t values[REGISTRY_PARAMS], char *text,
                           size_t size) {
    const char *rest = kernel->info.params, *param;
    size_t used = 0;
    int length;
    text[0] = '\0';
    for (int i = 0; (param = next_param(&rest, &length)) != NULL && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.*s=%" PRId64, used ? " " : "", length, param,
                                 values[i]);
}
