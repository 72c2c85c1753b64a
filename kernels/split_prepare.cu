/* split_prepare: the work around a product of f32 on tensor cores that keeps the accuracy of f32
 *
 * A line is a row of A or a column of B, k elements long. Three kernels, launched one after the other on one stream:
 *   split_survey    for every line the power of two that brings its largest element into [2^14, 2^15), kept as two
 *                   factors that undo it; and for every block what it found that f16, or bf16, cannot carry
 *   split_pack      decides the way from all that was found, and writes the parts of A and B for it
 *   split_multiply  after the product: where the way is plain multiply-adds, that product; else it ends at once
 * Nothing is added up across blocks but by reading what all of them wrote, so nothing has to be cleared beforehand.
 *
 * Parts of a line lie in chunks of 64 k, and the last is filled with zeros:
 *   WAY_FP16X3  x*2^s = high + low/2^12 in f16; a chunk is 32 k of high, the same 32 of low, and both again
 *   WAY_BF16X6  x = first + second + third, exactly, in bf16; a chunk is 64 k of each
 * docs/NUMERICS.md has the limits, and what they guarantee. */
enum { THREADS = 256, DEPTH = 64, EDGE = 64 };
enum { WAY_FP16X3 = 1, WAY_BF16X6 = 2, WAY_FMA = 3 };
/* What a survey found: bits, and above them for A and for B how many 64ths of the worst line's elements are not known to
 * be substantial. */
enum { FOUND_SPECIAL = 1, FOUND_WIDE = 2, FOUND_TINY = 4, FOUND_BITS = 7, LACK_A = 8, LACK_B = 16, ALL = 64 };
enum {
    TOP_EXPONENT = 14,    /* of the largest element of a line, once it is scaled */
    MOST_SPAN = 28,       /* octaves below it that the high part has all of its bits in */
    SUBSTANTIAL = 14,     /* and that a substantial element is from it at most */
    MOST_LACK = 48,       /* of A and B together, for what is smaller not to matter */
    LEAST_EXPONENT = -110 /* from there on three bf16 are all of an element */
};
#define LOW_SCALE 0x1p12f /* of the low part: its own subnormal numbers begin that much later */

/* A or B. src/split.h has the same structs. */
typedef struct split_side {
    const float *from;
    unsigned short *parts;
    float *undo;         /* two factors for every line */
    int lines, products; /* products: 1 where all of a batch share it */
    int together;        /* lines that a block surveys at a time: a power of two up to 64 */
    int unused;
    long long line, step, batch; /* from one line, element and product to the next */
} split_side;

typedef struct split {
    split_side a, b;
    int *
        state; /* the way, then what every block of the survey found; NULL: there was none, split_multiply does it */
    int k, count;
    int survey_blocks;
    int least_way; /* WAY_BF16X6: f16 is not wanted */
    int unused;
    float alpha, beta;
    float *c;
    long long c_row, c_col, batch_c;
} split;

/* The next kernel of the stream may start its blocks as ours leave; ours touches memory once the last has ended. */
DEVICE void await_last(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n"
                 "griddepcontrol.wait;" ::
                     : "memory");
#endif
}

/* ---- Numbers ---- */

/* Of a positive number, from its bits; a subnormal one is counted in units of the smallest. */
DEVICE int exponent_of(unsigned bits) {
    if (bits >= 0x800000u) return (int)(bits >> 23) - 127;
    return (int)(bits_of_float((float)bits) >> 23) - 127 - 149;
}
DEVICE float power_of_two(int exponent) {
    return float_of_bits((unsigned)(exponent + 127) << 23);
}
/* 2^-x for 2^x. */
DEVICE float inverse_power(float power) {
    return float_of_bits((254u << 23) - bits_of_float(power));
}

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
DEVICE unsigned near_f16(float value) {
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
DEVICE float f16_value(unsigned half) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)half));
    return value;
}
#else
#define near_f16  to_f16
#define f16_value from_f16
#endif

/* The nearest bf16, or the largest where that would be infinite. */
DEVICE unsigned near_bf16(float value) {
    unsigned half = to_bf16(value);
    return (half & 0x7fffu) == 0x7f80u ? half - 1 : half;
}

/* ---- Lines ---- */

DEVICE int lies_across(const split_side *side) {
    long long line = side->line < 0 ? -side->line : side->line,
              step = side->step < 0 ? -side->step : side->step;
    return line < step;
}
DEVICE int groups_of(const split_side *side, int size) {
    return (side->lines + size - 1) / size;
}
DEVICE const float *line_of(const split_side *side, int product, int line) {
    return side->from + product * side->batch + line * side->line;
}

