/* counters.c: the simulator's counters beside those that Nsight Compute reads on a card.
 *
 *   counters run DEVICE TIMES FAMILY   so many products of every kernel of the family (simt or mma) in its types at
 *                                      every shape, and nothing else, for ncu to watch; prints what was run, in order
 *   counters join RUN.csv NCU.csv      what was run and what ncu (--csv --page raw) said of it, as counters.csv; of
 *                                      equal runs, the least of each counter
 *   counters clean NCU.csv             ncu's table: the launches and the sums, without names of the machine
 *   counters hash KERNEL               the hash of its code
 *   counters check FILE.csv FAMILY     compares a counters.csv with the simulator; what is excepted is listed;
 *                                      ends in "N passed, N failed"
 *
 * A row of counters.csv is a kernel with its own parameters, a hash of its code, a type and a shape; the columns
 * behind are sums of Nsight's metrics, empty where it has none. Run it where kernels/ is. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera.h"
#include "code_hash.h"

static const int64_t shapes[][3] = {{256, 256, 256}, {512, 384, 640}, {517, 263, 131}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* What the kernels of a family multiply. B lies in columns where i8 would be copied so otherwise. */
typedef struct product {
    const char *family, *name;
    tess_type in, out;
    int b_columns;
} product;
static const product products[] = {
    {"simt", "f32", TESS_F32, TESS_F32, 0},
    {"mma", "bf16", TESS_BF16, TESS_BF16, 0},
    {"mma", "i8", TESS_I8, TESS_I32, 1},
    {"mma", "f64", TESS_F64, TESS_F64, 0},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static int is_of(const char *kernel, const char *family) {
    size_t length = strlen(family);
    return strncmp(kernel, family, length) == 0 && kernel[length] == '_';
}

/* Whether the kernel is of that family, and takes what is multiplied. */
static int takes(const tess_kernel_info *kernel, const product *p) {
    return is_of(kernel->name, p->family) && strstr(kernel->types, p->name) != NULL;
}

static void fail(const char *what, const char *more) {
    fprintf(stderr, "counters: %s %s\n", what, more);
    exit(1);
}

/* ---- Tables ---- */

enum { COLUMNS = 2000, ROWS = 1000 };

typedef struct table {
    char *cells[ROWS][COLUMNS];
    int rows, columns;
} table;

enum { RUN_COLUMNS = 7 }; /* kernel, kernel_hash, params, type, m, n, k: what was run */

/* Takes one cell at *at, with or without quotes, and moves behind it. Returns what ended it. */
static char take_cell(char **at, char **cell) {
    char *from = *at, *to = *at;
    int quoted = *from == '"';
    *cell = to;
    if (quoted) from++;
    while (*from && (quoted ? *from != '"' : *from != ',' && *from != '\n')) *to++ = *from++;
    if (quoted && *from) from++;
    while (*from && *from != ',' && *from != '\n') from++;
    char end = *from;
    *at = end ? from + 1 : from;
    *to = '\0';
    return end;
}

/* Reads a CSV file from its first line that begins with `first`: ncu says other things before. */
static table *read_table(const char *path, const char *first) {
    table *t = calloc(1, sizeof *t);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 24), *at = text;
    if (!t || !text) fail("no memory for", path);
    if (!file) fail("cannot read", path);
    if (fread(text, 1, (1 << 24) - 1, file) == 0) fail("nothing in", path);
    fclose(file);
    while (*at && strncmp(at, first, strlen(first)) != 0) at = strchr(at, '\n') ? strchr(at, '\n') + 1 : "";
    if (!*at) fail("no table in", path);
    while (*at && t->rows < ROWS) {
        int column = 0;
        while (take_cell(&at, &t->cells[t->rows][column]) == ',')
            if (++column == COLUMNS) fail("too many columns in", path);
        if (t->rows == 0) t->columns = column + 1;
        t->rows += t->cells[t->rows][1] != NULL;
    }
    if (*at) fail("too many rows in", path);
    return t;
}

