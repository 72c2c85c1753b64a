/* unit_tensor_sass.c: what the simulator charges for wmma, ldmatrix and mma against the code that NVRTC makes
 * of the same kernel: as many instructions of each kind. No GPU is needed, but NVRTC is: without it this is
 * skipped, unless TESSERA_REQUIRE_NVRTC is set. */
#include "harness.h"
#include "unit_sass.h"
#include "scratch.h"

#include <stdio.h>
#include <string.h>

#include "../src/cuda/jit.h"
#include "../src/registry.h"

/* One warp, one product, no loops: A and B from global or from shared memory, the sums by way of shared
 * memory. */
static const char kernel_text[] =
    "/* sass_wmma: one product of wmma\n * block: 32, 1\n * tile: 16, 16\n"
    " * types: f16:f32 bf16:f32 i8:i32 f32\n */\n"
    "#ifndef AT\n#define AT 0 /* 1: A lies in columns */\n#endif\n"
    "#ifndef BT\n#define BT 0 /* 1: B lies in columns */\n#endif\n"
    "#ifndef STAGED\n#define STAGED 0 /* 1: both come from shared memory; 2: by ldmatrix */\n#endif\n"
    "#include \"tensor.h\"\n"
    "VECTOR_TYPE(four, int, 4);\n"
    "KERNEL(32) sass_wmma(gemm whole) {\n"
    "    __shared__ ALIGNED(32) in_t as[512 / sizeof(in_t)], bs[512 / sizeof(in_t)];\n"
    "    __shared__ ALIGNED(32) acc_t sums[256];\n"
    "    gemm g = begin(whole);\n"
    "    int t = threadIdx.x;\n"
    "    four v = {{t, 0, 0, t}};\n"
    "    wmma_part a, b;\n"
    "    wmma_sums d;\n"
    "    for (int i = 0; i < 8; i++) d.x[i] = 0;\n"
    "    if (STAGED) ((four *)as)[t] = v, ((four *)bs)[t] = v;\n"
    "    __syncthreads();\n"
    "    if (STAGED == 2) {\n"
    "        unsigned x[4], y[4];\n"
    "        ldmatrix(x, (char *)as + t * 16, 0);\n"
    "        ldmatrix(y, (char *)bs + t * 16, BT);\n"
    "        mma(d.x, x, y);\n"
    "        mma(d.x + 4, x, y + 2);\n"
    "    } else {\n"
    "        wmma_load(&a, STAGED ? as : g.a, AT ? 16 : WMMA_K, 0, AT, STAGED);\n"
    "        wmma_load(&b, STAGED ? bs : g.b, BT ? WMMA_K : 16, 1, BT, STAGED);\n"
    "        wmma_multiply(&d, &a, &b, AT, BT);\n"
    "    }\n"
    "    wmma_store(sums, &d, 16);\n"
    "    __syncthreads();\n"
    "    g.c[t] = sums[t ^ 7];\n"
    "}\n";

/* ---- Code ---- */

typedef struct tally {
    int global_loads, shared_loads, shared_stores, products;
} tally;

static tally count_code(const jit_code *code) {
    const void *at = code->image;
    return (tally){.global_loads =
                       sass_count(at, code->size, SASS_LDG) + sass_count(at, code->size, SASS_LDG_UNIFORM),
                   .shared_loads =
                       sass_count(at, code->size, SASS_LDS) + sass_count(at, code->size, SASS_LDSM),
                   .shared_stores =
                       sass_count(at, code->size, SASS_STS) + sass_count(at, code->size, SASS_STS_UNIFORM),
                   .products = sass_count(at, code->size, SASS_HMMA) + sass_count(at, code->size, SASS_IMMA)};
}

/* ---- The comparison ---- */

static int count_simulated(const char *path, const char *params, tess_type in, tess_type out, tally *sum) {
    tess_context *ctx;
    tess_plan *plan = NULL;
    tess_counters c;
    tess_options options = {.kernel = path, .params = params};
    int64_t k = in == TESS_F32 ? 8 : 16;
    tess_matrix A = tess_view_row_major(in, 16, k, NULL, 0), B = tess_view_row_major(in, k, 16, NULL, 0),
                C = tess_view_row_major(out, 16, 16, NULL, 0);
    if (!CHECK_STATUS(tess_open(&ctx, "sim"), TESS_OK, NULL)) return 0;
    int good = CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan), TESS_OK, ctx) &&
               CHECK_STATUS(tess_count(plan, TESS_COUNT_COMPILED, &c, NULL, NULL), TESS_OK, ctx);
    if (good)
        *sum = (tally){(int)c.global_load_requests, (int)c.shared_load_instructions,
                       (int)c.shared_store_instructions, (int)c.mma_instructions};
    tess_free_plan(plan);
    tess_close(ctx);
    return good;
}

static void compare(const char *path, const char *text, tess_type in, tess_type out, int architecture) {
    int64_t params[REGISTRY_PARAMS];
    sentence why;
    jit_code code;
    tally has;
    const kernel_row *row = registry_find("gpu", path, &why);
    if (!CHECK(row != NULL, "%s", why.text)) return;
    registry_defaults(row, in, params);
    jit_request request = {.file = path,
                           .type = jit_type_macro(in, out),
                           .row = row,
                           .params = params,
                           .architecture = architecture};
    if (!CHECK(registry_parse_params(row, text, params, &why) == TESS_OK &&
                   jit_compile(&request, &code, &why) == TESS_OK,
               "%s", why.text))
        return;
    tally want = count_code(&code);
    jit_free(&code);
    if (!count_simulated(path, text, in, out, &has)) return;
    CHECK(memcmp(&has, &want, sizeof has) == 0,
          "%s %s: %d global loads, %d shared loads, %d shared stores, %d products; in the code of sm_%d %d, "
          "%d, %d, "
          "%d",
          tess_type_name(in), text, has.global_loads, has.shared_loads, has.shared_stores, has.products,
          architecture, want.global_loads, want.shared_loads, want.shared_stores, want.products);
}

TEST(tensor_instructions_are_those_of_the_code) {
    static const struct {
        tess_type in, out;
    } types[] = {{TESS_F16, TESS_F32}, {TESS_BF16, TESS_F32}, {TESS_I8, TESS_I32}, {TESS_F32, TESS_F32}};
    static const int architectures[] = {80, 90, 120};
    char path[200], params[40];
    scratch dir;
    if (!sass_can_compare()) return;
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    scratch_write(&dir, "sass_wmma.cu", kernel_text, strlen(kernel_text));
    snprintf(path, sizeof path, "%s/sass_wmma.cu", dir.path);
    for (int way = 0; way < 12 * 4; way++) {
        int t = way % 4, at = way / 4 & 1, bt = way / 8 & 1, staged = way / 16;
        if (harness_tier() == TIER_SHORT && way % 5) continue;
        if (t == 1 && (at || !bt) && harness_tier() != TIER_LONG) continue; /* bf16 is loaded as f16 is */
        if (staged == 2 && (at || (bt && t > 1))) continue; /* ldmatrix turns 16-bit elements only */
        snprintf(params, sizeof params, "AT=%d,BT=%d,STAGED=%d", at, bt, staged);
        compare(path, params, types[t].in, types[t].out, architectures[way / 4 % 3]);
    }
    scratch_leave(&dir);
}
