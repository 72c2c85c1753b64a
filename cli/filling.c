/* filling.c: see filling.h. The same matrix, kind, range and seed give the same data on any number of cores. */
#include "filling.h"

#include <stdatomic.h>

#include "parallel.h"

/* Rows that are filled at a time, with a seed of their own. */
enum { FILL_ROWS = 256 };
typedef struct filling {
    tess_matrix M;
    tess_fill_kind kind;
    double range;
    uint64_t seed;
    atomic_int failed; /* the first status that is none of success */
} filling;

static void fill_rows(void *argument, int block, int64_t first, int64_t end) {
    filling *f = argument;
    (void)block;
    for (int64_t part = first; part < end; part++) {
        tess_matrix rows = f->M;
        int64_t row = part * FILL_ROWS, left = f->M.rows - row;
        rows.rows = left < FILL_ROWS ? left : FILL_ROWS;
        rows.data = (char *)f->M.data + row * f->M.row_stride * (int64_t)tess_type_size(f->M.type);
        tess_status status = tess_fill(&rows, f->kind, f->range, f->seed + ((uint64_t)part << 32));
        if (status != TESS_OK) atomic_store(&f->failed, (int)status);
    }
}

tess_status fill_matrix(tess_matrix M, tess_fill_kind kind, double range, uint64_t seed) {
    filling f = {.M = M, .kind = kind, .range = range, .seed = seed, .failed = TESS_OK};
    if (M.rows <= FILL_ROWS) return tess_fill(&M, kind, range, seed);
    parallel_rows((M.rows + FILL_ROWS - 1) / FILL_ROWS, fill_rows, &f);
    return (tess_status)atomic_load(&f.failed);
}
