/* nvrtc.h: NVIDIA's run-time compiler, through the library that library.h has found. It needs no GPU and no
 * driver. */
#ifndef NVRTC_H
#define NVRTC_H

#include "../status.h"

typedef struct nvrtc_job {
    const char *file, *source; /* the name is for messages */
    const char *target;        /* from nvrtc_target */
    const char *const *options;
    int option_count;
} nvrtc_job;

typedef struct nvrtc_code {
    void *image; /* cubin, or PTX with its zero byte; the caller frees both with memory_free */
    size_t size;
    char *log;
} nvrtc_code;

/* What to compile for, for a card of this architecture (90): "sm_90a"; or "compute_90", PTX for the newest
 * card that this NVRTC knows, where the card is newer. */
tess_status nvrtc_target(int architecture, char target[24], sentence *why);

/* Whether a target is PTX, which the driver has still to compile. */
int nvrtc_target_is_ptx(const char *target);

/* Compiles. A failure's sentence has as much of the compiler's log as fits. */
tess_status nvrtc_compile(const nvrtc_job *job, nvrtc_code *out, sentence *why);

#endif
