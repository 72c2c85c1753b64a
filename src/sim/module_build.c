/* module_build.c: what a module is made of, and where it comes from.
 *
 * A module is its texts (port.h, port_sim.h, the kernel's file and tensor_sim.h if that uses it) and the
 * compiler's options; nothing else goes into it. That is its key, in the cache on disk and, hashed, in the
 * name of a module that was made when the library was built: a module that was made from anything else is
 * never found. */
#include "module_build.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../cache.h"
#include "../memory.h"
#include "compile.h"

enum { OPTIONS = 48, OPTION_SIZE = 40 };
static const uint64_t MOST_BYTES = UINT64_C(1) << 30; /* of a module: more is no module */

/* gcc first: only it traces. */
static const char *const compilers[] = {"gcc", "cc", "clang", NULL};

/* Everything a module depends on but the compiler. */
typedef struct recipe {
    const char *options[OPTIONS];
    char defines[REGISTRY_PARAMS + 1][OPTION_SIZE];
    char *port, *kernel;
    const char *port_sim, *tensor_sim, *name; /* tensor_sim: "" for a kernel that does not use it */
} recipe;

/* ---- The recipe ---- */

/* TYPE_F32, or TYPE_BF16_F32 where C has another type. */
static void define_type(tess_type in, tess_type out, char option[OPTION_SIZE]) {
    int length = snprintf(option, OPTION_SIZE, "-DTYPE_%s", tess_type_name(in));
    if (in != out) snprintf(option + length, (size_t)(OPTION_SIZE - length), "_%s", tess_type_name(out));
    for (char *c = option; *c; c++) *c = (char)toupper((unsigned char)*c);
}

/* Fused multiply-adds are rounded once with or without the instruction; with it they take no time. */
static int has_fma(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#else
    return 0;
#endif
}

/* A stack holds some 70 KB (block.c); a kernel whose variables do not fit is refused by the compiler. */
static void list_options(const module_request *request, recipe *r) {
    static const char *const common[] = {"-shared",
                                         "-fPIC",
                                         "-std=gnu11",
                                         "-Werror=frame-larger-than=57344",
                                         "-fvisibility=hidden",
                                         "-ffp-contract=off",
                                         "-fno-math-errno",
                                         "-fno-strict-aliasing",
                                         "-Wl,-z,max-page-size=4096",
                                         NULL};
    static const char *const plain[] = {"-O3", NULL};
    /* The default libraries of -fsanitize=thread would bring its own runtime. What a kernel takes from port.h
     * has the line of the code before it, so blocks stay where they are written. */
    static const char *const traced[] = {"-O2",
                                         "-fpeel-loops",
                                         "-g",
                                         "-gdwarf-4",
                                         "-DSIM_TRACED",
                                         "-fsanitize=thread",
                                         "-fsanitize=bounds",
                                         "-fno-tree-sra",
                                         "-fno-tree-loop-distribute-patterns",
                                         "-fno-reorder-blocks",
                                         "-nodefaultlibs",
                                         "-lc",
                                         NULL};
    /* What is written once must stand in the code once. */
    static const char *const steps[] = {"-DSIM_STEPS", "-fsanitize-coverage=trace-pc", "-fno-thread-jumps",
                                        "-fno-split-paths", NULL};
    const char *const *mode = request->traced ? traced : plain;
    int count = 0;
    for (int i = 0; common[i]; i++) r->options[count++] = common[i];
    for (int i = 0; mode[i]; i++) r->options[count++] = mode[i];
    for (int i = 0; request->steps && steps[i]; i++) r->options[count++] = steps[i];
    if (has_fma()) {
        r->options[count++] = "-mfma";
        r->options[count++] = "-mavx2";
    }
    define_type(request->in, request->out, r->defines[0]);
    r->options[count++] = r->defines[0];
    for (int i = 0; request->row && registry_param_name(request->row, i); i++) {
        snprintf(r->defines[i + 1], OPTION_SIZE, "-D%s=%" PRId64, registry_param_name(request->row, i),
                 request->params[i]);
        r->options[count++] = r->defines[i + 1];
    }
    r->options[count] = NULL;
}

/* The simulator's own headers belong to the library, whatever directory the kernels come from. */
static const char *embedded(const char *name) {
    for (const kernel_file *f = kernel_files; f->name; f++)
        if (strcmp(f->name, name) == 0) return f->text;
    return "#error a header of the simulator is not in the library";
}

static void recipe_free(recipe *r) {
    memory_free(r->port);
    memory_free(r->kernel);
}

