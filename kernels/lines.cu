/* lines: copies to lines that begin at multiples of 16 bytes, in pieces of 16
 *
 * move_lines copies lines of neighbours, which may begin anywhere; of up to five matrices in one launch, since that takes as
 * long as to copy a small one. move_turned makes lines of columns: what is next to each other in a row then lies in lines of its own.
 * Elements are moved as bits: in_t only has to have their size. Lines are filled up to whole pieces, with zeros.
 *
 * What counts is how much is on its way at a time: every thread asks for all its pieces before it uses one.
 */
#include "pieces.h"

enum { LINE_THREADS = 256, PIECES = 8 };

/* The piece that a line of `end` bytes ends within: nothing behind the end is read. A warp asks for it together. */
DEVICE piece last_piece(const piece *pieces, int end) {
    int lane = threadIdx.x % 32, at = end / 16 * 16 + lane;
    unsigned word = lane < 16 && at < end ? ((const unsigned char *)pieces)[at] : 0;
    word |= __shfl_down_sync(0xffffffffu, word, 1) << 8;
    word |= __shfl_down_sync(0xffffffffu, word, 2) << 16;
    piece p;
    UNROLL
    for (int i = 0; i < 4; i++) p.at[i] = __shfl_sync(0xffffffffu, word, 4 * i);
    return p;
}

/* Rows of the move are lines, one for each warp; their elements are next to each other on both sides. A line is read from
 * the piece on that it begins in, and shifted: what follows a lane's piece is the next lane's. With from_col 0 a line ends where it
 * begins, and is filled up with zeros. */
KERNEL(LINE_THREADS) move_lines(moves both) {
    const move v = both.of[blockIdx.y];
    int line = blockIdx.x * (LINE_THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const char *from = (const char *)((const in_t *)v.from + blockIdx.z * v.batch_from + line * v.from_row);
    piece *to = (piece *)((in_t *)v.to + blockIdx.z * v.batch_to + line * v.to_row);
    int skip = (int)((unsigned long long)from % 16), bytes = v.cols * (int)sizeof(in_t),
        end = v.from_col ? skip + bytes : 0;
    const piece *pieces = (const piece *)(from - skip);
    await_last_kernel();
    if (line >= v.rows) return;
    const piece last = last_piece(pieces, end);
    for (int first = lane; 16 * (first - lane) < bytes; first += 32 * PIECES) {
        piece mine[PIECES + 1]; /* and the first of those that follow, which lane 0 has */
        UNROLL
        for (int i = 0; i <= PIECES; i++) {
            int at = first + 32 * i;
            mine[i] = last;
            if (at < end / 16 && (i < PIECES || (lane == 0 && skip))) mine[i] = read_once(pieces + at);
        }
        UNROLL
        for (int i = 0; i < PIECES; i++) {
            int at = first + 32 * i;
            piece next;
            UNROLL
            for (int w = 0; w < 4; w++)
                next.at[w] =
                    __shfl_sync(0xffffffffu, lane ? mine[i].at[w] : mine[i + 1].at[w], (lane + 1) % 32);
            if (16 * at < bytes) to[at] = skip ? shifted(mine[i], next, skip) : mine[i];
        }
    }
}

#if !defined(TYPE_F64)
/* Piece number `at` of a line that ends `end` bytes after its first piece. Nothing behind the end is read. */
DEVICE piece piece_of(const piece *pieces, int at, int end) {
    const unsigned char *bytes = (const unsigned char *)pieces;
    piece p = {{0}};
    if (16 * at + 16 <= end) return read_once(pieces + at);
    for (int i = 16 * at; i < end; i++) p.at[i % 16 / 4] |= (unsigned)bytes[i] << 8 * (i % 4);
    return p;
}

/* A block's tile is 128 rows of 128 bytes, and a thread reads four pieces of it. A word has OF_WORD elements, and a piece of a
 * line is made of OF_PIECE rows. */
enum { TURN_ROWS = 128, READS = 4, SIZE = (int)sizeof(in_t), OF_WORD = 4 / SIZE, OF_PIECE = 16 / SIZE };

/* Element number `which` of the words of so many rows. */
DEVICE piece turned(const unsigned words[OF_PIECE], int which) {
    const unsigned mask = 0xffffffffu >> (32 - 8 * SIZE);
    piece p;
    UNROLL
    for (int i = 0; i < 4; i++) {
        p.at[i] = 0;
        UNROLL
        for (int j = 0; j < OF_WORD; j++)
            p.at[i] |= (words[OF_WORD * i + j] >> 8 * SIZE * which & mask) << 8 * SIZE * j;
    }
    return p;
}

/* Neighbours in a row of the move become lines of their own. A thread reads a piece of four rows, and then writes those of the
 * columns that a word of some rows has; pieces of a row are rotated so that neither has bank conflicts. */
KERNEL(256) move_turned(move v) {
    __shared__ piece tile[TURN_ROWS][8];
    const int row_tile = blockIdx.y * TURN_ROWS, col_tile = blockIdx.x * (128 / SIZE), thread = threadIdx.x;
    const int bytes = (v.cols - col_tile < 128 / SIZE ? v.cols - col_tile : 128 / SIZE) * SIZE;
    const in_t *from = (const in_t *)v.from + blockIdx.z * v.batch_from + row_tile * v.from_row + col_tile;
    in_t *to = (in_t *)v.to + blockIdx.z * v.batch_to + col_tile * v.to_col + row_tile;
    piece mine[READS];
    await_last_kernel();
    UNROLL
    for (int i = 0; i < READS; i++) {
        const int row = thread / 8 + 32 * i, own = thread % 8;
        const char *line = (const char *)(from + row * v.from_row);
        const int skip = (int)((unsigned long long)line % 16), end = skip + bytes;
        const piece *pieces = (const piece *)(line - skip), none = {{0}};
        mine[i] = none;
        if (row_tile + row >= v.rows) continue;
        mine[i] = piece_of(pieces, own, end);
        if (skip) mine[i] = shifted(mine[i], piece_of(pieces, own + 1, end), skip);
    }
    UNROLL
    for (int i = 0; i < READS; i++) {
        const int row = thread / 8 + 32 * i;
        tile[row][(thread + row / OF_PIECE) % 8] = mine[i];
    }
    __syncthreads();
    const int group = thread % 8, word = thread / 32 * 4 + thread % 32 / 8;
    UNROLL
    for (int part = 0; part < SIZE; part++) {
        const int row = (8 * part + group) * OF_PIECE;
        unsigned words[OF_PIECE];
        UNROLL
        for (int i = 0; i < OF_PIECE; i++) words[i] = tile[row + i][(word / 4 + group) % 8].at[word % 4];
        UNROLL
        for (int i = 0; i < OF_WORD; i++) {
            const int col = word * OF_WORD + i;
            if (col * SIZE < bytes && row_tile + row < v.rows_to)
                *(piece *)(to + col * v.to_col + row) = turned(words, i);
        }
    }
}
#endif
