/* sim_faults.c: each thing a kernel must not do, done on purpose by a small kernel, is found: with its name,
 * the thread, the line, and C left as it was. What only looks like a fault passes. */
#include "harness.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of 32 threads for one C of at most 32×32, and what must be said of it. */
typedef struct fault {
    const char *name;
    const char *body;    /* `g` is the product, `t` the thread; line 8 is its first */
    const char *expect;  /* a part of the sentence; NULL: it passes */
    const char *expect2; /* another; NULL: none */
} fault;

static const char head[] = "/* %s: a kernel that does one thing\n"
                           " * block: 32, 1\n"
                           " * tile: 32, 32\n"
                           " * shared: 256\n"
                           " */\n"
                           "VECTOR_TYPE(four, float, 4);\n"
                           "KERNEL(32) %s(gemm whole) { gemm g = begin(whole); int t = threadIdx.x;\n";
static const char tail[] =
    "\nfor (int i = t; i < g.m * g.n; i += 32) g.c[i / g.n * g.ldc + i % g.n] = 0;\n}\n";

static const fault faults[] = {
    {"races", "__shared__ float s[32]; s[t] = 1;\nfloat x = s[t ^ 1];\nif (x == 5) g.c[0] = 1;",
     "shared-memory race at races.cu:8", "line 9"},
    {"two_writers",
     "__shared__ float s[32];\ns[t / 2] = (float)t;\n__syncthreads(); if (s[0] == 5) g.c[0] = 1;",
     "shared-memory race at", ".cu:9"},
    {"early_reader", "__shared__ float s[32]; if (g.m == 99) s[t] = 1;\nif (s[0] == 5) g.c[0] = 1;",
     "uninitialised shared memory at", ".cu:9: thread 0 of block (0,0)"},
    {"divergent", "if (t < 7)\n__syncthreads();\nelse\n__syncthreads();", "divergent barrier at", ".cu:9"},
    {"gone", "if (t == 3) return;\n__syncthreads();", "divergent barrier at", "thread 3 has ended"},
    {"stuck", "if (t < 16)\n__syncthreads();\nelse\n__syncwarp();", "deadlock in block (0,0)", "line 9"},
    {"lane_gone", "if (t == 9) return;\nif (shuffle_down(t, 1) == 77) g.c[0] = 1;", "warp operation at",
     "lane 9 has ended"},
    {"not_named", "__syncwarp(0x00ffffffu);", "warp operation at", "lane 24 calls it without being named"},
    {"crooked", "four v = *(const four *)&g.a[1];\nif (v.at[0] == 99) g.c[0] = 1;", "misaligned access at",
     "4 bytes past a multiple of 16"},
    {"past_a", "if (g.a[g.m * g.lda] == 99) g.c[0] = 1;", "out of bounds at", "past the end of A"},
    {"before_b", "if (g.b[-1] == 99) g.c[0] = 1;", "out of bounds at", "before B"},
    {"between_rows", "if (g.a[g.k] == 99) g.c[0] = 1;", "out of bounds at", "between the rows of A"},
    {"writes_a", "((float *)g.a)[0] = 1;", "write to an input at", ".cu:8"},
    {"outside_c", "g.c[g.m * g.ldc] = 1;", "out of bounds at", "outside C"},
    {"reads_c", "if (g.c[0] == 99) g.c[1] = 1;", "uninitialised global memory at", "though beta is 0"},
    {"index",
     "__shared__ float s[8]; for (int i = 0; i <= 8; i++)\ns[i % (8 + (g.m > 0))] = 1;\nif (s[t % 8] == 5) "
     "g.c[0] = 1;",
     "out of bounds at", "index 8"},
    {"twice", "g.c[0] = 1;", "global-memory race at", "C[0][0]"},
    {"no_wait",
     "DYNAMIC_SHARED(float, s);\ncp_async(&s[t], &g.a[t % 4], 4, 1); cp_commit();\nif (s[t] == 99) g.c[0] = "
     "1;",
     "shared memory in flight at", "cp_async of thread 0 at line 9"},
    {"wrong_target", "float x = 0;\ncp_async(&x, g.a, 4, 1); cp_commit(); cp_wait(0);", "cp_async at",
     "not shared"},
    {"past_copy", "DYNAMIC_SHARED(float, s);\ncp_async(&s[t], &g.a[g.m * g.lda], 4, 1);", "out of bounds at",
     "past the end of A"},
    {"lazy", "g.m = 0;", "C[0][0]", "was written by no thread"},
    {"careful",
     "__shared__ float s[32]; s[t] = 1;\n__syncwarp();\nfloat x = s[t ^ 1];\nif (x == 5) g.c[0] = 1;", NULL,
     NULL},
    {"waits",
     "DYNAMIC_SHARED(float, s);\ncp_async(&s[t], &g.a[t % 4], 4, t % 2); cp_commit(); cp_wait(0);\n"
     "__syncthreads(); if (s[t ^ 1] == 99) g.c[0] = 1;",
     NULL, NULL},
    {"bytes", "__shared__ char s[32]; s[t] = 1;\n__syncthreads();\nif (s[t ^ 1] == 5) g.c[0] = 1;", NULL,
     NULL},
    {"own_memory",
     "float mine[40]; for (int i = 0; i < 40; i++) mine[i] = g.a[i % 4];\n"
     "if (mine[(int)g.a[0] & 7] == 99) g.c[0] = 1;",
     NULL, NULL},
};

