/* unit_counters_sass.c: the compiled view against the compiler itself. NVRTC makes the code of sm_90; the
 * loads of shared memory that stand in it, times the turns of the loop they stand in, are the instructions of
 * the compiled view. No GPU is needed, but NVRTC is: without it this is skipped, unless TESSERA_REQUIRE_NVRTC
 * is set. */
#include "harness.h"
#include "unit_sass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/cuda/jit.h"
#include "../src/launch.h"
#include "../src/memory.h"

enum { ARCHITECTURE = 90, EDGE = 512 };

/* ---- Loops ---- */

static int64_t param(const kernel_row *row, const int64_t *params, const char *name) {
    for (int i = 0; registry_param_name(row, i); i++)
        if (strcmp(registry_param_name(row, i), name) == 0) return params[i];
    return 0;
}

/* The depth of a tile: BK, or TILE. */
static int64_t depth_of(const kernel_row *row, const int64_t *params) {
    int64_t depth = param(row, params, "BK");
    return depth ? depth : param(row, params, "TILE");
}

/* How often the loop over a tile's depth turns: once if it is written out, else as UNROLL_BY before it says. */
static int64_t turns_of(const kernel_row *row, const int64_t *params) {
    char file[64], *text, word[16];
    sentence why;
    int64_t turns = 1;
    snprintf(file, sizeof file, "%s.cu", row->info.name);
    if (!CHECK(kernel_source_read(file, &text, &why) == TESS_OK, "%s", why.text)) return 1;
    const char *loop = strstr(text, "for (int k = 0; k < BK; k++)"), *by = NULL;
    for (const char *at = text; loop && (at = strstr(at, "UNROLL_BY(")) != NULL && at < loop; at++) by = at;
    if (by && !memchr(by, ';', (size_t)(loop - by)) && sscanf(by, "UNROLL_BY(%15[A-Z0-9]", word) == 1) {
        int64_t unrolled = word[0] <= '9' ? atoi(word) : param(row, params, word);
        turns = depth_of(row, params) / unrolled;
    }
    memory_free(text);
    return turns;
}

/* ---- The comparison ---- */

static int count_compiled(const char *kernel, const char *text, tess_type type, tess_counters *c) {
    tess_context *ctx;
    tess_plan *made = NULL;
    tess_options options = {.kernel = kernel, .params = text};
    tess_matrix M = tess_view_row_major(type, EDGE, EDGE, NULL, EDGE);
    if (!CHECK_STATUS(tess_open(&ctx, "sim"), TESS_OK, NULL)) return 0;
    int good = CHECK_STATUS(tess_plan_gemm(ctx, &M, &M, &M, NULL, &options, &made), TESS_OK, ctx) &&
               CHECK_STATUS(tess_count(made, TESS_COUNT_COMPILED, c, NULL, NULL), TESS_OK, ctx);
    tess_free_plan(made);
    tess_close(ctx);
    return good;
}

static void compare(const char *kernel, const char *text, tess_type type) {
    int64_t params[REGISTRY_PARAMS];
    char file[64];
    sentence why;
    jit_code code;
    launch_shape shape;
    tess_counters c;
    const kernel_row *row = registry_find("gpu", kernel, &why);
    if (!CHECK(row != NULL, "%s", why.text)) return;
    registry_defaults(row, type, params);
    if (!CHECK(registry_parse_params(row, text, params, &why) == TESS_OK &&
                   launch_shape_of(row, type, params, &shape, &why) == TESS_OK,
               "%s", why.text))
        return;
    snprintf(file, sizeof file, "%s.cu", kernel);
    jit_request request = {.file = file,
                           .type = jit_type_macro(type, type),
                           .row = row,
                           .params = params,
                           .architecture = ARCHITECTURE};
    if (!CHECK(jit_compile(&request, &code, &why) == TESS_OK, "%s", why.text)) return;
    int64_t depth = depth_of(row, params), warps = shape.block_x * shape.block_y / 32;
    int64_t in_code = sass_count(code.image, code.size, SASS_LDS) * turns_of(row, params);
    jit_free(&code);
    if (!count_compiled(kernel, text, type, &c)) return;
    double counted = c.shared_load_instructions / (c.blocks * (double)warps * (double)(EDGE / depth));
    CHECK(counted == (double)in_code,
          "%s %s %s: %.2f loads of shared memory for a tile, a warp; %d in the code of sm_%d", kernel,
          text ? text : "", tess_type_name(type), counted, (int)in_code, ARCHITECTURE);
}

TEST(counters_of_shared_loads_are_those_of_the_code) {
    static const struct {
        const char *kernel, *params;
    } cases[] = {
        {"simt_05_shared", NULL},        {"simt_05_shared", "TILE=16"},   {"simt_06_prefetched", NULL},
        {"simt_06_prefetched", "PAD=1"}, {"simt_06_prefetched", "PAD=2"}, {"simt_07_tile1d", NULL},
        {"simt_07_tile1d", "TM=4"},      {"simt_08_strided4x4", NULL},    {"simt_09_tile2d", NULL},
        {"simt_10_vectorized", NULL},    {"simt_10_vectorized", "VEC=1"}, {"simt_11_warptile", NULL},
        {"simt_12_pipelined", NULL},
    };
    if (!sass_can_compare()) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compare(cases[i].kernel, cases[i].params, TESS_F32);
        if (!cases[i].params) compare(cases[i].kernel, NULL, TESS_F64);
    }
}
