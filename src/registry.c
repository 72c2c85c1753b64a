/* registry.c: looking kernels and their parameters up by name. */
#include "registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kernel_row kernel_rows[] = {
#define EVERY_TYPE                                       "f32 f64 f16 f16:f32 bf16 bf16:f32 i32 i8:i32"
#define CPU_KERNEL(name, number, types, summary, params) {#name, "cpu", number, summary, types, params},
#include "../kernels/kernels.def"
#undef CPU_KERNEL
};
enum { KERNEL_COUNT = sizeof kernel_rows / sizeof kernel_rows[0], LONGEST_PARAMS = 1 << 20 };

int tess_count_kernels(void) {
    return KERNEL_COUNT;
}

tess_status tess_describe_kernel(int index, tess_kernel_info *info) {
    sentence *why = status_of_thread();
    if (!info) return status_fail(why, TESS_ERROR_ARGUMENT, "tess_describe_kernel: info is NULL");
    if (index < 0 || index >= KERNEL_COUNT)
        return status_fail(why, TESS_ERROR_ARGUMENT, "there is no kernel %d; they run from 0 to %d", index,
                           KERNEL_COUNT - 1);
    *info = kernel_rows[index];
    return TESS_OK;
}

/* The number of letters to insert, delete or change, of names short enough to be kernels. */
static int edit_distance(const char *a, const char *b) {
    enum { LONGEST = 63 };
    int row[LONGEST + 1];
    int length_b = (int)strnlen(b, LONGEST);
    for (int j = 0; j <= length_b; j++) row[j] = j;
    for (int i = 1; a[i - 1] && i <= LONGEST; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < best ? change : best;
        }
    }
    return row[length_b];
}

const kernel_row *registry_find(const char *device, const char *name, sentence *why) {
    const kernel_row *nearest = NULL, *elsewhere = NULL;
    int distance = 1000;
    for (int i = 0; i < KERNEL_COUNT; i++) {
        const kernel_row *row = &kernel_rows[i];
        int here = strcmp(row->device, device) == 0, same = strcmp(row->name, name) == 0;
        if (here && same) return row;
        if (same) elsewhere = row;
        int d = edit_distance(name, row->name);
        if (here && d < distance) distance = d, nearest = row;
    }
    if (elsewhere)
        status_fail(why, TESS_ERROR_KERNEL, "kernel '%s' runs on %s, but this context is %s", name,
                    elsewhere->device, device);
    else if (nearest && distance <= 5)
        status_fail(why, TESS_ERROR_KERNEL, "there is no kernel '%.60s' on %s; did you mean '%s'?", name,
                    device, nearest->name);
    else
        status_fail(why, TESS_ERROR_KERNEL,
                    "there is no kernel '%.60s' on %s; tess_describe_kernel lists those there are", name,
                    device);
    return NULL;
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
    const char *rest = kernel->params, *param;
    int length;
    for (int i = 0; (param = next_param(&rest, &length)) != NULL; i++)
        if ((size_t)length == name_length && strncmp(param, name, name_length) == 0) return i;
    return -1;
}

/* "KC, MC, NC", for sentences. */
static void list_params(const kernel_row *kernel, char *text, size_t size) {
    const char *rest = kernel->params, *param;
    size_t used = 0;
    int length;
    snprintf(text, size, "none");
    while ((param = next_param(&rest, &length)) != NULL && used < size)
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? ", " : "", length, param);
}

tess_status registry_parse_params(const kernel_row *kernel, const char *text, int64_t values[REGISTRY_PARAMS],
                                  sentence *why) {
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
                               kernel->name, (int)(name_length < 40 ? name_length : 40), text, known);
        }
        const char *number = text + name_length + 1;
        char *end;
        long long value = strtoll(number, &end, 10);
        if (end == number || end != text + item_length || value < 1 || value > LONGEST_PARAMS)
            return status_fail(why, TESS_ERROR_KERNEL, "parameter %.*s must be a whole number from 1 to %d",
                               (int)(item_length < 60 ? item_length : 60), text, LONGEST_PARAMS);
        values[at] = value;
        text += item_length;
        if (*text == ',') text++;
    }
    return TESS_OK;
}

void registry_print_params(const kernel_row *kernel, const int64_t values[REGISTRY_PARAMS], char *text,
                           size_t size) {
    const char *rest = kernel->params, *param;
    size_t used = 0;
    int length;
    text[0] = '\0';
    for (int i = 0; (param = next_param(&rest, &length)) != NULL && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.*s=%" PRId64, used ? " " : "", length, param,
                                 values[i]);
}
