/* split.h: products of f32 on Hopper's tensor cores from parts of A and B that split_prepare.cu has written: a kernel
 * says #include "split.h" after its parameters. For sm_90a alone.
 *
 * The skeleton is that of wgmma_06_turns. A stage holds 128 bytes of every line of the tile: 32 k of high and low parts
 * of f16, or 64 k of one of three parts of bf16. Tensor cores cut off what does not fit as they add; so after every chunk
 * of 64 k their sums are added to others by ordinary additions, which round. */
#ifndef SPLIT_H
#define SPLIT_H

#define A_TURNED 0
#define B_TURNED 0
#include "hopper.h"

#include "sides.h"

#ifndef SHORT
#define SHORT 0 /* 1: there is no bf16x6 */
#endif
#ifndef SHARE
#define SHARE 0 /* 1: tiles of a last round that is not full are cut along k */
#endif

enum {
    BM = 128, /* 64 rows for each of two warpgroups */
    CONSUMERS = 2,
    THREADS = 128 * (1 + CONSUMERS),
    LINE = 128,      /* bytes of a line of a tile */
    PART = LINE / 2, /* elements of it */
    A_BYTES = BM * LINE,
    STAGE = A_BYTES + BN * LINE,
    CHUNK = 64 * LINE, /* a warpgroup's lines of A */
    BOX = 16 * LINE,   /* a warp's rows of C, 128 bytes of each */
    BOX_COLS = LINE / 4
};

#include "parts.h"

/* What such a kernel is passed (src/cuda/tensor_map.h has the same): a product whose A and B are their parts, and what
 * they were. */
typedef struct split_gemm {
    tma_gemm maps;
    split whole;
} split_gemm;

#include "walk.h"

#include "jobs.h"
#include "pace.h"

/* Bytes of the sums of a cluster's tile. */
enum { TILE_BYTES = CM * BM * BN * (int)sizeof(float) };

/* A cluster's jobs: tiles may be cut where there is room for the sums of their pieces, and a ticket for each warp of them. */
DEVICE jobs jobs_of(const split_gemm *all) {
    const gemm *g = &all->maps.g;
    walk w = begin_walk(g);
    long long bytes = (long long)places_of(&w) * TILE_BYTES;
    int tickets = w.total % w.step * CM * 4 * CONSUMERS;
    return begin_jobs(w, (g->k + DEPTH - 1) / DEPTH, bytes <= all->whole.room && tickets <= TICKETS);
}

/* ---- The way, and parts written anew ---- */

/* Lines of a unit, one for every eight threads, and chunks. */
enum { UNIT_LINES = THREADS / 8, UNIT_CHUNKS = 4 };

VECTOR_TYPE(four_words, unsigned, 4);

/* Eight elements of a line, from `at` on, as three bf16 each. */
DEVICE void pack_eight(const split_side *side, int product, int line, int at, int k) {
    const float *from = line_of(side, product, line) + at * side->step;
    unsigned short *to =
        parts_of(side, number_of(side, product, line), k) + at / DEPTH * 3 * DEPTH + at % DEPTH;
    four_words parts[3];
    UNROLL
    for (int i = 0; i < 4; i++) {
        float x = at + 2 * i < k ? from[2 * i * side->step] : 0,
              y = at + 2 * i + 1 < k ? from[(2 * i + 1) * side->step] : 0;
        UNROLL
        for (int p = 0; p < 3; p++) {
            unsigned low = near_bf16(x), high = near_bf16(y);
            parts[p].at[i] = low | high << 16;
            x -= float_of_bits(low << 16);
            y -= float_of_bits(high << 16);
        }
    }
    UNROLL
    for (int p = 0; p < 3; p++) *(four_words *)(to + p * DEPTH) = parts[p];
}

DEVICE int units_of(const split_side *side, int k) {
    return groups_of(side, UNIT_LINES) * side->products * ((chunks_of(k) + UNIT_CHUNKS - 1) / UNIT_CHUNKS);
}

