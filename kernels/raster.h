/* raster.h: which tile of C comes at which place in the order, for kernels whose blocks walk over tiles. */
#ifndef RASTER_H
#define RASTER_H

/* Tile number `at` of `rows`×`cols`: groups of rows, so many at most, column by column, so that the tiles in flight at one
 * time form a compact part of C. Groups are of about one size: a last one of few rows would be a strip as long as C. Where there is
 * one group only, one division is enough: a block's first load waits for them. */
DEVICE void tile_of(int at, int rows, int cols, int most, int *row, int *col) {
    int first = 0, height = rows;
    if (rows > most) {
        int groups = (rows + most - 1) / most, group = (rows + groups - 1) / groups;
        first = at / (group * cols) * group;
        height = rows - first < group ? rows - first : group;
    }
    int within = at - first * cols;
    *col = within / height;
    *row = first + within % height;
}

#endif
