/* split_prepare: the work around a product of f32 on tensor cores that keeps the accuracy of f32
 *
 * A line is a row of A or a column of B, k elements long. Two kernels, launched before the product on its stream:
 *   split_prepare   for every line the power of two that brings its largest element into [2^14, 2^15), kept as two
 *                   factors that undo it; for every block what it found that f16, or bf16, cannot carry; and the parts
 *                   that the kernel likes best (split_prepare_short and _long: the same for shorter and for longer lines)
 *   split_pack      decides the way from all that was found, and writes the parts that this way lacks; unless parts
 *                   are kept for many products, the product's kernel does without it
 * The product's kernel does what neither f16 nor bf16 carries by plain multiply-adds; where there is no memory for parts
 * split_multiply is all that is launched.
 * Nothing is added up across blocks but by reading what all of them wrote, so nothing has to be cleared beforehand.
 *
 * Lines along which elements are neighbours are read by some threads of a block each, which keep them in registers. Of
 * others a cluster of blocks reads a strip, 32 lines, each block so much of k, and keeps it in shared memory, where it
 * is turned. What neither holds is read once more when the factors are known.
 *
 * Parts of a line lie in chunks of 64 k, and the last is filled with zeros:
 *   WAY_FP16X3  x*2^s = high + low in f16; a chunk is 32 k of high, the same 32 of low, and both again
 *   WAY_BF16X6  x = first + second + third, exactly, in bf16; a chunk is 64 k of each
 * docs/NUMERICS.md has the limits, and what they guarantee. */
enum { THREADS = 256, STRIP = 32, PACK_ROWS = 256 };
#include "parts.h"

/* Blocks that share a strip: of the longest lines, where the card has room for so many; of long ones; and of short ones. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
enum { MOST = 16, MANY = 8, FEW = 4 };
#define PREPARE_KERNEL(cluster) KERNEL2(THREADS, 3) __cluster_dims__(cluster, 1, 1)
#else
enum { MOST = 1, MANY = 1, FEW = 1 };
#define PREPARE_KERNEL(cluster) KERNEL2(THREADS, 3)
#endif

/* ---- Lines along which elements are neighbours ---- */

enum { HELD = 8 }; /* times four elements that a thread keeps */

/* A thread's share of a line: every `threads`-th four elements. */
typedef struct share {
    const float *from;
    int k, vec, number, threads; /* k: 0 if there is no such line */
} share;

/* Threads of a block that has so many lines at a time, a power of two, are 2 to that for each. */
DEVICE int shift_of(int together) {
    return together == 1 ? 8 : together == 2 ? 7 : together == 4 ? 6 : 5;
}
DEVICE share share_of(const split_side *side, int product, int line, int k, int shift) {
    int threads = 1 << shift;
    share mine = {line_of(side, product, line), line < side->lines ? k : 0, side->vec,
                  (int)threadIdx.x & (threads - 1), threads};
    return mine;
}

/* Where number `i` of its fours begins. */
DEVICE int place_in(const share *mine, int i) {
    return 4 * (i * mine->threads + mine->number);
}

DEVICE void read_four(const share *mine, int at, float x[4]) {
    if (mine->vec == 4 && at + 3 < mine->k) {
        four_floats all = *(const four_floats *)(mine->from + at);
        UNROLL
        for (int i = 0; i < 4; i++) x[i] = all.at[i];
        return;
    }
    UNROLL
    for (int i = 0; i < 4; i++) x[i] = at + i < mine->k ? mine->from[at + i] : 0.0f;
}

/* What warps of a block tell each other of their lines. */
typedef struct lines_room {
    unsigned largest[THREADS / 32];
    facts all[THREADS / 32];
} lines_room;

/* HELD fours of a share from number `first` on: all of it, if the line is not long. */
DEVICE void read_batch(const share *mine, int first, float x[HELD][4]) {
    UNROLL
    for (int i = 0; i < HELD; i++) read_four(mine, place_in(mine, first + i), x[i]);
}

