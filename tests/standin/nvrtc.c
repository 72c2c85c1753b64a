/* nvrtc.c: a stand-in for NVRTC, so that tests can say which compiler there is. It compiles nothing: its code
 * is text, which the stand-in driver reads. One line each:
 *
 *     stand-in code
 *     simt_05_shared.cu              the name of the program
 *     --gpu-architecture=sm_90a      the options, in order
 *     -DTYPE_F32
 *                                    an empty line, then the source
 *
 * The log is what the real one's would be for a kernel of 32 registers and 1 KB of shared memory. A source
 * with a line that begins "#error" does not compile. Its version is that of -DSTANDIN_MAJOR and
 * -DSTANDIN_MINOR. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef STANDIN_MAJOR
#define STANDIN_MAJOR 13
#endif
#ifndef STANDIN_MINOR
#define STANDIN_MINOR 0
#endif
#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, OUT_OF_MEMORY = 1, COMPILATION = 6 };

typedef struct standin_program {
    char *name, *source, *code;
    const char *log;
} standin_program;

EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT const char *nvrtcGetErrorString(int result);
EXPORT int nvrtcGetNumSupportedArchs(int *count);
EXPORT int nvrtcGetSupportedArchs(int *architectures);
EXPORT int nvrtcCreateProgram(standin_program **out, const char *source, const char *name, int headers,
                              const char *const *texts, const char *const *names);
EXPORT int nvrtcDestroyProgram(standin_program **program);
EXPORT int nvrtcCompileProgram(standin_program *program, int count, const char *const *options);
EXPORT int nvrtcGetPTXSize(standin_program *program, size_t *size);
EXPORT int nvrtcGetPTX(standin_program *program, char *to);
EXPORT int nvrtcGetCUBINSize(standin_program *program, size_t *size);
EXPORT int nvrtcGetCUBIN(standin_program *program, char *to);
EXPORT int nvrtcGetProgramLogSize(standin_program *program, size_t *size);
EXPORT int nvrtcGetProgramLog(standin_program *program, char *to);

int nvrtcVersion(int *major, int *minor) {
    *major = STANDIN_MAJOR;
    *minor = STANDIN_MINOR;
    return SUCCESS;
}

const char *nvrtcGetErrorString(int result) {
    return result == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "an error of the stand-in";
}

static const int known[] = {75, 80, 86, 89, 90, 100, 120};

int nvrtcGetNumSupportedArchs(int *count) {
    *count = (int)(sizeof known / sizeof known[0]);
    return SUCCESS;
}

int nvrtcGetSupportedArchs(int *architectures) {
    memcpy(architectures, known, sizeof known);
    return SUCCESS;
}

int nvrtcCreateProgram(standin_program **out, const char *source, const char *name, int headers,
                       const char *const *texts, const char *const *names) {
    (void)headers, (void)texts, (void)names;
    standin_program *p = calloc(1, sizeof *p);
    if (!p) return OUT_OF_MEMORY;
    p->name = strdup(name);
    p->source = strdup(source);
    p->log = "";
    *out = p;
    return p->name && p->source ? SUCCESS : OUT_OF_MEMORY;
}

int nvrtcDestroyProgram(standin_program **program) {
    free((*program)->name);
    free((*program)->source);
    free((*program)->code);
    free(*program);
    *program = NULL;
    return SUCCESS;
}

int nvrtcCompileProgram(standin_program *program, int count, const char *const *options) {
    if (strstr(program->source, "\n#error")) {
        program->log = "stand-in error: #error";
        return COMPILATION;
    }
    size_t room = strlen(program->name) + strlen(program->source) + 64;
    for (int i = 0; i < count; i++) room += strlen(options[i]) + 1;
    program->code = calloc(1, room);
    if (!program->code) return OUT_OF_MEMORY;
    size_t used = (size_t)snprintf(program->code, room, "stand-in code\n%s\n", program->name);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(program->code + used, room - used, "%s\n", options[i]);
    snprintf(program->code + used, room - used, "\n%s", program->source);
    program->log = "ptxas info    : Function properties for stand-in\n"
                   "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                   "ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem\n";
    return SUCCESS;
}

/* Code and logs are texts, with their zero byte. */
static int give_size(const char *text, size_t *size) {
    *size = text ? strlen(text) + 1 : 0;
    return SUCCESS;
}

static int give(const char *text, char *to) {
    if (text) strcpy(to, text);
    return SUCCESS;
}

int nvrtcGetPTXSize(standin_program *program, size_t *size) {
    return give_size(program->code, size);
}
int nvrtcGetPTX(standin_program *program, char *to) {
    return give(program->code, to);
}
int nvrtcGetCUBINSize(standin_program *program, size_t *size) {
    return give_size(program->code, size);
}
int nvrtcGetCUBIN(standin_program *program, char *to) {
    return give(program->code, to);
}
int nvrtcGetProgramLogSize(standin_program *program, size_t *size) {
    return give_size(program->log, size);
}
int nvrtcGetProgramLog(standin_program *program, char *to) {
    return give(program->log, to);
}
