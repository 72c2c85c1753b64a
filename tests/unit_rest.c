/* unit_rest.c: products in two parts. The planner cuts C where large tiles fill whole rounds of the multiprocessors, and the
 * two parts are all of C, whatever way it lies. No GPU is needed: the parts run in the simulator, every access watched. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/cuda/cuda.h"
#include "../src/numeric.h"
#include "../src/plan.h"
#include "../src/product.h"

/* ---- Where C is cut ---- */

typedef struct cut_case {
    int64_t m, n, k, count;
    const char *params, *rest; /* of the kernel and of the rest, as they begin; NULL: there is no rest */
    int64_t rows, cols;        /* ahead of the rest */
} cut_case;

static const char *text_of(const cut_case *t) {
    static char text[96];
    snprintf(text, sizeof text, "%lldx%lldx%lld, %lld times", (long long)t->m, (long long)t->n,
             (long long)t->k, (long long)t->count);
    return text;
}

/* A and B in rows, C in rows or columns. */
static problem problem_of(const cut_case *t, int by_columns) {
    problem p = {.in = TESS_F32, .out = TESS_F32, .acc = TESS_F32, .compute = TESS_COMPUTE_F32_STRICT};
    p.m = t->m, p.n = t->n, p.k = t->k;
    p.a_row = t->k, p.b_row = t->n, p.a_col = p.b_col = 1;
    p.c_row = by_columns ? 1 : t->n, p.c_col = by_columns ? t->m : 1;
    p.batch = (tess_batch){t->count, t->m * t->k, t->k * t->n, t->m * t->n};
    return p;
}

/* With the multiprocessors of an H200. */
static choice choose(const problem *what, choice_cut *rest) {
    static cuda_facts facts = {.architecture = 90, .gpu = {.sms = 132, .shared_per_block_most = 232448}};
    cuda_device self = {.facts = &facts};
    *rest = (choice_cut){.share = 0};
    double time;
    return cuda_choose_simt(&self, what, rest, &time);
}

static int begins(const char *text, const char *with) {
    return !with ? !text : text && strncmp(text, with, strlen(with)) == 0;
}

TEST(rest_is_cut_where_rounds_are_full) {
    static const cut_case cases[] = {
        {3000, 3000, 3000, 1, "BK=32,BLOCKS=", "BM=48,BN=96,", 2816, 3000},
        {4097, 4099, 4101, 1, "BK=32,ROWS=2,", "BM=8,", 4096, 4099},
        {4096, 4224, 512, 1, "BK=32,", NULL, 0, 0}, /* 1056 tiles are 8 rounds */
        {4096, 4096, 4096, 1, "BK=32,BLOCKS=", NULL, 0, 0},
        {1024, 1024, 1024, 1, "BM=64,", NULL, 0, 0},
        {1000, 1000, 1000, 1, "BM=128,BN=64,", NULL, 0, 0}, /* rows of B begin within lines of the cache */
        {64, 64, 64, 1, "BM=", NULL, 0, 0},
        {1024, 1040, 2048, 4, "BK=32,", "BM=", 1024,
         1024}, /* 256 tiles in two rounds and 32 that are nearly empty */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int by_columns = 0; by_columns < 2; by_columns++) {
            const cut_case *t = &cases[i];
            problem what = problem_of(t, 0);
            choice_cut rest;
            if (by_columns) what = route_transposed(&what); /* the same product to the kernel */
            choice chosen = choose(&what, &rest);
            CHECK(begins(chosen.params, t->params), "%s: %s %s", text_of(t), chosen.kernel, chosen.params);
            CHECK(begins(rest.params, t->rest), "%s: the rest is for %s %s", text_of(t),
                  rest.kernel ? rest.kernel : "nothing", rest.params ? rest.params : "");
            int64_t rows = by_columns ? rest.cols : rest.rows, cols = by_columns ? rest.rows : rest.cols;
            CHECK(rows == t->rows && cols == t->cols, "%s: %lldx%lld come before the rest", text_of(t),
                  (long long)rows, (long long)cols);
        }
}

