/* plain.h: a product of f32 by plain multiply-adds, in order of k, whatever the strides: for data that parts do not carry.
 * The first 256 threads of a block multiply; all of its THREADS read. */
#ifndef PLAIN_H
#define PLAIN_H

enum { PLAIN_EDGE = 128, PLAIN_DEPTH = 16, PLAIN_EACH = 8, PLAIN_THREADS = 256 };

/* Elements of k of some lines, in shared memory. */
typedef float plain_tile[PLAIN_DEPTH][PLAIN_EDGE + 4];

/* What lies outside is zeros. */
DEVICE void plain_read(const split_side *side, const float *from, int lines, int k_first, int k,
                       plain_tile tile) {
    int across = side->together == 0;
    for (int i = threadIdx.x; i < PLAIN_EDGE * PLAIN_DEPTH; i += THREADS) {
        int line = across ? i % PLAIN_EDGE : i / PLAIN_DEPTH, at = across ? i / PLAIN_EDGE : i % PLAIN_DEPTH;
        tile[at][line] =
            line < lines && k_first + at < k ? from[line * side->line + (k_first + at) * side->step] : 0.0f;
    }
}

DEVICE void plain_store(const split *s, int product, int row, int col,
                        const float sums[PLAIN_EACH][PLAIN_EACH]) {
    UNROLL
    for (int r = 0; r < PLAIN_EACH; r++) {
        UNROLL
        for (int c = 0; c < PLAIN_EACH; c++) {
            int i = row + 16 * r, j = col + 16 * c;
            if (i >= s->a.lines || j >= s->b.lines) continue;
            float *to = s->c + product * s->batch_c + i * s->c_row + j * s->c_col;
            float result = s->alpha * sums[r][c];
            *to = s->beta == 0 ? result : FMA(s->beta, *to, result);
        }
    }
}

/* The elements of a thread are 16 apart, so that neighbouring threads have neighbouring ones. */
DEVICE void plain_multiply(const split *s, int product, int row, int col, plain_tile of_a, plain_tile of_b) {
    float sums[PLAIN_EACH][PLAIN_EACH] = {{0}};
    int x = threadIdx.x % 16, y = threadIdx.x / 16, multiplies = threadIdx.x < PLAIN_THREADS;
    const float *a = line_of(&s->a, s->a.products > 1 ? product : 0, row),
                *b = line_of(&s->b, s->b.products > 1 ? product : 0, col);
    for (int k = 0; k < s->k; k += PLAIN_DEPTH) {
        __syncthreads();
        plain_read(&s->a, a, s->a.lines - row, k, s->k, of_a);
        plain_read(&s->b, b, s->b.lines - col, k, s->k, of_b);
        __syncthreads();
        UNROLL_BY(2)
        for (int i = 0; i < PLAIN_DEPTH && multiplies; i++) {
            UNROLL
            for (int r = 0; r < PLAIN_EACH; r++) {
                UNROLL
                for (int c = 0; c < PLAIN_EACH; c++)
                    sums[r][c] = FMA(of_a[i][y + 16 * r], of_b[i][x + 16 * c], sums[r][c]);
            }
        }
    }
    if (multiplies) plain_store(s, product, row + y, col + x, sums);
}

/* All of the product, by all blocks of the grid. */
DEVICE void plain_product(const split *s, plain_tile of_a, plain_tile of_b) {
    int rows = groups_of(&s->a, PLAIN_EDGE), cols = groups_of(&s->b, PLAIN_EDGE);
    for (long long at = blockIdx.x; at < (long long)rows * cols * s->count; at += gridDim.x)
        plain_multiply(s, (int)(at / ((long long)rows * cols)), (int)(at / cols % rows) * PLAIN_EDGE,
                       (int)(at % cols) * PLAIN_EDGE, of_a, of_b);
}

#endif
