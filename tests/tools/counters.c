/* counters.c: the simulator's counters beside those that Nsight Compute reads on a card.
 *
 *     counters run DEVICE            one product of every simt kernel at every shape, and nothing else, for
 *                                    ncu to watch; prints what was run, in order
 *     counters join RUN.csv NCU.csv  what was run and what ncu (--csv --page raw) said of it, as counters.csv
 *     counters hash KERNEL           the hash of its code
 *     counters clean NCU.csv         ncu's table without the names of the machine
 *     counters check FILE.csv        compares a counters.csv with the simulator; ends in "N passed, N failed"
 *
 * A row of counters.csv is a kernel with its own parameters, a hash of its code and a shape; the columns behind
 * are sums of Nsight's metrics, empty where it has none. Run it where kernels/ is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera.h"
#include "code_hash.h"

static const int64_t shapes[][3] = {{256, 256, 256}, {512, 384, 640}, {517, 263, 131}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void fail(const char *what, const char *more) {
    fprintf(stderr, "counters: %s %s\n", what, more);
    exit(1);
}

/* ---- Tables ---- */

enum { COLUMNS = 400, ROWS = 4000 };

typedef struct table {
    char *cells[ROWS][COLUMNS];
    int rows, columns;
} table;

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
        while (take_cell(&at, &t->cells[t->rows][column < COLUMNS ? column : COLUMNS - 1]) == ',') column++;
        if (t->rows == 0) t->columns = column + 1 < COLUMNS ? column + 1 : COLUMNS;
        t->rows += t->cells[t->rows][1] != NULL;
    }
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

static void print_run(const tess_plan *plan, const char *kernel, const int64_t *s) {
    char params[200] = "";
    const char *from = strchr(tess_plan_sentence(plan), ' '), *to = from ? strstr(from, " on ") : NULL;
    if (to && to > from) snprintf(params, sizeof params, "%.*s", (int)(to - from - 1), from + 1);
    printf("%s,%016" PRIx64 ",%s,f32,%" PRId64 ",%" PRId64 ",%" PRId64 "\n", kernel, hash_code(kernel),
           params, s[0], s[1], s[2]);
    fflush(stdout);
}

static tess_matrix device_matrix(tess_context *ctx, int64_t rows, int64_t cols) {
    void *memory;
    if (tess_alloc(ctx, (size_t)(rows * cols) * 4, &memory) != TESS_OK) fail("", tess_error(ctx));
    tess_matrix M = tess_view_row_major(TESS_F32, rows, cols, memory, 0);
    float *zeros = calloc((size_t)(rows * cols), 4);
    if (!zeros || tess_copy(ctx, memory, zeros, (size_t)(rows * cols) * 4) != TESS_OK)
        fail("", tess_error(ctx));
    free(zeros);
    M.place = TESS_DEVICE;
    return M;
}

static void run_one(tess_context *ctx, const char *kernel, const int64_t *s) {
    tess_plan *plan;
    tess_options options = {.kernel = kernel};
    tess_matrix A = device_matrix(ctx, s[0], s[2]), B = device_matrix(ctx, s[2], s[1]),
                C = device_matrix(ctx, s[0], s[1]);
    if (tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan) != TESS_OK ||
        tess_run(plan, 1, &A, &B, 0, &C) != TESS_OK || tess_wait(ctx) != TESS_OK)
        fail(kernel, tess_error(ctx));
    print_run(plan, kernel, s);
    tess_free_plan(plan);
    tess_free(ctx, A.data), tess_free(ctx, B.data), tess_free(ctx, C.data);
}

static int is_simt(const tess_kernel_info *info) {
    return strncmp(info->name, "simt_", 5) == 0;
}

static int run(const char *device) {
    tess_context *ctx;
    tess_kernel_info info;
    if (tess_open(&ctx, device) != TESS_OK) fail("", tess_error(NULL));
    puts("kernel,kernel_hash,params,type,m,n,k");
    for (int i = 0; tess_describe_kernel(i, &info) == TESS_OK; i++)
        for (int s = 0; is_simt(&info) && s < SHAPES; s++) run_one(ctx, info.name, shapes[s]);
    tess_close(ctx);
    return 0;
}

/* ---- Joining ---- */

/* A column of counters.csv: the first of the names that ncu has, or the sum of two where it tells kinds of
 * cp.async apart. */