/* What is known of elements of a line, or of a block's lines. */
typedef struct facts {
    unsigned largest, smallest; /* bits; smallest: less 1, so that a zero counts as more than anything */
    int count;                  /* of those that are not below a threshold */
    int found;
} facts;

DEVICE facts no_facts(void) {
    facts none = {0, ~0u, 0, 0};
    return none;
}

DEVICE int larger(int x, int y) {
    return x > y ? x : y;
}
DEVICE int join_found(int x, int y) {
    return ((x | y) & FOUND_BITS) | larger(x >> LACK_A & 255, y >> LACK_A & 255) << LACK_A |
           larger(x >> LACK_B & 255, y >> LACK_B & 255) << LACK_B;
}

/* What the block's threads bring to their places, joined: those a multiple of `width` apart. Number i of the results is
 * then at room[i], for every thread. */
DEVICE void join(facts mine, facts room[THREADS], int place, int width) {
    __syncthreads();
    room[place] = mine;
    for (int half = THREADS / 2; half >= width; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) {
            const facts *other = &room[threadIdx.x + half];
            facts *one = &room[threadIdx.x];
            if (other->largest > one->largest) one->largest = other->largest;
            if (other->smallest < one->smallest) one->smallest = other->smallest;
            one->count += other->count;
            one->found = join_found(one->found, other->found);
        }
    }
    __syncthreads();
}

/* ---- The survey ---- */

enum { BATCH = 8 };

/* A thread's share of a line: every `stride`-th element from `first` on. */
typedef struct share {
    const float *line;
    long long step;
    int first, stride, k; /* k 0: there is no such line */
} share;

DEVICE void read_batch(const share *mine, int start, unsigned bits[BATCH]) {
    UNROLL
    for (int i = 0; i < BATCH; i++) {
        int at = start + i * mine->stride;
        bits[i] = at < mine->k ? bits_of_float(mine->line[at * mine->step]) & 0x7fffffffu : 0;
    }
}

DEVICE void add_batch(facts *f, const unsigned bits[BATCH], unsigned threshold) {
    UNROLL
    for (int i = 0; i < BATCH; i++) {
        if (bits[i] > f->largest) f->largest = bits[i];
        if (bits[i] - 1 < f->smallest) f->smallest = bits[i] - 1;
        f->count += bits[i] >= threshold;
    }
}

/* What to count from, once the largest element of a line's first batches is known: 9 octaves less. The line may have
 * larger ones, but not too large for elements from there on to be substantial. */
DEVICE unsigned threshold_of(unsigned largest) {
    return largest > 9u << 23 ? largest - (9u << 23) : 1;
}

/* The block's lines, from all threads' shares. The factors of a line are known when its largest element is. */
DEVICE unsigned survey_lines(const share *mine, facts room[THREADS], int line, int place, int width) {
    unsigned bits[BATCH];
    facts f = no_facts();
    read_batch(mine, mine->first, bits);
    add_batch(&f, bits, 0);
    join(f, room, place, width);
    unsigned threshold = threshold_of(room[line].largest);
    f = no_facts();
    add_batch(&f, bits, threshold);
    for (int start = mine->first + BATCH * mine->stride; start < mine->k; start += BATCH * mine->stride) {
        read_batch(mine, start, bits);
        add_batch(&f, bits, threshold);
    }
    join(f, room, place, width);
    return threshold;
}

/* What the whole line has: what f16 or bf16 cannot carry of it, and its factors. A line of zeros lacks nothing. */
DEVICE int judge_line(facts f, unsigned threshold, int k, int lack, float undo[2]) {
    int shift = 0, found = 0;
    if (f.largest >= 0x7f800000u) {
        found = FOUND_SPECIAL;
    } else if (f.largest > 0) {
        int top = exponent_of(f.largest), least = exponent_of(f.smallest + 1);
        int counts = exponent_of(threshold) >= top - SUBSTANTIAL;
        found = (ALL - (counts ? (int)((long long)f.count * ALL / k) : 0)) << lack;
        if (top - least > MOST_SPAN) found |= FOUND_WIDE;
        if (least < LEAST_EXPONENT) found |= FOUND_TINY;
        shift = TOP_EXPONENT - top;
    }
    int half = shift / 2;
    undo[0] = power_of_two(-half);
    undo[1] = power_of_two(half - shift);
    return found;
}

