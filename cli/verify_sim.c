/* verify_sim.c: see verify_sim.h. */
#include "verify_sim.h"
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void verify_sim_open_checked(tess_context **ctx, tess_device_info *device) {
    tess_context *checked;
    if (strcmp(device->name, "sim") != 0) return;
    if (tess_open(&checked, "sim:checked") != TESS_OK) {
        say_note("results are checked, but not every access: %s", tess_error(NULL));
        return;
    }
    tess_close(*ctx);
    *ctx = checked;
    tess_device_facts(checked, device);
}

void verify_sim_settle(tess_context **ctx, tess_device_info *device, problem_types types,
                       const tess_options *options) {
    problem_spec smallest = {.m = 1, .n = 1, .k = 1, .batch = 1, .alpha = 1, .types = types};
    tess_context *plain;
    tess_plan *plan = NULL;
    problem p;
    if (strcmp(device->name, "sim:checked") != 0) return;
    tess_kernel_facts facts; /* what is asked for is whether there are any: a run might find errors */
    bool possible = true;
    if (problem_open(&p, &smallest, *ctx) && problem_plan(&p, *ctx, options, &plan) == TESS_OK)
        possible = tess_plan_facts(plan, &facts) != TESS_ERROR_DEVICE;
    tess_free_plan(plan);
    problem_free(&p);
    if (possible || tess_open(&plain, "sim") != TESS_OK) return;
    say_note("results are checked, but not every access: %s", tess_error(*ctx));
    tess_close(*ctx);
    *ctx = plain;
    tess_device_facts(plain, device);
}

/* What is no regular file is not opened: a pipe would make us wait. */
bool verify_sim_can_read(const char *file) {
    struct stat facts;
    bool there = stat(file, &facts) == 0, regular = there && S_ISREG(facts.st_mode);
    if (regular && access(file, R_OK) == 0) return true;
    say_error("could not read the kernel's file '%s': %s", file,
              there && !regular ? "it is no regular file" : strerror(errno));
    return false;
}

/* The library takes a name with a '/' as a path. */
bool verify_sim_add_file(kernels_list *list, const char *file, char path[1024]) {
    int length = snprintf(path, 1024, "%s%s", strchr(file, '/') != NULL ? "" : "./", file);
    tess_kernel_info *kernels = realloc(list->kernels, (list->count + 1) * sizeof *kernels);
    if (kernels == NULL || length >= 1024) {
        say_error(kernels == NULL ? "out of memory" : "the path of the kernel is too long");
        if (kernels != NULL) list->kernels = kernels;
        return false;
    }
    list->kernels = kernels;
    list->chosen = true;
    kernels[list->count++] = (tess_kernel_info){path, "gpu", 1, "", "", "", ""};
    return true;
}

bool verify_sim_is_file(const tess_kernel_info *kernel) {
    return strchr(kernel->name, '/') != NULL;
}

void verify_sim_notes(const tess_context *ctx, char seen[4096]) {
    for (const char *line = tess_observations(ctx); *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        char text[1024];
        snprintf(text, sizeof text, "%.*s\n", length, line);
        size_t used = strlen(seen);
        if (strstr(seen, text) == NULL && used + strlen(text) < 4096) {
            memcpy(seen + used, text, strlen(text) + 1);
            say_note("%.*s", length, line);
        }
        line += length + (line[length] == '\n');
    }
}
