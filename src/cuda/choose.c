/* choose.c: which kernel a product gets on a card, and its parameters. What a kernel cannot do is refused here, before
 * anything is compiled. */
#include "../product.h"
#include "cuda.h"

/* Tiles of simt_12_pipelined, from large to small: large ones reuse more of what they load, but too few of them leave
 * multiprocessors idle. Found by measuring squares of 256 to 4096 on an H200. */
typedef struct tiling {
    int rows, cols;
    const char *params, *reason;
} tiling;
static const tiling tilings[] = {
    {128, 128, NULL, "it is the fastest kernel for all but small and thin products"},
    {64, 128, "BM=64,BN=128,BK=16,TM=8,TN=8,STAGES=3", "larger tiles would leave multiprocessors idle"},
    {32, 64, "BM=32,BN=64,BK=32,TM=4,TN=4,STAGES=3", "larger tiles would leave most multiprocessors idle"},
};
static const tiling tilings_wide[] = {
    {64, 128, NULL, "it is the fastest kernel for all but small and thin products"},
    {64, 64, "BM=64,BN=64,BK=16,TM=4,TN=8,STAGES=3", "larger tiles would leave multiprocessors idle"},
    {32, 64, "BM=32,BN=64,BK=16,TM=4,TN=4,STAGES=3", "larger tiles would leave most multiprocessors idle"},
};
enum { TILINGS = sizeof tilings / sizeof tilings[0] };

static double tiles_of(const problem *what, int rows, int cols) {
    return (double)((what->m + rows - 1) / rows) * (double)((what->n + cols - 1) / cols) *
           (double)what->batch.count;
}

/* The largest tiles that give three of four multiprocessors a block. */
static const tiling *choose_tiling(const problem *what, int sms) {
    const tiling *t = what->in == TESS_F64 ? tilings_wide : tilings;
    int i = 0;
    while (i < TILINGS - 1 && tiles_of(what, t[i].rows, t[i].cols) < 0.75 * sms) i++;
    return &t[i];
}

/* The type comes first: only some kernels take all of them. Then the shape. */
choice cuda_choose(const device *base, const problem *what) {
    const cuda_device *self = (const cuda_device *)base;
    if (what->m == 1 || what->n == 1)
        return (choice){"vector_01_shuffle", NULL,
                        "with one row or column of C every element is used once, so that only reading in "
                        "order helps"};
    if (what->in != TESS_F32 && what->in != TESS_F64 && what->in != TESS_I32)
        return (choice){"simt_09_tile2d", NULL, "it is the fastest kernel that takes this type"};
    if (self->facts->architecture < 80)
        return tiles_of(what, 128, 128) < self->facts->gpu.sms
                   ? (choice){"simt_08_strided4x4", NULL, "larger tiles would leave multiprocessors idle"}
                   : (choice){"simt_11_warptile", NULL,
                              "it is the fastest for a card without asynchronous copies"};
    const tiling *t = choose_tiling(what, self->facts->gpu.sms);
    return (choice){"simt_12_pipelined", t->params, t->reason};
}

/* What the card has must be enough for the kernel. */
static tess_status check_card(const cuda_device *self, const plan *decided, sentence *why) {
    const kernel_row *kernel = decided->kernel;
    const tess_gpu_info *gpu = &self->facts->gpu;
    if (kernel->architecture > self->facts->architecture)
        return status_fail(why, TESS_ERROR_KERNEL, "%s needs sm_%d, but %s is sm_%d", kernel->info.name,
                           kernel->architecture, self->facts->model, self->facts->architecture);
    if (cuda_find_kernel(self, kernel, decided->what.in, decided->what.out, decided->params)) return TESS_OK;
    launch_shape shape;
    TRY(launch_shape_of(kernel, decided->what.in, decided->params, &shape, why));
    if (shape.shared > gpu->shared_per_block_most) {
        char values[192];
        registry_print_params(kernel, decided->params, values, sizeof values);
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s with %s needs %d bytes of shared memory a block, but %s has %d; make the "
                           "tiles smaller",
                           kernel->info.name, values, shape.shared, self->facts->model,
                           gpu->shared_per_block_most);
    }
    return TESS_OK;
}

tess_status cuda_prepare(const device *base, plan *decided, sentence *why) {
    const cuda_device *self = (const cuda_device *)base;
    if (!decided->kernel->block) return cuda_peer_prepare(self, decided, why);
    TRY(product_prepare(decided, why));
    return check_card(self, decided, why);
}
