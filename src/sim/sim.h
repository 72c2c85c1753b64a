/* sim.h: what the files of the simulator's device share. */
#ifndef SIM_H
#define SIM_H

#include "../product.h"
#include "../workspace.h"
#include "grid.h"
#include "limits.h"

typedef struct sim_device {
    device base;
    const limits *limits;
    int checked; /* traced modules, every access checked */
    int threads;
    module_list modules;
    grid_workers workers;
    device_workspace copies; /* of matrices that a kernel does not take as they lie, or their parts */
    tess_way way;            /* of the last product */
    /* Of a checked device. */
    block_list blocks; /* what tess_alloc gave */
    int fine;          /* shared memory is watched byte by byte */
    int finer;         /* the last product must be run again so */
    char observed[2048];
} sim_device;

/* $TESSERA_NUM_THREADS, else $OMP_NUM_THREADS, else one per CPU this process may use. */
int sim_default_threads(void);

/* A launch of product.h; `self` is a sim_device. */
tess_status sim_launch_one(void *self, const product_launch *launch, sentence *why);

/* The module of a launch; `traced`, and with `steps`, as in module.h. */
tess_status sim_get_module(sim_device *self, const product_launch *launch, int traced, int steps,
                           module **out, sentence *why);

tess_status sim_kernel_facts(sim_device *self, const plan *decided, tess_kernel_facts *facts, sentence *why);

#endif
