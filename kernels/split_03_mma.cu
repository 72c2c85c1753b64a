/* split_03_mma: f32 from parts with mma, for cards that have no wgmma
 * before:  split_01_fp16x3
 * change:  tiles come by cp_async and fragments by ldmatrix, as in mma_07_raster; a warp finishes all products of 16 of its
 *          rows over 32 of k, small ones first, and adds them to the totals before it begins the next 16 rows
 * why:     tensor cores of an A100 multiply f16 sixteen times as fast as its other units multiply f32; with sums of 16
 *          rows beside the totals, not of all of them, both fit the registers
 * expect:  on an H200 twice cuBLAS's f32 at 4096 and 8192, half of split_01_fp16x3. On an A100, by its published rates,
 *          60 to 90 TFLOPS where multiply-adds of f32 end at 19.5: not measured
 * limits:  any m, n, k and strides; three products of f16, six of bf16 or plain multiply-adds: decided on the card,
 *          from the data; sm_80 and later, but taken without being asked on sm_80 alone: GeForce cards multiply f16
 *          at one to two times the rate of f32, which three products use up
 * next:    nothing: an sm_90 has split_01_fp16x3
 */
#ifndef BM
#define BM 128 /* rows of C of a block */
#endif
#ifndef BN
#define BN 128 /* columns of C of a block */
#endif
#ifndef WM
#define WM 64 /* rows of C of a warp */
#endif
#ifndef WN
#define WN 32 /* columns of C of a warp */
#endif
#ifndef STAGES
#define STAGES 3 /* tiles of two f16 in flight or in use; of three bf16 there are two thirds of that */
#endif
#ifndef GROUP
#define GROUP 8 /* rows of tiles that are walked together */
#endif
#include "tensor.h"

#include "raster.h"
#include "sides.h"

/* UNIT is the k of a stage. Tensor cores cut off as they add, so that their sums are added to others that often. */
enum {
    THREADS = BM / WM * (BN / WN) * 32,
    UNIT = 32,
    PART = 2 * UNIT,   /* bytes of a part of a line in a stage */
    COPIES = PART / 16 /* by as many threads */
};
/* Of a stage with so many parts of every line: bytes of a line, and of all; and how many stages there are. */
#define LINE(parts)  ((parts)*PART)
#define STAGE(parts) ((BM + BN) * LINE(parts))
#define RING(parts)  (STAGES * 2 / (parts))
/* Columns of a warp whose parts are in its registers at a time: three parts of all would not fit beside large tiles. */
#define COLS(parts) ((parts) == 3 && WM * WN > 1024 ? WN / 2 : WN)

#include "plain.h"

/* ---- Tiles ---- */

/* Where a piece of 16 bytes of a part of a line lies. Eight lines under each other that ldmatrix reads together would
 * begin at the same banks; the exclusive or moves each to banks of its own. */
DEVICE int place(int line, int piece, int parts) {
    return line * LINE(parts) + (piece ^ (parts == 2 ? line & 7 : line / 2 & 3)) * 16;
}

/* The lines of A or B that a tile has. */
typedef struct source {
    const unsigned short *from; /* the first line's parts */
    int last;                   /* the last line that there is, counted from it */
    int length;                 /* elements from one line to the next */
} source;

DEVICE source source_of(const split_side *side, int product, int line, int k) {
    int length = (k + DEPTH - 1) / DEPTH * 3 * DEPTH;
    source s = {side->parts + ((side->products > 1 ? (long long)product * side->lines : 0) + line) * length,
                side->lines - 1 - line, length};
    return s;
}

/* Queues the copies of 32 k of so many lines, to line `first` of a stage on. Past the last the last is copied again: what
 * comes of that is not stored. */
DEVICE void load_lines(const source *s, shared_t stage, int first, int lines, int unit, int parts) {
    int piece = threadIdx.x % COPIES,
        at = piece * 8 + (parts == 2 ? unit * 2 * UNIT : unit / 2 * 3 * DEPTH + unit % 2 * UNIT);
    UNROLL
    for (int i = 0; i < lines; i += THREADS / COPIES) {
        int line = i + threadIdx.x / COPIES;
        const unsigned short *from = s->from + (long long)(line < s->last ? line : s->last) * s->length + at;
        UNROLL
        for (int p = 0; p < parts; p++)
            cp_async_at(stage + place(first + line, p * COPIES + piece, parts),
                        from + p * (parts == 2 ? UNIT : DEPTH), 16, 16);
    }
}

/* A tile of C. */
typedef struct work {
    source a, b;
    int product, row, col;
} work;

DEVICE void load_unit(const work *w, shared_t stage, int unit, int parts) {
    load_lines(&w->a, stage, 0, BM, unit, parts);
    load_lines(&w->b, stage, BM, BN, unit, parts);
}

/* ---- Products ---- */

/* Where this warp's tile begins, and this lane's first piece of it in a stage. */
typedef struct lane_place {
    int row, col, a, b;
} lane_place;

