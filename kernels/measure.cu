/* measure: what a card can do: latencies, bandwidths, the rate of multiply-adds
 *
 * Latency is measured by one thread, each of whose accesses needs the result of the one before. Bandwidth
 * is measured by all multiprocessors at once. The accesses are written in PTX so that the compiler neither
 * removes nor reorders them; for the simulator there is nothing to measure.
 */
#include "doubles.h"
typedef struct measurement {
    char *data;          /* what is read */
    long long *out;      /* cycles, nanoseconds, and a number that depends on all that was read */
    long long bytes;     /* of data; for spin, nanoseconds */
    int rounds, from_l2; /* how often; whether loads pass by the first-level cache */
} measurement;

enum { LINE = 128, THREADS = 1024, SUMS = 8, PER_ROUND = 16 };
VECTOR_TYPE(words, unsigned, 4);

DEVICE long long clock_now(void) {
    long long cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return cycles;
}
DEVICE long long time_now(void) {
    long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    return nanoseconds;
}

DEVICE words load_l1(const char *from) {
    words w;
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.at[0]), "=r"(w.at[1]), "=r"(w.at[2]), "=r"(w.at[3])
                 : "l"(from));
    return w;
}
DEVICE words load_l2(const char *from) {
    words w;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.at[0]), "=r"(w.at[1]), "=r"(w.at[2]), "=r"(w.at[3])
                 : "l"(from));
    return w;
}
DEVICE words load_shared(unsigned from) {
    words w;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.at[0]), "=r"(w.at[1]), "=r"(w.at[2]), "=r"(w.at[3])
                 : "r"(from));
    return w;
}
DEVICE unsigned mixed(words w) {
    return w.at[0] ^ w.at[1] ^ w.at[2] ^ w.at[3];
}

/* Keeps the card busy, so that what is queued meanwhile starts without a gap. */
KERNEL(1) spin(measurement v) {
    long long end = time_now() + v.bytes;
    while (time_now() < end) {
    }
}

/* ---- Latency ---- */

/* Each line of the buffer holds the address of the next; the order jumps about and comes to every line.
 * The number of lines must be a power of two. */
KERNEL2(THREADS, 1) link_lines(measurement v) {
    long long lines = v.bytes / LINE, step = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < lines; i += step)
        *(char **)(v.data + i * LINE) = v.data + (i * 1664525 + 1013904223 & lines - 1) * LINE;
}

DEVICE void report(const measurement *v, long long cycles, long long nanoseconds, long long last) {
    v->out[0] = cycles;
    v->out[1] = nanoseconds;
    v->out[2] = last;
}

KERNEL(1) chase_l1(measurement v) {
    const char *at = v.data;
    for (long long i = 0; i < v.bytes / LINE; i++) asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at));
    long long time = time_now(), start = clock_now();
    _Pragma("unroll 1") for (int i = 0; i < v.rounds; i += PER_ROUND) {
        UNROLL
        for (int j = 0; j < PER_ROUND; j++) asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at));
    }
    report(&v, clock_now() - start, time_now() - time, (long long)at);
}

/* The second-level cache, or memory if the buffer is larger. With from_l2 the lines are fetched once
 * before. */
KERNEL(1) chase_l2(measurement v) {
    const char *at = v.data;
    if (v.from_l2)
        for (long long i = 0; i < v.bytes / LINE; i++) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
    long long time = time_now(), start = clock_now();
    _Pragma("unroll 1") for (int i = 0; i < v.rounds; i += PER_ROUND) {
        UNROLL
        for (int j = 0; j < PER_ROUND; j++) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
    }
    report(&v, clock_now() - start, time_now() - time, (long long)at);
}

KERNEL(1) chase_shared(measurement v) {
    __shared__ unsigned next[LINE];
    unsigned first = (unsigned)__cvta_generic_to_shared(next), at = first;
    for (unsigned i = 0; i < LINE; i++) next[i] = first + (i * 5 + 3) % LINE * 4;
    long long time = time_now(), start = clock_now();
    _Pragma("unroll 1") for (int i = 0; i < v.rounds; i += PER_ROUND) {
        UNROLL
        for (int j = 0; j < PER_ROUND; j++) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
    }
    report(&v, clock_now() - start, time_now() - time, at);
}

/* Registers: a multiply-add that needs the one before. */
KERNEL(1) chase_registers(measurement v) {
    float x = (float)v.bytes, y = 0.5f;
    long long time = time_now(), start = clock_now();
    _Pragma("unroll 1") for (int i = 0; i < v.rounds; i += PER_ROUND) {
        UNROLL
        for (int j = 0; j < PER_ROUND; j++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(y));
    }
    report(&v, clock_now() - start, time_now() - time, (long long)x);
}

