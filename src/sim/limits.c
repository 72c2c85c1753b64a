/* limits.c: the table, from the CUDA programming guide and cuda_occupancy.h. */
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>

enum { KB = 1024, STANDARD = 90 };

static const limits table[] = {
    {60, 64, 32, 64 * KB, 48 * KB, 0, 256},         {61, 64, 32, 96 * KB, 48 * KB, 0, 256},
    {70, 64, 32, 96 * KB, 96 * KB, 0, 256},         {75, 32, 16, 64 * KB, 64 * KB, 0, 256},
    {80, 64, 32, 164 * KB, 163 * KB, 1 * KB, 128},  {86, 48, 16, 100 * KB, 99 * KB, 1 * KB, 128},
    {89, 48, 24, 100 * KB, 99 * KB, 1 * KB, 128},   {90, 64, 32, 228 * KB, 227 * KB, 1 * KB, 128},
    {100, 64, 32, 228 * KB, 227 * KB, 1 * KB, 128}, {120, 48, 24, 100 * KB, 99 * KB, 1 * KB, 128},
};

tess_status limits_here(const limits **out, sentence *why) {
    const char *asked = getenv("TESSERA_SIM_ARCH");
    int wanted = asked && asked[0] ? atoi(asked) : STANDARD;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].architecture == wanted) {
            *out = &table[i];
            return TESS_OK;
        }
    return status_fail(why, TESS_ERROR_DEVICE,
                       "TESSERA_SIM_ARCH is '%.40s'; it must be one of 60 61 70 75 80 86 89 90 100 120",
                       asked);
}

static int at_most(int value, int most) {
    return value < most ? value : most;
}

int limits_blocks(const limits *of, int threads, int shared, const char **limit) {
    int warps = (threads + 31) / 32, share = (shared + of->reserved + of->unit - 1) / of->unit * of->unit;
    int by_warps = of->warps / warps, by_shared = share > 0 ? of->shared / share : of->blocks;
    int fit = at_most(at_most(by_warps, by_shared), of->blocks);
    *limit = fit == by_shared ? "shared memory" : fit == by_warps ? "warps" : "blocks";
    return fit;
}