enum { M = 5, N = 6, K = 7, LD = 10 };

/* A product of the kernel in `path` with padded rows, and whether C and what lies around it was left alone.
 */
static tess_status run_kernel(tess_context *ctx, const char *path, int *untouched) {
    float *a = test_alloc(sizeof(float) * M * LD), *b = test_alloc(sizeof(float) * K * LD),
          *c = test_alloc(sizeof(float) * M * LD);
    for (int i = 0; i < K * LD; i++) b[i] = 1;
    for (int i = 0; i < M * LD; i++) a[i] = 2, c[i] = 3;
    tess_matrix A = tess_view_row_major(TESS_F32, M, K, a, LD),
                B = tess_view_row_major(TESS_F32, K, N, b, LD),
                C = tess_view_row_major(TESS_F32, M, N, c, LD);
    tess_options options = {.kernel = path};
    tess_status status = tess_gemm(ctx, 1, &A, &B, 0, &C, &options);
    *untouched = 1;
    for (int i = 0; i < M * LD; i++) *untouched &= c[i] == 3;
    free(a), free(b), free(c);
    return status;
}

static void write_kernel(const scratch *dir, const fault *f, char path[200]) {
    char name[80], text[2000];
    int used = snprintf(text, sizeof text, head, f->name, f->name);
    snprintf(text + used, sizeof text - (size_t)used, "%s%s", f->body, tail);
    snprintf(name, sizeof name, "%s.cu", f->name);
    snprintf(path, 200, "%s/%s", dir->path, name);
    scratch_write(dir, name, text, strlen(text));
}

static void try_fault(tess_context *ctx, const scratch *dir, const fault *f) {
    char path[200];
    int untouched;
    write_kernel(dir, f, path);
    tess_status status = run_kernel(ctx, path, &untouched);
    const char *said = status == TESS_OK ? "nothing" : tess_error(ctx);
    if (!f->expect) {
        CHECK(status == TESS_OK, "%s is right, but: %s", f->name, said);
        return;
    }
    CHECK(status == TESS_ERROR_DEVICE, "%s: %s, and was said: %s", f->name, tess_status_name(status), said);
    CHECK(strstr(said, f->expect) && (!f->expect2 || strstr(said, f->expect2)),
          "%s: \"%s\" and \"%s\" not in: %s", f->name, f->expect, f->expect2 ? f->expect2 : "", said);
    CHECK(untouched, "%s: C was changed though the call failed", f->name);
}

