/* isa_neon_unit.h: the tile of NEON, for the files that build on it. 8×12 f32 sums take 24 of the 32 registers, three
 * hold a row of B and two a column of A. */
#define REGISTERS_32
#define VECTOR_BYTES 16
#define ROWS         8
#define VECTORS      3
#define FROM_LANES
#define SEPARATE(x) __asm__("" : "+w"(x))
#include "isa_unit.h"
