/* tensor.h: what a kernel for tensor cores may use beside port.h; it says #include "tensor.h" after its header. The
 * simulator's side is src/sim/tensor_sim.h. All lanes of a warp call these functions together.
 *
 *   ldmatrix           fragments from shared memory
 *   mma, mma_round     the product of two fragments, 16×8 sums and MMA_K deep; f32 goes in as TF32
 *   wmma_*             the same with fragments whose layout is not known: 16×16 sums and WMMA_K deep
 *   cp_async_part      cp_async of a piece that is only partly there
 *   shared_t           a place in shared memory as a number, with ldmatrix_at and cp_async_at
 *   store_fragments    the sums of mma to C
 *
 * A fragment of mma is spread over the lanes in the same way for every type:
 * with group = lane / 4 and quad = lane % 4, and counting bytes along k,
 *   a[0], a[1]   bytes 4*quad … of rows group and group + 8;  a[2], a[3]: the same 16 bytes further on
 *   b[0], b[1]   bytes 4*quad … of column group, and those 16 further on
 *   d[0], d[1]   columns 2*quad, 2*quad + 1 of row group;     d[2], d[3]: of row group + 8 */
#ifndef TENSOR_H
#define TENSOR_H

/* The depth of one mma is 32 bytes of k in every type. */
#define MMA_K ((int)(32 / sizeof(in_t)))
#if defined(TYPE_F32)
#define WMMA_K 8
#else
#define WMMA_K 16
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

/* A place in shared memory as a number, to reckon with: one register, where an address takes two. The array it comes
 * from begins at a multiple of 128. */
typedef unsigned shared_t;
DEVICE shared_t shared_place(const void *at) {
    shared_t place = (shared_t)__cvta_generic_to_shared(at);
    asm volatile("" : "+r"(place));
    return place;
}
DEVICE void *shared_pointer(shared_t place) {
    return __cvta_shared_to_generic(place);
}

/* The same address, but the compiler knows no longer how it was made. An address that goes on from access to access is
 * then moved by one addition each, where it would be made anew of its first value and a multiple. */
DEVICE const char *kept(const char *at) {
    asm volatile("" : "+l"(at));
    return at;
}

/* Queues a copy of 4, 8 or 16 bytes from global to shared memory of which the first `present` are there; zeros follow
 * them. `bytes` must be a constant. */
DEVICE void cp_async_at(shared_t shared, const void *from, int bytes, int present) {
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

DEVICE void cp_async_part(void *to, const void *from, int bytes, int present) {
    cp_async_at((shared_t)__cvta_generic_to_shared(to), from, bytes, present);
}

/* Four matrices of 8 rows of 16 bytes: lane 8*i + r says where row r of matrix i begins, and to[i] becomes the 4 bytes
 * 4*quad … of row `group` of matrix i. With `turned` (16-bit elements only) it is of matrix i transposed: elements
 * 2*quad and 2*quad + 1 of column `group`. `turned` must be a constant. */
DEVICE void ldmatrix_at(unsigned to[4], shared_t shared, int turned) {
    if (turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(shared)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(shared)
                     : "memory");
}

DEVICE void ldmatrix(unsigned to[4], const void *row, int turned) {
    ldmatrix_at(to, (shared_t)__cvta_generic_to_shared(row), turned);
}

#if defined(TYPE_F16) || defined(TYPE_F16_F32)
#define MMA_SHAPE    "m16n8k16.row.col.f32.f16.f16.f32"
#define WMMA_SHAPE   "m16n16k16"
#define WMMA_TYPE    "f16"
#define WMMA_PRODUCT "f32.f32"
#define WMMA_WORDS   8
#elif defined(TYPE_BF16) || defined(TYPE_BF16_F32)
#define MMA_SHAPE    "m16n8k16.row.col.f32.bf16.bf16.f32"
#define WMMA_SHAPE   "m16n16k16"
#define WMMA_TYPE    "bf16"
#define WMMA_PRODUCT "f32.bf16.bf16.f32"
#define WMMA_WORDS   4
#elif defined(TYPE_I8_I32)
#define MMA_SHAPE    "m16n8k32.row.col.s32.s8.s8.s32"
#define WMMA_SHAPE   "m16n16k16"
#define WMMA_TYPE    "s8"
#define WMMA_PRODUCT "s32.s8.s8.s32"
#define WMMA_WORDS   2
#else
#define MMA_SHAPE    "m16n8k8.row.col.f32.tf32.tf32.f32"
#define WMMA_SHAPE   "m16n16k8"
#define WMMA_TYPE    "tf32"
#define WMMA_PRODUCT "f32.tf32.tf32.f32"
#define WMMA_WORDS   4
#endif

#if WMMA_WORDS == 8
#define WMMA_FROM " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
#define WMMA_WRITE                                                                                           \
    "=r"(f->x[0]), "=r"(f->x[1]), "=r"(f->x[2]), "=r"(f->x[3]), "=r"(f->x[4]), "=r"(f->x[5]), "=r"(f->x[6]), \
        "=r"(f->x[7])
#define WMMA_READ(f)                                                                                  \
    "r"(f->x[0]), "r"(f->x[1]), "r"(f->x[2]), "r"(f->x[3]), "r"(f->x[4]), "r"(f->x[5]), "r"(f->x[6]), \
        "r"(f->x[7])
#define WMMA_BOTH "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}"
#elif WMMA_WORDS == 4
#define WMMA_FROM    " {%0, %1, %2, %3}, [%4], %5;"
#define WMMA_WRITE   "=r"(f->x[0]), "=r"(f->x[1]), "=r"(f->x[2]), "=r"(f->x[3])
#define WMMA_READ(f) "r"(f->x[0]), "r"(f->x[1]), "r"(f->x[2]), "r"(f->x[3])
#define WMMA_BOTH    "{%8, %9, %10, %11}, {%12, %13, %14, %15}"
#else
#define WMMA_FROM    " {%0, %1}, [%2], %3;"
#define WMMA_WRITE   "=r"(f->x[0]), "=r"(f->x[1])
#define WMMA_READ(f) "r"(f->x[0]), "r"(f->x[1])
#define WMMA_BOTH    "{%8, %9}, {%10, %11}"
#endif
#if defined(TYPE_I8_I32)
#define ACC_REGISTER "+r"
#define ACC_VALUE    "r"
#define ACC_NAME     "s32"
#else
#define ACC_REGISTER "+f"
#define ACC_VALUE    "f"
#define ACC_NAME     "f32"
#endif

/* TF32 has 11 significant bits, rounded to nearest here (ties away from zero); the tensor core would cut the rest off.
 * Other types stay as they are. */
DEVICE void mma_round(unsigned *words, int count) {
#if defined(TYPE_F32)
    UNROLL
    for (int i = 0; i < count; i++)
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(words[i]) : "f"(__uint_as_float(words[i])));
#endif
}

