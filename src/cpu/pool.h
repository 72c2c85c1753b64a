/* pool.h: threads that wait for work. Own threads rather than OpenMP's, because a child of fork() must be able to
 * multiply, and libgomp hangs there. */
#ifndef POOL_H
#define POOL_H

typedef struct pool pool;

/* A pool without threads yet; NULL if there is no memory. */
pool *pool_create(void);
/* Waits for the threads to end. */
void pool_destroy(pool *self);

/* Calls task(argument, worker) on up to `workers` threads at once, worker 0 being the caller, and returns when all
 * are done. Threads are started when first needed; if the system has no more, fewer run, so a task takes its share
 * from a common counter rather than from its number. */
void pool_run(pool *self, int workers, void (*task)(void *argument, int worker), void *argument);

/* In the child after fork(): forgets the threads, which do not exist here. */
void pool_forget(pool *self);

#endif
