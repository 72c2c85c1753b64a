/* unit_sass.h: the instructions in the code that NVRTC makes, for tests that compare the simulator with it.
 */
#ifndef UNIT_SASS_H
#define UNIT_SASS_H

#include <stddef.h>

/* What an instruction does: bits 0 to 11. */
enum {
    SASS_LDS = 0x984,
    SASS_LDSM = 0x83b,
    SASS_STS = 0x388,
    SASS_STS_UNIFORM = 0x988,
    SASS_LDG = 0x381,
    SASS_LDG_UNIFORM = 0x981,
    SASS_HMMA = 0x23c,
    SASS_IMMA = 0x237
};

/* Whether NVRTC and tracing are here. If not, the test is skipped; or fails, if TESSERA_REQUIRE_NVRTC is set
 * and it is NVRTC that is missing. */
int sass_can_compare(void);

/* How many instructions of the kernels in a cubin do `what`. Those that are never executed are left out:
 * ptxas puts such loads before asynchronous copies. */
int sass_count(const void *image, size_t size, unsigned what);

#endif
