/* verify.h: what the two ways of checking share. */
#ifndef VERIFY_H
#define VERIFY_H

#include <math.h>

#include "matrix.h"

/* A Euclidean norm that grows: largest·√sum. Squares are taken of shares of the largest, so that they neither overflow
 * nor underflow. */
typedef struct norm {
    double largest, sum;
} norm;

static inline void norm_add(norm *n, double magnitude) {
    if (magnitude > n->largest) {
        double share = n->largest / magnitude;
        n->sum = 1 + n->sum * share * share;
        n->largest = magnitude;
    } else if (n->largest > 0) {
        double share = magnitude == n->largest ? 1 : magnitude / n->largest; /* infinities are alike */
        n->sum += share * share;
    }
}

static inline double norm_of(norm n) {
    return n.largest * sqrt(n.sum);
}

/* Rows or columns: `count` of them from `first` on, or those of a list. */
typedef struct lines {
    int64_t first, count;
    const int64_t *list; /* NULL: neighbours */
} lines;

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
    norm error, want; /* ‖C − ref‖, ‖ref‖ */
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

/* Every element of these rows and columns. */
void verify_by_oracle(verdict *v, oracle *o, lines rows, lines cols);
/* Whether the checksum sees every wrong element: it takes integers throughout, and a C that holds the sums unrounded. */
int verify_can_be_exact(const verdict *v);
/* Every row by a random vector, what that cannot decide by the oracle, and some elements. */
tess_status verify_by_checksum(verdict *v, uint64_t seed, sentence *why);

#endif
