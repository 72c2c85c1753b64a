/* cpu_01_naive: one dot product per element.
 * change:  nothing yet: the three loops as the definition has them
 * why:     the mark to beat: every step down a column of B touches another cache line, and a sum waits for
 *          the one before
 * next:    exchange the two inner loops, so that memory is read in order → cpu_02_streamed */
#include "cpu.h"

#define TEMPLATE "cpu_01_naive_typed.h"
#include "each_type.h"

static const cpu_row_sums by_type[] = {
    [TESS_F32] = dot_row_f32,   [TESS_F64] = dot_row_f64, [TESS_F16] = dot_row_f16,
    [TESS_BF16] = dot_row_bf16, [TESS_I32] = dot_row_i32, [TESS_I8] = dot_row_i8,
};

static void run(cpu_job *job, int thread) {
    cpu_run_rows(job, thread, by_type);
}

const cpu_kernel cpu_01_naive = {"cpu_01_naive", cpu_rows_prepare, cpu_rows_scratch_size, run};
