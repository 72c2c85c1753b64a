/* count_tiles.h: which block computes which tile of C. */
#ifndef COUNT_TILES_H
#define COUNT_TILES_H

#include "sim.h"

/* Which block computes a tile: 1 + y*grid_x + x, 0 if none does. NULL as long as blocks are found in order.
 */
typedef struct count_order {
    uint32_t *block_of;
} count_order;

/* The block that computes the tile of column tile[0] and row tile[1], of product tile[2]. *found is 0 if
 * there is none. */
tess_status count_block_of(sim_device *self, const product_launch *launch, count_order *order,
                           const unsigned tile[3], unsigned block[3], int *found, sentence *why);
void count_order_free(count_order *order);

#endif
