/* cuda_kernels.c: modules and launches of the stand-in driver. A module is the text that the stand-in
 * NVRTC wrote; a launch does what the kernel of that name would. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

typedef struct standin_module {
    char *text, file[64], types[16];
} standin_module;

typedef struct standin_function {
    struct standin_function *next;
    standin_module *module;
    char name[64];
} standin_function;

static standin_function *functions;

/* ---- Kernels ---- */

/* The file is the second line; the types stand in -DTYPE_. */
static int read_module(standin_module *module) {
    const char *type = strstr(module->text, "\n-DTYPE_"), *file = strchr(module->text, '\n');
    return strncmp(module->text, "stand-in code\n", 14) == 0 && type &&
           sscanf(file + 1, "%63[^\n]", module->file) == 1 &&
           sscanf(type + 8, "%15[^\n]", module->types) == 1;
}

CU(cuModuleLoadData, standin_module **out, const void *image) {
    CALL(1);
    if (standin_captures > 0) return standin_leave(CAPTURE_UNSUPPORTED);
    standin_module *made = calloc(1, sizeof *made);
    if (made) made->text = strdup(image);
    if (!made || !made->text || !read_module(made)) return standin_leave(INVALID_VALUE);
    standin_made++;
    *out = made;
    return standin_leave(SUCCESS);
}

CU(cuModuleUnload, standin_module *module) {
    CALL(0);
    for (standin_function **link = &functions; *link;) {
        standin_function *f = *link;
        if (f->module != module) {
            link = &f->next;
            continue;
        }
        *link = f->next;
        free(f);
    }
    free(module->text);
    free(module);
    standin_made--;
    return standin_leave(SUCCESS);
}

/* A kernel's name must stand in its source. */
CU(cuModuleGetFunction, standin_function **out, standin_module *module, const char *name) {
    CALL(1);
    char definition[80];
    snprintf(definition, sizeof definition, " %s(", name);
    if (!strstr(module->text, definition)) return standin_leave(NOT_FOUND);
    for (standin_function *f = functions; f; f = f->next)
        if (f->module == module && strcmp(f->name, name) == 0) {
            *out = f;
            return standin_leave(SUCCESS);
        }
    standin_function *made = calloc(1, sizeof *made);
    if (!made) return standin_leave(OUT_OF_MEMORY);
    made->module = module;
    snprintf(made->name, sizeof made->name, "%s", name);
    made->next = functions;
    functions = made;
    *out = made;
    return standin_leave(SUCCESS);
}

CU(cuFuncGetAttribute, int *value, int attribute, standin_function *function) {
    (void)function;
    CALL(1);
    *value = attribute == 4 ? 32 : attribute == 1 ? 1024 : 0;
    return standin_leave(SUCCESS);
}

CU(cuFuncSetAttribute, standin_function *function, int attribute, int value) {
    (void)function, (void)attribute, (void)value;
    CALL(1);
    return standin_leave(SUCCESS);
}

CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, standin_function *function, int threads,
   size_t shared) {
    (void)function, (void)shared;
    CALL(1);
    *blocks = 2048 / threads;
    return standin_leave(SUCCESS);
}

/* The argument of measure.cu's kernels. */
typedef struct measurement {
    char *data;
    int64_t *out, bytes;
    int32_t rounds, from_l2;
} measurement;

typedef struct launch {
    char name[64], types[16];
    standin_order order;
    unsigned products, moves; /* moves: of move_lines, one to five */
    union {
        standin_gemm gemm;
        standin_move move, moves[5];
        standin_tma tma;
        standin_apart apart;
        standin_split split;
        standin_split_tma split_tma;
        measurement measure;
    } argument;
} launch;

static standin_seen last_tma;

int standin_last_tma(standin_seen *seen) {
    standin_lock();
    *seen = last_tma;
    return standin_leave(last_tma.name[0] != '\0');
}

static int is_apart(const char *name) {
    return strcmp(name, "wgmma_12_apart") == 0;
}

static int launch_now(void *argument) {
    launch *l = argument;
    if (strcmp(l->name, "move_strided") == 0 || strcmp(l->name, "move_turned") == 0)
        return standin_copy(&l->argument.move, l->types, l->products);
    if (strcmp(l->name, "move_lines") == 0)
        return standin_copy_lines(l->argument.moves, l->moves, l->types, l->products);
    if (strcmp(l->name, "round_bf16") == 0) return standin_round(&l->argument.move, 0, l->products);
    if (strcmp(l->name, "round_tf32") == 0) return standin_round(&l->argument.move, 1, l->products);
    if (strcmp(l->name, "scale_strided") == 0) return standin_scale(&l->argument.gemm, l->types, l->products);
    if (strcmp(l->name, "add_shares") == 0) return standin_add(&l->argument.gemm, l->types);
    if (strncmp(l->name, "simt_", 5) == 0 || strncmp(l->name, "vector_", 7) == 0 ||
        strncmp(l->name, "mma_", 4) == 0)
        return standin_multiply(&l->argument.gemm, l->types, &l->order, l->products);
    if (is_apart(l->name)) return standin_multiply_apart(&l->argument.apart, l->types);
    if (strncmp(l->name, "wgmma_", 6) == 0)
        return standin_multiply_mapped(&l->argument.tma, l->types, &l->order);
    if (strncmp(l->name, "split_prepare", 13) == 0) return standin_prepare_split(&l->argument.split);
    if (strcmp(l->name, "split_pack") == 0) return standin_pack_split(&l->argument.split);
    if (strcmp(l->name, "split_multiply") == 0) return standin_multiply_split(&l->argument.split);
    if (strcmp(l->name, "split_03_mma") == 0) return standin_multiply_split(&l->argument.split);
    if (strncmp(l->name, "split_0", 7) == 0) return standin_multiply_split(&l->argument.split_tma.whole);
    if (strncmp(l->name, "chase_", 6) == 0) {
        l->argument.measure.out[0] = 100 * (int64_t)l->argument.measure.rounds;
        l->argument.measure.out[1] = 50 * (int64_t)l->argument.measure.rounds;
    }
    return SUCCESS;
}

