/* choose.c: which kernel a product gets on a card, and its parameters. What a kernel cannot do is refused here, before
 * anything is compiled. */
#include <math.h>

#include "../numeric.h"
#include "../product.h"
#include "cuda.h"

/* Tiles of a kernel, from large to small: large ones reuse more of what they load, but too few of them leave
 * multiprocessors idle. Found by measuring squares of 256 to 4096 on an H200. */
typedef struct tiling {
    int rows, cols;
    const char *params, *reason;
} tiling;
enum { TILINGS = 3 };
#define FASTEST     "it is the fastest kernel for all but small and thin products"
#define SOME_IDLE   "larger tiles would leave multiprocessors idle"
#define MANY_IDLE   "larger tiles would leave most multiprocessors idle"
#define TENSOR_CORE "tensor cores multiply this type"

/* Of simt_12_pipelined, for elements of 4 bytes and of 8. */
static const tiling tilings[TILINGS] = {
    {128, 128, NULL, FASTEST},
    {64, 128, "BM=64,BN=128,BK=16,TM=8,TN=8,STAGES=3", SOME_IDLE},
    {32, 64, "BM=32,BN=64,BK=32,TM=4,TN=4,STAGES=3", MANY_IDLE},
};
static const tiling tilings_wide[TILINGS] = {
    {64, 128, NULL, FASTEST},
    {64, 64, "BM=64,BN=64,BK=16,TM=4,TN=8,STAGES=3", SOME_IDLE},
    {32, 64, "BM=32,BN=64,BK=16,TM=4,TN=4,STAGES=3", MANY_IDLE},
};
/* Of mma_07_raster: where a block may have 100 KB of shared memory, and where it may have 144. */
#define SMALL_TENSOR_TILES \
    { 64, 64, "BM=64,BN=64,WM=32,WN=32,KSTEPS=4", TENSOR_CORE ", and " MANY_IDLE }
static const tiling tilings_tensor[TILINGS] = {
    {256, 128, NULL, TENSOR_CORE},
    {128, 128, "BM=128,BN=128", TENSOR_CORE ", and " SOME_IDLE},
    SMALL_TENSOR_TILES,
};
static const tiling tilings_tensor_deep[TILINGS] = {
    {256, 128, "KSTEPS=4,STAGES=3", TENSOR_CORE},
    {128, 128, "BM=128,BN=128,KSTEPS=4,STAGES=3", TENSOR_CORE ", and " SOME_IDLE},
    SMALL_TENSOR_TILES,
};
enum { DEEP_SHARED = 144 << 10 };

/* The largest tiles that give three of four multiprocessors a block. */
static const tiling *choose_tiling(const tiling *t, const problem *what, int sms) {
    int i = 0;
    while (i < TILINGS - 1 && cuda_tiles(what, t[i].rows, t[i].cols) < 0.75 * sms) i++;
    return &t[i];
}

/* Nanoseconds that a kernel takes with its smallest tiles at least, on a card with so many multiprocessors. */
typedef struct least {
    int rows, cols;
    double start, step; /* of k */
    int sms;
} least;

/* Those of simt_12_pipelined are of f32 in rung 15; those of mma_07_raster three fifths of an A100's rate. */
static least least_of(const cuda_device *self, int tensor) {
    int sms = self->facts->gpu.sms;
    return tensor ? (least){64, 64, 2000, 5, sms} : (least){32, 64, 1850, 15, sms};
}

static double least_time(const void *with, const problem *run) {
    const least *l = with;
    return ceil(cuda_tiles(run, l->rows, l->cols) / l->sms) * (l->start + l->step * (double)run->k);
}

/* The share of k for which even the smallest tiles are too few; 0: there is none. That time need not be exact for it. */
static int64_t share_of(const least *l, const problem *what) {
    const cuda_sharing by = {cuda_tiles(what, l->rows, l->cols), l->sms, 128 / (int)numeric_size(what->in),
                             least_time, l};
    double time = cuda_worth_sharing(least_time(l, what));
    return cuda_choose_share(what, &by, &time);
}

/* Whether tensor cores may multiply it: f32 only where its last bits may be lost. */
static int may_use_tensor_cores(const problem *what) {
    if (what->in == TESS_F32) return what->compute == TESS_COMPUTE_TF32 || what->compute == TESS_COMPUTE_BF16;
    return what->in == TESS_F16 || what->in == TESS_BF16 || what->in == TESS_I8;
}

/* What the other family must take of the time that one does, for the models are not exact. */
static const double worth_it = 0.95;

/* What multiply-adds would be taken, and the nanoseconds of that. Elements of 16 bits were measured in rows, where every
 * multiprocessor has one small tile at most. */
static choice choose_plain(const cuda_device *self, const problem *what, choice_cut *cut, double *time) {
    int rows = what->a_col == 1 && what->b_col == 1 && what->c_col == 1;
    if (what->in == TESS_F32) return cuda_choose_simt(self, what, cut, time);
    if (what->in == TESS_I8 || !rows || cuda_tiles(what, 16, 16) > self->facts->gpu.sms)
        return (choice){NULL, NULL, NULL};
    *time = 750 + 450 * ceil((double)what->k / 16);
    return (choice){"simt_09_tile2d", "BM=16,BN=16,BK=16,TM=1,TN=2", NULL};
}

