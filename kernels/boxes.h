/* boxes.h: how a warp's part of C leaves through shared memory: a kernel for Hopper says #include "boxes.h" where it has
 * defined place (row, col, product of a tile), BOXES, STORE, LINE, BOX and BOX_COLS. A box is rows of 128 bytes: 16 of a
 * warp or 64 of a warpgroup, whose boxes lie side by side; or, with TURNED_SUMS, 16 or 32 that two or four warps fill, below one
 * another. */
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

/* What becomes of a sum: it is C; alpha*sum is; or alpha*sum + beta*old. A constant wherever it is passed on. */
typedef enum outcome { AS_IT_IS, SCALED, ADDED } outcome;

DEVICE acc_t result_of(const gemm *g, acc_t sum, const out_t *old, outcome how) {
    if (how == ADDED) return scaled(g, sum, old);
    return how == SCALED ? TIMES(g->alpha.value, sum) : sum;
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

/* A warp whose sums lie as C does has columns 2*(lane % 4) and the next of every 8, in rows lane / 4 and 8 further on. Where
 * rows and columns are the other way round (TURNED_SUMS), it has 16 of the columns of a box. */
#ifndef TURNED_SUMS
#define TURNED_SUMS 0
#endif
/* Sums for 64 rows, or columns where they are turned, that a team has of a tile, WGMMA_COLS wide each. */
#ifndef STRIPS
#define STRIPS 1
#endif
enum {
    BOX_ROWS = BOX / LINE,
    TEAM = 2 * (TURNED_SUMS ? BOX_COLS : BOX_ROWS), /* threads that fill a box */
    WARP_ROWS = BOX_ROWS * 32 / TEAM,               /* rows that a warp copies of it */
    BOX_SUMS = BOX_ROWS * BOX_COLS / TEAM,
    ALONG = TURNED_SUMS ? BOX_ROWS : BOX_COLS,
    STRIP = WGMMA_COLS / ALONG, /* boxes side by side, or below one another */
    TILE_BOXES = STRIPS * STRIP,
    REST = WGMMA_COLS % ALONG, /* columns, or rows, that fill no box */
    TILE_SUMS = STRIPS * WGMMA_COLS / 2
};

DEVICE void team_wait(void) {
    if (TEAM == 32)
        __syncwarp();
    else
        named_wait(4 - 128 / TEAM + threadIdx.x / TEAM, TEAM); /* 4 and on: the first 128 threads fill none */
}
DEVICE int leads_team(void) {
    return threadIdx.x % TEAM == 0;
}
/* The first of the rows of a box that a warp fills, or copies: where sums are turned it fills some columns of all. */
DEVICE int first_row(void) {
    return threadIdx.x % TEAM / 32 * WARP_ROWS;
}

/* Where rows of C begin anywhere, a piece that lies in two boxes is written with the second (CARRIES), if the kernel has room for 16
 * bytes of each row of a box. */
#ifndef CARRIES
#define CARRIES 0
#endif

/* A team's part of C goes through boxes. */
typedef struct output {
    const tma_gemm *all;
    place at;            /* its first row and column */
    unsigned boxes, old; /* its boxes, and their barriers */
    unsigned parity;     /* of those, a bit each */
    int product;         /* of the map of C */
    unsigned held[2];    /* barriers of stages that are free once half of the boxes are (HOLDS); 0: none */
    unsigned carried;    /* the last pieces of rows of the box before (CARRIES) */
} output;

#ifndef HOLDS
#define HOLDS 0 /* 1: two, if blocks are by themselves; 2: two at most */
#endif

/* Element (row, col) of a box. */
DEVICE unsigned in_box(unsigned box, int row, int col) {
    int byte = col * (int)sizeof(out_t);
    return box + row * LINE + ((byte / 16 ^ row % 8) * 16) + byte % 16;
}

/* Where a team's box begins. */
DEVICE place place_of_box(const output *o, int number) {
    place p = o->at;
    if (TURNED_SUMS) {
        p.row += number % STRIP * BOX_ROWS;
        p.col += number / STRIP * 64;
    } else {
        p.row += number / STRIP * BOX_ROWS;
        p.col += number % STRIP * BOX_COLS;
    }
    return p;
}

/* What C was, for that box. One thread asks for it ahead of time where TMA can bring it. */
DEVICE void ask_for_old(const output *o, int number) {
    unsigned slot = number % SLOTS;
    place p = place_of_box(o, number);
    if (!STORE || o->all->g.beta.value == 0 || !leads_team()) return;
    barrier_expect(o->old + 8 * slot, BOX);
    tma_load(o->boxes + slot * BOX, &o->all->c, p.col, p.row, o->product, o->old + 8 * slot);
}

/* From one element of a row of C to the next; a kernel that takes any strides says otherwise. */
#ifndef C_STEP
#define C_STEP(g) 1
#endif
/* From one row of a tile to the next, where the first row of a product is, and how many there are; a kernel whose tiles do not have
 * neighbours says otherwise. */
#ifndef C_LINE
#define C_LINE(g)           (g)->ldc
#define C_FIRST(g, product) ((product) * (g)->batch_c)
#define C_ROWS(g, product)  (g)->m
#endif

/* What is read before any of it is written: beside turned sums of f32 registers are few. */
enum { BATCH = TURNED_SUMS && sizeof(in_t) == 4 ? 1 : 4 };

/* A warp's rows of a box, one element of a lane at a time: from C to the box, or (`out`, a constant) from it. */
DEVICE void copy_elements(const gemm *g, unsigned box, out_t *c, int rows, int cols, int out) {
    const int lane = threadIdx.x % 32, first = first_row();
    UNROLL
    for (int x = lane; x < BOX_COLS; x += 32) {
        UNROLL_BY(TURNED_SUMS ? 2 : 1)
        for (int row = first; row < first + WARP_ROWS; row += BATCH) {
            out_t batch[BATCH];
            UNROLL
            for (int i = 0; i < BATCH; i++) {
                const out_t *slot = (const out_t *)__cvta_shared_to_generic(in_box(box, row + i, x));
                if (row + i < rows && x < cols)
                    batch[i] = out ? *slot : c[(row + i) * C_LINE(g) + x * C_STEP(g)];
            }
            UNROLL
            for (int i = 0; i < BATCH; i++) {
                out_t *slot = (out_t *)__cvta_shared_to_generic(in_box(box, row + i, x));
                if (row + i < rows && x < cols)
                    *(out ? &c[(row + i) * C_LINE(g) + x * C_STEP(g)] : slot) = batch[i];
            }
        }
    }
}

#if defined(TYPE_F16) || defined(TYPE_BF16)
/* A warp's rows of a box to C, four at a time, in pieces of 16 bytes as they lie there: eight lanes have those of a row. What a
 * row has ahead of the first whole piece and after the last is as much as one, and leaves element by element; or of boxes that
 * have a neighbour (`before`, `after`) together with its, by the lane that has no other piece. (Elements of four bytes all leave
 * by themselves: at 4095³ that took 3 % less.) */
DEVICE void write_pieces(const gemm *g, unsigned box, out_t *c, int rows, unsigned carried, int before,
                         int after) {
    const int own = threadIdx.x % 8, first = first_row() + threadIdx.x % 32 / 8;
    const unsigned line = box + first * LINE;
    out_t *to = c + first * C_LINE(g);
    UNROLL
    for (int i = 0; i < WARP_ROWS; i += 4) {
        const int turn = first % 8 ^ i % 8, ahead = -(int)((unsigned long long)to / 2) & 7;
        piece low = shared_piece(line + i * LINE + (own ^ turn) * 16),
              high = shared_piece(line + i * LINE + ((own + 1) % 8 ^ turn) * 16);
        if (CARRIES && own == 7 && ahead > 0) {
            piece last = low;
            low = shared_piece(carried + (first + i) * 16);
            keep_piece(carried + (first + i) * 16, last);
        }
        if (first + i < rows) {
            int ends = own < ahead ? 0 : 7; /* the piece that a single element is of */
            const out_t *single =
                (const out_t *)__cvta_shared_to_generic(line + i * LINE + (ends ^ turn) * 16) + own;
            int number = CARRIES && own == 7 && ahead > 0 ? -1 : own;
            if (own < 7 || ahead == 0 || (CARRIES && before))
                write_piece(to + ahead + number * 8, shifted(low, high, 2 * ahead));
            if (ahead > 0 && !(CARRIES && (own < ahead ? before : after))) to[ends * 8 + own] = *single;
        }
        to += 4 * C_LINE(g);
    }
}
#endif

/* What a warp has of the box: from C to it, or (`out`, a constant) from it. */
DEVICE void copy_box(const output *o, unsigned box, int number, int out) {
    const gemm *g = &o->all->g;
    const place p = place_of_box(o, number);
    const int rows = C_ROWS(g, p.product) - p.row, cols = g->n - p.col;
    out_t *c = g->c + C_FIRST(g, p.product) + p.row * C_LINE(g) + p.col * C_STEP(g);
#if defined(TYPE_F16) || defined(TYPE_BF16)
    if (out && cols >= BOX_COLS) {
        write_pieces(g, box, c, rows, o->carried, number % STRIP > 0,
                     number % STRIP < STRIP - 1 && cols >= 2 * BOX_COLS);
        return;
    }
#endif
    copy_elements(g, box, c, rows, cols, out);
}

/* A box that may be written, or (`reads`, a constant) that has what C was. */
DEVICE void await_box(output *o, unsigned box, int number, int reads) {
    int slot = number % SLOTS;
    if (!STORE) {
        team_wait();
        if (reads) copy_box(o, box, number, 0);
    } else if (reads) {
        barrier_wait(o->old + 8 * slot, o->parity >> slot & 1);
        o->parity ^= 1u << slot;
    } else if (leads_team()) {
        if (number == 0)
            tma_wait_read(0); /* the tile before may have ended in any slot */
        else
            tma_wait_read(SLOTS - 1);
    }
    team_wait();
}

/* alpha and beta are applied to the sums of a box, and the results take the place of what C was. */
#if TURNED_SUMS
/* The column of a box that is row `row` of a warp's 16; a kernel that multiplies them in another order says otherwise. */
#ifndef TURNED_COLUMN
#define TURNED_COLUMN(row) (threadIdx.x % TEAM / 32 * 16 + (row))
#endif
DEVICE out_t *turned_place(unsigned box, int sum) {
    int lane = threadIdx.x % 32, row = sum / 4 * 8 + lane % 4 * 2 + sum % 2,
        col = TURNED_COLUMN(lane / 4 + sum / 2 % 2 * 8);
    return (out_t *)__cvta_shared_to_generic(in_box(box, row, col));
}
#if defined(TYPE_F16) || defined(TYPE_BF16)
DEVICE void fill_turned(unsigned box, const acc_t *sums) {
    const int lane = threadIdx.x % 32, row = lane / 16 * 8 + lane % 8, col = TURNED_COLUMN(lane / 8 % 2 * 8);
    UNROLL
    for (int i = 0; i < BOX_ROWS / 16; i++) {
        const acc_t *s = &sums[8 * i];
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                         in_box(box, 16 * i + row, col)),
                     "r"(round_pair(s[0], s[1])), "r"(round_pair(s[2], s[3])), "r"(round_pair(s[4], s[5])),
                     "r"(round_pair(s[6], s[7]))
                     : "memory");
    }
}
#endif
DEVICE void fill_box(const gemm *g, unsigned box, acc_t *sums, outcome how) {
    out_t old[BOX_SUMS];
    UNROLL
    for (int i = 0; i < BOX_SUMS; i++)
        if (how == ADDED) old[i] = *turned_place(box, i);
#if defined(TYPE_F16) || defined(TYPE_BF16)
    UNROLL
    for (int i = 0; i < BOX_SUMS; i++) sums[i] = result_of(g, sums[i], &old[i], how);
    if (how == ADDED) __syncwarp();
    fill_turned(box, sums);
#else
    UNROLL
    for (int i = 0; i < BOX_SUMS; i++) *turned_place(box, i) = result_of(g, sums[i], &old[i], how);
#endif
}
#else
DEVICE void fill_box(const gemm *g, unsigned box, acc_t *sums, outcome how) {
    int lane = threadIdx.x % 32, group = lane / 4, quad = lane % 4;
    UNROLL
    for (int j = 0; j < BOX_COLS / 8; j++) {
        UNROLL
        for (int half = 0; half < 2; half++) {
            pair old,
                *there = (pair *)__cvta_shared_to_generic(in_box(box, group + 8 * half, 8 * j + 2 * quad));
            if (how == ADDED) old = *there;
            UNROLL
            for (int i = 0; i < 2; i++) {
                acc_t *sum = &sums[4 * j + 2 * half + i];
                *sum = result_of(g, *sum, (const out_t *)&old + i, how);
            }
#if !defined(TYPE_F16) && !defined(TYPE_BF16)
            pair result = {{sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]}};
            *there = result;
#endif
        }
    }
