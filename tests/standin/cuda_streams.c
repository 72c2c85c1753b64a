/* cuda_streams.c: the streams, events, copies and graphs of the stand-in driver. A stream is a list of
 * things to do, done when somebody waits for them and not before; a wait for an event does what the other
 * stream has up to there. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda.h"

typedef struct operation {
    struct operation *next;
    standin_work work;
    void *argument;
    size_t size; /* of the argument */
    /* Without work: a record of an event, or a wait for one. */
    struct standin_event *event;
    uint64_t ticket; /* of the record, or of the record that is waited for */
    int waits;
} operation;

typedef struct queue {
    operation *first, **end;
} queue;

struct standin_stream {
    queue waiting;
    queue *capture; /* a graph's, while it is captured */
};

typedef struct standin_event {
    standin_stream *stream; /* where it was last recorded */
    uint64_t asked, done;   /* tickets */
    double time;
} standin_event;

static uint64_t tickets;
static standin_stream default_stream;

/* ---- Streams ---- */

static void append(queue *q, operation *op) {
    if (!q->first) q->end = &q->first;
    op->next = NULL;
    *q->end = op;
    q->end = &op->next;
}

static standin_stream *stream_of(void *stream) {
    return stream ? stream : &default_stream;
}

static int add_operation(standin_stream *stream, operation what) {
    operation *op = malloc(sizeof *op);
    if (!op) return OUT_OF_MEMORY;
    *op = what;
    append(stream->capture ? stream->capture : &stream->waiting, op);
    return SUCCESS;
}

int standin_queue(standin_stream *stream, standin_work work, const void *argument, size_t size) {
    void *copy = malloc(size);
    if (!copy) return OUT_OF_MEMORY;
    memcpy(copy, argument, size);
    standin_lock();
    return standin_leave(
        add_operation(stream_of(stream), (operation){.work = work, .argument = copy, .size = size}));
}

static void run_until(standin_stream *stream, const standin_event *event, uint64_t ticket);

static double milliseconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void run_operation(operation *op) {
    if (op->work) {
        int result = standin_broken ? standin_broken : op->work(op->argument);
        if (result != SUCCESS) standin_broken = result;
    } else if (op->waits) {
        if (op->event->done < op->ticket) run_until(op->event->stream, op->event, op->ticket);
    } else {
        if (op->event->done < op->ticket) op->event->done = op->ticket;
        op->event->time = milliseconds_now();
    }
    free(op->argument);
    free(op);
}

/* Does what stands in the stream up to that record of the event; all of it if the event is NULL. */
static void run_until(standin_stream *stream, const standin_event *event, uint64_t ticket) {
    while (stream->waiting.first && (!event || event->done < ticket)) {
        operation *op = stream->waiting.first;
        stream->waiting.first = op->next;
        run_operation(op);
    }
}

CU(cuStreamCreate, standin_stream **stream, unsigned flags) {
    (void)flags;
    CALL(1);
    *stream = calloc(1, sizeof **stream);
    standin_made += *stream != NULL;
    return standin_leave(*stream ? SUCCESS : OUT_OF_MEMORY);
}

CU(cuStreamDestroy_v2, standin_stream *stream) {
    CALL(0);
    run_until(stream, NULL, 0);
    free(stream);
    standin_made--;
    return standin_leave(SUCCESS);
}

CU(cuStreamSynchronize, standin_stream *stream) {
    CALL(1);
    if (stream_of(stream)->capture) return standin_leave(CAPTURE_UNSUPPORTED);
    run_until(stream_of(stream), NULL, 0);
    return standin_leave(standin_broken);
}

/* Streams are not known here: each was waited for by whoever used it, but for the default one. */
CU(cuCtxSynchronize, void) {
    CALL(1);
    run_until(&default_stream, NULL, 0);
    return standin_leave(standin_broken);
}

CU(cuStreamWaitEvent, standin_stream *stream, standin_event *event, unsigned flags) {
    (void)flags;
    CALL(1);
    if (event->asked == 0) return standin_leave(SUCCESS);
    return standin_leave(
        add_operation(stream_of(stream), (operation){.event = event, .ticket = event->asked, .waits = 1}));
}

