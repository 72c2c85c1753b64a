/* cpu_05_vector: m = 1 or n = 1, a matrix times a vector.
 * before:  cpu_03_packed
 * change:  no tile and no packing: each element of the matrix is read once, in the order it lies in memory
 * why:     with one row or column of C there is nothing to reuse; the time is that of reading the matrix
 *
 * If the matrix's rows are contiguous, each result is a dot product; if its columns are, they are added into
 * CHUNK sums at a time. Threads share out the results, never the depth. */
#include <math.h>

#include "cpu.h"

/* Sums at a time, and columns that are added to them together: few, where those so many further on are fetched ahead, or many. */
enum { CHUNK = CPU_IS_ARM ? 1 << 16 : 4096 };
enum { FEW = 4, MANY = 8, AHEAD = 3 * FEW };
/* Of dot products: how many bytes ahead one fetches, across the ends of rows; and rows and vectors of sums at most. */
enum { FETCHED = 12288, MOST_ROWS = 4, MOST_VECTORS = 4 };

/* `count` results, a row of the matrix each; row i begins at matrix + i*count_stride. */
typedef struct vector_part {
    const void *matrix;
    int64_t count, k, count_stride, depth_stride;
    int by_fours; /* rows */
    int fetches;  /* what comes next is fetched ahead */
} vector_part;

/* x*y + z, one by one. Vectors are fused on Arm, and single elements have to be told: compilers do it in one loop and not in
 * the next, and rows four at a time would have other bits than a row by itself. */
#if defined(__aarch64__)
static inline uint32_t multiply_add(uint32_t x, uint32_t y, uint32_t z) {
    return x * y + z;
}
/* clang-format off */
#define MULTIPLY_ADD(x, y, z) _Generic((z), float: fmaf, double: fma, uint32_t: multiply_add)(x, y, z)
/* clang-format on */
#else
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif

#define TEMPLATE "cpu_05_vector_typed.h"
#include "each_type.h"

typedef struct vector_loops {
    void (*dots)(const vector_part *part, void *sums, const void *x);
    void (*columns)(const vector_part *part, void *sums, const void *x);
    void (*gather)(const void *from, int64_t stride, int64_t k, void *to);
} vector_loops;

static const vector_loops by_type[] = {
    [TESS_F32] = {dots_f32, columns_f32, gather_f32}, [TESS_F64] = {dots_f64, columns_f64, gather_f64},
    [TESS_F16] = {dots_f16, columns_f16, gather_f16}, [TESS_BF16] = {dots_bf16, columns_bf16, gather_bf16},
    [TESS_I32] = {dots_i32, columns_i32, gather_i32}, [TESS_I8] = {dots_i8, columns_i8, gather_i8},
};

static tess_status prepare(plan *decided, sentence *why) {
    const problem *what = &decided->what;
    if (what->m <= 1 || what->n <= 1) return TESS_OK;
    return status_fail(why, TESS_ERROR_KERNEL,
                       "cpu_05_vector takes products with m = 1 or n = 1, not %lld×%lld", (long long)what->m,
                       (long long)what->n);
}

static int64_t results_of(const problem *what) {
    return what->m == 1 ? what->n : what->m;
}

/* Each thread keeps the vector and a chunk of sums. */
static int64_t chunk_of(const problem *what) {
    return results_of(what) < CHUNK ? results_of(what) : CHUNK;
}
static size_t scratch_of_thread(const problem *what) {
    return (size_t)(what->k + chunk_of(what) + 16) / 16 * 16 * (size_t)numeric_size(what->acc);
}

/* From memory, and not from a cache. */
static int is_far(const problem *what) {
    int64_t l3 = cpu_read_facts()->l3;
    double bytes = (double)results_of(what) * (double)what->k * (double)numeric_size(what->in);
    return bytes > (double)(l3 ? l3 : 8 << 20);
}

/* Rows four at a time: short ones, where beginning and ending is most of it. And on an Arm core others that are in a cache,
 * or whose vector does not fit the first: four share what is read of it. But memory wants to be read in order. */
static int is_by_fours(const problem *what) {
    enum { SHORT_ROW = 128 };
    if (what->k <= SHORT_ROW) return 1;
    return CPU_IS_ARM && (!is_far(what) || what->k * numeric_size(what->acc) > cpu_read_facts()->l1d);
}

/* What is fetched needlessly costs time: on an Arm core from a cache, in long columns, which it fetches better by itself, and
 * where vectors of a row are cut by the ends of lines. An x86 core is helped with columns alone. */
static int is_worth_fetching(const problem *what, const vector_part *part) {
    enum { SHORT_COLUMN = 16 << 10 };
    int64_t size = numeric_size(what->in);
    int in_columns = part->depth_stride != 1;
    if (!CPU_IS_ARM) return in_columns;
    if (!is_far(what)) return 0;
    return in_columns ? part->count * size <= SHORT_COLUMN : part->count_stride * size % 16 == 0;
}

static size_t scratch_size(const plan *decided, int threads) {
    return scratch_of_thread(&decided->what) * (size_t)threads;
}

/* Results [first, first+count) of one product. A row of C is its transpose's column: B' times A'. */
static void multiply_part(const cpu_product *product, int64_t first, int64_t count, char *scratch) {
    const problem *what = product->what;
    int is_row = what->m == 1;
    const vector_loops *loops = &by_type[what->in];
    vector_part part = {.k = what->k,
                        .count_stride = is_row ? what->b_col : what->a_row,
                        .depth_stride = is_row ? what->b_row : what->a_col,
                        .by_fours = is_by_fours(what)};
    int64_t c_stride = is_row ? what->c_col : what->c_row;
    cpu_store store = {what->out, what->acc, NULL, 0, c_stride, product->alpha, product->beta};
    int64_t chunk = chunk_of(what);
    char *sums = scratch, *x = scratch + (size_t)chunk * (size_t)numeric_size(what->acc);
    loops->gather(is_row ? product->a : product->b, is_row ? what->a_col : what->b_row, what->k, x);
    for (int64_t done = 0; done < count; done += chunk) {
        part.count = count - done < chunk ? count - done : chunk;
        part.fetches = is_worth_fetching(what, &part);
        part.matrix =
            cpu_at(is_row ? product->b : product->a, what->in, first + done, part.count_stride, 0, 0);
        (part.depth_stride == 1 ? loops->dots : loops->columns)(&part, sums, x);
        store.c = product->c + (first + done) * c_stride * numeric_size(what->out);
        cpu_store_sums(&store, sums, 0, 1, part.count);
    }
}

static void run(cpu_job *job, int thread) {
    const problem *what = &job->decided->what;
    int64_t parts = job->threads > what->batch.count ? job->threads : 1, total = parts * what->batch.count;
    char *scratch = job->scratch + (size_t)thread * scratch_of_thread(what);
    for (int64_t at; (at = atomic_fetch_add(&job->next, 1)) < total;) {
        cpu_product product = cpu_product_at(job, at / parts);
        int64_t first, count;
        cpu_cut(results_of(what), 16, parts, at % parts, &first, &count);
        if (count > 0) multiply_part(&product, first, count, scratch);
    }
}

const cpu_kernel cpu_05_vector = {"cpu_05_vector", prepare, scratch_size, run};
