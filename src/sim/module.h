/* module.h: kernels as loaded shared objects. A module is one kernel file for one type and one set of
 * parameters, plain or traced. */
#ifndef MODULE_H
#define MODULE_H

#include "../registry.h"
#include "worker.h"
#include "lines.h"

typedef struct module_request {
    const char *file;      /* "simt_05_shared.cu" */
    const kernel_row *row; /* whose parameters these are; NULL: the file has none */
    const int64_t *params;
    tess_type in, out;
    int traced;
    int steps; /* of a traced module: it also announces where it goes, branch by branch */
} module_request;

typedef struct module {
    struct module *next;
    module_request request; /* row and types; params points to `params` */
    int64_t params[REGISTRY_PARAMS];
    char file[512];
    void *handle;
    lines where;                    /* of a traced module */
    uintptr_t base, span;           /* where it was loaded */
    int shared_bytes;               /* of its __shared__ variables */
    char *(*enter)(sim_here *here); /* sim_enter of port_sim.h */
    double compile_ms;              /* 0: it came from a cache */
} module;

/* Modules that are loaded, newest first. */
typedef struct module_list {
    module *first;
} module_list;

/* The module asked for, loaded; compiled first if it must be. It stays until the list is closed. */
tess_status module_get(module_list *list, const module_request *request, module **out, sentence *why);
void module_close(module_list *list);

/* The kernel of that name. */
tess_status module_kernel(const module *m, const char *name, void (**kernel)(void), sentence *why);
/* Whether modules can be traced here; if not, why. */
int module_can_trace(char why[256]);

#endif
