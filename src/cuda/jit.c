/* jit.c: composing the text, compiling it, keeping the result.
 *
 * Invariant: the key of a cache entry holds everything the code depends on: the text, the options
 * (parameters, type and architecture among them) and the compiler. */
#include "jit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../cache.h"
#include "../memory.h"
#include "library.h"
#include "nvrtc.h"

/* What is written before the image in a cache entry. */
typedef struct record {
    int32_t is_ptx, registers, shared_bytes, spill_bytes;
} record;

enum { FIXED_OPTIONS = 6, MOST_OPTIONS = FIXED_OPTIONS + REGISTRY_PARAMS, LONGEST_OPTION = 48 };

/* Everything a compilation needs. */
typedef struct work {
    const jit_request *request;
    char target[24];
    char option_text[MOST_OPTIONS][LONGEST_OPTION];
    const char *options[MOST_OPTIONS];
    int option_count;
    char *key; /* a head that names compiler and options, then the source */
    size_t key_size;
    const char *source; /* within the key */
} work;

const char *jit_type_macro(tess_type in, tess_type out) {
    static const struct {
        tess_type in, out;
        const char *macro;
    } products[] = {
        {TESS_F32, TESS_F32, "F32"},       {TESS_F64, TESS_F64, "F64"},       {TESS_I32, TESS_I32, "I32"},
        {TESS_F16, TESS_F16, "F16"},       {TESS_F16, TESS_F32, "F16_F32"},   {TESS_BF16, TESS_BF16, "BF16"},
        {TESS_I8, TESS_I32, "I8_I32"},     {TESS_BF16, TESS_F32, "BF16_F32"}, {TESS_F32, TESS_F16, "F32_F16"},
        {TESS_F32, TESS_BF16, "F32_BF16"}, /* of add.cu */
    };
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        if (products[i].in == in && products[i].out == out) return products[i].macro;
    return NULL;
}

void jit_architecture_name(int architecture, char name[16]) {
    snprintf(name, 16, "sm_%d%s", architecture, architecture == 90 ? "a" : "");
}

/* ---- What is compiled ---- */

static void add_option(work *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_option(work *w, const char *format, ...) {
    char *text = w->option_text[w->option_count];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, LONGEST_OPTION, format, arguments);
    va_end(arguments);
    w->options[w->option_count++] = text;
}

/* Multiply-adds are fused where the source says so and nowhere else, as on the CPU. The log has what the
 * assembler says of registers and spills. */
static void make_options(work *w) {
    const jit_request *r = w->request;
    add_option(w, "--gpu-architecture=%s", w->target);
    add_option(w, "--fmad=false");
    add_option(w, "-default-device");
    add_option(w, "-lineinfo");
    add_option(w, "--ptxas-options=-v");
    add_option(w, "-DTYPE_%s", r->type);
    const char *name;
    for (int i = 0; r->row && (name = registry_param_name(r->row, i)) != NULL; i++)
        add_option(w, "-D%s=%" PRId64, name, r->params[i]);
}