static const struct metric {
    const char *column, *names[3], *parts[2];
} metrics[] = {
    {"load_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}, {NULL}},
    {"load_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}, {NULL}},
    {"store_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"}, {NULL}},
    {"store_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}, {NULL}},
    {"copy_requests",
     {"l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum"},
     {"l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
      "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum"}},
    {"copy_sectors",
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"},
     {"l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum"}},
    {"copy_instructions",
     {"smsp__inst_executed_op_ldgsts.sum", "smsp__sass_inst_executed_op_ldgsts.sum"},
     {"smsp__inst_executed_op_ldgsts_cache_access.sum", "smsp__inst_executed_op_ldgsts_cache_bypass.sum"}},
    {"shared_load_instructions",
     {"smsp__sass_inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_ld.sum",
      "sass__inst_executed_shared_loads"},
     {NULL}},
    {"shared_store_instructions",
     {"smsp__sass_inst_executed_op_shared_st.sum", "smsp__inst_executed_op_shared_st.sum",
      "sass__inst_executed_shared_stores"},
     {NULL}},
    {"shared_load_wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}, {NULL}},
    {"shared_load_conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"}, {NULL}},
    {"shared_store_wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}, {NULL}},
    {"shared_store_conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"}, {NULL}},
    {"shared_wavefronts_sass", {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum"}, {NULL}},
    {"shared_conflicts_sass", {"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared.sum"}, {NULL}},
    {"thread_ffma", {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"}, {NULL}},
};
enum { METRICS = sizeof metrics / sizeof *metrics };

static void print_metric(const table *ncu, int row, const struct metric *m) {
    double value, part;
    for (int i = 0; i < 3 && m->names[i]; i++)
        if (number(cell(ncu, row, m->names[i]), &value)) {
            printf(",%.0f", value);
            return;
        }
    if (m->parts[0] && number(cell(ncu, row, m->parts[0]), &value) &&
        number(cell(ncu, row, m->parts[1]), &part))
        printf(",%.0f", value + part);
    else
        printf(",");
}

/* The next row of ncu's table that is a launch of one of ours, from `row` on. */
static int next_launch(const table *ncu, int row) {
    while (row < ncu->rows && strncmp(cell(ncu, row, "Kernel Name"), "simt_", 5) != 0) row++;
    return row;
}

static int join(const char *run_path, const char *ncu_path) {
    table *ran = read_table(run_path, "kernel,"), *ncu = read_table(ncu_path, "\"ID\"");
    printf("kernel,kernel_hash,params,type,m,n,k");
    for (int i = 0; i < METRICS; i++) printf(",%s", metrics[i].column);
    printf("\n");
    int at = 0;
    for (int row = 1; row < ran->rows; row++) {
        at = next_launch(ncu, at + 1);
        if (at >= ncu->rows) fail("ncu has fewer launches than were run:", ncu_path);
        const char *kernel = ran->cells[row][0], *seen = cell(ncu, at, "Kernel Name");
        if (strncmp(seen, kernel, strlen(kernel)) != 0) fail("the launches are not in order:", seen);
        for (int i = 0; i < 7; i++) printf("%s%s", i ? "," : "", ran->cells[row][i]);
        for (int i = 0; i < METRICS; i++) print_metric(ncu, at, &metrics[i]);
        printf("\n");
    }
    return 0;
}

static int clean(const char *path) {
    table *t = read_table(path, "\"ID\"");
    for (int row = 0; row < t->rows; row++) {
        const char *between = "";
        for (int i = 0; i < t->columns; i++) {
            const char *name = t->cells[0][i];
            if (strncmp(name, "Process", 7) == 0 || strncmp(name, "Host", 4) == 0) continue;
            printf("%s\"%s\"", between, t->cells[row][i] ? t->cells[row][i] : "");
            between = ",";
        }
        printf("\n");
    }
    return 0;
}

/* ---- Checking ---- */

static int passed, failed;

static void judge(int good, const char *kernel, const int64_t *s, const char *what, double card, double low,
                  double high) {
    passed += good;
    failed += !good;
    if (!good)
        printf("FAIL %s %" PRId64 "x%" PRId64 "x%" PRId64
               ": %s is %.0f on the card, %.0f%s in the simulator%s\n",
               kernel, s[0], s[1], s[2], what, card, low, high > low ? " or more" : "",
               high > low ? " (masked warps)" : "");
}

static void count_here(tess_context *ctx, const char *kernel, const char *params, const int64_t *s,
                       tess_counters *c) {
    tess_plan *plan;
    tess_options options = {.kernel = kernel, .params = params};
    tess_matrix A = tess_view_row_major(TESS_F32, s[0], s[2], NULL, 0),
                B = tess_view_row_major(TESS_F32, s[2], s[1], NULL, 0),
                C = tess_view_row_major(TESS_F32, s[0], s[1], NULL, 0);
    if (tess_plan_gemm(ctx, &A, &B, &C, NULL, &options, &plan) != TESS_OK ||
        tess_count(plan, TESS_COUNT_COMPILED, c, NULL, NULL) != TESS_OK)
        fail(kernel, tess_error(ctx));
    tess_free_plan(plan);
}

/* The sum of two columns, the second of which may be missing; 0 if the first is. */
static int sum_of(const table *t, int row, const char *first, const char *second, double *value) {
    double more;
    if (!number(cell(t, row, first), value)) return 0;
    if (second && number(cell(t, row, second), &more)) *value += more;
    return 1;
}

/* Requests of warps that are wholly masked are counted by some code and not by other: on ragged shapes the
 * card's lie between those with any lane and those of a shape of whole tiles. */
static void check_row(tess_context *ctx, const table *t, int row, const char *kernel) {
    static const int64_t tiles[3] = {128, 128, 32}; /* whole multiples of every kernel's */
    tess_counters c, most;
    int64_t s[3], whole[3];
    double card;
    for (int i = 0; i < 3; i++) {
        s[i] = atoll(t->cells[row][4 + i]);
        whole[i] = (s[i] + tiles[i] - 1) / tiles[i] * tiles[i];
    }
    for (char *at = t->cells[row][2]; *at; at++)
        if (*at == ' ') *at = ',';
    count_here(ctx, kernel, t->cells[row][2], s, &c);
    count_here(ctx, kernel, t->cells[row][2], whole, &most);
#define EXACT(first, second, ours) \
    if (sum_of(t, row, first, second, &card)) judge(card == (ours), kernel, s, first, card, ours, ours)
#define WITHIN(first, second, low, high)      \
    if (sum_of(t, row, first, second, &card)) \
    judge(card >= (low) && card <= (high), kernel, s, first, card, low, high)
    EXACT("load_sectors", "copy_sectors", c.global_load_sectors);
    EXACT("store_sectors", NULL, c.global_store_sectors);
    WITHIN("load_requests", "copy_requests", c.global_load_requests, most.global_load_requests);
    WITHIN("store_requests", NULL, c.global_store_requests, most.global_store_requests);
    EXACT("shared_load_instructions", NULL, c.shared_load_instructions);
    EXACT("shared_store_instructions", "copy_instructions", c.shared_store_instructions);
    EXACT("shared_wavefronts_sass", NULL, c.shared_load_wavefronts + c.shared_store_wavefronts);
    EXACT("shared_conflicts_sass", NULL, c.shared_load_conflicts + c.shared_store_conflicts);
    /* The hardware's own counter is a little above. */
    WITHIN("shared_load_wavefronts", NULL, c.shared_load_wavefronts, c.shared_load_wavefronts * 1.02);
#undef EXACT
#undef WITHIN
}

static int check(const char *path) {
    tess_context *ctx;
    tess_kernel_info info;
    FILE *there = fopen(path, "r");
    table *t = there ? read_table(path, "kernel,") : NULL;
    if (there) fclose(there);
    if (tess_open(&ctx, "sim") != TESS_OK) fail("", tess_error(NULL));
    for (int i = 0; tess_describe_kernel(i, &info) == TESS_OK; i++) {
        char code[32];
        int rows = 0;
        if (!is_simt(&info)) continue;
        snprintf(code, sizeof code, "%016" PRIx64, hash_code(info.name));
        for (int row = 1; t && row < t->rows; row++) {
            if (strcmp(t->cells[row][0], info.name) != 0 || strcmp(t->cells[row][1], code) != 0) continue;
            check_row(ctx, t, row, info.name);
            rows++;
        }
        if (rows == 0) printf("not yet confirmed on a card: %s\n", info.name);
    }
    tess_close(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "run") == 0) return run(argv[2]);
    if (argc == 3 && strcmp(argv[1], "hash") == 0) return printf("%016" PRIx64 "\n", hash_code(argv[2])) < 0;
    if (argc == 4 && strcmp(argv[1], "join") == 0) return join(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "clean") == 0) return clean(argv[2]);
    if (argc == 3 && strcmp(argv[1], "check") == 0) return check(argv[2]);
    fprintf(stderr, "usage: counters run DEVICE | join RUN.csv NCU.csv | hash KERNEL | clean NCU.csv | check "
                    "FILE.csv\n");
    return 2;
}