/* A number from the options that the module was compiled with. */
static int read_option(const standin_module *module, const char *name) {
    char option[32];
    int value = 0;
    snprintf(option, sizeof option, "\n-D%s=", name);
    const char *at = strstr(module->text, option);
    if (at) sscanf(at + strlen(option), "%d", &value);
    return value;
}

/* The ladder of tensor-core kernels reads 16-bit pieces of whatever type from its fourth rung on, but for its eighth, which is
 * of f64; so do those for sm_90, which have no VEC, but for one that is for a B in rows. */
static standin_order order_of(const standin_function *function) {
    standin_order order = {.vec = 0};
    int rung = 0, tma = strncmp(function->name, "wgmma_", 6) == 0;
    if (strncmp(function->name, "simt_", 5) == 0) { /* of whose ladder the last access C by another width */
        order.vec = read_option(function->module, "VEC");
        order.cvec = read_option(function->module, "CVEC");
        if (order.cvec == 0) order.cvec = order.vec;
    }
    order.at = read_option(function->module, "AT");
    order.bt = read_option(function->module, "BT");
    if (!tma && sscanf(function->name, "mma_%d", &rung) != 1) return order;
    order.vec = read_option(function->module, "VEC");
    order.store = read_option(function->module, "STORE");
    order.along_k = tma || (rung >= 4 && rung != 8);
    order.b_rows = strncmp(function->name, "wgmma_08_", 9) == 0;
    return order;
}

static int uses_maps(const char *name) {
    return strncmp(name, "wgmma_", 6) == 0 ||
           (strncmp(name, "split_0", 7) == 0 && strcmp(name, "split_03_mma") != 0);
}

static size_t argument_size(const standin_function *function) {
    const char *name = function->name;
    if (strcmp(name, "move_lines") == 0) return 5 * sizeof(standin_move);
    if (strncmp(name, "move_", 5) == 0 || strncmp(name, "round_", 6) == 0) return sizeof(standin_move);
    if (strcmp(function->module->file, "split_prepare.cu") == 0 || strcmp(name, "split_03_mma") == 0)
        return sizeof(standin_split);
    if (strncmp(name, "split_0", 7) == 0) return sizeof(standin_split_tma);
    if (is_apart(name)) return sizeof(standin_apart);
    if (uses_maps(name)) return sizeof(standin_tma);
    return strcmp(function->module->file, "measure.cu") == 0 ? sizeof(measurement) : sizeof(standin_gemm);
}

/* Where a block has several products, the last one has as many as are left. */
static unsigned products_of(const standin_function *function, const standin_gemm *g, unsigned blocks) {
    unsigned each = (unsigned)read_option(function->module, "PRODUCTS"), count = (unsigned)g->count;
    if (each == 0) return blocks;
    return blocks * each < count ? blocks * each : count;
}

int standin_launch(standin_function *function, const unsigned grid[3], const unsigned block[3],
                   unsigned shared, int overlaps, void *stream, void **arguments) {
    unsigned threads = block[0] * block[1] * block[2];
    if (grid[0] < 1 || grid[1] < 1 || grid[2] < 1 || grid[1] > 65535 || grid[2] > 65535 || threads < 1 ||
        threads > 1024)
        return INVALID_VALUE;
    launch l = {.order = order_of(function)};
    snprintf(l.name, sizeof l.name, "%s", function->name);
    snprintf(l.types, sizeof l.types, "%s", function->module->types);
    memcpy(&l.argument, arguments[0], argument_size(function));
    l.products = products_of(function, &l.argument.gemm, grid[2]);
    l.moves = grid[1];
    if (uses_maps(l.name)) {
        last_tma = (standin_seen){.shared = shared, .overlaps = overlaps, .with = l.argument.tma};
        memcpy(last_tma.name, l.name, sizeof l.name);
        memcpy(last_tma.grid, grid, sizeof last_tma.grid);
        memcpy(last_tma.block, block, sizeof last_tma.block);
    }
    return standin_queue(stream, launch_now, &l, sizeof l);
}

CU(cuLaunchKernel, standin_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments,
   void **extra) {
    (void)extra;
    CALL(1);
    return standin_leave(standin_launch(function, (const unsigned[]){grid_x, grid_y, grid_z},
                                        (const unsigned[]){block_x, block_y, block_z}, shared, 0, stream,
                                        arguments));
}
