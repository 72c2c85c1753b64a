/* registry.h: the kernels, as data. The rows come from kernels/kernels.def; what a GPU kernel's own file says of it
 * (its summary, its parameters and their defaults) is read from there when it is first asked for. */
#ifndef REGISTRY_H
#define REGISTRY_H

#include "kernel_source.h"
#include "status.h"

enum { REGISTRY_PARAMS = KERNEL_SOURCE_PARAMS, REGISTRY_UNSET = -1 };

typedef struct kernel_row {
    tess_kernel_info info;

    /* What follows is for kernels of a GPU. Expressions are over the parameters and `size`, the bytes of an
     * element of A. */
    int architecture;     /* the least it runs on: 75 is sm_75 */
    const char *block;    /* threads of a block: "BX, BY"; NULL: not a kernel of ours (a peer) */
    const char *tile;     /* rows and columns of C that a block computes: "BY, BX" */
    const char *products; /* products of a batch that a block computes such a tile of; NULL: 1 */
    const char *step; /* elements of k that are multiplied at a time, beyond its end too; NULL: BK or TILE */
    const char *shared; /* bytes of dynamic shared memory; NULL: none */
    const char *holds;  /* what must hold of the parameters, lines of "expression: why" */
    const char *wide;   /* parameters whose defaults differ for 8-byte types, as "TM=4,TN=4" */
    int spills;         /* bytes of registers that a thread may spill to memory, in any tile that is taken */
    int carveout;       /* percent of the L1 memory wanted as shared memory; 0: the driver decides */
    int vector_only;    /* takes m = 1 or n = 1 only, in any layout */
    int tensor;         /* runs on tensor cores: A and B in rows or columns (AT, BT), f32 as TF32 */
    int k_major;        /* of those: elements that are not of 16 bits must lie along k */
    int b_rows;         /* of those: but B in rows, along n */
    int splits;         /* multiplies parts that f32 is split into (src/split.h): the first way that it has */

    /* Of kernels whose tiles TMA moves, for sm_90 alone; the last two of others too. */
    const char *box; /* lines of the boxes of A, B and C: "A, B, C", 128 bytes each; NULL: no TMA */
    int clipped; /* boxes of A and B along k have no more lines than the matrix, where blocks share none */
    /* A cluster's blocks, as the kernel declares them: "rows, columns, shares", so many below one another and side by side,
     * and of those so many that have the same tile; NULL: one of each. */
    const char *cluster;
    int persistent; /* the grid is no more blocks than run at once; they walk over tiles and products */
    /* A tile has every so manieth row of C, whose lines of A begin alike: A is taken wherever its rows begin, and the rim of C
     * (launch.h) by tiles at the edge; A and B in rows. */
    int laces;
    int dependent; /* may start while the launch ahead of it runs: it waits itself (griddepcontrol) */

    const kernel_source *source; /* what its file says; NULL: it has none (cpu, peers) */
    const char *path;            /* of a kernel that is no part of the library: its file */
} kernel_row;

/* The kernel of that name among those of `device` ("cpu" or "gpu"); NULL and a sentence with the nearest name
 * if there is none. A name with a '/' is the path of a kernel's file (src/registry_file.h). In registry_find.c. */
const kernel_row *registry_find(const char *device, const char *name, sentence *why);
/* Row by number, from 0; NULL past the last. */
const kernel_row *registry_row(int index);
/* Whether the row's types list this product. */
int registry_takes(const kernel_row *kernel, tess_type in, tess_type out);
/* The least architecture it runs on with A and B of that type: tensor cores have bf16 and TF32 since sm_80. */
int registry_architecture(const kernel_row *kernel, tess_type in);
/* Refuses an architecture that it does not run on with A and B of that type. `card` is who has it. */
tess_status registry_check_architecture(const kernel_row *kernel, tess_type in, int architecture,
                                        const char *card, sentence *why);

/* The names of a GPU kernel's parameters in order, NULL past the last; the place of one, -1 if there is none of
 * that name; and the defaults, REGISTRY_UNSET where the device chooses. */
const char *registry_param_name(const kernel_row *kernel, int index);
int registry_find_param(const kernel_row *kernel, const char *name);
void registry_defaults(const kernel_row *kernel, tess_type in, int64_t values[REGISTRY_PARAMS]);

/* Reads "KC=256,MC=96" into values[], in the order of the kernel's parameters; those not named are left
 * alone. NULL and "" set nothing. Refuses a kernel whose file could not be read, or says what cannot be. */
tess_status registry_parse_params(const kernel_row *kernel, const char *text, int64_t values[REGISTRY_PARAMS],
                                  sentence *why);

/* Writes "KC=256 MC=96", or "" for a kernel without parameters. */
void registry_print_params(const kernel_row *kernel, const int64_t values[REGISTRY_PARAMS], char *text,
                           size_t size);

#endif