static int find_column(const table *t, const char *name) {
    for (int i = 0; i < t->columns; i++)
        if (strcmp(t->cells[0][i], name) == 0) return i;
    return -1;
}

static const char *cell(const table *t, int row, const char *column) {
    int at = find_column(t, column);
    return at >= 0 && t->cells[row][at] ? t->cells[row][at] : "";
}

/* "1,048,576" is a number too. Returns 0 if there is none. */
static int number(const char *text, double *value) {
    char plain[64], *end;
    size_t used = 0;
    for (; *text && used + 1 < sizeof plain; text++)
        if (*text != ',') plain[used++] = *text;
    plain[used] = '\0';
    *value = strtod(plain, &end);
    return end != plain;
}

/* ---- Running ---- */

static void print_run(const tess_plan *plan, const char *kernel, const char *type, const int64_t *s) {
    char params[200] = "";
    const char *from = strchr(tess_plan_sentence(plan), ' '), *to = from ? strstr(from, " on ") : NULL;
    if (to && to > from) snprintf(params, sizeof params, "%.*s", (int)(to - from - 1), from + 1);
    printf("%s,%016" PRIx64 ",%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 "\n", kernel, hash_code(kernel), params,
           type, s[0], s[1], s[2]);
    fflush(stdout);
}

/* The matrices of a product, without memory. */
static void shape_matrices(const product *p, const int64_t *s, tess_matrix *A, tess_matrix *B,
                           tess_matrix *C) {
    *A = tess_view_row_major(p->in, s[0], s[2], NULL, 0);
    *B = p->b_columns ? tess_view_col_major(p->in, s[2], s[1], NULL, 0)
                      : tess_view_row_major(p->in, s[2], s[1], NULL, 0);
    *C = tess_view_row_major(p->out, s[0], s[1], NULL, 0);
}

/* Gives a matrix memory of the device, full of zeros. */
static void fill_matrix(tess_context *ctx, tess_matrix *M) {
    size_t size = (size_t)(M->rows * M->cols) * tess_type_size(M->type);
    void *zeros = calloc(1, size);
    if (tess_alloc(ctx, size, &M->data) != TESS_OK || !zeros ||
        tess_copy(ctx, M->data, zeros, size) != TESS_OK)
        fail("", tess_error(ctx));
    free(zeros);
    M->place = TESS_DEVICE;
}

static void run_one(tess_context *ctx, const char *kernel, const product *p, const int64_t *s, int times) {
    tess_plan *plan;
    tess_options options = {.kernel = kernel};
    tess_matrix A, B, C;
    shape_matrices(p, s, &A, &B, &C);
    fill_matrix(ctx, &A), fill_matrix(ctx, &B), fill_matrix(ctx, &C);
    if (tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan) != TESS_OK) fail(kernel, tess_error(ctx));
    for (int i = 0; i < times; i++) {
        if (tess_run(plan, 1, &A, &B, 0, &C) != TESS_OK || tess_wait(ctx) != TESS_OK)
            fail(kernel, tess_error(ctx));
        print_run(plan, kernel, p->name, s);
    }
    tess_free_plan(plan);
    tess_free(ctx, A.data), tess_free(ctx, B.data), tess_free(ctx, C.data);
}

static int run(const char *device, int times, const char *family) {
    tess_context *ctx;
    tess_kernel_info info;
    if (tess_open(&ctx, device) != TESS_OK) fail("", tess_error(NULL));
    puts("kernel,kernel_hash,params,type,m,n,k");
    for (int i = 0; tess_describe_kernel(i, &info) == TESS_OK; i++)
        for (int p = 0; is_of(info.name, family) && p < PRODUCTS; p++)
            for (int s = 0; takes(&info, &products[p]) && s < SHAPES; s++)
                run_one(ctx, info.name, &products[p], shapes[s], times);
    tess_close(ctx);
    return 0;
}

