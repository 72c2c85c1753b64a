/* unit_split_kept.c: products whose parts are kept from one to the next, or are written slice by slice of k: the same bits
 * as without, whatever the other matrix asks for. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/plan.h"
#include "../src/sim/sim.h"
#include "../src/slices.h"
#include "unit_split_aid.h"

/* Plain numbers; those whose exponents differ too much for f16; and plain ones with an infinity. */
typedef enum data_kind { PLAIN, WIDE, SPECIAL, KINDS } data_kind;
static const int way_of[KINDS][KINDS] = {{SPLIT_FP16X3, SPLIT_BF16X6, SPLIT_FMA},
                                         {SPLIT_BF16X6, SPLIT_BF16X6, SPLIT_FMA},
                                         {SPLIT_FMA, SPLIT_FMA, SPLIT_FMA}};

static split_matrix make(data_kind kind, int64_t rows, int64_t cols, int by_columns) {
    split_matrix m = split_matrix_make(rows, cols, by_columns, 0, 1);
    for (int64_t i = 0; i < rows * cols; i++)
        m.data[i] = (float)ldexp(0.5 + fabs(rng_real(test_random())),
                                 kind == WIDE ? (int)rng_range(test_random(), -30, 30) : 0);
    if (kind == SPECIAL) m.data[3] = INFINITY;
    return m;
}

typedef struct kept_case {
    split_bench bench;
    split_matrix a[KINDS], b[KINDS], c, plain;
    split_kept kept_a[KINDS], kept_b[KINDS];
} kept_case;

/* One product without what is kept, then with that of A, of B, or of both. */
static void try_pair(kept_case *t, const char *kernel, int of_a, int of_b, int which) {
    static const int launches[4] = {2, 3, 3, 2};
    int64_t bytes = t->c.rows * t->c.cols * (int64_t)sizeof(float);
    t->bench.kept_a = t->bench.kept_b = NULL;
    int expected = split_multiply(&t->bench, kernel, 1, &t->a[of_a], &t->b[of_b], 0, &t->plain, 1);
    t->bench.kept_a = which & 1 ? &t->kept_a[of_a] : NULL;
    t->bench.kept_b = which & 2 ? &t->kept_b[of_b] : NULL;
    int way = split_multiply(&t->bench, kernel, 1, &t->a[of_a], &t->b[of_b], 0, &t->c, 1);
    int wanted = way_of[of_a][of_b];
    if (strcmp(kernel, "split_02_bf16x6") == 0 && wanted == SPLIT_FP16X3) wanted = SPLIT_BF16X6;
    CHECK(way == expected && way == wanted, "%s, data %d and %d, kept %d: way %d, not %d", kernel, of_a, of_b,
          which, way, wanted);
    CHECK(t->bench.launches == launches[which], "kept %d: %d launches", which, t->bench.launches);
    CHECK(memcmp(t->c.data, t->plain.data, (size_t)bytes) == 0, "%s, data %d and %d, kept %d: C differs",
          kernel, of_a, of_b, which);
}

/* Parts of an operand are written anew when a product takes another way, and again for the next. */
TEST(split_kept_parts_give_the_same_bits) {
    static const char *const kernels[] = {"split_01_fp16x3", "split_02_bf16x6", "split_03_mma"};
    enum { M = 20, N = 12, DEPTH = 150 };
    kept_case t = {.c = split_matrix_make(M, N, 0, 0, 1), .plain = split_matrix_make(M, N, 0, 0, 1)};
    for (int kind = 0; kind < KINDS; kind++) {
        t.a[kind] = make((data_kind)kind, M, DEPTH, kind == WIDE);
        t.b[kind] = make((data_kind)kind, DEPTH, N, kind == WIDE);
        split_keep_matrix(&t.bench, &t.a[kind], 1, &t.kept_a[kind]);
        split_keep_matrix(&t.bench, &t.b[kind], 0, &t.kept_b[kind]);
        CHECK(*(int32_t *)(void *)t.kept_a[kind].memory == way_of[kind][PLAIN], "kept %d: way %d", kind,
              *(int32_t *)(void *)t.kept_a[kind].memory);
    }
    for (int turn = 0; turn < 3 * KINDS * KINDS; turn++)
        for (int which = turn < 2 * KINDS * KINDS ? 0 : 3; which < 4; which++)
            try_pair(&t, kernels[turn / (KINDS * KINDS)], turn / KINDS % KINDS, turn % KINDS, which);
    for (int kind = 0; kind < KINDS; kind++) {
        free(t.a[kind].data), free(t.b[kind].data);
        free(t.kept_a[kind].memory), free(t.kept_b[kind].memory);
    }
    free(t.c.data), free(t.plain.data);
    split_bench_close(&t.bench);
}