/* Neighbours of a warp read neighbours in memory, along k or across. */
DEVICE void pack_unit(const split_side *side, int unit, int k) {
    int steps = (chunks_of(k) + UNIT_CHUNKS - 1) / UNIT_CHUNKS, groups = groups_of(side, UNIT_LINES),
        thread = threadIdx.x, along = side->together > 0,
        line = unit / steps % groups * UNIT_LINES + (along ? thread / 8 : thread % UNIT_LINES),
        at = unit % steps * UNIT_CHUNKS * DEPTH + (along ? thread % 8 : thread / UNIT_LINES) * 8;
    for (int i = 0; i < UNIT_CHUNKS && line < side->lines && at < chunks_of(k) * DEPTH; i++, at += DEPTH)
        pack_eight(side, unit / steps / groups, line, at, k);
}

/* The parts of both sides for bf16x6. Blocks take units until there are none left, and wait for those that others have
 * taken: for blocks that run, however many do. */
DEVICE void pack_again(const split *s, int *next) {
    int *taken = s->state + 1 + s->blocks, *done = taken + 1;
    int of_a = units_of(&s->a, s->k), all = of_a + units_of(&s->b, s->k);
    for (;;) {
        if (threadIdx.x == 0) *next = atomicAdd(taken, 1);
        __syncthreads();
        int unit = *next;
        if (unit >= all) break;
        pack_unit(unit < of_a ? &s->a : &s->b, unit < of_a ? unit : unit - of_a, s->k);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicAdd(done, 1);
    }
    while (threadIdx.x == 0 && *(volatile int *)done < all) {
    }
    __threadfence();
    asm volatile("fence.proxy.async;" ::: "memory"); /* TMA will read them */
}

/* Decided by split_pack; or here, by every block for itself, from what split_prepare found. */
DEVICE int way_of(const split *s, int *memory) {
    if (s->packs) return *(const volatile int *)s->state;
    int way = choose_way(s, memory);
    if (SHORT && way == WAY_BF16X6) way = WAY_FMA;
    if (blockIdx.x == 0 && threadIdx.x == 0) s->state[0] = way;
    __syncthreads();
    if (way == WAY_BF16X6 && s->least_way != way) pack_again(s, memory);
    fence_async(); /* TMA will write to where the threads did */
    __syncthreads();
    return way;
}

/* Parts that split_pack has written, as three bf16, and that are not used. */
DEVICE int leave_parts(const split *s) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        note_way(&s->a, WAY_BF16X6);
        note_way(&s->b, WAY_BF16X6);
        s->state[0] = WAY_FMA;
    }
    return WAY_FMA;
}

/* ---- The producer ---- */

/* Stage number `at` of a tile begins with that line of parts. Of bf16 the last part comes first: the products that it
 * has a share in do. */
DEVICE int part_of(int at, int way) {
    return way == WAY_FP16X3 ? at : at / 3 * 3 + (at + 2) % 3;
}

DEVICE void produce(const split_gemm *all, room r, int way, int rank) {
    const gemm *g = &all->maps.g;
    const int part = BN / CM, of_chunk = way == WAY_FP16X3 ? 2 : 3;
    ring at = {0, 1};
    jobs j = jobs_of(all);
    pace with = begin_pace(&j.w, j.chunks * of_chunk, rank);
    for (job now = {0}; next_job(&j, &now);) {
        place p = place_of(&j.w, rank);
        int product_a = g->batch_a ? p.product : 0, product_b = g->batch_b ? p.product : 0;
        int end = (now.first + now.chunks) * of_chunk;
        for (int i = now.first * of_chunk; i < end; i++) {
            unsigned stage = r.stages + at.slot * STAGE, full = r.full + 8 * at.slot,
                     to_b = stage + A_BYTES + rank * part * LINE;
            int x = part_of(i, way) * PART;
            if (now.pieces == 0) keep_pace(&with, i);
            barrier_wait(r.empty + 8 * at.slot, at.parity);
            barrier_expect(full, STAGE);
            tma_load(stage, &all->maps.a, x, p.row, product_a, full);
            if (CM > 1)
                tma_load_all(to_b, &all->maps.b, x, p.col + rank * part, product_b, full, (1 << CM) - 1);
            else
                tma_load(to_b, &all->maps.b, x, p.col, product_b, full);
            advance(&at);
        }
    }
    end_pace(&with, &j.w, j.chunks * of_chunk);
}

