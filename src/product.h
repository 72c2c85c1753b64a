/* product.h: a product as a list of launches: what devices that run GPU kernels do alike.
 *
 * A device prepares a plan with product_prepare, gives product_run memory for copies, and is handed one
 * launch after the other: of the kernel itself, and of move.cu where a view does not lie as the kernel wants
 * it.
 *
 * Where C has fewer tiles than there are multiprocessors and k is long, the plan says how much of k is a share. Shares are
 * products of a batch, whose sums go to the workspace in the type in which they are added; add.cu adds them in the order of
 * k, and makes C of that. A share is the same in every run of a plan, and so are the bits. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "launch.h"
#include "route.h"

struct split_arguments;

/* One launch. `arguments` is a launch_move if `moves` is 1, launch_moves if it is 2; what `split` is if that is not NULL and the
 * row, if any, has no boxes; else a launch_gemm. */
typedef struct product_launch {
    const kernel_row *row; /* NULL: a kernel of `file`, which has no parameters */
    const char *file;      /* NULL: move.cu */
    const int64_t *params;
    const char *entry;
    tess_type in, out; /* what the file is compiled for */
    tess_type from;    /* of a move: the type it reads; it writes `in` */
    launch_shape shape;
    int moves;
    const struct split_arguments *split; /* of a product that is split (split.h) */
    launch_rim rim;                      /* of a kernel with laces, */
    launch_late late;                    /* and what it copies itself */
    const void *arguments;
    unsigned grid[3];
} product_launch;

typedef struct product_target {
    void *self;
    tess_status (*launch)(void *self, const product_launch *launch, sentence *why);
    /* Optional: makes sure of what a launch needs, for one that comes when C has been written to already. */
    tess_status (*load)(void *self, const product_launch *launch, sentence *why);
    int by_pieces; /* whole pieces of 16 bytes may be read, of which a matrix has only a part */
    int clusters;  /* blocks that a cluster may have at most; 0: there are none */
    int slices; /* of k that f32 is split in at least (slices.h), and the workspace is for; 0: as few as can be */
} product_target;

/* Completes the parameters, the workspace and the route of a plan; refuses what the kernel does not take. */
tess_status product_prepare(plan *decided, sentence *why);

/* The product of the plan's kernel: without the rest of C, if there is one; of all whole shares of k, as a batch. */
problem product_first(const plan *decided, const route *way);

/* Bytes that a run needs beside the matrices: what the plan says, and more where addresses ask for a copy. */
tess_status product_workspace(const plan *decided, const operands *data, int64_t *bytes, sentence *why);

/* C = alpha*A*B + beta*C. `workspace` has the bytes that product_workspace says. */
tess_status product_run(const product_target *target, const plan *decided, const operands *data,
                        char *workspace, sentence *why);
/* C = beta*C. */
tess_status product_scale(const product_target *target, const problem *what, const operands *data,
                          sentence *why);

#endif
