/* raster.h: which tile of C comes at which place in the order, for kernels whose blocks walk over tiles. */
#ifndef RASTER_H
#define RASTER_H

/* Tile number `at` of `rows`×`cols`: groups of so many rows, column by column, so that the tiles in flight at one
 * time form a compact part of C. */
DEVICE void tile_of(int at, int rows, int cols, int group, int *row, int *col) {
    int first = at / (group * cols) * group, height = rows - first < group ? rows - first : group;
    int within = at - first * cols;
    *col = within / height;
    *row = first + within % height;
}

#endif
