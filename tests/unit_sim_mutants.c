/* unit_sim_mutants.c: bugs planted in the real kernels are found. Each mutant is a kernel of the ladder with
 * one change: a barrier removed, a guard shifted by one, a wait for copies dropped or weakened, a loop that
 * reads one element past a tile, a swizzle that differs between the writer and the reader. It must be stopped
 * by a check, on a shape around its tile, with a sentence that names a line of its file; a swizzle that reads
 * what is there, but is not what was meant, shows in the result only. What is not mutated must pass the same
 * shapes. */
#include "harness.h"
#include "oracle.h"
#include "scratch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/kernel_source.h"
#include "../src/memory.h"
#include "../src/sim/module.h"

/* One way to plant a bug: `find` becomes `make`, at one of its occurrences. `spare` keeps out what would be
 * no bug. */
typedef struct mutation {
    const char *what, *find, *make;
    const char *spare; /* a text in the same line that makes this occurrence harmless; NULL: none does */
    int in_result;     /* it may also show as a wrong result */
} mutation;

/* A loop over tiles that runs once more adds zeros, which its guards see to. */
static const mutation mutations[] = {
    {"a barrier removed", "__syncthreads();", ";", NULL, 0},
    {"a guard shifted", "< g.m", "<= g.m", NULL, 0},
    {"a guard shifted", "< g.n", "<= g.n", NULL, 0},
    {"a guard shifted", "< g.k", "<= g.k", "k_tile = 0", 0},
    {"a guard shifted", "< g->m", "<= g->m", NULL, 0},
    {"a guard shifted", "< g->n", "<= g->n", NULL, 0},
    {"a guard shifted", "< g->k", "<= g->k", NULL, 0},
    {"a guard shifted", ">= g.m", "> g.m", NULL, 0},
    {"a guard shifted", ">= g.n", "> g.n", NULL, 0},
    {"a guard shifted", ">= g->m", "> g->m", NULL, 0},
    {"a guard shifted", ">= g->n", "> g->n", NULL, 0},
    {"a guard shifted", "<= g.m", "<= g.m + 1", NULL, 0},
    {"a guard shifted", "<= g.n", "<= g.n + 1", NULL, 0},
    {"a guard shifted", "< from.lines", "<= from.lines", NULL, 0},
    {"a guard shifted", "< d->rows", "<= d->rows", NULL, 0},
    {"a guard shifted", "< d->k", "<= d->k", NULL, 0},
    {"a wait dropped", "cp_wait(STAGES - 2);", ";", NULL, 0},
    {"a wait weakened", "cp_wait(STAGES - 2);", "cp_wait(STAGES - 1);", NULL, 0},
    {"a read past the tile", "k < TILE; k++", "k <= TILE; k++", NULL, 0},
    {"a read past the tile", "k < BK; k++", "k <= BK; k++", NULL, 0},
    {"a warp not waited for", "__syncwarp();", ";", NULL, 0},
    {"a guard shifted", "< there", "<= there", NULL, 0},
    {"a guard shifted", "i < lines &&", "i <= lines &&", NULL, 0},
    {"a guard shifted", "j < length", "j <= length", NULL, 0},
    {"a guard shifted", "present = length * SIZE - s->piece", "present = length * SIZE - s->piece + SIZE",
     NULL, 0},
    {"another swizzle", "(a ^ step * 32)", "(a + step * 32)", NULL, 1},
    {"another swizzle", "(b ^ j * 32)", "(b + j * 32)", NULL, 1},
    {"another stage", "stages + slot * STAGE", "stages + last * STAGE", "acc_t *stage", 0},
    {"another stage", "sums, a + used,", "sums, a + filled,", NULL, 1},
    {"another stage", "a += onward(used);", ";", NULL, 1},
    {"a tile not loaded", "left >= STAGES", "left > STAGES", NULL, 1},
    {"fragments of another step", "load_fragments(&f, a, b, step)", "load_fragments(&f, a, b, 0)", NULL, 1},
};

/* The shapes a kernel is tried on: one less and one more than its tile and depth, and a whole number of
 * tiles. Those of tensor cores take bf16, with small tiles. */
