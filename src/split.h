/* split.h: f32 products whose matrices are split into parts that tensor cores multiply exactly: the work of
 * kernels/split_prepare.cu around kernels/split_*.cu, as launches.
 *
 * Which of three ways a product takes depends on its data, and is decided where that lies: the kernels of all ways are
 * launched, and those whose turn it is not end at once. Nothing is waited for.
 *
 *   workspace   the state (the way, what every block of split_prepare found, and counters), then for A and for B the
 *               factors of their lines, then their parts, then room for sums of tiles that are cut along k; each begins at
 *               a multiple of 256 bytes */
#ifndef SPLIT_H
#define SPLIT_H

#include "product.h"

/* Written to the state by split_pack or the product's kernel; the values are those of tess_way in tessera.h. */
enum { SPLIT_FP16X3 = 1, SPLIT_BF16X6 = 2, SPLIT_FMA = 3 };

/* Elements of k of a chunk, and those of a line's parts that it takes at most; words at the end of the state that a
 * product's kernel counts in. */
enum { SPLIT_DEPTH = 64, SPLIT_CHUNK = 3 * SPLIT_DEPTH, SPLIT_COUNTERS = 2 + 2048 };
/* Of split_prepare.cu: threads of a block; blocks of a cluster of split_prepare, and of split_prepare_long, which not every card
 * has room for; and the shared memory that such a block has for a strip at most. */
enum { SPLIT_THREADS = 256, SPLIT_CLUSTER = 8, SPLIT_LONG_CLUSTER = 16, SPLIT_LONG_BYTES = 64 << 10 };
/* Lines beyond the last that have factors: the product's kernel reads them up to the end of its tile. */
enum { SPLIT_SPARE = 256 };

/* The arguments of split_prepare.cu's kernels, and of a product's that has no tensor maps: `split` in kernels/sides.h. A line
 * is a row of A or a column of B. */
typedef struct split_side {
    const float *from;
    uint16_t *parts;
    float *undo;             /* two factors for every line */
    int32_t *kept;           /* of parts that many products use: the way they are written for; else NULL */
    int32_t lines, products; /* products: 1 where all of a batch share it */
    int32_t together;        /* lines that a block reads at a time; 0: it lies in strips */
    int32_t rows;            /* of a strip: elements of each line that a block holds at a time */
    int32_t vec;             /* 4: may be read 16 bytes at a time; else 1 */
    int32_t unused;
    int64_t line, step, batch; /* from one line, element along k and product to the next */
} split_side;

typedef struct split_arguments {
    split_side a, b;
    int32_t *state;
    int32_t k, count;
    int32_t strip_blocks, blocks; /* of split_prepare: those for strips come first */
    int32_t least_way;
    int32_t known;   /* what was found of lines whose parts are kept */
    int32_t packs;   /* split_pack is launched too, and decides; 0: the product's kernel does it */
    int32_t cluster; /* blocks of split_prepare that share a strip */
    float alpha, beta;
    float *c;
    int64_t c_row, c_col, batch_c;
    float *sums;
    int64_t room; /* bytes for them */
} split_arguments;

/* Whether lines may be read 16 bytes at a time, if the first begins at a multiple of those. */
int split_is_wide(int64_t lines, int64_t line, int64_t step, int64_t batch);

/* Bytes of workspace for the product as the kernel sees it; and those of them for sums. `data`, if not NULL, says what is kept
 * elsewhere. */
int64_t split_workspace(const problem *run, const operands *data);
int64_t split_room(const problem *run);

/* What is kept of a matrix that many products share: the workspace of a product that has no other. */
typedef struct split_kept {
    char *memory;
    problem alone; /* its lines are an A's, and there is no B */
    int32_t found; /* all that split_prepare found of them */
} split_kept;

/* That product, without its data. */
problem split_alone(const line_matrix *from);
/* Writes its parts to the workspace, as for a product by that kernel. The first *words words of it are then the way, and
 * what split_found wants. */
tess_status split_keep(const product_target *target, const kernel_row *kernel, const line_matrix *from,
                       char *workspace, int64_t *words, sentence *why);
int32_t split_found(const int32_t *state, int64_t words);
/* The arguments for that product; the workspace, if it is not NULL, has the bytes above. With
 * `clusters`, if not 0, blocks of split_prepare may share a strip. */
split_arguments split_arguments_of(const problem *run, const operands *data, const kernel_row *kernel,
                                   int clusters, char *workspace);

/* The launches of a product. Without a workspace it is computed by plain multiply-adds. */
tess_status split_run(const product_target *target, product_launch *launch, const problem *run,
                      const operands *data, char *workspace, sentence *why);

#endif
