/* sim_tensor.c: what kernels/tensor.h promises of lanes, on the simulator: fragments of mma lie as its
 * comment says, ldmatrix hands out rows and columns, wmma takes both orders of A and B from both memories,
 * and lanes that do not act together are found. The kernels here spread and collect elements themselves. */
#include "harness.h"
#include "oracle.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Kernels ---- */

/* 16×8 sums: every lane picks the bytes of its fragments one by one. */
static const char mma_kernel[] =
    "/* lanes_mma: one mma\n * block: 32, 1\n * tile: 16, 8\n * types: f16:f32 bf16:f32 i8:i32 f32\n */\n"
    "#include \"tensor.h\"\n"
    "KERNEL(32) lanes_mma(gemm whole) {\n"
    "    gemm g = begin(whole);\n"
    "    int lane = threadIdx.x, group = lane / 4, quad = lane % 4, size = sizeof(in_t), per = 4 / size;\n"
    "    unsigned a[4], b[2];\n"
    "    acc_t d[4] = {0, 0, 0, 0};\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        for (int j = 0; j < per; j++)\n"
    "            ((in_t *)&a[i])[j] = g.a[(group + i % 2 * 8) * g.lda + (4 * quad + i / 2 * 16) / size + "
    "j];\n"
    "    for (int i = 0; i < 2; i++)\n"
    "        for (int j = 0; j < per; j++)\n"
    "            ((in_t *)&b[i])[j] = g.b[((4 * quad + i * 16) / size + j) * g.ldb + group];\n"
    "    mma_round(a, 4);\n"
    "    mma_round(b, 2);\n"
    "    mma(d, a, b);\n"
    "    for (int i = 0; i < 4; i++) g.c[(group + i / 2 * 8) * g.ldc + 2 * quad + i % 2] = d[i];\n"
    "}\n";

/* Row i of A is 16 bytes; lane `lane` names row (7*lane) % 32 of them, and its 4 words are column `lane` of
 * C. */
static const char ldmatrix_kernel[] =
    "/* lanes_ldmatrix: one ldmatrix\n * block: 32, 1\n * tile: 4, 32\n * types: i32\n */\n"
    "#ifndef TURNED\n#define TURNED 0 /* 1: matrices are transposed */\n#endif\n"
    "#include \"tensor.h\"\n"
    "KERNEL(32) lanes_ldmatrix(gemm whole) {\n"
    "    __shared__ ALIGNED(16) int rows[32][4];\n"
    "    gemm g = begin(whole);\n"
    "    int lane = threadIdx.x;\n"
    "    unsigned to[4];\n"
    "    for (int i = 0; i < 4; i++) rows[lane][i] = g.b[i * g.ldb + lane];\n"
    "    __syncthreads();\n"
    "    ldmatrix(to, rows[7 * lane % 32], TURNED);\n"
    "    for (int i = 0; i < 4; i++) g.c[i * g.ldc + lane] = (int)to[i];\n"
    "}\n";

/* 16×16 sums of A and B, taken as their elements follow each other in memory, in the orders and from the
 * memory that the product's number in the batch says. */
