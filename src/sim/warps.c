/* warps.c: putting lanes together.
 *
 * Where all lanes went the same way, their n-th events are one instruction. Where they did not, lanes go on
 * together until they part, and those that part go on one after the other as far as the place where their
 * ways meet again (ways.h), as a warp of a GPU does. That needs the steps, for without them a lane that skips
 * an access in one turn of a loop looks as if it were a turn ahead. */
#include "warps.h"

#include <string.h>

#include "../memory.h"

static int make_room(warps_lane *lane) {
    int room = lane->room ? 2 * lane->room : 1024;
    warps_event *larger = memory_alloc((size_t)room * sizeof *larger);
    if (!larger) return 0;
    if (lane->count) memcpy(larger, lane->events, (size_t)lane->count * sizeof *larger);
    memory_free(lane->events);
    lane->events = larger;
    lane->room = room;
    return 1;
}

int warps_note(warps_lanes *w, int lane, const warps_event *event) {
    warps_lane *l = &w->lanes[lane];
    if (l->count == l->room && !make_room(l)) return 0;
    l->events[l->count++] = *event;
    return 1;
}

static int same_way(const warps_lane *x, const warps_lane *y) {
    if (x->count != y->count) return 0;
    for (int i = 0; i < x->count; i++)
        if (x->events[i].site != y->events[i].site) return 0;
    return 1;
}

/* Sets alike[lane] to the lanes that went the same way, for the first of them, and to 0 for the others.
 * Returns how many ways there are; lanes that did nothing have none. */
static int tell_apart(const warps_lanes *w, uint32_t alike[WARPS_LANES]) {
    int different = 0;
    for (int lane = 0; lane < WARPS_LANES; lane++) {
        int like = 0;
        alike[lane] = 0;
        if (w->lanes[lane].count == 0) continue;
        while (like < lane && !(alike[like] && same_way(&w->lanes[like], &w->lanes[lane]))) like++;
        alike[like] |= 1u << lane;
        different += like == lane;
    }
    return different;
}

static void join(warps_request *r, int lane, const warps_event *e) {
    r->at[lane] = e->at;
    if (e->at != WARPS_NOWHERE) r->mask |= 1u << lane;
}

static warps_request begin(const warps_event *like) {
    return (warps_request){.site = like->site, .kind = like->kind};
}

/* Adds to a request what lanes that went the same way did as their i-th. */
static void join_alike(const warps_lanes *w, uint32_t alike, int i, warps_request *r) {
    for (uint32_t left = alike; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        join(r, lane, &w->lanes[lane].events[i]);
    }
}

static int gather_together(const warps_lanes *w, uint32_t alike, int (*take)(void *, const warps_request *),
                           void *self) {
    const warps_lane *first = &w->lanes[__builtin_ctz(alike)];
    int good = 1;
    for (int i = 0; good && i < first->count; i++) {
        if (!(first->events[i].kind & WARPS_BYTES)) continue;
        warps_request request = begin(&first->events[i]);
        join_alike(w, alike, i, &request);
        good = take(self, &request);
    }
    return good;
}

/* ---- Lanes that part ---- */

/* Lanes, the first of each way, that stand before a node together and stay so until they come to another. */
typedef struct group {
    uint32_t lanes;
    int at, until;
} group;

/* The groups that wait for those above them: each group's lanes are a part of the waiting one's below, or no
 * part of it, so that there are fewer than twice as many as lanes. */
typedef struct walk {
    const warps_lanes *w;
    const uint32_t *alike;
    int next[WARPS_LANES]; /* each lane's next event */
    group groups[2 * WARPS_LANES];
    int depth;
} walk;

static int follow(ways *graph, const warps_lane *lane) {
    int at = WAYS_BEGIN, good = 1;
    for (int i = 0; good && i < lane->count; i++) good = ways_step(graph, at, lane->events[i].site, &at);
    return good && ways_end(graph, at);
}

/* The node a lane comes to next. */
static int next_node(const walk *all, int lane) {
    const warps_lane *l = &all->w->lanes[lane];
    return all->next[lane] == l->count ? WAYS_END
                                       : ways_find(&all->w->graph, l->events[all->next[lane]].site);
}

/* The topmost group does what it stands before. */
static int act(walk *all, int (*take)(void *, const warps_request *), void *self) {
    uint32_t lanes = all->groups[all->depth - 1].lanes;
    int first = __builtin_ctz(lanes);
    warps_request request = begin(&all->w->lanes[first].events[all->next[first]]);
    for (; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        join_alike(all->w, all->alike[lane], all->next[lane]++, &request);
    }
    return request.kind & WARPS_BYTES ? take(self, &request) : 1;
}

/* The topmost group goes on. Where its lanes part, it waits for them where they meet, and a group of those
 * that go to any other node goes before it. */
static void go_on(walk *all) {
    group *top = &all->groups[all->depth - 1];
    uint32_t left = top->lanes;
    int meet = next_node(all, __builtin_ctz(left)), part = 0;
    for (uint32_t rest = left; rest; rest &= rest - 1) part |= next_node(all, __builtin_ctz(rest)) != meet;
    if (part) meet = ways_meet(&all->w->graph, top->at);
    top->at = meet;
    while (part && left) {
        group one = {0, next_node(all, __builtin_ctz(left)), meet};
        for (uint32_t rest = left; rest; rest &= rest - 1)
            if (next_node(all, __builtin_ctz(rest)) == one.at) one.lanes |= rest & -rest;
        left &= ~one.lanes;
        if (one.at != meet) all->groups[all->depth++] = one;
    }
}

static int gather_parted(warps_lanes *w, const uint32_t alike[WARPS_LANES],
                         int (*take)(void *, const warps_request *), void *self) {
    walk all = {.w = w, .alike = alike, .groups = {{0, WAYS_BEGIN, WAYS_END}}, .depth = 1};
    int good = ways_clear(&w->graph);
    for (int lane = 0; good && lane < WARPS_LANES; lane++) {
        if (!alike[lane]) continue;
        good = follow(&w->graph, &w->lanes[lane]);
        all.groups[0].lanes |= 1u << lane;
    }
    if (good) ways_close(&w->graph);
    while (good && all.depth > 0) {
        const group *top = &all.groups[all.depth - 1];
        if (top->at == top->until) {
            all.depth--;
            continue;
        }
        if (top->at != WAYS_BEGIN) good = act(&all, take, self);
        go_on(&all);
    }
    return good;
}

int warps_gather(warps_lanes *w, int (*take)(void *, const warps_request *), void *self) {
    uint32_t alike[WARPS_LANES];
    int different = tell_apart(w, alike), good = 1;
    w->diverged |= different > 1;
    for (int lane = 0; different == 1 && lane < WARPS_LANES; lane++)
        if (alike[lane]) good = gather_together(w, alike[lane], take, self);
    if (different > 1) good = gather_parted(w, alike, take, self);
    for (int lane = 0; lane < WARPS_LANES; lane++) w->lanes[lane].count = 0;
    return good;
}

void warps_free(warps_lanes *w) {
    for (int lane = 0; lane < WARPS_LANES; lane++) memory_free(w->lanes[lane].events);
    ways_free(&w->graph);
    memset(w, 0, sizeof *w);
}