void standin_run_default(void) {
    run_until(&default_stream, NULL, 0);
}

/* ---- Events ---- */

CU(cuEventCreate, standin_event **event, unsigned flags) {
    (void)flags;
    CALL(1);
    *event = calloc(1, sizeof **event);
    standin_made += *event != NULL;
    return standin_leave(*event ? SUCCESS : OUT_OF_MEMORY);
}

CU(cuEventDestroy_v2, standin_event *event) {
    CALL(0);
    if (event->done < event->asked) run_until(event->stream, event, event->asked);
    free(event);
    standin_made--;
    return standin_leave(SUCCESS);
}

static int record(standin_event *event, standin_stream *stream) {
    event->stream = stream;
    event->asked = ++tickets;
    return add_operation(stream, (operation){.event = event, .ticket = event->asked});
}

CU(cuEventRecord, standin_event *event, void *stream) {
    CALL(1);
    return standin_leave(record(event, stream_of(stream)));
}

CU(cuEventRecordWithFlags, standin_event *event, void *stream, unsigned flags) {
    (void)flags;
    CALL(1);
    return standin_leave(record(event, stream_of(stream)));
}

/* Every second question finds that the card has got on with its work. */
CU(cuEventQuery, standin_event *event) {
    static unsigned asked;
    CALL(1);
    if (event->done < event->asked && asked++ % 2) run_until(event->stream, event, event->asked);
    if (standin_broken) return standin_leave(standin_broken);
    return standin_leave(event->done < event->asked ? NOT_READY : SUCCESS);
}

CU(cuEventSynchronize, standin_event *event) {
    CALL(1);
    if (event->done < event->asked) run_until(event->stream, event, event->asked);
    return standin_leave(standin_broken);
}

CU(cuEventElapsedTime, float *milliseconds, const standin_event *from, const standin_event *to) {
    CALL(1);
    if (from->done < from->asked || to->done < to->asked) return standin_leave(NOT_READY);
    *milliseconds = (float)(to->time - from->time);
    return standin_leave(SUCCESS);
}

/* ---- Copies ---- */

typedef struct plain_copy {
    char *to;
    const char *from;
    size_t bytes, to_pitch, from_pitch, lines;
    int to_device, from_device;
} plain_copy;

static int copy_now(void *argument) {
    const plain_copy *c = argument;
    for (size_t i = 0; i < c->lines; i++) {
        char *to = c->to + i * c->to_pitch;
        const char *from = c->from + i * c->from_pitch;
        if (c->to_device != standin_is_device(to, 0, (int64_t)c->bytes) ||
            c->from_device != standin_is_device(from, 0, (int64_t)c->bytes))
            return ILLEGAL_ADDRESS;
        memcpy(to, from, c->bytes);
    }
    return SUCCESS;
}

static int add_copy(void *stream, plain_copy copy) {
    return standin_queue(stream, copy_now, &copy, sizeof copy);
}

CU(cuMemcpyHtoDAsync_v2, unsigned long long to, const void *from, size_t bytes, void *stream) {
    CALL(1);
    return standin_leave(add_copy(stream, (plain_copy){pointer(to), from, bytes, 0, 0, 1, 1, 0}));
}

CU(cuMemcpyDtoHAsync_v2, void *to, unsigned long long from, size_t bytes, void *stream) {
    CALL(1);
    return standin_leave(add_copy(stream, (plain_copy){to, pointer(from), bytes, 0, 0, 1, 0, 1}));
}

CU(cuMemcpyAsync, unsigned long long to, unsigned long long from, size_t bytes, void *stream) {
    CALL(1);
    int to_device = standin_is_device(pointer(to), 0, 1),
        from_device = standin_is_device(pointer(from), 0, 1);
    return standin_leave(
        add_copy(stream, (plain_copy){pointer(to), pointer(from), bytes, 0, 0, 1, to_device, from_device}));
}

