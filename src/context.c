/* context.c: opening, closing, sharing and forking contexts.
 *
 * All open contexts stand in one list, so that the child of a fork can give each a fresh lock and tell its
 * device that its threads are gone. The list's own lock is taken across the fork. Order of locks: list, then
 * context, then sentence. */
#include "context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* The kinds of device there are, best first. */
static const device_ops *const kinds[] = {&cuda_device_ops, &cpu_device_ops, &sim_device_ops,
                                          &sim_checked_device_ops};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static tess_context *all_contexts;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void) {
    pthread_mutex_lock(&list_lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&list_lock);
}

/* A thread that held a context's lock does not exist here, so the locks are made anew, not unlocked. */
static void after_fork_in_child(void) {
    pthread_mutex_init(&list_lock, NULL);
    for (tess_context *ctx = all_contexts; ctx; ctx = ctx->next) {
        pthread_mutex_init(&ctx->lock, NULL);
        pthread_mutex_init(&ctx->sentence_lock, NULL);
        ctx->device->ops->after_fork(ctx->device);
    }
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

tess_status context_fail(tess_context *ctx, tess_status status, const sentence *why) {
    if (ctx) {
        pthread_mutex_lock(&ctx->sentence_lock);
        ctx->last = *why;
        pthread_mutex_unlock(&ctx->sentence_lock);
    } else {
        *status_of_thread() = *why;
    }
    return status;
}

const char *tess_error(const tess_context *ctx) {
    static _Thread_local sentence
        copy; /* so that no later failure, of any thread, can change what is being read */
    if (!ctx) {
        copy = *status_of_thread();
        return copy.text;
    }
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&ctx->sentence_lock;
    pthread_mutex_lock(lock);
    copy = ctx->last;
    pthread_mutex_unlock(lock);
    return copy.text;
}

/* The devices in order: kind by kind, and by index within a kind. NULL past the last. */
static const device_ops *device_at(int position, int *index) {
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        int count = kinds[kind]->count();
        if (position < count) {
            *index = position;
            return kinds[kind];
        }
        position -= count;
    }
    return NULL;
}

int tess_count_devices(void) {
    int total = 0;
    for (int kind = 0; kind < KIND_COUNT; kind++) total += kinds[kind]->count();
    return total;
}

tess_status tess_describe_gpu(int index, tess_gpu_info *info) {
    sentence *why = status_of_thread();
    if (!info) return status_fail(why, TESS_ERROR_ARGUMENT, "tess_describe_gpu: info is NULL");
    int within;
    const device_ops *ops = index < 0 ? NULL : device_at(index, &within);
    if (!ops || !ops->describe_gpu) return status_fail(why, TESS_ERROR_DEVICE, "device %d is no GPU", index);
    memset(info, 0, sizeof *info);
    return ops->describe_gpu(within, info, why);
}

tess_status tess_describe_device(int index, tess_device_info *info) {
    sentence *why = status_of_thread();
    if (!info) return status_fail(why, TESS_ERROR_ARGUMENT, "tess_describe_device: info is NULL");
    int within;
    const device_ops *ops = index < 0 ? NULL : device_at(index, &within);
    if (!ops)
        return status_fail(why, TESS_ERROR_ARGUMENT, "there is no device %d; they run from 0 to %d", index,
                           tess_count_devices() - 1);
    memset(info, 0, sizeof *info);
    ops->describe(within, info);
    return TESS_OK;
}

/* The best device that may be picked without being asked for. *instead says why a better kind is not here. */
static const device_ops *best_device(const char **instead) {
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (kinds[kind]->by_name_only) continue;
        if (kinds[kind]->count() > 0) return kinds[kind];
        if (kinds[kind]->absent) *instead = kinds[kind]->absent();
    }
    return NULL;
}

/* The kind a name begins with; with a number after a colon, *index is that. */
static const device_ops *kind_of_name(const char *name, int *index) {
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        size_t length = strlen(kinds[kind]->kind);
        if (strncmp(name, kinds[kind]->kind, length) != 0) continue;
        *index = 0;
        if (name[length] == '\0') return kinds[kind];
        char *end;
        long number = name[length] == ':' && name[length + 1] >= '0' && name[length + 1] <= '9'
                          ? strtol(name + length + 1, &end, 10)
                          : -1;
        if (number < 0 || number > 1000 || *end) continue;
        *index = (int)number;
        return kinds[kind];
    }
    return NULL;
}

/* Finds a device by its name: a kind ("cuda"), or a kind and a number ("cuda:1"). Kinds that are not asked for are
 * not touched: the cpu opens without a look at CUDA. */
static tess_status find_device(const char *name, const char *asked_by, const device_ops **ops, int *index,
                               const char **instead, sentence *why) {
    if (strcmp(name, "auto") == 0) {
        *ops = best_device(instead);
        return TESS_OK;
    }
    *ops = kind_of_name(name, index);
    if (*ops && *index < (*ops)->count()) return TESS_OK;
    if (*ops && (*ops)->count() == 0 && (*ops)->absent)
        return status_fail(why, TESS_ERROR_DEVICE, "there is no device '%.60s'%s: %.800s", name, asked_by,
                           (*ops)->absent());
    char known[256] = "";
    size_t used = 0;
    for (int position = 0; (*ops = device_at(position, index)) != NULL; position++) {
        tess_device_info info = {.name = ""};
        (*ops)->describe(*index, &info);
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, ", %.31s", info.name);
    }
    return status_fail(why, TESS_ERROR_DEVICE, "there is no device '%.60s'%s; there are: auto%s", name,
                       asked_by, known);
}

/* A number of threads that somebody meant to set, and mistyped, is not passed over. (OMP_NUM_THREADS is OpenMP's, and may be a
 * list.) */
