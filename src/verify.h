/* verify.h: what the two ways of checking share. */
#ifndef VERIFY_H
#define VERIFY_H

#include "matrix.h"

/* A check under way: the product, what the bound allows, and what has been found so far. alpha is 0 where k
 * is 0, so that one test tells whether A and B are read. */
typedef struct verdict {
    const tess_matrix *A, *B, *C0, *C;
    double alpha, beta; /* rounded to the accumulation type, as the product rounds them */
    int exact;          /* only equality passes */
    double sum_error;   /* (k + 8) u_acc */
    double out_error;   /* u_out */
    double underflow;   /* what results too small for their type may lose */
    double acc_largest, out_largest;
    double square_error, square_want; /* Σ|C − ref|², Σ|ref|² */
    int64_t seen;
    tess_check *check;
} verdict;

/* Judges one element, or one row of the checksum (col -1). `scale` is |alpha| |A| |B| + |beta| |C0| there. */
void verify_element(verdict *v, int64_t row, int64_t col, double got, double want, double scale);
/* Counts `got` as right or wrong, with `share` of what is allowed. */
void verify_record(verdict *v, int64_t row, int64_t col, double got, double want, int right, double share);

/* Room for the sums of some rows and columns; memory_free gives it back. */
typedef struct oracle oracle;
tess_status verify_make_oracle(oracle **o, sentence *why);

/* Every element of rows [row, row+rows) × columns [col, col+cols). */
void verify_by_oracle(verdict *v, oracle *o, int64_t row, int64_t rows, int64_t col, int64_t cols);
/* Whether the checksum sees every wrong element: it takes integers throughout, and a C that holds the sums unrounded. */
int verify_can_be_exact(const verdict *v);
/* Every row by a random vector, and some elements. */
tess_status verify_by_checksum(verdict *v, uint64_t seed, sentence *why);

#endif
