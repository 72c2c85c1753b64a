/* devices_gpu.c: what is known of a GPU, and the libraries it is used through.
 *
 * Invariant: a fact that is not known is an empty field, or left out.
 */
#include "devices.h"

#include <stdio.h>
#include <string.h>

enum {
    CAPABILITY,
    WARP,
    CLOCK,
    MEMORY_CLOCK,
    BUS,
    THREADS_BLOCK,
    THREADS_SM,
    BLOCKS_SM,
    MAX_BLOCK,
    MAX_GRID,
    REGISTERS_BLOCK,
    REGISTERS_SM,
    SHARED_BLOCK,
    SHARED_MOST,
    SHARED_SM,
    SHARED_RESERVED,
    F32_PEAK,
    F64_PEAK,
    MEMORY_PEAK,
    INTENSITY,
    DRIVER,
    COMPILER
};

const table_column devices_gpu_columns[] = {
    [CAPABILITY] = {"compute_capability", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [WARP] = {"warp", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [CLOCK] = {"clock_mhz", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [MEMORY_CLOCK] = {"memory_clock_mhz", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [BUS] = {"memory_bus_bits", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [THREADS_BLOCK] = {"max_threads_per_block", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [THREADS_SM] = {"max_threads_per_sm", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [BLOCKS_SM] = {"max_blocks_per_sm", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [MAX_BLOCK] = {"max_block", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [MAX_GRID] = {"max_grid", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [REGISTERS_BLOCK] = {"registers_per_block", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [REGISTERS_SM] = {"registers_per_sm", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [SHARED_BLOCK] = {"shared_per_block", NULL, TABLE_BYTES, TABLE_IN_FILES, 0},
    [SHARED_MOST] = {"shared_per_block_most", NULL, TABLE_BYTES, TABLE_IN_FILES, 0},
    [SHARED_SM] = {"shared_per_sm", NULL, TABLE_BYTES, TABLE_IN_FILES, 0},
    [SHARED_RESERVED] = {"shared_reserved", NULL, TABLE_BYTES, TABLE_IN_FILES, 0},
    [F32_PEAK] = {"f32_gflops_by_clock", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [F64_PEAK] = {"f64_gflops_by_clock", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [MEMORY_PEAK] = {"gbytes_s_by_clock", NULL, TABLE_RATE, TABLE_IN_FILES, 0},
    [INTENSITY] = {"critical_intensity", NULL, TABLE_RATIO, TABLE_IN_FILES, 0},
    [DRIVER] = {"driver_cuda", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [COMPILER] = {"nvrtc", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
};
const size_t devices_gpu_column_count = sizeof devices_gpu_columns / sizeof *devices_gpu_columns;

/* 13020 is "13.2", as NVIDIA writes its versions. */
static void show_version(int version, char out[24]) {
    out[0] = '\0';
    if (version > 0) snprintf(out, 24, "%d.%d", version / 1000, version % 1000 / 10);
}

static void show_extent(const int extent[3], char out[48]) {
    snprintf(out, 48, "%dx%dx%d", extent[0], extent[1], extent[2]);
}

static void set_known(table *t, size_t column, double value) {
    if (value > 0) table_set_real(t, column, value);
}

void devices_set_gpu(table *t, size_t first, const tess_gpu_info *g) {
    const struct {
        size_t column;
        int value;
    } counts[] = {{WARP, g->warp},
                  {BUS, g->memory_bus_bits},
                  {THREADS_BLOCK, g->max_threads_per_block},
                  {THREADS_SM, g->max_threads_per_sm},
                  {BLOCKS_SM, g->max_blocks_per_sm},
                  {REGISTERS_BLOCK, g->registers_per_block},
                  {REGISTERS_SM, g->registers_per_sm},
                  {SHARED_BLOCK, g->shared_per_block},
                  {SHARED_MOST, g->shared_per_block_most},
                  {SHARED_SM, g->shared_per_sm},
                  {SHARED_RESERVED, g->shared_reserved}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value > 0) table_set_count(t, first + counts[i].column, counts[i].value);
    char text[48];
    snprintf(text, sizeof text, "%d.%d", g->compute_major, g->compute_minor);
    table_set_text(t, first + CAPABILITY, text);
    show_extent(g->max_block, text);
    table_set_text(t, first + MAX_BLOCK, text);
    show_extent(g->max_grid, text);
    table_set_text(t, first + MAX_GRID, text);
    show_version(g->driver_version, text);
    table_set_text(t, first + DRIVER, text);
    show_version(g->compiler_version, text);
    table_set_text(t, first + COMPILER, text);
    set_known(t, first + CLOCK, g->clock_khz / 1e3);
    set_known(t, first + MEMORY_CLOCK, g->memory_clock_khz / 1e3);
    set_known(t, first + F32_PEAK, g->f32_flops / 1e9);
    set_known(t, first + F64_PEAK, g->f64_flops / 1e9);
    set_known(t, first + MEMORY_PEAK, g->memory_bytes / 1e9);
    set_known(t, first + INTENSITY, g->critical_intensity);
}

static void print_clocks(const tess_gpu_info *g) {
    if (g->clock_khz > 0) printf("  clocks              %.0f MHz", g->clock_khz / 1e3);
    if (g->clock_khz > 0 && g->memory_clock_khz > 0)
        printf(", memory %.0f MHz on a bus of %d bits", g->memory_clock_khz / 1e3, g->memory_bus_bits);
    if (g->clock_khz > 0) printf("\n");
}

static void print_peaks(const tess_gpu_info *g) {
    if (g->f32_flops <= 0) return;
    printf("  peak, by clock      f32 %.1f TFLOPS, f64 %.2f TFLOPS", g->f32_flops / 1e12,
           g->f64_flops / 1e12);
    if (g->memory_bytes > 0) printf(", memory %.0f GB/s", g->memory_bytes / 1e9);
    printf("\n");
    if (g->critical_intensity > 0)
        printf("  critical intensity  %.1f f32 operations for each byte read: below that memory is the "
               "limit\n",
               g->critical_intensity);
}

void devices_print_gpu(const tess_device_info *device, const tess_gpu_info *g) {
    char driver[24], compiler[24];
    show_version(g->driver_version, driver);
    show_version(g->compiler_version, compiler);
    printf("\n%s, %s\n", device->name, device->model);
    printf("  compute capability  %d.%d (%s); the driver takes CUDA %s, kernels are compiled by NVRTC %s\n",
           g->compute_major, g->compute_minor, device->isa, driver, compiler);
    printf("  multiprocessors     %d, with warps of %d threads\n", g->sms, g->warp);
    print_clocks(g);
    printf("  memory              %.1f GiB, L2 cache %.4g MiB\n", (double)g->memory / 1073741824,
           (double)g->l2 / 1048576);
    printf("  threads             %d a block; %d (%d warps) in %d blocks a multiprocessor\n",
           g->max_threads_per_block, g->max_threads_per_sm, g->warp > 0 ? g->max_threads_per_sm / g->warp : 0,
           g->max_blocks_per_sm);
    printf("  block, grid         at most %dx%dx%d threads, %dx%dx%d blocks\n", g->max_block[0],
           g->max_block[1], g->max_block[2], g->max_grid[0], g->max_grid[1], g->max_grid[2]);
    printf("  registers           %d a block, %d a multiprocessor\n", g->registers_per_block,
           g->registers_per_sm);
    printf("  shared memory       %.4g KiB a block, up to %.4g KiB if asked for; %.4g KiB a multiprocessor, "
           "%.4g KiB of each block's reserved\n",
           g->shared_per_block / 1024.0, g->shared_per_block_most / 1024.0, g->shared_per_sm / 1024.0,
           g->shared_reserved / 1024.0);
    print_peaks(g);
}

static void print_tried(const char *lines) {
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        printf("               tried %.*s\n", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

void devices_print_libraries(bool verbose) {
    tess_library_info l;
    for (int i = 0; i < tess_count_libraries(); i++) {
        if (tess_describe_library(i, &l) != TESS_OK) continue;
        if (l.problem[0] != '\0')
            printf("  %-12s %s%s%s\n", l.name, l.path, l.path[0] != '\0' ? ": " : "", l.problem);
        else
            printf("  %-12s %s%s%s: %s\n", l.name, l.path, l.version[0] != '\0' ? ", " : "", l.version,
                   l.use);
        if (verbose) print_tried(l.tried);
    }
}

void devices_print_refusal(void) {
    tess_context *ctx = NULL;
    if (tess_open(&ctx, "cpu") != TESS_OK) printf("  %-12s cannot be opened: %s\n", "cpu", tess_error(NULL));
    tess_close(ctx);
}

void devices_print_absence(void) {
    tess_device_info d;
    for (int i = 0; i < tess_count_devices(); i++)
        if (tess_describe_device(i, &d) == TESS_OK && strncmp(d.name, "cuda", 4) == 0) return;
    tess_context *ctx = NULL;
    if (tess_open(&ctx, "cuda") != TESS_OK) printf("  no GPU       %s\n", tess_error(NULL));
    tess_close(ctx);
}