/* Whatever the sizes: a cut leaves something on both sides, in one direction, and is a multiple of 16 bytes. */
TEST(rest_has_rows_or_columns) {
    test_rng *rng = test_random();
    int by_rows = 0, by_cols = 0, whole = 0;
    for (int i = 0; i < 2000; i++) {
        cut_case t = {rng_range(rng, 2, 9000),
                      rng_range(rng, 2, 9000),
                      rng_range(rng, 1, 9000),
                      rng_range(rng, 1, 3),
                      NULL,
                      NULL,
                      0,
                      0};
        problem what = problem_of(&t, (int)rng_range(rng, 0, 1));
        choice_cut rest;
        choice chosen = choose(&what, &rest);
        CHECK(chosen.kernel && chosen.reason, "%s: nothing was chosen", text_of(&t));
        if (!rest.kernel) {
            whole++;
            continue;
        }
        int rows = rest.rows < t.m, cols = rest.cols < t.n;
        CHECK(rows != cols && rest.rows >= 1 && rest.cols >= 1 && rest.rows <= t.m && rest.cols <= t.n &&
                  (rows ? rest.rows : rest.cols) % 4 == 0,
              "%s: %lldx%lld come before the rest", text_of(&t), (long long)rest.rows, (long long)rest.cols);
        by_rows += rows, by_cols += cols;
    }
    CHECK(by_rows && by_cols && whole, "%d times by rows, %d by columns, %d whole", by_rows, by_cols, whole);
}

/* ---- Products in two parts ---- */

enum { ROWS, COLUMNS, NEITHER, ORDERS };
enum { FIRST = 128, PAD = 3 };

typedef struct part_case {
    int64_t m, n, k, count;
    int order[3]; /* of A, B and C */
    int by_rows;  /* the cut */
    int64_t off;  /* elements that C lies beside an aligned address */
    double beta;
} part_case;

/* A matrix of small integers with room around it, and its view. */
static float *make(tess_matrix *view, int64_t *stride, int64_t rows, int64_t cols, int order, int64_t count,
                   int64_t off, int64_t *elements) {
    int64_t row = order == ROWS      ? cols + PAD
                  : order == COLUMNS ? 1
                                     : 2 * cols,
            col = order == ROWS      ? 1
                  : order == COLUMNS ? rows + PAD
                                     : 2;
    *stride = (rows - 1) * row + (cols - 1) * col + 1 + PAD;
    *elements = *stride * count + off;
    float *data = test_alloc((size_t)*elements * sizeof *data);
    for (int64_t i = 0; i < *elements; i++) data[i] = (float)rng_range(test_random(), -9, 9);
    *view = (tess_matrix){data + off, TESS_F32, TESS_HOST, rows, cols, row, col};
    return data;
}

static float element(const tess_matrix *m, int64_t index, int64_t stride, int64_t row, int64_t col) {
    return ((const float *)m->data)[index * stride + row * m->row_stride + col * m->col_stride];
}

/* What C must be afterwards, all that lies between its elements included. */
static void multiply(const tess_matrix *A, const tess_matrix *B, const tess_matrix *C,
                     const tess_batch *batch, double beta, float *want) {
    for (int64_t p = 0; p < batch->count; p++)
        for (int64_t i = 0; i < C->rows; i++)
            for (int64_t j = 0; j < C->cols; j++) {
                float sum = 0, *to = want + p * batch->stride_c + i * C->row_stride + j * C->col_stride;
                for (int64_t l = 0; l < A->cols; l++)
                    sum += element(A, p, batch->stride_a, i, l) * element(B, p, batch->stride_b, l, j);
                *to = 2 * sum + (float)beta * *to;
            }
}

