/* limits.c: measures what a device can do at best, again and again, and keeps the best.
 *
 * Invariant: a limit is a rate the machine has reached; nothing is computed from clocks or data sheets.
 */
#include "limits.h"
#include "timing.h"

static const double LONG_ENOUGH = 0.2;

tess_status limits_peak(tess_context *ctx, tess_type type, double *flops) {
    double start = timing_now(), rate;
    *flops = 0;
    do {
        tess_status status = tess_measure_peak(ctx, type, &rate);
        if (status != TESS_OK) return status;
        if (rate > *flops) *flops = rate;
    } while (timing_now() - start < LONG_ENOUGH);
    return TESS_OK;
}

tess_status limits_bandwidth(tess_context *ctx, double *bytes) {
    double start = timing_now(), rate;
    *bytes = 0;
    do {
        tess_status status = tess_measure_bandwidth(ctx, &rate);
        if (status != TESS_OK) return status;
        if (rate > *bytes) *bytes = rate;
    } while (timing_now() - start < LONG_ENOUGH);
    return TESS_OK;
}
