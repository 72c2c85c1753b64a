/* unit_warps.c: the instructions of a warp, put together from what its lanes did one after the other, are
 * those that a warp in lockstep executes, in whatever order the compiler has laid the code out. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "../src/sim/banks.h"
#include "../src/sim/warps.h"

enum { MOST = 1 << 16 };

typedef struct gathered {
    int count;
    uint64_t made[MOST]; /* the place of an instruction, and its lanes */
} gathered;

static uint64_t made_of(uint32_t site, uint32_t lanes) {
    return (uint64_t)site << 32 | lanes;
}

static int keep(void *self, const warps_request *r) {
    gathered *g = self;
    if (g->count == MOST) return 0;
    g->made[g->count++] = made_of(r->site, r->mask);
    return 1;
}

static void event(warps_lanes *w, int lane, uint32_t site, uint32_t kind) {
    CHECK(warps_note(w, lane, &(warps_event){0, site, kind}), "no memory");
}

/* ---- By hand ---- */

/* A loop of four turns in which odd lanes skip a load in odd turns: with the steps each turn's loads are put
 * together, and none with those of another turn. */
TEST(warps_put_parted_lanes_together) {
    static const uint32_t layouts[][3] = {{100, 200, 300}, {100, 300, 200}, {300, 100, 200}};
    static gathered g;
    for (int way = 0; way < 3; way++) {
        const uint32_t *site = layouts[way];
        warps_lanes w;
        memset(&w, 0, sizeof w);
        g.count = 0;
        for (int lane = 0; lane < WARPS_LANES; lane++)
            for (int turn = 0; turn < 4; turn++) {
                event(&w, lane, site[0], 0);
                if (!(lane & turn & 1)) event(&w, lane, site[1], 4);
                event(&w, lane, site[2], 0);
            }
        CHECK(warps_gather(&w, keep, &g) && w.diverged, "nothing was gathered");
        CHECK(g.count == 4, "%d instructions, not 4", g.count);
        for (int turn = 0; turn < 4 && turn < g.count; turn++)
            CHECK(g.made[turn] == made_of(site[1], turn & 1 ? 0x55555555u : 0xffffffffu),
                  "turn %d has lanes %08x", turn, (unsigned)g.made[turn]);
        warps_free(&w);
    }
}

/* Lanes that make fewer turns than others, and lanes that do nothing at all. */
TEST(warps_of_lanes_that_end_early) {
    static gathered g;
    warps_lanes w;
    memset(&w, 0, sizeof w);
    g.count = 0;
    for (int lane = 1; lane < WARPS_LANES; lane++) {
        for (int turn = 0; turn < 1 + lane % 2; turn++) event(&w, lane, 200, 4);
        event(&w, lane, 100, 4);
    }
    CHECK(warps_gather(&w, keep, &g), "nothing was gathered");
    CHECK(g.count == 3 && g.made[0] == made_of(200, 0xfffffffeu) && g.made[1] == made_of(200, 0xaaaaaaaau) &&
              g.made[2] == made_of(100, 0xfffffffeu),
          "%d instructions: lanes %08x, %08x, %08x", g.count, (unsigned)g.made[0], (unsigned)g.made[1],
          (unsigned)g.made[2]);
    warps_free(&w);
}

/* ---- Programs of accesses, ifs and loops, against a warp in lockstep ---- */

enum { STATEMENTS = 150, NEST = 4, LONGEST = 40 };

typedef enum statement_kind { ACCESS, IF, LOOP } statement_kind;

/* A statement, its two bodies (of a loop the first), and what follows it; 0: nothing. Each takes four places
 * in the code: before it, in its bodies, behind it. */
typedef struct statement {
    statement_kind kind;
    int body[2], next;
} statement;

typedef struct program {
    statement all[STATEMENTS];
    int count;
    uint32_t sites[4 * STATEMENTS];
    uint64_t state[WARPS_LANES]; /* of each lane's choices */
} program;

/* A lane's next choice, of 0 to below `most`. */
static int choose(program *p, int lane, int most) {
    p->state[lane] = p->state[lane] * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((p->state[lane] >> 33) % (uint64_t)most);
}

static uint32_t site_of(const program *p, int at, int place) {
    return p->sites[4 * at + place];
}