/* Group number `at` of a side's lines. Threads are next to each other as elements are. */
DEVICE int survey_group(const split_side *side, int at, int k, int lack, facts room[THREADS]) {
    int width = side->together, groups = groups_of(side, width), product = at / groups,
        first = at % groups * width, threads = THREADS / width, across = lies_across(side);
    int line = across ? threadIdx.x % width : threadIdx.x / threads,
        number = across ? threadIdx.x / width : threadIdx.x % threads, is_there = first + line < side->lines;
    share mine = {line_of(side, product, first + line), side->step, number, threads, is_there ? k : 0};
    unsigned threshold = survey_lines(&mine, room, line, number * width + line, width);
    if (number != 0 || !is_there) return 0;
    return judge_line(room[line], threshold, k, lack,
                      side->undo + 2 * ((long long)product * side->lines + first + line));
}

KERNEL(THREADS) split_survey(split s) {
    __shared__ facts room[THREADS];
    int of_a = groups_of(&s.a, s.a.together) * s.a.products,
        all = of_a + groups_of(&s.b, s.b.together) * s.b.products;
    facts mine = no_facts();
    await_last();
    for (int at = blockIdx.x; at < all; at += gridDim.x) {
        int is_a = at < of_a;
        split_side side = is_a ? s.a : s.b;
        int found = survey_group(&side, is_a ? at : at - of_a, s.k, is_a ? LACK_A : LACK_B, room);
        mine.found = join_found(mine.found, found);
    }
    join(mine, room, threadIdx.x, 1);
    if (threadIdx.x == 0) s.state[1 + blockIdx.x] = room[0].found;
}

/* ---- The parts ---- */

VECTOR_TYPE(eight, unsigned short, 8);

/* f16 carries the data if no line is wide; or if in every row of A and column of B so many elements are substantial that
 * any two have a quarter of k in common where both are. */
DEVICE int choose_way(const split *s, facts room[THREADS]) {
    facts mine = no_facts();
    for (int i = threadIdx.x; i < s->survey_blocks; i += THREADS)
        mine.found = join_found(mine.found, s->state[1 + i]);
    join(mine, room, threadIdx.x, 1);
    int found = room[0].found, lacks = (found >> LACK_A & 255) + (found >> LACK_B & 255);
    if (found & FOUND_SPECIAL) return WAY_FMA;
    if (s->least_way == WAY_FP16X3 && (!(found & FOUND_WIDE) || lacks <= MOST_LACK)) return WAY_FP16X3;
    return found & FOUND_TINY ? WAY_FMA : WAY_BF16X6;
}

/* A tile of 64 lines and 64 k, read along the direction in which it lies. */
DEVICE void read_tile(const split_side *side, int product, int first, int k_first, int k,
                      float tile[EDGE][DEPTH + 1]) {
    int fast = threadIdx.x % EDGE, slow = threadIdx.x / EDGE, across = lies_across(side);
    const float *from = line_of(side, product, first);
    __syncthreads();
    UNROLL
    for (int i = 0; i < EDGE; i += THREADS / EDGE) {
        int line = across ? fast : slow + i, at = across ? slow + i : fast;
        int there = first + line < side->lines && k_first + at < k;
        tile[line][at] = there ? from[line * side->line + (k_first + at) * side->step] : 0.0f;
    }
    __syncthreads();
}

/* 16 elements of a line: eight and eight to each of the parts. */
DEVICE void write_fp16x3(const float *from, const float undo[2], unsigned short *chunk, int at) {
    float up = inverse_power(undo[0]), more = inverse_power(undo[1]);
    unsigned short *to = chunk + at / 32 * 64 + at % 32;
    UNROLL
    for (int half = 0; half < 16; half += 8) {
        eight high, low;
        UNROLL
        for (int i = 0; i < 8; i++) {
            float x = from[half + i] * up * more;
            unsigned part = near_f16(x);
            high.at[i] = (unsigned short)part;
            low.at[i] = (unsigned short)near_f16((x - f16_value(part)) * LOW_SCALE);
        }
        *(eight *)(to + half) = high;
        *(eight *)(to + 32 + half) = low;
    }
}

DEVICE void write_bf16x6(const float *from, unsigned short *chunk, int at) {
    unsigned short *to = chunk + at;
    UNROLL
    for (int half = 0; half < 16; half += 8) {
        eight part[3];
        UNROLL
        for (int i = 0; i < 8; i++) {
            float x = from[half + i];
            UNROLL
            for (int p = 0; p < 3; p++) {
                unsigned bits = near_bf16(x);
                part[p].at[i] = (unsigned short)bits;
                x -= float_of_bits(bits << 16);
            }
        }
        UNROLL
        for (int p = 0; p < 3; p++) *(eight *)(to + p * DEPTH + half) = part[p];
    }
}