/* ---- The consumers ---- */

/* wgmma for the two types of parts, 16 of k each. */
#define SPLIT_WGMMA(type, sums, a, b, keep_sums)                                                     \
    asm volatile("{\n.reg .pred keep;\n"                                                             \
                 "setp.ne.b32 keep, " WG_KEEP ", 0;\n"                                               \
                 "wgmma.mma_async.sync.aligned.m64" WG_COLUMNS "k16.f32." type "." type " {" WG_SUMS \
                 "}, " WG_OTHERS ", 1, 1, 0, 0;\n}"                                                  \
                 : WG_ALL(sums)                                                                      \
                 : "l"(a), "l"(b), "r"(keep_sums))

/* The tiles of the first stage as wgmma wants them; those of a slot are so much further on. */
typedef struct tiles {
    unsigned long long a, b;
} tiles;

DEVICE tiles tiles_at(tiles first, int slot) {
    tiles t = {first.a + (unsigned)slot * (STAGE / 16), first.b + (unsigned)slot * (STAGE / 16)};
    return t;
}

/* The warpgroups take turns at giving work to the tensor cores. */
DEVICE void begin_turn(int consumer) {
    named_wait(1 + consumer, 128 * CONSUMERS);
}
DEVICE void end_turn(int consumer) {
    named_arrive(2 - consumer, 128 * CONSUMERS);
}

DEVICE void add_sums(float totals[BN / 2], const float sums[BN / 2]) {
    UNROLL
    for (int i = 0; i < BN / 2; i++) totals[i] += sums[i];
}

/* All of k in f16: of every chunk high*low and low*high, and on top of them high*high. */
DEVICE void multiply_fp16x3(float totals[BN / 2], room r, ring *at, int chunks, int consumer) {
    const tiles first = {wgmma_tile(r.stages + consumer * CHUNK, 0), wgmma_tile(r.stages + A_BYTES, 0)};
    float sums[BN / 2];
    for (int chunk = 0; chunk < chunks; chunk++) {
        int used[2];
        begin_turn(consumer);
        UNROLL
        for (int j = 0; j < 2; j++) {
            tiles t = tiles_at(first, at->slot);
            used[j] = at->slot;
            barrier_wait(r.full + 8 * at->slot, at->parity);
            wgmma_fence();
            SPLIT_WGMMA("f16", sums, t.a + 4, t.b, j);
            SPLIT_WGMMA("f16", sums, t.a + 6, t.b + 2, 1);
            SPLIT_WGMMA("f16", sums, t.a, t.b + 4, 1);
            SPLIT_WGMMA("f16", sums, t.a + 2, t.b + 6, 1);
            advance(at);
        }
        UNROLL
        for (int j = 0; j < 2; j++) {
            tiles t = tiles_at(first, used[j]);
            SPLIT_WGMMA("f16", sums, t.a, t.b, 1);
            SPLIT_WGMMA("f16", sums, t.a + 2, t.b + 2, 1);
            wgmma_commit();
        }
        end_turn(consumer);
        wgmma_wait(1);
        release(r.empty + 8 * used[0]);
        wgmma_wait(0);
        WGMMA_PIN(sums);
        release(r.empty + 8 * used[1]);
        add_sums(totals, sums);
    }
}

/* One part of A by one of B: 64 of k. */
#define MULTIPLY_PARTS(sums, a, b, keep_sums)           \
    do {                                                \
        SPLIT_WGMMA("bf16", sums, a, b, keep_sums);     \
        SPLIT_WGMMA("bf16", sums, (a) + 2, (b) + 2, 1); \
        SPLIT_WGMMA("bf16", sums, (a) + 4, (b) + 4, 1); \
        SPLIT_WGMMA("bf16", sums, (a) + 6, (b) + 6, 1); \
    } while (0)

/* Whether sums of bf16 begin with what was rounded off before. Wider tiles leave no registers for it. */
enum { KEEPS_REST = BN <= 128 };

