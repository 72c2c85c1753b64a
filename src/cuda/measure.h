/* measure.h: launching the kernels of kernels/measure.cu. */
#ifndef MEASURE_H
#define MEASURE_H

#include "cuda.h"

/* The argument of every kernel in measure.cu. */
typedef struct measurement {
    void *data;
    int64_t *out;
    int64_t bytes;
    int32_t rounds, from_l2;
} measurement;

enum { MEASURE_THREADS = 1024, MEASURE_LINE = 128 };

/* Launches the kernel with that many blocks of that many threads. `type` is F32 or F64. */
tess_status measure_launch(cuda_device *self, const char *type, const char *name, int blocks, int threads,
                           cu_stream stream, measurement *what, sentence *why);
/* Keeps the card busy for so many nanoseconds. */
tess_status measure_spin(cuda_device *self, int64_t nanoseconds, cu_stream stream, sentence *why);

#endif
