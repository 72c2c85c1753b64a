/* batched.c: many small products in one call. A thousand 3×3 rotations, each applied to the same 3×8 set of points:
 * B has batch stride 0, so one matrix serves all. */
#include <math.h>
#include <stdio.h>
#include "tessera.h"

enum { COUNT = 1000, POINTS = 8 };
static double rotations[COUNT * 9], points[3 * POINTS], turned[COUNT * 3 * POINTS];

int main(void) {
    for (int i = 0; i < COUNT; i++) {
        double angle = 0.001 * i, *r = rotations + 9 * i;
        r[0] = cos(angle), r[1] = -sin(angle);
        r[3] = sin(angle), r[4] = cos(angle);
        r[8] = 1;
    }
    tess_matrix R = tess_view_row_major(TESS_F64, 3, 3, rotations, 3);
    tess_matrix P = tess_view_row_major(TESS_F64, 3, POINTS, points, POINTS);
    tess_matrix T = tess_view_row_major(TESS_F64, 3, POINTS, turned, POINTS);
    tess_fill(&P, TESS_FILL_UNIFORM, 1.0, 1);

    tess_context *ctx;
    if (tess_open(&ctx, "auto") != TESS_OK) {
        puts(tess_error(NULL));
        return 1;
    }
    tess_batch batch = {.count = COUNT, .stride_a = 9, .stride_b = 0, .stride_c = 3 * POINTS};
    if (tess_gemm_batched(ctx, 1.0, &R, &P, 0.0, &T, &batch, NULL) != TESS_OK) {
        puts(tess_error(ctx));
        return 1;
    }
    tess_close(ctx);

    /* A rotation keeps every point's distance from the origin. */
    double worst = 0;
    for (int i = 0; i < COUNT; i++)
        for (int p = 0; p < POINTS; p++) {
            double before = 0, after = 0;
            for (int axis = 0; axis < 3; axis++) {
                double x = points[axis * POINTS + p], y = turned[(i * 3 + axis) * POINTS + p];
                before += x * x, after += y * y;
            }
            worst = fmax(worst, fabs(after - before));
        }
    printf("%d rotations of %d points; squared lengths change by at most %.1e\n", COUNT, POINTS, worst);
    return !(worst < 1e-14);
}
