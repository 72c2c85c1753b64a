/* counters_expect.c: what the kernels' headers promise. Every `expect:` line of every GPU kernel is evaluated
 * on the counters of that kernel (compiled view) and of the one its `before:` line names, at shapes of whole
 * tiles. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 80, TEXT = 1 << 16 };

typedef struct shape {
    int64_t m, n, k;
} shape;

/* Names and their values; the names' texts are kept here too. */
typedef struct name_list {
    tess_named_value values[NAMES];
    char texts[NAMES][48];
    size_t count;
} name_list;

static void add_name(name_list *names, const char *prefix, const char *name, double value) {
    if (!CHECK(names->count < NAMES, "more than %d names", NAMES)) return;
    char *text = names->texts[names->count];
    snprintf(text, sizeof names->texts[0], "%s%s", prefix, name);
    names->values[names->count++] = (tess_named_value){text, value};
}

static void add_counters(name_list *names, const char *prefix, const tess_counters *c) {
#define ADD(field) add_name(names, prefix, #field, c->field)
    ADD(global_load_requests), ADD(global_load_sectors), ADD(global_load_bytes);
    ADD(global_store_requests), ADD(global_store_sectors), ADD(global_store_bytes);
    ADD(shared_load_instructions), ADD(shared_load_wavefronts), ADD(shared_load_conflicts);
    ADD(shared_store_instructions), ADD(shared_store_wavefronts), ADD(shared_store_conflicts);
    ADD(barriers), ADD(flops), ADD(flops_issued), ADD(distinct_bytes), ADD(blocks);
    ADD(l2_sectors_least), ADD(l2_sectors_most), ADD(dram_sectors_least), ADD(mma_instructions);
#undef ADD
}

/* "simt_05_shared TILE=32 on sim ...": the parameters stand between the name and "on". */
static void add_params(name_list *names, const char *text) {
    char name[32];
    long long value;
    for (const char *at = strchr(text, ' '); at && sscanf(at, " %31[A-Z]=%lld", name, &value) == 2;
         at = strchr(at + 1, ' '))
        add_name(names, "", name, (double)value);
}

/* The counters of a kernel, and the sentence of its plan. */
static int count_kernel(tess_context *ctx, const char *kernel, tess_type type, shape s, tess_counters *c,
                        char *text, size_t size) {
    tess_plan *plan;
    tess_options options = {.kernel = kernel,
                            .compute = type == TESS_F32 ? TESS_COMPUTE_TF32 : TESS_COMPUTE_DEFAULT};
    tess_matrix A = tess_view_row_major(type, s.m, s.k, NULL, 0),
                B = tess_view_row_major(type, s.k, s.n, NULL, 0),
                C = tess_view_row_major(type, s.m, s.n, NULL, 0);
    if (!CHECK_STATUS(tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan), TESS_OK, ctx)) return 0;
    snprintf(text, size, "%s", tess_plan_sentence(plan));
    int good = CHECK_STATUS(tess_count(plan, TESS_COUNT_COMPILED, c, NULL, NULL), TESS_OK, ctx);
    tess_free_plan(plan);
    return good;
}

/* What follows " * NAME:" on a line of the header, from *at on; 0 if there is no more. */
static int next_field(const char **at, const char *name, char *value, size_t size) {
    char mark[32];
    snprintf(mark, sizeof mark, "\n * %s:", name);
    const char *found = strstr(*at, mark), *end = strstr(*at, "*/");
    if (!found || !end || found > end) return 0;
    found += strlen(mark);
    found += strspn(found, " ");
    snprintf(value, size, "%.*s", (int)strcspn(found, "\n"), found);
    *at = found;
    return 1;
}

