/* pool.h: threads that wait for work. Own threads rather than OpenMP's, because a child of fork() must be
 * able to multiply, and libgomp hangs there. */
#ifndef POOL_H
#define POOL_H

typedef struct pool pool;

/* A pool without threads yet; NULL if there is no memory. */
pool *pool_create(void);
/* Waits for the threads to end. */
void pool_destroy(pool *self);

/* Makes up to `workers` threads ready, the caller among them, and returns how many there are. Threads are
 * started when first needed; if the system has no more, there are fewer. */
int pool_ready(pool *self, int workers);

/* Calls task(argument, worker) on `workers` threads at once, no more than pool_ready returned, worker 0 being
 * the caller, and returns when all are done. */
void pool_run(pool *self, int workers, void (*task)(void *argument, int worker), void *argument);

/* Within a task: waits until all of its `workers` threads have come here. */
void pool_meet(pool *self, int workers);

/* In the child after fork(): forgets the threads, which do not exist here. */
void pool_forget(pool *self);

#endif
