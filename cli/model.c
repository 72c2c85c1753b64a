/* model.c: see model.h and docs/MODEL.md.
 *
 * Invariant: nothing here knows a kernel. What differs between kernels is in the counters, what differs between GPUs in
 * the table of cards.c; the constants below hold for all of both. They were chosen once, for the twelve rungs in f32
 * and f64 on the H200 together. */
#include "model.h"

#include <math.h>

enum { WARP = 32, SECTOR = 32 };

/* Instructions that compute addresses and guards, for each access to global memory. */
static const double address_instructions = 2;
/* Units overlap better the more warps a scheduler has to choose from: the exponent of the sum. */
static const double overlap_least = 1.5, overlap_of_warp = 0.1, overlap_most = 4;
/* How long a block waits for a tile of global memory between two barriers, in latencies of the memory that has it: the
 * loads of all its warps queue, then the tile is stored and the barrier passed. */
static const double tile_latencies = 2;
/* A kernel without barriers waits for its loads in groups of eight (the compiler unrolls its loop by four). Where L1
 * keeps loads it finds half of them there. */
static const double loads_in_flight = 8, direct_latencies = 0.5;
/* The part of L2 that keeps matrices: the rest is lost to what passes through. */
static const double l2_share = 0.5;

const char *const model_unit_names[MODEL_UNITS] = {"issue slots", "multiply-add units",
                                                   "shared memory and L1", "L2 bandwidth", "DRAM bandwidth"};

/* Bytes that a wave of blocks takes from DRAM: the rows of A and columns of B it covers, each once, unless L2 has kept
 * them from the wave before. Blocks follow each other along the rows of C. At least their share of the matrices. */
static double dram_bytes_of_wave(const model_input *in, double blocks_at_once) {
    double size = (double)tess_type_size(in->type), blocks = in->counts->blocks;
    double edge = sqrt(in->m * in->n / blocks), across = ceil(in->n / edge);
    double columns = fmin(blocks_at_once, across) * edge, rows = ceil(blocks_at_once / across) * edge;
    double a = fmin(rows, in->m) * in->k * size, b = fmin(columns, in->n) * in->k * size;
    double all_b = in->n * in->k * size, waves = ceil(blocks / blocks_at_once);
    if (all_b < l2_share * in->on->l2_size) b = all_b / waves;
    double least = in->counts->dram_sectors_least * SECTOR * fmin(1, blocks_at_once / blocks);
    return fmax(least, a + b + in->m * in->n * size / waves);
}

/* The clocks that each unit of a multiprocessor needs for `resident` blocks. */
static void work_of(const model_input *in, double resident, double clocks[MODEL_UNITS]) {
    const tess_counters *c = in->counts;
    const card *on = in->on;
    bool tensor = c->mma_instructions > 0; /* one instruction for thousands of multiply-adds */
    double share = resident / c->blocks, fma = c->flops_issued / 2;
    double arithmetic = tensor ? c->mma_instructions : fma / WARP;
    double global = c->global_load_requests + c->global_store_requests;
    double shared = c->shared_load_instructions + c->shared_store_instructions;
    double passes = c->shared_load_wavefronts + c->shared_store_wavefronts + c->global_wavefronts;
    double l2 = on->l1_keeps_loads ? c->l2_sectors_least : c->l2_sectors_most;
    clocks[MODEL_ISSUE] =
        share * (arithmetic + shared + global * (1 + address_instructions)) / on->schedulers;
    clocks[MODEL_ARITHMETIC] = share * fma / cards_fma(on, in->type, tensor);
    clocks[MODEL_PASSES] = share * passes * 128 / on->pass_bytes;
    clocks[MODEL_L2] = share * l2 * SECTOR / on->l2_bytes;
    clocks[MODEL_DRAM] = dram_bytes_of_wave(in, resident * on->sms) / (on->dram_bytes / on->clock);
}

/* The latency of L2 where all matrices stay in it, else that of DRAM. */
static double tile_latency(const model_input *in) {
    double bytes = (in->m * in->k + in->k * in->n + in->m * in->n) * (double)tess_type_size(in->type);
    return bytes < l2_share * in->on->l2_size ? in->on->l2_latency : in->on->dram_latency;
}

/* Clocks in which a block stands still until global memory answers. */
static double waits_of(const model_input *in) {
    const tess_counters *c = in->counts;
    if (c->barriers > 0) return c->barriers / 2 * tile_latencies * tile_latency(in);
    double warps = c->blocks * in->block_threads / WARP;
    double missed = in->on->l1_keeps_loads ? direct_latencies : 1;
    return c->global_load_requests / warps / loads_in_flight * missed * in->on->l2_latency;
}

/* Issue and arithmetic are one queue: an instruction holds both for its time. The others run beside it. */
static double together(const double clocks[MODEL_UNITS], double exponent) {
    double sum = pow(fmax(clocks[MODEL_ISSUE], clocks[MODEL_ARITHMETIC]), exponent);
    for (int i = MODEL_PASSES; i < MODEL_UNITS; i++) sum += pow(clocks[i], exponent);
    return pow(sum, 1 / exponent);
}

/* Clocks of a multiprocessor from the start of `resident` blocks to their end. While one block waits the others go on, so
 * that what is left of the waiting falls with their number. */
static double wave_of(const model_input *in, double resident, model_result *out) {
    double warps = resident * ceil((double)in->block_threads / WARP) / in->on->schedulers;
    work_of(in, resident, out->clocks);
    out->overlap = fmin(overlap_most, overlap_least + overlap_of_warp * warps);
    out->busy = together(out->clocks, out->overlap);
    out->waiting = waits_of(in) / resident;
    return out->busy + out->waiting;
}

static int bound_of(const model_result *r) {
    int most = MODEL_ISSUE;
    for (int i = 0; i < MODEL_UNITS; i++)
        if (r->clocks[i] > r->clocks[most]) most = i;
    return r->waiting > r->clocks[most] ? MODEL_UNITS : most;
}

bool model_predict(const model_input *in, model_result *out) {
    if (in->fit.blocks < 1 || in->counts->blocks < 1) return false;
    if (in->counts->mma_instructions > 0 && in->on->tensor == 0) return false;
    double at_once = (double)in->fit.blocks * in->on->sms, blocks = in->counts->blocks;
    double whole = floor(blocks / at_once), rest = blocks - whole * at_once, clocks = 0;
    model_result last = {0};
    if (rest > 0) clocks += wave_of(in, ceil(rest / in->on->sms), &last);
    *out = (model_result){0};
    if (whole > 0)
        clocks += whole * wave_of(in, in->fit.blocks, out);
    else
        wave_of(in, ceil(rest / in->on->sms), out);
    out->waves = blocks / at_once;
    out->bound = bound_of(out);
    out->seconds = clocks / in->on->clock;
    out->gflops = in->counts->flops / out->seconds * 1e-9;
    return true;
}