/* Where multiply-adds take less time they are taken: tensor cores are slow to begin with, and so are copies for what is not
 * aligned. f32 that may lose its last bits keeps them then. */
static choice exact_if_faster(const cuda_device *self, const problem *what, choice tensor, double time,
                              choice_cut *cut) {
    choice_cut of_plain = {.share = 0};
    double plain;
    choice by_plain = choose_plain(self, what, &of_plain, &plain);
    if (!by_plain.kernel || plain >= worth_it * time) return tensor;
    *cut = of_plain;
    by_plain.reason = "multiply-adds take less time than tensor cores for so small a product";
    return by_plain;
}

static choice choose_tensor(const cuda_device *self, const problem *what, choice_cut *cut) {
    double time;
    choice chosen = cuda_choose_hopper(self, what, cut, &time);
    if (chosen.kernel) return exact_if_faster(self, what, chosen, time, cut);
    if (self->facts->architecture >= 80) {
        int deep = self->facts->gpu.shared_per_block_most >= DEEP_SHARED;
        const tiling *list = deep ? tilings_tensor_deep : tilings_tensor,
                     *t = choose_tiling(list, what, self->facts->gpu.sms);
        least smallest = least_of(self, 1);
        if (t == &list[TILINGS - 1]) cut->share = share_of(&smallest, what);
        return (choice){"mma_07_raster", t->params, t->reason};
    }
    if (what->in == TESS_F16 || what->in == TESS_I8)
        return (choice){"mma_02_shared", NULL, TENSOR_CORE ", without asynchronous copies"};
    return (choice){NULL, NULL, NULL};
}

/* By parts on tensor cores, or by multiply-adds. Which tiles those would get is not asked where none would do. */
static choice choose_f32(const cuda_device *self, const problem *what, choice_cut *cut) {
    choice_cut of_parts = {.share = 0};
    double parts, plain;
    choice by_parts = cuda_choose_split(self, what, &of_parts, &parts, &plain);
    if (!by_parts.kernel || parts >= plain) {
        choice by_plain = cuda_choose_simt(self, what, cut, &plain);
        if (!by_parts.kernel || parts >= worth_it * plain) return by_plain;
    }
    *cut = of_parts;
    return by_parts;
}

/* The type comes first: only some kernels take all of them. Then the shape. */
choice cuda_choose(const device *base, const problem *what, choice_cut *cut) {
    const cuda_device *self = (const cuda_device *)base;
    if (what->m == 1 || what->n == 1)
        return (choice){"vector_01_shuffle", NULL,
                        "with one row or column of C every element is used once, so that only reading in "
                        "order helps"};
    if (may_use_tensor_cores(what)) {
        choice chosen = choose_tensor(self, what, cut);
        if (chosen.kernel) return chosen;
    }
    if (what->in != TESS_F32 && what->in != TESS_F64 && what->in != TESS_I32)
        return (choice){"simt_09_tile2d", NULL, "it is the fastest kernel that takes this type"};
    if (self->facts->architecture < 80)
        return cuda_tiles(what, 128, 128) < self->facts->gpu.sms
                   ? (choice){"simt_08_strided4x4", NULL, SOME_IDLE}
                   : (choice){"simt_11_warptile", NULL,
                              "it is the fastest for a card without asynchronous copies"};
    if (what->in == TESS_F32) return choose_f32(self, what, cut);
    choice doubles = what->in == TESS_F64 ? cuda_choose_f64(self, what, cut) : (choice){NULL, NULL, NULL};
    if (doubles.kernel) return doubles;
    least smallest = least_of(self, 0);
    double time = least_time(&smallest, what);
    choice several = cuda_choose_batched(self, what, &time);
    if (several.kernel) return several;
    const tiling *list = what->in == TESS_F64 ? tilings_wide : tilings,
                 *t = choose_tiling(list, what, self->facts->gpu.sms);
    if (t == &list[TILINGS - 1]) cut->share = share_of(&smallest, what);
    return (choice){"simt_12_pipelined", t->params, t->reason};
}

/* What the card has must be enough for the kernel. */
static tess_status check_card(const cuda_device *self, const plan *decided, const kernel_row *kernel,
                              const int64_t params[REGISTRY_PARAMS], sentence *why) {
    const tess_gpu_info *gpu = &self->facts->gpu;
    tess_type in = route_input(&decided->what, kernel);
    TRY(registry_check_architecture(kernel, in, self->facts->architecture, self->facts->model, why));
    if (kernel->box && !driver.cuTensorMapEncodeTiled)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s needs cuTensorMapEncodeTiled, which this CUDA driver (%d.%d) does not have; "
                           "install one for CUDA 12 or later",
                           kernel->info.name, gpu->driver_version / 1000, gpu->driver_version % 1000 / 10);
    if (cuda_find_kernel(self, kernel, in, decided->what.out, params)) return TESS_OK;
    launch_shape shape;
    TRY(launch_shape_of(kernel, in, params, &shape, why));
    if (shape.shared > gpu->shared_per_block_most) {
        char values[192];
        registry_print_params(kernel, params, values, sizeof values);
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
    if (decided->rest.kernel) TRY(check_card(self, decided, decided->rest.kernel, decided->rest.params, why));
    return check_card(self, decided, decided->kernel, decided->params, why);
}
