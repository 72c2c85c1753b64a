/* count_kinds.c: which blocks are alike, and how many sectors a matrix has. */
#include "count_kinds.h"

#include <string.h>

enum { SECTOR = 32 };

/* The remainder that is never negative. */
static int64_t within_sector(int64_t bytes) {
    int64_t rest = bytes % SECTOR;
    return rest < 0 ? rest + SECTOR : rest;
}

static count_kind kind_of(const count_axis *axis, unsigned block) {
    count_kind kind = {.first = block, .blocks = 1};
    int64_t left = axis->size - (int64_t)block * axis->tile;
    kind.left = left < axis->tile ? left : axis->tile;
    for (int i = 0; i < 3; i++)
        kind.place[i] =
            (unsigned)within_sector((int64_t)(block % SECTOR) * within_sector(axis->step_bytes[i]));
    return kind;
}

int count_kinds(const count_axis *axis, count_kind kinds[COUNT_KINDS]) {
    int count = 0;
    for (unsigned block = 0; block < axis->blocks; block++) {
        count_kind kind = kind_of(axis, block);
        int i = 0;
        while (i < count &&
               (kinds[i].left != kind.left || memcmp(kinds[i].place, kind.place, sizeof kind.place) != 0))
            i++;
        if (i < count)
            kinds[i].blocks++;
        else
            kinds[count++] = kind;
    }
    return count;
}

/* One direction of a matrix, walked upwards. */
typedef struct direction {
    int64_t count, bytes;
} direction;

static direction upwards(int64_t count, int64_t stride, int64_t size, int64_t *first) {
    if (stride < 0) *first += (count - 1) * stride * size;
    int64_t bytes = (stride < 0 ? -stride : stride) * size;
    return (direction){bytes == 0 ? 1 : count, bytes};
}

/* Rows are taken in the order of their addresses; a sector at the end of one may be the first of the next. */
uint64_t count_sectors(const count_matrix *m) {
    int64_t first = m->first * m->size, next = INT64_MIN;
    direction outer = upwards(m->rows, m->row_stride, m->size, &first),
              inner = upwards(m->cols, m->col_stride, m->size, &first);
    if (inner.count > 1 && (inner.bytes > outer.bytes && outer.count > 1)) {
        direction swap = outer;
        outer = inner, inner = swap;
    }
    first = within_sector(first);
    if (inner.count > 1 && inner.bytes > SECTOR) return (uint64_t)outer.count * (uint64_t)inner.count;
    uint64_t count = 0;
    for (int64_t i = 0; i < outer.count; i++) {
        int64_t low = first + i * outer.bytes, high = low + (inner.count - 1) * inner.bytes + m->size - 1;
        int64_t from = low / SECTOR, to = high / SECTOR + 1;
        if (from < next) from = next;
        if (to > from) count += (uint64_t)(to - from), next = to;
    }
    return count;
}
