/* unit_split_aid.h: products of f32 that are split, without a card: the kernels of split_prepare.cu and split_03_mma run in
 * the simulator; what the others on tensor cores do is computed here from the parts that have been written. White-box. */
#ifndef UNIT_SPLIT_AID_H
#define UNIT_SPLIT_AID_H

#include "../src/sim/grid.h"
#include "../src/split.h"

typedef struct split_bench {
    module_list modules;
    grid_workers workers;
    char *workspace;
    int64_t workspace_bytes;
    split_arguments last; /* of the last product */
    int launches;
    /* For the products that follow: */
    const split_kept *kept_a, *kept_b;
    int slices;
    int architecture; /* whose tensor cores add; 0: sm_90 */
    int checked;      /* the kernels of split_prepare.cu are watched, access by access */
} split_bench;

/* A row-major or column-major matrix in memory of the test's own. */
typedef struct split_matrix {
    float *data;
    int64_t rows, cols, row, col, batch;
} split_matrix;

/* Room for `count` of them, `gap` elements longer along their lines than they must be. */
split_matrix split_matrix_make(int64_t rows, int64_t cols, int by_columns, int gap, int64_t count);
float *split_at(const split_matrix *m, int64_t product, int64_t row, int64_t col);

/* C = alpha*A*B + beta*C by that kernel, through product_run. Returns the way that was taken, 0 after a failure. */
int split_multiply(split_bench *bench, const char *kernel, double alpha, const split_matrix *a,
                   const split_matrix *b, double beta, const split_matrix *c, int64_t count);
/* Keeps what products by split_01 need of a matrix, whose rows (an A's) or columns are its lines; free(kept->memory). */
int split_keep_matrix(split_bench *bench, const split_matrix *m, int is_a, split_kept *kept);
void split_bench_close(split_bench *bench);

#endif