/* Adds them, and leaves what that rounded off in their place: the next chunk's begin with it. */
DEVICE void add_sums_keep_rest(float totals[BN / 2], float sums[BN / 2]) {
    UNROLL
    for (int i = 0; i < BN / 2; i++) {
        float before = totals[i];
        totals[i] += sums[i];
        sums[i] -= totals[i] - before;
        if (sums[i] - sums[i] != 0) sums[i] = 0; /* a total may be infinite */
    }
}

/* All of k in bf16: of every chunk six of nine products of parts, the small ones first. */
DEVICE void multiply_bf16x6(float totals[BN / 2], room r, ring *at, int chunks, int consumer) {
    const tiles first = {wgmma_tile(r.stages + consumer * CHUNK, 0), wgmma_tile(r.stages + A_BYTES, 0)};
    float sums[BN / 2];
    for (int chunk = 0; chunk < chunks; chunk++) {
        int used[3];
        tiles t[3]; /* of the third, first and second parts */
        begin_turn(consumer);
        UNROLL
        for (int j = 0; j < 3; j++) {
            used[j] = at->slot;
            t[j] = tiles_at(first, at->slot);
            barrier_wait(r.full + 8 * at->slot, at->parity);
            advance(at);
        }
        wgmma_fence();
        MULTIPLY_PARTS(sums, t[0].a, t[1].b, KEEPS_REST ? chunk : 0);
        MULTIPLY_PARTS(sums, t[1].a, t[0].b, 1);
        wgmma_commit();
        MULTIPLY_PARTS(sums, t[2].a, t[2].b, 1);
        MULTIPLY_PARTS(sums, t[2].a, t[1].b, 1);
        MULTIPLY_PARTS(sums, t[1].a, t[2].b, 1);
        MULTIPLY_PARTS(sums, t[1].a, t[1].b, 1);
        wgmma_commit();
        end_turn(consumer);
        wgmma_wait(1);
        release(r.empty + 8 * used[0]);
        wgmma_wait(0);
        WGMMA_PIN(sums);
        release(r.empty + 8 * used[1]);
        release(r.empty + 8 * used[2]);
        if (KEEPS_REST)
            add_sums_keep_rest(totals, sums);
        else
            add_sums(totals, sums);
    }
}

/* ---- C ---- */

#define C_STEP(g) (g)->c_step
#include "boxes.h"

/* Undoes the scaling of rows and columns. Each of their two factors is in range where the result is. Rows and
 * columns that are not there have factors too. */
DEVICE void undo_scaling(const split_gemm *all, place at, float sums[BN / 2]) {
    const gemm *g = &all->maps.g;
    int row = at.row + threadIdx.x % 32 / 4, col = at.col + threadIdx.x % 4 * 2;
    const pair *rows =
                   (const pair *)all->whole.a.undo + (g->batch_a ? (long long)at.product * g->m : 0) + row,
               *cols =
                   (const pair *)all->whole.b.undo + (g->batch_b ? (long long)at.product * g->n : 0) + col;
    pair low = rows[0], high = rows[8];
    UNROLL
    for (int j = 0; j < BN / 8; j++) {
        UNROLL
        for (int i = 0; i < 2; i++) {
            pair c = cols[8 * j + i];
            float *s = &sums[4 * j + i];
            s[0] = s[0] * (low.at[0] * c.at[0]) * (low.at[1] * c.at[1]);
            s[2] = s[2] * (high.at[0] * c.at[0]) * (high.at[1] * c.at[1]);
        }
    }
}

/* ---- Tiles that are cut ---- */

/* A warp's totals of a piece go to its place, four of a lane beside its neighbours'. Which warp of the tile's pieces comes last
 * has them all added up, in order, so that the same bits come out whoever it is; 0: that will be another. */