DEVICE lane_place place_of_lane(int parts) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    lane_place p = {warp / (BN / WN) * WM, warp % (BN / WN) * WN, 0, 0};
    p.a = place(p.row + lane % 16, lane / 16, parts);
    p.b = place(BM + p.col + lane / 16 * 8 + lane % 8, lane / 8 % 2, parts);
    return p;
}

/* The same of another part, and of the second 16 of k. */
DEVICE shared_t part_at(shared_t first, int part, int step, int parts) {
    return parts == 2 ? first ^ (part * PART + step * 32) : (first ^ step * 32) + part * PART;
}

/* All parts and 32 k of 16 rows of A, or of COLS columns of B. */
typedef unsigned rows_part[3][2][4];
typedef unsigned cols_part[3][2][WN / 4];

DEVICE void load_rows(rows_part to, shared_t from, int parts) {
    UNROLL
    for (int p = 0; p < parts; p++) {
        UNROLL
        for (int step = 0; step < 2; step++) ldmatrix_at(to[p][step], part_at(from, p, step, parts), 0);
    }
}
DEVICE void load_cols(cols_part to, shared_t from, int parts) {
    UNROLL
    for (int p = 0; p < parts; p++) {
        UNROLL
        for (int step = 0; step < 2; step++) {
            UNROLL
            for (int j = 0; j < COLS(parts) / 16; j++)
                ldmatrix_at(&to[p][step][4 * j], part_at(from, p, step, parts) + j * 16 * LINE(parts), 0);
        }
    }
}

/* mma of tensor.h, but with fragments of f16, or bf16 if that constant says so. The simulator has it too. */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
DEVICE void mma_half(float d[4], const unsigned a[4], const unsigned b[2], int is_bf16) {
    /* clang-format off */
#define MMA_HALF(type)                                                                                     \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
        "{%8, %9}, {%0, %1, %2, %3};"                                                                      \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                   \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
    /* clang-format on */
    if (is_bf16)
        MMA_HALF("bf16");
    else
        MMA_HALF("f16");
}
#endif

/* Adds the products of 16 rows to their totals: of three bf16 six products of parts, of two f16 the last three of those.
 * What this addition rounds off of bf16 is where the next sums begin. */
DEVICE void multiply_rows(float (*totals)[4], float (*rests)[4], rows_part a, cols_part b, int parts) {
    const int of_a[6] = {2, 0, 1, 1, 0, 0}, of_b[6] = {0, 2, 1, 0, 1, 0};
    float sums[WN / 8][4];
    UNROLL
    for (int i = 0; i < COLS(parts) / 2; i++) sums[i / 4][i % 4] = parts == 3 ? rests[i / 4][i % 4] : 0;
    UNROLL
    for (int p = parts == 2 ? 3 : 0; p < 6; p++) {
        UNROLL
        for (int step = 0; step < 2; step++) {
            UNROLL
            for (int j = 0; j < COLS(parts) / 8; j++)
                mma_half(sums[j], a[of_a[p]][step], &b[of_b[p]][step][2 * j], parts == 3);
        }
    }
    UNROLL
    for (int i = 0; i < COLS(parts) / 2; i++) {
        float *total = &totals[i / 4][i % 4], before = *total;
        *total += sums[i / 4][i % 4];
        float rest = sums[i / 4][i % 4] - (*total - before);
        if (parts == 3) rests[i / 4][i % 4] = rest - rest == 0 ? rest : 0; /* a total may be infinite */
    }
}

/* Waits until two stages are there, for everybody, of those that were asked for. `parts` is a constant. */
DEVICE void await_stages(int parts) {
    if (parts == 2)
        cp_wait(RING(2) - 2);
    else
        cp_wait(RING(3) - 2);
    __syncthreads();
}

/* All of k. The next 16 rows are on their way to the registers while those before are multiplied. Before the last of a
 * stage are, everybody has read all of it: it is filled again, and the next is read. `parts` is a constant. */
DEVICE void multiply(float totals[WM / 16][WN / 8][4], const work *w, const char *memory, int k, int parts) {
    const int last = (RING(parts) - 1) * STAGE(parts), most = WM / 16 * (WN / COLS(parts)) - 1;
    int units = (k + UNIT - 1) / UNIT, used = 0;
    lane_place at = place_of_lane(parts);
    shared_t first = shared_place(memory), a = first + at.a, b = first + at.b;
    float rests[WM / 16][WN / 8][4] = {{{0}}};
    rows_part rows[2];
    cols_part cols;
    UNROLL_BY(1)
    for (int u = 0; u < RING(parts); u++) {
        if (u < units) load_unit(w, first + u * STAGE(parts), u, parts);
        cp_commit();
    }
    await_stages(parts);
    load_cols(cols, b, parts);
    load_rows(rows[0], a, parts);
    UNROLL_BY(1)
    for (int u = 0; u < units; u++) {
        UNROLL
        for (int x = 0; x < most; x++) {
            int i = x % (WM / 16), next = x + 1, col = x / (WM / 16) * (COLS(parts) / 8);
            load_rows(rows[next % 2], a + used + next % (WM / 16) * 16 * LINE(parts), parts);
            multiply_rows(&totals[i][col], &rests[i][col], rows[x % 2], cols, parts);
            if (parts == 3)
                __syncwarp(); /* so that the compiler does not mix it with the next, which takes registers */
            if (next % (WM / 16) == 0)
                load_cols(cols, b + used + next / (WM / 16) * COLS(parts) * LINE(parts), parts);
        }
        int next = used == last ? 0 : used + STAGE(parts), more = u + 1 < units;
        if (more) {
            await_stages(parts);
            if (u + RING(parts) < units) load_unit(w, first + used, u + RING(parts), parts);
            cp_commit();
            load_rows(rows[0], a + next, parts);
        }
        multiply_rows(&totals[WM / 16 - 1][(WN - COLS(parts)) / 8],
                      &rests[WM / 16 - 1][(WN - COLS(parts)) / 8], rows[1], cols, parts);
        if (more) load_cols(cols, b + next, parts);
        used = next;
    }
    cp_wait(0);
}

