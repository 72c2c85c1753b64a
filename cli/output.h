/* output.h: where a set of results goes: the table on stdout, --csv, --json, --md. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "args.h"
#include "table.h"
#include "tessera.h"

typedef struct output {
    const char *csv, *json; /* a file, "-" for stdout, or NULL */
    bool markdown;
    bool people; /* stdout is for people: the table, the closing lines */
    bool append; /* rows are added to files that are there */
    /* How the results were made, and a command that does it again. With these a CSV file begins with an
     * environment. NULL where nothing was measured. */
    const char *method, *command;
} output;

/* Reads --csv, --json and --md and makes sure that the files could be written, before anything is measured.
 * On failure says a sentence and returns false. */
bool output_open(output *out, const args *a);

/* Whether rows of this table could be added to the files, with --append. On failure says a sentence. */
bool output_could_append(const output *out, const table *t);

/* Writes everything that was asked for, except rows the table has printed already. `list` names the array in
 * the JSON. Files appear whole or not at all. Returns false after saying a sentence. */
bool output_write(const output *out, table *t, const char *list, const tess_device_info *device,
                  const char *data);

#endif
