/* environment.h: where and with what the results were made. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include "tessera.h"

#include <stdio.h>

/* The revision this command was built from, as git describes it, or "unknown". */
const char *environment_revision(void);
/* The compiler that built it. */
const char *environment_compiler(void);

/* What was run to get the results; NULL where there is nothing to say. */
typedef struct environment_run {
    const char *data;    /* what was multiplied */
    const char *method;  /* how it was timed */
    const char *command; /* what does it again */
} environment_run;

/* The `context` object of Google Benchmark's JSON, with our additions. */
void environment_print_json(FILE *stream, const tess_device_info *device, const environment_run *run);
/* The same as remarks of a CSV file, "# key: value", but for the name of the machine. */
void environment_print_remarks(FILE *stream, const tess_device_info *device, const environment_run *run);

/* The present clock of the CPU in MHz, or NaN where the system does not say. */
double environment_clock_mhz(void);

#endif
