/* doubles.h: what a kernel for tensor cores may use that multiplies f64; it says #include "doubles.h" after its header.
 * Places in shared memory are those of tensor.h, whose fragments are for sums of 4 bytes and not for this. */
#ifndef DOUBLES_H
#define DOUBLES_H

#define acc_t float
#include "tensor.h"
#undef acc_t

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

/* d += a*b, by all lanes of a warp together: 16×8 sums, `depth` of k, which is 8 or 16, in multiply-adds of f64. With
 * group = lane / 4, quad = lane % 4 and i from 0 on,
 *   a[2*i], a[2*i + 1]   k = quad + 4*i of rows group and group + 8
 *   b[i]                 k = quad + 4*i of column group
 *   d[0], d[1]           columns 2*quad, 2*quad + 1 of row group;  d[2], d[3]: of row group + 8
 * Before sm_90 an instruction multiplies 8 rows, and 4 of k. */
DEVICE void mma_f64(double d[4], const double *a, const double *b, int depth) {
#if __CUDA_ARCH__ >= 900
    if (depth == 16)
        asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, "
            "%10, %11}, "
            "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
            : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
            : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
              "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
    else
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
            : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    UNROLL
    for (int i = 0; i < depth / 2; i++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(d[i % 2 * 2]), "+d"(d[i % 2 * 2 + 1])
            : "d"(a[i]), "d"(b[i / 2]));
#endif
}

/* The same number, but the compiler knows no longer how it was made: what is made of it is made anew, where it would be kept
 * in registers since it was first made. */
DEVICE int anew(int number) {
    asm volatile("" : "+r"(number));
    return number;
}

#endif
#endif
