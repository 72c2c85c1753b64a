/* unit_route.h: products with matrices that lie in rows, in columns or in neither, and kernels for tensor cores that are planned for
 * them: what tests of routes share. */
#ifndef UNIT_ROUTE_H
#define UNIT_ROUTE_H

#include "../src/product.h"

enum order { ROWS, COLUMNS, NEITHER, ORDERS };

typedef struct layout {
    tess_type in, out;
    int64_t m, n, k, pad, count;
    enum order a, b, c;
    tess_compute compute;
} layout;

/* Rows like those of the ladder, with the parameters that routes set; and one whose tiles TMA moves. */
const kernel_row *layout_tensor_row(int k_major);
const kernel_row *layout_tma_row(void);

/* With no parameters set. */
plan layout_plan(const layout *l, const kernel_row *row);
const char *layout_text(const layout *l);

/* Whether every line of a matrix of the batch begins at a multiple of `bytes`. */
int layout_begins_at(uintptr_t base, int64_t lines, int64_t distance, int64_t count, int64_t batch,
                     int64_t size, int64_t bytes);

/* Those are what the plan's parameters become, and what it says. */
void layout_expect(const layout *l, const kernel_row *row, const char *params, const char *route_text);

#endif
