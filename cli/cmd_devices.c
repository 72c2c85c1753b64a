/* cmd_devices.c: `tessera devices`: the devices of this machine, what they can do at best, and the libraries
 * found on it.
 *
 * Invariant: what was not found is named too, with where it was looked for.
 */
#include "commands.h"
#include "devices.h"
#include "limits.h"
#include "output.h"
#include "peer.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const args_option options[] = {
    {"measure", NULL,
     "measure what each can do at best: multiply-adds and memory, with one thread and with all"},
    {"hierarchy", NULL,
     "size, latency and bandwidth of each level of a GPU's memory, measured; then files hold these"},
    ARGS_OUTPUT_ROWS,
    {"verbose", NULL, "name every place where a library was looked for"},
};
const args_spec devices_spec = {"devices",
                                "",
                                0,
                                "The devices of this machine, and the libraries found",
                                NULL,
                                options,
                                sizeof options / sizeof *options};

enum {
    NAME,
    MODEL,
    ISA,
    CORES,
    THREADS,
    L1D,
    L2,
    L3,
    MEMORY,
    ONE_THREAD,
    ALL_THREADS = ONE_THREAD + 3,
    OF_GPU = ALL_THREADS + 3
};
static const table_column columns[] = {
    [NAME] = {"name", "device", TABLE_TEXT, TABLE_IN_FILES, 0},
    [MODEL] = {"model", "model", TABLE_TEXT, TABLE_IN_FILES, 0},
    [ISA] = {"isa", "isa", TABLE_TEXT, TABLE_IN_FILES, 0},
    [CORES] = {"cores", "cores", TABLE_COUNT, TABLE_IN_FILES, 0},
    [THREADS] = {"threads", "threads", TABLE_COUNT, TABLE_IN_FILES, 0},
    [L1D] = {"l1d", "L1d", TABLE_BYTES, TABLE_IN_FILES, 0},
    [L2] = {"l2", "L2", TABLE_BYTES, TABLE_IN_FILES, 0},
    [L3] = {"l3", "L3", TABLE_BYTES, TABLE_IN_FILES, 0},
    [MEMORY] = {"memory", "memory", TABLE_BYTES, TABLE_IN_FILES, 0},
    [ONE_THREAD] = {"f32_gflops_1", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    {"f64_gflops_1", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    {"gbytes_s_1", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [ALL_THREADS] = {"f32_gflops_all", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    {"f64_gflops_all", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    {"gbytes_s_all", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
};

/* What people see of --measure: a table of its own, because the first would grow too wide. */
enum { AT_BEST_DEVICE, AT_BEST_THREADS, AT_BEST };
static const table_column at_best_columns[] = {
    [AT_BEST_DEVICE] = {"device", "at best", TABLE_TEXT, 0, 0},
    [AT_BEST_THREADS] = {"threads", "threads", TABLE_COUNT, 0, 0},
    [AT_BEST] = {"f32_gflops", "f32 GFLOPS", TABLE_RATE, 0, 0},
    {"f64_gflops", "f64 GFLOPS", TABLE_RATE, 0, 0},
    {"gbytes_s", "memory GB/s", TABLE_RATE, 0, 0},
};

/* The columns above, followed by those of a GPU. */
static table_column *make_columns(size_t *count) {
    size_t own = sizeof columns / sizeof *columns;
    table_column *all = malloc((own + devices_gpu_column_count) * sizeof *all);
    if (all == NULL) return NULL;
    memcpy(all, columns, sizeof columns);
    memcpy(all + own, devices_gpu_columns, devices_gpu_column_count * sizeof *all);
    *count = own + devices_gpu_column_count;
    return all;
}

/* 0 means not known. */
static void set_bytes(table *t, size_t column, int64_t bytes) {
    if (bytes > 0) table_set_count(t, column, bytes);
}

static void add_device(table *t, const tess_device_info *d) {
    table_add_row(t);
    table_set_text(t, NAME, d->name);
    table_set_text(t, MODEL, d->model);
    table_set_text(t, ISA, d->isa);
    table_set_count(t, CORES, d->cores);
    table_set_count(t, THREADS, d->threads);
    set_bytes(t, L1D, d->l1d);
    set_bytes(t, L2, d->l2);
    set_bytes(t, L3, d->l3);
    set_bytes(t, MEMORY, d->memory);
}

enum { RATES = 3 };

static bool measure_threads(tess_context *ctx, int threads, double rates[RATES]) {
    bool ready = threads == tess_threads(ctx) || tess_set_threads(ctx, threads) == TESS_OK;
    return ready && limits_peak(ctx, TESS_F32, &rates[0]) == TESS_OK &&
           limits_peak(ctx, TESS_F64, &rates[1]) == TESS_OK && limits_bandwidth(ctx, &rates[2]) == TESS_OK;
}

static void add_at_best(table *at_best, const tess_device_info *d, int threads, const double rates[RATES]) {
    table_add_row(at_best);
    table_set_text(at_best, AT_BEST_DEVICE, d->name);
    table_set_count(at_best, AT_BEST_THREADS, threads);
    for (size_t i = 0; i < RATES; i++) table_set_real(at_best, AT_BEST + i, rates[i] / 1e9);
}

/* A simulator has no speed of its own: its time says nothing of a GPU's. */
static bool is_simulator(const tess_device_info *d) {
    return strncmp(d->name, "sim", 3) == 0;
}

/* Completes the last row of `t`. Where there is only one thread, what it does is also what all do. */
static bool measure_device(const tess_device_info *d, table *t, table *at_best) {
    tess_context *ctx = NULL;
    double one[RATES] = {0}, all[RATES];
    bool good = tess_open(&ctx, d->name) == TESS_OK && measure_threads(ctx, 1, one);
    memcpy(all, one, sizeof all);
    good = good && (d->threads == 1 || measure_threads(ctx, d->threads, all));
    if (!good) say_error("%s could not be measured: %s", d->name, tess_error(ctx));
    tess_close(ctx);
    if (!good) return false;
    for (size_t i = 0; i < RATES; i++) {
        table_set_real(t, ONE_THREAD + i, one[i] / 1e9);
        table_set_real(t, ALL_THREADS + i, all[i] / 1e9);
    }
    add_at_best(at_best, d, 1, one);
    if (d->threads > 1) add_at_best(at_best, d, d->threads, all);
    return true;
}

static void print_trail(const peer_trail *trail) {
    for (size_t i = 0; i < trail->count; i++) printf("               tried %s\n", trail->paths[i]);
}

void devices_print_peers(bool verbose) {
    char missing[128] = "";
    size_t used = 0, found = 0;
    for (size_t i = 0; i < peer_name_count; i++) {
        peer p;
        peer_trail trail = {0};
        if (peer_find(&p, peer_names[i], &trail)) {
            found++;
            printf("  %-10s %s%s%s\n", p.name, p.path, p.version[0] != '\0' ? ", " : "", p.version);
        } else if (verbose) {
            printf("  %-10s not found\n", peer_names[i]);
        } else {
            used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%s", used > 0 ? ", " : "",
                                     peer_names[i]);
        }
        if (verbose) print_trail(&trail);
        peer_free_trail(&trail);
    }
    if (used > 0) printf("  not found  %s\n", missing);
    if (found == 0) printf("  to get one: " PEER_ADVICE "\n");
}

static void print_at_best(const output *out, table *at_best) {
    if (at_best->row_count == 0 || (!out->people && !out->markdown)) return;
    printf("\n");
    if (out->people) table_print(at_best, stdout);
    if (out->markdown) table_print_markdown(at_best, stdout);
}

/* The rows of the table. *first is the device that "auto" opens. */
static bool add_devices(table *t, table *at_best, bool measure, tess_device_info *first) {
    tess_device_info d;
    tess_gpu_info gpu;
    bool good = true;
    for (int i = 0; i < tess_count_devices(); i++) {
        if (tess_describe_device(i, &d) != TESS_OK) continue;
        if (i == 0) *first = d;
        add_device(t, &d);
        if (tess_describe_gpu(i, &gpu) == TESS_OK) devices_set_gpu(t, OF_GPU, &gpu);
        if (measure && !is_simulator(&d)) good = measure_device(&d, t, at_best) && good;
    }
    return good;
}

/* What no table has room for. */
static void print_details(bool verbose) {
    tess_device_info d;
    tess_gpu_info gpu;
    devices_print_refusal();
    for (int i = 0; i < tess_count_devices(); i++)
        if (tess_describe_device(i, &d) == TESS_OK && tess_describe_gpu(i, &gpu) == TESS_OK)
            devices_print_gpu(&d, &gpu);
    printf("\nlibraries for a GPU\n");
    devices_print_libraries(verbose);
    devices_print_absence();
    printf("\npeers of the cpu\n");
    devices_print_peers(verbose);
}

static bool show_hierarchy(const output *out, const tess_device_info *first) {
    table t;
    table_open(&t, hierarchy_columns, hierarchy_column_count);
    bool good = hierarchy_add_rows(&t);
    if (out->people) printf("\n");
    good = output_write(out, &t, "hierarchy", first, NULL) && good;
    table_close(&t);
    return good;
}

int devices_run(const args *a) {
    output out;
    table t, at_best;
    tess_device_info first = {0};
    size_t column_count;
    bool hierarchy = args_given(a, "hierarchy");
    if (!output_open(&out, a)) return EXIT_USAGE;
    table_column *all = make_columns(&column_count);
    if (all == NULL) return say_usage("out of memory");
    table_open(&t, all, column_count);
    table_open(&at_best, at_best_columns, sizeof at_best_columns / sizeof *at_best_columns);
    bool good = add_devices(&t, &at_best, args_given(a, "measure"), &first), any = t.row_count > 0;
    const output shown = hierarchy ? (output){.people = out.people} : out;
    good = output_write(&shown, &t, "devices", &first, NULL) && good;
    print_at_best(&shown, &at_best);
    if (out.people) print_details(args_given(a, "verbose"));
    if (hierarchy) good = show_hierarchy(&out, &first) && good;
    if (!any) say_error("no device was found: %s", tess_error(NULL));
    table_close(&t);
    table_close(&at_best);
    free(all);
    return good && any ? EXIT_FINE : EXIT_CHECK;
}
