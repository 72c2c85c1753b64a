/* count_tiles.c: which block computes which tile. A kernel may walk C in an order of its own, to be kind to
 * L2, so a block's number says nothing for certain; where it stores does. A block is asked by running it with
 * k = 0 as far as its first store. */
#include "count_tiles.h"

#include <string.h>

#include "../memory.h"
#include "../numeric.h"
#include "count_block.h"

/* The tile that block (x, y) stores to first; its product is the first of the batch. *stores is 0 if it is
 * none. */
static tess_status ask_block(sim_device *self, const product_launch *launch, unsigned x, unsigned y,
                             unsigned tile[2], int *stores, sentence *why) {
    launch_gemm args = *(const launch_gemm *)launch->arguments;
    counters first;
    args.k = 0;
    memset(&first, 0, sizeof first);
    tess_status status =
        count_run_block(self, launch, &(count_run){&args, {x, y, 0}, TESS_COUNT_SOURCE, 0, 1}, &first, why);
    int64_t offset = (const char *)first.first_store - (const char *)args.c;
    int64_t element = offset / numeric_size(launch->out), row = element / args.ldc, col = element % args.ldc;
    *stores = first.first_store && offset >= 0 && row < args.m && col < args.n;
    tile[0] = (unsigned)(col / launch->shape.tile_cols);
    tile[1] = (unsigned)(row / launch->shape.tile_rows);
    counters_free(&first);
    return status;
}

/* Asks every block. */
static tess_status ask_all(sim_device *self, const product_launch *launch, count_order *order,
                           sentence *why) {
    const unsigned *grid = launch->grid;
    order->block_of = memory_alloc_zeroed((size_t)grid[0] * grid[1] * sizeof *order->block_of);
    if (!order->block_of)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for the order of %u×%u blocks", grid[0],
                           grid[1]);
    for (unsigned y = 0; y < grid[1]; y++)
        for (unsigned x = 0; x < grid[0]; x++) {
            unsigned tile[2];
            int stores;
            TRY(ask_block(self, launch, x, y, tile, &stores, why));
            if (stores) order->block_of[(size_t)tile[1] * grid[0] + tile[0]] = y * grid[0] + x + 1;
        }
    return TESS_OK;
}

tess_status count_block_of(sim_device *self, const product_launch *launch, count_order *order,
                           const unsigned tile[3], unsigned block[3], int *found, sentence *why) {
    unsigned own[2];
    int stores;
    *found = 1;
    memcpy(block, tile, 3 * sizeof *block);
    if (!order->block_of) {
        TRY(ask_block(self, launch, tile[0], tile[1], own, &stores, why));
        if (stores && own[0] == tile[0] && own[1] == tile[1]) return TESS_OK;
        TRY(ask_all(self, launch, order, why));
    }
    uint32_t number = order->block_of[(size_t)tile[1] * launch->grid[0] + tile[0]];
    *found = number > 0;
    if (!*found) return TESS_OK;
    block[0] = (number - 1) % launch->grid[0];
    block[1] = (number - 1) / launch->grid[0];
    return TESS_OK;
}

void count_order_free(count_order *order) {
    memory_free(order->block_of);
    order->block_of = NULL;
}
