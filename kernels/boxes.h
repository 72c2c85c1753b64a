/* boxes.h: how a warp's part of C leaves through shared memory: a kernel for Hopper says #include "boxes.h" where it has
 * defined place (row, col, product of a tile), BN, BOXES, STORE, LINE, BOX and BOX_COLS. A box is 16 rows of 128 bytes. */
#ifndef BOXES_H
#define BOXES_H

/* Two neighbours in a row of C, as they lie in memory. */
#if defined(TYPE_F16) || defined(TYPE_BF16)
typedef unsigned pair;
#else
typedef struct ALIGNED(8) pair {
    out_t at[2];
} pair;
#endif

/* alpha*sum + beta*old for a pair of sums; without `reads`, a constant, there is nothing old. */
DEVICE void scale_pair(const gemm *g, acc_t *sums, const pair *old, int reads) {
    UNROLL
    for (int i = 0; i < 2; i++)
        sums[i] = reads ? scaled(g, sums[i], (const out_t *)old + i) : TIMES(g->alpha.value, sums[i]);
}

#if defined(TYPE_F16) || defined(TYPE_BF16)
DEVICE unsigned round_pair(float low, float high) {
    unsigned both;
#if defined(TYPE_F16)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
    return both;
}
#endif

/* A warp's part of C goes through boxes of 16 rows. */
typedef struct output {
    const tma_gemm *all;
    place at;            /* its first row and column */
    unsigned boxes, old; /* its boxes, and their barriers */
    unsigned parity;     /* of those, a bit each */
    int product;         /* of the map of C */
} output;

/* Element (row, col) of a box. */
DEVICE unsigned in_box(unsigned box, int row, int col) {
    int byte = col * (int)sizeof(out_t);
    return box + row * LINE + ((byte / 16 ^ row % 8) * 16) + byte % 16;
}

/* What C was, for the box that begins `col` columns on. Lane 0 asks for it ahead of time where TMA can bring it. */
DEVICE void ask_for_old(const output *o, int col) {
    unsigned slot = col / BOX_COLS % BOXES;
    if (!STORE || o->all->g.beta.value == 0 || threadIdx.x % 32 != 0) return;
    barrier_expect(o->old + 8 * slot, BOX);
    tma_load(o->boxes + slot * BOX, &o->all->c, o->at.col + col, o->at.row, o->product, o->old + 8 * slot);
}

/* From one element of a row of C to the next; a kernel that takes any strides says otherwise. */
#ifndef C_STEP
#define C_STEP(g) 1
#endif

/* The box's elements of C one by one: to it, or from it. `out` is a constant. */
DEVICE void copy_box(const output *o, unsigned box, int col, int out) {
    const gemm *g = &o->all->g;
    int lane = threadIdx.x % 32, rows = g->m - o->at.row, cols = g->n - o->at.col - col;
    out_t *c = g->c + o->at.product * g->batch_c + o->at.row * g->ldc + (o->at.col + col) * C_STEP(g);
    UNROLL_BY(4)
    for (int row = 0; row < 16; row++) {
        UNROLL
        for (int x = lane; x < BOX_COLS; x += 32) {
            out_t *slot = (out_t *)__cvta_shared_to_generic(in_box(box, row, x));
            if (row < rows && x < cols) {
                if (out)
                    c[row * g->ldc + x * C_STEP(g)] = *slot;
                else
                    *slot = c[row * g->ldc + x * C_STEP(g)];
            }
        }
    }
}

/* A box that may be written, or (`reads`, a constant) that has what C was. */
DEVICE void await_box(output *o, unsigned box, int col, int reads) {
    int slot = col / BOX_COLS % BOXES;
    if (!STORE) {
        __syncwarp();
        if (reads) copy_box(o, box, col, 0);
    } else if (reads) {
        barrier_wait(o->old + 8 * slot, o->parity >> slot & 1);
        o->parity ^= 1u << slot;
    } else if (threadIdx.x % 32 == 0) {
        tma_wait_read(BOXES - 1);
    }
    __syncwarp();
}

/* alpha and beta are applied to the sums of a box, and the results take the place of what C was. A lane has sums of
 * rows lane / 4 and 8 further on. */
DEVICE void fill_box(const gemm *g, unsigned box, acc_t *sums, int reads) {
    int lane = threadIdx.x % 32, group = lane / 4, quad = lane % 4;
    UNROLL
    for (int j = 0; j < BOX_COLS / 8; j++) {
        UNROLL
        for (int half = 0; half < 2; half++) {
            pair old,
                *there = (pair *)__cvta_shared_to_generic(in_box(box, group + 8 * half, 8 * j + 2 * quad));
            if (reads) old = *there;
            scale_pair(g, &sums[4 * j + 2 * half], &old, reads);
#if !defined(TYPE_F16) && !defined(TYPE_BF16)
            pair result = {{sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]}};
            *there = result;
#endif
        }
    }
#if defined(TYPE_F16) || defined(TYPE_BF16)
    if (reads) __syncwarp();
    UNROLL
    for (int j = 0; j < BOX_COLS / 16; j++) {
        acc_t *s = &sums[8 * j];
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         in_box(box, lane % 16, 16 * j + lane / 16 * 8)),
                     "r"(round_pair(s[0], s[1])), "r"(round_pair(s[2], s[3])), "r"(round_pair(s[4], s[5])),
                     "r"(round_pair(s[6], s[7]))
                     : "memory");
    }
#endif
}

DEVICE void write_boxes(output *o, acc_t sums[BN / 2], int reads) {
    UNROLL
    for (int col = 0; col < BN; col += BOX_COLS) {
        unsigned box = o->boxes + col / BOX_COLS % BOXES * BOX;
        await_box(o, box, col, reads);
        fill_box(&o->all->g, box, &sums[col / 2], reads);
        if (STORE) fence_async();
        __syncwarp();
        if (!STORE) {
            copy_box(o, box, col, 1);
        } else if (threadIdx.x % 32 == 0) {
            tma_store(&o->all->c, box, o->at.col + col, o->at.row, o->product);
            if (reads && col + BOXES * BOX_COLS < BN) {
                tma_wait_read(0);
                ask_for_old(o, col + BOXES * BOX_COLS);
            }
        }
    }
}

/* Before the products of a tile, and after them. */
DEVICE void begin_boxes(const output *o) {
    if (!STORE || o->all->g.beta.value == 0) return;
    if (threadIdx.x % 32 == 0) tma_wait_read(0);
    UNROLL
    for (int b = 0; b < BOXES && b * BOX_COLS < BN; b++) ask_for_old(o, b * BOX_COLS);
}
DEVICE void write_tile(output *o, acc_t sums[BN / 2]) {
    if (o->all->g.beta.value != 0)
        write_boxes(o, sums, 1);
    else
        write_boxes(o, sums, 0);
}
/* Before the block leaves. */
DEVICE void end_boxes(void) {
    if (STORE && threadIdx.x % 32 == 0) tma_wait_all();
}

#endif
