/* occupancy.c: the rules by which blocks are given a multiprocessor's threads, registers and shared memory.
 *
 * They are those of NVIDIA's occupancy calculator: registers are handed out to warps in units of 256, from the register
 * file of the part (a quarter; half on the P100) of the multiprocessor the warp runs on; shared memory to blocks in units
 * of `unit`, with `reserved` more for the system. */
#include "occupancy.h"

#include <stddef.h>

typedef struct limits {
    int architecture, warps, blocks, shared, unit, reserved, parts;
} limits;

enum { KB = 1024, REGISTERS = 65536, REGISTER_UNIT = 256, WARP = 32 };

static const limits known[] = {
    {60, 64, 32, 64 * KB, 256, 0, 2},      {61, 64, 32, 96 * KB, 256, 0, 4},
    {70, 64, 32, 96 * KB, 256, 0, 4},      {75, 32, 16, 64 * KB, 256, 0, 4},
    {80, 64, 32, 164 * KB, 128, 1024, 4},  {86, 48, 16, 100 * KB, 128, 1024, 4},
    {89, 48, 24, 100 * KB, 128, 1024, 4},  {90, 64, 32, 228 * KB, 128, 1024, 4},
    {100, 64, 32, 228 * KB, 128, 1024, 4}, {120, 48, 24, 100 * KB, 128, 1024, 4},
};

static int round_up(int value, int unit) {
    return (value + unit - 1) / unit * unit;
}

static int by_registers(const limits *l, int warps, int registers) {
    if (registers <= 0) return l->blocks;
    int of_warp = round_up(registers * WARP, REGISTER_UNIT);
    if (round_up(warps, l->parts) * of_warp > REGISTERS) return 0;
    return REGISTERS / l->parts / of_warp * l->parts / warps;
}

static int by_shared(const limits *l, int shared_bytes) {
    int of_block = round_up(shared_bytes + l->reserved, l->unit);
    return of_block > 0 ? l->shared / of_block : l->blocks;
}

static void lower(occupancy *out, int blocks, const char *limit) {
    if (blocks < out->blocks) out->blocks = blocks, out->limit = limit;
}

bool occupancy_of(int architecture, int threads, int registers, int shared_bytes, occupancy *out) {
    const limits *l = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].architecture == architecture) l = &known[i];
    if (l == NULL || threads <= 0) return false;
    int warps = (threads + WARP - 1) / WARP;
    *out = (occupancy){.blocks = l->warps / warps, .most_warps = l->warps, .limit = "threads"};
    lower(out, by_registers(l, warps, registers), "registers");
    if (shared_bytes > 0) lower(out, by_shared(l, shared_bytes), "shared memory");
    lower(out, l->blocks, "blocks");
    out->warps = out->blocks * warps;
    out->share = (double)out->warps / l->warps;
    return true;
}