typedef struct subject {
    const char *kernel;
    int64_t shapes[5][3];
    const char *params;
    const char *harmless[2]; /* texts in lines of this kernel where a mutation is no bug */
} subject;
#define SMALL_TILES "BM=64,BN=64,WM=32,WN=32,KSTEPS=2"
static const subject subjects[] = {
    {"simt_01_uncoalesced", {{33, 31, 35}, {31, 33, 31}, {32, 32, 32}}, NULL, {NULL, NULL}},
    {"simt_02_coalesced", {{33, 31, 35}, {31, 33, 31}, {32, 32, 32}}, NULL, {NULL, NULL}},
    {"simt_03_unrolled", {{33, 31, 35}, {31, 33, 31}, {32, 32, 32}}, NULL, {NULL, NULL}},
    {"simt_04_coarsened", {{33, 127, 35}, {31, 129, 31}, {32, 128, 32}}, NULL, {NULL, NULL}},
    {"simt_05_shared",
     {{33, 31, 35}, {31, 33, 31}, {31, 32, 64}, {32, 31, 64}, {32, 32, 64}},
     NULL,
     {NULL, NULL}},
    {"simt_06_prefetched",
     {{33, 31, 35}, {31, 33, 31}, {31, 32, 64}, {32, 31, 64}, {32, 32, 64}},
     NULL,
     {NULL, NULL}},
    {"simt_07_tile1d", {{65, 63, 17}, {63, 65, 15}, {64, 64, 16}}, NULL, {NULL, NULL}},
    {"simt_08_strided4x4", {{65, 63, 33}, {63, 65, 31}, {64, 64, 32}}, NULL, {NULL, NULL}},
    {"simt_09_tile2d", {{129, 127, 17}, {127, 129, 15}, {128, 128, 16}}, NULL, {NULL, NULL}},
    {"simt_10_vectorized",
     {{129, 127, 17}, {127, 129, 15}, {132, 124, 20}, {128, 128, 16}},
     NULL,
     {NULL, NULL}},
    {"simt_11_warptile",
     {{129, 127, 33}, {127, 129, 31}, {132, 124, 36}, {128, 128, 32}},
     NULL,
     {NULL, NULL}},
    {"simt_12_pipelined",
     {{129, 127, 65}, {127, 129, 63}, {132, 124, 68}, {128, 128, 64}},
     NULL,
     {NULL, NULL}},
    {"simt_16_batched", {{17, 15, 33}, {15, 17, 15}, {20, 12, 20}, {16, 16, 32}}, NULL, {NULL, NULL}},
    {"vector_01_shuffle", {{257, 1, 65}, {1, 255, 33}, {33, 1, 31}}, NULL, {NULL, NULL}},
    /* A warp whose tile is not in C, and a step beyond k, add zeros too. */
    {"mma_01_wmma",
     {{17, 31, 17}, {31, 17, 40}, {17, 32, 32}, {32, 17, 32}},
     "BM=32,BN=32",
     {"return;", "k += WMMA_K"}},
    {"mma_02_shared", {{65, 63, 33}, {63, 65, 31}, {64, 64, 96}}, SMALL_TILES, {NULL, NULL}},
    {"mma_03_async", {{65, 63, 33}, {63, 66, 160}, {64, 64, 160}, {64, 64, 168}}, SMALL_TILES, {NULL, NULL}},
    {"mma_04_ldmatrix",
     {{65, 63, 33}, {63, 66, 160}, {64, 64, 160}, {64, 64, 168}},
     SMALL_TILES,
     {NULL, NULL}},
    {"mma_05_swizzled",
     {{65, 63, 33}, {63, 66, 160}, {64, 64, 160}, {64, 64, 168}},
     SMALL_TILES,
     {NULL, NULL}},
    {"mma_06_overlapped",
     {{65, 63, 33}, {63, 66, 160}, {64, 64, 160}, {64, 64, 136}},
     SMALL_TILES,
     {NULL, NULL}},
    {"mma_07_raster", {{65, 63, 33}, {63, 66, 160}, {64, 64, 160}, {64, 64, 136}}, SMALL_TILES, {NULL, NULL}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects, MUTATIONS = sizeof mutations / sizeof *mutations };

static int is_tensor(const subject *s) {
    return strncmp(s->kernel, "mma", 3) == 0;
}

/* A dense matrix; for tensor cores its rows begin at multiples of 32 bytes. */
static tess_matrix make_matrix(tess_type type, int64_t rows, int64_t cols, int by_columns, int tensor) {
    int64_t ld = by_columns ? rows : tensor ? (cols + 15) / 16 * 16 : cols;
    size_t size = (size_t)(by_columns ? cols : rows) * (size_t)ld * tess_type_size(type);
    void *data = aligned_alloc(256, (size + 255) / 256 * 256);
    if (!CHECK(data != NULL, "no memory")) exit(1);
    return by_columns ? tess_view_col_major(type, rows, cols, data, ld)
                      : tess_view_row_major(type, rows, cols, data, ld);
}

/* Runs the kernel in the file on one shape. The vector kernel takes another way if A is stored by columns.
 * *wrong: the result is not the product. */
static tess_status run_shape(tess_context *ctx, const char *path, const subject *s, const int64_t *shape,
                             int by_columns, int *wrong) {
    int64_t m = shape[0], n = shape[1], k = shape[2];
    int tensor = is_tensor(s);
    tess_type in = tensor ? TESS_BF16 : TESS_F32;
    tess_matrix A = make_matrix(in, m, k, by_columns, tensor), B = make_matrix(in, k, n, 0, tensor),
                C = make_matrix(TESS_F32, m, n, 0, tensor);
    tess_fill(&A, TESS_FILL_INTEGER, 3, 1);
    tess_fill(&B, TESS_FILL_INTEGER, 3, 2);
    tess_fill(&C, TESS_FILL_INTEGER, 3, 3);
    tess_options options = {.kernel = path, .params = s->params};
    tess_status status = tess_gemm(ctx, 1, &A, &B, 0, &C, &options);
    *wrong =
        status == TESS_OK &&
        oracle_check(&(oracle_product){.alpha = 1, .A = A, .B = B, .C0 = C, .C = C, .exact = 1}).wrong > 0;
    free(A.data);
    free(B.data);
    free(C.data);
    return status;
}

/* Tries the shapes until one fails or gives a wrong result. */
static tess_status run_shapes(tess_context *ctx, const char *path, const subject *s, int *wrong) {
    *wrong = 0;
    for (int i = 0; i < 5 && s->shapes[i][0] && !*wrong; i++)
        for (int by_columns = 0; by_columns <= (strncmp(s->kernel, "vector", 6) == 0); by_columns++) {
            tess_status status = run_shape(ctx, path, s, s->shapes[i], by_columns, wrong);
            if (status != TESS_OK) return status;
        }
    return TESS_OK;
}

/* The n-th occurrence that is not spared, and not within the first comment. */
static const char *find_place(const char *text, const subject *s, const mutation *how, int n) {
    const char *at = strstr(text, "*/");
    while ((at = strstr(at + 1, how->find)) != NULL) {
        const char *line = at;
        while (line > text && line[-1] != '\n') line--;
        char whole[400];
        snprintf(whole, sizeof whole, "%.*s", (int)strcspn(line, "\n"), line);
        const char *const spares[] = {how->spare, s ? s->harmless[0] : NULL, s ? s->harmless[1] : NULL};
        int spared = 0;
        for (int i = 0; i < 3; i++) spared |= spares[i] && strstr(whole, spares[i]);
        if (spared) continue;
        if (n-- == 0) return at;
    }
    return NULL;
}

static int line_number(const char *text, const char *at) {
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

/* Whether that line of the file reads or writes memory, or waits at a barrier. */
static int can_be_at_fault(const char *text, int line) {
    static const char *const signs[] = {"[",       "*",         "store(",        "cp_async",
                                        "finish(", "ldmatrix(", "__syncthreads", "wmma_load",
                                        "store_",  "wmma_store"};
    char whole[256];
    for (int i = 1; i < line && text; i++) text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    if (!text) return 0;
    snprintf(whole, sizeof whole, "%.*s", (int)strcspn(text, "\n"), text);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(whole, signs[i])) return 1;
    return 0;
}

/* A line of the file is named, one that can be at fault; of a race, so is the other one. */
static int names_a_line(const char *said, const char *kernel, const char *text) {
    char start[80];
    if (strstr(said, "was written by no thread")) return 1;
    snprintf(start, sizeof start, "%s.cu:", kernel);
    const char *at = strstr(said, start), *other = strstr(said, " at line ");
    if (!at || !can_be_at_fault(text, atoi(at + strlen(start)))) return 0;
    return !strstr(said, "race") || !other || can_be_at_fault(text, atoi(other + strlen(" at line ")));
}

/* Writes the mutant where `at` is changed, runs it, and expects it to be stopped. */
static void try_mutant(tess_context *ctx, const scratch *dir, const subject *s, const char *text,
                       const mutation *how, const char *at) {
    char name[80], path[200];
    size_t size = strlen(text) + 64, before = (size_t)(at - text);
    char *mutant = test_alloc(size);
    snprintf(name, sizeof name, "%s.cu", s->kernel);
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    snprintf(mutant, size, "%.*s%s%s", (int)before, text, how->make, at + strlen(how->find));
    scratch_write(dir, name, mutant, strlen(mutant));
    int wrong;
    tess_status status = run_shapes(ctx, path, s, &wrong);
    if (wrong && how->in_result) {
        free(mutant);
        return;
    }
    if (CHECK(status == TESS_ERROR_DEVICE, "%s:%d: %s (%s) was not found: %s %s", s->kernel,
              line_number(text, at), how->what, how->make, tess_status_name(status),
              status ? tess_error(ctx) : ""))
        CHECK(names_a_line(tess_error(ctx), s->kernel, text), "%s:%d: %s: no line is named: %s", s->kernel,
              line_number(text, at), how->what, tess_error(ctx));
    free(mutant);
}

static int try_subject(tess_context *ctx, const scratch *dir, const subject *s) {
    char name[80], path[200], *text;
    sentence why;
    int tried = 0, wrong;
    snprintf(name, sizeof name, "%s.cu", s->kernel);
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    if (!CHECK(kernel_source_read(name, &text, &why) == TESS_OK, "%s", why.text)) return 0;
    scratch_write(dir, name, text, strlen(text));
    CHECK(run_shapes(ctx, path, s, &wrong) == TESS_OK && !wrong, "%s, not mutated: %s", s->kernel,
          wrong ? "its result is wrong" : tess_error(ctx));
    for (int i = 0; i < MUTATIONS; i++) {
        const char *at;
        for (int n = 0; (at = find_place(text, s, &mutations[i], n)) != NULL; n++, tried++)
            try_mutant(ctx, dir, s, text, &mutations[i], at);
    }
    memory_free(text);
    return tried;
}

/* The subjects that are of tensor cores, or those that are not; in a short run every fourth. Of tensor cores
 * a run of the ordinary length tries every other one: they are made of the same parts. */
static void try_subjects(int tensor, int least) {
    scratch dir;
    tess_context *ctx;
    int tried = 0, of_kind = 0,
        every = harness_tier() == TIER_SHORT            ? 4
                : tensor && harness_tier() != TIER_LONG ? 2
                                                        : 1;
    if (tess_open(&ctx, "sim:checked") != TESS_OK) {
        harness_skip("planted bugs: %s", tess_error(NULL));
        return;
    }
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    for (int i = 0; i < SUBJECTS; i++)
        if (is_tensor(&subjects[i]) == tensor && of_kind++ % every == 0)
            tried += try_subject(ctx, &dir, &subjects[i]);
    CHECK(tried >= (harness_tier() == TIER_SHORT ? 5 : least), "only %d mutants were made", tried);
    printf("    %d mutants\n", tried);
    scratch_leave(&dir);
    tess_close(ctx);
}

TEST(sim_mutants_are_found) {
    try_subjects(0, 80);
}

TEST(sim_mutants_of_tensor_kernels_are_found) {
    try_subjects(1, 40);
}

/* A file that is no kernel of the registry, and a product that uses it. Another directory of kernels has the files
 * that this takes. */
typedef struct part {
    const char *files[4]; /* the part itself, the kernel, and what they include */
    const subject *how;
    int64_t shapes[2][3];
    int by_columns;
    mutation mutations[3];
} part;
/* A column-major A is copied. */
static const part move_part = {{"move.cu", "simt_02_coalesced.cu", "port.h"},
                               &subjects[1],
                               {{33, 31, 35}, {32, 32, 32}},
                               1,
                               {{"a barrier removed", "__syncthreads();", ";", NULL, 0},
                                {"a guard shifted", "v.cols - col_tile) > x", "v.cols - col_tile) >= x", NULL,
                                 0},
                                {"a guard shifted", "n * LINES < high ?", "n * LINES <= high ?", NULL, 0}}};
static const part tensor_part = {{"tensor.h", "mma_07_raster.cu", "port.h"},
                                 &subjects[SUBJECTS - 1],
                                 {{65, 63, 33}, {63, 66, 33}},
                                 0,
                                 {{"a guard shifted", "row >= g->m", "row > g->m", NULL, 0},
                                  {"a guard shifted", "col >= g->n", "col > g->n", NULL, 0},
                                  {"a guard shifted", "col + 1 < g->n", "col + 1 <= g->n", NULL, 0}}};

static void try_part(const scratch *dir, const part *p, const char *text, int line) {
    tess_context *ctx;
    char kernel[200];
    snprintf(kernel, sizeof kernel, "%s/%s", dir->path, p->files[1]);
    scratch_write(dir, p->files[0], text, strlen(text));
    if (!CHECK_STATUS(tess_open(&ctx, "sim:checked"), TESS_OK, NULL)) return;
    int wrong;
    tess_status status = run_shape(ctx, kernel, p->how, p->shapes[0], p->by_columns, &wrong);
    if (status == TESS_OK) status = run_shape(ctx, kernel, p->how, p->shapes[1], p->by_columns, &wrong);
    CHECK(status == (line ? TESS_ERROR_DEVICE : TESS_OK), "%s:%d: %s: %s", p->files[0], line,
          tess_status_name(status), status ? tess_error(ctx) : "was not found");
    tess_close(ctx);
}

static void try_mutants_of(const scratch *dir, const part *p, const char *text) {
    size_t size = strlen(text) + 64;
    char *mutant = test_alloc(size);
    try_part(dir, p, text, 0);
    for (int i = 0; i < 3; i++) {
        const mutation *how = &p->mutations[i];
        const char *at;
        int n = 0;
        for (; (at = find_place(text, NULL, how, n)) != NULL; n++) {
            snprintf(mutant, size, "%.*s%s%s", (int)(at - text), text, how->make, at + strlen(how->find));
            try_part(dir, p, mutant, line_number(text, at));
        }
        CHECK(n > 0, "%s has no '%s'", p->files[0], how->find);
    }
    free(mutant);
}

static void try_parts(const part *p) {
    char why[256], *text, *part_text = NULL;
    scratch dir;
    sentence problem;
    if (!module_can_trace(why)) {
        harness_skip("planted bugs: %s", why);
        return;
    }
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    for (int i = 0; i < 4 && p->files[i]; i++) {
        if (!CHECK(kernel_source_read(p->files[i], &text, &problem) == TESS_OK, "%s", problem.text)) return;
        scratch_write(&dir, p->files[i], text, strlen(text));
        if (i == 0)
            part_text = text;
        else
            memory_free(text);
    }
    setenv("TESSERA_KERNEL_DIR", dir.path, 1);
    try_mutants_of(&dir, p, part_text);
    unsetenv("TESSERA_KERNEL_DIR");
    memory_free(part_text);
    scratch_leave(&dir);
}

TEST(sim_mutants_of_move_are_found) {
    try_parts(&move_part);
}

TEST(sim_mutants_of_stores_from_tensor_cores_are_found) {
    try_parts(&tensor_part);
}