/* CUDA_MEMCPY2D */
typedef struct copy_2d {
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    unsigned long long from_device;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    int to_type;
    void *to_host;
    unsigned long long to_device;
    void *to_array;
    size_t to_pitch, width, height;
} copy_2d;

CU(cuMemcpy2DAsync_v2, const copy_2d *c, void *stream) {
    CALL(1);
    int to_device = c->to_type == 2, from_device = c->from_type == 2;
    if (c->to_pitch < c->width || c->from_pitch < c->width || c->from_x || c->from_y || c->to_x || c->to_y)
        return standin_leave(INVALID_VALUE);
    return standin_leave(
        add_copy(stream, (plain_copy){to_device ? pointer(c->to_device) : c->to_host,
                                      from_device ? pointer(c->from_device) : c->from_host, c->width,
                                      c->to_pitch, c->from_pitch, c->height, to_device, from_device}));
}

typedef struct filling {
    char *memory;
    size_t bytes;
    unsigned char value;
} filling;

static int fill_now(void *argument) {
    const filling *f = argument;
    if (!standin_is_device(f->memory, 0, (int64_t)f->bytes)) return ILLEGAL_ADDRESS;
    memset(f->memory, f->value, f->bytes);
    return SUCCESS;
}

CU(cuMemsetD8Async, unsigned long long memory, unsigned char value, size_t bytes, void *stream) {
    CALL(1);
    filling f = {pointer(memory), bytes, value};
    return standin_leave(standin_queue(stream, fill_now, &f, sizeof f));
}

/* ---- Graphs ---- */

CU(cuStreamBeginCapture_v2, standin_stream *stream, int mode) {
    (void)mode;
    CALL(1);
    if (!stream || stream->capture) return standin_leave(INVALID_VALUE);
    stream->capture = calloc(1, sizeof *stream->capture);
    standin_captures++;
    return standin_leave(stream->capture ? SUCCESS : OUT_OF_MEMORY);
}

CU(cuStreamEndCapture, standin_stream *stream, queue **graph) {
    CALL(1);
    *graph = stream->capture;
    stream->capture = NULL;
    standin_captures--;
    standin_made++;
    return standin_leave(SUCCESS);
}

CU(cuStreamIsCapturing, standin_stream *stream, int *status) {
    CALL(1);
    *status = stream_of(stream)->capture != NULL;
    return standin_leave(SUCCESS);
}

/* Copies the operations, with fresh tickets for the events they record. */
static int copy_queue(const queue *from, queue *to, standin_stream *stream) {
    for (const operation *op = from->first; op; op = op->next) {
        operation *copy = malloc(sizeof *copy);
        if (!copy) return OUT_OF_MEMORY;
        *copy = *op;
        if (op->argument) {
            copy->argument = malloc(op->size);
            if (!copy->argument) return OUT_OF_MEMORY;
            memcpy(copy->argument, op->argument, op->size);
        }
        if (op->event && !op->waits && stream) {
            op->event->stream = stream;
            copy->ticket = op->event->asked = ++tickets;
        }
        append(to, copy);
    }
    return SUCCESS;
}

static void free_queue(queue *q) {
    while (q->first) {
        operation *next = q->first->next;
        free(q->first->argument);
        free(q->first);
        q->first = next;
    }
    free(q);
    standin_made--;
}

CU(cuGraphInstantiateWithFlags, queue **executable, const queue *graph, unsigned long long flags) {
    (void)flags;
    CALL(1);
    *executable = calloc(1, sizeof **executable);
    if (!*executable) return standin_leave(OUT_OF_MEMORY);
    standin_made++;
    return standin_leave(copy_queue(graph, *executable, NULL));
}

CU(cuGraphLaunch, const queue *executable, void *stream) {
    CALL(1);
    return standin_leave(copy_queue(executable, &stream_of(stream)->waiting, stream_of(stream)));
}

CU(cuGraphDestroy, queue *graph) {
    CALL(0);
    free_queue(graph);
    return standin_leave(SUCCESS);
}

CU(cuGraphExecDestroy, queue *executable) {
    CALL(0);
    free_queue(executable);
    return standin_leave(SUCCESS);
}
