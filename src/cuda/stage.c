/* stage.c: one product on host memory, from the first copy to the last. The calling thread queues the
 * blocks; others move the pieces. Whoever fails says so in the job, and all the others stop. */
#include "stage.h"

#include <string.h>
#include <unistd.h>

#include "../memory.h"

/* ---- What is kept ---- */

static tess_status make_stage(cuda_device *self, cuda_stage *stage, sentence *why) {
    CUDA(self, cuStreamCreate, &stage->in, CU_STREAM_NON_BLOCKING);
    CUDA(self, cuStreamCreate, &stage->out, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < STAGE_COMPUTE; i++)
        CUDA(self, cuStreamCreate, &stage->compute[i], CU_STREAM_NON_BLOCKING);
    return TESS_OK;
}

static tess_status stage_ready(cuda_device *self, sentence *why) {
    if (self->stage) return TESS_OK;
    self->stage = memory_alloc_zeroed(sizeof *self->stage);
    if (!self->stage) return status_fail(why, TESS_ERROR_MEMORY, "no memory for copying to the GPU");
    tess_status status = make_stage(self, self->stage, why);
    if (status != TESS_OK) cuda_stage_close(self);
    return status;
}

/* All streams, in the order in which work passes through them. */
enum { STAGE_STREAMS = STAGE_COMPUTE + 2 };
static void list_streams(const cuda_stage *stage, cu_stream streams[STAGE_STREAMS]) {
    streams[0] = stage->in;
    for (int i = 0; i < STAGE_COMPUTE; i++) streams[1 + i] = stage->compute[i];
    streams[1 + STAGE_COMPUTE] = stage->out;
}

static void give_back(cuda_stage *stage) {
    cu_stream streams[STAGE_STREAMS];
    list_streams(stage, streams);
    for (int i = 0; i < STAGE_STREAMS; i++)
        if (streams[i]) driver.cuStreamDestroy(streams[i]);
    for (int i = 0; i < 3; i++)
        if (stage->copies[i].memory) driver.cuMemFree(cuda_address(stage->copies[i].memory));
    for (int i = 0; i < STAGE_WORKERS * STAGE_SLOTS; i++) {
        stage_slot *slot = &stage->slots[i / STAGE_SLOTS][i % STAGE_SLOTS];
        if (slot->memory) driver.cuMemFreeHost(slot->memory);
        if (slot->event) driver.cuEventDestroy(slot->event);
    }
    for (int i = 0; i < stage->events_made; i++) driver.cuEventDestroy(stage->events[i]);
}

void cuda_stage_close(cuda_device *self) {
    if (self->stage && !self->forked) give_back(self->stage);
    memory_free(self->stage);
    self->stage = NULL;
}

void cuda_stage_times(const cuda_device *self, tess_staging *times) {
    if (self->stage) *times = self->stage->times;
}

/* ---- Workers ---- */

static void fail_job(stage_job *job, tess_status status, const sentence *why) {
    pthread_mutex_lock(&job->lock);
    if (job->status == TESS_OK) {
        job->status = status;
        job->why = *why;
    }
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
}

/* One piece to move. */
typedef struct task {
    stage_part *part;   /* to the card, or */
    stage_block *block; /* back */
    int64_t piece;
} task;

static int take_upload(stage_job *job, task *out) {
    if (job->next_part == job->part_count) return 0;
    stage_part *part = &job->parts[job->next_part];
    *out = (task){.part = part, .piece = job->next_piece++};
    if (job->next_piece == part->pieces) job->next_part++, job->next_piece = 0;
    return 1;
}

static int take_download(stage_job *job, task *out) {
    stage_block *block = &job->blocks[job->next_block];
    *out = (task){.block = block, .piece = job->next_back_piece++};
    if (job->next_back_piece == block->back.pieces) job->next_block++, job->next_back_piece = 0;
    return 1;
}

/* Finds a worker something to do, and waits for it if need be; 0 when there will be nothing more. A block
 * that has run goes back before the rest goes in for every other worker; for the others, after. */
static int take(stage_job *job, int worker, task *out) {
    int found = -1;
    pthread_mutex_lock(&job->lock);
    while (found < 0) {
        int blocks_left = job->next_block < job->block_count && (job->on_host & CUDA_C_ON_HOST);
        stage_block *block = blocks_left ? &job->blocks[job->next_block] : NULL;
        int uploads_left = job->next_part < job->part_count;
        int ready = block && block->launched &&
                    (!uploads_left || (worker % 2 && driver.cuEventQuery(block->done) == CU_OK));
        if (job->status != TESS_OK)
            found = 0;
        else if (ready)
            found = take_download(job, out);
        else if (uploads_left)
            found = take_upload(job, out);
        else if (!block)
            found = 0;
        else
            pthread_cond_wait(&job->changed, &job->lock);
    }
    pthread_mutex_unlock(&job->lock);
    return found;
}

