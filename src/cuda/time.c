/* time.c: how long a product takes on the card. Short products are captured as a graph of many runs, with
 * the events inside it, behind a kernel that only waits: no launch is in the time. Graphs are kept while
 * the same runs are asked for again, as they are when two products are timed in turns. */
#include <string.h>

#include "../memory.h"
#include "measure.h"
#include "timer.h"

/* Above this a run is launched by itself: what a launch costs does not show. */
static const double LONG_SECONDS = 5e-3;
enum { RUNS_OF_A_GRAPH = 500, FILLER_NANOSECONDS = 100000 };

static tess_status make_timer(cuda_device *self, cuda_timer *timer, sentence *why) {
    CUDA(self, cuStreamCreate, &timer->stream, CU_STREAM_NON_BLOCKING);
    CUDA(self, cuEventCreate, &timer->start, 0);
    CUDA(self, cuEventCreate, &timer->end, 0);
    return TESS_OK;
}

tess_status timer_ready(cuda_device *self, sentence *why) {
    if (!self->timer) {
        self->timer = memory_alloc_zeroed(sizeof *self->timer);
        if (!self->timer) return status_fail(why, TESS_ERROR_MEMORY, "no memory for timing");
        tess_status status = make_timer(self, self->timer, why);
        if (status != TESS_OK) {
            cuda_timer_close(self);
            return status;
        }
    }
    CUDA(self, cuStreamSynchronize, self->stream);
    return TESS_OK;
}

tess_status timer_seconds(cuda_device *self, double *seconds, sentence *why) {
    float milliseconds;
    CUDA(self, cuEventSynchronize, self->timer->end);
    CUDA(self, cuEventElapsedTime, &milliseconds, self->timer->start, self->timer->end);
    *seconds = (double)milliseconds * 1e-3;
    return TESS_OK;
}

tess_status timer_flush(cuda_device *self, sentence *why) {
    cuda_timer *timer = self->timer;
    int64_t l2 = self->facts->gpu.l2 > 0 ? self->facts->gpu.l2 : 64 << 20;
    TRY(cuda_grow(self, &timer->flush, (size_t)(2 * l2), "emptying the caches", why));
    CUDA(self, cuMemsetD8Async, cuda_address(timer->flush.memory), 0, timer->flush.size, timer->stream);
    return TESS_OK;
}

/* ---- Runs, kept ---- */

static int is_same(const timed_runs *kept, const plan *decided, const operands *data, int64_t runs) {
    return kept->used && kept->runs == runs && kept->kernel == decided->kernel &&
           memcmp(kept->params, decided->params, sizeof kept->params) == 0 &&
           memcmp(&kept->rest, &decided->rest, sizeof kept->rest) == 0 && kept->share == decided->share &&
           memcmp(&kept->data, data, sizeof *data) == 0 &&
           memcmp(&kept->what, &decided->what, sizeof kept->what) == 0;
}

static void forget(timed_runs *kept, int usable) {
    if (kept->graph && usable) driver.cuGraphExecDestroy(kept->graph);
    memset(kept, 0, sizeof *kept);
}

void cuda_timer_forget(cuda_device *self) {
    for (int i = 0; self->timer && i < TIMER_GRAPHS; i++) forget(&self->timer->kept[i], !self->forked);
}

void cuda_timer_close(cuda_device *self) {
    cuda_timer *timer = self->timer;
    if (!timer) return;
    cuda_timer_forget(self);
    if (!self->forked) {
        if (timer->start) driver.cuEventDestroy(timer->start);
        if (timer->end) driver.cuEventDestroy(timer->end);
        if (timer->stream) driver.cuStreamDestroy(timer->stream);
        if (timer->flush.memory) driver.cuMemFree(cuda_address(timer->flush.memory));
    }
    memory_free(timer);
    self->timer = NULL;
}

/* The runs between the two events, onto a stream that is being captured. */
static tess_status queue_runs(cuda_device *self, const plan *decided, const operands *data, int64_t runs,
                              sentence *why) {
    cuda_timer *timer = self->timer;
    CUDA(self, cuEventRecordWithFlags, timer->start, timer->stream, CU_EVENT_RECORD_EXTERNAL);
    for (int64_t i = 0; i < runs; i++) TRY(cuda_queue(self, decided, data, timer->stream, why));
    CUDA(self, cuEventRecordWithFlags, timer->end, timer->stream, CU_EVENT_RECORD_EXTERNAL);
    return TESS_OK;
}

/* A capture must be ended whatever happens in it. */
static tess_status capture(cuda_device *self, const plan *decided, const operands *data, timed_runs *kept,
                           sentence *why) {
    cu_graph graph = NULL;
    cuda_timer *timer = self->timer;
    CUDA(self, cuStreamBeginCapture, timer->stream, CU_CAPTURE_THREAD_LOCAL);
    tess_status status = queue_runs(self, decided, data, kept->runs, why);
    cu_result result = driver.cuStreamEndCapture(timer->stream, &graph);
    if (status == TESS_OK && result != CU_OK) status = cuda_fail(self, result, "cuStreamEndCapture", why);
    if (status == TESS_OK) {
        result = driver.cuGraphInstantiate(&kept->graph, graph, 0);
        if (result != CU_OK) status = cuda_fail(self, result, "cuGraphInstantiate", why);
    }
    if (graph) driver.cuGraphDestroy(graph);
    return status;
}

