/* sim_tensor_faults.c: what a kernel must not do with tensor cores, and with copies that are only partly there,
 * done on purpose by a small kernel, is found. What only looks like a fault passes. */
#include "harness.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of one block, bf16 to f32: C is 16×13, and k 32. */
typedef struct fault {
    const char *name;
    const char *body;   /* line 8 is its first */
    const char *expect; /* parts of the sentence; NULL: it passes */
    const char *expect2;
} fault;

static const char head[] = "/* %s: a kernel that does one thing\n"
                           " * block: %d, 1\n"
                           " * tile: 16, 16\n"
                           " * types: bf16:f32\n"
                           " */\n"
                           "#include \"tensor.h\"\n"
                           "KERNEL(64) %s(gemm whole) { gemm g = begin(whole); int t = threadIdx.x; %s\n";
static const char tail[] =
    "\nfor (int i = t; i < 16 * g.n; i += blockDim.x) g.c[i / g.n * g.ldc + i % g.n] = 7;\n}\n";
static const char parts[] =
    "__shared__ ALIGNED(128) in_t s[1024]; __shared__ ALIGNED(128) float sums[256]; "
    "unsigned a[4] = {0}, b[4] = {0}; float d[4] = {0}; wmma_part f = {{0}}; wmma_sums w = {{0}}; "
    "(void)a, (void)b, (void)d, (void)f, (void)w, (void)s, (void)sums;";
#define FILL "for (int i = t; i < 1024; i += blockDim.x) s[i] = 1;"

static const fault faults[] = {
    {"two_lines", "if (t < 16)\nmma(d, a, b);\nelse\nmma(d, a, b);", "warp operation at",
     "comes to another one"},
    {"with_syncwarp", "if (t < 16)\nmma(d, a, b);\nelse\n__syncwarp();", "warp operation at",
     "comes to another one"},
    {"with_barrier", "if (t < 16)\nmma(d, a, b);\nelse\n__syncthreads();", "deadlock in block (0,0)",
     "line 9"},
    {"lane_gone", "if (t == 9) return;\nmma(d, a, b);", "warp operation at", "lane 9 has ended"},
    {"not_shared", "ldmatrix(a, g.a, 0);", "ldmatrix at not_shared.cu:8", "not in shared memory"},
    {"shared_after_all", "wmma_load(&f, s, 16, 0, 0, 0);", "wmma_load at shared_after_all.cu:8",
     "that is in shared memory"},
    {"crooked_row", FILL "__syncthreads();\nldmatrix(a, &s[8 * t + 2], 0);", "misaligned access at",
     "reads 16 bytes at an address 4 bytes past a multiple of 16"},
    {"never_written",
     "for (int i = t; i < 256; i += 32) if (i != 77) s[i] = 1;\n__syncthreads();\n"
     "ldmatrix(a, &s[8 * t], 0);",
     "uninitialised shared memory at never_written.cu:10", "thread 9 of block (0,0) reads 16 bytes"},
    {"too_soon", FILL "\nldmatrix(a, &s[8 * t], 0);", "shared-memory race at", "no barrier between"},
    {"mma_orders_nothing", FILL "\nmma(d, a, b);\nldmatrix(a, &s[8 * t], 0);", "shared-memory race at",
     "no barrier between"},
    {"in_flight",
     "cp_async(&s[8 * t], &g.a[t % 16 * g.lda], 16, 1); cp_commit();\nldmatrix(a, &s[8 * t], 0);",
     "shared memory in flight at in_flight.cu:9", "cp_async of thread 0 at line 8"},
    {"written_under_it", FILL "__syncthreads();\nldmatrix(a, &s[8 * t], 0);\ns[8 * t + 8] = 2;",
     "shared-memory race at", "read at line 9"},
    {"crooked_matrix", FILL "__syncthreads();\nwmma_load(&f, s + 4, 16, 0, 0, 1);", "misaligned matrix at",
     "8 bytes past a multiple of 16"},
    {"crooked_lines", FILL "__syncthreads();\nwmma_load(&f, s, 20, 0, 0, 1);", "misaligned matrix at",
     "rows 40 bytes apart"},
    {"past_a", "wmma_load(&f, g.a + 8 * g.lda, (int)g.lda, 0, 0, 0);", "out of bounds at",
     "past the end of A"},
    {"two_matrices", FILL "__syncthreads();\nwmma_load(&f, s + t / 16 * 256, 16, 0, 0, 1);",
     "warp operation at", "gives another address"},
    {"read_at_once", "wmma_store(sums, &w, 16);\nif (sums[t ^ 1] == 5) g.c[0] = 1;", "shared-memory race at",
     "wrote at line 8"},
    {"too_much", "cp_async_part(&s[8 * t], g.a, 16, 20);", "cp_async at", "said to be present"},
    {"past_the_row", "cp_async_part(&s[8 * t], &g.b[15 * g.ldb + 8], 16, 12);", "out of bounds at",
     "reads 12 bytes B[15][8]"},
    {"behind_the_barrier",
     "cp_async_part(&s[8 * t], &g.a[t % 16 * g.lda], 16, 6); cp_commit(); cp_wait(0);\n__syncthreads();\n"
     "ldmatrix(a, &s[8 * t], 0);\nmma(d, a, b);",
     NULL, NULL},
    {"reads_nothing",
     "cp_async_part(&s[8 * t], g.a - 1000, 16, 0); cp_commit(); cp_wait(0);\n"
     "__syncthreads(); if (s[t] != 0) g.c[-1] = 1;",
     NULL, NULL},
    {"part_and_zeros",
     "cp_async_part(&s[8 * t], &g.b[15 * g.ldb + 8], 16, 10); cp_commit(); cp_wait(0);\n"
     "for (int i = 0; i < 8; i++) if ((s[8 * t + i] != 0) != (i < 5)) g.c[-1] = 1;",
     NULL, NULL},
};