static void work(stage_job *job, int worker) {
    task todo;
    sentence why;
    while (take(job, worker, &todo)) {
        tess_status status = todo.part ? stage_send(job, worker, todo.part, todo.piece, &why)
                                       : stage_fetch(job, worker, todo.block, todo.piece, &why);
        if (status != TESS_OK) fail_job(job, status, &why);
    }
}

typedef struct helper {
    stage_job *job;
    int number;
    pthread_t thread;
} helper;

static void *help(void *argument) {
    helper *self = argument;
    cu_context popped;
    driver.cuCtxPushCurrent(self->job->self->context);
    work(self->job, self->number);
    driver.cuCtxPopCurrent(&popped);
    return NULL;
}

/* ---- Blocks ---- */

/* Waits until the block's parts are on their way, which is when their events may be waited for. */
static tess_status await_parts(stage_job *job, const stage_block *block, sentence *why) {
    pthread_mutex_lock(&job->lock);
    for (int i = 0; i < 3; i++)
        while (block->needs[i] >= 0 && job->status == TESS_OK && !job->parts[block->needs[i]].complete)
            pthread_cond_wait(&job->changed, &job->lock);
    tess_status status = job->status;
    if (status != TESS_OK) *why = job->why;
    pthread_mutex_unlock(&job->lock);
    return status;
}

static tess_status queue_block(stage_job *job, stage_block *block, cu_stream stream, sentence *why) {
    cuda_device *self = job->self;
    TRY(await_parts(job, block, why));
    for (int i = 0; i < 3; i++)
        if (block->needs[i] >= 0) CUDA(self, cuStreamWaitEvent, stream, job->parts[block->needs[i]].end, 0);
    CUDA(self, cuEventRecord, block->start, stream);
    if (job->whole->kernel)
        TRY(cuda_queue(self, &block->decided, &block->data, stream, why));
    else
        TRY(cuda_queue_scale(self, &block->decided.what, &block->data, stream, why));
    CUDA(self, cuEventRecord, block->done, stream);
    pthread_mutex_lock(&job->lock);
    block->launched = 1;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
    return TESS_OK;
}

/* Several streams let the end of one block overlap with the beginning of the next; a workspace is for one
 * stream. */
static tess_status queue_blocks(stage_job *job, sentence *why) {
    for (int i = 0; i < job->block_count; i++) {
        stage_block *block = &job->blocks[i];
        int stream = block->decided.workspace > 0 ? 0 : i % STAGE_COMPUTE;
        TRY(queue_block(job, block, job->stage->compute[stream], why));
    }
    return TESS_OK;
}

/* ---- Times ---- */

/* Adds the interval between two events, in seconds from the job's begin; they are all done. */
static void add_interval(const stage_job *job, cu_event begin, cu_event end, double (*list)[2], int *count) {
    float from, to;
    if (driver.cuEventElapsedTime(&from, job->begin, begin) != CU_OK) return;
    if (driver.cuEventElapsedTime(&to, job->begin, end) != CU_OK) return;
    int at = (*count)++;
    for (; at > 0 && list[at - 1][0] > (double)from * 1e-3; at--)
        memcpy(list[at], list[at - 1], sizeof list[at]);
    list[at][0] = (double)from * 1e-3;
    list[at][1] = (double)to * 1e-3;
}

/* The time that at least one of the intervals covers; they are sorted by their beginnings. */
static double busy(double (*list)[2], int count) {
    double sum = 0, until = -1e30;
    for (int i = 0; i < count; i++) {
        double from = list[i][0] > until ? list[i][0] : until;
        if (list[i][1] > from) sum += list[i][1] - from, until = list[i][1];
    }
    return sum;
}

static void keep_times(stage_job *job, double started) {
    tess_staging *times = &job->stage->times;
    double list[STAGE_PARTS > STAGE_BLOCKS ? STAGE_PARTS : STAGE_BLOCKS][2];
    int count = 0;
    for (int i = 0; i < job->part_count; i++)
        add_interval(job, job->parts[i].begin, job->parts[i].end, list, &count);
    times->to_device = busy(list, count);
    count = 0;
    for (int i = 0; i < job->block_count; i++)
        add_interval(job, job->blocks[i].start, job->blocks[i].done, list, &count);
    times->kernel = busy(list, count);
    count = 0;
    for (int i = 0; i < job->block_count && job->blocks[i].back.pieces > 0; i++)
        add_interval(job, job->blocks[i].back.begin, job->blocks[i].back.end, list, &count);
    times->to_host = busy(list, count);
    times->total = cuda_now() - started;
}

