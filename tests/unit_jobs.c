/* unit_jobs.c: what clusters compute when the last round of tiles is cut along k (kernels/jobs.h): every chunk of every tile
 * once, all clusters as much, and pieces where those who join them look. White-box: the kernels' header is compiled here. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE static
#define SHARE  1

typedef struct walk {
    int at, step, rows, cols, total;
} walk;

#include "../kernels/jobs.h"

/* ---- A launch ---- */

/* What all clusters have done so far. */
typedef struct launch {
    int clusters, tiles, chunks;
    int *done;   /* how often, each chunk of each tile */
    int *pieces; /* of each tile: as those who had one were told, and 0 where it is not cut */
    int *placed; /* of each place: the tile a piece of it is there, and 1 */
} launch;

static void take_job(launch *l, const jobs *j, const job *now) {
    int tile = j->w.at;
    for (int i = 0; i < now->chunks; i++) l->done[tile * l->chunks + now->first + i]++;
    if (now->pieces == 0) return;
    CHECK(now->pieces <= MOST_PIECES + 1, "tile %d: %d pieces", tile, now->pieces);
    CHECK(l->pieces[tile] == 0 || l->pieces[tile] == now->pieces,
          "tile %d: it has %d pieces for one cluster, %d for another", tile, l->pieces[tile], now->pieces);
    l->pieces[tile] = now->pieces;
    CHECK(now->place >= now->places && now->place < now->places + now->pieces,
          "tile %d: its piece has place %d, and its %d pieces are joined from %d on", tile, now->place,
          now->pieces, now->places);
    CHECK(now->place < places_of(&j->w), "place %d of %d", now->place, places_of(&j->w));
    CHECK(l->placed[now->place] == 0, "place %d has a piece of tile %d already", now->place,
          l->placed[now->place] - 1);
    l->placed[now->place] = tile + 1;
}

/* The jobs of one cluster; chunks of them in all. */
static int run_cluster(launch *l, int cluster, int cuts) {
    walk w = {cluster, l->clusters, 1, l->tiles, l->tiles};
    jobs j = begin_jobs(w, l->chunks, cuts);
    int chunks = 0;
    for (job now = {0}; next_job(&j, &now);) {
        CHECK(now.chunks > 0, "a job of nothing");
        chunks += now.chunks;
        take_job(l, &j, &now);
    }
    return chunks;
}

static void check_all_done(const launch *l) {
    for (int i = 0; i < l->tiles * l->chunks; i++)
        CHECK(l->done[i] == 1, "chunk %d of tile %d of %d by %d clusters: %d times", i % l->chunks,
              i / l->chunks, l->tiles, l->clusters, l->done[i]);
    for (int tile = 0; tile < l->tiles; tile++) {
        int pieces = 0;
        for (int i = 0; i < l->clusters + l->tiles; i++) pieces += l->placed[i] == tile + 1;
        CHECK(pieces == l->pieces[tile], "tile %d has %d pieces in their places, not %d", tile, pieces,
              l->pieces[tile]);
    }
}

/* `most` and `least` chunks of a cluster. */
static void run_launch(int clusters, int tiles, int chunks, int cuts, int *least, int *most) {
    launch l = {clusters, tiles, chunks, NULL, NULL, NULL};
    l.done = test_alloc(sizeof(int) * (size_t)(tiles * chunks));
    l.pieces = test_alloc(sizeof(int) * (size_t)tiles);
    l.placed = test_alloc(sizeof(int) * (size_t)(clusters + tiles));
    memset(l.done, 0, sizeof(int) * (size_t)(tiles * chunks));
    memset(l.pieces, 0, sizeof(int) * (size_t)tiles);
    memset(l.placed, 0, sizeof(int) * (size_t)(clusters + tiles));
    *least = tiles * chunks, *most = 0;
    for (int cluster = 0; cluster < clusters; cluster++) {
        int its = run_cluster(&l, cluster, cuts);
        if (its < *least) *least = its;
        if (its > *most) *most = its;
    }
    check_all_done(&l);
    free(l.done), free(l.pieces), free(l.placed);
}

/* ---- Tests ---- */

TEST(jobs_are_every_chunk_once_and_even) {
    static const int chunk_counts[] = {1, 2, 5, 64, 65, 256};
    for (int clusters = 1; clusters <= 12; clusters++)
        for (int tiles = clusters; tiles <= 4 * clusters; tiles++)
            for (int i = 0; i < 6; i++) {
                int chunks = chunk_counts[i], rest = tiles % clusters, least, most;
                run_launch(clusters, tiles, chunks, 1, &least, &most);
                int even = rest == 0 || (rest * MOST_PIECES >= clusters && rest * chunks >= clusters);
                CHECK(!even || most - least <= 1, "%d tiles of %d chunks by %d clusters: %d to %d", tiles,
                      chunks, clusters, least, most);
            }
}

TEST(jobs_of_4096_and_4097_on_132_multiprocessors) {
    int least, most;
    run_launch(66, 16 * 22, 64, 1, &least, &most);
    CHECK(least == 5 * 64 + 21 && most == 5 * 64 + 22, "%d to %d", least, most);
    run_launch(66, 17 * 22, 65, 1, &least, &most);
    CHECK(least == 5 * 65 + 43 && most == 5 * 65 + 44, "%d to %d", least, most);
}

/* All clusters would make 34 pieces of each of two tiles. */
TEST(jobs_have_few_pieces) {
    int least, most;
    run_launch(67, 4 * 67 + 2, 56, 1, &least, &most);
    CHECK(least == 4 * 56 && most == 4 * 56 + 56 / MOST_PIECES, "%d to %d", least, most);
}

TEST(jobs_are_whole_tiles_where_nothing_may_be_cut) {
    int least, most;
    run_launch(66, 16 * 22, 64, 0, &least, &most);
    CHECK(least == 5 * 64 && most == 6 * 64, "%d to %d", least, most);
}
