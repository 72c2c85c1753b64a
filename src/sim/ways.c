/* ways.c: the graph of the ways, and its post-dominators.
 *
 * They are found as dominators of the graph walked backwards from its end (Cooper, Harvey and Kennedy: "A
 * simple, fast dominance algorithm"): nodes are ranked in the order in which a walk backwards leaves them, so
 * that the end has the highest rank, and each node's meeting place is corrected from those of its followers
 * until none changes. */
#include "ways.h"

#include <string.h>

#include "../memory.h"

enum { FIRST_ROOM = 256, NONE = -1 };

/* ---- Room ---- */

/* Doubles an array. */
static int grow(void **array, int *room, size_t size) {
    int wanted = *room ? 2 * *room : FIRST_ROOM;
    void *larger = memory_alloc((size_t)wanted * size);
    if (!larger) return 0;
    if (*room) memcpy(larger, *array, (size_t)*room * size);
    memory_free(*array);
    *array = larger;
    *room = wanted;
    return 1;
}

/* The place of the table where a site is, or would be. */
static int *place_of(const ways *w, uint32_t site) {
    unsigned mask = (unsigned)w->place_count - 1, at = (site * 2654435761u) >> 7 & mask;
    while (w->places[at] && w->nodes[w->places[at]].site != site) at = (at + 1) & mask;
    return &w->places[at];
}

/* Gives the nodes' arrays more room; the table is always at least half empty. */
static int grow_nodes(ways *w) {
    void *nodes = w->nodes;
    int *places =
        memory_alloc_zeroed((size_t)(w->node_room ? 4 * w->node_room : 2 * FIRST_ROOM) * sizeof *places);
    if (!places) return 0;
    if (!grow(&nodes, &w->node_room, sizeof *w->nodes)) {
        memory_free(places);
        return 0;
    }
    w->nodes = nodes;
    memory_free(w->places);
    w->places = places;
    w->place_count = 2 * w->node_room;
    for (int i = WAYS_END + 1; i < w->node_count; i++) *place_of(w, w->nodes[i].site) = i;
    return 1;
}

void ways_free(ways *w) {
    memory_free(w->nodes);
    memory_free(w->edges);
    memory_free(w->places);
    memset(w, 0, sizeof *w);
}

/* ---- The graph ---- */

static void begin_node(ways *w, int node, uint32_t site) {
    w->nodes[node] = (ways_node){.site = site, .out = NONE, .in = NONE, .meets = NONE, .from = NONE};
}

int ways_clear(ways *w) {
    if (w->node_room == 0 && !grow_nodes(w)) return 0;
    memset(w->places, 0, (size_t)w->place_count * sizeof *w->places);
    begin_node(w, WAYS_BEGIN, 0);
    begin_node(w, WAYS_END, 0);
    w->node_count = WAYS_END + 1;
    w->edge_count = 0;
    return 1;
}

static int add_edge(ways *w, int from, int to) {
    for (int e = w->nodes[from].out; e != NONE; e = w->edges[e].next_out)
        if (w->edges[e].to == to) return 1;
    void *edges = w->edges;
    if (w->edge_count == w->edge_room && !grow(&edges, &w->edge_room, sizeof *w->edges)) return 0;
    w->edges = edges;
    w->edges[w->edge_count] = (ways_edge){from, to, w->nodes[from].out, w->nodes[to].in};
    w->nodes[from].out = w->nodes[to].in = w->edge_count++;
    return 1;
}

int ways_step(ways *w, int from, uint32_t site, int *to) {
    int *place = place_of(w, site);
    if (!*place) {
        if (w->node_count == w->node_room && !grow_nodes(w)) return 0;
        begin_node(w, w->node_count, site);
        *place_of(w, site) = w->node_count++;
        place = place_of(w, site);
    }
    *to = *place;
    return add_edge(w, from, *to);
}

int ways_end(ways *w, int from) {
    return add_edge(w, from, WAYS_END);
}

/* ---- Where they meet ---- */

/* Walks all edges backwards from the end, which is left last. */
static void rank_nodes(ways *w) {
    int at = WAYS_END, left = NONE, rank = 0;
    for (int i = 0; i < w->node_count; i++) w->nodes[i].by = w->nodes[i].in;
    w->nodes[WAYS_END].from = WAYS_END;
    for (;;) {
        ways_node *node = &w->nodes[at];
        int e = node->by;
        if (e == NONE) {
            node->left_before = left;
            node->rank = rank++;
            left = at;
            if (at == WAYS_END) return;
            at = node->from;
            continue;
        }
        node->by = w->edges[e].next_in;
        int next = w->edges[e].from;
        if (w->nodes[next].from != NONE) continue;
        w->nodes[next].from = at;
        at = next;
    }
}

/* The first node that is met after both, itself or what is known to be met after it. */
static int meet_of_both(const ways *w, int x, int y) {
    while (x != y)
        if (w->nodes[x].rank < w->nodes[y].rank)
            x = w->nodes[x].meets;
        else
            y = w->nodes[y].meets;
    return x;
}

static int meet_of_followers(const ways *w, int node) {
    int meets = NONE;
    for (int e = w->nodes[node].out; e != NONE; e = w->edges[e].next_out) {
        int to = w->edges[e].to;
        if (w->nodes[to].meets != NONE) meets = meets == NONE ? to : meet_of_both(w, to, meets);
    }
    return meets;
}

void ways_close(ways *w) {
    rank_nodes(w);
    w->nodes[WAYS_END].meets = WAYS_END;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int i = w->nodes[WAYS_END].left_before; i != NONE; i = w->nodes[i].left_before) {
            int meets = meet_of_followers(w, i);
            changed |= meets != w->nodes[i].meets;
            w->nodes[i].meets = meets;
        }
    }
}

int ways_find(const ways *w, uint32_t site) {
    return *place_of(w, site);
}

int ways_meet(const ways *w, int node) {
    return w->nodes[node].meets;
}
