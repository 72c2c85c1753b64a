/* library.h: the shared libraries a GPU is used through. Nothing is linked: each is looked for when it is
 * first needed, once per process, and stays open.
 *
 * $TESSERA_LIBRARY_PATH (directories with colons between them) names the only places to look. Without it
 * the dynamic linker is asked first, then the usual places of CUDA, then those of pip's packages. */
#ifndef LIBRARY_H
#define LIBRARY_H

typedef enum library_id {
    LIBRARY_DRIVER,   /* libcuda */
    LIBRARY_NVRTC,    /* the compiler; of several, the newest that the driver accepts */
    LIBRARY_NVML,     /* clocks, power, temperature */
    LIBRARY_CUBLAS,   /* the peer */
    LIBRARY_CUBLASLT, /* the peer, asked for its fastest algorithm */
    LIBRARY_COUNT
} library_id;

/* The handle for dlsym, or NULL if the library cannot be used. May be called from any thread. */
void *library_open(library_id id);

/* A sentence: why it cannot be used and what to do; "" if it can. */
const char *library_problem(library_id id);
/* The file it was loaded from, "" if it was not; 13020 for 13.2, 0 if it does not tell. */
const char *library_path(library_id id);
int library_version(library_id id);

#endif