/* The largest element of a thread's line; the last batch of the share stays in x. */
DEVICE unsigned largest_of_line(const share *mine, float x[HELD][4], lines_room *room) {
    int warp = threadIdx.x / 32, first = (threadIdx.x - mine->number) / 32, at = 0;
    unsigned largest = 0;
    UNROLL_BY(1)
    do {
        read_batch(mine, at, x);
        UNROLL
        for (int i = 0; i < HELD; i++) largest = largest_of_four(largest, x[i]);
        at += HELD;
    } while (place_in(mine, at) < mine->k);
    largest = join_largest(largest, 31);
    if (threadIdx.x % 32 == 0) room->largest[warp] = largest;
    __syncthreads();
    UNROLL_BY(1)
    for (int i = first; i < first + mine->threads / 32; i++) largest = larger_bits(largest, room->largest[i]);
    return largest;
}

/* The parts of a share; returns its facts. Of a long line it has to be read again. */
DEVICE facts write_share(const share *mine, float x[HELD][4], unsigned largest, const scaling *by,
                         unsigned short *parts) {
    int end = chunks_of(mine->k) * DEPTH, is_long = end > 4 * HELD * mine->threads, first = 0;
    unsigned threshold = octaves_below(largest, SUBSTANTIAL);
    quick_facts quick = {~0u, 0};
    UNROLL_BY(1)
    for (; place_in(mine, first) < end; first += HELD) {
        if (is_long) read_batch(mine, first, x);
        UNROLL
        for (int i = 0; i < HELD; i++) {
            add_four_quickly(&quick, x[i], threshold);
            if (place_in(mine, first + i) < end) write_four(x[i], by, parts, place_in(mine, first + i));
        }
    }
    facts f = {largest, quick.smallest, 4 * quick.fours, 0};
    if (is_enough(&quick, largest, first)) return f;
    f.smallest = ~0u;
    f.count = 0;
    UNROLL_BY(1)
    for (int i = 0; place_in(mine, i) < mine->k; i++) {
        float y[4];
        read_four(mine, place_in(mine, i), y);
        add_four(&f, y, threshold);
    }
    return f;
}

/* Group number `at` of a side's lines, from memory to facts and parts; returns what was found. */
DEVICE int prepare_lines(const split_side *side, int at, int k, int way, int lack, lines_room *room) {
    int width = side->together, shift = shift_of(width), groups = (side->lines + width - 1) >> (8 - shift),
        product = at / groups, line = (at - product * groups) * width + (threadIdx.x >> shift);
    share mine = share_of(side, product, line, k, shift);
    float x[HELD][4], undo[2];
    unsigned largest = largest_of_line(&mine, x, room);
    facts f = {0, ~0u, 0, 0};
    undo_of(largest, undo);
    if (mine.k > 0) {
        scaling by = scaling_of(way, undo);
        f = write_share(&mine, x, largest, &by, parts_of(side, number_of(side, product, line), k));
    }
    f = join_facts(f, 31);
    if (threadIdx.x % 32 == 0) room->all[threadIdx.x / 32] = f;
    __syncthreads();
    if (mine.number != 0 || mine.k == 0) return 0;
    UNROLL_BY(1)
    for (int i = 1; i < mine.threads / 32; i++) merge(&f, &room->all[threadIdx.x / 32 + i]);
    return judge_line(&f, k, lack, side->undo + 2 * number_of(side, product, line));
}

/* The parts alone. */
DEVICE void pack_lines(const split_side *side, int at, int k, int way) {
    int width = side->together, shift = shift_of(width), groups = (side->lines + width - 1) >> (8 - shift),
        product = at / groups, line = (at - product * groups) * width + (threadIdx.x >> shift);
    share mine = share_of(side, product, line, k, shift);
    if (mine.k == 0) return;
    long long number = number_of(side, product, line);
    scaling by = scaling_of(way, side->undo + 2 * number);
    unsigned short *parts = parts_of(side, number, k);
    UNROLL_BY(4)
    for (int i = 0; place_in(&mine, i) < chunks_of(k) * DEPTH; i++) {
        float x[4];
        read_four(&mine, place_in(&mine, i), x);
        write_four(x, &by, parts, place_in(&mine, i));
    }
}

/* ---- Strips: lines that are each other's neighbours ---- */

/* Where element `row` of line `col` of a strip lies in shared memory. Fours of lines change places, so that neither
 * those of one row nor four rows of each of eight fours of elements meet in a bank. */
DEVICE int in_strip(unsigned row, unsigned col) {
    return row * STRIP + ((col / 4 ^ row / 4 % 8) * 4) + col % 4;
}

