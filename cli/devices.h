/* devices.h: the parts of `tessera devices`.
 *
 *   cmd_devices.c        the table of devices, what they can do at best, the BLAS libraries found
 *   devices_gpu.c        what is known of a GPU, and the libraries it is used through
 *   devices_hierarchy.c  the levels of a GPU's memory
 */
#ifndef DEVICES_H
#define DEVICES_H

#include "table.h"
#include "tessera.h"

/* A GPU's columns: `columns` rows that a table of devices ends with, and their values on its last row. */
extern const table_column devices_gpu_columns[];
extern const size_t devices_gpu_column_count;
void devices_set_gpu(table *t, size_t first, const tess_gpu_info *gpu);
/* The same for people, a fact a line. */
void devices_print_gpu(const tess_device_info *device, const tess_gpu_info *gpu);

/* Those found, and why the others are not used; `verbose` names every file tried. */
void devices_print_libraries(bool verbose);
/* Says why the CPU cannot be opened, if it cannot: by a variable of the environment that is wrong. */
void devices_print_refusal(void);
/* Says why there is no GPU, if there is none. */
void devices_print_absence(void);

extern const table_column hierarchy_columns[];
extern const size_t hierarchy_column_count;
/* The levels of every GPU here, measured, and those of the cards in the literature. Returns false after a
 * sentence if one could not be measured. */
bool hierarchy_add_rows(table *t);

#endif