static const char wmma_kernel[] =
    "/* lanes_wmma: products of wmma\n * block: 32, 1\n * tile: 16, 16\n"
    " * types: f16:f32 bf16:f32 i8:i32 f32\n */\n"
    "#include \"tensor.h\"\n"
    "#define TRY(at, bt, staged) if (blockIdx.z == at + 2 * bt + 4 * staged) { \\\n"
    "    wmma_load(&a, staged ? as : g.a, at ? 16 : WMMA_K, 0, at, staged); \\\n"
    "    wmma_load(&b, staged ? bs : g.b, bt ? WMMA_K : 16, 1, bt, staged); \\\n"
    "    wmma_multiply(&d, &a, &b, at, bt); }\n"
    "KERNEL(32) lanes_wmma(gemm whole) {\n"
    "    __shared__ ALIGNED(32) in_t as[256], bs[256];\n"
    "    __shared__ ALIGNED(32) acc_t sums[16 * 20];\n"
    "    gemm g = begin(whole);\n"
    "    wmma_part a, b;\n"
    "    wmma_sums d;\n"
    "    for (int i = 0; i < 8; i++) d.x[i] = 1;\n"
    "    for (int i = threadIdx.x; i < 16 * WMMA_K; i += 32) as[i] = g.a[i], bs[i] = g.b[i];\n"
    "    __syncthreads();\n"
    "    TRY(0, 0, 0) TRY(1, 0, 0) TRY(0, 1, 0) TRY(1, 1, 0)\n"
    "    TRY(0, 0, 1) TRY(1, 0, 1) TRY(0, 1, 1) TRY(1, 1, 1)\n"
    "    wmma_store(sums, &d, 20);\n"
    "    __syncthreads();\n"
    "    for (int i = threadIdx.x; i < 256; i += 32)\n"
    "        g.c[i / 16 * g.ldc + i % 16] = sums[i / 16 * 20 + i % 16];\n"
    "}\n";

/* ---- Products ---- */

static const struct {
    const char *name;
    tess_type in, out;
    int mma_k, wmma_k;
} types[] = {{"f16", TESS_F16, TESS_F32, 16, 16},
             {"bf16", TESS_BF16, TESS_F32, 16, 16},
             {"i8", TESS_I8, TESS_I32, 32, 16},
             {"tf32", TESS_F32, TESS_F32, 8, 8}};
enum { TYPES = sizeof types / sizeof *types };

/* Small matrices on addresses that any instruction takes. */
typedef struct operands_of_test {
    char *block;
    tess_matrix A, B, C;
} operands_of_test;

static void fill(const tess_matrix *M, int most) {
    for (int64_t row = 0; row < M->rows; row++)
        for (int64_t col = 0; col < M->cols; col++)
            oracle_set(M, row, col, (double)rng_range(test_random(), -most, most));
}

static operands_of_test make_operands(tess_type in, tess_type out, int64_t m, int64_t n, int64_t k) {
    enum { EACH = 8192 };
    operands_of_test o = {.block = aligned_alloc(256, 3 * EACH)};
    if (!CHECK(o.block != NULL, "no memory")) exit(1);
    memset(o.block, 0, 3 * EACH);
    o.A = tess_view_row_major(in, m, k, o.block, k);
    o.B = tess_view_row_major(in, k, n, o.block + EACH, n);
    o.C = tess_view_row_major(out, m, n, o.block + 2 * EACH, n);
    fill(&o.A, 9);
    fill(&o.B, 9);
    return o;
}

static const tess_batch one = {1, 0, 0, 0};
static const char *const devices[] = {"sim", "sim:checked"};

/* Runs on one device; returns 0 if that is not here. */
static int run(const char *device, const scratch *dir, const char *kernel, const tess_batch *batch,
               const char *params, const operands_of_test *o) {
    char path[200];
    tess_context *ctx;
    if (tess_open(&ctx, device) != TESS_OK) {
        harness_skip("%s: %s", device, tess_error(NULL));
        return 0;
    }
    snprintf(path, sizeof path, "%s/%s.cu", dir->path, kernel);
    tess_options options = {.kernel = path, .params = params};
    if (o->A.type == TESS_F32) options.compute = TESS_COMPUTE_TF32;
    int good = CHECK_STATUS(tess_gemm_batched(ctx, 1, &o->A, &o->B, 0, &o->C, batch, &options), TESS_OK, ctx);
    tess_close(ctx);
    return good;
}

TEST(tensor_lanes_of_mma_are_those_of_the_hardware) {
    scratch dir;
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    scratch_write(&dir, "lanes_mma.cu", mma_kernel, strlen(mma_kernel));
    for (int t = 0; t < TYPES; t++)
        for (int d = 0; d < 2; d++) {
            operands_of_test o = make_operands(types[t].in, types[t].out, 16, 8, types[t].mma_k);
            oracle_product p = {.alpha = 1, .A = o.A, .B = o.B, .C0 = o.C, .C = o.C, .exact = 1};
            if (run(devices[d], &dir, "lanes_mma", &one, NULL, &o)) {
                oracle_verdict v = oracle_check(&p);
                CHECK(v.wrong == 0, "%s on %s: %d wrong; [%d][%d] is %g, not %g", types[t].name, devices[d],
                      (int)v.wrong, (int)v.row, (int)v.col, v.got, v.want);
            }
            free(o.block);
        }
    scratch_leave(&dir);
}

