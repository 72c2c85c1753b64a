/* worker.c: what a worker has, and how it leaves a block. */
#include "worker.h"

#include "../memory.h"

sim_worker *worker_make(void) {
    sim_worker *worker = memory_alloc_zeroed(sizeof *worker);
    if (!worker) return NULL;
    worker->stacks = memory_alloc((size_t)(BLOCK_THREADS + 1) * SIM_STACK);
    if (worker->stacks) return worker;
    memory_free(worker);
    return NULL;
}

void worker_free(sim_worker *worker) {
    if (!worker) return;
    for (int i = 0; i < BLOCK_THREADS; i++) memory_free(worker->all[i].copies);
    memory_free(worker->stacks);
    memory_free(worker->dynamic);
    memory_free(worker);
}

int worker_reserve(sim_worker *worker, int shared) {
    if (shared <= worker->dynamic_size) return 1;
    char *larger = memory_alloc((size_t)shared);
    if (!larger) return 0;
    memory_free(worker->dynamic);
    worker->dynamic = larger;
    worker->dynamic_size = shared;
    return 1;
}

void worker_stop(sim_worker *worker, tess_status status) {
    worker->stopped = 1;
    worker->status = status;
    fiber_switch(&worker->running->context, &worker->home);
    __builtin_unreachable(); /* nobody goes on with a thread of a block that was given up */
}