/* ---- Joining ---- */

/* A column of counters.csv: the first of the names that ncu has. Its loads are all loads, those of cp.async
 * (LDGSTS) too; its shared stores are without them. */
static const struct metric {
    const char *column, *names[3];
} metrics[] = {
    {"load_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}},
    {"load_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}},
    {"store_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"}},
    {"store_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}},
    {"shared_load_instructions",
     {"smsp__sass_inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_ld.sum",
      "sass__inst_executed_shared_loads"}},
    {"shared_store_instructions",
     {"smsp__sass_inst_executed_op_shared_st.sum", "smsp__inst_executed_op_shared_st.sum",
      "sass__inst_executed_shared_stores"}},
    {"copy_instructions", {"smsp__sass_inst_executed_op_ldgsts.sum", "smsp__inst_executed_op_ldgsts.sum"}},
    {"shared_load_wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}},
    {"shared_load_conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"}},
    {"shared_store_wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}},
    {"shared_store_conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"}},
    {"shared_load_wavefronts_sass", {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}},
    {"shared_store_wavefronts_sass", {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}},
    {"copy_wavefronts_sass", {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"}},
    {"copy_conflicts_sass", {"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"}},
    {"thread_ffma", {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"}},
    {"ldmatrix_instructions", {"smsp__sass_inst_executed_op_ldsm.sum", "smsp__inst_executed_op_ldsm.sum"}},
    {"ldmatrix_wavefronts_sass", {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum"}},
    {"ldmatrix_conflicts_sass", {"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum"}},
    {"tensor_hmma",
     {"sm__inst_executed_pipe_tensor_op_hmma.sum", "smsp__inst_executed_pipe_tensor_op_hmma.sum"}},
    {"tensor_imma",
     {"sm__inst_executed_pipe_tensor_op_imma.sum", "smsp__inst_executed_pipe_tensor_op_imma.sum"}},
    {"tensor_dmma",
     {"sm__inst_executed_pipe_tensor_op_dmma.sum", "smsp__inst_executed_pipe_tensor_op_dmma.sum"}},
};
enum { METRICS = sizeof metrics / sizeof *metrics };

/* 0 if ncu has no such metric. */
static int read_metric(const table *ncu, int row, const struct metric *m, double *value) {
    for (int i = 0; i < 3 && m->names[i]; i++)
        if (number(cell(ncu, row, m->names[i]), value)) return 1;
    return 0;
}

/* The next row of ncu's table that is a launch of one of ours, from `row` on. */
static int next_launch(const table *ncu, int row) {
    for (; row < ncu->rows; row++)
        if (is_of(cell(ncu, row, "Kernel Name"), "simt") || is_of(cell(ncu, row, "Kernel Name"), "mma"))
            break;
    return row;
}

static int is_same_run(const table *ran, int x, int y) {
    for (int i = 0; i < RUN_COLUMNS; i++)
        if (y >= ran->rows || strcmp(ran->cells[x][i], ran->cells[y][i]) != 0) return 0;
    return 1;
}

/* What ncu has for `count` launches of one run: the hardware's counters are sometimes above the truth, never
 * below. */
static void print_least(const table *ncu, const int *launches, int count) {
    for (int i = 0; i < METRICS; i++) {
        double least = 0, value;
        int found = 0;
        for (int j = 0; j < count; j++)
            if (read_metric(ncu, launches[j], &metrics[i], &value) && (!found++ || value < least))
                least = value;
        if (found)
            printf(",%.0f", least);
        else
            printf(",");
    }
    printf("\n");
}

static int join(const char *run_path, const char *ncu_path) {
    table *ran = read_table(run_path, "kernel,"), *ncu = read_table(ncu_path, "\"ID\"");
    int launches[ROWS], count = 0, at = 0;
    for (int i = 0; i < RUN_COLUMNS; i++) printf("%s%s", i ? "," : "", ran->cells[0][i]);
    for (int i = 0; i < METRICS; i++) printf(",%s", metrics[i].column);
    printf("\n");
    for (int row = 1; row < ran->rows; row++) {
        at = next_launch(ncu, at + 1);
        if (at >= ncu->rows) fail("ncu has fewer launches than were run:", ncu_path);
        const char *kernel = ran->cells[row][0], *seen = cell(ncu, at, "Kernel Name");
        if (strncmp(seen, kernel, strlen(kernel)) != 0) fail("the launches are not in order:", seen);
        launches[count++] = at;
        if (is_same_run(ran, row, row + 1)) continue;
        for (int i = 0; i < RUN_COLUMNS; i++) printf("%s%s", i ? "," : "", ran->cells[row][i]);
        print_least(ncu, launches, count);
        count = 0;
    }
    return 0;
}

/* Whether a column of ncu's is about the launch or a sum: not the machine, not a mean of its parts. */
static int is_kept(const char *name) {
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".sum") == 0) return 1;
    return !strstr(name, "__") && strncmp(name, "Process", 7) != 0 && strncmp(name, "Host", 4) != 0;
}

static int clean(const char *path) {
    table *t = read_table(path, "\"ID\"");
    for (int row = 0; row < t->rows; row++) {
        const char *between = "";
        for (int i = 0; i < t->columns; i++) {
            if (!is_kept(t->cells[0][i])) continue;
            printf("%s\"%s\"", between, t->cells[row][i] ? t->cells[row][i] : "");
            between = ",";
        }
        printf("\n");
    }
    return 0;
}

/* ---- Checking ---- */

static int passed, failed;

static void count_here(tess_context *ctx, const char *kernel, const char *params, const product *p,
                       const int64_t *s, tess_counters *c) {
    tess_plan *plan;
    tess_options options = {.kernel = kernel, .params = params};
    tess_matrix A, B, C;
    shape_matrices(p, s, &A, &B, &C);
    if (tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan) != TESS_OK ||
        tess_count(plan, TESS_COUNT_COMPILED, c, NULL, NULL) != TESS_OK)
        fail(kernel, tess_error(ctx));
    tess_free_plan(plan);
}

/* What is compared: the sum of some columns, less those with a minus, with a counter of the simulator.
 *
 * Wavefronts are those of metrics that patch the code. The hardware's own counters are raised by arbitration,
 * of wavefronts and conflicts alike, so that wavefronts less conflicts are exact: those that no layout saves.
 * cp.async counts with the stores, ldmatrix with the loads. A multiply-add is two operations; those of tensor
 * cores are counted as instructions. */
enum { TERMS = 4 };
static const struct comparison {
    const char *family; /* NULL: of every family */
    const char *what, *terms[TERMS];
    size_t ours;
} comparisons[] = {
#define COMPARE(family, field, ...) \
    { family, #field, {__VA_ARGS__}, offsetof(tess_counters, field) }
    COMPARE(NULL, global_load_requests, "load_requests"),
    COMPARE(NULL, global_load_sectors, "load_sectors"),
    COMPARE(NULL, global_store_requests, "store_requests"),
    COMPARE(NULL, global_store_sectors, "store_sectors"),
    COMPARE(NULL, shared_load_instructions, "shared_load_instructions", "ldmatrix_instructions"),
    COMPARE(NULL, shared_load_wavefronts, "shared_load_wavefronts_sass", "ldmatrix_wavefronts_sass"),
    COMPARE(NULL, shared_load_conflicts, "shared_load_wavefronts_sass", "ldmatrix_wavefronts_sass",
            "-shared_load_wavefronts", "shared_load_conflicts"),
    COMPARE(NULL, shared_store_instructions, "shared_store_instructions", "copy_instructions"),
    COMPARE(NULL, shared_store_wavefronts, "shared_store_wavefronts_sass", "copy_wavefronts_sass"),
    COMPARE(NULL, shared_store_conflicts, "shared_store_wavefronts_sass", "-shared_store_wavefronts",
            "shared_store_conflicts", "copy_conflicts_sass"),
    COMPARE("simt", flops_issued, "thread_ffma", "thread_ffma"),
    COMPARE("mma", mma_instructions, "tensor_hmma", "tensor_imma", "tensor_dmma"),
#undef COMPARE
};
enum { COMPARISONS = sizeof comparisons / sizeof *comparisons };

/* A card without cp.async has no columns of it, and a table of kernels without ldmatrix or f64 none of that. */
static int may_be_missing(const char *kernel, const char *column) {
    return strncmp(column, "copy_", 5) == 0 ||
           (strcmp(kernel, "mma_08_f64") != 0 && strcmp(column, "tensor_dmma") == 0) ||
           (!is_of(kernel, "mma") && strncmp(column, "ldmatrix_", 9) == 0);
}

/* What the card has for a comparison; returns the column that is missing, or NULL. */
static const char *sum_of(const table *t, int row, const struct comparison *c, double *sum) {
    *sum = 0;
    for (int i = 0; i < TERMS && c->terms[i]; i++) {
        int minus = c->terms[i][0] == '-';
        const char *column = c->terms[i] + minus;
        double value = 0;
        if (!number(cell(t, row, column), &value) && !may_be_missing(t->cells[row][0], column)) return column;
        *sum += minus ? -value : value;
    }
    return NULL;
}

/* Where Nsight's own number is not what the simulator has (docs/COUNTERS.md has more): it is that of the copies of
 * the first so many bytes of k only, or so many times ours. */
static const struct exception {
    const char *kernel, *type, *what;
    double first_bytes, least, most;
    const char *reason;
} exceptions[] = {
#define UNSEEN "Nsight does not see copies under predicate P0, which are those of the loop"
#define RAISED "Nsight's metrics of these conflicts are raised, each by another number"
#define ABSENT "what copies of zeros for products that are not there take is not known"
    {"mma_03_async", "bf16", "shared_store_conflicts", 0, 1, 1.02, RAISED},
    {"mma_03_async", "i8", "shared_store_conflicts", 0, 1, 1.02, RAISED},
    {"mma_06_overlapped", "i8", "shared_store_wavefronts", 192, 1, 1, UNSEEN},
    {"mma_07_raster", "bf16", "shared_store_wavefronts", 192, 1, 1, UNSEEN},
    {"mma_07_raster", "i8", "shared_store_wavefronts", 192, 1, 1, UNSEEN},
    {"simt_16_batched", "f32", "shared_store_wavefronts", 0, 0.2, 1.07, ABSENT},
    {"simt_16_batched", "f32", "shared_store_conflicts", 0, 1.17, 1.21, ABSENT},
};
enum { EXCEPTIONS = sizeof exceptions / sizeof *exceptions };

/* Why the card may have this number where the simulator has `ours`; NULL if it may not. */
static const char *excuse(const table *t, int row, const char *what, double card, double ours) {
    char *const *cells = t->cells[row];
    double bytes = atof(cells[6]) * (strcmp(cells[3], "bf16") == 0 ? 2 : 1);
    for (int i = 0; i < EXCEPTIONS; i++) {
        const struct exception *e = &exceptions[i];
        double seen = e->first_bytes > 0 ? ours * e->first_bytes / bytes : ours;
        if (strcmp(e->kernel, cells[0]) == 0 && strcmp(e->type, cells[3]) == 0 && strcmp(e->what, what) == 0)
            return card >= seen * e->least && card <= seen * e->most ? e->reason : NULL;
    }
    return NULL;
}

static void compare(const table *t, int row, const struct comparison *c, const tess_counters *counted) {
    double card, ours = *(const double *)((const char *)counted + c->ours);
    const char *missing = sum_of(t, row, c, &card), *reason = NULL;
    int good = !missing && card == ours;
    if (!good && !missing) reason = excuse(t, row, c->what, card, ours);
    passed += good;
    failed += !good && !reason;
    if (good) return;
    printf("%s %s %s %sx%sx%s: ", reason ? "excepted" : "FAIL", t->cells[row][0], t->cells[row][3],
           t->cells[row][4], t->cells[row][5], t->cells[row][6]);
    if (missing)
        printf("there is no %s\n", missing);
    else
        printf("%s is %.0f on the card, %.0f in the simulator%s%s\n", c->what, card, ours, reason ? ": " : "",
               reason ? reason : "");
}

static void check_row(tess_context *ctx, const table *t, int row, const product *p) {
    tess_counters counted;
    int64_t s[3];
    for (int i = 0; i < 3; i++) s[i] = atoll(t->cells[row][4 + i]);
    for (char *at = t->cells[row][2]; *at; at++)
        if (*at == ' ') *at = ',';
    count_here(ctx, t->cells[row][0], t->cells[row][2], p, s, &counted);
    for (int i = 0; i < COMPARISONS; i++)
        if (!comparisons[i].family || strcmp(comparisons[i].family, p->family) == 0)
            compare(t, row, &comparisons[i], &counted);
}

/* The row of a kernel, this code of it, a type and a shape; 0 if there is none. */
static int find_row(const table *t, const char *kernel, const char *code, const char *type,
                    const int64_t *s) {
    for (int row = 1; row < t->rows; row++) {
        char *const *cells = t->cells[row];
        if (strcmp(cells[0], kernel) == 0 && strcmp(cells[1], code) == 0 && strcmp(cells[3], type) == 0 &&
            atoll(cells[4]) == s[0] && atoll(cells[5]) == s[1] && atoll(cells[6]) == s[2])
            return row;
    }
    return 0;
}

/* Compares what there is of a kernel; what is not there is listed. */
static void check_kernel(tess_context *ctx, const table *t, const tess_kernel_info *info) {
    const char *kernel = info->name;
    char code[32];
    int confirmed = 1;
    snprintf(code, sizeof code, "%016" PRIx64, hash_code(kernel));
    for (int p = 0; p < PRODUCTS; p++)
        for (int i = 0; takes(info, &products[p]) && i < SHAPES; i++) {
            int row = t ? find_row(t, kernel, code, products[p].name, shapes[i]) : 0;
            if (row) check_row(ctx, t, row, &products[p]);
            confirmed &= row > 0;
        }
    if (!confirmed) printf("not yet confirmed on a card: %s\n", kernel);
}

static int check(const char *path, const char *family) {
    tess_context *ctx;
    tess_kernel_info info;
    FILE *there = fopen(path, "r");
    table *t = there ? read_table(path, "kernel,") : NULL;
    if (there) fclose(there);
    if (tess_open(&ctx, "sim") != TESS_OK) fail("", tess_error(NULL));
    for (int i = 0; tess_describe_kernel(i, &info) == TESS_OK; i++)
        if (is_of(info.name, family)) check_kernel(ctx, t, &info);
    tess_close(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "run") == 0) return run(argv[2], atoi(argv[3]), argv[4]);
    if (argc == 3 && strcmp(argv[1], "hash") == 0) return printf("%016" PRIx64 "\n", hash_code(argv[2])) < 0;
    if (argc == 4 && strcmp(argv[1], "join") == 0) return join(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "clean") == 0) return clean(argv[2]);
    if (argc == 4 && strcmp(argv[1], "check") == 0) return check(argv[2], argv[3]);
    fprintf(stderr,
            "usage: counters run DEVICE TIMES FAMILY | join RUN.csv NCU.csv | hash KERNEL | clean NCU.csv | "
            "check FILE.csv FAMILY; a family is simt or mma\n");
    return 2;
}