/* ---- Bandwidth ---- */

/* Reads the buffer from end to end, all blocks together. */
KERNEL2(THREADS, 1) read_all(measurement v) {
    enum { AT_ONCE = 4 };
    long long step = (long long)gridDim.x * THREADS * sizeof(words);
    unsigned sum = 0;
    for (int round = 0; round < v.rounds; round++)
        _Pragma("unroll 1") for (long long at =
                                     ((long long)blockIdx.x * THREADS + threadIdx.x) * sizeof(words);
                                 at < v.bytes; at += AT_ONCE * step) {
            words w[AT_ONCE];
            UNROLL
            for (int i = 0; i < AT_ONCE; i++)
                w[i] = load_l2(v.data + (at + i * step < v.bytes ? at + i * step : at));
            UNROLL
            for (int i = 0; i < AT_ONCE; i++) sum ^= mixed(w[i]);
        }
    if (sum == 1) v.out[2] = sum;
}

/* Every block reads the same few kilobytes, which its first-level cache holds. */
KERNEL2(THREADS, 1) read_l1(measurement v) {
    unsigned at = threadIdx.x % LINE * sizeof(words), sum = 0;
    _Pragma("unroll 1") for (int round = 0; round < v.rounds; round += SUMS) {
        words w[SUMS];
        UNROLL
        for (int i = 0; i < SUMS; i++) w[i] = load_l1(v.data + at + i * LINE * sizeof(words));
        UNROLL
        for (int i = 0; i < SUMS; i++) sum ^= mixed(w[i]);
        at ^= LINE; /* the same place twice in a row would be read once */
    }
    if (sum == 1) v.out[2] = sum;
}

KERNEL2(THREADS, 1) read_shared(measurement v) {
    __shared__ words tile[THREADS];
    unsigned first = (unsigned)__cvta_generic_to_shared(tile), sum = 0;
    tile[threadIdx.x].at[0] = threadIdx.x;
    tile[threadIdx.x].at[1] = tile[threadIdx.x].at[2] = tile[threadIdx.x].at[3] = 0;
    __syncthreads();
    unsigned at = threadIdx.x % LINE * sizeof(words);
    _Pragma("unroll 1") for (int round = 0; round < v.rounds; round += SUMS) {
        words w[SUMS];
        UNROLL
        for (int i = 0; i < SUMS; i++) w[i] = load_shared(first + at + i * LINE * sizeof(words));
        UNROLL
        for (int i = 0; i < SUMS; i++) sum ^= mixed(w[i]);
        at ^= LINE; /* the same place twice in a row would be read once */
    }
    if (sum == 1) v.out[2] = sum;
}

/* Multiply-adds on registers alone: rounds × PER_ROUND × SUMS of each thread. */
KERNEL2(THREADS, 1) peak(measurement v) {
    acc_t sums[SUMS], x = (acc_t)v.bytes, y = (acc_t)threadIdx.x;
    UNROLL
    for (int i = 0; i < SUMS; i++) sums[i] = (acc_t)i;
    _Pragma("unroll 1") for (int round = 0; round < v.rounds; round++) {
        UNROLL
        for (int j = 0; j < PER_ROUND; j++) {
            UNROLL
            for (int i = 0; i < SUMS; i++) sums[i] = FMA(sums[i], x, y);
        }
    }
    acc_t all = 0;
    UNROLL
    for (int i = 0; i < SUMS; i++) all = PLUS(all, sums[i]);
    if (all == (acc_t)0.5) v.out[2] = 1;
}

#if defined(TYPE_F64) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
/* The same by tensor cores: rounds × PER_ROUND × SUMS / 2 products of fragments of each warp. */
KERNEL2(THREADS, 1) peak_tensor(measurement v) {
    double sums[2][4] = {{0}}, a[8], b[4], all = 0;
    UNROLL
    for (int i = 0; i < 8; i++) a[i] = (double)(v.bytes + i), b[i / 2] = (double)threadIdx.x;
    UNROLL_BY(1)
    for (int round = 0; round < v.rounds; round++) {
        UNROLL
        for (int i = 0; i < PER_ROUND * SUMS / 2; i++) mma_f64(sums[i % 2], a, b, 16);
    }
    UNROLL
    for (int i = 0; i < 8; i++) all += sums[i / 4][i % 4];
    if (all == 0.5) v.out[2] = 1;
}
#endif
