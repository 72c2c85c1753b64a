/* sides.h: what the kernels of a product are passed that is split: A and B as lines, a row of A or a column of B each, and
 * C. */
#ifndef SIDES_H
#define SIDES_H

/* How it is multiplied, which the data decides; DEPTH is the elements of k of a chunk; TICKETS are for pieces of tiles. */
enum { WAY_FP16X3 = 1, WAY_BF16X6 = 2, WAY_FMA = 3, DEPTH = 64, TICKETS = 2048 };

/* A or B. src/split.h has the same structs. */
typedef struct split_side {
    const float *from;
    unsigned short *parts;
    float *undo; /* two factors for every line */
    int *kept; /* of parts that many products use: the way they are written for; NULL: they are this one's */
    int lines, products; /* products: 1 where all of a batch share it */
    int together; /* lines that a block reads at a time: a power of two up to 8; 0: it lies in strips */
    int rows;     /* of a strip: elements of each line that a block holds at a time, a multiple of 32 */
    int vec;      /* 4: may be read 16 bytes at a time; else 1 */
    int unused;
    long long line, step, batch; /* from one line, element and product to the next */
} split_side;

typedef struct split {
    split_side a, b;
    int *state; /* the way, what every block of split_prepare found, two counters (0 at first), tickets */
    int k, count;
    int strip_blocks, blocks; /* of split_prepare: those for strips come first */
    int least_way; /* the first that the kernel has: its parts are written before the way is known */
    int known;     /* what was found of lines whose parts are kept */
    int packs; /* split_pack runs too, and decides on the way; 0: the product's kernel does both by itself */
    int cluster; /* blocks of split_prepare that share a strip */
    float alpha, beta;
    float *c;
    long long c_row, c_col, batch_c;
    float *sums;    /* room for those of pieces of tiles */
    long long room; /* its bytes; 0: tickets are not set to 0 either */
} split;

/* Of a kernel: as it is passed, so that a side may be looked at without a copy. */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SPLIT_ARGUMENT const __grid_constant__ split
#else
#define SPLIT_ARGUMENT const split
#endif

DEVICE int groups_of(const split_side *side, int size) {
    return (side->lines + size - 1) / size;
}
DEVICE const float *line_of(const split_side *side, int product, int line) {
    return side->from + product * side->batch + line * side->line;
}
DEVICE int *tickets_of(const split *s) {
    return s->state + 1 + s->blocks + 2;
}
/* split_pack has written kept parts anew if they were for another way. */
DEVICE void note_way(const split_side *side, int way) {
    if (side->kept) *side->kept = way;
}

#endif
