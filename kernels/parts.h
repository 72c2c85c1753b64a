/* parts.h: f32 as parts of 16 bits: what is found out about a line, and how its parts are written, by blocks of THREADS.
 * split_prepare.cu says what a line, a chunk and a way are. */
#ifndef PARTS_H
#define PARTS_H

#include "sides.h"

/* What a block found: bits, and above them for A and for B how many 64ths of the worst line's elements are not known to
 * be substantial. */
enum { FOUND_SPECIAL = 1, FOUND_WIDE = 2, FOUND_TINY = 4, FOUND_BITS = 7, LACK_A = 8, LACK_B = 16, ALL = 64 };
enum {
    TOP_EXPONENT = 14,    /* of the largest element of a line, once it is scaled */
    LEAST_TOP = -112,     /* of one that can be: the scale is a number */
    MOST_SPAN = 16,       /* octaves below it that both parts together have 22 bits in */
    SUBSTANTIAL = 8,      /* and that a substantial element is from it at most */
    MOST_LACK = 48,       /* of A and B together, for what is smaller not to matter */
    LEAST_EXPONENT = -110 /* from there on three bf16 are all of an element */
};

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

/* Two f16, and what they are. */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
DEVICE unsigned near_f16_pair(float low, float high) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
DEVICE float f16_value(unsigned half) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)half));
    return value;
}
#else
#define near_f16_pair(low, high) (to_f16(low) | to_f16(high) << 16)
#define f16_value                from_f16
#endif

/* The nearest bf16, or the largest where that would be infinite. */
DEVICE unsigned near_bf16(float value) {
    unsigned half = to_bf16(value);
    return (half & 0x7fffu) == 0x7f80u ? half - 1 : half;
}

/* ---- Facts ---- */

/* What is known of some elements of a line, as bits without signs: the largest, the smallest that is not 0 (~0: there is
 * none), and how many are not below a threshold. */
typedef struct ALIGNED(16) facts {
    unsigned largest, smallest;
    int count, unused;
} facts;

/* The bits of the power of two so many octaves below that of a number; or of the least that is not subnormal. */
DEVICE unsigned octaves_below(unsigned bits, unsigned octaves) {
    unsigned exponent = bits >> 23;
    return (exponent > octaves ? exponent - octaves : 1) << 23;
}

DEVICE unsigned bits_of_magnitude(float x) {
    return bits_of_float(x) & 0x7fffffffu;
}
DEVICE unsigned larger_bits(unsigned x, unsigned y) {
    return x > y ? x : y;
}
DEVICE unsigned smaller_bits(unsigned x, unsigned y) {
    return x < y ? x : y;
}

DEVICE unsigned largest_of_four(unsigned largest, const float x[4]) {
    UNROLL
    for (int i = 0; i < 4; i++) largest = larger_bits(largest, bits_of_magnitude(x[i]));
    return largest;
}

/* Four more elements, each looked at by itself, of a line whose largest is known. */
DEVICE void add_four(facts *f, const float x[4], unsigned threshold) {
    UNROLL
    for (int i = 0; i < 4; i++) {
        unsigned bits = bits_of_magnitude(x[i]);
        f->smallest = smaller_bits(f->smallest - 1, bits - 1) + 1; /* 0 is more than anything */
        f->count += bits >= threshold;
    }
}

/* The same with less work, where most elements are not small: fours are counted whose smallest is not, and with one
 * that may be 0 or make its line wide, or where many are small, all has to be done once more by add_four. */
typedef struct quick_facts {
    unsigned smallest; /* 0 counts */
    int fours;
} quick_facts;

DEVICE void add_four_quickly(quick_facts *f, const float x[4], unsigned threshold) {
    unsigned smallest = smaller_bits(smaller_bits(bits_of_magnitude(x[0]), bits_of_magnitude(x[1])),
                                     smaller_bits(bits_of_magnitude(x[2]), bits_of_magnitude(x[3])));
    f->smallest = smaller_bits(f->smallest, smallest);
    f->fours += smallest >= threshold;
}
/* Of so many fours. */
DEVICE int is_enough(const quick_facts *f, unsigned largest, int fours) {
    return f->smallest >= octaves_below(largest, MOST_SPAN) && 4 * f->fours >= 3 * fours;
}

/* Joins over the lanes whose numbers differ in the bits of `lanes`, a power of two less 1. */
DEVICE unsigned join_largest(unsigned x, int lanes) {
    for (int by = 1; by <= lanes; by *= 2) x = larger_bits(x, __shfl_xor_sync(0xffffffffu, x, by));
    return x;
}
DEVICE facts join_facts(facts f, int lanes) {
    for (int by = 1; by <= lanes; by *= 2) {
        f.largest = larger_bits(f.largest, __shfl_xor_sync(0xffffffffu, f.largest, by));
        f.smallest = smaller_bits(f.smallest, __shfl_xor_sync(0xffffffffu, f.smallest, by));
        f.count += __shfl_xor_sync(0xffffffffu, f.count, by);
    }
    return f;
}
DEVICE void merge(facts *one, const facts *other) {
    one->largest = larger_bits(one->largest, other->largest);
    one->smallest = smaller_bits(one->smallest, other->smallest);
    one->count += other->count;
}

DEVICE int larger(int x, int y) {
    return x > y ? x : y;
}
DEVICE int join_found(int x, int y) {
    return ((x | y) & FOUND_BITS) | larger(x >> LACK_A & 255, y >> LACK_A & 255) << LACK_A |
           larger(x >> LACK_B & 255, y >> LACK_B & 255) << LACK_B;
}