/* "a = b" holds if a == b. */
static void check_claim(const char *kernel, const char *claim, tess_type type, shape s,
                        const name_list *names) {
    char formula[512], left[64];
    double holds = 0, value = 0;
    const char *equals = strstr(claim, " = ");
    if (equals)
        snprintf(formula, sizeof formula, "%.*s == %s", (int)(equals - claim), claim, equals + 3);
    else
        snprintf(formula, sizeof formula, "%s", claim);
    snprintf(left, sizeof left, "%.*s", (int)strcspn(claim, " "), claim);
    if (!CHECK_STATUS(tess_evaluate(formula, names->values, names->count, &holds), TESS_OK, NULL)) return;
    tess_evaluate(left, names->values, names->count, &value);
    CHECK(holds == 1, "%s, %s, %dx%dx%d: '%s' does not hold: %s is %.0f", kernel, tess_type_name(type),
          (int)s.m, (int)s.n, (int)s.k, claim, left, value);
}

/* Evaluates the claims of one kernel; returns how many there were. */
static int check_kernel(tess_context *ctx, const char *kernel, const char *text, tess_type type, shape s) {
    char before[64], claim[400], sentence[1024];
    tess_counters mine, others;
    name_list names = {.count = 0};
    const char *at = text;
    int claims = 0;
    if (!count_kernel(ctx, kernel, type, s, &mine, sentence, sizeof sentence)) return 0;
    add_counters(&names, "", &mine);
    add_params(&names, sentence);
    add_name(&names, "", "m", (double)s.m);
    add_name(&names, "", "n", (double)s.n);
    add_name(&names, "", "k", (double)s.k);
    add_name(&names, "", "size", (double)tess_type_size(type));
    if (next_field(&at, "before", before, sizeof before) && strcmp(before, "nothing") != 0) {
        if (!count_kernel(ctx, before, type, s, &others, sentence, sizeof sentence)) return 0;
        add_counters(&names, "before.", &others);
    }
    for (at = text; next_field(&at, "expect", claim, sizeof claim); claims++)
        check_claim(kernel, claim, type, s, &names);
    return claims;
}

/* Each kernel is counted in two types, if it takes more than f64. Those of tensor cores that are compared with one of the
 * first ladder, which does not take bf16, are counted in one. */
static void check_every_shape(tess_context *ctx, const tess_kernel_info *kernel, const char *text) {
    static const shape tiles[] = {{256, 256, 256}, {512, 384, 640}, {128, 256, 1024}},
                       larger[] = {{256, 256, 256}, {512, 768, 640}, {256, 512, 1024}},
                       vectors[] = {{1, 256, 256}, {1, 4096, 1024}};
    int is_vector = strncmp(kernel->name, "vector_", 7) == 0,
        is_tensor = strncmp(kernel->name, "mma_", 4) == 0, is_f64 = strcmp(kernel->types, "f64") == 0;
    const shape *shapes = is_vector ? vectors : is_tensor ? larger : tiles;
    for (int i = 0; i < (is_vector ? 2 : 3); i++) {
        int claims = check_kernel(ctx, kernel->name, text, is_f64 ? TESS_F64 : TESS_F32, shapes[i]);
        CHECK(claims > 0, "%s has no expect: line", kernel->name);
        if (!is_tensor || strstr(text, "before:  mma_"))
            check_kernel(ctx, kernel->name, text, is_tensor ? TESS_BF16 : TESS_F64, shapes[i]);
    }
}

TEST(counters_expected_by_the_headers) {
    tess_context *ctx;
    tess_kernel_info info;
    char *text = test_alloc(TEXT);
    int found = 0;
    for (int i = 0; i < tess_count_devices(); i++) {
        tess_device_info device;
        found |= tess_describe_device(i, &device) == TESS_OK && strcmp(device.name, "sim:checked") == 0;
    }
    if (!found) {
        harness_skip("nothing is counted here: accesses are traced by gcc, which is not on the PATH");
        free(text);
        return;
    }
    if (CHECK_STATUS(tess_open(&ctx, "sim"), TESS_OK, NULL)) {
        for (int i = 0; tess_describe_kernel(i, &info) == TESS_OK; i++) {
            size_t size = TEXT;
            if (strcmp(info.device, "gpu") != 0 || info.number == 0) continue;
            if (strstr(info.needs, " alone") || strncmp(info.name, "split_", 6) == 0)
                continue; /* not counted */
            if (CHECK_STATUS(tess_kernel_text(info.name, text, &size), TESS_OK, NULL))
                check_every_shape(ctx, &info, text);
        }
        tess_close(ctx);
    }
    free(text);
}
