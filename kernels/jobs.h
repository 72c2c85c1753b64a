/* jobs.h: what a cluster of a persistent kernel computes, one after the other: a kernel says #include "jobs.h" after walk.h,
 * where it has defined SHARE.
 *
 * Tiles are dealt out in rounds. With SHARE the tiles of a last round that not every cluster has one of are cut along k: all
 * their chunks, tile after tile, are dealt out evenly, in order. So a cluster has a piece of one of them, or the end of one and
 * the beginning of the next. Where those tiles are very few, not every cluster has a part in them: whoever joins pieces does so
 * one after the other. */
#ifndef JOBS_H
#define JOBS_H

/* Clusters that share a tile, in the mean: it has one piece more where those do not begin with it. */
enum { MOST_PIECES = 8 };

/* Tiles up to `whole` are not cut, and this cluster's next is the walk's. Of the others' chunks, counted from the first of the
 * first, those from `next` to `end` are left to it; `sharers` clusters have such. */
typedef struct jobs {
    walk w;
    int whole, chunks, sharers, next, end;
} jobs;

/* Of the walk's tile the chunks from `first` on; and how many pieces the tile has, or 0 where it is not cut. Pieces have places
 * in order: those of a tile follow one another, from `places` on. */
typedef struct job {
    int first, chunks, pieces, places, place;
} job;

/* So many places are enough for any tiles that are cut. */
DEVICE int places_of(const walk *w) {
    return w->step + w->total % w->step;
}

/* `cuts`: whether tiles may be. */
DEVICE jobs begin_jobs(walk w, int chunks, int cuts) {
    jobs j = {w, w.total, chunks, w.step, 0, 0};
    int rest = w.total % w.step, all = rest * chunks;
    if (!SHARE || !cuts || all < w.step) return j;
    if (j.sharers > rest * MOST_PIECES) j.sharers = rest * MOST_PIECES;
    j.whole = w.total - rest;
    if (w.at >= j.sharers) return j;
    j.next = w.at * all / j.sharers;
    j.end = (w.at + 1) * all / j.sharers;
    return j;
}

/* The cluster that has that chunk of `all`. */
DEVICE int cluster_of(int chunk, int all, int clusters) {
    return ((chunk + 1) * clusters - 1) / all;
}

DEVICE int take_piece(jobs *j, job *out) {
    if (j->next >= j->end) return 0;
    int all = (j->w.total - j->whole) * j->chunks, tile = j->next / j->chunks, begin = tile * j->chunks,
        left = begin + j->chunks - j->next, cluster = cluster_of(j->next, all, j->sharers);
    out->first = j->next - begin;
    out->chunks = left < j->end - j->next ? left : j->end - j->next;
    out->places = cluster_of(begin, all, j->sharers) + tile;
    out->pieces = cluster_of(begin + j->chunks - 1, all, j->sharers) + tile + 1 - out->places;
    out->place = cluster + tile;
    j->w.at = j->whole + tile;
    j->next += out->chunks;
    return 1;
}

/* The next job, of tile j->w.at; 0: there is none. The first call is with a job of 0 chunks. */
DEVICE int next_job(jobs *j, job *out) {
    if (out->chunks > 0 && out->pieces == 0) j->w.at += j->w.step;
    if (j->w.at >= j->whole) return SHARE && take_piece(j, out);
    const job all = {0, j->chunks, 0, 0, 0};
    *out = all;
    return 1;
}

#endif