/* ---- C ---- */

VECTOR_TYPE(factors, float, 2);

/* The two factors that undo a line's scaling. */
DEVICE factors factors_of(const split_side *side, int product, int line) {
    int there = line < side->lines ? line : side->lines - 1;
    return ((const factors *)side->undo)[(side->products > 1 ? (long long)product * side->lines : 0) + there];
}

/* Each of a row's and column's two factors is in range where the result is. */
DEVICE void undo_scaling(const split *s, const work *w, float totals[WM / 16][WN / 8][4]) {
    lane_place at = place_of_lane(2);
    int lane = threadIdx.x % 32, row = w->row + at.row + lane / 4, col = w->col + at.col + lane % 4 * 2;
    UNROLL
    for (int j = 0; j < WN / 4; j++) {
        factors c = factors_of(&s->b, w->product, col + j / 2 * 8 + j % 2);
        UNROLL
        for (int i = 0; i < WM / 8; i++) {
            factors r = factors_of(&s->a, w->product, row + 8 * i);
            float *total = &totals[i / 2][j / 2][i % 2 * 2 + j % 2];
            *total = *total * (r.at[0] * c.at[0]) * (r.at[1] * c.at[1]);
        }
    }
}

DEVICE void store_tile(const split *s, const work *w, float totals[WM / 16][WN / 8][4]) {
    lane_place at = place_of_lane(2);
    int lane = threadIdx.x % 32, first_row = w->row + at.row, first_col = w->col + at.col;
    gemm g;
    g.c = s->c + w->product * s->batch_c;
    g.m = s->a.lines, g.n = s->b.lines;
    g.ldc = s->c_row;
    g.alpha.value = s->alpha, g.beta.value = s->beta;
    if (s->c_col == 1) {
        store_fragments(&g, first_row, first_col, &totals[0][0], WM / 16, WN / 8);
        return;
    }
    UNROLL
    for (int i = 0; i < WM / 16 * (WN / 8) * 4; i++) {
        int row = first_row + lane / 4 + i / (WN / 2) * 16 + i / 2 % 2 * 8,
            col = first_col + lane % 4 * 2 + i / 4 % (WN / 8) * 8 + i % 2;
        float *c = g.c + row * s->c_row + col * s->c_col;
        if (row < g.m && col < g.n) *c = scaled(&g, totals[i / (WN / 2)][i / 4 % (WN / 8)][i % 4], c);
    }
}

/* Tile number `at` of rows×cols in each product. */
DEVICE work work_of(const split *s, long long at, int rows, int cols) {
    int product = (int)(at / ((long long)rows * cols)), row, col;
    tile_of((int)(at - (long long)product * rows * cols), rows, cols, GROUP, &row, &col);
    row *= BM, col *= BN;
    work w = {source_of(&s->a, product, row, s->k), source_of(&s->b, product, col, s->k), product, row, col};
    return w;
}

DEVICE void compute_tile(const split *s, const work *w, int way, const char *memory) {
    float totals[WM / 16][WN / 8][4] = {{{0}}};
    if (way == WAY_FP16X3) {
        multiply(totals, w, memory, s->k, 2);
        undo_scaling(s, w, totals);
    } else {
        multiply(totals, w, memory, s->k, 3);
    }
    store_tile(s, w, totals);
}

KERNEL(THREADS) split_03_mma(SPLIT_ARGUMENT s) {
    DYNAMIC_SHARED(char, memory);
    __shared__ work w; /* there it takes no registers */
    await_last_kernel();
    int way = s.state[0], rows = groups_of(&s.a, BM), cols = groups_of(&s.b, BN);
    if (way == WAY_FMA) {
        plain_tile *tiles = (plain_tile *)memory;
        plain_product(&s, tiles[0], tiles[1]);
        return;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        note_way(&s.a, way);
        note_way(&s.b, way);
    }
    for (long long at = blockIdx.x; at < (long long)rows * cols * s.count; at += gridDim.x) {
        __syncthreads(); /* everybody is done with the tile before */
        if (threadIdx.x == 0) w = work_of(&s, at, rows, cols);
        __syncthreads();
        compute_tile(&s, &w, way, memory);
    }
}
