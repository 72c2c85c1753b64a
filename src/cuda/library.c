/* library.c: choosing among the libraries that are found, and telling what was.
 *
 * Invariant: a library is looked for once; afterwards its row does not change, so that handles and texts
 * can be given out without a lock. `tried` has a line for every file looked at, with what came of those
 * that exist. */
#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../status.h"
#include "library_search.h"

/* The trail holds ten times what a search without TESSERA_LIBRARY_PATH tries. */
enum { LONGEST_PATH = 1024, LONGEST_TRAIL = 64 * 1024, MOST_FILES = 5 };

/* One file that could be loaded. */
typedef struct candidate {
    void *handle;
    char path[LONGEST_PATH];
    int version; /* 13020 for 13.2; 0 if it does not tell */
} candidate;

typedef struct library {
    const char *name, *use, *remedy;
    const char *package; /* of pip; it comes with CUDA's toolkit and must not be newer than the driver */
    const char *files[MOST_FILES];    /* newest first, up to NULL */
    int (*ask_version)(void *handle); /* NULL: it tells nothing before it is started */
    void (*look)(void);

    pthread_once_t once;
    candidate best;
    candidate too_new; /* the oldest of those the driver does not accept; closed again */
    char version[16], failure[LONGEST_PATH + 512];
    sentence problem;
    char tried[LONGEST_TRAIL];
    size_t tried_length;
} library;

/* ---- Versions ---- */

static int driver_version_of(void *handle) {
    int version = 0;
    int (*ask)(int *) = (int (*)(int *))(uintptr_t)dlsym(handle, "cuDriverGetVersion");
    return ask && ask(&version) == 0 ? version : 0;
}

static int nvrtc_version_of(void *handle) {
    int major = 0, minor = 0;
    int (*ask)(int *, int *) = (int (*)(int *, int *))(uintptr_t)dlsym(handle, "nvrtcVersion");
    return ask && ask(&major, &minor) == 0 ? major * 1000 + minor * 10 : 0;
}

/* cuBLAS and cuBLASLt number their properties: 0 is the major version, 1 the minor. */
static int property_version_of(void *handle, const char *function) {
    int major = 0, minor = 0;
    int (*ask)(int, int *) = (int (*)(int, int *))(uintptr_t)dlsym(handle, function);
    return ask && ask(0, &major) == 0 && ask(1, &minor) == 0 ? major * 1000 + minor * 10 : 0;
}

static int cublas_version_of(void *handle) {
    return property_version_of(handle, "cublasGetProperty");
}

static int cublaslt_version_of(void *handle) {
    return property_version_of(handle, "cublasLtGetProperty");
}

/* ---- The libraries ---- */

static void look_for_driver(void);
static void look_for_nvrtc(void);
static void look_for_nvml(void);
static void look_for_cublas(void);
static void look_for_cublaslt(void);

static library libraries[LIBRARY_COUNT] = {
    [LIBRARY_DRIVER] = {.name = "CUDA driver",
                        .use = "runs kernels on a GPU",
                        .remedy = "NVIDIA's driver for the card brings it",
                        .files = {"libcuda.so.1"},
                        .ask_version = driver_version_of,
                        .look = look_for_driver,
                        .once = PTHREAD_ONCE_INIT},
    [LIBRARY_NVRTC] = {.name = "NVRTC",
                       .use = "compiles kernels for a GPU",
                       .remedy = "the CUDA toolkit has it, and so has: pip install nvidia-cuda-nvrtc-cu12",
                       .package = "nvidia-cuda-nvrtc",
                       .files = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"},
                       .ask_version = nvrtc_version_of,
                       .look = look_for_nvrtc,
                       .once = PTHREAD_ONCE_INIT},
    [LIBRARY_NVML] = {.name = "NVML",
                      .use = "tells a GPU's clocks, power and temperature",
                      .remedy = "NVIDIA's driver for the card brings it",
                      .files = {"libnvidia-ml.so.1"},
                      .look = look_for_nvml,
                      .once = PTHREAD_ONCE_INIT},
    [LIBRARY_CUBLAS] = {.name = "cuBLAS",
                        .use = "NVIDIA's own products, to measure against",
                        .remedy = "the CUDA toolkit has it, and so has: pip install nvidia-cublas-cu12",
                        .package = "nvidia-cublas",
                        .files = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"},
                        .ask_version = cublas_version_of,
                        .look = look_for_cublas,
                        .once = PTHREAD_ONCE_INIT},
    [LIBRARY_CUBLASLT] = {.name = "cuBLASLt",
                          .use = "NVIDIA's own products, with a choice of algorithms",
                          .remedy = "it lies beside cuBLAS",
                          .package = "nvidia-cublas",
                          .files = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                                    "libcublasLt.so"},
                          .ask_version = cublaslt_version_of,
                          .look = look_for_cublaslt,
                          .once = PTHREAD_ONCE_INIT},
};

