/* gemm_direct.c: cpu_04_direct takes any number of columns, touches nothing beyond them, and gives cpu_03_packed's bits.
 * Each matrix ends where a page that cannot be touched begins, and the gaps between C's rows must stay as they were. */
#include "problem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Beyond three vectors of 64 bytes of f32, the widest tile there is, and one more; deep enough for the order of additions
 * to show. The rows are one tile of each height. */
enum { MOST_COLS = 66, ROWS = 15, DEPTH = 23, GAP = 3 };

/* A matrix by rows, `gap` elements apart. */
typedef struct fenced {
    unsigned char *pages;
    size_t mapped, bytes;
    tess_matrix view;
} fenced;

static int make_fenced(fenced *f, tess_type type, int64_t rows, int64_t cols, int64_t gap) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    f->bytes = (size_t)((rows - 1) * (cols + gap) + cols) * tess_type_size(type);
    f->mapped = (f->bytes + page - 1) / page * page + page;
    f->pages = mmap(NULL, f->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(f->pages != MAP_FAILED, "no memory for %zu bytes", f->mapped)) return 0;
    unsigned char *fence = f->pages + f->mapped - page;
    CHECK(mprotect(fence, page, PROT_NONE) == 0, "no fence at %p", (void *)fence);
    f->view = tess_view_row_major(type, rows, cols, fence - f->bytes, cols + gap);
    return 1;
}

/* Bytes of 255: NaN in f32 and f64, in C and in the gaps. */
static void poison(const fenced *f) {
    memset(f->view.data, 255, f->bytes);
}

static int fill(const fenced *f, uint64_t seed) {
    poison(f);
    return CHECK_STATUS(tess_fill(&f->view, f->view.type == TESS_I32 ? TESS_FILL_INTEGER : TESS_FILL_UNIFORM,
                                  f->view.type == TESS_I32 ? 1000 : 1, seed),
                        TESS_OK, NULL);
}

typedef struct scalars {
    double alpha, beta;
} scalars;

/* C as one kernel leaves it, gaps included. The transposed product has its columns where this one has its rows. */
static unsigned char *run(tess_context *ctx, const char *kernel, const fenced m[3], scalars s,
                          int transposed) {
    tess_options options = {.kernel = kernel};
    unsigned char *left = test_alloc(m[2].bytes);
    poison(&m[2]);
    if (s.beta != 0) fill(&m[2], 3);
    tess_matrix A = m[0].view, B = m[1].view, C = m[2].view;
    if (transposed) A = tess_transpose(m[1].view), B = tess_transpose(m[0].view), C = tess_transpose(C);
    CHECK_STATUS(tess_gemm(ctx, s.alpha, &A, &B, s.beta, &C, &options), TESS_OK, ctx);
    memcpy(left, m[2].view.data, m[2].bytes);
    return left;
}

static int gaps_untouched(const fenced *c, const unsigned char *left) {
    size_t size = tess_type_size(c->view.type);
    for (int64_t row = 0; row + 1 < c->view.rows; row++) {
        const unsigned char *gap = left + (size_t)(row * c->view.row_stride + c->view.cols) * size;
        for (size_t i = 0; i < GAP * size; i++)
            if (!CHECK(gap[i] == 255, "byte %zu beyond row %d of C was written", i, (int)row)) return 0;
    }
    return 1;
}

static int check_columns(tess_context *ctx, tess_type type, int64_t cols, scalars s, int transposed) {
    fenced m[3];
    if (!make_fenced(&m[0], type, ROWS, DEPTH, 0) || !make_fenced(&m[1], type, DEPTH, cols, cols % 2) ||
        !make_fenced(&m[2], type, ROWS, cols, GAP))
        return 0;
    fill(&m[0], 1);
    fill(&m[1], 2);
    unsigned char *direct = run(ctx, "cpu_04_direct", m, s, transposed);
    unsigned char *packed = run(ctx, "cpu_03_packed", m, s, transposed);
    int right = CHECK(memcmp(direct, packed, m[2].bytes) == 0,
                      "%s, %d columns, alpha %g, beta %g%s: the two kernels differ", tess_type_name(type),
                      (int)cols, s.alpha, s.beta, transposed ? ", transposed" : "") &&
                gaps_untouched(&m[2], direct);
    free(direct);
    free(packed);
    for (int i = 0; i < 3; i++) munmap(m[i].pages, m[i].mapped);
    return right;
}

