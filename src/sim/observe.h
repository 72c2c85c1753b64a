/* observe.h: what is no error but worth knowing: bank conflicts, and shared memory that leaves a
 * multiprocessor idle. */
#ifndef OBSERVE_H
#define OBSERVE_H

#include "sim.h"

/* Appends a sentence a line to self->observed. */
void observe_launch(sim_device *self, const module *m, const product_launch *launch,
                    const banks_tally *banks);

#endif
