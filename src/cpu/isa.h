/* isa.h: one set of micro-kernels per instruction set, chosen at run time.
 *
 * The contract of a micro-kernel. It multiplies a panel of A, `mr` rows, by a panel of B, `nr` columns, and
 * merges the mr×nr sums into C: C = alpha*sum + beta*C, where C's rows are contiguous and `c_row` elements
 * apart. beta = 0 does not read C. Products are added in order of depth, from zero, so an element's bits do
 * not depend on which of the two functions computed it, nor on the tile it lies in. (Instructions that take
 * several products at once add these in their own order, the same for every element.)
 *
 *   multiply   A's and B's panels are packed: for each step of depth, `mr` elements of one column and `nr` of one row;
 *              panels never end early: edges are padded with zeros and their sums go to a tile of scratch memory
 *   direct     A and B are read where they lie, A's elements `a_row` and `a_col` apart; C is `rows` by `cols`, of which
 *              there may be up to direct_cols; what lies beyond its columns is not touched, in B either; NULL where
 *              there is none
 *
 * Rows of B are contiguous and `b_row` elements apart: nr if it is packed, B's own stride if not. */
#ifndef ISA_H
#define ISA_H

#include "../device.h"

/* Sums stay in registers only if every loop over a tile is written out. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif
#define INLINE static inline __attribute__((always_inline))

typedef struct micro_call {
    int64_t depth; /* elements of k; a multiple of `group` */
    const void *a, *b;
    int64_t a_row, a_col, b_row;
    int64_t rows, cols; /* these, a_row and a_col only for `direct` */
    void *c;
    int64_t c_row;
    double alpha, beta;
    /* What is wanted next, and how many bytes of it to fetch to the second-level cache with each step of depth: many at
     * once would get in the way of A and B. Only for `multiply`, which may do without. */
    const char *next;
    int64_t next_step;
} micro_call;

typedef struct micro_kernel {
    int mr, nr;
    int group;        /* the depth is padded with zeros to a multiple of this */
    tess_type packed; /* the type of the panels' elements */
    void (*multiply)(const micro_call *call);
    void (*direct)(const micro_call *call);
    int direct_rows, direct_cols, lanes; /* of the largest tile of `direct`; of a vector */
    int direct_even;                     /* a tile with a vector less has more rows, and as many sums */
    /* Does `rounds` rounds of independent multiply-adds on registers; returns how many operations that was.
     * NULL where no peak is measured. */
    double (*peak)(int64_t rounds);
} micro_kernel;

/* What is packed: `count` rows of A (or columns of B), `depth` elements deep, in panels of `width`. */
typedef struct pack_source {
    const char *data; /* its first element */
    int64_t count, depth;
    int64_t count_stride, depth_stride; /* in elements */
} pack_source;

/* Packs panels [first, last) of ⌈count/width⌉, each `width` by the padded depth, in the order the
 * micro-kernel wants; what lies beyond count or depth is zero. `to` is where panel 0 would be. */
typedef void pack_function(const pack_source *from, int width, int64_t first, int64_t last, void *to);

/* How one input type is multiplied: with which micro-kernel, and packed by what. */
typedef struct isa_product {
    const micro_kernel *micro;
    pack_function *pack_a, *pack_b;
} isa_product;

typedef struct cpu_isa {
    const char *name;  /* what TESSERA_CPU_ISA takes: "avx512" */
    const char *label; /* what people read: "AVX-512" */
    int (*supported)(void);
    isa_product products[6]; /* by tess_type of A and B */
} cpu_isa;

/* At least as many as the elements of any tile. */
enum { ISA_LARGEST_TILE = 1024 };
/* Bytes of a packed panel that a micro-kernel may fetch ahead of what it reads, at most. */
enum { ISA_FETCHED_AHEAD = 2048 };

/* The best instruction set of this machine, or the lesser one TESSERA_CPU_ISA names. Decided once per
 * process. */
const cpu_isa *isa_current(void);
/* Refuses a TESSERA_CPU_ISA that names none of this machine's. */
tess_status isa_check_environment(sentence *why);

#endif
