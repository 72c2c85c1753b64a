/* run.c: a product's calls of the seam: by where its matrices lie it is queued as it is, or copied piece by piece. */
#include "../product.h"
#include "cuda.h"

static tess_status run_product(cuda_device *self, const plan *decided, const operands *data, sentence *why) {
    int on_host;
    TRY(cuda_places(self, &decided->what, data, &on_host, why));
    if (on_host) return cuda_stage_run(self, decided, data, on_host, why);
    return cuda_queue(self, decided, data, self->stream, why);
}

tess_status cuda_run(device *base, const plan *decided, const operands *data, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    return cuda_leave(self, run_product(self, decided, data, why));
}

static tess_status run_scale(cuda_device *self, const problem *what, const operands *data, sentence *why) {
    int on_host;
    operands only_c = {.c = data->c, .beta = data->beta};
    TRY(cuda_places(self, what, &only_c, &on_host, why));
    if (!on_host) return cuda_queue_scale(self, what, &only_c, self->stream, why);
    plan scaling = {.what = *what};
    return cuda_stage_run(self, &scaling, &only_c, on_host, why);
}

tess_status cuda_scale(device *base, const problem *what, const operands *data, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    return cuda_leave(self, run_scale(self, what, data, why));
}

static tess_status read_kernel_facts(cuda_device *self, const plan *decided, tess_kernel_facts *facts,
                                     sentence *why) {
    route way;
    cuda_kernel *kernel;
    TRY(route_of(&decided->what, decided->kernel, decided->params, NULL, &way, why));
    const problem first = product_first(decided, &way), *run = &first;
    TRY(cuda_load_kernel(self, decided->kernel, run->in, run->out, decided->params, &kernel, why));
    const launch_shape *shape = &kernel->shape;
    int static_shared;
    CUDA(self, cuFuncGetAttribute, &facts->registers, CU_FUNCTION_REGISTERS, kernel->function);
    CUDA(self, cuFuncGetAttribute, &static_shared, CU_FUNCTION_SHARED, kernel->function);
    facts->block_threads = shape->block_x * shape->block_y;
    CUDA(self, cuOccupancyMaxActiveBlocksPerMultiprocessor, &facts->blocks_per_sm, kernel->function,
         facts->block_threads, (size_t)shape->shared);
    facts->shared_bytes = static_shared + shape->shared;
    facts->spill_bytes = kernel->spill_bytes;
    facts->compile_ms = kernel->compile_ms;
    facts->blocks = launch_blocks(decided->kernel, shape, kernel->at_once, launch_tiles(shape, run));
    return TESS_OK;
}

tess_status cuda_kernel_facts(device *base, const plan *decided, tess_kernel_facts *facts, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    if (!decided->kernel->block) return TESS_OK; /* a peer does not tell */
    TRY(cuda_enter(self, why));
    return cuda_leave(self, read_kernel_facts(self, decided, facts, why));
}
