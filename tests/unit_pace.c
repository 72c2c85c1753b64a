/* unit_pace.c: blocks that keep in step (kernels/pace.h), as threads of this machine: how far they get ahead of each other, that
 * marks are cleared, and that nobody waits for ever. White-box: the kernels' header is compiled here. */
#include "harness.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

/* ---- What the header takes from CUDA, and from walk.h ---- */

#define DEVICE          static
#define __device__      static
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define PACE            4
#define PATIENCE        patience
static int patience;

typedef struct walk {
    int at, step, rows, cols, total;
} walk;

static unsigned atomicAdd(unsigned *to, unsigned more) {
    return __atomic_fetch_add(to, more, __ATOMIC_SEQ_CST);
}
static unsigned atomicInc(unsigned *to, unsigned most) {
    unsigned old = __atomic_load_n(to, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(to, &old, old >= most ? 0 : old + 1, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
    }
    return old;
}
/* One look at how many marks there are; others get a turn. */
static unsigned pace_look(const unsigned *at) {
    sched_yield();
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
#define PACE_LOOK(at) pace_look(at)

#include "../kernels/pace.h"

/* ---- A launch ---- */

enum { CLUSTERS = 5, STAGES = 130, MARKS = (STAGES + PACE - 1) / PACE };

typedef struct cluster {
    pthread_t thread;
    walk w;
    int rank, stages;
    int ahead, gave_up; /* marks that it was ahead of the slowest at most; it waited no more */
} cluster;
static int made[CLUSTERS]; /* marks */

static int slowest(void) {
    int least = __atomic_load_n(&made[0], __ATOMIC_SEQ_CST);
    for (int i = 1; i < CLUSTERS; i++) {
        int other = __atomic_load_n(&made[i], __ATOMIC_SEQ_CST);
        if (other < least) least = other;
    }
    return least;
}

static void *run_cluster(void *argument) {
    cluster *c = argument;
    walk w = c->w;
    int number = w.at;
    pace with = begin_pace(&w, c->stages, c->rank);
    for (; w.at < w.total; w.at += w.step) {
        int has_all = w.at / w.step < w.total / w.step; /* every cluster has a tile in this round */
        for (int stage = 0; stage < c->stages; stage++) {
            int marked = stage % PACE == 0;
            if (marked) __atomic_fetch_add(&made[number], 1, __ATOMIC_SEQ_CST);
            keep_pace(&with, stage);
            int ahead = made[number] - slowest();
            if (marked && has_all && ahead > c->ahead) c->ahead = ahead;
            for (volatile int work = 0; work < 50 * (number + 1); work++) {
            }
        }
    }
    c->gave_up = !with.waits;
    end_pace(&with, &w, c->stages);
    return NULL;
}

/* A launch of so many tiles; clusters number `missing` and on do not begin before the others have ended. */
static void launch(cluster all[CLUSTERS], int tiles, int stages, int missing) {
    memset(made, 0, sizeof made);
    for (int i = 0; i < CLUSTERS; i++)
        all[i] = (cluster){.w = {i, CLUSTERS, 1, tiles, tiles}, .stages = stages};
    for (int from = 0; from < CLUSTERS; from = missing) {
        int to = from < missing ? missing : CLUSTERS;
        for (int i = from; i < to; i++) pthread_create(&all[i].thread, NULL, run_cluster, &all[i]);
        for (int i = from; i < to; i++) pthread_join(all[i].thread, NULL);
        if (to == CLUSTERS) break;
    }
}

static void check_cleared(const char *when) {
    CHECK(pace_marks[0] == 0 && pace_marks[1] == 0 && pace_ended == 0, "%s: %u and %u marks, %u have ended",
          when, pace_marks[0], pace_marks[1], pace_ended);
}

/* ---- The tests ---- */

TEST(pace_keeps_clusters_together) {
    static const int tiles[] = {CLUSTERS * 16, CLUSTERS * 16 + 3, CLUSTERS * 17 + 1};
    patience = 1 << 30;
    for (int i = 0; i < 3; i++) {
        cluster all[CLUSTERS];
        launch(all, tiles[i], STAGES, CLUSTERS);
        for (int j = 0; j < CLUSTERS; j++) {
            CHECK(all[j].ahead <= 2, "%d tiles: cluster %d was %d marks ahead", tiles[i], j, all[j].ahead);
            CHECK(!all[j].gave_up, "%d tiles: cluster %d waits no more", tiles[i], j);
            CHECK(made[j] >= 16 * MARKS, "%d tiles: cluster %d has made %d marks", tiles[i], j, made[j]);
        }
        check_cleared("after a launch");
    }
}

TEST(pace_waits_for_nobody_for_ever) {
    cluster all[CLUSTERS];
    patience = 20;
    launch(all, CLUSTERS * 16 + 2, STAGES, 3);
    CHECK(all[0].gave_up && all[1].gave_up && all[2].gave_up, "some wait for clusters that never began");
    check_cleared("after clusters came late");
    patience = 1 << 30;
    launch(all, CLUSTERS * 16, STAGES, CLUSTERS);
    CHECK(!all[0].gave_up && all[0].ahead <= 2, "the next launch: %d marks ahead", all[0].ahead);
}

TEST(pace_is_for_long_products) {
    walk few = {0, CLUSTERS, 1, 1, CLUSTERS * 16 - 1}, many = {0, CLUSTERS, 1, 1, CLUSTERS * 16};
    CHECK(!begin_pace(&few, 128, 0).takes_part, "less than sixteen rounds");
    CHECK(!begin_pace(&many, 127, 0).takes_part, "less than 128 stages");
    CHECK(!begin_pace(&many, 128, 1).takes_part, "a second block of a cluster");
    CHECK(begin_pace(&many, 128, 0).takes_part, "a long product");
}