/* Writes some statements, one after the other; returns the first. */
static int write_statements(program *p, int depth) {
    int first = 0, last = 0;
    for (int64_t left = rng_range(test_random(), 1, depth ? 3 : LONGEST); left > 0 && p->count < STATEMENTS;
         left--) {
        int at = p->count++;
        statement_kind kind = depth < NEST ? (statement_kind)rng_range(test_random(), ACCESS, LOOP) : ACCESS;
        p->all[at] = (statement){.kind = kind};
        if (kind != ACCESS) p->all[at].body[0] = write_statements(p, depth + 1);
        if (kind == IF && rng_range(test_random(), 0, 1)) p->all[at].body[1] = write_statements(p, depth + 1);
        if (last) p->all[last].next = at;
        if (!first) first = at;
        last = at;
    }
    return first;
}

/* Lays the places of the code out in any order. */
static void lay_out(program *p) {
    for (int i = 0; i < 4 * STATEMENTS; i++) {
        int j = (int)rng_range(test_random(), 0, i);
        p->sites[i] = p->sites[j];
        p->sites[j] = 16 * (uint32_t)(i + 1);
    }
}

/* One lane goes through the program alone. */
static void run_lane(program *p, warps_lanes *w, int lane, int from) {
    for (int at = from; at; at = p->all[at].next) {
        const statement *s = &p->all[at];
        event(w, lane, site_of(p, at, 0), s->kind == ACCESS ? 4 : 0);
        if (s->kind == ACCESS) continue;
        int choice = choose(p, lane, s->kind == IF ? 2 : 4);
        for (int turn = 0; s->kind == LOOP && turn < choice; turn++) {
            event(w, lane, site_of(p, at, 1), 0);
            run_lane(p, w, lane, s->body[0]);
        }
        if (s->kind == IF && s->body[choice]) {
            event(w, lane, site_of(p, at, 1 + choice), 0);
            run_lane(p, w, lane, s->body[choice]);
        }
        event(w, lane, site_of(p, at, 3), 0);
    }
}

/* All lanes of a mask go through the program in lockstep. */
static void run_lockstep(program *p, gathered *g, uint32_t mask, int from) {
    for (int at = from; at && mask; at = p->all[at].next) {
        const statement *s = &p->all[at];
        uint32_t chosen[4] = {0};
        if (s->kind == ACCESS) {
            warps_request r = {.site = site_of(p, at, 0), .kind = 4, .mask = mask};
            CHECK(keep(g, &r), "too many instructions");
            continue;
        }
        for (uint32_t left = mask; left; left &= left - 1)
            chosen[choose(p, __builtin_ctz(left), s->kind == IF ? 2 : 4)] |= left & -left;
        if (s->kind == IF)
            for (int i = 0; i < 2; i++) run_lockstep(p, g, chosen[i], s->body[i]);
        else
            for (uint32_t turn = 1, in = mask & ~chosen[0]; turn < 4; in &= ~chosen[turn++])
                run_lockstep(p, g, in, s->body[0]);
    }
}

