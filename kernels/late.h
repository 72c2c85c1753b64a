/* late.h: how warps that have nothing else to do copy a part of B beside the products of others: a kernel for Hopper says
 * #include "late.h" where it has defined BN, the columns of a tile. Elements have 16 bits. */
#ifndef LATE_H
#define LATE_H

/* What is copied of B, to where tiles are fetched from: of the tiles' columns the first so many (`whole`), and of the `some` that
 * follow all lines but the first `chunk`. A count for every `chunk` lines of each of those columns says how many of its parts are
 * there; the first count of all says how many parts have been begun. They are 0 at first. (src/launch.h has the same struct.) */
typedef struct late_copy {
    const in_t *from;
    in_t *to;
    int *counts;
    int from_row, to_row, whole, some, chunk, unused;
} late_copy;
enum {
    LATE_LINES = 16
}; /* of k, of a part; `chunk` is so many or a multiple (launch_late_of in src/launch.c) */
#ifndef LATE_COLS
#define LATE_COLS BN /* columns of a part; a constant where BN is none */
#endif

DEVICE int late_columns(const late_copy *late) {
    return late->whole + late->some;
}
/* Lines of one of the tiles' columns that are there from the beginning. */
DEVICE int lines_there(const late_copy *late, int k, int column) {
    return column < late->whole ? 0 : column < late_columns(late) ? late->chunk : k;
}
/* The count of the lines from that one on, of which there are so many parts. */
DEVICE int *count_of(const late_copy *late, int k, int column, int line) {
    return late->counts + 1 + column * ((k + late->chunk - 1) / late->chunk) + line / late->chunk;
}
DEVICE void await_lines(const late_copy *late, int k, int column, int line) {
    const int lines = k - line < late->chunk ? k - line : late->chunk;
    const int *count = count_of(late, k, column, line);
    while (acquired(count) < (lines + LATE_LINES - 1) / LATE_LINES) continue;
    fence_async_global();
}

/* Lines of one of the tiles' columns, two at a time and word by word of the copy: there a line begins with a word, and in B with one
 * or in the middle of one. A word that has nothing of the line is not read. */
DEVICE void copy_lines(const late_copy *late, int line, int end, int col) {
    enum { AT_ONCE = 2, WORDS = LATE_COLS / 2 / 32 };
    const int lane = threadIdx.x % 32;
    UNROLL_BY(1)
    for (; line < end; line += AT_ONCE) {
        unsigned low[AT_ONCE][WORDS], high[AT_ONCE][WORDS], half[AT_ONCE];
        UNROLL
        for (int i = 0; i < AT_ONCE; i++) {
            const int at = line + i < end ? line + i : line;
            const unsigned long long from = (unsigned long long)(late->from + at * late->from_row + col);
            const unsigned *words = (const unsigned *)(from - from % 4) + lane;
            half[i] = from % 4 != 0;
            UNROLL
            for (int w = 0; w < WORDS; w++) {
                low[i][w] = read_word(words + 32 * w);
                if (half[i]) high[i][w] = read_word(words + 32 * w + 1);
            }
        }
        UNROLL
        for (int i = 0; i < AT_ONCE; i++) {
            unsigned *to = (unsigned *)(late->to + (line + i) * late->to_row + col) + lane;
            UNROLL
            for (int w = 0; w < WORDS; w++)
                if (line + i < end) to[32 * w] = half[i] ? low[i][w] >> 16 | high[i][w] << 16 : low[i][w];
        }
    }
}

DEVICE int draw_part(const late_copy *late) {
    return threadIdx.x % 32 == 0 ? atomicAdd(late->counts, 1) : 0;
}

/* A part: the tiles' column that it is of, and its first line. */
typedef struct late_part {
    int column, line;
} late_part;

/* In the order in which tiles need them: as many columns together as the first round of tiles has, line by line, and those of every
 * second round from the last line to the first; a column below 0: there is none left. */
DEVICE late_part part_of(const late_copy *late, int k, int number) {
    const int parts = (k + LATE_LINES - 1) / LATE_LINES, there = late->chunk / LATE_LINES;
    const int of_some = parts > there ? late->some * (parts - there) : 0;
    late_part p;
    if (number < of_some) {
        p.column = late_columns(late) - 1 - number % late->some;
        p.line = (there + number / late->some) * LATE_LINES;
    } else {
        const int at = number - of_some, group = at / (late->some * parts),
                  within = at % (late->some * parts), left = late->whole - group * late->some,
                  columns = left < late->some ? left : late->some;
        p.column = within < columns * parts ? left - 1 - within % columns : -1;
        p.line = within < columns * parts ? within / columns : 0;
        p.line = (group % 2 ? p.line : parts - 1 - p.line) * LATE_LINES;
    }
    return p;
}

/* Warps that have nothing else to do copy part after part, as they come: so nobody waits for a block that has not begun. */
DEVICE void copy_late(const late_copy *late, int lines) {
    if (late_columns(late) == 0) return;
    int drawn = draw_part(late);
    for (;;) {
        const int k = hidden(lines);
        const late_part p = part_of(late, k, __shfl_sync(0xffffffffu, drawn, 0));
        if (p.column < 0) return;
        drawn = draw_part(late);
        copy_lines(late, p.line, k - p.line < LATE_LINES ? k : p.line + LATE_LINES, p.column * LATE_COLS);
        fence_async_global();
        __syncwarp();
        if (threadIdx.x % 32 == 0) add_released(count_of(late, k, p.column, p.line), 1);
    }
}

#endif