/* `runs` runs one by one, behind other work. */
static tess_status time_plain(cuda_device *self, const plan *decided, const operands *data, int64_t runs,
                              double *seconds, sentence *why) {
    cuda_timer *timer = self->timer;
    TRY(measure_spin(self, FILLER_NANOSECONDS, timer->stream, why));
    CUDA(self, cuEventRecord, timer->start, timer->stream);
    for (int64_t i = 0; i < runs; i++) TRY(cuda_queue(self, decided, data, timer->stream, why));
    CUDA(self, cuEventRecord, timer->end, timer->stream);
    return timer_seconds(self, seconds, why);
}

/* The first time: one run to have everything loaded, one to see how long it takes, then the graph if it is
 * short. */
static tess_status prepare_runs(cuda_device *self, const plan *decided, const operands *data, int64_t runs,
                                timed_runs *kept, sentence *why) {
    double once;
    TRY(cuda_queue(self, decided, data, self->timer->stream, why));
    TRY(time_plain(self, decided, data, 1, &once, why));
    kept->plain = once > LONG_SECONDS;
    kept->runs = runs;
    if (!kept->plain) TRY(capture(self, decided, data, kept, why));
    kept->what = decided->what;
    kept->kernel = decided->kernel;
    memcpy(kept->params, decided->params, sizeof kept->params);
    kept->rest = decided->rest;
    kept->share = decided->share;
    kept->data = *data;
    kept->used = 1;
    return TESS_OK;
}

static tess_status find_runs(cuda_device *self, const plan *decided, const operands *data, int64_t runs,
                             timed_runs **found, sentence *why) {
    cuda_timer *timer = self->timer;
    for (int i = 0; i < TIMER_GRAPHS; i++)
        if (is_same(&timer->kept[i], decided, data, runs)) {
            *found = &timer->kept[i];
            return TESS_OK;
        }
    timed_runs *place = &timer->kept[timer->next];
    timer->next = (timer->next + 1) % TIMER_GRAPHS;
    forget(place, 1);
    tess_status status = prepare_runs(self, decided, data, runs, place, why);
    if (status != TESS_OK) forget(place, 1);
    *found = place;
    return status;
}

/* ---- Timing ---- */

static tess_status time_warm(cuda_device *self, const plan *decided, const operands *data, int64_t repeats,
                             double *seconds, sentence *why) {
    int64_t runs = repeats < RUNS_OF_A_GRAPH ? repeats : RUNS_OF_A_GRAPH;
    timed_runs *kept;
    TRY(find_runs(self, decided, data, runs, &kept, why));
    double spent = 0, part;
    int64_t done = 0;
    if (kept->plain) {
        TRY(time_plain(self, decided, data, repeats, &spent, why));
        done = repeats;
    }
    for (; done < repeats; done += runs) {
        TRY(measure_spin(self, FILLER_NANOSECONDS, self->timer->stream, why));
        CUDA(self, cuGraphLaunch, kept->graph, self->timer->stream);
        CUDA(self, cuStreamSynchronize, self->timer->stream);
        TRY(timer_seconds(self, &part, why));
        spent += part;
    }
    *seconds = spent / (double)done;
    return TESS_OK;
}

/* The write that empties the caches keeps the card busy while the run is launched. */
static tess_status time_cold(cuda_device *self, const plan *decided, const operands *data, int64_t repeats,
                             double *seconds, sentence *why) {
    cuda_timer *timer = self->timer;
    double spent = 0, part;
    TRY(cuda_queue(self, decided, data, timer->stream, why));
    for (int64_t i = 0; i < repeats; i++) {
        TRY(measure_spin(self, FILLER_NANOSECONDS, timer->stream, why));
        TRY(timer_flush(self, why));
        CUDA(self, cuEventRecord, timer->start, timer->stream);
        TRY(cuda_queue(self, decided, data, timer->stream, why));
        CUDA(self, cuEventRecord, timer->end, timer->stream);
        TRY(timer_seconds(self, &part, why));
        spent += part;
    }
    *seconds = spent / (double)repeats;
    return TESS_OK;
}

static tess_status time_product(cuda_device *self, const plan *decided, const operands *data, int64_t repeats,
                                int cold, double *seconds, sentence *why) {
    int on_host;
    TRY(cuda_places(self, &decided->what, data, &on_host, why));
    if (on_host)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "tess_time times what happens on the GPU, but %c lies in host memory; put it in "
                           "memory from tess_alloc",
                           on_host & CUDA_A_ON_HOST   ? 'A'
                           : on_host & CUDA_B_ON_HOST ? 'B'
                                                      : 'C');
    TRY(timer_ready(self, why));
    return cold ? time_cold(self, decided, data, repeats, seconds, why)
                : time_warm(self, decided, data, repeats, seconds, why);
}

tess_status cuda_time(device *base, const plan *decided, const operands *data, int64_t repeats, int cold,
                      double *seconds, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    TRY(cuda_enter(self, why));
    return cuda_leave(self, time_product(self, decided, data, repeats, cold, seconds, why));
}