/* ---- Trying a file ---- */

/* Adds a line to the trail; where it ends for want of room, it says so. */
static void note(library *lib, const char *path, const char *outcome) {
    static const char cut[] = "\n...";
    size_t room = sizeof lib->tried - lib->tried_length;
    if (room <= sizeof cut) return;
    int length = snprintf(lib->tried + lib->tried_length, room, "%s%s%s%s%s", lib->tried_length ? "\n" : "",
                          path, outcome[0] ? " (" : "", outcome, outcome[0] ? ")" : "");
    if ((size_t)length + sizeof cut > room) {
        memcpy(lib->tried + lib->tried_length, cut, sizeof cut);
        lib->tried_length = sizeof lib->tried;
    } else {
        lib->tried_length += (size_t)length;
    }
}

/* A file that is there and cannot be used; the first such reason is told. */
static void note_failure(library *lib, const char *path, const char *reason) {
    note(lib, path, reason);
    int named = strncmp(reason, path, strlen(path)) == 0;
    if (!lib->failure[0])
        snprintf(lib->failure, sizeof lib->failure, "%s%s%s", named ? "" : path, named ? "" : ": ", reason);
}

/* The linker's message about a file that is not there begins with its name; one about what that file
 * needs, or about its contents, begins with another. */
static void note_unloaded(library *lib, const char *path, const char *message) {
    int there = strchr(path, '/') ? access(path, F_OK) == 0 : strncmp(message, path, strlen(path)) != 0;
    if (there)
        note_failure(lib, path, message);
    else
        note(lib, path, "");
}

/* Where the linker found it. */
static void take_path(candidate *c, const char *asked) {
    struct link_map *map = NULL;
    int known = dlinfo(c->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0];
    snprintf(c->path, sizeof c->path, "%s", known ? map->l_name : asked);
}

static void print_version(char *text, size_t size, int version) {
    snprintf(text, size, "%d.%d", version / 1000, version % 1000 / 10);
}

/* Whether the driver runs what this version makes: any minor version of its own major, and all before. */
static int driver_accepts(const library *lib, int version) {
    int driver = lib->package ? library_version(LIBRARY_DRIVER) : 0;
    return driver == 0 || version / 1000 <= driver / 1000;
}

/* Keeps the newest; says what became of this one. */
static void judge(library *lib, candidate *c, const char *path) {
    char text[64] = "";
    if (c->version) print_version(text, sizeof text, c->version);
    if (lib->ask_version && c->version == 0) {
        note_failure(lib, path, "it does not tell its version");
    } else if (!driver_accepts(lib, c->version)) {
        strcat(text, ", newer than the driver");
        note(lib, path, text);
        if (!lib->too_new.version || c->version < lib->too_new.version) lib->too_new = *c;
    } else {
        note(lib, path, text[0] ? text : "found");
        if (!lib->best.handle || c->version > lib->best.version) {
            candidate older = lib->best;
            lib->best = *c;
            *c = older;
        }
    }
    if (c->handle) dlclose(c->handle);
}

/* Whether the trail has it: two variables may name one directory. */
static int was_tried(const library *lib, const char *path) {
    size_t length = strlen(path);
    for (const char *line = lib->tried; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, path, length) == 0 && strchr("\n (", line[length])) return 1;
    return 0;
}

