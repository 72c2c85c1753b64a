/* queue.c: one product on device memory, as launches on a stream. Nothing here waits; nothing allocates once
 * a product of the same shape has run, so that it can be captured in a graph. */
#include "../slices.h"
#include "cuda.h"
#include "jit.h"
#include "tensor_map.h"

tess_status cuda_launch(cuda_device *self, cu_function function, const unsigned grid[3], int block_x,
                        int block_y, int shared, cu_stream stream, void *arguments, sentence *why) {
    void *list[] = {arguments};
    CUDA(self, cuLaunchKernel, function, grid[0], grid[1], grid[2], (unsigned)block_x, (unsigned)block_y, 1,
         (unsigned)shared, stream, list, NULL);
    return TESS_OK;
}

/* A device and the stream that product.c's launches go to. */
typedef struct queue {
    cuda_device *self;
    cu_stream stream;
} queue;

/* Dynamic shared memory that a kernel beside products may have without asking: it has up to 12 KB of its own. */
enum { SHARED_UNASKED = 36 << 10 };

/* Since sm_90, and where a graph may be made of such launches: since CUDA 12.3. */
static int may_overlap(const cuda_device *self, const product_launch *launch) {
    return (!launch->row || launch->row->dependent) && driver.cuLaunchKernelEx &&
           self->facts->architecture >= 90 && self->facts->gpu.driver_version >= 12030;
}

/* The kernel may start while the launch ahead of it still runs; it waits by itself before it touches memory. */
static tess_status launch_dependent(queue *to, cu_function function, const unsigned grid[3],
                                    const launch_shape *shape, void *arguments, sentence *why) {
    void *list[] = {arguments};
    cu_launch_attribute overlaps = {.id = CU_LAUNCH_PROGRAMMATIC, .what.value = 1};
    cu_launch_config config = {.grid = {grid[0], grid[1], grid[2]},
                               .block = {(unsigned)shape->block_x, (unsigned)shape->block_y, 1},
                               .shared = (unsigned)shape->shared,
                               .stream = to->stream,
                               .attributes = &overlaps,
                               .attribute_count = 1};
    CUDA(to->self, cuLaunchKernelEx, &config, function, list, NULL);
    return TESS_OK;
}

static tess_status launch_function(queue *to, const product_launch *launch, cu_function function,
                                   const unsigned grid[3], void *arguments, sentence *why) {
    const launch_shape *shape = &launch->shape;
    if (may_overlap(to->self, launch)) return launch_dependent(to, function, grid, shape, arguments, why);
    return cuda_launch(to->self, function, grid, shape->block_x, shape->block_y, shape->shared, to->stream,
                       arguments, why);
}

static tess_status launch_kernel(queue *to, const product_launch *launch, sentence *why) {
    cuda_kernel *kernel;
    union {
        split_gemm split;
        apart_gemm apart;
    } with_maps;
    unsigned grid[3] = {launch->grid[0], launch->grid[1], launch->grid[2]};
    void *arguments = (void *)(uintptr_t)launch->arguments;
    TRY(cuda_load_kernel(to->self, launch->row, launch->in, launch->out, launch->params, &kernel, why));
    launch_fit_grid(launch->row, &launch->shape, kernel->at_once, grid);
    if (launch->row->laces) {
        TRY(tensor_map_apart(to->self, launch, &with_maps.apart, why));
        arguments = &with_maps;
    } else if (launch->row->box) {
        TRY(tensor_map_arguments(to->self, launch, &with_maps.split.maps, why));
        if (launch->split) with_maps.split.whole = *launch->split;
        arguments = &with_maps;
    }
    return launch_function(to, launch, kernel->function, grid, arguments, why);
}

static tess_status launch_one(void *argument, const product_launch *launch, sentence *why) {
    queue *to = argument;
    cu_function function;
    if (launch->row) return launch_kernel(to, launch, why);
    TRY(cuda_load_helper(to->self, launch->file ? launch->file : "move.cu",
                         jit_type_macro(launch->in, launch->out), launch->entry, &function, why));
    if (launch->shape.shared > SHARED_UNASKED)
        CUDA(to->self, cuFuncSetAttribute, function, CU_FUNCTION_MOST_DYNAMIC_SHARED, launch->shape.shared);
    return launch_function(to, launch, function, launch->grid, (void *)(uintptr_t)launch->arguments, why);
}

static tess_status load_one(void *argument, const product_launch *launch, sentence *why) {
    const queue *to = argument;
    cuda_kernel *kernel;
    return cuda_load_kernel(to->self, launch->row, launch->in, launch->out, launch->params, &kernel, why);
}

/* Whether split_prepare_long can run: clusters of more than eight blocks have to be asked for, and need multiprocessors that lie
 * together. */