static tess_status check_threads(sentence *why) {
    const char *text = getenv("TESSERA_NUM_THREADS");
    if (!text || !text[0]) return TESS_OK;
    char *end;
    long threads = strtol(text, &end, 10);
    if (!*end && threads >= 1 && threads <= DEVICE_MOST_THREADS) return TESS_OK;
    return status_fail(why, TESS_ERROR_ARGUMENT,
                       "TESSERA_NUM_THREADS is '%.60s'; it must be a number from 1 to %d", text,
                       DEVICE_MOST_THREADS);
}

static tess_status open_context(tess_context **out, const char *name, sentence *why) {
    static pthread_once_t watching = PTHREAD_ONCE_INIT;
    const char *asked_by = "";
    if (!name) name = "auto";
    const char *preferred = getenv("TESSERA_DEVICE");
    if (strcmp(name, "auto") == 0 && preferred && preferred[0]) {
        name = preferred;
        asked_by = " (from TESSERA_DEVICE)";
    }
    const device_ops *ops;
    int index = 0;
    const char *instead = NULL;
    TRY(find_device(name, asked_by, &ops, &index, &instead, why));
    TRY(check_threads(why));

    tess_context *ctx = memory_alloc_zeroed(sizeof *ctx);
    if (!ctx) return status_fail(why, TESS_ERROR_MEMORY, "no memory for a context (%zu bytes)", sizeof *ctx);
    tess_status status = ops->open(&ctx->device, index, why);
    if (status != TESS_OK) {
        memory_free(ctx);
        return status;
    }
    ctx->index = index;
    ctx->instead = instead;
    pthread_mutex_init(&ctx->lock, NULL);
    pthread_mutex_init(&ctx->sentence_lock, NULL);
    pthread_once(&watching, watch_forks);
    pthread_mutex_lock(&list_lock);
    ctx->next = all_contexts;
    all_contexts = ctx;
    pthread_mutex_unlock(&list_lock);
    *out = ctx;
    return TESS_OK;
}

tess_status tess_open(tess_context **ctx, const char *name) {
    sentence why;
    if (!ctx)
        return context_finish(NULL, status_fail(&why, TESS_ERROR_ARGUMENT, "tess_open: ctx is NULL"), &why);
    *ctx = NULL;
    return context_finish(NULL, open_context(ctx, name, &why), &why);
}

/* Where the list points to this context; the list's lock must be held. NULL if it is not open. */
static tess_context **find_link(const tess_context *ctx) {
    tess_context **link = &all_contexts;
    while (*link && *link != ctx) link = &(*link)->next;
    return *link ? link : NULL;
}

/* Takes the context out of the list, unless it is no open context or plans still need it. */
static tess_status unlist(tess_context *ctx, sentence *why) {
    tess_context **link = find_link(ctx);
    if (!link)
        return context_finish(NULL,
                              status_fail(why, TESS_ERROR_ARGUMENT, "tess_close: this is no open context"),
                              why);
    pthread_mutex_lock(&ctx->lock);
    int plans = ctx->plans, prepared = ctx->operands;
    pthread_mutex_unlock(&ctx->lock);
    if (plans > 0 || prepared > 0)
        return context_finish(ctx,
                              status_fail(why, TESS_ERROR_ARGUMENT,
                                          "the context still has %d plan%s and %d operand%s; free them with "
                                          "tess_free_plan and tess_free_operand first",
                                          plans, plans == 1 ? "" : "s", prepared, prepared == 1 ? "" : "s"),
                              why);
    *link = ctx->next;
    return TESS_OK;
}

tess_status tess_close(tess_context *ctx) {
    if (!ctx) return TESS_OK;
    sentence why;
    pthread_mutex_lock(&list_lock);
    tess_status status = unlist(ctx, &why);
    pthread_mutex_unlock(&list_lock);
    if (status != TESS_OK) return status;
    ctx->device->ops->close(ctx->device);
    pthread_mutex_destroy(&ctx->lock);
    pthread_mutex_destroy(&ctx->sentence_lock);
    memory_free(ctx);
    return TESS_OK;
}

tess_status tess_set_threads(tess_context *ctx, int threads) {
    sentence why;
    if (!ctx)
        return context_finish(NULL, status_fail(&why, TESS_ERROR_ARGUMENT, "tess_set_threads: ctx is NULL"),
                              &why);
    if (threads < 0 || threads > DEVICE_MOST_THREADS)
        return context_finish(ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT,
                                          "threads is %d; it must be 1 to %d, or 0 for the default", threads,
                                          DEVICE_MOST_THREADS),
                              &why);
    pthread_mutex_lock(&ctx->lock);
    tess_status status = ctx->device->ops->set_threads(ctx->device, threads, &why);
    pthread_mutex_unlock(&ctx->lock);
    return context_finish(ctx, status, &why);
}

int tess_threads(const tess_context *ctx) {
    if (!ctx) return 0;
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&ctx->lock;
    pthread_mutex_lock(lock);
    int threads = ctx->device->ops->threads(ctx->device);
    pthread_mutex_unlock(lock);
    return threads;
}

tess_status tess_device_facts(const tess_context *ctx, tess_device_info *info) {
    sentence why;
    if (!ctx || !info)
        return context_finish((tess_context *)(uintptr_t)ctx,
                              status_fail(&why, TESS_ERROR_ARGUMENT, "tess_device_facts: %s is NULL",
                                          ctx ? "info" : "ctx"),
                              &why);
    memset(info, 0, sizeof *info);
    ctx->device->ops->describe(ctx->index, info);
    info->threads = tess_threads(ctx);
    return TESS_OK;
}
