/* parallel.c: see parallel.h. A thread that cannot be started is done without. */
#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST_THREADS = 32 };

typedef struct job {
    int64_t rows;
    void (*work)(void *argument, int block, int64_t first, int64_t end);
    void *argument;
    atomic_int next;
} job;

static void *take_blocks(void *argument) {
    job *j = argument;
    for (int block; (block = atomic_fetch_add(&j->next, 1)) < PARALLEL_BLOCKS;) {
        int64_t first = j->rows * block / PARALLEL_BLOCKS, end = j->rows * (block + 1) / PARALLEL_BLOCKS;
        if (first < end) j->work(j->argument, block, first, end);
    }
    return NULL;
}

void parallel_rows(int64_t rows, void (*work)(void *argument, int block, int64_t first, int64_t end),
                   void *argument) {
    job j = {.rows = rows, .work = work, .argument = argument};
    pthread_t threads[MOST_THREADS];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = cpus < 1 ? 0 : cpus > MOST_THREADS ? MOST_THREADS - 1 : (int)cpus - 1, started = 0;
    while (started < wanted && pthread_create(&threads[started], NULL, take_blocks, &j) == 0) started++;
    take_blocks(&j);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}
