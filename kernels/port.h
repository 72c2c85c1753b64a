/* port.h: what a kernel may use. It stands before every kernel, for both compilers: NVRTC, which makes the code of a
 * GPU, and gcc or clang, which make that of the simulator (there it includes src/sim/port_sim.h).
 *
 *   TYPE_F32, TYPE_F64, TYPE_I32, ...   one is defined: the types of the product
 *   in_t, acc_t, out_t                  elements of A and B; sums; elements of C
 *   KERNEL(threads), DEVICE             before a kernel (KERNEL2: and its least blocks per multiprocessor); before a
 *                                       function it uses
 *   LOAD(x), FMA(a, b, c)               in_t to acc_t; a*b + c rounded once (integers wrap; so do TIMES and PLUS)
 *   gemm                                the product; begin(g) gives that of this block's batch index
 *   store(g, row, col, sum)             C[row][col] = alpha*sum + beta*C[row][col]
 *   VECTOR_TYPE(name, element, count)   a type that is moved by one instruction
 *   cp_async, cp_commit, cp_wait        copies from global to shared memory that run beside the arithmetic (cp_async_first:
 *                                       of which a part is there)
 *
 * Multiply-adds are written FMA and nothing else is fused, so that all compilers give the same bits. */
#ifndef PORT_H
#define PORT_H

/* ---- The types of the product ---- */

#if defined(TYPE_F64)
typedef double in_t, acc_t, out_t;
#elif defined(TYPE_I32)
typedef int in_t, acc_t, out_t;
#elif defined(TYPE_F16)
typedef unsigned short in_t, out_t;
typedef float acc_t;
#elif defined(TYPE_F16_F32)
typedef unsigned short in_t;
typedef float acc_t, out_t;
#elif defined(TYPE_BF16)
typedef unsigned short in_t, out_t;
typedef float acc_t;
#elif defined(TYPE_BF16_F32)
typedef unsigned short in_t;
typedef float acc_t, out_t;
#elif defined(TYPE_I8_I32)
typedef signed char in_t;
typedef int acc_t, out_t;
#elif defined(TYPE_F32_F16) || defined(TYPE_F32_BF16)
/* Of add.cu alone: from sums to C. */
typedef float in_t, acc_t;
typedef unsigned short out_t;
#else /* TYPE_F32 */
typedef float in_t, acc_t, out_t;
#endif

/* ---- The product, as the host passes it (src/launch.h has the same struct) ---- */

/* Element (i, j) of A is a[i*lda + j*a_step]. The steps are 1 for all kernels but those that say otherwise. */
typedef struct gemm {
    const in_t *a, *b;
    out_t *c;
    int m, n, k;
    int count; /* products of this launch */
    long long lda, ldb, ldc;
    long long a_step, b_step, c_step;
    long long batch_a, batch_b, batch_c; /* from one product of a batch to the next */
    union {
        acc_t value;
        double room;
    } alpha, beta;
} gemm;

/* A strided copy: to[i*to_row + j*to_col] = from[i*from_row + j*from_col]. What the copy has beyond the matrix is zeros. */
typedef struct move {
    const void *from;
    void *to;
    int rows, cols, rows_to, cols_to;
    long long from_row, from_col, to_row, to_col;
    long long batch_from, batch_to;
} move;
/* One to five of them; with from_col 0, zeros. */
typedef struct moves {
    move of[5];
} moves;

/* ---- What the two compilers spell differently ---- */

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

#pragma nv_diag_suppress 177 /* no kernel uses all of this */
#define KERNEL(threads)            extern "C" __global__ void __launch_bounds__(threads)
#define KERNEL2(threads, blocks)   extern "C" __global__ void __launch_bounds__(threads, blocks)
#define DEVICE                     static __device__ __forceinline__
#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(128) type name[]
#define UNROLL                     _Pragma("unroll")
#define PRAGMA(text)               _Pragma(#text)
#define UNROLL_BY(count)           PRAGMA(unroll count)
#define fma_f32                    __fmaf_rn
#define fma_f64                    __fma_rn

DEVICE float float_of_bits(unsigned bits) {
    return __uint_as_float(bits);
}
DEVICE unsigned bits_of_float(float value) {
    return __float_as_uint(value);
}

/* Queues a copy of 4, 8 or 16 bytes from global to shared memory, of which only the first are `present`: zeros for
 * the others, which are not read. `bytes` must be a constant. */
DEVICE void cp_async_first(void *to, const void *from, int bytes, int present) {
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(present)
                     : "memory");
    else if (bytes == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared), "l"(from), "r"(present)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(from), "r"(present)
                     : "memory");
}
/* All of them, or zeros where `there` is 0. */
DEVICE void cp_async(void *to, const void *from, int bytes, int there) {
    cp_async_first(to, from, bytes, there ? bytes : 0);
}
/* Closes the group of copies queued since the last; waits until all but the newest `pending` groups have
 * arrived, where `pending` must be a constant. */
