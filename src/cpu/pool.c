/* pool.c: a pool of threads with one job at a time.
 *
 * The invariant: a job is a number that counts on, and how many threads it wants. A thread takes part in it if its own
 * number is below that, exactly once, and `busy` counts those that have not finished it; the caller leaves pool_run only
 * when busy is 0. Whoever waits, for a job, for the others' end or at a meeting, first looks for a while and then
 * sleeps: products often follow each other within microseconds, and waking a thread takes longer than a small
 * one. Nobody who looks needs the lock: sixteen threads that take it one after the other would take longer, too. */
#include "pool.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "../memory.h"

enum { MOST_THREADS = 1024 };
enum { LOOKS = 4096 }; /* about as long as it takes to wake a thread */

typedef struct worker {
    pool *owner;
    int number;
    uint64_t seen; /* the job there was when it was started: not for it */
    pthread_t thread;
} worker;

/* What many look at while others write has a line of the cache to itself. */
#define OWN_LINE _Alignas(64)
struct pool {
    pthread_mutex_t lock; /* for sleeping and waking; what is waited for is atomic */
    pthread_cond_t start, finish;
    void (*task)(void *argument, int worker);
    void *argument;
    fenv_t rounding; /* the caller's, and how it treats subnormal numbers: all compute as it does */
    int started;     /* threads alive: workers[1] … workers[started] */
    OWN_LINE _Atomic uint64_t job; /* its number, and in the lowest bits the threads that it wants */
    _Atomic int stopping;
    OWN_LINE _Atomic int busy;
    OWN_LINE _Atomic int arrived; /* at the meeting */
    OWN_LINE _Atomic unsigned meetings;
    OWN_LINE worker workers[MOST_THREADS];
};
enum { NEXT_JOB = 1 << 16 }; /* more than MOST_THREADS */

static int wanted_by(uint64_t job) {
    return (int)(job % NEXT_JOB);
}

static void reset(pool *self) {
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->start, NULL);
    pthread_cond_init(&self->finish, NULL);
    self->started = 0;
    atomic_store(&self->busy, 0);
    atomic_store(&self->stopping, 0);
    atomic_store(&self->arrived, 0);
}

pool *pool_create(void) {
    pool *self = memory_alloc_zeroed(sizeof *self);
    if (self) reset(self);
    return self;
}

void pool_forget(pool *self) {
    reset(self);
}

/* One look's worth of waiting; now and then the CPU is offered to others. */
static void breathe(int look) {
    if (look % 64 == 63) sched_yield();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int has_work(pool *self, uint64_t seen) {
    return atomic_load(&self->job) != seen || atomic_load(&self->stopping);
}

/* Returns when there is a job after `seen`, or the pool ends. */
static void wait_for_work(pool *self, uint64_t seen) {
    for (int look = 0; look < LOOKS; look++) {
        if (has_work(self, seen)) return;
        breathe(look);
    }
    pthread_mutex_lock(&self->lock);
    while (!has_work(self, seen)) pthread_cond_wait(&self->start, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

static void *work(void *argument) {
    worker *me = argument;
    pool *self = me->owner;
    for (uint64_t seen = me->seen;;) {
        wait_for_work(self, seen);
        if (atomic_load(&self->stopping)) return NULL;
        seen = atomic_load(&self->job);
        if (me->number >= wanted_by(seen)) continue;
        fesetenv(&self->rounding);
        self->task(self->argument, me->number);
        if (atomic_fetch_sub(&self->busy, 1) == 1) {
            pthread_mutex_lock(&self->lock);
            pthread_cond_signal(&self->finish);
            pthread_mutex_unlock(&self->lock);
        }
    }
}

/* Signals stay with the threads of the program. */
int pool_ready(pool *self, int workers) {
    if (workers > MOST_THREADS) workers = MOST_THREADS;
    if (self->started + 1 >= workers) return workers;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (self->started + 1 < workers) {
        worker *next = &self->workers[self->started + 1];
        next->owner = self;
        next->number = self->started + 1;
        next->seen = atomic_load(&self->job);
        if (pthread_create(&next->thread, NULL, work, next) != 0) break;
        self->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return self->started + 1;
}

static void wait_for_end(pool *self) {
    for (int look = 0; look < LOOKS; look++) {
        if (atomic_load(&self->busy) == 0) return;
        breathe(look);
    }
    pthread_mutex_lock(&self->lock);
    while (atomic_load(&self->busy) > 0) pthread_cond_wait(&self->finish, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

void pool_run(pool *self, int workers, void (*task)(void *argument, int worker), void *argument) {
    if (workers > 1) {
        pthread_mutex_lock(&self->lock);
        self->task = task;
        self->argument = argument;
        fegetenv(&self->rounding);
        atomic_store(&self->busy, workers - 1);
        uint64_t last = atomic_load(&self->job);
        atomic_store(&self->job, last - (uint64_t)wanted_by(last) + NEXT_JOB + (uint64_t)workers);
        pthread_cond_broadcast(&self->start);
        pthread_mutex_unlock(&self->lock);
    }
    task(argument, 0);
    if (workers > 1) wait_for_end(self);
}

void pool_meet(pool *self, int workers) {
    if (workers == 1) return;
    unsigned meeting = atomic_load(&self->meetings);
    if (atomic_fetch_add(&self->arrived, 1) == workers - 1) {
        atomic_store(&self->arrived, 0);
        atomic_fetch_add(&self->meetings, 1);
        return;
    }
    for (int look = 0; atomic_load(&self->meetings) == meeting; look++) breathe(look);
}

void pool_destroy(pool *self) {
    if (!self) return;
    pthread_mutex_lock(&self->lock);
    atomic_store(&self->stopping, 1);
    pthread_cond_broadcast(&self->start);
    pthread_mutex_unlock(&self->lock);
    for (int i = 1; i <= self->started; i++) pthread_join(self->workers[i].thread, NULL);
    pthread_cond_destroy(&self->start);
    pthread_cond_destroy(&self->finish);
    pthread_mutex_destroy(&self->lock);
    memory_free(self);
}