/* ---- The job ---- */

/* Everything queued on the caller's stream comes first. */
static tess_status follow_stream(stage_job *job, sentence *why) {
    cuda_device *self = job->self;
    cuda_stage *stage = job->stage;
    cu_stream streams[STAGE_STREAMS];
    int capturing = 0;
    list_streams(stage, streams);
    if (self->stream) CUDA(self, cuStreamIsCapturing, self->stream, &capturing);
    if (capturing)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "a product on host memory waits for its copies, so that it cannot be captured in "
                           "a graph; put the matrices in device memory");
    TRY(stage_event(job, &job->begin, why));
    CUDA(self, cuEventRecord, job->begin, self->stream);
    for (int i = 0; i < STAGE_STREAMS; i++) CUDA(self, cuStreamWaitEvent, streams[i], job->begin, 0);
    return TESS_OK;
}

/* Also after a failure: memory that is still being copied must not be given back. */
static tess_status finish(stage_job *job, tess_status status, sentence *why) {
    cuda_stage *stage = job->stage;
    cu_stream streams[STAGE_STREAMS];
    list_streams(stage, streams);
    for (int i = 0; i < STAGE_STREAMS; i++) {
        cu_result result = driver.cuStreamSynchronize(streams[i]);
        if (status == TESS_OK && result != CU_OK)
            status = cuda_fail(job->self, result, "cuStreamSynchronize", why);
    }
    return status;
}

static int64_t pieces_of(const stage_job *job) {
    int64_t pieces = 0;
    for (int i = 0; i < job->part_count; i++) pieces += job->parts[i].pieces;
    for (int i = 0; i < job->block_count; i++) pieces += job->blocks[i].back.pieces;
    return pieces;
}

/* A few pieces are moved by the calling thread: in, compute, out. */
static tess_status run_alone(stage_job *job, sentence *why) {
    for (int i = 0; i < job->part_count; i++)
        for (int64_t piece = 0; piece < job->parts[i].pieces; piece++)
            TRY(stage_send(job, 0, &job->parts[i], piece, why));
    TRY(queue_blocks(job, why));
    for (int i = 0; i < job->block_count; i++)
        for (int64_t piece = 0; piece < job->blocks[i].back.pieces; piece++)
            TRY(stage_fetch(job, 0, &job->blocks[i], piece, why));
    return TESS_OK;
}

static int workers_for(const stage_job *job) {
    enum { WORTH_A_THREAD = 4 };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t useful = pieces_of(job) / WORTH_A_THREAD;
    int most = cpus < 2 ? 1 : cpus < STAGE_WORKERS ? (int)cpus : STAGE_WORKERS;
    return useful < most ? (int)useful : most;
}

static tess_status run_with_helpers(stage_job *job, int count, sentence *why) {
    helper helpers[STAGE_WORKERS];
    int started = 0;
    for (; started < count; started++) {
        helpers[started] = (helper){.job = job, .number = started};
        if (pthread_create(&helpers[started].thread, NULL, help, &helpers[started]) != 0) break;
    }
    if (started == 0) return run_alone(job, why);
    tess_status status = queue_blocks(job, why);
    if (status != TESS_OK) fail_job(job, status, why);
    for (int i = 0; i < started; i++) pthread_join(helpers[i].thread, NULL);
    if (status == TESS_OK && job->status != TESS_OK) {
        *why = job->why;
        status = job->status;
    }
    return status;
}

static tess_status run_job(stage_job *job, const operands *data, sentence *why) {
    double started = cuda_now();
    memset(&job->stage->times, 0, sizeof job->stage->times);
    TRY(follow_stream(job, why));
    TRY(stage_plan(job, data, why));
    int workers = workers_for(job);
    tess_status status = workers > 0 ? run_with_helpers(job, workers, why) : run_alone(job, why);
    TRY(finish(job, status, why));
    keep_times(job, started);
    return TESS_OK;
}

tess_status cuda_stage_run(cuda_device *self, const plan *decided, const operands *data, int on_host,
                           sentence *why) {
    TRY(stage_ready(self, why));
    stage_job *job = memory_alloc_zeroed(sizeof *job);
    if (!job)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for copying to the GPU (%zu bytes)",
                           sizeof *job);
    job->self = self;
    job->stage = self->stage;
    job->whole = decided;
    job->on_host = on_host;
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->changed, NULL);
    tess_status status = run_job(job, data, why);
    pthread_mutex_destroy(&job->lock);
    pthread_cond_destroy(&job->changed);
    memory_free(job);
    return status;
}
