/* tensor_core.h: the arithmetic of tensor cores, bit by bit. */
#ifndef TENSOR_CORE_H
#define TENSOR_CORE_H

#include <stdint.h>

#define SIM_HOST
#include "tensor_sim.h"

enum { TENSOR_ROWS = 16, TENSOR_COLS = 8, TENSOR_BYTES = 32 };

/* How an architecture adds. Its tensor cores add `step` bytes of k at once: products are exact; they and the
 * sum so far are shifted to the largest exponent among them and cut off `bits` bits behind the point; what is
 * left is added exactly and cut to an f32. */
typedef struct tensor_rule {
    int architecture; /* from this one on */
    int bits, step;
} tensor_rule;

const tensor_rule *tensor_rule_of(int architecture);

/* One instruction: 16×8 sums, k at most 32 bytes deep. Rows of A and columns of B as their bytes lie in
 * memory; sums as the bits of an f32, or for i8 of an i32. */
typedef struct tensor_tile {
    int type;  /* SIM_F16 ... */
    int bytes; /* of k */
    uint8_t a[TENSOR_ROWS][TENSOR_BYTES], b[TENSOR_COLS][TENSOR_BYTES];
    uint32_t sums[TENSOR_ROWS][TENSOR_COLS];
} tensor_tile;

void tensor_multiply(const tensor_rule *rule, tensor_tile *tile);

/* Bytes of an element of A and B. */
int tensor_size(int type);

#endif
