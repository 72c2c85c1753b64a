/* rows.c: what the kernels that work row by row share: for each row, sums of up to CHUNK columns, merged into C. */
#include "cpu.h"

enum { CHUNK = 2048 }; /* columns whose sums stay in the first-level cache */

void cpu_run_rows(const cpu_product *product, cpu_rectangle part, void *scratch,
                  const cpu_row_sums by_type[]) {
    const problem *what = &product->decided->what;
    cpu_row_sums row_sums = by_type[what->in];
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
            row_sums(&row, scratch);
            store.c = product->c + (i * what->c_row + j * what->c_col) * (int64_t)tess_type_size(what->out);
            cpu_store_sums(&store, scratch, 0, 1, cols);
        }
    }
}

void cpu_rows_prepare(plan *decided) {
    (void)decided; /* no parameters */
}

size_t cpu_rows_scratch_size(const plan *decided) {
    return CHUNK * tess_type_size(decided->what.acc);
}

void cpu_rows_grain(const plan *decided, int64_t *rows, int64_t *cols) {
    (void)decided;
    *rows = *cols = 1;
}