/* Tile number `at` of a side: neighbouring tiles lie along k. */
DEVICE void pack_tile(const split_side *side, int at, int k, int way, float tile[EDGE][DEPTH + 1]) {
    int chunks = (k + DEPTH - 1) / DEPTH, groups = groups_of(side, EDGE), chunk = at % chunks,
        first = at / chunks % groups * EDGE, product = at / chunks / groups;
    int line = threadIdx.x / 4, piece = threadIdx.x % 4 * 16;
    read_tile(side, product, first, chunk * DEPTH, k, tile);
    if (first + line >= side->lines) return;
    long long number = (long long)product * side->lines + first + line;
    unsigned short *parts = side->parts + number * chunks * 3 * DEPTH;
    if (way == WAY_FP16X3)
        write_fp16x3(&tile[line][piece], side->undo + 2 * number, parts + chunk * 2 * DEPTH, piece);
    else
        write_bf16x6(&tile[line][piece], parts + chunk * 3 * DEPTH, piece);
}

KERNEL2(THREADS, 4) split_pack(split s) {
    __shared__ facts room[THREADS];
    __shared__ float tile[EDGE][DEPTH + 1];
    int chunks = (s.k + DEPTH - 1) / DEPTH, of_a = chunks * groups_of(&s.a, EDGE) * s.a.products,
        all = of_a + chunks * groups_of(&s.b, EDGE) * s.b.products;
    await_last();
    int way = choose_way(&s, room);
    if (blockIdx.x == 0 && threadIdx.x == 0) s.state[0] = way;
    if (way == WAY_FMA) return;
    for (int at = blockIdx.x; at < all; at += gridDim.x) {
        split_side side = at < of_a ? s.a : s.b;
        pack_tile(&side, at < of_a ? at : at - of_a, s.k, way, tile);
    }
}

/* ---- Plain multiply-adds ---- */

enum { BM = 128, BK = 16, TM = 8 };

/* BM lines and BK of k; what lies outside is zeros. */
DEVICE void read_lines(const split_side *side, const float *from, int lines, int k_first, int k,
                       float tile[BK][BM + 4]) {
    int across = lies_across(side);
    UNROLL
    for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
        int line = across ? i % BM : i / BK, at = across ? i / BM : i % BK;
        tile[at][line] =
            line < lines && k_first + at < k ? from[line * side->line + (k_first + at) * side->step] : 0.0f;
    }
}

/* The elements of a thread are 16 apart, so that neighbouring threads have neighbouring ones. */
DEVICE void multiply_tile(const split *s, int product, int row, int col, float of_a[BK][BM + 4],
                          float of_b[BK][BM + 4]) {
    float sums[TM][TM] = {{0}};
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const float *a = line_of(&s->a, s->a.products > 1 ? product : 0, row),
                *b = line_of(&s->b, s->b.products > 1 ? product : 0, col);
    for (int k = 0; k < s->k; k += BK) {
        __syncthreads();
        read_lines(&s->a, a, s->a.lines - row, k, s->k, of_a);
        read_lines(&s->b, b, s->b.lines - col, k, s->k, of_b);
        __syncthreads();
        UNROLL
        for (int i = 0; i < BK; i++) {
            UNROLL
            for (int r = 0; r < TM; r++) {
                UNROLL
                for (int c = 0; c < TM; c++)
                    sums[r][c] = FMA(of_a[i][y + 16 * r], of_b[i][x + 16 * c], sums[r][c]);
            }
        }
    }
    UNROLL
    for (int r = 0; r < TM; r++) {
        UNROLL
        for (int c = 0; c < TM; c++) {
            int i = row + y + 16 * r, j = col + x + 16 * c;
            if (i >= s->a.lines || j >= s->b.lines) continue;
            float *to = s->c + product * s->batch_c + i * s->c_row + j * s->c_col;
            float result = s->alpha * sums[r][c];
            *to = s->beta == 0 ? result : FMA(s->beta, *to, result);
        }
    }
}

KERNEL2(THREADS, 2) split_multiply(split s) {
    __shared__ float of_a[BK][BM + 4], of_b[BK][BM + 4];
    int rows = groups_of(&s.a, BM), cols = groups_of(&s.b, BM);
    await_last();
    if (s.state && s.state[0] != WAY_FMA) return;
    for (long long at = blockIdx.x; at < (long long)rows * cols * s.count; at += gridDim.x)
        multiply_tile(&s, (int)(at / ((long long)rows * cols)), (int)(at / cols % rows) * BM,
                      (int)(at % cols) * BM, of_a, of_b);
}
