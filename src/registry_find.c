/* registry_find.c: a kernel by its name, one of the library or a file; and what to say where there is none. */
#include <string.h>

#include "registry.h"
#include "registry_file.h"

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

/* The sentence for a name that no kernel of the device has. */
static void refuse_name(const char *device, const char *name, sentence *why) {
    const kernel_row *nearest = NULL, *elsewhere = NULL, *row;
    int distance = 1000;
    for (int i = 0; (row = registry_row(i)) != NULL; i++) {
        if (strcmp(row->info.name, name) == 0) elsewhere = row;
        int d = edit_distance(name, row->info.name);
        if (strcmp(row->info.device, device) == 0 && d < distance) distance = d, nearest = row;
    }
    if (elsewhere)
        status_fail(why, TESS_ERROR_KERNEL, "kernel '%s' runs on a %s, but this context is a %s", name,
                    elsewhere->info.device, device);
    else if (nearest && distance <= 5)
        status_fail(why, TESS_ERROR_KERNEL, "there is no kernel '%.60s' on %s; did you mean '%s'?", name,
                    device, nearest->info.name);
    else
        status_fail(why, TESS_ERROR_KERNEL,
                    "there is no kernel '%.60s' on %s; 'tessera list' and tess_describe_kernel tell which "
                    "there are",
                    name, device);
}

const kernel_row *registry_find(const char *device, const char *name, sentence *why) {
    if (strchr(name, '/')) return registry_file_row(device, name, why);
    const kernel_row *row;
    for (int i = 0; (row = registry_row(i)) != NULL; i++)
        if (strcmp(row->info.device, device) == 0 && strcmp(row->info.name, name) == 0) return row;
    refuse_name(device, name, why);
    return NULL;
}