DEVICE int join_pieces(const split *s, const job *now, int tile, int rank, float totals[BN / 2]) {
    const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32, each = TILE_BYTES / 16,
              mine = (rank * 4 * CONSUMERS + warp) * 16 * BN / 4 + lane;
    four_floats *room = (four_floats *)s->sums + mine;
    int *ticket = tickets_of(s) + (tile * CM + rank) * 4 * CONSUMERS + warp, before = 0;
    UNROLL
    for (int i = 0; i < BN / 8; i++) {
        four_floats four = {{totals[4 * i], totals[4 * i + 1], totals[4 * i + 2], totals[4 * i + 3]}};
        room[(long long)now->place * each + 32 * i] = four;
    }
    __threadfence();
    __syncwarp();
    if (lane == 0) before = atomicAdd(ticket, 1);
    if (__shfl_sync(~0u, before, 0) < now->pieces - 1) return 0;
    __threadfence();
    UNROLL
    for (int i = 0; i < BN / 2; i++) totals[i] = 0;
    UNROLL_BY(1)
    for (int piece = 0; piece < now->pieces; piece++) {
        const float4 *from = (const float4 *)room + (long long)(now->places + piece) * each;
        UNROLL
        for (int i = 0; i < BN / 8; i++) {
            float4 four = __ldcg(&from[32 * i]); /* past the first-level cache: others have written it */
            totals[4 * i] += four.x;
            totals[4 * i + 1] += four.y;
            totals[4 * i + 2] += four.z;
            totals[4 * i + 3] += four.w;
        }
    }
    return 1;
}

DEVICE void consume(const split_gemm *all, room r, int way, int rank) {
    int warp = threadIdx.x / 32 - 4, consumer = warp / 4;
    const gemm *g = &all->maps.g;
    float totals[BN / 2];
    ring at = {0, 0};
    jobs j = jobs_of(all);
    output o = {&all->maps, {0}, r.boxes + warp * BOXES * BOX, r.old + 8 * warp * BOXES, 0, 0};
    if (consumer == 1) named_arrive(1, 128 * CONSUMERS);
    for (job now = {0}; next_job(&j, &now);) {
        o.at = place_of(&j.w, rank);
        o.at.row += warp * 16;
        o.product = g->batch_c ? o.at.product : 0;
        if (now.pieces == 0) begin_boxes(&o);
        UNROLL
        for (int i = 0; i < BN / 2; i++) totals[i] = 0;
        if (way == WAY_FP16X3)
            multiply_fp16x3(totals, r, &at, now.chunks, consumer);
        else
            multiply_bf16x6(totals, r, &at, now.chunks, consumer);
        if (SHARE && now.pieces > 0) {
            if (!join_pieces(&all->whole, &now, j.w.at - j.whole, rank, totals)) continue;
            begin_boxes(&o);
        }
        if (way == WAY_FP16X3) undo_scaling(all, o.at, totals);
        write_tile(&o, totals);
    }
    if (consumer == 0) named_wait(1, 128 * CONSUMERS);
    end_boxes(0);
}

#include "plain.h"

/* The whole kernel; `least_way` is the first that it has. */
DEVICE void split_product(const split_gemm *all, const void *memory, int least_way) {
    room r = rooms(memory);
    int rank = CM > 1 ? cluster_rank() : 0;
    if (threadIdx.x == 0) {
        tma_prefetch(&all->maps.a);
        tma_prefetch(&all->maps.b);
        for (int s = 0; s < STAGES; s++) {
            barrier_init(r.full + 8 * s, 1);
            barrier_init(r.empty + 8 * s, 4 * CONSUMERS * CM);
        }
        for (int b = 0; b < 4 * CONSUMERS * BOXES; b++) barrier_init(r.old + 8 * b, 1);
        barrier_publish();
    }
    __syncthreads();
    if (CM > 1) cluster_wait();
    await_last_kernel();
    int way = way_of(&all->whole, (int *)__cvta_shared_to_generic(r.stages));
    if (SHORT && way == WAY_BF16X6) way = leave_parts(&all->whole);
    if (way == WAY_FMA) {
        plain_tile *tiles = (plain_tile *)__cvta_shared_to_generic(r.stages);
        plain_product(&all->whole, tiles[0], tiles[1]);
        return;
    }
    if (least_way == WAY_BF16X6) way = WAY_BF16X6;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        note_way(&all->whole.a, way);
        note_way(&all->whole.b, way);
    }
    if (threadIdx.x < 128) {
        REGISTERS_FEWER(40);
        if (threadIdx.x == 0) produce(all, r, way, rank);
    } else {
        REGISTERS_MORE(232);
        consume(all, r, way, rank);
    }
    if (CM > 1) cluster_wait(); /* no block leaves while another may write to it */
}

#endif
