/* library_search.c: the order of places: those the user names and no others; else the dynamic linker,
 * CUDA's own directories, and those of Python's packages, which for many are the only CUDA they have. */
#include "library_search.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PATH = 1024 };

/* A directory, or a pattern of directories, below one that a variable of the environment names (NULL:
 * below /). */
typedef struct place {
    const char *variable, *pattern;
} place;

static const place driver_places[] = {
    {NULL, "/usr/lib/wsl/lib"},
    {NULL, "/usr/local/nvidia/lib64"},
    {NULL, NULL},
};

/* pip puts CUDA 12 into nvidia/cublas/lib, nvidia/cuda_nvrtc/lib and so on, and CUDA 13 into
 * nvidia/cu13/lib. */
static const place toolkit_places[] = {
    {"CUDA_HOME", "/lib64"},
    {"CUDA_PATH", "/lib64"},
    {NULL, "/usr/local/cuda/lib64"},
    {NULL, "/usr/local/cuda-*/lib64"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib"},
    {"CONDA_PREFIX", "/lib"},
    {"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib"},
    {"HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib"},
    {"HOME", "/.pyenv/versions/*/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, "/usr/lib/python3*/dist-packages/nvidia/*/lib"},
    {NULL, "/usr/local/lib/python3*/dist-packages/nvidia/*/lib"},
    {NULL, "/usr/local/lib/python3*/site-packages/nvidia/*/lib"},
    {NULL, NULL},
};

/* A program that runs with another user's rights must not load what its caller points it to. */
static const char *variable_value(const char *name) {
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

const char *search_only_path(void) {
    return variable_value("TESSERA_LIBRARY_PATH");
}

/* Directories with colons between them. One too long for a path is cut, and so found to hold nothing. */
static int visit_listed(const char *directories, const char *file, search_visit *visit, void *context) {
    char path[LONGEST_PATH];
    while (*directories) {
        int length = (int)strcspn(directories, ":");
        snprintf(path, sizeof path, "%.*s/%s", length, directories, file);
        if (length > 0 && visit(path, context)) return 1;
        directories += length + (directories[length] == ':');
    }
    return 0;
}

/* Every file that matches, the last name first: of cuda-12.4 and cuda-13.0 the newer. */
static int visit_matches(const char *pattern, search_visit *visit, void *context) {
    glob_t found;
    int done = 0;
    if (glob(pattern, GLOB_NOCHECK, NULL, &found) != 0) return visit(pattern, context);
    for (size_t i = found.gl_pathc; i-- > 0 && !done;) done = visit(found.gl_pathv[i], context);
    globfree(&found);
    return done;
}

int search_places(const char *file, search_origin origin, search_visit *visit, void *context) {
    const char *only = search_only_path();
    if (only) return visit_listed(only, file, visit, context);
    if (visit(file, context)) return 1;
    for (const place *p = origin == SEARCH_DRIVER ? driver_places : toolkit_places; p->pattern; p++) {
        char pattern[LONGEST_PATH];
        const char *below = p->variable ? variable_value(p->variable) : "";
        if (!below) continue;
        snprintf(pattern, sizeof pattern, "%s%s/%s", below, p->pattern, file);
        if (visit_matches(pattern, visit, context)) return 1;
    }
    return 0;
}
