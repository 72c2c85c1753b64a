/* isa.c: which instruction set this process uses. Every context of the process uses the same. */
#include "isa.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const cpu_isa isa_portable, isa_neon, isa_neon_dot, isa_neon_i8mm, isa_neon_bf16;
extern const cpu_isa isa_avx2, isa_avx512, isa_avx512_vnni, isa_amx;

/* The best first. */
static const cpu_isa *const compiled_in[] = {
#ifdef WITH_MMLA
    &isa_neon_bf16, &isa_neon_i8mm,
#endif
#if defined(__aarch64__)
    &isa_neon_dot,  &isa_neon,
#elif defined(__x86_64__)
#ifdef WITH_AMX
    &isa_amx,
#endif
    &isa_avx512_vnni, &isa_avx512, &isa_avx2,
#endif
    &isa_portable,  NULL};

static const cpu_isa *current;

static const cpu_isa *find(const char *name) {
    for (int i = 0; compiled_in[i]; i++)
        if (compiled_in[i]->supported() && (!name || strcmp(name, compiled_in[i]->name) == 0))
            return compiled_in[i];
    return NULL;
}

static void choose(void) {
    const char *asked = getenv("TESSERA_CPU_ISA");
    if (asked && asked[0]) current = find(asked);
    if (!current) current = find(NULL);
}

const cpu_isa *isa_current(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return current;
}

tess_status isa_check_environment(sentence *why) {
    const char *asked = getenv("TESSERA_CPU_ISA");
    if (!asked || !asked[0] || find(asked)) return TESS_OK;
    char known[128];
    size_t used = 0;
    for (int i = 0; compiled_in[i] && used < sizeof known; i++)
        if (compiled_in[i]->supported())
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                                     compiled_in[i]->name);
    return status_fail(why, TESS_ERROR_DEVICE, "TESSERA_CPU_ISA is '%.40s'; this machine has: %s", asked,
                       known);
}
