/* split_mma.c: f32 by parts in the simulator, as the public header has it: split_03_mma on shapes, orders and batches drawn
 * by chance, with every access watched where that can be done. The data decide the way, every element is within the bound
 * of f32, and what is not finite stands where multiply-adds in order put it. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Numbers like each other; of exponents that f16 does not carry; with an infinity or a NaN; and products beyond f32. */
typedef enum data_kind { PLAIN, WIDE, SPECIAL, BEYOND, KINDS } data_kind;
static const tess_way way_of[KINDS] = {TESS_WAY_FP16X3, TESS_WAY_BF16X6, TESS_WAY_F32, TESS_WAY_BF16X6};

/* Matrices of a batch, each in rows, in columns, or with a step between neighbours too. */
typedef struct stored {
    float *data;
    tess_matrix view;
    int64_t batch;
} stored;

static stored make(int64_t rows, int64_t cols, int order, int64_t count) {
    int64_t step = order == 2 ? 2 : 1, length = order == 1 ? rows : cols, lines = order == 1 ? cols : rows,
            distance = (length + rng_range(test_random(), 0, 2)) * step;
    stored s = {.batch = lines * distance};
    s.data = test_alloc((size_t)(s.batch * count) * sizeof(float));
    for (int64_t i = 0; i < s.batch * count; i++) s.data[i] = NAN;
    s.view = tess_view_strided(TESS_F32, rows, cols, s.data, order == 1 ? step : distance,
                               order == 1 ? distance : step);
    return s;
}

static float *at(const stored *s, int64_t product, int64_t row, int64_t col) {
    return s->data + product * s->batch + row * s->view.row_stride + col * s->view.col_stride;
}

static float draw(data_kind kind) {
    test_rng *rng = test_random();
    double x = (0.5 + fabs(rng_real(rng)) / 2) * (rng_bits(rng) & 1 && kind != BEYOND ? -1 : 1);
    int exponent = kind == WIDE ? (int)rng_range(rng, -30, 30) : kind == BEYOND ? 64 : 0;
    return (float)ldexp(x, exponent);
}

static void fill(const stored *s, data_kind kind, int64_t count) {
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < s->view.rows; i++)
            for (int64_t j = 0; j < s->view.cols; j++) *at(s, p, i, j) = draw(kind);
}

/* In row 0 of A: elements that make it what its kind says, whatever was drawn. */
static void mark(const stored *a, data_kind kind) {
    static const float specials[] = {INFINITY, -INFINITY, NAN};
    int64_t last = a->view.cols - 1;
    if (kind == SPECIAL)
        *at(a, 0, 0, rng_range(test_random(), 0, last)) = specials[rng_bits(test_random()) % 3];
    if (kind == WIDE || kind == BEYOND)
        for (int64_t k = 1; k < last; k++) *at(a, 0, 0, k) = 0;
    if (kind == WIDE || kind == BEYOND) *at(a, 0, 0, last) = ldexpf(*at(a, 0, 0, 0), -30);
}

/* One element against sums in double, and against multiply-adds in order where those are not finite. */
static void check_element(const char *what, const stored *a, const stored *b, float got, float before,
                          const double scalars[2], int64_t p, int64_t i, int64_t j) {
    const double u = 0x1p-24;
    int64_t k = a->view.cols;
    float in_order = 0;
    double exact = 0, magnitude = 0, alpha = scalars[0], beta = scalars[1];
    for (int64_t x = 0; x < k; x++) {
        float of_a = *at(a, p, i, x), of_b = *at(b, p, x, j);
        in_order = fmaf(of_a, of_b, in_order);
        exact += (double)of_a * (double)of_b;
        magnitude += fabs((double)of_a * (double)of_b);
    }
    float plain = (float)alpha * in_order;
    if (beta != 0) plain = fmaf((float)beta, before, plain);
    if (!isfinite(plain)) {
        CHECK(isnan(plain) ? isnan(got) : got == plain, "%s: C[%d][%d] of product %d is %g, not %g", what,
              (int)i, (int)j, (int)p, (double)got, (double)plain);
        return;
    }
    double want = alpha * exact + (beta != 0 ? beta * (double)before : 0),
           bound = u * (((double)k + 10) * fabs(alpha) * magnitude + 2 * fabs(want));
    CHECK(fabs((double)got - want) <= bound, "%s: C[%d][%d] of product %d is %a, not %a (%.1f u off)", what,
          (int)i, (int)j, (int)p, (double)got, want,
          fabs((double)got - want) / u / (fabs(alpha) * magnitude));
}

static void try_product(tess_context *ctx, data_kind kind, int turn) {
    static const double scalars[][2] = {{1, 0}, {-2, 0.5}, {1, 1}};
    int64_t count = turn % 3 == 0 ? 2 : 1, least = count > 1 ? 129 : 1; /* then blocks have several tiles */
    int64_t m = rng_range(test_random(), least, 140), n = rng_range(test_random(), least, 140),
            k = rng_range(test_random(), 3, 200);
    stored a = make(m, k, turn % 3, count), b = make(k, n, (turn / 3 + turn + 1) % 3, count),
           c = make(m, n, (turn + 2) % 3, count), before = c;
    const double *by = scalars[turn % 3];
    const tess_options options = {.kernel = "split_03_mma"};
    const tess_batch batch = {count, a.batch, b.batch, c.batch};
    tess_way way = TESS_WAY_ONLY;
    char what[96];
    snprintf(what, sizeof what, "turn %d: %dx%dx%d, data %d", turn, (int)m, (int)n, (int)k, (int)kind);
    fill(&a, kind, count);
    fill(&b, kind, count);
    fill(&c, PLAIN, count);
    mark(&a, kind);
    before.data = test_alloc((size_t)(c.batch * count) * sizeof(float));
    for (int64_t i = 0; i < c.batch * count; i++) before.data[i] = c.data[i];
    CHECK_STATUS(tess_gemm_batched(ctx, by[0], &a.view, &b.view, by[1], &c.view, &batch, &options), TESS_OK,
                 ctx);
    CHECK_STATUS(tess_way_taken(ctx, &way), TESS_OK, ctx);
    CHECK(way == way_of[kind], "%s: way %d, not %d", what, (int)way, (int)way_of[kind]);
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                check_element(what, &a, &b, *at(&c, p, i, j), *at(&before, p, i, j), by, p, i, j);
    free(a.data), free(b.data), free(c.data), free(before.data);
}

TEST(split_mma_by_chance) {
    tess_context *ctx = NULL;
    if (tess_open(&ctx, "sim:checked") != TESS_OK && tess_open(&ctx, "sim") != TESS_OK) {
        harness_skip("%s", tess_error(NULL));
        return;
    }
    for (sampling s = sampling_start(KINDS, 8, 1.5); sampling_next(&s);)
        try_product(ctx, (data_kind)(s.index % KINDS), (int)s.index);
    tess_close(ctx);
}
