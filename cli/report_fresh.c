/* report_fresh.c: measures what a report shows, on the machine at hand.
 *
 * Invariant: every rate comes from a command of this program, run in a process of its own, that a person could type;
 * what it left in its file is all that is taken from it.
 */
#include "interrupt.h"
#include "kernels.h"
#include "report.h"
#include "say.h"
#include "timing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { WORDS = 24, FIGURES = 6 };

/* One run of bench: for which figures, and its words; a NULL ends them. */
typedef struct run {
    const char *figures[FIGURES];
    const char *what;
    const char *words[WORDS];
} run;

/* Short, because people wait for it: a tenth of a second of samples, whatever the noise. */
#define SHORT   "--min-time", "0.1", "--max-time", "0.1"
#define SHORTER "--min-time", "0.02", "--max-time", "0.02"

static const run cpu_runs[] = {
    {{"rate-cpu", "ladder-cpu"}, "the CPU's ladder", {"--sizes", "128,256,512", SHORT}},
    {{"rate-cpu", "cache-cpu"}, "larger products", {"--kernels", "cpu_03*,auto", "--sizes", "1024", SHORT}},
    {{"types-cpu", "cache-cpu"},
     "types of numbers",
     {"auto", "--sizes", "512", "--type", "f32,f64,i32,bf16,i8", SHORT}},
    {{"cache-cpu"}, "cold caches", {"auto", "--sizes", "512,1024", "--cold", SHORT}},
};
static const run cpu_quick_runs[] = {
    {{"rate-cpu", "ladder-cpu"}, "the CPU's ladder", {"--sizes", "64,128,256", SHORTER}},
    {{"types-cpu", "cache-cpu"},
     "types of numbers",
     {"auto", "--sizes", "256", "--type", "f32,f64,i8", SHORTER}},
    {{"cache-cpu"}, "cold caches", {"auto", "--sizes", "256", "--cold", SHORTER}},
};
static const run gpu_runs[] = {
    {{"rate", "ladder", "roofline", "split", "tile", "types"}, "the ladder", {"--sizes", "128:4096:x2"}},
    {{"types", "rate-f64", "ladder-f64"},
     "types of numbers",
     {"--kernels", "simt_*", "--sizes", "4096", "--type", "f64,i32"}},
    {{"rate-bf16", "ladder-bf16"},
     "tensor cores",
     {"--kernels", "*mma_*", "--sizes", "256:4096:x2", "--type", "bf16"}},
    {{"tile"},
     "blocks of 16 and 32",
     {"--kernels", "simt_0[1-6]*,simt_08*", "--tile", "16,32", "--sizes", "4096"}},
    {{"split"}, "copies and arithmetic", {"auto", "--sizes", "1024,4096", "--transfers", "--peer", "none"}},
    {{"cache"}, "warm caches", {"auto", "--sizes", "256,1024,4096", "--peer", "none"}},
    {{"cache"}, "cold caches", {"auto", "--sizes", "256,1024,4096", "--cold", "--peer", "none"}},
};
static const run gpu_quick_runs[] = {
    {{"rate", "ladder", "roofline", "split", "tile", "types"},
     "the ladder",
     {"--sizes", "256,1024", SHORTER}},
    {{"split"},
     "copies and arithmetic",
     {"auto", "--sizes", "1024", "--transfers", "--peer", "none", SHORTER}},
};

typedef struct run_list {
    const run *runs;
    size_t count;
} run_list;
#define RUNS(list)                       \
    (run_list) {                         \
        list, sizeof list / sizeof *list \
    }

static bool is_wanted(const report *r, const run *one) {
    for (size_t i = 0; i < FIGURES && one->figures[i] != NULL; i++)
        if (r->chart == NULL || strcmp(r->chart, one->figures[i]) == 0) return true;
    return false;
}

/* Its exit status. A signal that only we got is passed on: what the child has measured is not waited for. */
static int wait_for(pid_t child) {
    int status = 0;
    bool told = false;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (interrupt_came() != 0 && !told) told = kill(child, interrupt_came()) == 0;
        timing_sleep(0.01);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* This program again; its table is not shown. Returns its exit status, or -1. */
static int run_myself(const char *const *words) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    char *argv[WORDS + 10];
    size_t count = 0;
    for (; words[count] != NULL && count < WORDS + 9; count++) argv[count] = strdup(words[count]);
    argv[count] = NULL;
    int failed = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
    if (failed != 0) failed = posix_spawnp(&child, "tessera", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; i < count; i++) free(argv[i]);
    if (failed != 0) return -1;
    return wait_for(child);
}

static bool make_scratch(char path[4096]) {
    const char *directory = getenv("TMPDIR");
    snprintf(path, 4096, "%.4000s/tessera-report-XXXXXX",
             directory != NULL && directory[0] != '\0' ? directory : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        say_error("could not make a file for results in '%s': %s", path, strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

/* A run that fails leaves a gap, and a word about it. */
static void take_results(report *r, const run *one, const char *path, int status) {
    results from;
    char first = '\0';
    FILE *file = fopen(path, "re");
    if (file != NULL) first = (char)fgetc(file), fclose(file);
    if (first != '{') {
        report_miss(r, "%s: the run ended with status %d and measured nothing", one->what, status);
        return;
    }
    if (results_read(&from, path)) report_add_results(r, &from);
    results_free(&from);
}

static bool run_one(report *r, const run *one, const char *device) {
    char path[4096];
    const char *words[WORDS + 10] = {"tessera", "bench"};
    size_t count = 2;
    if (!make_scratch(path)) return false;
    for (size_t i = 0; one->words[i] != NULL; i++) words[count++] = one->words[i];
    const char *const more[] = {"--device", device, "--json", path, "--quiet"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) words[count++] = more[i];
    words[count] = NULL;
    say_progress("measuring %s", one->what);
    int status = run_myself(words);
    say_progress_end();
    if (interrupt_came() == 0) take_results(r, one, path, status);
    unlink(path);
    return interrupt_came() == 0;
}

bool report_run_fresh(report *r, const char *device) {
    bool gpu = strcmp(kernels_family(device), "gpu") == 0;
    run_list list = gpu ? (r->quick ? RUNS(gpu_quick_runs) : RUNS(gpu_runs))
                        : (r->quick ? RUNS(cpu_quick_runs) : RUNS(cpu_runs));
    for (size_t i = 0; i < list.count; i++)
        if (is_wanted(r, &list.runs[i]) && !run_one(r, &list.runs[i], device)) return false;
    return true;
}
