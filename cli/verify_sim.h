/* verify_sim.h: what `tessera verify` does differently with the simulator, and with a kernel's file. */
#ifndef VERIFY_SIM_H
#define VERIFY_SIM_H

#include "kernels.h"
#include "problem.h"

/* On the simulator, takes the one that checks every access instead; says why if there is none here. */
void verify_sim_open_checked(tess_context **ctx, tess_device_info *device);

/* Goes back to the plain simulator, and says so, if this kernel's accesses cannot be checked here: that takes
 * gcc, unless the build made the kernel in these types and parameters. */
void verify_sim_settle(tess_context **ctx, tess_device_info *device, problem_types types,
                       const tess_options *options);

/* Whether there is such a file; says why if it cannot be read. */
bool verify_sim_can_read(const char *file);
/* Adds the kernel in a file. `path` is room for its name, which the list points to. */
bool verify_sim_add_file(kernels_list *list, const char *file, char path[1024]);
bool verify_sim_is_file(const tess_kernel_info *kernel);

/* What the device noticed in the last product, a note a line; what `seen` holds already is not said again. */
void verify_sim_notes(const tess_context *ctx, char seen[4096]);

#endif
