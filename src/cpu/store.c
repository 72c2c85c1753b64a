/* store.c: C = alpha*sums + beta*C, for every output type and any strides. Each element is rounded once.
 * Every CPU kernel ends here, so that alpha, beta and their special cases are right in one place. */
#include "cpu.h"

#include "../numeric.h"
#include "typed_names.h"

#define SUFFIX       f32
#define OUT          float
#define SUM          float
#define TO_OUT(x)    (x)
#define FROM_OUT(x)  (x)
#define TO_SCALAR(x) ((float)(x))
#include "store_typed.h"

#define SUFFIX       f64
#define OUT          double
#define SUM          double
#define TO_OUT(x)    (x)
#define FROM_OUT(x)  (x)
#define TO_SCALAR(x) (x)
#include "store_typed.h"

#define SUFFIX       f16
#define OUT          uint16_t
#define SUM          float
#define TO_OUT(x)    numeric_to_f16(x)
#define FROM_OUT(x)  numeric_from_f16(x)
#define TO_SCALAR(x) ((float)(x))
#include "store_typed.h"

#define SUFFIX       bf16
#define OUT          uint16_t
#define SUM          float
#define TO_OUT(x)    numeric_to_bf16(x)
#define FROM_OUT(x)  numeric_from_bf16(x)
#define TO_SCALAR(x) ((float)(x))
#include "store_typed.h"

/* Integers go through uint32_t, where wrapping is defined. */
#define SUFFIX       i32
#define OUT          int32_t
#define SUM          uint32_t
#define TO_OUT(x)    ((int32_t)(x))
#define FROM_OUT(x)  ((uint32_t)(x))
#define TO_SCALAR(x) ((uint32_t)(int64_t)(x))
#include "store_typed.h"

void cpu_store_sums(const cpu_store *where, const void *sums, int64_t sums_row, int64_t rows, int64_t cols) {
    switch (where->out) {
    case TESS_F32: store_f32(where, sums, sums_row, rows, cols); break;
    case TESS_F64: store_f64(where, sums, sums_row, rows, cols); break;
    case TESS_F16: store_f16(where, sums, sums_row, rows, cols); break;
    case TESS_BF16: store_bf16(where, sums, sums_row, rows, cols); break;
    case TESS_I32: store_i32(where, sums, sums_row, rows, cols); break;
    case TESS_I8: break; /* no product gives i8 (plan.c) */
    }
}
