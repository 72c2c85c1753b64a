/* compile_facts.c: what the compiler makes of a kernel, asked without a GPU. */
#include <stdio.h>
#include <string.h>

#include "../launch.h"
#include "jit.h"

/* Parameters that are not named have the defaults of the type. */
static tess_status complete_params(const kernel_row *row, const char *params, tess_type type,
                                   int64_t values[REGISTRY_PARAMS], sentence *why) {
    registry_defaults(row, type, values);
    return registry_parse_params(row, params, values, why);
}

tess_status tess_compile_facts(const char *kernel, const char *params, tess_type type, int architecture,
                               tess_kernel_facts *facts) {
    sentence *why = status_of_thread();
    int64_t values[REGISTRY_PARAMS];
    launch_shape shape;
    jit_code code;
    if (!kernel || !facts)
        return status_fail(why, TESS_ERROR_ARGUMENT, "tess_compile_facts: %s is NULL",
                           kernel ? "facts" : "kernel");
    memset(facts, 0, sizeof *facts);
    const kernel_row *row = registry_find("gpu", kernel, why);
    if (!row) return TESS_ERROR_KERNEL;
    tess_type out = type == TESS_I8 ? TESS_I32 : type;
    if (!row->block || !registry_takes(row, type, out))
        return status_fail(why, TESS_ERROR_TYPE, "%s cannot be compiled for %s", kernel,
                           tess_type_name(type));
    if (registry_check_architecture(row, type, architecture, "what was asked for", why) != TESS_OK)
        return TESS_ERROR_DEVICE;
    TRY(complete_params(row, params, type, values, why));
    TRY(launch_shape_of(row, type, values, &shape, why));
    const char *file = row->path;
    char name[64];
    if (!file) {
        snprintf(name, sizeof name, "%s.cu", row->info.name);
        file = name;
    }
    jit_request request = {file, jit_type_macro(type, out), row, values, architecture};
    TRY(jit_compile(&request, &code, why));
    *facts = (tess_kernel_facts){.registers = code.registers,
                                 .shared_bytes = code.shared_bytes + shape.shared,
                                 .spill_bytes = code.spill_bytes,
                                 .block_threads = shape.block_x * shape.block_y,
                                 .compile_ms = code.compile_ms};
    jit_free(&code);
    if (facts->registers > 0) return TESS_OK;
    return status_fail(why, TESS_ERROR_DEVICE,
                       "NVRTC does not know sm_%d: it makes PTX for it, which has no registers",
                       architecture);
}
