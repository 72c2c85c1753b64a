/* unit_sim_mutants.c: bugs planted in the real kernels are found. Each mutant is a kernel of the ladder with
 * one change: a barrier removed, a guard shifted by one, a wait for copies dropped or weakened, a loop that
 * reads one element past a tile. It must be stopped by a check, on a shape around its tile, with a sentence
 * that names a line of its file. What is not mutated must pass the same shapes. */
#include "harness.h"
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
} mutation;

/* A loop over tiles that runs once more adds zeros, which its guards see to. */
static const mutation mutations[] = {
    {"a barrier removed", "__syncthreads();", ";", NULL},
    {"a guard shifted", "< g.m", "<= g.m", NULL},
    {"a guard shifted", "< g.n", "<= g.n", NULL},
    {"a guard shifted", "< g.k", "<= g.k", "k_tile = 0"},
    {"a guard shifted", "< g->m", "<= g->m", NULL},
    {"a guard shifted", "< g->n", "<= g->n", NULL},
    {"a guard shifted", "< g->k", "<= g->k", NULL},
    {"a guard shifted", ">= g.m", "> g.m", NULL},
    {"a guard shifted", ">= g.n", "> g.n", NULL},
    {"a guard shifted", ">= g->m", "> g->m", NULL},
    {"a guard shifted", ">= g->n", "> g->n", NULL},
    {"a guard shifted", "<= g.m", "<= g.m + 1", NULL},
    {"a guard shifted", "<= g.n", "<= g.n + 1", NULL},
    {"a guard shifted", "< d->rows", "<= d->rows", NULL},
    {"a guard shifted", "< d->k", "<= d->k", NULL},
    {"a wait dropped", "cp_wait(STAGES - 2);", ";", NULL},
    {"a wait weakened", "cp_wait(STAGES - 2);", "cp_wait(STAGES - 1);", NULL},
    {"a read past the tile", "k < TILE; k++", "k <= TILE; k++", NULL},
    {"a read past the tile", "k < BK; k++", "k <= BK; k++", NULL},
};

/* The shapes a kernel is tried on: one less and one more than its tile and depth, and a whole number of
 * tiles. */
