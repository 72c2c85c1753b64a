/* nvrtc.c: the functions of NVRTC, their failures made sentences.
 *
 * Invariant: after nvrtc_compile its program is destroyed, whatever happened, and a failure leaves nothing
 * to free. */
#include "nvrtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../memory.h"
#include "library.h"

/* NVRTC's types, as far as they are used here. */
typedef struct program_body *program;
enum { RESULT_SUCCESS = 0, RESULT_COMPILATION = 6, RESULT_BUILTINS = 7, MOST_ARCHITECTURES = 64 };

static struct functions {
    const char *(*error_string)(int);
    int (*count_architectures)(int *);
    int (*architectures)(int *);
    int (*create)(program *, const char *, const char *, int, const char *const *, const char *const *);
    int (*destroy)(program *);
    int (*compile)(program, int, const char *const *);
    int (*ptx_size)(program, size_t *);
    int (*ptx)(program, char *);
    int (*cubin_size)(program, size_t *);
    int (*cubin)(program, char *);
    int (*log_size)(program, size_t *);
    int (*log)(program, char *);
} nvrtc;
static const char *missing; /* the first function this NVRTC does not have; NULL: it has all */

static void load_functions(void) {
    const struct {
        const char *name;
        void *to;
    } wanted[] = {
        {"nvrtcGetErrorString", &nvrtc.error_string},
        {"nvrtcGetNumSupportedArchs", &nvrtc.count_architectures},
        {"nvrtcGetSupportedArchs", &nvrtc.architectures},
        {"nvrtcCreateProgram", &nvrtc.create},
        {"nvrtcDestroyProgram", &nvrtc.destroy},
        {"nvrtcCompileProgram", &nvrtc.compile},
        {"nvrtcGetPTXSize", &nvrtc.ptx_size},
        {"nvrtcGetPTX", &nvrtc.ptx},
        {"nvrtcGetCUBINSize", &nvrtc.cubin_size},
        {"nvrtcGetCUBIN", &nvrtc.cubin},
        {"nvrtcGetProgramLogSize", &nvrtc.log_size},
        {"nvrtcGetProgramLog", &nvrtc.log},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *function = dlsym(library_open(LIBRARY_NVRTC), wanted[i].name);
        memcpy(wanted[i].to, &function, sizeof function);
        if (!function && !missing) missing = wanted[i].name;
    }
}

static tess_status need_nvrtc(sentence *why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!library_open(LIBRARY_NVRTC))
        return status_fail(why, TESS_ERROR_DEVICE, "%s", library_problem(LIBRARY_NVRTC));
    pthread_once(&once, load_functions);
    if (!missing) return TESS_OK;
    return status_fail(why, TESS_ERROR_DEVICE, "NVRTC (%s) has no %s; it must be 11.2 or newer",
                       library_path(LIBRARY_NVRTC), missing);
}

/* A call that should not have failed. */
static tess_status unexpected(const char *function, int result, sentence *why) {
    return status_fail(why, TESS_ERROR_DEVICE, "%s failed: %s (%d); NVRTC is %s", function,
                       nvrtc.error_string(result), result, library_path(LIBRARY_NVRTC));
}

/* ---- Targets ---- */

int nvrtc_target_is_ptx(const char *target) {
    return strncmp(target, "compute_", 8) == 0;
}

/* Code for the very card may use what only it has (its tensor cores): that is what sm_90a is. NVRTC has it
 * from version 12 on. */
static void name_target(int architecture, char target[24]) {
    int special = architecture == 90 && library_version(LIBRARY_NVRTC) >= 12000;
    snprintf(target, 24, "sm_%d%s", architecture, special ? "a" : "");
}

