/* sim_modules.c: makes the modules of the simulator that are built with the library: every kernel of the
 * ladder with its own parameters, for f32, f64 and i32 (those of tensor cores for bf16 to f32; those for sm_90 alone are not
 * simulated), plain and traced.
 *
 *     sim_modules build/sim.modules
 *
 * Modules that the file has already, made from the same sources, are taken from there. Where only clang is
 * found there are no traced ones, and a line says so. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"
#include "sim/module_build.h"

enum { MOST = 400, MOST_JOBS = 64 };

typedef struct task {
    module_request request;
    char file[80];
    int64_t params[REGISTRY_PARAMS];
} task;

static task tasks[MOST];
static int task_count;

static void add_task(const kernel_row *row, const char *file, tess_type in, tess_type out,
                     const int64_t *params) {
    for (int traced = 0; traced < 2 && task_count < MOST; traced++) {
        task *t = &tasks[task_count++];
        snprintf(t->file, sizeof t->file, "%s", file);
        if (params) memcpy(t->params, params, sizeof t->params);
        t->request = (module_request){t->file, row, t->params, in, out, traced, 0};
    }
}

/* The kernel's own parameters; where it has VEC, also with VEC 1, which any shape can have. For tensor cores
 * those of aligned rows will do: the others depend on how A and B lie. */
static void add_kernel(const kernel_row *row, tess_type type) {
    char file[80];
    int64_t params[REGISTRY_PARAMS];
    snprintf(file, sizeof file, "%s.cu", row->info.name);
    registry_defaults(row, type, params);
    add_task(row, file, type, row->tensor ? TESS_F32 : type, params);
    if (row->tensor) return;
    for (int i = 0; registry_param_name(row, i); i++)
        if (strcmp(registry_param_name(row, i), "VEC") == 0) {
            params[i] = 1;
            add_task(row, file, type, type, params);
        }
}

static void list_tasks(void) {
    static const tess_type types[] = {TESS_F32, TESS_F64, TESS_I32};
    const kernel_row *row;
    for (int t = 0; t < 3; t++) {
        for (int i = 0; (row = registry_row(i)) != NULL; i++)
            if (row->block && !row->tensor && !row->box && registry_takes(row, types[t], types[t]))
                add_kernel(row, types[t]);
        add_task(NULL, "move.cu", types[t], types[t], NULL);
        add_task(NULL, "add.cu", types[t], types[t], NULL);
    }
    add_task(NULL, "split_prepare.cu", TESS_F32, TESS_F32, NULL);
    for (int i = 0; (row = registry_row(i)) != NULL; i++)
        if (row->tensor && !row->box) add_kernel(row, TESS_BF16);
}

/* Appends one module. Returns 0 if it could not be made. */
static int make_one(const task *t, const char *old, FILE *out) {
    module_entry entry = {.size = 0};
    char *image;
    size_t size;
    sentence why;
    tess_status status = module_file_name(&t->request, entry.name, &why);
    if (status == TESS_OK && !module_find_in(old, entry.name, &image, &size))
        status = module_compile(&t->request, &image, &size, &why);
    if (status != TESS_OK) {
        fprintf(stderr, "sim_modules: %s\n", why.text);
        return 0;
    }
    entry.size = size;
    int good = fwrite(&entry, sizeof entry, 1, out) == 1 && fwrite(image, 1, size, out) == size;
    memory_free(image);
    return good;
}

/* Every `jobs`-th task. Without gcc the traced ones are left out. */
static int make_share(int first, int jobs, int can_trace, const char *old, const char *path) {
    FILE *out = fopen(path, "wb");
    int good = out != NULL;
    for (int i = first; good && i < task_count; i += jobs)
        if (can_trace || !tasks[i].request.traced) good = make_one(&tasks[i], old, out);
    return out && fclose(out) == 0 && good;
}

static int append_file(FILE *out, const char *path) {
    char bytes[1 << 16];
    size_t size;
    FILE *in = fopen(path, "rb");
    int good = in != NULL;
    while (good && (size = fread(bytes, 1, sizeof bytes, in)) > 0) good = fwrite(bytes, 1, size, out) == size;
    if (in) fclose(in);
    remove(path);
    return good;
}

int main(int argc, char **argv) {
    char part[MOST_JOBS][1024], made[1024], why[256];
    cpu_set_t set;
    if (argc != 2) return fprintf(stderr, "usage: sim_modules FILE\n"), 2;
    int jobs = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1, good = 1;
    if (jobs > MOST_JOBS) jobs = MOST_JOBS;
    int can_trace = module_can_trace(why);
    if (!can_trace) fprintf(stderr, "sim_modules: no traced modules are made: %s\n", why);
    list_tasks();
    for (int i = 0; i < jobs; i++) {
        snprintf(part[i], sizeof part[i], "%s.part%d", argv[1], i);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) _exit(!make_share(i, jobs, can_trace, argv[1], part[i]));
        good &= child > 0;
    }
    for (int state; wait(&state) > 0;) good &= WIFEXITED(state) && WEXITSTATUS(state) == 0;
    snprintf(made, sizeof made, "%s.made", argv[1]);
    FILE *out = fopen(made, "wb");
    for (int i = 0; i < jobs; i++) good &= out != NULL && append_file(out, part[i]);
    good &= out != NULL && fclose(out) == 0;
    if (good) return rename(made, argv[1]) != 0;
    remove(made);
    return 1;
}
