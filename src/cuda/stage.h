/* stage.h: products whose matrices lie in host memory.
 *
 *   matrix   an operand on the host and its copy on the card, both as lines of elements
 *   part     a rectangle of a matrix that travels as a whole; it is cut in pieces that fit a pinned buffer
 *   block    a piece of C, the parts it needs, and the part that carries it back
 *   job      one call: parts in the order in which they travel, blocks in the order in which they can run
 *
 * Threads copy pieces between ordinary memory and pinned buffers, the card copies between those and its
 * own memory, and blocks run as soon as their parts are there. */
#ifndef STAGE_H
#define STAGE_H

#include <pthread.h>

#include "cuda.h"

enum {
    STAGE_COMPUTE = 3, /* streams that blocks run on */
    STAGE_WORKERS = 8,
    STAGE_SLOTS = 3,       /* of each worker: two that take turns on the way in, one on the way out */
    STAGE_PIECE = 2 << 20, /* bytes of a slot */
    STAGE_PANELS = 6,      /* of A and of B at most */
    STAGE_BLOCKS = STAGE_PANELS * STAGE_PANELS,
    STAGE_GROUPS = 16, /* of a batch at most */
    STAGE_PARTS = 2 * STAGE_GROUPS + STAGE_BLOCKS,
    STAGE_EVENTS = 2 * STAGE_PARTS + 4 * STAGE_BLOCKS + 2
};

/* `products` matrices of `lines` lines of `length` elements. On the card all lines of all products follow
 * one another, `pitch` bytes apart. */
typedef struct stage_matrix {
    char *host;
    int64_t size; /* of an element */
    int64_t products, lines, length;
    int64_t batch, line,
        step;    /* on the host, in elements: between products, lines and neighbours in a line */
    int by_rows; /* a line is a row of the matrix */
    int direct;  /* pinned, and such that the card can copy it by itself */
    char *device;
    int64_t pitch;
} stage_matrix;

/* Elements [first, first+length) of the lines [line, line+lines), counted over all products. */
typedef struct stage_part {
    const stage_matrix *matrix;
    int64_t line, lines, first, length;
    int64_t piece_lines, piece_length; /* of a piece */
    int64_t pieces;
    _Atomic int started;
    _Atomic int64_t queued; /* pieces on their way */
    int complete;           /* all are, and `end` is recorded behind them; guarded by the job's lock */
    cu_event begin, end;
} stage_part;

typedef struct stage_block {
    int needs[3]; /* parts of A, B and C among the job's; -1: it is there already */
    plan decided;
    operands data;
    cu_event start, done;
    int launched;    /* `done` is recorded; guarded by the job's lock */
    stage_part back; /* without pieces if C lies on the card */
} stage_block;

typedef struct stage_slot {
    char *memory; /* pinned */
    cu_event event;
    int used; /* the event says when the card is done with it */
} stage_slot;

/* What a context keeps from call to call. */
typedef struct cuda_stage {
    cu_stream in, out, compute[STAGE_COMPUTE];
    cuda_buffer copies[3]; /* of A, B and C */
    stage_slot slots[STAGE_WORKERS][STAGE_SLOTS];
    int turns[STAGE_WORKERS]; /* which slot is next on the way in */
    cu_event events[STAGE_EVENTS];
    int events_made;
    tess_staging times;
} cuda_stage;

typedef struct stage_job {
    cuda_device *self;
    cuda_stage *stage;
    const plan *whole; /* kernel NULL: C is only scaled */
    stage_matrix matrices[3];
    int on_host; /* bits of cuda_places */
    stage_part parts[STAGE_PARTS];
    int part_count;
    stage_block blocks[STAGE_BLOCKS];
    int block_count;
    int events_used;
    cu_event begin;

    pthread_mutex_t lock; /* for what follows, and `launched` of the blocks */
    pthread_cond_t changed;
    int next_part, next_block;           /* the first that has pieces nobody has taken */
    int64_t next_piece, next_back_piece; /* of those */
    tess_status status;
    sentence why;
} stage_job;

/* Fills in matrices, parts and blocks, and makes room on the card (stage_plan.c). */
tess_status stage_plan(stage_job *job, const operands *data, sentence *why);
/* A new event of the job. */
tess_status stage_event(stage_job *job, cu_event *event, sentence *why);

/* One piece to the card, or back and into C, through the buffers of that worker (stage_copy.c). */
void stage_cut(stage_part *part);
tess_status stage_send(stage_job *job, int worker, stage_part *part, int64_t piece, sentence *why);
tess_status stage_fetch(stage_job *job, int worker, stage_block *block, int64_t piece, sentence *why);

#endif
