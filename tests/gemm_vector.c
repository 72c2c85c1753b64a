/* gemm_vector.c: a matrix times a vector, of every length around those that its loops are written for: whole vectors of
 * registers, what is left of them, rows four at a time, columns few and many at a time; and long ones, which are fetched
 * ahead. */
#include "problem.h"

#include <string.h>

/* Results: with and without a remainder of four, and more than one thread has. */
static const int64_t results[] = {1, 3, 4, 6, 33};
enum { RESULTS = sizeof results / sizeof *results };

static int try_vector(tess_context *ctx, int pair, int64_t count, int64_t k, int order, data_kind data) {
    static const tess_options options = {.kernel = "cpu_05_vector"};
    problem_spec spec = {.types = type_pairs[pair],
                         .m = order & 1 ? 1 : count,
                         .n = order & 1 ? count : 1,
                         .k = k,
                         .alpha = 2,
                         .beta = order % 3,
                         .store_a = order & 2 ? STORE_COL : STORE_ROW,
                         .store_b = order & 4 ? STORE_COL_PADDED : STORE_ROW_PADDED,
                         .store_c = STORE_ROW,
                         .data = data};
    problem p;
    problem_make(&p, &spec, test_random());
    tess_status status = problem_run(&p, ctx, &options);
    int right = CHECK(status == TESS_OK, "%s: %s", problem_text(&p), tess_error(ctx)) &&
                problem_check(&p, "a vector");
    problem_free(&p);
    return right;
}

TEST(gemm_vector_of_every_length) {
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    int right = 1;
    for (int64_t k = 1; right && k <= 150; k = k == 45 ? 120 : k + 1)
        for (int i = 0; right && i < RESULTS * 8; i++)
            right =
                try_vector(ctx, (int)(k + i) % TYPE_PAIRS, results[i % RESULTS], k, i / RESULTS, DATA_EXACT);
    tess_close(ctx);
}

/* More than the caches have: rows and columns that begin at multiples of 16 bytes and not, short columns and long. */
TEST(gemm_vector_from_memory) {
    static const int64_t shapes[][2] = {{2500, 4100}, {2505, 4097}, {4100, 2500}, {70001, 140}};
    tess_context *ctx = open_cpu(0);
    if (!ctx) return;
    for (int i = 0; i < 4; i++)
        for (int order = 0; order < 4; order++)
            if (!try_vector(ctx, order % 2, shapes[i][0], shapes[i][1], order == 0 ? 0 : 2 * order + 1,
                            DATA_RANDOM))
                break;
    tess_close(ctx);
}

/* Rows that are equal have equal results, whether four are taken at a time or one. */
TEST(gemm_vector_results_do_not_depend_on_their_row) {
    enum { ROWS = 7, LONGEST = 150 };
    static float a[ROWS * LONGEST], x[LONGEST], c[ROWS];
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    for (int64_t k = 1; k <= LONGEST; k++) {
        for (int64_t p = 0; p < k; p++) {
            x[p] = (float)rng_real(test_random());
            float element = (float)rng_real(test_random());
            for (int row = 0; row < ROWS; row++) a[row * k + p] = element;
        }
        CHECK_STATUS(tess_sgemm(ctx, TESS_ROW_MAJOR, TESS_NO_TRANS, TESS_NO_TRANS, ROWS, 1, k, 1, a, k, x, 1,
                                0, c, 1),
                     TESS_OK, ctx);
        for (int row = 1; row < ROWS; row++)
            if (!CHECK(memcmp(&c[row], &c[0], sizeof *c) == 0, "k = %d: row 0 is %.9g, row %d is %.9g",
                       (int)k, (double)c[0], row, (double)c[row]))
                break;
    }
    tess_close(ctx);
}
