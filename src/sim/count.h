/* count.h: a whole product in counters, from a few of its blocks. */
#ifndef COUNT_H
#define COUNT_H

#include "sim.h"

/* tess_count for the simulator. */
tess_status count_product(sim_device *self, const plan *decided, tess_count_view view, tess_counters *sum,
                          tess_line_counters *by_line, size_t *line_count, sentence *why);

/* Test hook. 1: every block is traced to its whole depth, and nothing stands for anything else. */
void count_every_block(int yes);

#endif
