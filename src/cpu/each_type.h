/* each_type.h: includes TEMPLATE once for every input type, so that a loop is written once and compiled for
 * all.
 *
 * Each time, IN is the element type, SUM the type its products are added up in, LOAD(x) turns one into the
 * other, BYTES is the size of both where they are the same bits (else 0), and TYPED(name) is `name` with the
 * type's suffix. Integers are summed as uint32_t: they wrap, without undefined behaviour. Has no include
 * guard: it is meant to be included once per TEMPLATE. */
#include "../numeric.h"
#include "typed_names.h"

#define SUFFIX  f32
#define IN      float
#define SUM     float
#define LOAD(x) (x)
#define BYTES   4
#include TEMPLATE
#undef SUFFIX
#undef IN
#undef SUM
#undef LOAD
#undef BYTES

#define SUFFIX  f64
#define IN      double
#define SUM     double
#define LOAD(x) (x)
#define BYTES   8
#include TEMPLATE
#undef SUFFIX
#undef IN
#undef SUM
#undef LOAD
#undef BYTES

#define SUFFIX  f16
#define IN      uint16_t
#define SUM     float
#define LOAD(x) numeric_from_f16(x)
#define BYTES   0
#include TEMPLATE
#undef SUFFIX
#undef IN
#undef SUM
#undef LOAD
#undef BYTES

#define SUFFIX  bf16
#define IN      uint16_t
#define SUM     float
#define LOAD(x) numeric_from_bf16(x)
#define BYTES   0
#include TEMPLATE
#undef SUFFIX
#undef IN
#undef SUM
#undef LOAD
#undef BYTES

#define SUFFIX  i32
#define IN      int32_t
#define SUM     uint32_t
#define LOAD(x) numeric_wrapped(x)
#define BYTES   4
#include TEMPLATE
#undef SUFFIX
#undef IN
#undef SUM
#undef LOAD
#undef BYTES

#define SUFFIX  i8
#define IN      int8_t
#define SUM     uint32_t
#define LOAD(x) numeric_wrapped(x)
#define BYTES   0
#include TEMPLATE
#undef SUFFIX
#undef IN
#undef SUM
#undef LOAD
#undef BYTES

#undef TEMPLATE