/* Of all threads of the block, for every one of them. */
DEVICE int join_all_found(int mine, int room[THREADS]) {
    __syncthreads();
    room[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int i = 32; i < THREADS; i += 32) mine = join_found(mine, room[threadIdx.x + i]);
        for (int by = 16; by > 0; by /= 2) mine = join_found(mine, shuffle_down(mine, by));
        if (threadIdx.x == 0) room[0] = mine;
    }
    __syncthreads();
    return room[0];
}

/* The factors that undo a line's scaling: two, so that a row's and a column's may be multiplied. A line of numbers that
 * are all very small is not scaled as it should: it is not for f16. */
DEVICE void undo_of(unsigned largest, float undo[2]) {
    int top = exponent_of(largest),
        shift =
            largest == 0 || largest >= 0x7f800000u ? 0 : TOP_EXPONENT - (top < LEAST_TOP ? LEAST_TOP : top),
        half = shift / 2;
    undo[0] = power_of_two(-half);
    undo[1] = power_of_two(half - shift);
}

/* count/k in 64ths, rounded down; in 32 bits, because a division of 64 takes many registers. */
DEVICE int sixty_fourths(int count, int k) {
    unsigned c = (unsigned)count, all = (unsigned)k;
    return (int)(all < 1u << 25 ? c * ALL / all : c / (all / ALL + 1));
}

/* What f16 or bf16 cannot carry of a whole line; its factors. A line of zeros lacks nothing. */
DEVICE int judge_line(const facts *f, int k, int lack, float undo[2]) {
    int found = 0;
    undo_of(f->largest, undo);
    if (f->largest >= 0x7f800000u) return FOUND_SPECIAL;
    if (f->largest == 0) return 0;
    int top = exponent_of(f->largest), least = exponent_of(f->smallest);
    found = (top < LEAST_TOP ? ALL : ALL - sixty_fourths(f->count, k)) << lack;
    if (top - least > MOST_SPAN || top < LEAST_TOP) found |= FOUND_WIDE;
    if (least < LEAST_EXPONENT) found |= FOUND_TINY;
    return found;
}

/* ---- Parts ---- */

VECTOR_TYPE(four_floats, float, 4);
VECTOR_TYPE(four_parts, unsigned short, 4);
VECTOR_TYPE(two_words, unsigned, 2);

/* How parts of a line are written: as which way has them, and with which scale. */
typedef struct scaling {
    int way;
    float up;
} scaling;

DEVICE scaling scaling_of(int way, const float undo[2]) {
    scaling by = {way, inverse_power(undo[0]) * inverse_power(undo[1])};
    return by;
}

DEVICE void write_four_fp16x3(const float x[4], const scaling *by, unsigned short *to) {
    unsigned high[2], low[2];
    UNROLL
    for (int i = 0; i < 2; i++) {
        float y = x[2 * i] * by->up, z = x[2 * i + 1] * by->up;
        high[i] = near_f16_pair(y, z);
        low[i] = near_f16_pair(y - f16_value(high[i] & 0xffffu), z - f16_value(high[i] >> 16));
    }
    two_words first = {{high[0], high[1]}}, second = {{low[0], low[1]}};
    *(two_words *)to = first;
    *(two_words *)(to + 32) = second;
}

DEVICE void write_four_bf16x6(const float x[4], unsigned short *to) {
    four_parts part[3];
    UNROLL
    for (int i = 0; i < 4; i++) {
        float rest = x[i];
        UNROLL
        for (int p = 0; p < 3; p++) {
            unsigned bits = near_bf16(rest);
            part[p].at[i] = (unsigned short)bits;
            rest -= float_of_bits(bits << 16);
        }
    }
    UNROLL
    for (int p = 0; p < 3; p++) *(four_parts *)(to + p * DEPTH) = part[p];
}

/* Elements `at` to at + 3 of the line whose parts begin there. */
DEVICE void write_four(const float x[4], const scaling *by, unsigned short *line, unsigned at) {
    if (by->way == WAY_FP16X3)
        write_four_fp16x3(x, by, line + at / 32 * 64 + at % 32);
    else
        write_four_bf16x6(x, line + at / 64 * 3 * DEPTH + at % 64);
}

DEVICE int chunks_of(int k) {
    return (k + DEPTH - 1) / DEPTH;
}
DEVICE long long number_of(const split_side *side, int product, int line) {
    return (long long)product * side->lines + line;
}
DEVICE unsigned short *parts_of(const split_side *side, long long number, int k) {
    return side->parts + number * chunks_of(k) * 3 * DEPTH;
}

/* f16 carries the data if no line is wide; or if in every row of A and column of B so many elements are substantial that
 * any two have a quarter of k in common where both are. */
DEVICE int choose_way(const split *s, int room[THREADS]) {
    int found = s->known, lacks;
    for (int i = threadIdx.x; i < s->blocks; i += THREADS) found = join_found(found, s->state[1 + i]);
    found = join_all_found(found, room);
    lacks = (found >> LACK_A & 255) + (found >> LACK_B & 255);
    if (found & FOUND_SPECIAL) return WAY_FMA;
    if (s->least_way == WAY_FP16X3 && (!(found & FOUND_WIDE) || lacks <= MOST_LACK)) return WAY_FP16X3;
    return found & FOUND_TINY ? WAY_FMA : WAY_BF16X6;
}

#endif
