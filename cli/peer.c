/* peer.c: opens a BLAS at run time and calls it through CBLAS.
 *
 * Invariant: a peer is what its name says: a library is known by the symbols only it has, never by the name
 * of its file, because libblas.so.3 and even libopenblas.so may be links to something else.
 */
#include "peer.h"
#include "peer_search.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The prefix and suffix of a build's symbols; those built for 64-bit integers say so in the suffix. */
typedef struct naming {
    const char *prefix, *suffix;
    bool wide;
} naming;

static const naming namings[] = {{"", "", false},
                                 {"scipy_", "64_", true},
                                 {"", "64_", true},
                                 {"scipy_", "", false},
                                 {"", "_64", true}};

typedef struct family {
    const char *name;
    const char *mark; /* a symbol nothing else has */
    const char *set_threads;
} family;

static const family families[] = {{"openblas", "openblas_get_config", "openblas_set_num_threads"},
                                  {"blis", "bli_info_get_version_str", "bli_thread_set_num_threads"},
                                  {"mkl", "MKL_Get_Version_String", "MKL_Set_Num_Threads"},
                                  {"armpl", "armplversion", "armpl_set_num_threads"}};

typedef void (*any_function)(void);

/* POSIX promises that a function's address survives in a void pointer; C does not, hence the copy. */
static any_function find_symbol(void *handle, const naming *n, const char *name) {
    char full[96];
    snprintf(full, sizeof full, "%s%s%s", n->prefix, name, n->suffix);
    void *address = dlsym(handle, full);
    any_function function;
    memcpy(&function, &address, sizeof function);
    return function;
}

static const family *find_family(void *handle, const naming *n) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (find_symbol(handle, n, families[i].mark) != NULL) return &families[i];
    return NULL;
}

static void learn_version(peer *p, const family *f, const naming *n) {
    any_function mark = find_symbol(p->handle, n, f->mark);
    if (strcmp(f->name, "openblas") == 0 || strcmp(f->name, "blis") == 0) {
        const char *text = ((const char *(*)(void))mark)();
        if (text != NULL) snprintf(p->version, sizeof p->version, "%s", text);
    } else if (strcmp(f->name, "mkl") == 0) {
        ((void (*)(char *, int))mark)(p->version, (int)sizeof p->version - 1);
    }
    for (size_t end = strlen(p->version); end > 0 && p->version[end - 1] == ' ';) p->version[--end] = '\0';
}

/* The file the symbols really came from: links resolved by the loader, not the name that was asked for. */
static void learn_path(peer *p, const char *asked) {
    Dl_info info;
    void *address;
    memcpy(&address, &p->sgemm, sizeof address);
    const char *path = dladdr(address, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : asked;
    char real[PATH_MAX];
    snprintf(p->path, sizeof p->path, "%s", realpath(path, real) != NULL ? real : path);
}

/* OpenBLAS's idle threads spin for up to seconds, and would take the CPU from whoever is measured next. A
 * tenth of a millisecond keeps them awake between the calls of one sample and lets them sleep after it. */
static void tame_idle_threads(void) {
#if defined(__x86_64__) || defined(__i386__)
    setenv("OPENBLAS_THREAD_TIMEOUT", "18", 0);
#else
    setenv("OPENBLAS_THREAD_TIMEOUT", "14", 0);
#endif
}

/* Opens one file and sees what it is. An empty `name` takes any CBLAS. */
static bool open_library(peer *p, const char *name, const char *file) {
    *p = (peer){0};
    tame_idle_threads();
    p->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (p->handle == NULL) return false;
    for (size_t i = 0; i < sizeof namings / sizeof *namings; i++) {
        const naming *n = &namings[i];
        p->sgemm = find_symbol(p->handle, n, "cblas_sgemm");
        p->dgemm = find_symbol(p->handle, n, "cblas_dgemm");
        if (p->sgemm == NULL || p->dgemm == NULL) continue;
        const family *f = find_family(p->handle, n);
        const char *is = f == NULL ? "cblas" : f->name;
        const char *wanted = strcmp(name, "numpy") == 0 ? "openblas" : name;
        if (name[0] != '\0' && strcmp(wanted, is) != 0) break;
        p->wide = n->wide;
        snprintf(p->name, sizeof p->name, "%s", name[0] != '\0' ? name : is);
        if (f != NULL) p->set_threads = find_symbol(p->handle, n, f->set_threads);
        if (f != NULL) learn_version(p, f, n);
        learn_path(p, file);
        return true;
    }
    dlclose(p->handle);
    *p = (peer){0};
    return false;
}

typedef struct search {
    peer *found;
    const char *name;
} search;

static bool try_candidate(void *data, const char *file) {
    const search *s = data;
    return open_library(s->found, s->name, file);
}

bool peer_find(peer *p, const char *name, peer_trail *trail) {
    *p = (peer){0};
    if (strchr(name, '/') != NULL) return open_library(p, "", name);
    for (size_t i = 0; i < peer_name_count; i++) {
        if (strcmp(name, "auto") != 0 && strcmp(name, peer_names[i]) != 0) continue;
        if (peer_search_each(peer_names[i], trail, try_candidate, &(search){p, peer_names[i]})) return true;
    }
    return false;
}

bool peer_is_name(const char *name) {
    if (strcmp(name, "auto") == 0 || strcmp(name, "none") == 0 || strchr(name, '/') != NULL) return true;
    for (size_t i = 0; i < peer_name_count; i++)
        if (strcmp(name, peer_names[i]) == 0) return true;
    return false;
}

bool peer_takes(const peer *p, const peer_call *call) {
    if (call->type != TESS_F32 && call->type != TESS_F64) return false;
    const int64_t sizes[] = {call->m, call->n, call->k, call->lda, call->ldb, call->ldc};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!p->wide && sizes[i] > INT32_MAX) return false;
    return true;
}

/* One call through CBLAS, whose integers are `integer` and whose reals are `real`. */
#define CALL_CBLAS(function, integer, real)                                                                  \
    ((void (*)(int, int, int, integer, integer, integer, real, const real *, integer, const real *, integer, \
               real, real *, integer))(function))(101, call->trans_a ? 112 : 111, call->trans_b ? 112 : 111, \
                                                  (integer)call->m, (integer)call->n, (integer)call->k,      \
                                                  (real)call->alpha, call->a, (integer)call->lda, call->b,   \
                                                  (integer)call->ldb, (real)call->beta, call->c,             \
                                                  (integer)call->ldc)

void peer_gemm(const peer *p, const peer_call *call) {
    if (call->type == TESS_F32 && p->wide)
        CALL_CBLAS(p->sgemm, int64_t, float);
    else if (call->type == TESS_F32)
        CALL_CBLAS(p->sgemm, int32_t, float);
    else if (p->wide)
        CALL_CBLAS(p->dgemm, int64_t, double);
    else
        CALL_CBLAS(p->dgemm, int32_t, double);
}

/* MKL's C entry takes int in every build; BLIS takes its own 64-bit integer, which on the machines it runs on
 * reads an int passed as int64_t alike; OpenBLAS takes int. */
void peer_set_threads(const peer *p, int threads) {
    if (p->set_threads == NULL) return;
    if (strcmp(p->name, "blis") == 0)
        ((void (*)(int64_t))p->set_threads)(threads);
    else
        ((void (*)(int))p->set_threads)(threads);
}
