/* environment.h: where and with what the results were made. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include "tessera.h"

#include <stdio.h>

/* The revision this command was built from, as git describes it, or "unknown". */
const char *environment_revision(void);
/* The compiler that built it. */
const char *environment_compiler(void);

/* The `context` object of Google Benchmark's JSON, with our additions. `data` says what was multiplied, and
 * may be NULL. */
void environment_print_json(FILE *stream, const tess_device_info *device, const char *data);

/* The present clock of the CPU in MHz, or NaN where the system does not say. */
double environment_clock_mhz(void);

#endif