static int try_file(const char *path, void *context) {
    library *lib = context;
    if (was_tried(lib, path)) return 0;
    candidate c = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!c.handle) {
        const char *message = dlerror();
        note_unloaded(lib, path, message ? message : "");
        return 0;
    }
    take_path(&c, path);
    c.version = lib->ask_version ? lib->ask_version(c.handle) : 0;
    judge(lib, &c, path);
    return lib->best.handle && !lib->package; /* of the toolkit's, a newer one may follow */
}

/* ---- Choosing ---- */

static void explain_too_new(const library *lib, sentence *why) {
    const candidate *driver = &libraries[LIBRARY_DRIVER].best;
    char version[16], accepted[16];
    print_version(version, sizeof version, lib->too_new.version);
    print_version(accepted, sizeof accepted, driver->version);
    status_fail(why, TESS_ERROR_DEVICE,
                "%s %s (%s) is newer than the CUDA driver, which is for %s (%s) and does not run its code; "
                "update the driver, or install one of CUDA %d: pip install %s-cu%d",
                lib->name, version, lib->too_new.path, accepted, driver->path, driver->version / 1000,
                lib->package, driver->version / 1000);
}

static void explain_absence(const library *lib, sentence *why) {
    const char *only = search_only_path();
    if (lib->too_new.version)
        explain_too_new(lib, why);
    else if (lib->failure[0])
        status_fail(why, TESS_ERROR_DEVICE, "%s cannot be used: %s", lib->name, lib->failure);
    else if (only)
        status_fail(why, TESS_ERROR_DEVICE,
                    "%s (%s) was not found in %s; TESSERA_LIBRARY_PATH says to look nowhere else", lib->name,
                    lib->files[0], only);
    else
        status_fail(why, TESS_ERROR_DEVICE,
                    "%s (%s) was not found; %s (TESSERA_LIBRARY_PATH names directories to look in)",
                    lib->name, lib->files[0], lib->remedy);
}

/* The names go from new to old, so that the first name under which something is found has the newest. */
static void look_for(library_id id) {
    library *lib = &libraries[id];
    search_origin origin = lib->package ? SEARCH_TOOLKIT : SEARCH_DRIVER;
    for (int i = 0; lib->files[i] && !lib->best.handle; i++)
        search_places(lib->files[i], origin, try_file, lib);
    if (!lib->best.handle) {
        sentence why;
        explain_absence(lib, &why);
        lib->problem = why;
    }
    if (lib->best.version) print_version(lib->version, sizeof lib->version, lib->best.version);
}

/* pthread_once passes no argument. */
static void look_for_driver(void) {
    look_for(LIBRARY_DRIVER);
}
static void look_for_nvrtc(void) {
    look_for(LIBRARY_NVRTC);
}
static void look_for_nvml(void) {
    look_for(LIBRARY_NVML);
}
static void look_for_cublas(void) {
    look_for(LIBRARY_CUBLAS);
}
static void look_for_cublaslt(void) {
    look_for(LIBRARY_CUBLASLT);
}

static const library *looked_for(library_id id) {
    library *lib = &libraries[id];
    pthread_once(&lib->once, lib->look);
    return lib;
}

/* ---- What others ask ---- */

void *library_open(library_id id) {
    return looked_for(id)->best.handle;
}

const char *library_problem(library_id id) {
    return looked_for(id)->problem.text;
}

const char *library_path(library_id id) {
    return looked_for(id)->best.path;
}

int library_version(library_id id) {
    return looked_for(id)->best.version;
}

int tess_count_libraries(void) {
    return LIBRARY_COUNT;
}

tess_status tess_describe_library(int index, tess_library_info *info) {
    sentence *why = status_of_thread();
    if (!info) return status_fail(why, TESS_ERROR_ARGUMENT, "tess_describe_library: info is NULL");
    if (index < 0 || index >= LIBRARY_COUNT)
        return status_fail(why, TESS_ERROR_ARGUMENT, "there is no library %d; they run from 0 to %d", index,
                           LIBRARY_COUNT - 1);
    const library *lib = looked_for((library_id)index);
    *info = (tess_library_info){.name = lib->name,
                                .use = lib->use,
                                .path = lib->best.path,
                                .version = lib->version,
                                .problem = lib->problem.text,
                                .tried = lib->tried};
    return TESS_OK;
}
