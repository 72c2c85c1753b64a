/* worker.h: a worker, which is a thread of the system that runs blocks, one after the other, and what it knows of the block:
 * its threads and warps. Every CUDA thread is a fiber (block.h says how they take turns). */
#ifndef WORKER_H
#define WORKER_H

#include <stdint.h>

#include "../status.h"
#include "fiber.h"
#define SIM_HOST
#include "port_sim.h"

enum { BLOCK_THREADS = 1024, BLOCK_LANES = 32, BLOCK_WARPS = BLOCK_THREADS / BLOCK_LANES };

/* Copies to shared memory that were queued and have not arrived. */
typedef struct async_copy {
    void *to;
    const void *from;
    int bytes, present, line; /* present: those that are read; zeros follow */
    uint32_t group;
    uintptr_t site; /* the address after the call that asked for it */
} async_copy;

typedef struct sim_thread {
    fiber context;
    sim_index index;
    int number, lane, warp;
    int line; /* where it waits */
    async_copy *copies;
    int first, count, room; /* copies[first] ... copies[count - 1] are on their way */
    uint32_t group;         /* the one that is being filled */
} sim_thread;

/* What a lane brings to a meeting of its warp, and takes away. The value of SIM_TENSOR is the address of its
 * sim_tensor. */
typedef struct sim_lane {
    uint32_t mask;
    int operation, operand, width;
    uint64_t value;
} sim_lane;

typedef struct sim_warp {
    uint32_t alive, ready, met; /* lanes */
    uint32_t meetings;
    sim_lane lanes[BLOCK_LANES];
} sim_warp;

/* What is run: the same for all blocks of a launch. */
typedef struct sim_launch {
    /* Takes a launch_gemm; if `moves` is 1 a launch_move, if it is 2 launch_moves; if `splits`, a split_arguments. */
    void (*kernel)(void);
    const void *arguments;
    int moves, splits;
    unsigned grid[3];
    int block_x, block_y;
    int shared;                     /* bytes of dynamic shared memory */
    const struct tensor_rule *rule; /* how tensor cores add; of a launch that only counts NULL */
} sim_launch;

struct trace;

typedef struct sim_worker {
    sim_here here; /* what the module sees; first, so that one leads to the other */
    sim_thread *running;
    int threads, warp_count, alive, waiting;
    const sim_launch *launch;
    struct trace *trace; /* NULL: nothing is checked */
    int stopped;         /* the block was given up; `why` says why */
    tess_status status;
    sentence *why;
    fiber home; /* where the worker goes when a block is done */
    char *stacks, *dynamic;
    int dynamic_size;
    sim_warp warps[BLOCK_WARPS];
    sim_thread all[BLOCK_THREADS];
} sim_worker;

/* A worker with its stacks; NULL if there is no memory. */
sim_worker *worker_make(void);
void worker_free(sim_worker *worker);
/* Room for dynamic shared memory; returns 0 if there is none. */
int worker_reserve(sim_worker *worker, int shared);

/* Gives the block up, from within one of its threads: does not return. */
void worker_stop(sim_worker *worker, tess_status status) __attribute__((noreturn));

#endif
