/* cmd_list.c: `tessera list`: the kernels of the registry.
 *
 * Invariant: what is shown is what the registry says; nothing about a kernel is known here.
 */
#include "commands.h"
#include "kernels.h"
#include "output.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const args_option options[] = {
    {"device", "NAME", "only the kernels of this device: cpu, cuda"},
    {"long", NULL, "with the parameters of each kernel, and what it needs of a device"},
    ARGS_OUTPUT_ROWS,
};
const args_spec list_spec = {"list",
                             "[PATTERN...]",
                             64,
                             "The kernels, in the order of the ladder",
                             "A PATTERN is a number, a name or a glob such as 'cpu_*'.\n",
                             options,
                             sizeof options / sizeof *options};

enum { NUMBER, NAME, DEVICE, TYPES, SUMMARY, PARAMS, NEEDS };
static const table_column columns[] = {
    [NUMBER] = {"number", "no.", TABLE_COUNT, TABLE_IN_FILES, 0},
    [NAME] = {"name", "kernel", TABLE_TEXT, TABLE_IN_FILES, 0},
    [DEVICE] = {"device", "device", TABLE_TEXT, TABLE_IN_FILES, 0},
    [TYPES] = {"types", "types", TABLE_TEXT, TABLE_IN_FILES, 0},
    [SUMMARY] = {"summary", "summary", TABLE_TEXT, TABLE_IN_FILES, 0},
    [PARAMS] = {"params", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [NEEDS] = {"needs", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
};

/* One kernel as a paragraph: a table has no room for its parameters. */
static void print_long(const tess_kernel_info *kernel) {
    printf("%d  %s (%s)\n   %s\n   types   %s\n", kernel->number, kernel->name, kernel->device,
           kernel->summary, kernel->types);
    if (kernel->needs[0] != '\0') printf("   needs   %s\n", kernel->needs);
    for (const char *line = kernel->params; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        printf("   %s%.*s\n", line == kernel->params ? "params  " : "        ", (int)length, line);
        line += length + (line[length] == '\n');
    }
    printf("\n");
}

/* The parameters on one line: files are easier to read when a row is a line. */
static void set_params(table *t, const char *params) {
    char *line = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&line, &length);
    if (text == NULL) return;
    for (; *params != '\0'; params++) {
        if (*params != '\n')
            fputc(*params, text);
        else if (params[1] != '\0')
            fputs("; ", text);
    }
    if (fclose(text) == 0) table_set_text(t, PARAMS, line);
    free(line);
}

static void add_kernel(table *t, const tess_kernel_info *kernel) {
    table_add_row(t);
    if (kernel->number >= 0) table_set_count(t, NUMBER, kernel->number);
    table_set_text(t, NAME, kernel->name);
    table_set_text(t, DEVICE, kernel->device);
    table_set_text(t, TYPES, kernel->types);
    table_set_text(t, SUMMARY, kernel->summary);
    set_params(t, kernel->params);
    table_set_text(t, NEEDS, kernel->needs);
}

static bool select_kernels(const args *a, kernels_list *list) {
    const char *device = args_text(a, "device", NULL);
    const char *family = device != NULL ? kernels_family(device) : NULL;
    if (a->word_count == 0) return kernels_add_all(list, family);
    for (size_t i = 0; i < a->word_count; i++)
        if (!kernels_add(list, family, a->words[i])) return false;
    return true;
}

int list_run(const args *a) {
    output out;
    table t;
    kernels_list list = {0};
    if (!output_open(&out, a)) return EXIT_USAGE;
    table_open(&t, columns, sizeof columns / sizeof *columns);
    int status = EXIT_CHECK;
    if (!select_kernels(a, &list)) goto out;
    if (list.count == 0) {
        say_error("there is no kernel of device '%s'; 'tessera devices' shows the devices",
                  args_text(a, "device", "auto"));
        goto out;
    }
    bool paragraphs = out.people && args_given(a, "long");
    for (size_t i = 0; i < list.count; i++) {
        add_kernel(&t, &list.kernels[i]);
        if (paragraphs) print_long(&list.kernels[i]);
    }
    out.people = out.people && !paragraphs;
    tess_device_info device = {0};
    tess_describe_device(0, &device);
    status = output_write(&out, &t, "kernels", &device, NULL) ? EXIT_FINE : EXIT_CHECK;
out:
    kernels_free(&list);
    table_close(&t);
    return status;
}
