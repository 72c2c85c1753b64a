/* pace.h: blocks that walk over tiles keep in step: a kernel for Hopper says #include "pace.h" after walk.h, where it has
 * defined PACE.
 *
 * In a product of many rounds every line of A and B is fetched by several blocks. Those that are equally far find in the
 * second-level cache what one of them has fetched; left alone they fetch much of it from memory again, and the power that
 * memory takes the tensor cores lack. So every PACE stages the first block of a cluster makes a mark, and does not go on before
 * all clusters have made the mark before.
 *
 * Nothing but time depends on it: one that has waited for long (others may not have begun) waits no more. */
#ifndef PACE_H
#define PACE_H

/* Marks with even and with odd numbers that were made, and clusters that have ended: all 0 between launches. */
__device__ unsigned pace_marks[2], pace_ended;

/* What it takes to be worth it: rounds, and stages of a tile. How often one looks before it waits no more: for some 50 µs. */
enum { PACE_ROUNDS = 16, PACE_STAGES = 128, PACE_STEP = PACE > 0 ? PACE : 1 };
#ifndef PATIENCE
#define PATIENCE      64
#define PACE_LOOK(at) (*(const volatile unsigned *)(at))
#endif

/* `takes_part`: 0 where nobody keeps in step, and in all blocks of a cluster but the first. */
typedef struct pace {
    unsigned clusters, made; /* made: this one's marks */
    int takes_part, waits;
} pace;

DEVICE pace begin_pace(const walk *w, int stages, int rank) {
    int is_long = w->total >= PACE_ROUNDS * w->step && stages >= PACE_STAGES;
    pace p = {(unsigned)w->step, 0, PACE > 0 && rank == 0 && is_long, 1};
    return p;
}

/* Before that stage of a tile is asked for. */
DEVICE void keep_pace(pace *p, int stage) {
    if (!p->takes_part || stage % PACE_STEP != 0) return;
    unsigned mark = p->made++, due = (mark + 1) / 2 * p->clusters; /* of the mark before */
    atomicAdd(&pace_marks[mark % 2], 1);
    for (int left = PATIENCE; p->waits && PACE_LOOK(&pace_marks[(mark + 1) % 2]) < due;)
        if (--left == 0) p->waits = 0;
}

/* After the last tile. Clusters that had one less make up for its marks, and the last to end clears all. */
DEVICE void end_pace(pace *p, const walk *w, int stages) {
    if (!p->takes_part) return;
    int rounds = (w->total + w->step - 1) / w->step, marks = (stages + PACE_STEP - 1) / PACE_STEP;
    for (; p->made < (unsigned)(rounds * marks); p->made++) atomicAdd(&pace_marks[p->made % 2], 1);
    __threadfence();
    if (atomicInc(&pace_ended, p->clusters - 1) < p->clusters - 1) return;
    pace_marks[0] = pace_marks[1] = 0;
}

#endif