/* A part of a strip: `rows` elements of 32 lines. */
typedef struct strip {
    const split_side *side;
    int product, line, row, rows, k;
} strip;

DEVICE void read_strip(const strip *p, float *tile) {
    const split_side *side = p->side;
    int vec = side->vec, first = vec == 4 ? threadIdx.x / 8 : threadIdx.x / 32,
        col = vec == 4 ? threadIdx.x % 8 * 4 : threadIdx.x % 32, next = vec == 4 ? THREADS / 8 : THREADS / 32,
        rows = p->line + col < side->lines ? p->k - p->row : 0;
    const float *from = line_of(side, p->product, p->line + col) + (p->row + first) * side->step;
    __syncthreads();
    for (int row = first; row < p->rows; row += next, from += next * side->step) {
        if (vec == 4)
            cp_async(&tile[in_strip(row, col)], from, 16, row < rows);
        else
            cp_async(&tile[in_strip(row, col)], from, 4, row < rows);
    }
    cp_commit();
    cp_wait(0);
    __syncthreads();
}

/* Four elements of a line; `row` is a multiple of four. */
DEVICE void read_column(const float *tile, int row, int col, float x[4]) {
    const float *at = &tile[in_strip(row, col)];
    UNROLL
    for (int i = 0; i < 4; i++) x[i] = at[i * STRIP];
}

/* Eight lanes have a line, each every eighth four of its elements; a warp has four lines. */
DEVICE int column_of_thread(void) {
    return threadIdx.x / 8;
}
DEVICE int first_row_of_thread(void) {
    return threadIdx.x % 8 * 4;
}
enum { NEXT_ROW = 32 };

DEVICE void write_strip(const strip *p, const float *tile, const scaling *by, unsigned short *parts) {
    UNROLL_BY(2)
    for (int row = first_row_of_thread(); row < p->rows; row += NEXT_ROW) {
        float x[4];
        read_column(tile, row, column_of_thread(), x);
        write_four(x, by, parts, p->row + row);
    }
}

DEVICE void survey_strip(const strip *p, const float *tile, unsigned threshold, facts *f) {
    UNROLL_BY(2)
    for (int row = first_row_of_thread(); row < p->rows; row += NEXT_ROW) {
        float x[4];
        read_column(tile, row, column_of_thread(), x);
        f->largest = largest_of_four(f->largest, x);
        add_four(f, x, threshold);
    }
}

/* The parts, and the facts of those elements. */
DEVICE facts write_and_survey(const strip *p, const float *tile, unsigned largest, const scaling *by,
                              unsigned short *parts) {
    unsigned threshold = octaves_below(largest, SUBSTANTIAL);
    quick_facts quick = {~0u, 0};
    UNROLL_BY(2)
    for (int row = first_row_of_thread(); row < p->rows; row += NEXT_ROW) {
        float x[4];
        read_column(tile, row, column_of_thread(), x);
        add_four_quickly(&quick, x, threshold);
        write_four(x, by, parts, p->row + row);
    }
    facts f = {largest, quick.smallest, 4 * quick.fours, 0};
    if (is_enough(&quick, largest, (p->rows - first_row_of_thread() + NEXT_ROW - 1) / NEXT_ROW)) return f;
    f.smallest = ~0u;
    f.count = 0;
    survey_strip(p, tile, threshold, &f);
    return f;
}

/* What each block of a cluster tells others of strips, one after the other: all of them its largest elements, of two strips, since
 * it may be one ahead; and the first what it found. */
typedef struct told {
    unsigned largest[2][STRIP];
    two_words found[STRIP]; /* smallest and count of facts */
} told;
/* Barriers count what has come. */
typedef struct strip_room {
    unsigned long long told_largest[2], told_found;
    unsigned of_warp[THREADS / 32][STRIP];
} strip_room;