#define cp_commit()      asm volatile("cp.async.commit_group;" ::: "memory")
#define cp_wait(pending) asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory")

#define shuffle_down(value, by) __shfl_down_sync(0xffffffffu, value, by)
#define ALIGNED(bytes)          __align__(bytes)

/* The next kernel of the stream may start its blocks as ours leave; ours touches memory once the last has ended. */
DEVICE void await_last_kernel(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n"
                 "griddepcontrol.wait;" ::
                     : "memory");
#endif
}

/* What a kernel is passed whose tiles TMA moves (src/cuda/tensor_map.h has the same structs). */
typedef struct ALIGNED(64) tensor_map {
    unsigned long long word[16];
} tensor_map;
typedef struct tma_gemm {
    tensor_map a, b, c;
    gemm g;
} tma_gemm;

#else
#include "port_sim.h"
#endif

/* ---- Arithmetic ---- */

#if defined(TYPE_F64)
#define LOAD(x)      (x)
#define FMA(a, b, c) fma_f64(a, b, c)
#elif defined(TYPE_I32) || defined(TYPE_I8_I32)
#define LOAD(x)      ((int)(x))
#define FMA(a, b, c) ((int)((unsigned)(a) * (unsigned)(b) + (unsigned)(c)))
#elif defined(TYPE_F16) || defined(TYPE_F16_F32)
#define LOAD(x)      from_f16(x)
#define FMA(a, b, c) fma_f32(a, b, c)
#elif defined(TYPE_BF16) || defined(TYPE_BF16_F32)
#define LOAD(x)      float_of_bits((unsigned)(x) << 16)
#define FMA(a, b, c) fma_f32(a, b, c)
#else
#define LOAD(x)      (x)
#define FMA(a, b, c) fma_f32(a, b, c)
#endif

/* Shifted into place, the exponent of an f16 is 112 too small; the multiplication mends it. */
DEVICE float from_f16(unsigned half) {
    unsigned magnitude = half & 0x7fffu;
    unsigned bits = bits_of_float(float_of_bits(magnitude << 13) * 0x1p112f);
    if (magnitude >= 0x7c00u) bits |= 0x7f800000u;
    return float_of_bits(bits | (half & 0x8000u) << 16);
}

/* Rounds to nearest even; 65520 and above become infinity, and a NaN stays one. */
DEVICE unsigned to_f16(float value) {
    unsigned bits = bits_of_float(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
    if (magnitude < 0x38800000u) return sign | (bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000u);
    return sign | ((magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13);
}

DEVICE unsigned to_bf16(float value) {
    unsigned bits = bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

#if defined(TYPE_F16) || defined(TYPE_F32_F16)
#define FROM_OUT(x) from_f16(x)
#define TO_OUT(x)   ((out_t)to_f16(x))
#elif defined(TYPE_BF16) || defined(TYPE_F32_BF16)
#define FROM_OUT(x) float_of_bits((unsigned)(x) << 16)
#define TO_OUT(x)   ((out_t)to_bf16(x))
#else
#define FROM_OUT(x) (x)
#define TO_OUT(x)   (x)
#endif

#if defined(TYPE_I32) || defined(TYPE_I8_I32)
#define TIMES(a, b) ((int)((unsigned)(a) * (unsigned)(b)))
#define PLUS(a, b)  ((int)((unsigned)(a) + (unsigned)(b)))
#else
#define TIMES(a, b) ((a) * (b))
#define PLUS(a, b)  ((a) + (b))
#endif

/* ---- The product ---- */

/* The product of this block: the batch is the third dimension of the grid. */
DEVICE gemm begin(gemm g) {
    g.a += blockIdx.z * g.batch_a;
    g.b += blockIdx.z * g.batch_b;
    g.c += blockIdx.z * g.batch_c;
    return g;
}

/* What C[row][col] becomes. C is not read where beta is 0: it may hold anything. */
DEVICE acc_t scaled(const gemm *g, acc_t sum, const out_t *c) {
    acc_t product = TIMES(g->alpha.value, sum);
    return g->beta.value == 0 ? product : FMA(g->beta.value, FROM_OUT(*c), product);
}

DEVICE void store(const gemm *g, int row, int col, acc_t sum) {
    out_t *c = g->c + row * g->ldc + col;
    *c = TO_OUT(scaled(g, sum, c));
}

/* ---- Vectors ---- */

/* A type `name` of `count` elements that one instruction moves, up to 16 bytes: *(const name *)address. */
#define VECTOR_TYPE(name, element, count)                    \
    typedef struct ALIGNED((count) * sizeof(element)) name { \
        element at[count];                                   \
    } name

#endif