static tess_status recipe_make(const module_request *request, recipe *r, sentence *why) {
    memset(r, 0, sizeof *r);
    const char *slash = strrchr(request->file, '/');
    r->name = slash ? slash + 1 : request->file;
    r->port_sim = embedded("port_sim.h");
    r->tensor_sim = "";
    list_options(request, r);
    tess_status status = kernel_source_read("port.h", &r->port, why);
    if (status == TESS_OK) status = kernel_source_read_whole(request->file, &r->kernel, why);
    if (status != TESS_OK)
        recipe_free(r);
    else if (strstr(r->kernel, "\"tensor_sim.h\""))
        r->tensor_sim = embedded("tensor_sim.h");
    return status;
}

/* ---- Keys ---- */

/* All of the recipe as one text, after `first`. NULL if there is no memory. */
static char *key_text(const recipe *r, const char *first, size_t *size) {
    const char *parts[OPTIONS + 6];
    size_t count = 0, room = 1;
    parts[count++] = first;
    for (int i = 0; r->options[i]; i++) parts[count++] = r->options[i];
    parts[count++] = r->port;
    parts[count++] = r->port_sim;
    parts[count++] = r->tensor_sim;
    parts[count++] = r->kernel;
    for (size_t i = 0; i < count; i++) room += strlen(parts[i]) + 1;
    char *text = memory_alloc(room);
    if (!text) return NULL;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(parts[i]) + 1;
        memcpy(text + used, parts[i], length);
        used += length;
    }
    *size = used;
    return text;
}

/* Which compiler it is: another version is another file. */
static void identify_compiler(char text[1200]) {
    char path[1024];
    struct stat facts;
    if (!compile_find(compilers, path) || stat(path, &facts) != 0)
        snprintf(text, 1200, "none");
    else
        snprintf(text, 1200, "%s %lld %lld", path, (long long)facts.st_size, (long long)facts.st_mtime);
}

