/* grid.c: each worker takes the next block until there is none.
 *
 * Blocks are given out in order and, once one has failed, no more are: so all blocks before a failed one have
 * been run, and the first that fails is the same however many workers there are. */
#include "grid.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../memory.h"

typedef struct grid_job {
    const module *m;
    const sim_launch *launch;
    trace_checks *checks;
    uint64_t blocks;
    _Atomic uint64_t next;
    _Atomic int failed;
} grid_job;

typedef struct grid_share {
    grid_job *job;
    sim_worker *worker;
    pthread_t thread;
    tess_status status;
    uint64_t block; /* the one that failed */
    sentence why;
} grid_share;

static tess_status run_one(grid_share *share, uint64_t block) {
    const unsigned *grid = share->job->launch->grid;
    unsigned x = (unsigned)(block % grid[0]), y = (unsigned)(block / grid[0] % grid[1]),
             z = (unsigned)(block / grid[0] / grid[1]);
    return block_run(share->worker, x, y, z);
}

static void *run_share(void *argument) {
    grid_share *share = argument;
    grid_job *job = share->job;
    sim_worker *worker = share->worker;
    char *shared = job->m->enter(&worker->here);
    worker->trace = NULL;
    block_begin(worker, job->launch, &share->why);
    if (job->checks) share->status = trace_begin(worker, job->checks, shared, &share->why);
    while (share->status == TESS_OK && !atomic_load(&job->failed)) {
        uint64_t block = atomic_fetch_add(&job->next, 1);
        if (block >= job->blocks) break;
        share->block = block;
        share->status = run_one(share, block);
    }
    if (share->status != TESS_OK) atomic_store(&job->failed, 1);
    if (job->checks) trace_end(worker);
    return NULL;
}

/* Workers with room for the dynamic shared memory. Returns how many there are, at least 1 unless there is no
 * memory. */
static int make_ready(grid_workers *workers, int wanted, int shared) {
    int ready = 0;
    while (workers->count < wanted) {
        sim_worker *made = worker_make();
        if (!made) break;
        workers->list[workers->count++] = made;
    }
    for (; ready < wanted && ready < workers->count; ready++)
        if (!worker_reserve(workers->list[ready], shared)) break;
    return ready;
}

/* The failure of the first block in order. */
static tess_status first_failure(const grid_share *shares, int count, sentence *why) {
    const grid_share *first = NULL;
    for (int i = 0; i < count; i++)
        if (shares[i].status != TESS_OK && (!first || shares[i].block < first->block)) first = &shares[i];
    if (!first) return TESS_OK;
    *why = first->why;
    return first->status;
}

tess_status grid_run(grid_workers *workers, int threads, const module *m, const sim_launch *launch,
                     trace_checks *checks, sentence *why) {
    grid_job job = {.m = m, .launch = launch, .checks = checks};
    job.blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    int wanted = threads < GRID_WORKERS ? threads : GRID_WORKERS;
    if ((uint64_t)wanted > job.blocks) wanted = (int)job.blocks;
    int count = make_ready(workers, wanted, launch->shared);
    grid_share *shares = memory_alloc_zeroed((size_t)GRID_WORKERS * sizeof *shares);
    if (count < 1 || !shares) {
        memory_free(shares);
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for a worker of the simulator (%d threads)",
                           BLOCK_THREADS);
    }
    int started = 1;
    for (int i = 0; i < count; i++) shares[i] = (grid_share){.job = &job, .worker = workers->list[i]};
    while (started < count && pthread_create(&shares[started].thread, NULL, run_share, &shares[started]) == 0)
        started++;
    run_share(&shares[0]);
    for (int i = 1; i < started; i++) pthread_join(shares[i].thread, NULL);
    tess_status status = first_failure(shares, started, why);
    memory_free(shares);
    return status;
}

tess_status grid_run_block(grid_workers *workers, const module *m, const sim_launch *launch,
                           trace_checks *checks, const unsigned block[3], sentence *why) {
    if (make_ready(workers, 1, launch->shared) < 1)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for a worker of the simulator");
    sim_worker *worker = workers->list[0];
    char *shared = m->enter(&worker->here);
    block_begin(worker, launch, why);
    tess_status status = trace_begin(worker, checks, shared, why);
    if (status == TESS_OK) status = block_run(worker, block[0], block[1], block[2]);
    trace_end(worker);
    return status;
}

void grid_close(grid_workers *workers) {
    for (int i = 0; i < workers->count; i++) worker_free(workers->list[i]);
    workers->count = 0;
}
