/* unit_sim.c: the parts of the simulator: fibers keep their registers and stacks, banks are counted as the
 * hardware counts them, multiprocessors hold as many blocks as they do. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "../src/sim/banks.h"
#include "../src/sim/fiber.h"
#include "../src/memory.h"
#include "../src/sim/limits.h"
#include "../src/sim/module.h"

/* ---- Fibers ---- */

enum { FIBERS = 64, STACK = 1 << 16, ROUNDS = 50 };

static fiber home, fibers[FIBERS];
static int running, turns[FIBERS];
static double results[FIBERS];

/* Keeps more values alive across switches than there are registers a call preserves, whole and floating. */
static void keep_values(void) {
    int me = running;
    double x[12];
    long n[12];
    for (int i = 0; i < 12; i++) x[i] = me + 0.25 * i, n[i] = me * 100 + i;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 12; i++) x[i] += 1, n[i] += 1;
        turns[me]++;
        fiber_switch(&fibers[me], &home);
    }
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += x[i] - me - 0.25 * i + (double)(n[i] - me * 100 - i);
    results[me] = sum;
    for (;;) fiber_switch(&fibers[me], &home);
}

TEST(sim_fibers_keep_what_is_theirs) {
    char *stacks = test_alloc((size_t)FIBERS * STACK);
    fiber_adopt(&home);
    memset(turns, 0, sizeof turns);
    for (int i = 0; i < FIBERS; i++) fiber_make(&fibers[i], stacks + (size_t)i * STACK, STACK, keep_values);
    for (int round = 0; round <= ROUNDS; round++)
        for (running = 0; running < FIBERS; running++) fiber_switch(&home, &fibers[running]);
    for (int i = 0; i < FIBERS; i++) {
        CHECK(turns[i] == ROUNDS, "fiber %d ran %d times, not %d", i, turns[i], ROUNDS);
        CHECK(results[i] == 24.0 * ROUNDS, "the values of fiber %d add up to %g, not %g", i, results[i],
              24.0 * ROUNDS);
    }
    free(stacks);
}

/* ---- Banks ---- */

/* Cases that were measured on a GPU and published, and some that follow from the rule. Offsets are in words.
 */
typedef struct bank_case {
    const char *what;
    int bytes, writes;
    uint32_t mask;
    int wavefronts, conflicts;
} bank_case;
static const bank_case bank_cases[] = {
    {"8 bytes, neighbours", 8, 0, 0xffffffffu, 2, 0},
    {"8 bytes, pairs share", 8, 0, 0xffffffffu, 1, 0},
    {"16 bytes, lanes 15 and 16", 16, 0, 0x00018000u, 2, 0},
    {"16 bytes, lanes 0 and 15", 16, 0, 0x00008001u, 1, 0},
    {"16 bytes, lanes two apart share", 16, 0, 0xffffffffu, 2, 0},
    {"16 bytes, the halves pair differently", 16, 0, 0xffffffffu, 4, 0},
    {"16 bytes, neighbours", 16, 0, 0xffffffffu, 4, 0},
    {"4 bytes, one word", 4, 0, 0xffffffffu, 1, 0},
    {"4 bytes, every second word", 4, 0, 0xffffffffu, 2, 1},
    {"4 bytes, a column of 32", 4, 0, 0xffffffffu, 32, 31},
    {"4 bytes, a column of 33", 4, 1, 0xffffffffu, 1, 0},
    {"nobody", 4, 0, 0, 0, 0},
};

static uint32_t word_of(int which, uint32_t lane) {
    switch (which) {
    case 0: return 2 * lane;
    case 1: return 2 * (lane / 2);
    case 2:
    case 3: return 16;
    case 4: return 4 * (lane / 8 * 2 + lane % 8 / 2 % 2);
    case 5: return 4 * (lane < 16 ? lane / 8 * 2 + lane % 8 / 2 % 2 : lane / 8 * 2 + lane % 2);
    case 6: return 4 * lane;
    case 8: return 2 * lane;
    case 9: return 32 * lane;
    case 10: return 33 * lane;
    default: return 0;
    }
}