tess_status nvrtc_target(int architecture, char target[24], sentence *why) {
    int known[MOST_ARCHITECTURES], count = 0, newest_below = 0, least = 1 << 20;
    TRY(need_nvrtc(why));
    int result = nvrtc.count_architectures(&count);
    if (result == RESULT_SUCCESS && count <= MOST_ARCHITECTURES) result = nvrtc.architectures(known);
    if (result != RESULT_SUCCESS || count > MOST_ARCHITECTURES)
        return unexpected("nvrtcGetSupportedArchs", result, why);
    for (int i = 0; i < count; i++) {
        if (known[i] == architecture) {
            name_target(architecture, target);
            return TESS_OK;
        }
        if (known[i] < least) least = known[i];
        if (known[i] < architecture && known[i] > newest_below) newest_below = known[i];
    }
    if (newest_below == 0)
        return status_fail(why, TESS_ERROR_DEVICE,
                           "the card is an sm_%d, but NVRTC (%s) compiles for sm_%d and newer; an older "
                           "NVRTC is needed",
                           architecture, library_path(LIBRARY_NVRTC), least);
    snprintf(target, 24, "compute_%d", newest_below);
    return TESS_OK;
}

/* ---- Compiling ---- */

/* Two of NVRTC's functions make a pair: how large something is, and the thing. One zero byte more is
 * allocated. */
static tess_status fetch(const char *function, int (*ask_size)(program, size_t *),
                         int (*get)(program, char *), program p, void **data, size_t *size, sentence *why) {
    *data = NULL;
    int result = ask_size(p, size);
    if (result != RESULT_SUCCESS) return unexpected(function, result, why);
    char *memory = memory_alloc_zeroed(*size + 1);
    if (!memory)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for what NVRTC has compiled (%zu bytes)",
                           *size);
    result = *size ? get(p, memory) : RESULT_SUCCESS;
    if (result == RESULT_SUCCESS) {
        *data = memory;
        return TESS_OK;
    }
    memory_free(memory);
    return unexpected(function, result, why);
}

/* "BM=128 BN=128", for the sentence: what tells this compilation from others of the file. */
static void print_definitions(const nvrtc_job *job, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < job->option_count && used < size; i++)
        if (strncmp(job->options[i], "-D", 2) == 0)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", job->options[i] + 2);
}

static tess_status explain_failure(const nvrtc_job *job, int result, const char *log, sentence *why) {
    char definitions[256];
    print_definitions(job, definitions, sizeof definitions);
    if (result == RESULT_COMPILATION)
        return status_fail(why, TESS_ERROR_KERNEL, "%s does not compile for %s (%s):\n%s", job->file,
                           job->target, definitions, log);
    return status_fail(why, result == RESULT_BUILTINS ? TESS_ERROR_DEVICE : TESS_ERROR_KERNEL,
                       "NVRTC could not compile %s for %s (%s): %s (%d)%s\n%s", job->file, job->target,
                       definitions, nvrtc.error_string(result), result,
                       result == RESULT_BUILTINS ? "; libnvrtc-builtins must lie beside libnvrtc" : "", log);
}

static tess_status compile_program(program p, const nvrtc_job *job, nvrtc_code *out, sentence *why) {
    void *log;
    size_t log_size;
    int result = nvrtc.compile(p, job->option_count, job->options);
    TRY(fetch("nvrtcGetProgramLog", nvrtc.log_size, nvrtc.log, p, &log, &log_size, why));
    out->log = log;
    if (result != RESULT_SUCCESS) return explain_failure(job, result, out->log, why);
    return nvrtc_target_is_ptx(job->target)
               ? fetch("nvrtcGetPTX", nvrtc.ptx_size, nvrtc.ptx, p, &out->image, &out->size, why)
               : fetch("nvrtcGetCUBIN", nvrtc.cubin_size, nvrtc.cubin, p, &out->image, &out->size, why);
}

tess_status nvrtc_compile(const nvrtc_job *job, nvrtc_code *out, sentence *why) {
    memset(out, 0, sizeof *out);
    TRY(need_nvrtc(why));
    program p;
    int result = nvrtc.create(&p, job->source, job->file, 0, NULL, NULL);
    if (result != RESULT_SUCCESS) return unexpected("nvrtcCreateProgram", result, why);
    tess_status status = compile_program(p, job, out, why);
    if (status == TESS_OK && out->size == 0)
        status = status_fail(why, TESS_ERROR_DEVICE, "NVRTC (%s) gave no code for %s",
                             library_path(LIBRARY_NVRTC), job->target);
    nvrtc.destroy(&p);
    if (status != TESS_OK) {
        memory_free(out->image);
        memory_free(out->log);
        memset(out, 0, sizeof *out);
    }
    return status;
}
