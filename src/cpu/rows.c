/* rows.c: what the kernels that work row by row share: for each row, sums of up to CHUNK columns, merged into
 * C. */
#include "cpu.h"

enum { CHUNK = 2048 }; /* columns whose sums stay in the first-level cache */

static void run_rectangle(const cpu_product *product, cpu_rectangle part, void *sums, cpu_row_sums row_sums) {
    const problem *what = product->what;
    cpu_store store = {what->out, what->acc, NULL, what->c_row, what->c_col, product->alpha, product->beta};
    for (int64_t i = part.row; i < part.row + part.rows; i++) {
        for (int64_t done = 0; done < part.cols; done += CHUNK) {
            int64_t j = part.col + done, cols = part.cols - done < CHUNK ? part.cols - done : CHUNK;
            cpu_row row = {.a = cpu_at(product->a, what->in, i, what->a_row, 0, 0),
                           .b = cpu_at(product->b, what->in, 0, 0, j, what->b_col),
                           .a_col = what->a_col,
                           .b_row = what->b_row,
                           .b_col = what->b_col,
                           .k = what->k,
                           .cols = cols};
            row_sums(&row, sums);
            store.c = product->c + (i * what->c_row + j * what->c_col) * numeric_size(what->out);
            cpu_store_sums(&store, sums, 0, 1, cols);
        }
    }
}

/* Threads take rectangles of products until none is left. */
void cpu_run_rows(cpu_job *job, int thread, const cpu_row_sums by_type[]) {
    const problem *what = &job->decided->what;
    int64_t parts = job->threads > what->batch.count ? job->threads : 1;
    cpu_grid grid = cpu_make_grid(what->m, what->n, 1, 1, parts);
    int64_t per_product = grid.down * grid.across, total = per_product * what->batch.count;
    char *sums = job->scratch + (size_t)thread * CHUNK * (size_t)numeric_size(what->acc);
    for (int64_t at; (at = atomic_fetch_add(&job->next, 1)) < total;) {
        cpu_product product = cpu_product_at(job, at / per_product);
        run_rectangle(&product, cpu_grid_part(&grid, at % per_product), sums, by_type[what->in]);
    }
}

tess_status cpu_rows_prepare(plan *decided, sentence *why) {
    (void)decided, (void)why; /* no parameters, and nothing is refused */
    return TESS_OK;
}

size_t cpu_rows_scratch_size(const plan *decided, int threads) {
    return (size_t)threads * CHUNK * (size_t)numeric_size(decided->what.acc);
}
