/* ways.h: where ways through the code that have parted meet again.
 *
 * The ways of some lanes, put together, are a graph: its nodes are the places in the code that any lane came
 * to, its edges the steps from one to the next. Two nodes are no place in the code: WAYS_BEGIN, where all
 * lanes begin, and WAYS_END, where all end. Lanes that part after a node meet again at the first node that
 * every way from there to the end passes: its immediate post-dominator. That depends on the ways alone, not
 * on the order in which the compiler lays the code out. */
#ifndef WAYS_H
#define WAYS_H

#include <stdint.h>

enum { WAYS_BEGIN = 0, WAYS_END = 1 };

typedef struct ways_node {
    uint32_t site;
    int out, in; /* the first of its edges; -1: none */
    int meets;   /* where ways that part here meet again; -1: not known yet */
    /* For finding that: where it was visited from, -1: not yet; the edge to go on by; the node that was left
     * before it; how many were. */
    int from, by, left_before, rank;
} ways_node;

typedef struct ways_edge {
    int from, to;
    int next_out, next_in; /* of the same node; -1: none */
} ways_edge;

/* All zeros is no graph; its memory is used again by the next one. */
typedef struct ways {
    ways_node *nodes;
    ways_edge *edges;
    int *places; /* open hash table of nodes by site; 0: free */
    int node_count, node_room, edge_count, edge_room, place_count;
} ways;

/* Begins a graph without ways. Like the next two, returns 0 if there is no memory. */
int ways_clear(ways *w);
/* Steps from node `from` to the place `site`; *to is its node. */
int ways_step(ways *w, int from, uint32_t site, int *to);
/* A way ends after node `from`. */
int ways_end(ways *w, int from);
/* After the last way: finds where ways meet. */
void ways_close(ways *w);

/* The node of a place that some way came to. */
int ways_find(const ways *w, uint32_t site);
/* Where ways that part after `node` meet again; WAYS_END at the latest. */
int ways_meet(const ways *w, int node);

void ways_free(ways *w);

#endif
