/* isa_neon_unit.h: the tile of NEON, for the files that build on it. 8×12 f32 sums take 24 of the 32 registers, and so do
 * 6×8 of f64, which read fewer bytes of A, from the second-level cache, than 8×6. */
#define DIRECT_ROWS    4
#define DIRECT_VECTORS 4
#define VECTOR_BYTES   16
#define ROWS           8
#define VECTORS        3
#define ROWS_OF_8      6
#define VECTORS_OF_8   4
#define FROM_LANES
/* What is read from there on is read after this sum is added to: a CPU that can begin four multiply-adds a clock begins
 * fewer where it meets many loads in a row. */
#define LOAD_LATER(from, sum) __asm__("" : "+r"(from) : "w"(sum))
#define SEPARATE(x)           __asm__("" : "+w"(x))
#define ALONE(x)              __asm__("" : "+w"(x))
#include "isa_unit.h"