/* d += a*b: 16×8 sums, 32 bytes of k deep. f32 goes in as TF32. */
DEVICE void mma(acc_t d[4], const unsigned a[4], const unsigned b[2]) {
    asm("mma.sync.aligned." MMA_SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : ACC_REGISTER(d[0]), ACC_REGISTER(d[1]), ACC_REGISTER(d[2]), ACC_REGISTER(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Fragments of wmma: which lane has what is nobody's business. 16×16 sums, WMMA_K deep. */
typedef struct wmma_part {
    unsigned x[WMMA_WORDS];
} wmma_part;
typedef struct wmma_sums {
    acc_t x[8];
} wmma_sums;

/* A tile of A or B from global or shared memory, rows `ld` elements apart; `turned`: columns are. Addresses must be
 * multiples of 32 bytes (i8: 16) and rows of 16. All but f, at and ld must be constants. */
DEVICE void wmma_load(wmma_part *f, const in_t *at, int ld, int is_b, int turned, int shared) {
/* clang-format off */
#define WMMA_LOAD(which, order)                                                                              \
    if (shared)                                                                                              \
        asm volatile("wmma.load." which ".sync.aligned." order "." WMMA_SHAPE ".shared." WMMA_TYPE WMMA_FROM \
                     : WMMA_WRITE                                                                            \
                     : "r"((unsigned)__cvta_generic_to_shared(at)), "r"(ld)                                  \
                     : "memory");                                                                            \
    else                                                                                                     \
        asm volatile("wmma.load." which ".sync.aligned." order "." WMMA_SHAPE ".global." WMMA_TYPE WMMA_FROM \
                     : WMMA_WRITE                                                                            \
                     : "l"(__cvta_generic_to_global(at)), "r"(ld)                                            \
                     : "memory")
    /* clang-format on */
    if (!is_b && !turned) {
        WMMA_LOAD("a", "row");
    } else if (!is_b) {
        WMMA_LOAD("a", "col");
    } else if (!turned) {
        WMMA_LOAD("b", "row");
    } else {
        WMMA_LOAD("b", "col");
    }
    mma_round(f->x, WMMA_WORDS);
}

DEVICE void wmma_multiply(wmma_sums *d, const wmma_part *a, const wmma_part *b, int a_turned, int b_turned) {
#define WMMA_MULTIPLY(a_order, b_order)                                                                \
    asm volatile("wmma.mma.sync.aligned." a_order "." b_order "." WMMA_SHAPE "." WMMA_PRODUCT          \
                 " {%0, %1, %2, %3, %4, %5, %6, %7}, " WMMA_BOTH ", {%0, %1, %2, %3, %4, %5, %6, %7};" \
                 : ACC_REGISTER(d->x[0]), ACC_REGISTER(d->x[1]), ACC_REGISTER(d->x[2]),                \
                   ACC_REGISTER(d->x[3]), ACC_REGISTER(d->x[4]), ACC_REGISTER(d->x[5]),                \
                   ACC_REGISTER(d->x[6]), ACC_REGISTER(d->x[7])                                        \
                 : WMMA_READ(a), WMMA_READ(b))
    if (!a_turned && !b_turned) {
        WMMA_MULTIPLY("row", "row");
    } else if (!a_turned) {
        WMMA_MULTIPLY("row", "col");
    } else if (!b_turned) {
        WMMA_MULTIPLY("col", "row");
    } else {
        WMMA_MULTIPLY("col", "col");
    }
}

/* Writes the sums to shared memory, rows `ld` elements apart. */
DEVICE void wmma_store(acc_t *to, const wmma_sums *d, int ld) {
    asm volatile("wmma.store.d.sync.aligned.row." WMMA_SHAPE ".shared." ACC_NAME
                 " [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 ACC_VALUE(d->x[0]), ACC_VALUE(d->x[1]), ACC_VALUE(d->x[2]), ACC_VALUE(d->x[3]),
                 ACC_VALUE(d->x[4]), ACC_VALUE(d->x[5]), ACC_VALUE(d->x[6]), ACC_VALUE(d->x[7]), "r"(ld)
                 : "memory");
}

/* Two elements of C of 2 bytes each. A NaN loses what else its bits said. */
DEVICE unsigned two_out(acc_t first, acc_t second) {
    unsigned both = 0;
#if defined(TYPE_BF16)
    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(both) : "f"(first), "f"(second));
#elif defined(TYPE_F16)
    asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(both) : "f"(first), "f"(second));
#endif
    return both;
}

#else
#include "tensor_sim.h"
#endif

/* ---- Sums to C ---- */

VECTOR_TYPE(out_pair, out_t, 2);
VECTOR_TYPE(out_words, unsigned, 4);

/* Two neighbours in a row of C, by one access where they lie so. */
DEVICE void store_pair(const gemm *g, int row, int col, const acc_t *sums, int paired) {
    out_t *c = g->c + row * g->ldc + col;
    if (row >= g->m || col >= g->n) return;
    if (paired && col + 1 < g->n) {
        out_pair p = {{0}};
        if (g->beta.value != 0) p = *(const out_pair *)c;
        p.at[0] = TO_OUT(scaled(g, sums[0], &p.at[0]));
        p.at[1] = TO_OUT(scaled(g, sums[1], &p.at[1]));
        *(out_pair *)c = p;
    } else {
        store(g, row, col, sums[0]);
        if (col + 1 < g->n) store(g, row, col + 1, sums[1]);
    }
}

/* Before, lane q of four has word q of four pieces of 16 bytes; afterwards it has piece q. */
DEVICE out_words gather_words(out_words w) {
    UNROLL
    for (int by = 1; by < 4; by *= 2) {
        int upper = (threadIdx.x & by) != 0;
        UNROLL
        for (int i = 0; i < 4; i++) {
            if (i & by) continue;
            unsigned other = __shfl_xor_sync(0xffffffffu, upper ? w.at[i] : w.at[i + by], by);
            w.at[i] = upper ? other : w.at[i];
            w.at[i + by] = upper ? w.at[i + by] : other;
        }
    }
    return w;
}

/* Four fragments of 2-byte elements beside each other: their rows `group` (half is 0) or group + 8 (half is 2), 16 bytes
 * a lane, so that a row's 64 bytes are whole sectors. C is not read. */
DEVICE void store_line(const gemm *g, out_t *line, acc_t (*sums)[4], int half) {
    out_words w;
    UNROLL
    for (int i = 0; i < 4; i++)
        w.at[i] = two_out(TIMES(g->alpha.value, sums[i][half]), TIMES(g->alpha.value, sums[i][half + 1]));
    *(out_words *)(line + threadIdx.x % 4 * 8) = gather_words(w);
}

/* A warp's sums to C from (row, col) on: `rows` by `cols` fragments, row after row. Both must be constants. */
DEVICE void store_fragments(const gemm *g, int row, int col, acc_t (*sums)[4], int rows, int cols) {
    int group = threadIdx.x % 32 / 4, quad = threadIdx.x % 4;
    unsigned long long ends = (unsigned long long)g->c | g->ldc * sizeof(out_t);
    int whole = row + rows * 16 <= g->m && col + cols * 8 <= g->n, paired = ends % sizeof(out_pair) == 0;
    if (sizeof(out_t) == 2 && cols % 4 == 0 && ends % 16 == 0 && whole && g->beta.value == 0) {
        out_t *line = g->c + (row + group) * g->ldc + col;
        UNROLL
        for (int i = 0; i < rows * cols; i += 4) {
            store_line(g, line + i / cols * 16 * g->ldc + i % cols * 8, sums + i, 0);
            store_line(g, line + (i / cols * 16 + 8) * g->ldc + i % cols * 8, sums + i, 2);
        }
        return;
    }
    UNROLL
    for (int i = 0; i < rows * cols; i++) {
        store_pair(g, row + i / cols * 16 + group, col + i % cols * 8 + 2 * quad, &sums[i][0], paired);
        store_pair(g, row + i / cols * 16 + group + 8, col + i % cols * 8 + 2 * quad, &sums[i][2], paired);
    }
}

#endif
