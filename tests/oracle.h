/* oracle.h: a second opinion on every number. The reference product, the conversions of f16 and bf16 and the error
 * bound are written here from their definitions and share nothing with the library but its structs. */
#ifndef ORACLE_H
#define ORACLE_H

#include "tessera.h"

/* The element (row, col) as double, and `value` rounded once to nearest even and stored. */
double oracle_get(const tess_matrix *M, int64_t row, int64_t col);
void oracle_set(const tess_matrix *M, int64_t row, int64_t col, double value);
/* The address of an element. */
void *oracle_at(const tess_matrix *M, int64_t row, int64_t col);

/* Conversions of the 16-bit types, one rounding from double. */
uint16_t oracle_f16_from_double(double value);
uint16_t oracle_bf16_from_double(double value);
double oracle_f16_to_double(uint16_t bits);
double oracle_bf16_to_double(uint16_t bits);

/* One product: what should have happened, and what did. */
typedef struct oracle_product {
    double alpha, beta;
    tess_matrix A, B;
    tess_matrix C0; /* C before the call; not read if beta is 0 */
    tess_matrix C;  /* C after it */
    int exact;      /* the data is such that every sum is exact: only equal values pass */
} oracle_product;

/* How many elements are wrong, and the last of them. */
typedef struct oracle_verdict {
    int64_t wrong;
    int64_t row, col;
    double got, want, allowed;
} oracle_verdict;

/* Checks every element of C. An element passes if it is within
 * (k+8) u_acc (|alpha||A||B| + |beta||C0|) + u_out |ref| + half the smallest subnormal of the output type;
 * NaN passes only for NaN, an infinity only for the same infinity. Integer results must be equal modulo 2^32.
 * Exact data must be equal after one rounding; zeros of either sign are equal. */
oracle_verdict oracle_check(const oracle_product *product);

/* The same for one element; returns whether it is right. */
int oracle_check_element(const oracle_product *product, int64_t row, int64_t col, oracle_verdict *verdict);

#endif
