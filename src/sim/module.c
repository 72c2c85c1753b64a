/* module.c: shared objects in memory. An object is loaded from a file that exists only as long as that takes.
 */
#include "module.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../memory.h"
#include "module_build.h"

/* ---- Loading ---- */

static int write_whole(int handle, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t more = write(handle, bytes, size);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) return 0;
        bytes += more;
        size -= (size_t)more;
    }
    return 1;
}

/* The loader tells objects apart by their names, so no two may have had the same. */
static void *load_image(const char *image, size_t size) {
    static _Atomic unsigned number;
    char path[600];
    const char *place = getenv("TMPDIR");
    void *handle = NULL;
    snprintf(path, sizeof path, "%.500s/tessera-%ld-%u-XXXXXX", place && place[0] ? place : "/tmp",
             (long)getpid(), atomic_fetch_add(&number, 1));
    int file = mkstemp(path);
    if (file < 0) return NULL;
    if (write_whole(file, image, size)) handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(file);
    unlink(path);
    return handle;
}

/* What the loader knows of the module. */
typedef struct segment_search {
    const module *m;
    int found;
    size_t shared;  /* bytes of zero-initialised thread-local memory */
    uintptr_t span; /* bytes from the first to the last of the module */
} segment_search;

static int look_at_object(struct dl_phdr_info *info, size_t size, void *argument) {
    (void)size;
    segment_search *search = argument;
    if (info->dlpi_addr != search->m->base) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_vaddr + part->p_memsz > search->span)
            search->span = part->p_vaddr + part->p_memsz;
        if (part->p_type != PT_TLS) continue;
        search->shared = part->p_memsz - part->p_filesz;
    }
    search->found = 1;
    return 1;
}

static tess_status load(module *m, const char *image, size_t size, sentence *why) {
    m->handle = load_image(image, size);
    if (!m->handle) {
        const char *said = dlerror();
        return status_fail(why, TESS_ERROR_KERNEL,
                           "the module of %s could not be loaded: %s; TMPDIR names the directory it is "
                           "loaded from",
                           m->file, said ? said : "no file could be made for it");
    }
    void *enter = dlsym(m->handle, "sim_enter");
    Dl_info facts;
    if (!enter || !dladdr(enter, &facts))
        return status_fail(why, TESS_ERROR_INTERNAL, "the module of %s has no sim_enter", m->file);
    memcpy(&m->enter, &enter, sizeof enter);
    m->base = (uintptr_t)facts.dli_fbase;
    segment_search search = {.m = m};
    dl_iterate_phdr(look_at_object, &search);
    if (!search.found)
        return status_fail(why, TESS_ERROR_INTERNAL, "the module of %s is not where it was loaded", m->file);
    m->shared_bytes = (int)search.shared;
    m->span = search.span;
    if (!m->request.traced) return TESS_OK;
    const char *slash = strrchr(m->file, '/');
    if (lines_read(image, size, slash ? slash + 1 : m->file, &m->where)) return TESS_OK;
    return status_fail(why, TESS_ERROR_MEMORY, "no memory for the lines of %s", m->file);
}

/* ---- The list ---- */

static void free_module(module *m) {
    if (m->handle) dlclose(m->handle);
    lines_free(&m->where);
    memory_free(m);
}

static int is_same(const module *m, const module_request *request) {
    const module_request *r = &m->request;
    if (r->row != request->row || r->in != request->in || r->out != request->out ||
        r->traced != request->traced || r->steps != request->steps || strcmp(m->file, request->file) != 0)
        return 0;
    for (int i = 0; r->row && registry_param_name(r->row, i); i++)
        if (m->params[i] != request->params[i]) return 0;
    return 1;
}

tess_status module_get(module_list *list, const module_request *request, module **out, sentence *why) {
    for (module *m = list->first; m; m = m->next)
        if (is_same(m, request)) {
            *out = m;
            return TESS_OK;
        }
    module *made = memory_alloc_zeroed(sizeof *made);
    if (!made) return status_fail(why, TESS_ERROR_MEMORY, "no memory for a module (%zu bytes)", sizeof *made);
    made->request = *request;
    snprintf(made->file, sizeof made->file, "%s", request->file);
    if (request->row) memcpy(made->params, request->params, sizeof made->params);
    char *image = NULL;
    size_t size;
    tess_status status = module_build(request, &image, &size, &made->compile_ms, why);
    if (status == TESS_OK) status = load(made, image, size, why);
    memory_free(image);
    if (status != TESS_OK) {
        free_module(made);
        return status;
    }
    made->next = list->first;
    list->first = made;
    *out = made;
    return TESS_OK;
}

void module_close(module_list *list) {
    while (list->first) {
        module *next = list->first->next;
        free_module(list->first);
        list->first = next;
    }
}

tess_status module_kernel(const module *m, const char *name, void (**kernel)(void), sentence *why) {
    void *found = dlsym(m->handle, name);
    if (!found)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s has no kernel '%s': KERNEL(threads) %s(gemm g) must be there", m->file, name,
                           name);
    memcpy(kernel, &found, sizeof found);
    return TESS_OK;
}