TEST(sim_faults_are_named) {
    scratch dir;
    tess_context *ctx;
    if (tess_open(&ctx, "sim:checked") != TESS_OK) {
        harness_skip("checks of the simulator: %s", tess_error(NULL));
        return;
    }
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) try_fault(ctx, &dir, &faults[i]);
    scratch_leave(&dir);
    tess_close(ctx);
}

/* Memory that tess_alloc gave and nobody has filled. */
TEST(sim_reads_of_nothing_are_named) {
    tess_context *ctx;
    void *a, *b, *c;
    if (tess_open(&ctx, "sim:checked") != TESS_OK) {
        harness_skip("checks of the simulator: %s", tess_error(NULL));
        return;
    }
    const float ones[64] = {1};
    CHECK_STATUS(tess_alloc(ctx, sizeof ones, &a), TESS_OK, ctx);
    CHECK_STATUS(tess_alloc(ctx, sizeof ones, &b), TESS_OK, ctx);
    CHECK_STATUS(tess_alloc(ctx, sizeof ones, &c), TESS_OK, ctx);
    tess_matrix A = tess_view_row_major(TESS_F32, 8, 8, a, 8), B = tess_view_row_major(TESS_F32, 8, 8, b, 8),
                C = tess_view_row_major(TESS_F32, 8, 8, c, 8);
    A.place = B.place = C.place = TESS_DEVICE;
    tess_copy(ctx, a, ones, sizeof ones);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL), TESS_ERROR_DEVICE, ctx);
    CHECK(strstr(tess_error(ctx), "reads B[0][0]") && strstr(tess_error(ctx), "never been written"), "%s",
          tess_error(ctx));
    tess_copy(ctx, b, ones, sizeof ones);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 1, &C, NULL), TESS_ERROR_DEVICE, ctx);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, NULL), TESS_OK, ctx);
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 1, &C, NULL), TESS_OK, ctx);
    tess_free(ctx, a), tess_free(ctx, b), tess_free(ctx, c);
    tess_close(ctx);
}

/* A file that is no kernel says what it lacks; one that does not compile, what the compiler said. */
TEST(sim_bad_files_are_refused) {
    static const fault wrong = {"wrong", "this is no C;", NULL, NULL};
    static const fault large = {"large", "__shared__ float s[13000]; s[t] = 1; g.c[0] = s[g.m];", NULL, NULL};
    static const fault deep = {"deep",
                               "float x[30000]; for (int i = 0; i < 30000; i++) x[i] = g.a[i % 4];\n"
                               "g.c[0] = x[(int)g.a[0]];",
                               NULL, NULL};
    static const fault stuck = {"stuck", "if (t < 16)\n__syncthreads();\nelse\n__syncwarp();", NULL, NULL};
    static const char bare[] = "/* bare: says nothing of itself\n */\nKERNEL(32) bare(gemm g) {}\n";
    scratch dir;
    char path[200], name[80];
    int untouched;
    tess_context *ctx;
    if (tess_open(&ctx, "sim") != TESS_OK) return;
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    write_kernel(&dir, &wrong, path);
    CHECK_STATUS(run_kernel(ctx, path, &untouched), TESS_ERROR_KERNEL, ctx);
    CHECK(strstr(tess_error(ctx), "wrong.cu:8"), "the line is not named: %s", tess_error(ctx));
    write_kernel(&dir, &large, path);
    CHECK_STATUS(run_kernel(ctx, path, &untouched), TESS_ERROR_KERNEL, ctx);
    CHECK(strstr(tess_error(ctx), "52000 bytes of __shared__ variables"), "%s", tess_error(ctx));
    scratch_write(&dir, "bare.cu", bare, strlen(bare));
    snprintf(path, sizeof path, "%s/bare.cu", dir.path);
    CHECK_STATUS(run_kernel(ctx, path, &untouched), TESS_ERROR_KERNEL, ctx);
    CHECK(strstr(tess_error(ctx), "does not say how it is launched"), "%s", tess_error(ctx));
    write_kernel(&dir, &deep, path);
    CHECK_STATUS(run_kernel(ctx, path, &untouched), TESS_ERROR_KERNEL, ctx);
    CHECK(strstr(tess_error(ctx), "frame size"), "%s", tess_error(ctx));
    write_kernel(&dir, &stuck, path); /* noticed without the checks too: it would never end */
    CHECK_STATUS(run_kernel(ctx, path, &untouched), TESS_ERROR_DEVICE, ctx);
    CHECK(strstr(tess_error(ctx), "deadlock in block (0,0)"), "%s", tess_error(ctx));
    snprintf(name, sizeof name, "%s/none.cu", dir.path);
    CHECK_STATUS(run_kernel(ctx, name, &untouched), TESS_ERROR_KERNEL, ctx);
    scratch_leave(&dir);
    tess_close(ctx);
}