#if defined(TYPE_F16) || defined(TYPE_BF16)
    if (how == ADDED) __syncwarp();
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
#endif

DEVICE pair two_of(acc_t low, acc_t high) {
#if defined(TYPE_F16) || defined(TYPE_BF16)
    return round_pair(low, high);
#else
    pair both = {{low, high}};
    return both;
#endif
}

/* Columns of a strip that fill no box, or rows where sums are turned, have no way through shared memory. */
#if TURNED_SUMS
DEVICE void write_rest(const output *o, int strip, const acc_t *sums, outcome how) {
    const gemm *g = &o->all->g;
    const int lane = threadIdx.x % 32, first = o->at.row + STRIP * BOX_ROWS + lane % 4 * 2;
    UNROLL
    for (int i = 0; i < REST / 2; i++) {
        int row = first + i / 4 * 8 + i % 2,
            col = o->at.col + 64 * strip + TURNED_COLUMN(lane / 4 + i / 2 % 2 * 8);
        out_t *to = g->c + C_FIRST(g, o->at.product) + row * C_LINE(g) + col * C_STEP(g);
        if (row >= C_ROWS(g, o->at.product) || col >= g->n) continue;
        pair one = two_of(result_of(g, sums[i], to, how), 0);
        *to = *(const out_t *)&one;
    }
}
#else
DEVICE void write_rest(const output *o, int strip, const acc_t *sums, outcome how) {
    const gemm *g = &o->all->g;
    const int lane = threadIdx.x % 32, step = C_STEP(g),
              first = o->at.row + strip * BOX_ROWS + first_row() + lane / 4;
    UNROLL
    for (int i = 0; i < REST / 2; i += 2) {
        int row = first + i / 2 % 2 * 8, col = o->at.col + STRIP * BOX_COLS + i / 4 * 8 + lane % 4 * 2;
        out_t *to = g->c + C_FIRST(g, o->at.product) + row * C_LINE(g) + col * step;
        if (row >= C_ROWS(g, o->at.product) || col >= g->n) continue;
        const int both = STORE || col + 1 < g->n;
        pair two =
            two_of(result_of(g, sums[i], to, how), both ? result_of(g, sums[i + 1], to + step, how) : 0);
        if (STORE) {
            *(pair *)to = two;
        } else {
            to[0] = ((const out_t *)&two)[0];
            if (both) to[step] = ((const out_t *)&two)[1];
        }
    }
}
#endif

