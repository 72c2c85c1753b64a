/* chart_labels.c: moves labels apart along a line.
 *
 * Labels that would touch form a group, which stands where its members wanted to stand on average; groups that touch
 * become one. Nothing moves further than it must, and the order of the labels is that of what they name.
 */
#include "chart_draw.h"

#include <math.h>
#include <stdlib.h>

typedef struct group {
    size_t count;
    double first; /* where its first label stands */
    double sum;   /* of where its labels would want the first to be */
} group;

typedef struct spread {
    double distance, low, high;
} spread;

static void settle(group *g, const spread *s) {
    double last = s->high - (double)(g->count - 1) * s->distance;
    g->first = fmax(s->low, fmin(g->sum / (double)g->count, fmax(last, s->low)));
}

/* Appends `next` to the group before it: its labels want the first to be that much earlier. */
static void join(group *g, const group *next, const spread *s) {
    g->sum += next->sum - (double)(g->count * next->count) * s->distance;
    g->count += next->count;
    settle(g, s);
}

typedef struct wanted {
    double place;
    size_t index;
} wanted;

static int by_place(const void *a, const void *b) {
    const wanted *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

void labels_spread(double *places, size_t count, double distance, double low, double high) {
    const spread s = {distance, low, high};
    wanted *order = calloc(count + 1, sizeof *order);
    group *groups = calloc(count + 1, sizeof *groups);
    size_t used = 0, at = 0;
    if (order == NULL || groups == NULL) goto out;
    for (size_t i = 0; i < count; i++) order[i] = (wanted){places[i], i};
    qsort(order, count, sizeof *order, by_place);
    for (size_t i = 0; i < count; i++) {
        groups[used] = (group){.count = 1, .sum = order[i].place};
        settle(&groups[used], &s);
        for (; used > 0; used--) {
            group *before = &groups[used - 1];
            if (before->first + (double)before->count * distance <= groups[used].first + 1e-9) break;
            join(before, &groups[used], &s);
        }
        used++;
    }
    for (size_t i = 0; i < used; i++)
        for (size_t j = 0; j < groups[i].count; j++)
            places[order[at++].index] = groups[i].first + (double)j * distance;
out:
    free(order);
    free(groups);
}
