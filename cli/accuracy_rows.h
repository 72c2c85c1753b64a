/* accuracy_rows.h: the table of `tessera verify --accuracy`. */
#ifndef ACCURACY_ROWS_H
#define ACCURACY_ROWS_H

#include "accuracy.h"
#include "table.h"

typedef struct accuracy_rows {
    table t;
    bool people;      /* rows are printed as they come */
    const char *peer; /* NULL: there is none */
    int64_t failed;
} accuracy_rows;

void accuracy_rows_open(accuracy_rows *r, bool people, const char *peer);

/* A row for random data, of all seeds; `beside` is the peer's tally. */
void accuracy_add_random(accuracy_rows *r, const accuracy_case *c, const accuracy_kind *kind, int64_t seeds,
                         const accuracy_tally *ours, const accuracy_tally *beside);
/* A row for exact data, whose result c->c is; `like` has special values where they must be. */
void accuracy_add_exact(accuracy_rows *r, const accuracy_case *c, accuracy_exact what,
                        const accuracy_tally *ours, const float *like);

#endif