/* A product without what is kept, then with that of A, of B, or of both. */
static void try_kept(split_bench *bench, const char *what, const split_matrix *a, const split_matrix *b,
                     const split_matrix *c, const split_kept kept[2]) {
    size_t bytes = (size_t)(c->rows * c->cols) * sizeof(float);
    float *want = test_alloc(bytes);
    for (int which = 0; which < 4; which++) {
        bench->kept_a = which & 1 ? &kept[0] : NULL;
        bench->kept_b = which & 2 ? &kept[1] : NULL;
        split_multiply(bench, "split_01_fp16x3", 1, a, b, 0, c, 1);
        if (which == 0) memcpy(want, c->data, bytes);
        CHECK(memcmp(c->data, want, bytes) == 0, "%s, kept %d: C differs", what, which);
    }
    bench->kept_a = bench->kept_b = NULL;
    free(want);
}

/* The simulator's product in shares of k, with all that can be kept, is that of the plain sums of integers. */
static void try_kept_shares(const split_matrix *a, const split_matrix *b, const split_matrix *c,
                            const split_kept kept[2]) {
    tess_matrix A = tess_view_strided(TESS_F32, a->rows, a->cols, a->data, a->row, a->col),
                B = tess_view_strided(TESS_F32, b->rows, b->cols, b->data, b->row, b->col),
                C = tess_view_strided(TESS_F32, c->rows, c->cols, c->data, c->row, c->col);
    operands data =
        {.a = a->data, .b = b->data, .c = c->data, .alpha = 1, .kept_a = &kept[0], .kept_b = &kept[1]};
    tess_options options = {.kernel = "split_03_mma"};
    tess_check check = {.passed = 0};
    device *dev = NULL;
    plan decided;
    sentence why = {""};
    if (!CHECK(sim_device_ops.open(&dev, 0, &why) == TESS_OK, "%s", why.text)) return;
    CHECK(plan_make(dev, &A, &B, &C, NULL, &options, &decided, &why) == TESS_OK, "%s", why.text);
    decided.share = 512;
    CHECK(dev->ops->prepare(dev, &decided, &why) == TESS_OK &&
              dev->ops->run(dev, &decided, &data, &why) == TESS_OK,
          "%s", why.text);
    CHECK(tess_check_gemm(1, &A, &B, 0, NULL, &C, TESS_CHECK_EXACT, 1, &check) == TESS_OK && check.passed,
          "in shares C(%lld, %lld) is %g, want %g", (long long)check.row, (long long)check.col, check.got,
          check.want);
    dev->ops->close(dev);
}

/* What is kept is of all k, and of the matrix that the caller calls A: products that are cut along k, or turned because C lies
 * in columns, must not take it for something else. */
TEST(split_kept_parts_of_products_that_are_cut_or_turned) {
    enum { M = 10, N = 7, DEPTH = 2100 };
    split_bench bench = {.slices = 0};
    split_kept kept[2];
    split_matrix a = split_matrix_make(M, DEPTH, 0, 0, 1), b = split_matrix_make(DEPTH, N, 0, 0, 1),
                 rows = split_matrix_make(M, N, 0, 0, 1), columns = split_matrix_make(M, N, 1, 0, 1);
    for (int64_t i = 0; i < M * DEPTH; i++) a.data[i] = (float)rng_range(test_random(), -9, 9);
    for (int64_t i = 0; i < N * DEPTH; i++) b.data[i] = (float)rng_range(test_random(), -9, 9);
    split_keep_matrix(&bench, &a, 1, &kept[0]);
    split_keep_matrix(&bench, &b, 0, &kept[1]);
    try_kept(&bench, "turned", &a, &b, &columns, kept);
    bench.slices = 2;
    try_kept(&bench, "in slices", &a, &b, &rows, kept);
    try_kept_shares(&a, &b, &rows, kept);
    problem run =
        {.in = TESS_F32, .out = TESS_F32, .acc = TESS_F32, .m = M, .n = N, .k = DEPTH, .batch = {1, 0, 0, 0}};
    int64_t all = slices_workspace(&run, NULL, 2),
            got = slices_workspace(&run, &(operands){.kept_a = &kept[0], .kept_b = &kept[1]}, 2);
    CHECK(got == all, "slices, which use nothing that is kept, get %lld bytes of %lld", (long long)got,
          (long long)all);
    free(a.data), free(b.data), free(rows.data), free(columns.data);
    free(kept[0].memory), free(kept[1].memory);
    split_bench_close(&bench);
}

