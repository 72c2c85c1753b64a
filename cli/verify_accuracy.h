/* verify_accuracy.h: `tessera verify --accuracy`. */
#ifndef VERIFY_ACCURACY_H
#define VERIFY_ACCURACY_H

#include "args.h"

/* Measures errors instead of checking shapes. Returns what to exit with. */
int verify_accuracy_run(const args *a);

#endif
