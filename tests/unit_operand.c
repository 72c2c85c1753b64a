/* unit_operand.c: operands of which nothing is kept leave no memory behind. White-box: src/memory.h. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#include "../src/memory.h"

/* Where nothing can be kept that is no failure, and leaves nothing behind: a matrix on the host, one whose products are cut into
 * slices, and no memory for parts. */
STANDIN_TEST(gpu_standin_operand_that_nothing_is_kept_of) {
    enum { EDGE = 96, DEPTH = 300, LONG = 20000 };
    static const char *const whats[] = {"a matrix on the host", "a long k", "no memory"};
    float *host = test_alloc(EDGE * DEPTH * sizeof *host);
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    memset(host, 0, EDGE * DEPTH * sizeof *host);
    void *device = gpu_alloc(ctx, host, EDGE * DEPTH * sizeof *host);
    for (int i = 0; i < 3; i++) {
        tess_operand *operand = NULL;
        tess_matrix M = i == 1 ? tess_view_row_major(TESS_F32, 1, LONG, device, 0)
                               : tess_view_row_major(TESS_F32, EDGE, DEPTH, i == 0 ? host : device, 0);
        M.place = i == 0 ? TESS_HOST : TESS_DEVICE;
        int64_t live = memory_live();
        if (i == 2) setenv("STANDIN_FAULT", "cuMemAlloc:1:2", 1);
        CHECK_STATUS(tess_prepare(ctx, TESS_ROLE_A, &M, &operand), TESS_OK, ctx);
        unsetenv("STANDIN_FAULT");
        CHECK(tess_operand_bytes(operand) == 0, "%s: %lld bytes are kept", whats[i],
              (long long)tess_operand_bytes(operand));
        CHECK_STATUS(tess_free_operand(operand), TESS_OK, ctx);
        CHECK(memory_live() == live, "%s: %lld allocations are left", whats[i],
              (long long)(memory_live() - live));
    }
    tess_free(ctx, device);
    free(host);
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
}