static int has_large_clusters(cuda_device *self) {
    cu_launch_config config = {.grid = {SPLIT_LONG_CLUSTER, 1, 1},
                               .block = {SPLIT_THREADS, 1, 1},
                               .shared = SPLIT_LONG_BYTES};
    cu_function function;
    sentence unused;
    int clusters = 0;
    if (!driver.cuOccupancyMaxActiveClusters) return 0;
    if (cuda_load_helper(self, "split_prepare.cu", jit_type_macro(TESS_F32, TESS_F32), "split_prepare_long",
                         &function, &unused) != TESS_OK)
        return 0;
    return driver.cuFuncSetAttribute(function, CU_FUNCTION_LARGE_CLUSTERS, 1) == CU_OK &&
           driver.cuFuncSetAttribute(function, CU_FUNCTION_MOST_DYNAMIC_SHARED, SPLIT_LONG_BYTES) == CU_OK &&
           driver.cuOccupancyMaxActiveClusters(&clusters, function, &config) == CU_OK && clusters > 0;
}

/* Blocks that may share a strip of split_prepare.cu; there are no clusters before sm_90. */
static int cluster_blocks(cuda_device *self) {
    if (self->facts->architecture < 90) return 0;
    if (!self->clusters) self->clusters = has_large_clusters(self) ? SPLIT_LONG_CLUSTER : SPLIT_CLUSTER;
    return self->clusters;
}

/* Memory for the parts of f32: for all of k; or of a card that is nearly full for slices of it; or none. What was refused
 * once is not asked for again, so that a product that runs for the second time allocates nothing. */
static tess_status find_room(cuda_device *self, const problem *what, const operands *data, int *slices,
                             char **workspace, sentence *why) {
    int64_t bytes;
    for (*slices = 1; (bytes = slices_workspace(what, data, *slices)) > 0; *slices *= 2) {
        int was_refused = self->refused > 0 && bytes >= self->refused;
        if (was_refused && (size_t)bytes > self->workspace.size) continue;
        tess_status status = cuda_workspace(self, bytes, workspace, why);
        if (status != TESS_ERROR_MEMORY || self->workspace_lent) return status;
        self->refused = bytes;
    }
    *workspace = NULL;
    return TESS_OK;
}

/* Memory for shares of k and their sums; NULL: there is not enough on the card. */
static tess_status find_room_for_shares(cuda_device *self, const plan *decided, const operands *data,
                                        char **workspace, sentence *why) {
    int64_t bytes;
    *workspace = NULL;
    TRY(product_workspace(decided, data, &bytes, why));
    if (self->refused > 0 && bytes >= self->refused && (size_t)bytes > self->workspace.size) return TESS_OK;
    tess_status status = cuda_workspace(self, bytes, workspace, why);
    if (status != TESS_ERROR_MEMORY || self->workspace_lent) return status;
    self->refused = bytes;
    *workspace = NULL;
    return TESS_OK;
}

/* The workspace is there already if k is shared. */
static tess_status queue_split(queue *to, const plan *decided, const operands *data, char *workspace,
                               sentence *why) {
    cuda_device *self = to->self;
    product_target target = {to, launch_one, .by_pieces = 1, .clusters = cluster_blocks(self)};
    if (decided->share == 0) TRY(find_room(self, &decided->what, data, &target.slices, &workspace, why));
    if (workspace)
        self->way = (const int32_t *)(void *)workspace;
    else
        self->certain_way = TESS_WAY_F32;
    return product_run(&target, decided, data, workspace, why);
}

tess_status cuda_queue(cuda_device *self, const plan *decided, const operands *data, cu_stream stream,
                       sentence *why) {
    queue to = {self, stream};
    plan without;
    char *workspace = NULL;
    int64_t bytes;
    self->way = NULL;
    self->certain_way = TESS_WAY_ONLY;
    if (!decided->kernel->block) return cuda_peer_queue(self, decided, data, stream, why);
    if (decided->share > 0) TRY(find_room_for_shares(self, decided, data, &workspace, why));
    if (decided->share > 0 && !workspace) {
        without = *decided;
        without.share = 0;
        decided = &without;
    }
    if (decided->kernel->splits) return queue_split(&to, decided, data, workspace, why);
    if (decided->share == 0) {
        TRY(product_workspace(decided, data, &bytes, why));
        TRY(cuda_workspace(self, bytes, &workspace, why));
    }
    product_target target = {&to, launch_one, .load = load_one, .by_pieces = 1};
    return product_run(&target, decided, data, workspace, why);
}

tess_status cuda_queue_parts(cuda_device *self, const line_matrix *what, char *memory, int64_t *words,
                             sentence *why) {
    queue to = {self, self->stream};
    const kernel_row *kernel = registry_find("gpu", "split_01_fp16x3", why);
    if (!kernel) return TESS_ERROR_INTERNAL;
    product_target target = {&to, launch_one, .by_pieces = 1, .clusters = cluster_blocks(self)};
    return split_keep(&target, kernel, what, memory, words, why);
}

tess_status cuda_queue_scale(cuda_device *self, const problem *what, const operands *data, cu_stream stream,
                             sentence *why) {
    queue to = {self, stream};
    return product_scale(&(product_target){&to, launch_one, .by_pieces = 1}, what, data, why);
}