/* nvrtcVersion does not tell one patch release from another; the size of the file does. */
static size_t print_head(const work *w, char *text, size_t size) {
    struct stat facts = {0};
    int known = stat(library_path(LIBRARY_NVRTC), &facts) == 0;
    size_t used = (size_t)snprintf(text, size, "NVRTC %d, %lld bytes\n", library_version(LIBRARY_NVRTC),
                                   known ? (long long)facts.st_size : 0);
    for (int i = 0; i < w->option_count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s\n", w->options[i]);
    return used;
}

static tess_status join(work *w, const char *port, const char *kernel, sentence *why) {
    char head[128 + MOST_OPTIONS * LONGEST_OPTION];
    size_t head_size = print_head(w, head, sizeof head);
    size_t room = head_size + strlen(port) + strlen(kernel) + strlen(w->request->file) + 64;
    w->key = memory_alloc(room);
    if (!w->key) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the text of %s", w->request->file);
    int size = snprintf(w->key, room, "%s#line 1 \"port.h\"\n%s\n#line 1 \"%s\"\n%s", head, port,
                        w->request->file, kernel);
    w->key_size = (size_t)size;
    w->source = w->key + head_size;
    return TESS_OK;
}

static tess_status make_text(work *w, sentence *why) {
    char *port = NULL, *kernel = NULL;
    tess_status status = kernel_source_read("port.h", &port, why);
    if (status == TESS_OK) status = kernel_source_read_whole(w->request->file, &kernel, why);
    if (status == TESS_OK) status = join(w, port, kernel, why);
    memory_free(port);
    memory_free(kernel);
    return status;
}

/* ---- What the assembler says ---- */

/* The largest number before `words` in the log: of several kernels, the one that needs most. */
static int most_before(const char *log, const char *words) {
    int most = 0;
    for (const char *at = strstr(log, words); at; at = strstr(at + 1, words)) {
        const char *digit = at;
        while (digit > log && digit[-1] >= '0' && digit[-1] <= '9') digit--;
        int number = digit < at ? atoi(digit) : 0;
        if (number > most) most = number;
    }
    return most;
}

/* ---- The cache ---- */

static cache_key key_of(const work *w, char stem[64]) {
    const char *slash = strrchr(w->request->file, '/'), *file = slash ? slash + 1 : w->request->file;
    snprintf(stem, 64, "%.*s", (int)strcspn(file, "."), file);
    return (cache_key){.stem = stem,
                       .extension = nvrtc_target_is_ptx(w->target) ? "ptx" : "cubin",
                       .text = w->key,
                       .size = w->key_size};
}

static int take_from_cache(const work *w, jit_code *out) {
    char stem[64];
    cache_key key = key_of(w, stem);
    void *data;
    size_t size;
    record facts;
    if (!cache_read(&key, &data, &size)) return 0;
    if (size > sizeof facts) {
        memcpy(&facts, data, sizeof facts);
        *out = (jit_code){.image = memory_alloc(size - sizeof facts),
                          .size = size - sizeof facts,
                          .is_ptx = facts.is_ptx,
                          .registers = facts.registers,
                          .shared_bytes = facts.shared_bytes,
                          .spill_bytes = facts.spill_bytes,
                          .from_cache = 1};
        if (out->image) memcpy(out->image, (char *)data + sizeof facts, out->size);
    }
    memory_free(data);
    return out->image != NULL;
}

static void put_into_cache(const work *w, const jit_code *code) {
    char stem[64], *data = memory_alloc(sizeof(record) + code->size);
    record facts = {code->is_ptx, code->registers, code->shared_bytes, code->spill_bytes};
    cache_key key = key_of(w, stem);
    if (!data) return;
    memcpy(data, &facts, sizeof facts);
    memcpy(data + sizeof facts, code->image, code->size);
    cache_write(&key, data, sizeof facts + code->size);
    memory_free(data);
}

/* ---- Compiling ---- */

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static tess_status compile(const work *w, jit_code *out, sentence *why) {
    nvrtc_job job = {.file = w->request->file,
                     .source = w->source,
                     .target = w->target,
                     .options = w->options,
                     .option_count = w->option_count};
    nvrtc_code code;
    double start = milliseconds();
    TRY(nvrtc_compile(&job, &code, why));
    *out = (jit_code){.image = code.image,
                      .size = code.size,
                      .is_ptx = nvrtc_target_is_ptx(w->target),
                      .registers = most_before(code.log, " registers"),
                      .shared_bytes = most_before(code.log, " bytes smem"),
                      .spill_bytes = most_before(code.log, " bytes spill stores"),
                      .serialized = strstr(code.log, "wgmma.mma_async instructions are serialized") != NULL,
                      .compile_ms = milliseconds() - start};
    memory_free(code.log);
    return TESS_OK;
}

/* Of processes that start together, one compiles. */
static tess_status compile_in_turn(const work *w, jit_code *out, sentence *why) {
    char stem[64];
    cache_key key = key_of(w, stem);
    tess_status status = TESS_OK;
    int turn = cache_begin(&key);
    if (turn < 0 || !take_from_cache(w, out)) {
        status = compile(w, out, why);
        if (status == TESS_OK) put_into_cache(w, out);
    }
    cache_end(&key, turn);
    return status;
}

tess_status jit_compile(const jit_request *request, jit_code *out, sentence *why) {
    work w = {.request = request};
    memset(out, 0, sizeof *out);
    TRY(nvrtc_target(request->architecture, w.target, why));
    make_options(&w);
    TRY(make_text(&w, why));
    tess_status status = take_from_cache(&w, out) ? TESS_OK : compile_in_turn(&w, out, why);
    memory_free(w.key);
    return status;
}

void jit_free(jit_code *code) {
    memory_free(code->image);
    memset(code, 0, sizeof *code);
}
