/* stage_copy.c: moving one piece of a matrix between host and card. Ordinary memory passes through a
 * pinned buffer, packed so that only the elements travel; pinned memory is copied by the card where it
 * lies. */
#include <string.h>

#include "stage.h"

/* The largest distance between lines that the driver's two-dimensional copies take. */
static const int64_t MOST_PITCH = INT32_MAX;

void stage_cut(stage_part *part) {
    int64_t size = part->matrix->size, bytes = part->length * size;
    part->piece_length = bytes > STAGE_PIECE ? STAGE_PIECE / size : part->length;
    part->piece_lines = bytes > STAGE_PIECE ? 1 : bytes > 0 ? STAGE_PIECE / bytes : 1;
    part->pieces = ((part->lines + part->piece_lines - 1) / part->piece_lines) *
                   ((part->length + part->piece_length - 1) / part->piece_length);
}

/* A piece: a smaller rectangle of lines. */
typedef struct rectangle {
    int64_t line, lines, first, length;
} rectangle;

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

static rectangle piece_of(const stage_part *part, int64_t piece) {
    int64_t across = (part->length + part->piece_length - 1) / part->piece_length;
    int64_t line = piece / across * part->piece_lines, first = piece % across * part->piece_length;
    return (rectangle){part->line + line, least(part->piece_lines, part->lines - line), part->first + first,
                       least(part->piece_length, part->length - first)};
}

static char *host_at(const stage_matrix *m, int64_t line, int64_t first) {
    return m->host + (line / m->lines * m->batch + line % m->lines * m->line + first * m->step) * m->size;
}

static char *device_at(const stage_matrix *m, int64_t line, int64_t first) {
    return m->device + line * m->pitch + first * m->size;
}

/* ---- Between ordinary memory and a buffer ---- */

/* Elements `step` apart to neighbours, and back. The sizes are those of all types. */
#define GATHER(type)                                                      \
    do {                                                                  \
        type *near = (type *)(void *)packed, *far = (type *)(void *)host; \
        if (back)                                                         \
            for (int64_t i = 0; i < count; i++) far[i * step] = near[i];  \
        else                                                              \
            for (int64_t i = 0; i < count; i++) near[i] = far[i * step];  \
    } while (0)

static void copy_line(char *packed, char *host, int64_t count, int64_t step, int64_t size, int back) {
    if (step == 1 && back)
        memcpy(host, packed, (size_t)(count * size));
    else if (step == 1)
        memcpy(packed, host, (size_t)(count * size));
    else if (size == 1)
        GATHER(uint8_t);
    else if (size == 2)
        GATHER(uint16_t);
    else if (size == 4)
        GATHER(uint32_t);
    else
        GATHER(uint64_t);
}

static void pack(const stage_matrix *m, const rectangle *r, char *buffer, int back) {
    for (int64_t i = 0; i < r->lines; i++)
        copy_line(buffer + i * r->length * m->size, host_at(m, r->line + i, r->first), r->length, m->step,
                  m->size, back);
}

/* ---- Between host and card ---- */

/* Lines `pitch` bytes apart on either side; `back` is from the card. */
static tess_status copy_lines(cuda_device *self, char *host, int64_t host_pitch, char *card,
                              int64_t card_pitch, int64_t bytes, int64_t lines, int back, cu_stream stream,
                              sentence *why) {
    if (lines > 1 && host_pitch == bytes && card_pitch == bytes) {
        bytes *= lines;
        lines = 1;
    }
    if (lines > 1 && host_pitch <= MOST_PITCH && card_pitch <= MOST_PITCH) {
        cu_copy_2d copy = {.from_type = back ? CU_MEMORY_DEVICE : CU_MEMORY_HOST,
                           .from_host = back ? NULL : host,
                           .from_device = back ? cuda_address(card) : 0,
                           .from_pitch = (size_t)(back ? card_pitch : host_pitch),
                           .to_type = back ? CU_MEMORY_HOST : CU_MEMORY_DEVICE,
                           .to_host = back ? host : NULL,
                           .to_device = back ? 0 : cuda_address(card),
                           .to_pitch = (size_t)(back ? host_pitch : card_pitch),
                           .width = (size_t)bytes,
                           .height = (size_t)lines};
        CUDA(self, cuMemcpy2DAsync, &copy, stream);
        return TESS_OK;
    }
    for (int64_t i = 0; i < lines; i++) {
        char *near = host + i * host_pitch, *far = card + i * card_pitch;
        if (back)
            CUDA(self, cuMemcpyDtoHAsync, near, cuda_address(far), (size_t)bytes, stream);
        else
            CUDA(self, cuMemcpyHtoDAsync, cuda_address(far), near, (size_t)bytes, stream);
    }
    return TESS_OK;
}

