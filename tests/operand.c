/* operand.c: matrices prepared for many products: what is refused, who has to be freed first, and that a product is the
 * same with them and without. */
#include "gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 96, DEPTH = 300 };

typedef struct shared_case {
    tess_context *ctx;
    float *host[3];
    void *memory[3]; /* of the device; those of the host where it has none */
    tess_matrix A, B, C;
    tess_plan *plan;
} shared_case;

/* With `wide` the elements of a line span 81 octaves. */
static int open_case(shared_case *t, tess_context *ctx, int on_device, const char *kernel, const char *params,
                     int wide) {
    static const int64_t sizes[3][2] = {{EDGE, DEPTH}, {DEPTH, EDGE}, {EDGE, EDGE}};
    tess_matrix *views[3] = {&t->A, &t->B, &t->C};
    tess_options options = {.kernel = kernel, .params = params};
    t->ctx = ctx;
    t->plan = NULL;
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)(sizes[i][0] * sizes[i][1]) * sizeof(float);
        t->host[i] = test_alloc(bytes);
        *views[i] = tess_view_row_major(TESS_F32, sizes[i][0], sizes[i][1], t->host[i], 0);
        CHECK_STATUS(tess_fill(views[i], TESS_FILL_NORMAL, 1, (uint64_t)i + 1), TESS_OK, NULL);
        for (int64_t j = 0; wide && j < sizes[i][0] * sizes[i][1]; j++)
            t->host[i][j] = ldexpf(t->host[i][j], (int)(j * 37 % 81) - 40);
        t->memory[i] = on_device ? gpu_alloc(ctx, t->host[i], bytes) : t->host[i];
        views[i]->data = t->memory[i];
        views[i]->place = on_device ? TESS_DEVICE : TESS_HOST;
    }
    tess_status status = tess_plan_gemm(ctx, &t->A, &t->B, &t->C, NULL, &options, &t->plan);
    if (status == TESS_ERROR_KERNEL && strstr(tess_error(ctx), "sm_90 alone")) return 0;
    return CHECK_STATUS(status, TESS_OK, ctx);
}

static void close_case(shared_case *t, int on_device) {
    tess_free_plan(t->plan);
    for (int i = 0; i < 3; i++) {
        if (on_device) tess_free(t->ctx, t->memory[i]);
        free(t->host[i]);
    }
}

/* C of the plan as it is now. */
static float *run_case(shared_case *t) {
    size_t bytes = EDGE * EDGE * sizeof(float);
    float *c = test_alloc(bytes);
    CHECK_STATUS(tess_run(t->plan, 1, &t->A, &t->B, 0, &t->C), TESS_OK, t->ctx);
    CHECK_STATUS(tess_copy(t->ctx, c, t->memory[2], bytes), TESS_OK, t->ctx);
    return c;
}

static void check_same(shared_case *t, tess_operand *A, tess_operand *B, const float *want,
                       const char *what) {
    CHECK_STATUS(tess_use_operands(t->plan, A, B), TESS_OK, t->ctx);
    for (int turn = 0; turn < 2; turn++) {
        float *c = run_case(t);
        CHECK(memcmp(c, want, EDGE * EDGE * sizeof(float)) == 0, "%s, turn %d: the product differs", what,
              turn);
        free(c);
    }
}

/* `keeps`: that something is kept of them is certain. */
static void try_operands(shared_case *t, int keeps) {
    tess_operand *a = NULL, *b = NULL;
    float *want = run_case(t);
    CHECK_STATUS(tess_prepare(t->ctx, TESS_ROLE_A, &t->A, &a), TESS_OK, t->ctx);
    CHECK_STATUS(tess_prepare(t->ctx, TESS_ROLE_B, &t->B, &b), TESS_OK, t->ctx);
    CHECK(!keeps || (tess_operand_bytes(a) > EDGE * DEPTH * 4 && tess_operand_bytes(b) > EDGE * DEPTH * 4),
          "%lld and %lld bytes are kept", (long long)tess_operand_bytes(a), (long long)tess_operand_bytes(b));
    check_same(t, a, b, want, "both");
    check_same(t, a, NULL, want, "A");
    check_same(t, NULL, b, want, "B");
    check_same(t, NULL, NULL, want, "neither");
    CHECK_STATUS(tess_free_operand(a), TESS_OK, t->ctx);
    CHECK_STATUS(tess_free_operand(b), TESS_OK, t->ctx);
    free(want);
}

TEST(operand_same_product_on_the_cpu) {
    tess_context *ctx = NULL;
    shared_case t;
    CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL);
    if (open_case(&t, ctx, 0, NULL, NULL, 0)) try_operands(&t, 0);
    close_case(&t, 0);
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
}