typedef struct subject {
    const char *kernel;
    int64_t shapes[5][3];
} subject;
static const subject subjects[] = {
    {"simt_01_uncoalesced", {{33, 31, 35}, {31, 33, 31}, {32, 32, 32}}},
    {"simt_02_coalesced", {{33, 31, 35}, {31, 33, 31}, {32, 32, 32}}},
    {"simt_03_unrolled", {{33, 31, 35}, {31, 33, 31}, {32, 32, 32}}},
    {"simt_04_coarsened", {{33, 127, 35}, {31, 129, 31}, {32, 128, 32}}},
    {"simt_05_shared", {{33, 31, 35}, {31, 33, 31}, {31, 32, 64}, {32, 31, 64}, {32, 32, 64}}},
    {"simt_06_prefetched", {{33, 31, 35}, {31, 33, 31}, {31, 32, 64}, {32, 31, 64}, {32, 32, 64}}},
    {"simt_07_tile1d", {{65, 63, 17}, {63, 65, 15}, {64, 64, 16}}},
    {"simt_08_strided4x4", {{65, 63, 33}, {63, 65, 31}, {64, 64, 32}}},
    {"simt_09_tile2d", {{129, 127, 17}, {127, 129, 15}, {128, 128, 16}}},
    {"simt_10_vectorized", {{129, 127, 17}, {127, 129, 15}, {132, 124, 20}, {128, 128, 16}}},
    {"simt_11_warptile", {{129, 127, 33}, {127, 129, 31}, {132, 124, 36}, {128, 128, 32}}},
    {"simt_12_pipelined", {{129, 127, 65}, {127, 129, 63}, {132, 124, 68}, {128, 128, 64}}},
    {"vector_01_shuffle", {{257, 1, 65}, {1, 255, 33}, {33, 1, 31}}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects, MUTATIONS = sizeof mutations / sizeof *mutations };

/* Runs the kernel in the file on one shape. The vector kernel takes another way if A is stored by columns. */
static tess_status run_shape(tess_context *ctx, const char *path, const int64_t *shape, int by_columns) {
    int64_t m = shape[0], n = shape[1], k = shape[2];
    float *a = test_alloc((size_t)(m * k) * sizeof *a), *b = test_alloc((size_t)(k * n) * sizeof *b),
          *c = test_alloc((size_t)(m * n) * sizeof *c);
    tess_matrix A = tess_view_row_major(TESS_F32, m, k, a, k), B = tess_view_row_major(TESS_F32, k, n, b, n),
                C = tess_view_row_major(TESS_F32, m, n, c, n);
    if (by_columns) A = tess_view_col_major(TESS_F32, m, k, a, m);
    tess_fill(&A, TESS_FILL_INTEGER, 3, 1);
    tess_fill(&B, TESS_FILL_INTEGER, 3, 2);
    tess_fill(&C, TESS_FILL_INTEGER, 3, 3);
    tess_options options = {.kernel = path};
    tess_status status = tess_gemm(ctx, 1, &A, &B, 0, &C, &options);
    free(a);
    free(b);
    free(c);
    return status;
}

/* Tries the shapes until one fails. */
static tess_status run_shapes(tess_context *ctx, const char *path, const subject *s) {
    for (int i = 0; i < 5 && s->shapes[i][0]; i++)
        for (int by_columns = 0; by_columns <= (strncmp(s->kernel, "vector", 6) == 0); by_columns++) {
            tess_status status = run_shape(ctx, path, s->shapes[i], by_columns);
            if (status != TESS_OK) return status;
        }
    return TESS_OK;
}

/* The n-th occurrence that is not spared, and not within the first comment. */
static const char *find_place(const char *text, const mutation *how, int n) {
    const char *at = strstr(text, "*/");
    while ((at = strstr(at + 1, how->find)) != NULL) {
        const char *line = at;
        while (line > text && line[-1] != '\n') line--;
        char whole[400];
        snprintf(whole, sizeof whole, "%.*s", (int)strcspn(line, "\n"), line);
        if (how->spare && strstr(whole, how->spare)) continue;
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
    static const char *const signs[] = {"[", "*", "store(", "cp_async(", "finish(", "__syncthreads"};
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
    tess_status status = run_shapes(ctx, path, s);
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
    int tried = 0;
    snprintf(name, sizeof name, "%s.cu", s->kernel);
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    if (!CHECK(kernel_source_read(name, &text, &why) == TESS_OK, "%s", why.text)) return 0;
    scratch_write(dir, name, text, strlen(text));
    CHECK(run_shapes(ctx, path, s) == TESS_OK, "%s, not mutated: %s", s->kernel, tess_error(ctx));
    for (int i = 0; i < MUTATIONS; i++) {
        const char *at;
        for (int n = 0; (at = find_place(text, &mutations[i], n)) != NULL; n++, tried++)
            try_mutant(ctx, dir, s, text, &mutations[i], at);
    }
    memory_free(text);
    return tried;
}

TEST(sim_mutants_are_found) {
    scratch dir;
    tess_context *ctx;
    int tried = 0;
    if (tess_open(&ctx, "sim:checked") != TESS_OK) {
        harness_skip("planted bugs: %s", tess_error(NULL));
        return;
    }
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    for (int i = 0; i < SUBJECTS; i++)
        if (harness_tier() != TIER_SHORT || i % 4 == 0) tried += try_subject(ctx, &dir, &subjects[i]);
    CHECK(tried >= (harness_tier() == TIER_SHORT ? 5 : 30), "only %d mutants were made", tried);
    printf("    %d mutants\n", tried);
    scratch_leave(&dir);
    tess_close(ctx);
}

/* move.cu is no kernel of the registry: it is run where a view is copied, here a column-major A. */
static void try_move(const scratch *dir, const char *text, int line) {
    static const int64_t shape[3] = {33, 31, 35};
    tess_context *ctx;
    scratch_write(dir, "move.cu", text, strlen(text));
    if (!CHECK_STATUS(tess_open(&ctx, "sim:checked"), TESS_OK, NULL)) return;
    tess_status status = run_shape(ctx, "simt_02_coalesced", shape, 1);
    CHECK(status == (line ? TESS_ERROR_DEVICE : TESS_OK), "move:%d: %s: %s", line, tess_status_name(status),
          status ? tess_error(ctx) : "was not found");
    tess_close(ctx);
}

TEST(sim_mutants_of_move_are_found) {
    static const mutation of_move[] = {{"a barrier removed", "__syncthreads();", ";", NULL},
                                       {"a guard shifted", "row < v.rows", "row <= v.rows", NULL},
                                       {"a guard shifted", "col < v.cols", "col <= v.cols", NULL}};
    static const char *const files[] = {"port.h", "simt_02_coalesced.cu", "move.cu"};
    char why[256], *text, mutant[8000];
    scratch dir;
    sentence problem;
    if (!module_can_trace(why)) {
        harness_skip("planted bugs: %s", why);
        return;
    }
    scratch_enter(&dir, "TESSERA_CACHE_DIR");
    for (int i = 0; i < 3; i++) {
        if (!CHECK(kernel_source_read(files[i], &text, &problem) == TESS_OK, "%s", problem.text)) return;
        scratch_write(&dir, files[i], text, strlen(text));
        if (i < 2) memory_free(text);
    }
    setenv("TESSERA_KERNEL_DIR", dir.path, 1);
    try_move(&dir, text, 0);
    for (int i = 0; i < 3; i++) {
        const char *at;
        for (int n = 0; (at = find_place(text, &of_move[i], n)) != NULL; n++) {
            snprintf(mutant, sizeof mutant, "%.*s%s%s", (int)(at - text), text, of_move[i].make,
                     at + strlen(of_move[i].find));
            try_move(&dir, mutant, line_number(text, at));
        }
    }
    unsetenv("TESSERA_KERNEL_DIR");
    memory_free(text);
    scratch_leave(&dir);
}
