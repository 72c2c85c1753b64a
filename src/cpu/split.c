/* split.c: sharing a matrix out among threads. */
#include "cpu.h"

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

void cpu_cut(int64_t length, int64_t grain, int64_t parts, int64_t index, int64_t *first, int64_t *count) {
    int64_t units = ceil_div(length, grain), each = units / parts, rest = units % parts;
    int64_t from = (each * index + rest * index / parts) * grain;
    int64_t to = (each * (index + 1) + rest * (index + 1) / parts) * grain;
    *first = from < length ? from : length;
    *count = (to < length ? to : length) - *first;
}

cpu_grid cpu_make_grid(int64_t rows, int64_t cols, int64_t grain_rows, int64_t grain_cols, int64_t parts) {
    cpu_grid grid = {rows, cols, grain_rows, grain_cols, 1, 1};
    int64_t units_down = ceil_div(rows, grain_rows), units_across = ceil_div(cols, grain_cols);
    double best = 1e300;
    for (int64_t down = 1; down <= parts && down <= units_down; down++) {
        int64_t across = parts / down < units_across ? parts / down : units_across;
        double height = (double)(ceil_div(units_down, down) * grain_rows);
        double width = (double)(ceil_div(units_across, across) * grain_cols);
        double cost = height * width + height + width; /* the sides stand for what is read to fill it */
        if (cost < best) best = cost, grid.down = down, grid.across = across;
    }
    return grid;
}

cpu_rectangle cpu_grid_part(const cpu_grid *grid, int64_t index) {
    cpu_rectangle part;
    cpu_cut(grid->rows, grid->grain_rows, grid->down, index / grid->across, &part.row, &part.rows);
    cpu_cut(grid->cols, grid->grain_cols, grid->across, index % grid->across, &part.col, &part.cols);
    return part;
}

int64_t cpu_grid_part_rows(const cpu_grid *grid) {
    return ceil_div(ceil_div(grid->rows, grid->grain_rows), grid->down) * grid->grain_rows;
}

int64_t cpu_grid_part_cols(const cpu_grid *grid) {
    return ceil_div(ceil_div(grid->cols, grid->grain_cols), grid->across) * grid->grain_cols;
}