/* The card's side of a piece: from or to the buffer, or where the matrix lies. */
static tess_status copy_piece(stage_job *job, const stage_matrix *m, const rectangle *r, char *buffer,
                              int back, cu_stream stream, sentence *why) {
    char *host = m->direct ? host_at(m, r->line, r->first) : buffer;
    int64_t host_pitch = (m->direct ? m->line : r->length) * m->size;
    return copy_lines(job->self, host, host_pitch, device_at(m, r->line, r->first), m->pitch,
                      r->length * m->size, r->lines, back, stream, why);
}

/* ---- Slots ---- */

static tess_status open_slot(cuda_device *self, stage_slot *slot, sentence *why) {
    if (slot->memory) return TESS_OK;
    if (!slot->event) CUDA(self, cuEventCreate, &slot->event, CU_EVENT_DISABLE_TIMING);
    void *memory = NULL;
    cu_result result = driver.cuMemHostAlloc(&memory, STAGE_PIECE, CU_HOST_PORTABLE);
    if (result == CU_OUT_OF_MEMORY)
        return status_fail(why, TESS_ERROR_MEMORY, "no pinned memory for copies: %d bytes were asked for",
                           STAGE_PIECE);
    if (result != CU_OK) return cuda_fail(self, result, "cuMemHostAlloc", why);
    slot->memory = memory;
    return TESS_OK;
}

/* The slot, once the card is done with what it held. */
static tess_status free_slot(stage_job *job, int worker, int which, stage_slot **out, sentence *why) {
    stage_slot *slot = &job->stage->slots[worker][which];
    TRY(open_slot(job->self, slot, why));
    if (slot->used) CUDA(job->self, cuEventSynchronize, slot->event);
    slot->used = 0;
    *out = slot;
    return TESS_OK;
}

/* ---- Pieces ---- */

/* Counts a piece as on its way. Behind the last one the part's end is recorded, and whoever waits is told. */
static tess_status count_piece(stage_job *job, stage_part *part, cu_stream stream, sentence *why) {
    if (atomic_fetch_add(&part->queued, 1) + 1 < part->pieces) return TESS_OK;
    CUDA(job->self, cuEventRecord, part->end, stream);
    pthread_mutex_lock(&job->lock);
    part->complete = 1;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
    return TESS_OK;
}

static tess_status begin_part(stage_job *job, stage_part *part, cu_stream stream, sentence *why) {
    if (!atomic_exchange(&part->started, 1)) CUDA(job->self, cuEventRecord, part->begin, stream);
    return TESS_OK;
}

tess_status stage_send(stage_job *job, int worker, stage_part *part, int64_t piece, sentence *why) {
    const stage_matrix *m = part->matrix;
    cu_stream stream = job->stage->in;
    rectangle r = piece_of(part, piece);
    stage_slot *slot = NULL;
    if (!m->direct) {
        int *turn = &job->stage->turns[worker];
        TRY(free_slot(job, worker, *turn, &slot, why));
        *turn = !*turn;
        pack(m, &r, slot->memory, 0);
    }
    TRY(begin_part(job, part, stream, why));
    TRY(copy_piece(job, m, &r, slot ? slot->memory : NULL, 0, stream, why));
    if (slot) {
        CUDA(job->self, cuEventRecord, slot->event, stream);
        slot->used = 1;
    }
    return count_piece(job, part, stream, why);
}

tess_status stage_fetch(stage_job *job, int worker, stage_block *block, int64_t piece, sentence *why) {
    stage_part *part = &block->back;
    const stage_matrix *m = part->matrix;
    cu_stream stream = job->stage->out;
    rectangle r = piece_of(part, piece);
    stage_slot *slot = NULL;
    if (!m->direct) TRY(free_slot(job, worker, STAGE_SLOTS - 1, &slot, why));
    CUDA(job->self, cuStreamWaitEvent, stream, block->done, 0);
    TRY(begin_part(job, part, stream, why));
    TRY(copy_piece(job, m, &r, slot ? slot->memory : NULL, 1, stream, why));
    if (slot) CUDA(job->self, cuEventRecord, slot->event, stream);
    TRY(count_piece(job, part, stream, why));
    if (!slot) return TESS_OK;
    CUDA(job->self, cuEventSynchronize, slot->event);
    pack(m, &r, slot->memory, 1);
    return TESS_OK;
}
