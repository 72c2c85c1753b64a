/* report_command.c: the commands that make a figure again.
 *
 * Invariant: what is printed can be pasted into a shell: globs and lists are quoted where a shell would touch them.
 */
#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void append(char out[REPORT_TEXT], const char *format, ...) {
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, REPORT_TEXT - used, format, args);
    va_end(args);
}

/* The kernels as a list, or as a glob where there are many of one family, and the planner's choice perhaps. */
static void append_kernels(char out[REPORT_TEXT], const char *const *names, size_t count) {
    size_t prefix = count > 0 ? strcspn(names[0], "_") + 1 : 0, alike = 0, planned = 0;
    for (size_t i = 0; i < count; i++) {
        alike += strncmp(names[i], names[0], prefix) == 0;
        planned += report_same_kernel(names[i], "auto");
    }
    append(out, " --kernels ");
    if (alike > 3 && alike + planned == count) {
        append(out, "'%.*s*%s'", (int)prefix, names[0], planned > 0 ? ",auto" : "");
        return;
    }
    for (size_t i = 0; i < count; i++)
        append(out, "%s%.*s", i > 0 ? "," : "", (int)strcspn(names[i], ":"), names[i]);
}

/* Every size that a rate of the group has, once. */
static void append_sizes(const report *r, const report_group *group, char out[REPORT_TEXT]) {
    const char *separator = " --sizes ";
    for (int64_t last = 0, next = 0;; last = next) {
        next = INT64_MAX;
        for (size_t i = 0; i < r->rate_count; i++)
            if (report_in_group(group, &r->rates[i]) && r->rates[i].m > last && r->rates[i].m < next)
                next = r->rates[i].m;
        if (next == INT64_MAX) return;
        append(out, "%s%" PRId64, separator, next);
        separator = ",";
    }
}

void report_bench_command(const report *r, const report_group *group, report_figure *figure) {
    const char **names, *peer = report_peer(r, group, 0);
    char *out = figure->command;
    if (out[0] != '\0') return;
    size_t count = report_list_kernels(r, group, &names);
    append(out, "tessera bench --device %s", group->like->device);
    append_kernels(out, names, count);
    free(names);
    append_sizes(r, group, out);
    append(out, " --type %s", strcmp(group->type, "tf32") == 0 ? "f32 --compute tf32" : group->type);
    if (strcmp(group->family, "cpu") == 0) append(out, " --threads %d", group->like->threads);
    if (group->like->mode[0] != '\0') append(out, " --mode %s", group->like->mode);
    append(out, " --peer %s --csv rates.csv", peer != NULL ? peer : "none");
}

void report_draw_command(const report *r, report_figure *figure) {
    const char *name = figure->picture->name;
    append(figure->command, "%stessera report%s%s%s%s --svg %s.svg --chart %s",
           figure->command[0] != '\0' ? "\n" : "", r->words, r->words[0] == '\0' ? " --gpu '" : "",
           r->words[0] == '\0' ? r->on->name : "", r->words[0] == '\0' ? "'" : "", name, name);
}
