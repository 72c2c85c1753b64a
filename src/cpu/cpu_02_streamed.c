/* cpu_02_streamed: rows of B are added into a row of sums.
 * before:  cpu_01_naive
 * change:  the two inner loops are exchanged: for each p, A[i][p] times row p of B is added to row i's sums
 * why:     a column of B touched a new cache line at every step; its rows lie in order and fill vectors
 * next:    every sum is loaded and stored at every step → keep a tile of them in registers, cpu_03_packed */
#include "cpu.h"

#define TEMPLATE "cpu_02_streamed_typed.h"
#include "each_type.h"

static const cpu_row_sums by_type[] = {
    [TESS_F32] = add_rows_f32,   [TESS_F64] = add_rows_f64, [TESS_F16] = add_rows_f16,
    [TESS_BF16] = add_rows_bf16, [TESS_I32] = add_rows_i32, [TESS_I8] = add_rows_i8,
};

static void run(cpu_job *job, int thread) {
    cpu_run_rows(job, thread, by_type);
}

const cpu_kernel cpu_02_streamed = {"cpu_02_streamed", cpu_rows_prepare, cpu_rows_scratch_size, run};