GPU_TEST(gpu_operand_same_product) {
    static const struct {
        const char *kernel, *params;
        int wide;
        tess_way way; /* on a card: the stand-in takes one for all */
    } cases[] = {{"split_01_fp16x3", NULL, 0, TESS_WAY_FP16X3},
                 {"split_01_fp16x3", NULL, 1, TESS_WAY_BF16X6},
                 {"split_01_fp16x3", "SHORT=1", 0, TESS_WAY_FP16X3},
                 {"split_01_fp16x3", "SHORT=1", 1, TESS_WAY_F32},
                 {"split_02_bf16x6", NULL, 0, TESS_WAY_BF16X6},
                 {"split_03_mma", NULL, 0, TESS_WAY_FP16X3},
                 {"simt_09_tile2d", NULL, 0, TESS_WAY_ONLY}};
    tess_context *ctx = gpu_open();
    if (!ctx) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shared_case t;
        tess_way way = TESS_WAY_ONLY;
        if (open_case(&t, ctx, 1, cases[i].kernel, cases[i].params, cases[i].wide)) {
            try_operands(&t, gpu_is_standin());
            CHECK_STATUS(tess_way_taken(ctx, &way), TESS_OK, ctx);
            CHECK(gpu_is_standin() || way == cases[i].way, "%s, %s: way %d, not %d", cases[i].kernel,
                  cases[i].params ? cases[i].params : "as it is", (int)way, (int)cases[i].way);
        }
        close_case(&t, 1);
    }
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
}

static void refused(tess_context *ctx, tess_status got, tess_status want, const char *words) {
    CHECK_STATUS(got, want, NULL);
    CHECK(strstr(tess_error(ctx), words), "\"%s\" lacks \"%s\"", tess_error(ctx), words);
}

TEST(operand_bad_arguments_are_refused) {
    tess_context *ctx = NULL;
    shared_case t;
    tess_operand *a = NULL, *none = NULL;
    CHECK_STATUS(tess_open(&ctx, "cpu"), TESS_OK, NULL);
    if (!open_case(&t, ctx, 0, NULL, NULL, 0)) return;
    refused(NULL, tess_prepare(NULL, TESS_ROLE_A, &t.A, &none), TESS_ERROR_ARGUMENT, "ctx is NULL");
    refused(ctx, tess_prepare(ctx, TESS_ROLE_A, &t.A, NULL), TESS_ERROR_ARGUMENT, "operand is NULL");
    refused(ctx, tess_prepare(ctx, TESS_ROLE_A, NULL, &none), TESS_ERROR_ARGUMENT, "M is NULL");
    refused(ctx, tess_prepare(ctx, (tess_role)2, &t.A, &none), TESS_ERROR_ARGUMENT, "role is 2");
    tess_matrix nowhere = t.A;
    nowhere.data = NULL;
    refused(ctx, tess_prepare(ctx, TESS_ROLE_A, &nowhere, &none), TESS_ERROR_ARGUMENT, "M.data is NULL");
    CHECK(none == NULL && tess_operand_bytes(NULL) == 0 && tess_free_operand(NULL) == TESS_OK, "no operand");

    CHECK_STATUS(tess_prepare(ctx, TESS_ROLE_A, &t.A, &a), TESS_OK, ctx);
    CHECK(tess_operand_bytes(a) == 0, "%lld bytes are kept in host memory", (long long)tess_operand_bytes(a));
    refused(NULL, tess_use_operands(NULL, a, NULL), TESS_ERROR_ARGUMENT, "plan is NULL");
    refused(ctx, tess_use_operands(t.plan, NULL, a), TESS_ERROR_ARGUMENT, "prepared for the other place");
    tess_matrix narrow = tess_submatrix(t.A, 0, 0, EDGE, DEPTH - 1);
    tess_operand *less = NULL;
    CHECK_STATUS(tess_prepare(ctx, TESS_ROLE_A, &narrow, &less), TESS_OK, ctx);
    refused(ctx, tess_use_operands(t.plan, less, NULL), TESS_ERROR_SHAPE, "is 96×299 f32, but the plan's is");
    CHECK_STATUS(tess_use_operands(t.plan, a, NULL), TESS_OK, ctx);
    tess_matrix moved = t.A;
    moved.data = t.host[1]; /* as large */
    refused(ctx, tess_run(t.plan, 1, &moved, &t.B, 0, &t.C), TESS_ERROR_ARGUMENT, "was prepared from");
    refused(ctx, tess_free_operand(a), TESS_ERROR_ARGUMENT, "1 plan still uses the operand");
    CHECK_STATUS(tess_free_operand(less), TESS_OK, ctx);
    close_case(&t, 0);
    refused(ctx, tess_close(ctx), TESS_ERROR_ARGUMENT, "still has 0 plans and 1 operand;");
    CHECK_STATUS(tess_free_operand(a), TESS_OK, ctx);
    CHECK_STATUS(tess_close(ctx), TESS_OK, NULL);
}