static uint64_t hash(const char *text, size_t size, uint64_t start) {
    uint64_t h = start;
    for (size_t i = 0; i < size; i++) {
        h = (h ^ (unsigned char)text[i]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static tess_status name_of(const recipe *r, int traced, char name[MODULE_NAME], sentence *why) {
    size_t size;
    char *text = key_text(r, "tessera module", &size);
    if (!text) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the key of %s", r->name);
    snprintf(name, MODULE_NAME, "%.*s-%s%s-%016" PRIx64 "%016" PRIx64 ".so", (int)strcspn(r->name, "."),
             r->name, r->defines[0] + strlen("-DTYPE_"), traced ? "-traced" : "", hash(text, size, 1),
             hash(text, size, 2));
    memory_free(text);
    return TESS_OK;
}

tess_status module_file_name(const module_request *request, char name[MODULE_NAME], sentence *why) {
    recipe r;
    TRY(recipe_make(request, &r, why));
    tess_status status = name_of(&r, request->traced, name, why);
    recipe_free(&r);
    return status;
}

/* ---- Where it comes from ---- */

/* Reads exactly that many bytes. */
static int read_bytes(int handle, void *to, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t more = read(handle, (char *)to + have, size - have);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) return 0;
        have += (size_t)more;
    }
    return 1;
}

int module_find_in(const char *path, const char *name, char **image, size_t *size) {
    module_entry entry;
    int handle = open(path, O_RDONLY | O_CLOEXEC), found = 0;
    *image = NULL;
    while (handle >= 0 && !found && read_bytes(handle, &entry, sizeof entry) && entry.size < MOST_BYTES) {
        found = strncmp(entry.name, name, sizeof entry.name) == 0;
        if (!found && lseek(handle, (off_t)entry.size, SEEK_CUR) < 0) break;
    }
    if (found) *image = memory_alloc((size_t)entry.size);
    if (*image && !read_bytes(handle, *image, (size_t)entry.size)) {
        memory_free(*image);
        *image = NULL;
    }
    if (handle >= 0) close(handle);
    *size = found ? (size_t)entry.size : 0;
    return *image != NULL;
}

/* The modules made with the library lie beside it, or beside the program that holds it: in the build tree,
 * and installed. Gives the i-th place to look, 0 past the last. */
static int archive_path(size_t i, char path[1400]) {
    static const char *const places[] = {"", "../", "tessera/", "../lib/tessera/", "../lib64/tessera/"};
    static const char here = 0;
    Dl_info facts;
    if (i >= sizeof places / sizeof *places || !dladdr(&here, &facts) || !facts.dli_fname) return 0;
    const char *slash = strrchr(facts.dli_fname, '/');
    int length = slash ? (int)(slash - facts.dli_fname) : 1;
    snprintf(path, 1400, "%.*s/%s" MODULE_ARCHIVE, length, slash ? facts.dli_fname : ".", places[i]);
    return 1;
}

static int find_made(const recipe *r, int traced, char **image, size_t *size) {
    char name[MODULE_NAME], path[1400];
    sentence ignored;
    if (name_of(r, traced, name, &ignored) != TESS_OK) return 0;
    for (size_t i = 0; archive_path(i, path); i++)
        if (module_find_in(path, name, image, size)) return 1;
    return 0;
}

/* Whether traced modules were made with the library. */
static int traced_were_made(void) {
    module_entry entry;
    char path[1400];
    int found = 0;
    for (size_t i = 0; !found && archive_path(i, path); i++) {
        int handle = open(path, O_RDONLY | O_CLOEXEC);
        while (handle >= 0 && !found && read_bytes(handle, &entry, sizeof entry)) {
            found = strstr(entry.name, "-traced-") != NULL;
            if (lseek(handle, (off_t)entry.size, SEEK_CUR) < 0) break;
        }
        if (handle >= 0) close(handle);
    }
    return found;
}

/* A cc that is clang by another name does not count. */
static int gcc_is_here(void) {
    static const char *const gcc[] = {"gcc", NULL}, *const cc[] = {"cc", NULL};
    char path[1024], real[PATH_MAX];
    return compile_find(gcc, path) ||
           (compile_find(cc, path) && realpath(path, real) && !strstr(real, "clang"));
}

int module_can_trace(char why[256]) {
    if (gcc_is_here() || traced_were_made()) return 1;
    snprintf(why, 256, "every access is traced by gcc, which is not on the PATH");
    return 0;
}

static tess_status compile(const recipe *r, char **image, size_t *size, double *compile_ms, sentence *why) {
    const compile_file files[] = {{r->name, r->kernel},
                                  {"port.h", r->port},
                                  {"port_sim.h", r->port_sim},
                                  {"tensor_sim.h", r->tensor_sim},
                                  {NULL, NULL}};
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    TRY(compile_shared(compilers, r->options, files, image, size, why));
    clock_gettime(CLOCK_MONOTONIC, &end);
    *compile_ms = 1e3 * (double)(end.tv_sec - start.tv_sec) + 1e-6 * (double)(end.tv_nsec - start.tv_nsec);
    return TESS_OK;
}

/* Of processes that start together, one compiles. `key` may be NULL: then nothing is kept. */
static tess_status compile_in_turn(const recipe *r, const cache_key *key, char **image, size_t *size,
                                   double *compile_ms, sentence *why) {
    void *kept;
    tess_status status = TESS_OK;
    int turn = key ? cache_begin(key) : -1;
    if (turn >= 0 && cache_read(key, &kept, size)) {
        *image = kept;
    } else {
        status = compile(r, image, size, compile_ms, why);
        if (status == TESS_OK && key) cache_write(key, *image, *size);
    }
    if (key) cache_end(key, turn);
    return status;
}

/* From the cache, or compiled and kept there. */
static tess_status build(const recipe *r, char **image, size_t *size, double *compile_ms, sentence *why) {
    char compiler[1200], stem[64];
    void *kept;
    identify_compiler(compiler);
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(r->name, "."), r->name);
    cache_key key = {.stem = stem, .extension = "so"};
    char *text = key_text(r, compiler, &key.size);
    key.text = text;
    tess_status status = TESS_OK;
    if (text && cache_read(&key, &kept, size))
        *image = kept;
    else
        status = compile_in_turn(r, text ? &key : NULL, image, size, compile_ms, why);
    memory_free(text);
    return status;
}

tess_status module_compile(const module_request *request, char **image, size_t *size, sentence *why) {
    recipe r;
    double ignored;
    TRY(recipe_make(request, &r, why));
    tess_status status = compile(&r, image, size, &ignored, why);
    recipe_free(&r);
    return status;
}

tess_status module_build(const module_request *request, char **image, size_t *size, double *compile_ms,
                         sentence *why) {
    recipe r;
    tess_status status = TESS_OK;
    *compile_ms = 0;
    TRY(recipe_make(request, &r, why));
    if (!find_made(&r, request->traced, image, size))
        status = request->traced && !gcc_is_here()
                     ? status_fail(why, TESS_ERROR_DEVICE,
                                   "%s must be compiled with these parameters and this type, and only gcc "
                                   "makes modules whose accesses can be checked; it is not on the PATH (the "
                                   "device sim runs without checks)",
                                   r.name)
                     : build(&r, image, size, compile_ms, why);
    recipe_free(&r);
    return status;
}
