/* route.h: how a product reaches a kernel that does not take its matrices as they lie.
 *
 * Kernels of the ladder want A, B and C with neighbouring columns next to each other (any row stride). Kernels
 * for tensor cores, and for batches of small products, take A and B in rows or in columns, and are told which by
 * their parameters AT and BT; some take them only along k, or B only in rows. What does not fit is turned or copied:
 *   - if C's columns lie in order and its rows do not, the transposed product is computed: C' = B'*A'
 *   - an A, B or C that still does not fit is copied to the workspace (and C back)
 *   - so are an A and B of f32 that are to be multiplied as bf16 or TF32, rounded; those that are not aligned to the 16
 *     bytes that a kernel for tensor cores copies at once; and large ones for a kernel that stores C otherwise than it
 *     copies A and B (CVEC)
 *   - for a kernel whose tiles TMA moves, A and B must begin at multiples of 16 bytes, and so must their lines: they are
 *     copied where they do not, whatever their size; and large ones also for lines at multiples of 128 bytes, and narrow
 *     ones to lie along a long k. TMA rounds to TF32 by itself
 *   - a kernel that takes rows of A apart (laces) takes A wherever rows begin, if the first does so at a multiple of 16 bytes;
 *     else the copy's rows begin as A's would then: the order of additions depends on that, and not on addresses
 * The vector kernel takes any strides, and so do kernels that split f32 (split.h): their workspace is for the parts. */
#ifndef ROUTE_H
#define ROUTE_H

#include "device.h"
#include "launch.h"

/* One matrix as the kernel sees it. */
typedef struct route_part {
    int copied;     /* to the workspace, `at` bytes after its beginning */
    int by_columns; /* neighbours in a column are next to each other, not those in a row */
    int realigned;  /* it lay so before it was copied, but not aligned */
    int anywhere;   /* lines of the copy begin at any elements, as they did before */
    int64_t at;
} route_part;

typedef struct route {
    problem run; /* the product as the kernel sees it: strides of the copies, and its types */
    int swapped; /* run's A is the product's B transposed, and the other way round */
    int rounded; /* A and B are f32 and lose bits as they are copied: they become bf16, or TF32, f32 of 11 bits */
    route_part a, b, c;
    launch_rim rim;   /* of a kernel with laces */
    int64_t rim_at;   /* its rows of A are copied to so many bytes after the workspace's beginning */
    launch_late late; /* what of B it may copy itself; its counts lie there */
    int64_t counts_at;
    int64_t workspace; /* bytes */
} route;

/* The type of A and B as the kernel sees them: bf16 where f32 may be rounded to it, and the kernel takes it. */
tess_type route_input(const problem *what, const kernel_row *kernel);

/* `params` are the kernel's, as far as they are known: with a VEC of less than 16 bytes nothing is copied for
 * its alignment. `data` has the addresses of A and B; NULL: they are not known yet, and taken to be aligned. */
tess_status route_of(const problem *what, const kernel_row *kernel, const int64_t params[REGISTRY_PARAMS],
                     const operands *data, route *out, sentence *why);

/* The elements of the widest copies, of 16, 8 or 4 bytes, at whose multiples all lines of A and B begin; 1 if
 * they begin at multiples of none. With data: base addresses too (NULL data: strides only). */
int route_widest(const route *r, const operands *data);

/* Whether a kernel is told how A and B lie, by its parameters AT and BT. */
int route_takes_columns(const kernel_row *kernel);

/* For kernels with a CVEC: whether A and B can be copied `vec` elements at a time, because all rows begin at multiples of
 * those; and whether C can be read and written so, whose rows must end there too. With data as above. */
int route_can_read(const route *r, const operands *data, int64_t vec);
int route_can_write(const route *r, const operands *data, int64_t vec);

/* Whether TMA can write C: its rows begin and end at multiples of 16 bytes, in every product of a batch. With data: its
 * base address too (NULL data: sizes and strides only). */
int route_can_store(const route *r, const operands *data);

/* What is done, for the plan's sentence: "" if nothing is. `vec` is what the kernel copies at once, in
 * elements; 0: that is not worth a word. */
void route_describe(const route *r, const kernel_row *kernel, int64_t vec, char *text, size_t size);

/* The same product seen from C transposed. */
problem route_transposed(const problem *what);

/* Whether lines of A and B that begin at multiples of 16 bytes, but not of 128, are copied for TMA. */
int route_copies_loose(const problem *run);

#endif