TEST(gemm_direct_touches_only_its_columns) {
    static const tess_type types[] = {TESS_F32, TESS_F64, TESS_I32};
    static const scalars both[] = {{1, 0}, {2, 1}};
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    for (int t = 0; t < 3; t++)
        for (int64_t cols = 1; cols <= MOST_COLS; cols++)
            for (int i = 0; i < 4; i++)
                if (!check_columns(ctx, types[t], cols, both[i / 2], i % 2)) cols = MOST_COLS, i = 4;
    tess_close(ctx);
}

/* k beyond any depth at which sums are rounded into C, and fewer rows or columns than a panel is kept for: both kernels, and
 * the product of the transposes, add in the same order. */
TEST(gemm_direct_and_packed_add_in_one_order) {
    static const int64_t shapes[][3] = {{70, 90, 1300}, {20, 90, 1300}, {90, 20, 1300}, {3, 5, 2500}};
    static const tess_type types[] = {TESS_F32, TESS_F64};
    tess_context *ctx = open_cpu(1);
    if (!ctx) return;
    for (int i = 0; i < 8; i++) {
        const int64_t *size = shapes[i / 2];
        fenced m[3];
        if (!make_fenced(&m[0], types[i % 2], size[0], size[2], 0) ||
            !make_fenced(&m[1], types[i % 2], size[2], size[1], 0) ||
            !make_fenced(&m[2], types[i % 2], size[0], size[1], 0))
            break;
        fill(&m[0], 1);
        fill(&m[1], 2);
        unsigned char *first = run(ctx, "cpu_04_direct", m, (scalars){2, 1}, 0);
        for (int other = 1; other < 4; other++) {
            const char *kernel = other / 2 ? "cpu_03_packed" : "cpu_04_direct";
            unsigned char *left = run(ctx, kernel, m, (scalars){2, 1}, other % 2);
            CHECK(memcmp(first, left, m[2].bytes) == 0, "%s, %dx%dx%d, %s%s: other bits",
                  tess_type_name(types[i % 2]), (int)size[0], (int)size[1], (int)size[2], kernel,
                  other % 2 ? ", transposed" : "");
            free(left);
        }
        free(first);
        for (int j = 0; j < 3; j++) munmap(m[j].pages, m[j].mapped);
    }
    tess_close(ctx);
}

/* B in columns, which are turned into rows some at a time: fewer than a block of them, more than there is room for, and k
 * beyond a step; by one thread and by three. The same bits as from B in rows. */
TEST(gemm_direct_turns_columns_of_b) {
    static const int64_t shapes[][3] = {{5, 1, 1},    {4, 7, 9},    {9, 18, 3},      {15, 66, 23},
                                        {3, 900, 40}, {2, 40, 700}, {70, 300, 1300}, {300, 260, 50}};
    static const tess_type types[] = {TESS_F32, TESS_F64, TESS_I32};
    for (int threads = 1; threads <= 3; threads += 2) {
        tess_context *ctx = open_cpu(threads);
        if (!ctx) return;
        for (int i = 0; i < 24; i++) {
            const int64_t *size = shapes[i / 3];
            tess_type type = types[i % 3];
            fenced m[4]; /* the last is B, by columns */
            if (!make_fenced(&m[0], type, size[0], size[2], 0) ||
                !make_fenced(&m[1], type, size[2], size[1], 0) ||
                !make_fenced(&m[2], type, size[0], size[1], GAP) ||
                !make_fenced(&m[3], type, size[1], size[2], 1))
                break;
            fill(&m[0], 1);
            fill(&m[1], 2);
            fill(&m[3], 3);
            for (int64_t at = 0; at < size[1] * size[2]; at++)
                tess_set(m[3].view, at / size[2], at % size[2],
                         tess_get(m[1].view, at % size[2], at / size[2]));
            unsigned char *rows = run(ctx, "cpu_04_direct", m, (scalars){2, 1}, 0);
            fenced turned[3] = {m[0], m[3], m[2]};
            turned[1].view = tess_transpose(m[3].view);
            for (int transposed = 0; transposed < 2; transposed++) {
                unsigned char *left = run(ctx, "cpu_04_direct", turned, (scalars){2, 1}, transposed);
                CHECK(memcmp(rows, left, m[2].bytes) == 0 && gaps_untouched(&m[2], left),
                      "%s, %dx%dx%d, %d threads%s: other bits", tess_type_name(type), (int)size[0],
                      (int)size[1], (int)size[2], threads, transposed ? ", transposed" : "");
                free(left);
            }
            free(rows);
            for (int j = 0; j < 4; j++) munmap(m[j].pages, m[j].mapped);
        }
        tess_close(ctx);
    }
}
