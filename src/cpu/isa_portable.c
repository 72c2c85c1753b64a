/* isa_portable.c: plain vector extensions, for whatever the compiler's target has without being asked. It is
 * what machines without a kernel of their own get, and a second opinion for those that have one. */
#define VECTOR_BYTES 16
#define ROWS         4
#define VECTORS      2
#include "isa_unit.h"

static int supported(void) {
    return 1;
}

const cpu_isa isa_portable = {
    .name = "portable",
    .label = "portable 128-bit vectors",
    .supported = supported,
    .products = {ISA_FLOATS, ISA_INTEGERS},
};