static int ascending(const void *x, const void *y) {
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* Which way of two is gone first does not matter. */
static int are_same(gathered *x, gathered *y) {
    qsort(x->made, (size_t)x->count, sizeof *x->made, ascending);
    qsort(y->made, (size_t)y->count, sizeof *y->made, ascending);
    return x->count == y->count && memcmp(x->made, y->made, (size_t)x->count * sizeof *x->made) == 0;
}

TEST(warps_are_those_of_lockstep) {
    static gathered got, want;
    for (sampling s = sampling_start(200, 3000, 1.0); sampling_next(&s);) {
        warps_lanes w;
        program p = {.count = 1};
        memset(&w, 0, sizeof w);
        int first = write_statements(&p, 0);
        uint64_t seed = rng_bits(test_random());
        lay_out(&p);
        for (int lane = 0; lane < WARPS_LANES; lane++)
            p.state[lane] = seed + (uint64_t)lane % (1 + seed % 32);
        program again = p;
        got.count = want.count = 0;
        for (int lane = 0; lane < WARPS_LANES; lane++) run_lane(&p, &w, lane, first);
        run_lockstep(&again, &want, UINT32_MAX, first);
        int gather = warps_gather(&w, keep, &got);
        warps_free(&w);
        if (!CHECK(gather && are_same(&got, &want), "program %d: %d instructions, in lockstep %d",
                   (int)s.index, got.count, want.count))
            return;
    }
}

/* ---- Copies ---- */

/* Thirty-two lanes copy 4 bytes each, lane i from `from[i]` to its own bank, or `to` banks apart. */
static int copy_wavefronts(const uint64_t from[WARPS_LANES], uint32_t mask, uint64_t to, int *least) {
    warps_request load = {.kind = 4 | WARPS_COPY, .mask = mask},
                  store = {.kind = 4 | WARPS_COPY | WARPS_WRITE | WARPS_SHARED, .mask = UINT32_MAX};
    for (uint64_t lane = 0; lane < WARPS_LANES; lane++) {
        load.at[lane] = from[lane];
        store.at[lane] = 4 * lane * to;
    }
    return banks_copy_wavefronts(&load, &store, least);
}

/* As an H200 has them: the numbers are those of simt_12_pipelined at 517x263x131. */
TEST(warps_copy_without_sharing_words) {
    uint64_t row[WARPS_LANES], one[WARPS_LANES], edge[WARPS_LANES];
    int least;
    for (uint64_t lane = 0; lane < WARPS_LANES; lane++) {
        row[lane] = 4096 + 4 * lane;
        one[lane] = 4096;
        edge[lane] = lane < 7 ? 4096 + 4 * (256 + lane) : 4096;
    }
    CHECK(copy_wavefronts(row, UINT32_MAX, 1, &least) == 1 && least == 1,
          "a row takes more than one wavefront");
    CHECK(copy_wavefronts(row, UINT32_MAX, 132, &least) == 4 && least == 1,
          "4 lanes to a bank are not 4 wavefronts");
    CHECK(copy_wavefronts(one, UINT32_MAX, 1, &least) == 32 && least == 1,
          "one word for all lanes is shared");
    CHECK(copy_wavefronts(edge, UINT32_MAX, 1, &least) == 26 && least == 1,
          "26 lanes of a bank are not 26 wavefronts");
    CHECK(copy_wavefronts(one, 0, 1, &least) == 1 && least == 1, "zeros are loaded");
}

/* A warp copies lines of `length` bytes in pieces of 16, lines 512 bytes apart in global memory and `pitch` in
 * shared memory, from line `first` on. */
static void copy_lines(uint64_t length, uint64_t pitch, uint64_t first, warps_request *load,
                       warps_request *store) {
    *load = (warps_request){.kind = 16 | WARPS_COPY, .mask = UINT32_MAX};
    *store = (warps_request){.kind = 16 | WARPS_COPY | WARPS_WRITE | WARPS_SHARED, .mask = UINT32_MAX};
    for (uint64_t lane = 0; lane < WARPS_LANES; lane++) {
        uint64_t line = first + 16 * lane / length, at = 16 * lane % length;
        load->at[lane] = 4096 + 512 * line + at;
        store->at[lane] = pitch * line + at;
    }
}

/* As an H200 has them: the first two lines are mma_05_swizzled's, the others those of mma_03_async. */
TEST(warps_copy_16_bytes_past_l1) {
    static const struct {
        uint64_t length, pitch, first;
        int wavefronts, least, split, zeros, zeros_least;
    } cases[] = {
        {64, 64, 0, 8, 8, 0, 64, 64},     {256, 256, 0, 4, 4, 0, 64, 64},   {64, 80, 0, 27, 19, 4, 64, 60},
        {256, 272, 0, 10, 10, 2, 64, 64}, {256, 272, 2, 16, 16, 2, 64, 64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        warps_request load, store;
        int least, zeros_least;
        copy_lines(cases[i].length, cases[i].pitch, cases[i].first, &load, &store);
        int wavefronts = banks_copy_wavefronts(&load, &store, &least);
        CHECK(wavefronts == cases[i].wavefronts && least == cases[i].least,
              "case %d: %d wavefronts, least %d", (int)i, wavefronts, least);
        CHECK(banks_copy_split_sectors(&load, &store) == cases[i].split, "case %d: %d sectors more", (int)i,
              banks_copy_split_sectors(&load, &store));
        load.mask = 0;
        wavefronts = banks_copy_wavefronts(&load, &store, &zeros_least);
        CHECK(wavefronts == cases[i].zeros && zeros_least == cases[i].zeros_least,
              "case %d, zeros: %d wavefronts, least %d", (int)i, wavefronts, zeros_least);
        CHECK(banks_copy_split_sectors(&load, &store) == 0, "case %d: zeros have sectors", (int)i);
    }
}