/* A write to another block is counted there when it has arrived. At a barrier of the cluster, instead, a block would wait for
 * all that it has written to memory. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#include "barriers.h"

DEVICE void make_barriers(strip_room *room) {
    if (threadIdx.x == 0) {
        barrier_init(shared_at(&room->told_largest[0]), 1);
        barrier_init(shared_at(&room->told_largest[1]), 1);
        barrier_init(shared_at(&room->told_found), 1);
        barrier_publish();
    }
    __syncthreads();
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
/* Before the first word to another block: it has barriers. */
DEVICE void await_barriers(void) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
DEVICE void expect(const unsigned long long *barrier, int bytes) {
    if (threadIdx.x == 0) barrier_expect(shared_at(barrier), bytes);
}
DEVICE void await_told(const unsigned long long *barrier, int phase) {
    barrier_wait_cluster(shared_at(barrier), phase & 1);
}
DEVICE void tell_word(const unsigned *own, unsigned word, int block, const unsigned long long *barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                     block_address(shared_at(own), block)),
                 "r"(word), "r"(block_address(shared_at(barrier), block))
                 : "memory");
}
DEVICE void tell_two(const two_words *own, two_words words, int block, const unsigned long long *barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%0], {%1, %2}, [%3];" ::
                     "r"(block_address(shared_at(own), block)),
                 "r"(words.at[0]), "r"(words.at[1]), "r"(block_address(shared_at(barrier), block))
                 : "memory");
}
#else
#define make_barriers(room)                  ((void)0)
#define await_barriers()                     ((void)0)
#define expect(barrier, bytes)               ((void)0)
#define await_told(barrier, phase)           __syncthreads()
#define tell_word(own, word, block, barrier) (*(own) = (word))
#define tell_two(own, words, block, barrier) (*(own) = (words))
#endif

/* Elements of k of each block of a cluster: whole pieces of 32. */
DEVICE int rows_each(int k, int cluster) {
    return (chunks_of(k) * DEPTH + cluster * 32 - 1) / (cluster * 32) * 32;
}

/* The largest of some lines in a tile, of four by each thread. */
DEVICE void add_largest(const strip *p, const float *tile, unsigned largest[4]) {
    UNROLL_BY(4)
    for (int row = threadIdx.x / 8; row < p->rows; row += THREADS / 8) {
        four_floats x = *(const four_floats *)&tile[in_strip(row, threadIdx.x % 8 * 4)];
        UNROLL
        for (int i = 0; i < 4; i++) largest[i] = larger_bits(largest[i], bits_of_magnitude(x.at[i]));
    }
}

/* The largest element of a thread's line in a block's strip of that number, from what all threads of the cluster found of
 * four lines each. A warp tells one block, or two. */
DEVICE unsigned largest_of_cluster(unsigned largest[4], int cluster, int number, strip_room *room,
                                   told *words) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, rank = blockIdx.x % cluster, turn = number % 2;
    expect(&room->told_largest[turn], cluster * STRIP * (int)sizeof(unsigned));
    if (rank == 0) expect(&room->told_found, cluster * STRIP * (int)sizeof(two_words));
    UNROLL
    for (int i = 0; i < 4; i++) {
        largest[i] = larger_bits(largest[i], __shfl_xor_sync(0xffffffffu, largest[i], 8));
        largest[i] = larger_bits(largest[i], __shfl_xor_sync(0xffffffffu, largest[i], 16));
        if (lane < 8) room->of_warp[warp][4 * lane + i] = largest[i];
    }
    __syncthreads();
    if (number == 0) await_barriers();
    if (warp < cluster) {
        unsigned most = 0;
        for (int i = 0; i < THREADS / 32; i++) most = larger_bits(most, room->of_warp[i][lane]);
        UNROLL
        for (int to = warp; to < cluster; to += THREADS / 32)
            tell_word(&words[rank].largest[turn][lane], most, to, &room->told_largest[turn]);
    }
    await_told(&room->told_largest[turn], number / 2);
    unsigned all = 0;
    UNROLL
    for (int i = threadIdx.x % 8; i < cluster; i += 8)
        all = larger_bits(all, words[i].largest[turn][column_of_thread()]);
    return join_largest(all, 7);
}

/* The first block of a cluster judges the lines, from what all have told it. */
DEVICE int judge_strip(const strip *p, unsigned largest, int cluster, const told *words, int lack) {
    int line = p->line + column_of_thread();
    facts f = {largest, ~0u, 0, 0};
    if (threadIdx.x % 8 != 0 || line >= p->side->lines) return 0;
    for (int i = 0; i < cluster; i++) {
        two_words found = words[i].found[column_of_thread()];
        f.smallest = smaller_bits(f.smallest, found.at[0]);
        f.count += (int)found.at[1];
    }
    return judge_line(&f, p->k, lack, p->side->undo + 2 * number_of(p->side, p->product, line));
}