/* The sums of a strip; those of a box are among them. */
#define SUMS_OF(sums, strip) (&(sums)[(strip)*WGMMA_COLS / 2])

DEVICE void write_boxes(output *o, acc_t sums[TILE_SUMS], outcome how) {
    const int reads = how == ADDED;
    UNROLL
    for (int i = 0; i < TILE_BOXES; i++) {
        unsigned box = o->boxes + i % SLOTS * BOX;
        place p = place_of_box(o, i);
        await_box(o, box, i, reads);
        fill_box(&o->all->g, TURNED_SUMS ? box : box + first_row() * LINE,
                 SUMS_OF(sums, i / STRIP) + i % STRIP * BOX_SUMS, how);
        if (STORE) fence_async();
        team_wait();
        if (!STORE) {
            copy_box(o, box, i, 1);
        } else if (leads_team()) {
            tma_store(&o->all->c, box, p.col, p.row, o->product);
            if (reads && i + SLOTS < TILE_BOXES) {
                tma_wait_read(0);
                ask_for_old(o, i + SLOTS);
            }
        }
        if (HOLDS && i == (TILE_BOXES - 1) / 2) {
            if ((CM * CN == 1 && HOLDS == 1) || o->held[0]) release(o->held[0]);
            if ((CM * CN == 1 && HOLDS == 1) || o->held[1]) release(o->held[1]);
        }
    }
    UNROLL
    for (int strip = 0; strip < STRIPS && REST > 0; strip++)
        write_rest(o, strip, SUMS_OF(sums, strip) + STRIP * BOX_SUMS, how);
}

/* Before the products of a tile, and after them. */
DEVICE void begin_boxes(const output *o) {
    if (!STORE || o->all->g.beta.value == 0) return;
    if (leads_team()) tma_wait_read(0);
    UNROLL
    for (int i = 0; i < SLOTS && i < TILE_BOXES; i++) ask_for_old(o, i);
}
DEVICE void write_tile(output *o, acc_t sums[TILE_SUMS]) {
    if (o->all->g.beta.value != 0)
        write_boxes(o, sums, ADDED);
    else if (STORE && o->all->g.alpha.value == 1)
        write_boxes(o, sums, AS_IT_IS);
    else
        write_boxes(o, sums, SCALED);
}
/* Before the block leaves. That its boxes have been written is what the end of a kernel waits for in any case: where a cluster is to
 * leave soon, since the next kernel's needs all of its multiprocessors, it is enough that they have been read. */
DEVICE void end_boxes(int soon) {
    if (!STORE || !leads_team()) return;
    if (soon)
        tma_wait_read(0);
    else
        tma_wait_all();
}

#endif