static void try_parts(device *dev, const part_case *t) {
    tess_matrix A, B, C;
    tess_batch batch = {.count = t->count};
    int64_t size_a, size_b, size_c;
    float *a = make(&A, &batch.stride_a, t->m, t->k, t->order[0], t->count, 0, &size_a),
          *b = make(&B, &batch.stride_b, t->k, t->n, t->order[1], t->count, 0, &size_b),
          *c = make(&C, &batch.stride_c, t->m, t->n, t->order[2], t->count, t->off, &size_c),
          *want = test_alloc((size_t)size_c * sizeof *want);
    memcpy(want, c, (size_t)size_c * sizeof *want);
    multiply(&A, &B, &C, &batch, t->beta, want + t->off);
    plan decided;
    sentence why = {""};
    tess_options options = {.kernel = "simt_14_ahead"};
    if (CHECK(plan_make(dev, &A, &B, &C, &batch, &options, &decided, &why) == TESS_OK, "%s", why.text)) {
        decided.rest = (plan_rest){.kernel = registry_find("gpu", "simt_15_split", &why),
                                   .rows = t->by_rows ? FIRST : t->m,
                                   .cols = t->by_rows ? t->n : FIRST};
        for (int i = 0; i < REGISTRY_PARAMS; i++) decided.rest.params[i] = REGISTRY_UNSET;
        operands data = {.a = A.data, .b = B.data, .c = C.data, .alpha = 2, .beta = t->beta};
        CHECK(dev->ops->prepare(dev, &decided, &why) == TESS_OK &&
                  dev->ops->run(dev, &decided, &data, &why) == TESS_OK,
              "%lldx%lldx%lld, orders %d %d %d: %s", (long long)t->m, (long long)t->n, (long long)t->k,
              t->order[0], t->order[1], t->order[2], why.text);
        CHECK(memcmp(c, want, (size_t)size_c * sizeof *want) == 0,
              "%lldx%lldx%lld, orders %d %d %d, by rows: %d, %lld times: C is wrong", (long long)t->m,
              (long long)t->n, (long long)t->k, t->order[0], t->order[1], t->order[2], t->by_rows,
              (long long)t->count);
    }
    free(a), free(b), free(c), free(want);
}

TEST(rest_and_first_part_are_all_of_c) {
    device *dev = NULL;
    sentence why = {""};
    if (!CHECK(sim_checked_device_ops.open(&dev, 0, &why) == TESS_OK, "%s", why.text)) return;
    test_rng *rng = test_random();
    for (int i = 0; i < 16; i++) {
        part_case t = {.m = FIRST + rng_range(rng, 1, 20),
                       .n = FIRST + rng_range(rng, 1, 20),
                       .k = rng_range(rng, 1, 20),
                       .count = i % 4 == 3 ? 2 : 1,
                       .order = {i % 2, i / 2 % 2, i < 8 ? i / 4 % 2 : (int)rng_range(rng, 0, ORDERS - 1)},
                       .by_rows = i % 3 > 0,
                       .off = i % 5 == 4,
                       .beta = i % 3};
        if (i == 15) t.order[0] = t.order[1] = t.order[2] = NEITHER;
        try_parts(dev, &t);
    }
    dev->ops->close(dev);
}

/* ---- The sentence ---- */

TEST(rest_is_told) {
    const cut_case t = {3000, 3000, 3000, 1, NULL, NULL, 0, 0};
    plan decided = {.what = problem_of(&t, 0), .reason = "of a test"};
    sentence why = {""};
    decided.kernel = registry_find("gpu", "simt_14_ahead", &why);
    decided.rest =
        (plan_rest){.kernel = registry_find("gpu", "simt_15_split", &why), .rows = 2816, .cols = 3000};
    for (int i = 0; i < REGISTRY_PARAMS; i++) decided.params[i] = decided.rest.params[i] = REGISTRY_UNSET;
    char text[1024];
    CHECK(product_prepare(&decided, &why) == TESS_OK, "%s", why.text);
    plan_describe(&decided, "cuda:0", NULL, text, sizeof text);
    CHECK(strstr(text, "; the last 184 rows of C are a product of their own, by simt_15_split BM=128 "), "%s",
          text);
    decided.rest.rows = 3000, decided.rest.cols = 2944;
    plan_describe(&decided, "cuda:0", NULL, text, sizeof text);
    CHECK(strstr(text, "; the last 56 columns of C are a product of their own, by simt_15_split BM=128 "),
          "%s", text);
}