/* Strip number `at` of a side, by the blocks of a cluster together, which have had so many before; returns what was found.
 * A block whose share does not fit its tile as a `whole` reads it in pieces, and all but the last once more, the latest
 * first: they are still near. */
DEVICE int prepare_strip(const split *s, int cluster, int whole, const split_side *side, int at, int before,
                         int lack, float *tile, strip_room *room, told *words) {
    int k = s->k, groups = groups_of(side, STRIP), each = rows_each(k, cluster), end = chunks_of(k) * DEPTH,
        rank = blockIdx.x % cluster, first = rank * each, last = first + each < end ? first + each : end;
    strip p = {side, at / groups, at % groups * STRIP, first, 0, k};
    unsigned most[4] = {0, 0, 0, 0};
    do {
        int left = last > p.row ? last - p.row : 0;
        p.rows = whole || left < side->rows ? left : side->rows;
        read_strip(&p, tile);
        add_largest(&p, tile, most);
        p.row += p.rows;
    } while (!whole && p.row < last);
    unsigned largest = largest_of_cluster(most, cluster, before, room, words);
    int line = p.line + column_of_thread();
    facts f = {largest, ~0u, 0, 0};
    float undo[2];
    undo_of(largest, undo);
    scaling by = scaling_of(s->least_way, undo);
    p.row -= p.rows; /* the last piece is still there */
    for (;;) {
        if (line < side->lines) {
            facts more =
                write_and_survey(&p, tile, largest, &by, parts_of(side, number_of(side, p.product, line), k));
            merge(&f, &more);
        }
        if (whole || p.row <= first) break;
        p.rows = side->rows;
        p.row -= p.rows;
        read_strip(&p, tile);
    }
    f = join_facts(f, 7);
    two_words found = {{f.smallest, (unsigned)f.count}};
    if (threadIdx.x % 8 == 0) tell_two(&words[rank].found[column_of_thread()], found, 0, &room->told_found);
    if (rank > 0) return 0;
    await_told(&room->told_found, before);
    return judge_strip(&p, largest, cluster, words, lack);
}

/* The parts alone of a piece of a strip. */
DEVICE void pack_strip(const split_side *side, int at, int k, int way, float *tile) {
    int end = chunks_of(k) * DEPTH, pieces = (end + PACK_ROWS - 1) / PACK_ROWS,
        groups = groups_of(side, STRIP), row = at % pieces * PACK_ROWS, left = end - row;
    strip p = {side,
               at / pieces / groups,
               at / pieces % groups * STRIP,
               row,
               left < PACK_ROWS ? left : PACK_ROWS,
               k};
    int line = p.line + column_of_thread();
    read_strip(&p, tile);
    if (line >= side->lines) return;
    long long number = number_of(side, p.product, line);
    scaling by = scaling_of(way, side->undo + 2 * number);
    write_strip(&p, tile, &by, parts_of(side, number, k));
}

/* ---- The kernels ---- */

/* Groups of lines, or strips, of a side. */
DEVICE int strips_of(const split_side *side) {
    return side->together > 0 ? 0 : groups_of(side, STRIP) * side->products;
}
DEVICE int line_groups_of(const split_side *side) {
    return side->together > 0 ? groups_of(side, side->together) * side->products : 0;
}

/* All strips of both sides, by clusters; all other lines, by blocks. They return what was found. */
DEVICE int prepare_strips(const split *s, int cluster, int whole, float *tile, strip_room *room,
                          told *words) {
    int of_a = strips_of(&s->a), all = of_a + strips_of(&s->b), found = 0, before = 0;
    make_barriers(room);
    await_last_kernel();
    for (int at = blockIdx.x / cluster; at < all; at += s->strip_blocks / cluster, before++) {
        int is_a = at < of_a;
        found =
            join_found(found, prepare_strip(s, cluster, whole, is_a ? &s->a : &s->b, is_a ? at : at - of_a,
                                            before, is_a ? LACK_A : LACK_B, tile, room, words));
    }
    return found;
}
DEVICE int prepare_others(const split *s, lines_room *room) {
    int of_a = line_groups_of(&s->a), all = of_a + line_groups_of(&s->b), found = 0;
    await_last_kernel();
    for (int at = blockIdx.x - s->strip_blocks; at < all; at += gridDim.x - s->strip_blocks) {
        int is_a = at < of_a;
        found = join_found(found, prepare_lines(is_a ? &s->a : &s->b, is_a ? at : at - of_a, s->k,
                                                s->least_way, is_a ? LACK_A : LACK_B, room));
    }
    return found;
}

