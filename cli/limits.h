/* limits.h: what a device can do at best with the threads its context has now. */
#ifndef LIMITS_H
#define LIMITS_H

#include "tessera.h"

/* As tess_measure_peak and tess_measure_bandwidth, but for long enough that a neighbour's short burst of work
 * does not pass for the machine's limit: the best of a fifth of a second. */
tess_status limits_peak(tess_context *ctx, tess_type type, double *flops);
tess_status limits_bandwidth(tess_context *ctx, double *bytes);

#endif
