/* measure.c: the peaks that results are compared with are measured, positive, and no kernel beats them. */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

TEST(measure_peak_and_bandwidth) {
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    double single = 0, wide = 0, bytes = 0;
    CHECK_STATUS(tess_measure_peak(ctx, TESS_F32, &single), TESS_OK, ctx);
    CHECK_STATUS(tess_measure_peak(ctx, TESS_F64, &wide), TESS_OK, ctx);
    CHECK(single > 1e7 && wide > 1e7 && wide < single * 1.5, "f32 peak %g, f64 peak %g", single, wide);
    if (harness_tier() != TIER_SHORT) { /* it fills several times the last cache */
        CHECK_STATUS(tess_measure_bandwidth(ctx, &bytes), TESS_OK, ctx);
        CHECK(bytes > 1e7 && bytes < 1e13, "bandwidth %g", bytes);
    }
    tess_close(ctx);
}

TEST(measure_refuses_what_it_cannot) {
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    double value = -1;
    CHECK_STATUS(tess_measure_peak(ctx, TESS_I8, &value), TESS_ERROR_TYPE, ctx);
    CHECK(strstr(tess_error(ctx), "i8"), "the sentence \"%s\" does not name the type", tess_error(ctx));
    CHECK_STATUS(tess_measure_peak(ctx, TESS_F32, NULL), TESS_ERROR_ARGUMENT, ctx);
    CHECK_STATUS(tess_measure_peak(NULL, TESS_F32, &value), TESS_ERROR_ARGUMENT, NULL);
    CHECK_STATUS(tess_measure_bandwidth(ctx, NULL), TESS_ERROR_ARGUMENT, ctx);
    CHECK(value == -1, "a refused measurement wrote %g", value);
    tess_close(ctx);
}
