/* counters_widen.h: loads of shared memory as the compiler would have them. */
#ifndef COUNTERS_WIDEN_H
#define COUNTERS_WIDEN_H

#include "counters.h"

/* Adds c->loads so, and forgets them. Returns 0 if there is no memory. */
int counters_add_widened(counters *c);

#endif
