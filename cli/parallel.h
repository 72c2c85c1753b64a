/* parallel.h: loops over rows, by as many threads as there are CPUs. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include <stdint.h>

/* Rows are shared out in so many blocks, whatever the number of threads. */
enum { PARALLEL_BLOCKS = 64 };

/* Calls work(argument, block, first, end) for every block, each with rows first … end - 1; blocks run side by side. */
void parallel_rows(int64_t rows, void (*work)(void *argument, int block, int64_t first, int64_t end),
                   void *argument);

#endif