/* Of a product with room for pieces of tiles (the aid looks): by whichever launch comes before its kernel. */
TEST(split_tickets_are_cleared) {
    enum { N = 1031, DEPTH = 4224 };
    kept_case t = {.c = split_matrix_make(1, N, 0, 0, 1)};
    t.a[0] = make(PLAIN, 1, DEPTH, 0), t.b[0] = make(PLAIN, DEPTH, N, 1);
    split_keep_matrix(&t.bench, &t.a[0], 1, &t.kept_a[0]);
    split_keep_matrix(&t.bench, &t.b[0], 0, &t.kept_b[0]);
    for (int which = 0; which < 4; which++) {
        t.bench.kept_a = which & 1 ? &t.kept_a[0] : NULL;
        t.bench.kept_b = which & 2 ? &t.kept_b[0] : NULL;
        int way = split_multiply(&t.bench, "split_01_fp16x3", 1, &t.a[0], &t.b[0], 0, &t.c, 1);
        CHECK(way == SPLIT_FP16X3 && t.bench.last.room > 0, "way %d, room %lld", way,
              (long long)t.bench.last.room);
    }
    free(t.a[0].data), free(t.b[0].data), free(t.c.data);
    free(t.kept_a[0].memory), free(t.kept_b[0].memory);
    split_bench_close(&t.bench);
}

/* Integers are exact however k is cut; and what one slice has of infinities is added to by the others. */
TEST(split_slices_add_up) {
    enum { M = 10, N = 9, DEPTH = 2100 };
    split_bench bench = {.slices = 2};
    split_matrix a = split_matrix_make(M, DEPTH, 1, 0, 1), b = split_matrix_make(DEPTH, N, 0, 2, 1),
                 c = split_matrix_make(M, N, 0, 0, 1);
    for (int special = 0; special < 2; special++) {
        for (int64_t k = 0; k < DEPTH; k++) {
            for (int64_t i = 0; i < M; i++) *split_at(&a, 0, i, k) = (float)rng_range(test_random(), -9, 9);
            for (int64_t j = 0; j < N; j++) *split_at(&b, 0, k, j) = (float)rng_range(test_random(), -9, 9);
        }
        if (special) *split_at(&a, 0, 4, 7) = INFINITY, *split_at(&b, 0, 7, 2) = 3;
        for (int64_t i = 0; i < M * N; i++) c.data[i] = (float)(i - 20);
        int way = split_multiply(&bench, special ? "split_03_mma" : "split_01_fp16x3", 2, &a, &b, -3, &c, 1);
        CHECK(way == SPLIT_FP16X3 && bench.launches == (special ? 6 : 4),
              "way %d of the last slice, %d launches", way, bench.launches);
        CHECK(bench.last.k == DEPTH - 1088 && (double)bench.last.beta == 1, "a slice of %d, beta %g",
              bench.last.k, (double)bench.last.beta);
        for (int64_t i = 0; i < M * N; i++) {
            double want = -3 * (double)(i - 20);
            for (int64_t k = 0; k < DEPTH; k++)
                want += 2 * (double)*split_at(&a, 0, i / N, k) * (double)*split_at(&b, 0, k, i % N);
            double got = (double)c.data[i];
            CHECK(got == want || (isnan(got) && isnan(want)), "element %d is %g, not %g", (int)i, got, want);
        }
    }
    free(a.data), free(b.data), free(c.data);
    split_bench_close(&bench);
}
