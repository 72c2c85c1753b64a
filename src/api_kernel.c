/* api_kernel.c: the calls about GPU kernels that need no device: their text, and the formulas in it. */
#include <stdio.h>
#include <string.h>

#include "expression.h"
#include "memory.h"
#include "registry.h"

tess_status tess_kernel_text(const char *kernel, char *text, size_t *size) {
    sentence *why = status_of_thread();
    if (!kernel || !size)
        return status_fail(why, TESS_ERROR_ARGUMENT, "tess_kernel_text: %s is NULL",
                           kernel ? "size" : "kernel");
    const kernel_row *row = registry_find("gpu", kernel, why);
    if (!row) return TESS_ERROR_KERNEL;
    if (!row->block)
        return status_fail(why, TESS_ERROR_KERNEL, "%s is no kernel of ours: its text is not known", kernel);
    char file[64], *whole;
    snprintf(file, sizeof file, "%s.cu", row->info.name);
    TRY(kernel_source_read(row->path ? row->path : file, &whole, why));
    size_t room = *size;
    *size = strlen(whole) + 1;
    if (text && room > 0) snprintf(text, room, "%s", whole);
    memory_free(whole);
    return TESS_OK;
}

tess_status tess_evaluate(const char *formula, const tess_named_value *names, size_t count, double *value) {
    sentence *why = status_of_thread();
    if (!formula || !value || (!names && count > 0))
        return status_fail(why, TESS_ERROR_ARGUMENT, "tess_evaluate: %s is NULL",
                           !formula ? "formula"
                           : value  ? "names"
                                    : "value");
    expression_name *known = memory_alloc((count + 1) * sizeof *known);
    if (!known) return status_fail(why, TESS_ERROR_MEMORY, "no memory for %zu names", count);
    for (size_t i = 0; i < count; i++)
        known[i] = (expression_name){names[i].name ? names[i].name : "", names[i].value};
    const char *rest = formula;
    double found = 0;
    tess_status status = expression_value(&rest, known, count, &found, why);
    memory_free(known);
    if (status == TESS_OK && *rest)
        status = status_fail(why, TESS_ERROR_ARGUMENT,
                             "the formula '%.200s' should have ended before '%.40s'", formula, rest);
    if (status == TESS_OK) *value = found;
    return status;
}