/* Shuffles and votes give what CUDA says they give. */
TEST(sim_warp_operations) {
    static const char text[] =
        "/* lanes: every lane writes what the warp told it\n * block: 32, 1\n * tile: 32, 32\n */\n"
        "KERNEL(32) lanes(gemm whole) { gemm g = begin(whole); int t = threadIdx.x; unsigned all = "
        "0xffffffffu;\n"
        "g.c[t] = (float)__shfl_sync(all, t, 5);\n"
        "g.c[32 + t] = (float)__shfl_up_sync(all, t, 3);\n"
        "g.c[64 + t] = (float)__shfl_down_sync(all, t, 3);\n"
        "g.c[96 + t] = __shfl_xor_sync(all, (float)t, 7);\n"
        "g.c[128 + t] = (float)__builtin_popcount(__ballot_sync(all, t % 3 == 0));\n"
        "g.c[160 + t] = (float)(__any_sync(all, t == 9) * 2 + __all_sync(all, t >= 0));\n"
        "if (t < 8) { double d = __shfl_down_sync(0xffu, (double)t, 1); g.c[192 + t] = (float)d; }\n"
        "else g.c[192 + t] = -1;\n}\n";
    scratch dir;
    char path[200];
    tess_context *ctx;
    float one[32 * 7] = {0}, c[32 * 7];
    if (tess_open(&ctx, "sim") != TESS_OK) return;
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    scratch_write(&dir, "lanes.cu", text, strlen(text));
    snprintf(path, sizeof path, "%s/lanes.cu", dir.path);
    tess_matrix A = tess_view_row_major(TESS_F32, 7, 1, one, 1),
                B = tess_view_row_major(TESS_F32, 1, 32, one, 32),
                C = tess_view_row_major(TESS_F32, 7, 32, c, 32);
    tess_options options = {.kernel = path};
    CHECK_STATUS(tess_gemm(ctx, 1, &A, &B, 0, &C, &options), TESS_OK, ctx);
    for (int t = 0; t < 32; t++) {
        CHECK(c[t] == 5, "shfl of lane %d is %g", t, (double)c[t]);
        CHECK(c[32 + t] == (float)(t < 3 ? t : t - 3), "shfl_up of lane %d is %g", t, (double)c[32 + t]);
        CHECK(c[64 + t] == (float)(t > 28 ? t : t + 3), "shfl_down of lane %d is %g", t, (double)c[64 + t]);
        CHECK(c[96 + t] == (float)(t ^ 7), "shfl_xor of lane %d is %g", t, (double)c[96 + t]);
        CHECK(c[128 + t] == 11, "ballot of lane %d has %g lanes", t, (double)c[128 + t]);
        CHECK(c[160 + t] == 3, "any and all of lane %d are %g", t, (double)c[160 + t]);
    }
    for (int t = 0; t < 7; t++)
        CHECK(c[192 + t] == (float)(t + 1), "lane %d of eight got %g", t, (double)c[192 + t]);
    scratch_leave(&dir);
    tess_close(ctx);
}
