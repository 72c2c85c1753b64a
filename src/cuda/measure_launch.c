/* measure_launch.c: the kernels of kernels/measure.cu, which measuring and timing both need. */
#include "measure.h"

tess_status measure_launch(cuda_device *self, const char *type, const char *name, int blocks, int threads,
                           cu_stream stream, measurement *what, sentence *why) {
    cu_function function;
    const unsigned grid[3] = {(unsigned)blocks, 1, 1};
    TRY(cuda_load_helper(self, "measure.cu", type, name, &function, why));
    return cuda_launch(self, function, grid, threads, 1, 0, stream, what, why);
}

tess_status measure_spin(cuda_device *self, int64_t nanoseconds, cu_stream stream, sentence *why) {
    measurement spin = {.bytes = nanoseconds};
    return measure_launch(self, "F32", "spin", 1, 1, stream, &spin, why);
}