TEST(tensor_ldmatrix_gives_rows_and_columns) {
    scratch dir;
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    scratch_write(&dir, "lanes_ldmatrix.cu", ldmatrix_kernel, strlen(ldmatrix_kernel));
    for (int turned = 0; turned < 2; turned++)
        for (int d = 0; d < 2; d++) {
            operands_of_test o = make_operands(TESS_I32, TESS_I32, 4, 32, 4);
            uint16_t halves[32][8];
            for (int i = 0; i < 128; i++) ((int32_t *)o.B.data)[i] = (int32_t)rng_bits(test_random());
            for (int row = 0; row < 32; row++)
                for (int i = 0; i < 8; i++)
                    halves[row][i] = ((const uint16_t *)o.B.data)[(i / 2 * 32 + row) * 2 + i % 2];
            if (!run(devices[d], &dir, "lanes_ldmatrix", &one, turned ? "TURNED=1" : "TURNED=0", &o))
                continue;
            for (int i = 0; i < 4; i++)
                for (int lane = 0; lane < 32; lane++) {
                    int group = lane / 4, quad = lane % 4;
                    uint16_t got[2];
                    memcpy(got, (const int32_t *)o.C.data + i * 32 + lane, 4);
                    for (int j = 0; j < 2; j++) {
                        int row = turned ? 2 * quad + j : group, at = turned ? group : 2 * quad + j;
                        CHECK(got[j] == halves[7 * (8 * i + row) % 32][at],
                              "turned %d on %s: element %d of word %d of lane %d is %04x", turned, devices[d],
                              j, i, lane, got[j]);
                    }
                }
            free(o.block);
        }
    scratch_leave(&dir);
}

/* Product `way` of the batch, as the kernel reads A and B. */
static void check_wmma(int t, const operands_of_test *o, int way, const char *device) {
    int at = way & 1, bt = way >> 1 & 1, k = types[t].wmma_k;
    double ones[256];
    oracle_product p = {.alpha = 1, .beta = 1, .A = o->A, .B = o->B, .C = o->C, .exact = 1};
    if (at) p.A = tess_view_col_major(types[t].in, 16, k, o->A.data, 16);
    if (bt) p.B = tess_view_col_major(types[t].in, k, 16, o->B.data, k);
    for (int i = 0; i < 256; i++) ones[i] = 1;
    p.C0 = tess_view_row_major(TESS_F64, 16, 16, ones, 16);
    p.C.data = (char *)o->C.data + 1024 * way;
    oracle_verdict v = oracle_check(&p);
    CHECK(v.wrong == 0, "%s, A %s, B %s, %s memory, on %s: %d wrong; [%d][%d] is %g, not %g", types[t].name,
          at ? "turned" : "straight", bt ? "turned" : "straight", way & 4 ? "shared" : "global", device,
          (int)v.wrong, (int)v.row, (int)v.col, v.got, v.want);
}

TEST(tensor_wmma_takes_every_order_from_both_memories) {
    scratch dir;
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    scratch_write(&dir, "lanes_wmma.cu", wmma_kernel, strlen(wmma_kernel));
    for (int t = 0; t < TYPES; t++)
        for (int d = 0; d < 2; d++) {
            operands_of_test o = make_operands(types[t].in, types[t].out, 16, 16, types[t].wmma_k);
            if (run(devices[d], &dir, "lanes_wmma", &(tess_batch){8, 0, 0, 256}, NULL, &o))
                for (int way = 0; way < 8; way++) check_wmma(t, &o, way, devices[d]);
            free(o.block);
        }
    scratch_leave(&dir);
}