TEST(sim_banks_are_counted) {
    for (size_t i = 0; i < sizeof bank_cases / sizeof *bank_cases; i++) {
        const bank_case *c = &bank_cases[i];
        uint32_t offsets[BANKS_LANES];
        int least;
        for (uint32_t lane = 0; lane < BANKS_LANES; lane++) offsets[lane] = 4 * word_of((int)i, lane);
        int got = banks_wavefronts(offsets, c->mask, c->bytes, c->writes, &least);
        CHECK(got == c->wavefronts && got - least == c->conflicts,
              "%s: %d wavefronts, %d conflicts; expected %d, %d", c->what, got, got - least, c->wavefronts,
              c->conflicts);
    }
}

/* Lanes that take different ways are put together where they meet again, and charged together. */
TEST(sim_lanes_are_put_together) {
    warps_lanes lanes;
    banks_tally tally = {.count = 0};
    memset(&lanes, 0, sizeof lanes);
    for (int lane = 0; lane < BANKS_LANES; lane++) {
        const warps_event odd = {(uint64_t)lane * 4, 100, 4 | WARPS_SHARED},
                          all = {(uint64_t)lane * 4, 200, 4 | WARPS_SHARED};
        CHECK((lane % 2 == 0 || warps_note(&lanes, lane, &odd)) && warps_note(&lanes, lane, &all),
              "no memory");
    }
    CHECK(warps_gather(&lanes, banks_add, &tally), "nothing was gathered");
    CHECK(tally.count == 2 && tally.sites[0].requests == 1 && tally.sites[1].requests == 1,
          "%d instructions, %d and %d requests", tally.count, (int)tally.sites[0].requests,
          (int)tally.sites[1].requests);
    CHECK(lanes.lanes[0].count == 0 && lanes.lanes[31].count == 0, "events are left");
    warps_free(&lanes);
}

/* ---- Multiprocessors ---- */

TEST(sim_occupancy) {
    static const struct {
        const char *arch;
        int threads, shared, blocks;
    } cases[] = {
        {"60", 256, 32768, 2}, {"90", 256, 32768, 6}, {"90", 1024, 8192, 2},  {"86", 1024, 0, 1},
        {"86", 256, 0, 6},     {"75", 32, 0, 16},     {"80", 128, 170000, 0},
    };
    const char *before = getenv("TESSERA_SIM_ARCH");
    char *kept = before ? strdup(before) : NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const limits *of;
        const char *limit;
        sentence why;
        setenv("TESSERA_SIM_ARCH", cases[i].arch, 1);
        if (!CHECK(limits_here(&of, &why) == TESS_OK, "%s", why.text)) continue;
        int got = limits_blocks(of, cases[i].threads, cases[i].shared, &limit);
        CHECK(got == cases[i].blocks, "sm_%s, %d threads, %d bytes: %d blocks (%s), not %d", cases[i].arch,
              cases[i].threads, cases[i].shared, got, limit, cases[i].blocks);
    }
    if (kept)
        setenv("TESSERA_SIM_ARCH", kept, 1);
    else
        unsetenv("TESSERA_SIM_ARCH");
    free(kept);
}

/* ---- Memory ---- */

/* One product, checked, in which one allocation fails. Returns its status. */
static tess_status run_with_failure(int64_t successes) {
    float a[64] = {1}, b[64] = {1}, c[64] = {0};
    tess_context *ctx;
    tess_matrix A = tess_view_row_major(TESS_F32, 8, 8, a, 8), B = tess_view_col_major(TESS_F32, 8, 8, b, 8),
                C = tess_view_row_major(TESS_F32, 8, 8, c, 8);
    tess_options options = {.kernel = "simt_12_pipelined"};
    memory_fail_after(successes);
    tess_status status = tess_open(&ctx, "sim:checked");
    if (status == TESS_OK) status = tess_gemm(ctx, 1, &A, &B, 0, &C, &options);
    memory_fail_after(-1);
    tess_close(ctx);
    return status;
}

TEST(sim_survives_failing_allocations) {
    char why[256];
    if (!module_can_trace(why)) {
        harness_skip("%s", why);
        return;
    }
    CHECK(run_with_failure(-1) == TESS_OK, "%s", tess_error(NULL));
    int64_t before = memory_live(), failures = 0;
    for (int64_t n = 0; n < 60; n++) {
        tess_status status = run_with_failure(n);
        failures += status != TESS_OK;
        CHECK(memory_live() == before, "failing allocation %d leaves %d blocks", (int)n,
              (int)(memory_live() - before));
    }
    CHECK(failures > 20, "only %d allocations failed", (int)failures);
}
