/* jit.h: from a kernel's file and its parameters to code for a GPU.
 *
 * The text is port.h and the file; every parameter is a -D; NVRTC compiles it. Needs neither a GPU nor a
 * driver. What was compiled is kept in the cache on disk (src/cache.h) and taken from there the next time. */
#ifndef JIT_H
#define JIT_H

#include "../registry.h"

typedef struct jit_request {
    const char *file;      /* "simt_05_shared.cu" */
    const char *type;      /* what jit_type_macro gives */
    const kernel_row *row; /* the kernel whose parameters these are; NULL: the file has none */
    const int64_t *params; /* complete, in the row's order */
    int architecture;      /* of the card: 90 for compute capability 9.0 */
} jit_request;

typedef struct jit_code {
    void *image; /* cubin, or PTX with a zero byte behind it; for cuModuleLoadData */
    size_t size;
    int is_ptx;    /* NVRTC is older than the card: the driver compiles the rest */
    int registers; /* of a thread: the most, of several kernels in a file; 0 with PTX, as are the next two */
    int shared_bytes;  /* static */
    int spill_bytes;   /* stores */
    double compile_ms; /* 0 if it came from the cache */
    int serialized;    /* ptxas lets no two products of wgmma overlap; 0 as well */
    int from_cache;
} jit_code;

/* On success the caller gives *out back with jit_free. */
tess_status jit_compile(const jit_request *request, jit_code *out, sentence *why);
void jit_free(jit_code *code);

/* "F32", "F64", "I32", "F16", "F16_F32", "BF16", "BF16_F32", "I8_I32"; NULL if there is no such product. */
const char *jit_type_macro(tess_type in, tess_type out);

/* "sm_90a" for 90: what code for that card is compiled for. */
void jit_architecture_name(int architecture, char name[16]);

#endif
