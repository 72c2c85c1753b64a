/* unit_split_kept.c: products whose parts are kept from one to the next, or are written slice by slice of k: the same bits
 * as without, whatever the other matrix asks for. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
