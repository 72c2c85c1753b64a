/* hashes.c: what every GPU kernel computes, as hashes, so that two devices can be compared bit for bit.
 *
 *     hashes sim > sim.csv          hashes cuda > bench/results/h200/hashes.csv
 *
 * A row is a kernel with its own parameters, a hash of its file (comments and blanks aside), a type, a shape,
 * the seed of the data and a hash of C. Run it where kernels/ is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera.h"
#include "code_hash.h"

enum { SEED = 1 };
static const int64_t shapes[][3] = {{33, 31, 35},
                                    {128, 128, 64},
                                    {131, 117, 211},
                                    {200, 1, 333},
                                    {1, 200, 333}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* One product of one kernel. Returns 0 if it failed; a shape the kernel does not take is no failure. */
static int print_row(tess_context *ctx, const char *kernel, uint64_t code, tess_type type,
                     const int64_t *shape) {
    int64_t m = shape[0], n = shape[1], k = shape[2];
    size_t size = tess_type_size(type), bytes = (size_t)(m * n) * size;
    unsigned char *a = malloc((size_t)(m * k) * size), *b = malloc((size_t)(k * n) * size),
                  *c = malloc(bytes);
    if (!a || !b || !c) return fprintf(stderr, "hashes: out of memory\n"), 0;
    tess_matrix A = tess_view_row_major(type, m, k, a, 0), B = tess_view_row_major(type, k, n, b, 0),
                C = tess_view_row_major(type, m, n, c, 0);
    int whole = type == TESS_I32;
    tess_fill(&A, TESS_FILL_UNIFORM, whole ? 1000000 : 1, SEED);
    tess_fill(&B, TESS_FILL_UNIFORM, whole ? 1000000 : 1, SEED + 1);
    tess_fill(&C, TESS_FILL_UNIFORM, whole ? 1000000 : 1, SEED + 2);
    tess_options options = {.kernel = kernel};
    tess_status status = tess_gemm(ctx, whole ? 3 : 1.25, &A, &B, whole ? -2 : 0.75, &C, &options);
    uint64_t h = HASH_START;
    for (size_t i = 0; i < bytes; i++) h = hash_byte(h, c[i]);
    if (status == TESS_OK)
        printf("%s,%016" PRIx64 ",%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%016" PRIx64 "\n", kernel, code,
               tess_type_name(type), m, n, k, SEED, h);
    else if (status != TESS_ERROR_KERNEL)
        fprintf(stderr, "hashes: %s: %s\n", kernel, tess_error(ctx));
    free(a), free(b), free(c);
    return status == TESS_OK || status == TESS_ERROR_KERNEL;
}

int main(int argc, char **argv) {
    static const tess_type types[] = {TESS_F32, TESS_F64, TESS_I32};
    tess_context *ctx;
    tess_kernel_info info;
    int good = 1;
    if (argc != 2) return fprintf(stderr, "usage: hashes DEVICE\n"), 2;
    if (tess_open(&ctx, argv[1]) != TESS_OK) return fprintf(stderr, "hashes: %s\n", tess_error(NULL)), 1;
    puts("kernel,kernel_hash,type,m,n,k,seed,c_hash");
    for (int i = 0; tess_describe_kernel(i, &info) == TESS_OK; i++) {
        if (strcmp(info.device, "gpu") != 0 || info.number == 0) continue;
        uint64_t code = hash_code(info.name);
        for (int t = 0; t < 3; t++)
            for (int s = 0; s < SHAPES; s++) good &= print_row(ctx, info.name, code, types[t], shapes[s]);
    }
    tess_close(ctx);
    return !good;
}
