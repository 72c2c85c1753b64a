/* pool.c: a pool of threads with one job at a time.
 *
 * The invariant: a job is a generation. A thread takes part in generation g if its number is below `wanted`, exactly
 * once, and `busy` counts those that have not finished it; the caller leaves pool_run only when busy is 0. All of this
 * is guarded by one lock; the job itself is not. */
#include "pool.h"

#include <pthread.h>
#include <signal.h>

#include "../memory.h"

enum { MOST_THREADS = 1024 };

typedef struct worker {
    pool *owner;
    int number;
    pthread_t thread;
} worker;

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t start, finish;
    unsigned long generation;
    int wanted, busy, stopping;
    void (*task)(void *argument, int worker);
    void *argument;
    int started; /* threads alive: workers[1] … workers[started] */
    worker workers[MOST_THREADS];
};

static void reset(pool *self) {
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->start, NULL);
    pthread_cond_init(&self->finish, NULL);
    self->started = self->wanted = self->busy = self->stopping = 0;
}

pool *pool_create(void) {
    pool *self = memory_alloc_zeroed(sizeof *self);
    if (self) reset(self);
    return self;
}

void pool_forget(pool *self) {
    reset(self);
}

static void *work(void *argument) {
    worker *me = argument;
    pool *self = me->owner;
    pthread_mutex_lock(&self->lock);
    unsigned long seen = 0; /* a thread is started before the generation it is wanted for */
    for (;;) {
        while (!self->stopping && (self->generation == seen || me->number >= self->wanted))
            pthread_cond_wait(&self->start, &self->lock);
        if (self->stopping) break;
        seen = self->generation;
        pthread_mutex_unlock(&self->lock);
        self->task(self->argument, me->number);
        pthread_mutex_lock(&self->lock);
        if (--self->busy == 0) pthread_cond_signal(&self->finish);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* Starts threads until there are `workers` with the caller, or the system has no more. Signals stay with the threads
 * of the program. */
static void grow(pool *self, int workers) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (self->started + 1 < workers) {
        worker *next = &self->workers[self->started + 1];
        next->owner = self;
        next->number = self->started + 1;
        if (pthread_create(&next->thread, NULL, work, next) != 0) break;
        self->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pool_run(pool *self, int workers, void (*task)(void *argument, int worker), void *argument) {
    if (workers > MOST_THREADS) workers = MOST_THREADS;
    if (workers > self->started + 1) grow(self, workers);
    if (workers > self->started + 1) workers = self->started + 1;
    if (workers > 1) {
        pthread_mutex_lock(&self->lock);
        self->task = task;
        self->argument = argument;
        self->wanted = workers;
        self->busy = workers - 1;
        self->generation++;
        pthread_cond_broadcast(&self->start);
        pthread_mutex_unlock(&self->lock);
    }
    task(argument, 0);
    if (workers > 1) {
        pthread_mutex_lock(&self->lock);
        while (self->busy > 0) pthread_cond_wait(&self->finish, &self->lock);
        self->wanted = 0;
        pthread_mutex_unlock(&self->lock);
    }
}

void pool_destroy(pool *self) {
    if (!self) return;
    pthread_mutex_lock(&self->lock);
    self->stopping = 1;
    pthread_cond_broadcast(&self->start);
    pthread_mutex_unlock(&self->lock);
    for (int i = 1; i <= self->started; i++) pthread_join(self->workers[i].thread, NULL);
    pthread_cond_destroy(&self->start);
    pthread_cond_destroy(&self->finish);
    pthread_mutex_destroy(&self->lock);
    memory_free(self);
}