enum { M = 16, N = 13, K = 32, LDB = 24 };

static tess_status run_kernel(tess_context *ctx, const char *path) {
    enum { EACH = 4096 };
    char *block = aligned_alloc(256, 3 * EACH);
    if (!CHECK(block != NULL, "no memory")) return TESS_ERROR_MEMORY;
    tess_matrix A = tess_view_row_major(TESS_BF16, M, K, block, K),
                B = tess_view_row_major(TESS_BF16, K, N, block + EACH, LDB),
                C = tess_view_row_major(TESS_F32, M, N, block + 2 * EACH, 16);
    tess_fill(&A, TESS_FILL_VALUE, 1, 0);
    tess_fill(&B, TESS_FILL_VALUE, 1, 0);
    tess_options options = {.kernel = path};
    tess_status status = tess_gemm(ctx, 1, &A, &B, 0, &C, &options);
    free(block);
    return status;
}

static void try_fault(tess_context *ctx, const scratch *dir, const fault *f, int threads) {
    char name[80], path[200], text[2000];
    int used = snprintf(text, sizeof text, head, f->name, threads, f->name, parts);
    snprintf(text + used, sizeof text - (size_t)used, "%s%s", f->body, tail);
    snprintf(name, sizeof name, "%s.cu", f->name);
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    scratch_write(dir, name, text, strlen(text));
    tess_status status = run_kernel(ctx, path);
    const char *said = status == TESS_OK ? "nothing" : tess_error(ctx);
    CHECK(status == (f->expect ? TESS_ERROR_DEVICE : TESS_OK), "%s: %s, and was said: %s", f->name,
          tess_status_name(status), said);
    if (f->expect)
        CHECK(strstr(said, f->expect) && strstr(said, f->expect2), "%s: \"%s\" and \"%s\" not in: %s",
              f->name, f->expect, f->expect2, said);
}

TEST(sim_tensor_faults_are_named) {
    scratch dir;
    tess_context *ctx;
    if (tess_open(&ctx, "sim:checked") != TESS_OK) {
        harness_skip("checks of the simulator: %s", tess_error(NULL));
        return;
    }
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (harness_tier() != TIER_SHORT || i % 4 == 0) try_fault(ctx, &dir, &faults[i], 32);
    scratch_leave(&dir);
    tess_close(ctx);
}

/* Without the checks too: there is nothing that could be done with half a warp. */
TEST(sim_tensor_needs_whole_warps) {
    static const fault halves[] = {{"half_a_warp", "mma(d, a, b);",
                                    "warp operation at line 8:", "lane 16 of its warp is not there"},
                                   {"two_ways", "if (t % 32 < 16)\nmma(d, a, b);\nelse\nldmatrix(a, s, 0);",
                                    "warp operation at line ", "comes to another one"},
                                   {"with_shuffle",
                                    "if (t % 32 < 16)\nmma(d, a, b);\nelse\nt += shuffle_down(t, 1);",
                                    "warp operation at line ", "comes to another one"}};
    scratch dir;
    tess_context *ctx;
    if (!CHECK_STATUS(tess_open(&ctx, "sim"), TESS_OK, NULL)) return;
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    for (int i = 0; i < 3; i++) try_fault(ctx, &dir, &halves[i], i == 0 ? 48 : 64);
    scratch_leave(&dir);
    tess_close(ctx);
}
