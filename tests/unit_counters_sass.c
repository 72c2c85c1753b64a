/* unit_counters_sass.c: the compiled view against the compiler itself. NVRTC makes the code of sm_90; the
 * loads of shared memory that stand in it, times the turns of the loop they stand in, are the instructions of
 * the compiled view. No GPU is needed, but NVRTC is: without it this is skipped, unless TESSERA_REQUIRE_NVRTC
 * is set. */
#include "harness.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/cuda/jit.h"
#include "../src/cuda/library.h"
#include "../src/launch.h"
#include "../src/memory.h"
#include "../src/sim/module.h"

enum { ARCHITECTURE = 90, EDGE = 512 };

/* ---- Code ---- */

/* An instruction is 16 bytes; bits 0 to 11 are what it does, 12 to 15 the predicate it has, 15 (not true) for
 * one that is never executed: ptxas puts such loads before asynchronous copies. */
static int is_shared_load(const unsigned char *instruction) {
    unsigned low = instruction[0] | (unsigned)instruction[1] << 8;
    return (low & 0xfffu) == 0x984u && low >> 12 != 0xfu;
}

/* The loads of shared memory in the kernels of a cubin. */
static int count_shared_loads(const unsigned char *image, size_t size) {
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    int count = 0;
    if (!CHECK(size > sizeof head, "a cubin of %zu bytes", size)) return 0;
    memcpy(&head, image, sizeof head);
    memcpy(&names, image + head.e_shoff + (size_t)head.e_shstrndx * head.e_shentsize, sizeof names);
    for (int i = 0; i < head.e_shnum; i++) {
        memcpy(&section, image + head.e_shoff + (size_t)i * head.e_shentsize, sizeof section);
        const char *name = (const char *)image + names.sh_offset + section.sh_name;
        if (strncmp(name, ".text.", 6) != 0) continue;
        for (uint64_t at = 0; at + 16 <= section.sh_size; at += 16)
            count += is_shared_load(image + section.sh_offset + at);
    }
    return count;
}

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
    int64_t in_code = count_shared_loads(code.image, code.size) * turns_of(row, params);
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
    char why[256];
    const char *required = getenv("TESSERA_REQUIRE_NVRTC");
    int here = library_open(LIBRARY_NVRTC) != NULL;
    CHECK(here || !required || !required[0], "TESSERA_REQUIRE_NVRTC is set, but: %s",
          library_problem(LIBRARY_NVRTC));
    if (!here) {
        harness_skip("%s", library_problem(LIBRARY_NVRTC));
        return;
    }
    if (!module_can_trace(why)) {
        harness_skip("%s", why);
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compare(cases[i].kernel, cases[i].params, TESS_F32);
        if (!cases[i].params) compare(cases[i].kernel, NULL, TESS_F64);
    }
}
