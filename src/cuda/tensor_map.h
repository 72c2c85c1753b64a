/* tensor_map.h: tensor maps: what TMA has to know of a matrix, and what a kernel is passed that uses them.
 *
 * A map is made for every launch, from what that launch is given: there is none that could be out of date. */
#ifndef TENSOR_MAP_H
#define TENSOR_MAP_H

#include "../product.h"
#include "../split.h"
#include "cuda.h"

/* CUtensorMap; the bits are the driver's. */
typedef struct tensor_map {
    _Alignas(64) uint64_t word[16];
} tensor_map;

/* `tma_gemm` in kernels/port.h. */
typedef struct tma_gemm {
    tensor_map a, b, c;
    launch_gemm g;
} tma_gemm;

/* `split_gemm` in kernels/split.h. */
typedef struct split_gemm {
    tma_gemm maps;
    split_arguments whole;
} split_gemm;

/* `apart_gemm` in kernels/apart.h. */
typedef struct apart_gemm {
    tma_gemm all;
    tensor_map rows[LACES], rim_a, rim_b;
    int32_t rim_rows, rim_cols;
    launch_late late;
} apart_gemm;

/* Fills in the maps of a launch of a kernel with boxes. C has one only where TMA writes it: STORE is 1. */
tess_status tensor_map_arguments(cuda_device *self, const product_launch *launch, tma_gemm *out,
                                 sentence *why);
/* Of a kernel with laces: A has a map for each class of rows, and C none. */
tess_status tensor_map_apart(cuda_device *self, const product_launch *launch, apart_gemm *out, sentence *why);

#endif
