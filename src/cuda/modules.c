/* modules.c: kernels on the card. Each is compiled (or taken from the disk cache) and loaded when it is
 * first needed, and stays until the device is closed: a kernel that has run once neither compiles nor
 * allocates again. */
#include <stdio.h>
#include <string.h>

#include "../memory.h"
#include "cuda.h"
#include "jit.h"

static int same_params(const kernel_row *row, const int64_t *x, const int64_t *y) {
    for (int i = 0; registry_param_name(row, i); i++)
        if (x[i] != y[i]) return 0;
    return 1;
}

const cuda_kernel *cuda_find_kernel(const cuda_device *self, const kernel_row *row, tess_type in,
                                    tess_type out, const int64_t params[REGISTRY_PARAMS]) {
    const char *type = jit_type_macro(in, out);
    for (const cuda_kernel *kernel = self->kernels; kernel; kernel = kernel->next)
        if (kernel->row == row && strcmp(kernel->type, type) == 0 && same_params(row, kernel->params, params))
            return kernel;
    return NULL;
}

static cuda_kernel *find_file(const cuda_device *self, const char *file, const char *type) {
    for (cuda_kernel *kernel = self->kernels; kernel; kernel = kernel->next)
        if (!kernel->row && strcmp(kernel->file, file) == 0 && strcmp(kernel->type, type) == 0) return kernel;
    return NULL;
}

/* Compiles and loads; everything in `kernel` but the module and what the compiler says is filled in. */
static tess_status load_module(cuda_device *self, const char *file, cuda_kernel *kernel, sentence *why) {
    jit_request request = {.file = file,
                           .type = kernel->type,
                           .row = kernel->row,
                           .params = kernel->params,
                           .architecture = self->facts->architecture};
    jit_code code;
    TRY(jit_compile(&request, &code, why));
    cu_result result = driver.cuModuleLoadData(&kernel->module, code.image);
    kernel->spill_bytes = code.spill_bytes;
    kernel->compile_ms = code.compile_ms;
    jit_free(&code);
    return result == CU_OK ? TESS_OK : cuda_fail(self, result, "cuModuleLoadData", why);
}

/* More than 48 KB of shared memory has to be asked for, and a kernel may want more of it than the driver
 * thinks. */
static tess_status set_attributes(cuda_device *self, const cuda_kernel *kernel, sentence *why) {
    if (kernel->shape.shared > 0)
        CUDA(self, cuFuncSetAttribute, kernel->function, CU_FUNCTION_MOST_DYNAMIC_SHARED,
             kernel->shape.shared);
    if (kernel->row->carveout > 0)
        CUDA(self, cuFuncSetAttribute, kernel->function, CU_FUNCTION_CARVEOUT, kernel->row->carveout);
    return TESS_OK;
}

/* Multiprocessors come in groups that no cluster reaches across, and large ones leave some of a group idle. */
static tess_status count_clusters(cuda_device *self, cuda_kernel *kernel, sentence *why) {
    const launch_shape *shape = &kernel->shape;
    cu_launch_config config = {.grid = {(unsigned)(kernel->at_once / shape->cluster * shape->cluster), 1, 1},
                               .block = {(unsigned)shape->block_x, (unsigned)shape->block_y, 1},
                               .shared = (unsigned)shape->shared};
    int clusters;
    if (!driver.cuOccupancyMaxActiveClusters) return TESS_OK;
    CUDA(self, cuOccupancyMaxActiveClusters, &clusters, kernel->function, &config);
    if (clusters > 0) kernel->at_once = (int64_t)clusters * shape->cluster;
    return TESS_OK;
}

/* A kernel whose blocks walk over tiles has as many as the card runs at once. */
static tess_status count_blocks(cuda_device *self, cuda_kernel *kernel, sentence *why) {
    const launch_shape *shape = &kernel->shape;
    int each;
    if (!kernel->row->persistent) return TESS_OK;
    CUDA(self, cuOccupancyMaxActiveBlocksPerMultiprocessor, &each, kernel->function,
         shape->block_x * shape->block_y, (size_t)shape->shared);
    kernel->at_once = (int64_t)each * self->facts->gpu.sms;
    return shape->cluster > 1 ? count_clusters(self, kernel, why) : TESS_OK;
}

static tess_status load_kernel(cuda_device *self, cuda_kernel *kernel, tess_type in, sentence *why) {
    char file[64];
    const char *name = kernel->row->info.name;
    snprintf(file, sizeof file, "%s.cu", name);
    TRY(launch_shape_of(kernel->row, in, kernel->params, &kernel->shape, why));
    TRY(load_module(self, kernel->row->path ? kernel->row->path : file, kernel, why));
    CUDA(self, cuModuleGetFunction, &kernel->function, kernel->module, name);
    TRY(set_attributes(self, kernel, why));
    return count_blocks(self, kernel, why);
}

static cuda_kernel *new_kernel(const kernel_row *row, const char *file, const char *type, sentence *why) {
    cuda_kernel *made = memory_alloc_zeroed(sizeof *made);
    if (!made) {
        status_fail(why, TESS_ERROR_MEMORY, "no memory for a kernel's entry (%zu bytes)", sizeof *made);
        return NULL;
    }
    made->row = row;
    made->file = file;
    made->type = type;
    return made;
}

static void free_kernel(cuda_device *self, cuda_kernel *kernel) {
    if (kernel->module && !self->forked) driver.cuModuleUnload(kernel->module);
    memory_free(kernel);
}

static tess_status keep(cuda_device *self, cuda_kernel *made, tess_status status) {
    if (status != TESS_OK) {
        free_kernel(self, made);
        return status;
    }
    made->next = self->kernels;
    self->kernels = made;
    return TESS_OK;
}

tess_status cuda_load_kernel(cuda_device *self, const kernel_row *row, tess_type in, tess_type out,
                             const int64_t params[REGISTRY_PARAMS], cuda_kernel **kernel, sentence *why) {
    cuda_kernel *found = (cuda_kernel *)(uintptr_t)cuda_find_kernel(self, row, in, out, params);
    if (!found) {
        found = new_kernel(row, NULL, jit_type_macro(in, out), why);
        if (!found) return TESS_ERROR_MEMORY;
        memcpy(found->params, params, sizeof found->params);
        TRY(keep(self, found, load_kernel(self, found, in, why)));
    }
    *kernel = found;
    return TESS_OK;
}

tess_status cuda_load_helper(cuda_device *self, const char *file, const char *type, const char *name,
                             cu_function *function, sentence *why) {
    cuda_kernel *found = find_file(self, file, type);
    if (!found) {
        found = new_kernel(NULL, file, type, why);
        if (!found) return TESS_ERROR_MEMORY;
        TRY(keep(self, found, load_module(self, file, found, why)));
    }
    CUDA(self, cuModuleGetFunction, function, found->module, name);
    return TESS_OK;
}

void cuda_unload_all(cuda_device *self) {
    while (self->kernels) {
        cuda_kernel *next = self->kernels->next;
        free_kernel(self, self->kernels);
        self->kernels = next;
    }
}