typedef union prepare_room {
    strip_room of_strips;
    lines_room of_lines;
} prepare_room;

/* Factors of lines beyond the last, one of each thread. */
DEVICE void set_spare_factors(const split_side *side) {
    float *undo = side->undo + 2 * (number_of(side, side->products, 0) + threadIdx.x);
    if (!side->kept) undo[0] = undo[1] = 1.0f;
}

/* By a block. */
DEVICE void clear_tickets(const split *s) {
    for (int i = threadIdx.x; s->room > 0 && i < TICKETS; i += THREADS) tickets_of(s)[i] = 0;
}

DEVICE void prepare(const split *s, int cluster, int whole, float *tile, prepare_room *room, told *words,
                    int founds[THREADS]) {
    int found = (int)blockIdx.x < s->strip_blocks
                    ? prepare_strips(s, cluster, whole, tile, &room->of_strips, words)
                    : prepare_others(s, &room->of_lines);
    found = join_all_found(found, founds);
    if (threadIdx.x == 0) s->state[1 + blockIdx.x] = found;
    if (blockIdx.x > 0) return;
    if (threadIdx.x < 2) s->state[1 + s->blocks + threadIdx.x] = 0;
    if (!s->packs) clear_tickets(s);
    set_spare_factors(&s->a);
    set_spare_factors(&s->b);
}

/* For long lines, for the longest, and for short ones, whose strips fewer blocks share: what they wait for is each other. */
PREPARE_KERNEL(MANY) split_prepare(SPLIT_ARGUMENT s) {
    DYNAMIC_SHARED(float, tile);
    __shared__ prepare_room room;
    __shared__ told words[MANY];
    __shared__ int founds[THREADS]; /* not in the room: barriers may not be written over */
    prepare(&s, MANY, 0, tile, &room, words, founds);
}
PREPARE_KERNEL(MOST) split_prepare_long(SPLIT_ARGUMENT s) {
    DYNAMIC_SHARED(float, tile);
    __shared__ prepare_room room;
    __shared__ told words[MOST];
    __shared__ int founds[THREADS]; /* not in the room: barriers may not be written over */
    prepare(&s, MOST, 0, tile, &room, words, founds);
}
PREPARE_KERNEL(FEW) split_prepare_short(SPLIT_ARGUMENT s) {
    DYNAMIC_SHARED(float, tile);
    __shared__ prepare_room room;
    __shared__ told words[FEW];
    __shared__ int founds[THREADS]; /* not in the room: barriers may not be written over */
    prepare(&s, FEW, 1, tile, &room, words, founds);
}

/* Units of a side that split_pack has to do, if any. */
DEVICE int units_of(const split *s, const split_side *side, int way) {
    int pieces = (chunks_of(s->k) * DEPTH + PACK_ROWS - 1) / PACK_ROWS;
    if (side->kept ? *side->kept == way : way == s->least_way) return 0;
    return line_groups_of(side) + strips_of(side) * pieces;
}

KERNEL2(THREADS, 6) split_pack(SPLIT_ARGUMENT s) {
    DYNAMIC_SHARED(float, tile);
    __shared__ int founds[THREADS];
    await_last_kernel();
    int way = choose_way(&s, founds);
    if (blockIdx.x == 0 && threadIdx.x == 0) s.state[0] = way;
    if (blockIdx.x == 0) clear_tickets(&s);
    if (way == WAY_FMA) return;
    int of_a = units_of(&s, &s.a, way), all = of_a + units_of(&s, &s.b, way);
    for (int at = blockIdx.x; at < all; at += gridDim.x) {
        const split_side *side = at < of_a ? &s.a : &s.b;
        int unit = at < of_a ? at : at - of_a;
        if (side->together > 0)
            pack_lines(side, unit, s.k, way);
        else
            pack_strip(side, unit, s.k, way, tile);
    }
}

/* ---- Plain multiply-adds ---- */

#include "plain.h"

KERNEL2(THREADS, 2) split_multiply(SPLIT_ARGUMENT s) {
    __shared__ plain_tile of_a, of_b;
    await_last_kernel();
    plain_product(&s, of_a, of_b);
}
