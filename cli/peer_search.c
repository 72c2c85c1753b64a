/* peer_search.c: the places where BLAS libraries are installed by distributions, vendors and pip.
 *
 * Invariant: only names and files are looked at. Python is never run to find its packages: starting it would
 * take longer than the search, and it may not be there.
 */
#include "peer_search.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const peer_names[] = {"openblas", "blis", "mkl", "armpl", "numpy"};
const size_t peer_name_count = sizeof peer_names / sizeof *peer_names;

typedef struct place {
    const char *name;
    const char *pattern; /* a name for the loader, or a glob; a leading $VAR is replaced by its value */
} place;

static const place places[] = {
    {"openblas", "libopenblas.so.0"},
    {"openblas", "libopenblas.so"},
    {"openblas", "/usr/lib/*/openblas*/libopenblas*.so.0"},
    {"openblas", "/usr/lib64/libopenblas*.so.0"},
    {"openblas", "/opt/OpenBLAS/lib/libopenblas.so*"},
    {"openblas", "$CONDA_PREFIX/lib/libopenblas.so*"},
    {"blis", "libblis.so.4"},
    {"blis", "libblis.so.3"},
    {"blis", "libblis.so"},
    {"blis", "/usr/lib/*/blis*/libblis*.so.[0-9]"},
    {"blis", "$CONDA_PREFIX/lib/libblis.so*"},
    {"mkl", "libmkl_rt.so.2"},
    {"mkl", "libmkl_rt.so.1"},
    {"mkl", "libmkl_rt.so"},
    {"mkl", "$MKLROOT/lib/libmkl_rt.so*"},
    {"mkl", "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.so*"},
    {"mkl", "$CONDA_PREFIX/lib/libmkl_rt.so*"},
    {"mkl", "$VIRTUAL_ENV/lib/libmkl_rt.so*"},
    {"armpl", "libarmpl_mp.so"},
    {"armpl", "/opt/arm/armpl*/lib/libarmpl_mp.so"},
};

/* Each holds folders like site-packages, with numpy.libs beside numpy. */
static const char *const python_places[] = {
    "$VIRTUAL_ENV/lib/python3*/site-packages",
    "$CONDA_PREFIX/lib/python3*/site-packages",
    "$HOME/.local/lib/python3*/site-packages",
    "$PYENV_ROOT/versions/*/lib/python3*/site-packages",
    "$HOME/.pyenv/versions/*/lib/python3*/site-packages",
    "/usr/local/lib/python3*/site-packages",
    "/usr/local/lib/python3*/dist-packages",
    "/usr/lib/python3*/site-packages",
    "/usr/lib/python3*/dist-packages",
};

static void note(peer_trail *trail, const char *path) {
    if (trail == NULL) return;
    char **paths = realloc(trail->paths, (trail->count + 1) * sizeof *paths);
    if (paths == NULL) return;
    trail->paths = paths;
    paths[trail->count] = strdup(path);
    if (paths[trail->count] != NULL) trail->count++;
}

void peer_free_trail(peer_trail *trail) {
    for (size_t i = 0; i < trail->count; i++) free(trail->paths[i]);
    free(trail->paths);
    *trail = (peer_trail){0};
}

/* Replaces a leading $VAR. Returns false if the variable is not set: then the place does not exist. */
static bool expand(const char *pattern, char *out, size_t room) {
    if (pattern[0] != '$') return snprintf(out, room, "%s", pattern) < (int)room;
    char variable[32];
    size_t length = strcspn(pattern, "/") - 1;
    snprintf(variable, sizeof variable, "%.*s", (int)length, pattern + 1);
    const char *value = getenv(variable);
    if (value == NULL || value[0] == '\0') return false;
    return snprintf(out, room, "%s%s", value, pattern + 1 + length) < (int)room;
}

typedef struct visitor {
    peer_trail *trail;
    bool (*try)(void *data, const char *file);
    void *data;
} visitor;

static bool visit(const visitor *v, const char *pattern) {
    char path[PATH_MAX];
    if (!expand(pattern, path, sizeof path)) return false;
    note(v->trail, path);
    if (strchr(path, '/') == NULL) return v->try(v->data, path);
    glob_t found;
    bool done = false;
    if (glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !done; i++) done = v->try(v->data, found.gl_pathv[i]);
    globfree(&found);
    return done;
}

static bool visit_wheels(const visitor *v) {
    static const char *const files[] = {"numpy.libs/libscipy_openblas*.so", "numpy.libs/libopenblas*.so*",
                                        "numpy/.libs/libopenblas*.so*"};
    for (size_t i = 0; i < sizeof python_places / sizeof *python_places; i++) {
        for (size_t j = 0; j < sizeof files / sizeof *files; j++) {
            char pattern[PATH_MAX];
            snprintf(pattern, sizeof pattern, "%s/%s", python_places[i], files[j]);
            if (visit(v, pattern)) return true;
        }
    }
    return false;
}

bool peer_search_each(const char *name, peer_trail *trail, bool (*try)(void *data, const char *file),
                      void *data) {
    const visitor v = {trail, try, data};
    if (strcmp(name, "numpy") == 0) return visit_wheels(&v);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(places[i].name, name) == 0 && visit(&v, places[i].pattern)) return true;
    return false;
}
