/* warps.c: putting lanes together.
 *
 * Where all lanes went the same way, their n-th events are one instruction. Where they did not, those whose
 * next event stands first in the code have it together, and the others wait: ways that part come one after
 * the other in the code, and meet behind it. That needs the steps, for without them a lane that skips an
 * access in one turn of a loop looks as if it were a turn ahead. */
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

/* The lanes that did something, if they all went the same way; 0 if not. */
static uint32_t lanes_together(const warps_lanes *w) {
    uint32_t lanes = 0;
    int first = -1;
    for (int lane = 0; lane < WARPS_LANES; lane++) {
        if (w->lanes[lane].count == 0) continue;
        if (first < 0) first = lane;
        if (!same_way(&w->lanes[first], &w->lanes[lane])) return 0;
        lanes |= 1u << lane;
    }
    return lanes;
}

static void join(warps_request *r, int lane, const warps_event *e) {
    r->at[lane] = e->at;
    if (e->at != WARPS_NOWHERE) r->mask |= 1u << lane;
}

static warps_request begin(const warps_event *like) {
    return (warps_request){.site = like->site, .kind = like->kind};
}

static int gather_together(const warps_lanes *w, uint32_t lanes, int (*take)(void *, const warps_request *),
                           void *self) {
    int first = __builtin_ctz(lanes), good = 1;
    for (int i = 0; good && i < w->lanes[first].count; i++) {
        const warps_event *like = &w->lanes[first].events[i];
        if (!(like->kind & WARPS_BYTES)) continue;
        warps_request request = begin(like);
        for (uint32_t left = lanes; left; left &= left - 1) {
            int lane = __builtin_ctz(left);
            join(&request, lane, &w->lanes[lane].events[i]);
        }
        good = take(self, &request);
    }
    return good;
}

/* The event that stands first in the code among the lanes' next ones; NULL if there is none. */
static const warps_event *first_in_code(const warps_lanes *w, const int next[WARPS_LANES]) {
    const warps_event *first = NULL;
    for (int lane = 0; lane < WARPS_LANES; lane++) {
        if (next[lane] == w->lanes[lane].count) continue;
        const warps_event *e = &w->lanes[lane].events[next[lane]];
        if (!first || e->site < first->site) first = e;
    }
    return first;
}

static int gather_parted(const warps_lanes *w, int (*take)(void *, const warps_request *), void *self) {
    int next[WARPS_LANES] = {0}, good = 1;
    for (const warps_event *like; good && (like = first_in_code(w, next)) != NULL;) {
        warps_request request = begin(like);
        for (int lane = 0; lane < WARPS_LANES; lane++) {
            const warps_lane *l = &w->lanes[lane];
            if (next[lane] == l->count || l->events[next[lane]].site != request.site) continue;
            join(&request, lane, &l->events[next[lane]++]);
        }
        if (request.kind & WARPS_BYTES) good = take(self, &request);
    }
    return good;
}

int warps_gather(warps_lanes *w, int (*take)(void *, const warps_request *), void *self) {
    int good = 1, any = 0;
    for (int lane = 0; lane < WARPS_LANES; lane++) any |= w->lanes[lane].count;
    if (!any) return 1;
    uint32_t lanes = lanes_together(w);
    w->diverged |= lanes == 0;
    good = lanes ? gather_together(w, lanes, take, self) : gather_parted(w, take, self);
    for (int lane = 0; lane < WARPS_LANES; lane++) w->lanes[lane].count = 0;
    return good;
}

void warps_free(warps_lanes *w) {
    for (int lane = 0; lane < WARPS_LANES; lane++) memory_free(w->lanes[lane].events);
    memset(w, 0, sizeof *w);
}
