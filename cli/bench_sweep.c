/* bench_sweep.c: lists of parameters, and their combinations.
 *
 * Invariant: combinations are numbered, the last parameter changing first; each has every parameter once.
 */
#include "bench_sweep.h"
#include "kernels.h"
#include "say.h"
#include "sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_new(const bench_sweep *sweep, const char *name, size_t length) {
    for (size_t i = 0; i < sweep->name_count; i++)
        if (strlen(sweep->names[i]) == length && strncmp(sweep->names[i], name, length) == 0) return false;
    return true;
}

/* Reads "BM=64,128", which ends at `end`, as the next parameter. */
static bool read_one(bench_sweep *sweep, const char *text, const char *end) {
    const char *equals = memchr(text, '=', (size_t)(end - text));
    size_t at = sweep->name_count, length = equals != NULL ? (size_t)(equals - text) : 0;
    if (length == 0 || length >= sizeof sweep->names[0] || at == SWEEP_NAMES || !is_new(sweep, text, length))
        return false;
    memcpy(sweep->names[at], text, length);
    sweep->names[at][length] = '\0';
    for (const char *item = equals + 1, *stop;; item = stop + 1) {
        size_t *count = &sweep->value_counts[at];
        stop = memchr(item, ',', (size_t)(end - item));
        if (stop == NULL) stop = end;
        if (*count == SWEEP_VALUES || !sizes_parse_one(item, stop, &sweep->values[at][*count])) return false;
        (*count)++;
        if (stop == end) break;
    }
    sweep->name_count++;
    sweep->combinations *= sweep->value_counts[at];
    return sweep->combinations <= SWEEP_MOST;
}

bool bench_sweep_read(const char *text, bench_sweep *out) {
    *out = (bench_sweep){.combinations = 1};
    for (const char *item = text;; item++) {
        const char *end = item + strcspn(item, ":");
        if (!read_one(out, item, end)) {
            say_error("--sweep is '%s'; it must be up to %d parameters with up to %d values each, as "
                      "BM=64,128:BN=128,256, and no more than %d combinations",
                      text, SWEEP_NAMES, SWEEP_VALUES, SWEEP_MOST);
            return false;
        }
        if (*end == '\0') return true;
        item = end;
    }
}

bool bench_sweep_fits(const bench_sweep *sweep, const tess_kernel_info *kernel) {
    for (size_t i = 0; i < sweep->name_count; i++) {
        if (kernels_has_param(kernel, sweep->names[i])) continue;
        say_error("--sweep names %s, but %s has no such parameter; 'tessera list --long %s' shows those it "
                  "has",
                  sweep->names[i], kernel->name, kernel->name);
        return false;
    }
    return true;
}

char *bench_sweep_params(const bench_sweep *sweep, size_t index, const char *before) {
    char text[SWEEP_NAMES * 40] = "", *joined = NULL;
    size_t used = 0, stride = sweep->combinations;
    for (size_t i = 0; i < sweep->name_count; i++) {
        stride /= sweep->value_counts[i];
        int64_t value = sweep->values[i][index / stride % sweep->value_counts[i]];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%" PRId64, i > 0 ? "," : "",
                                 sweep->names[i], value);
    }
    return asprintf(&joined, "%s%s%s", before != NULL ? before : "", before != NULL ? "," : "", text) < 0
               ? NULL
               : joined;
}
