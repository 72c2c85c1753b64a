/* commands.h: the commands of the program; main.c holds the table. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "args.h"
#include "tessera.h"

typedef struct command {
    const args_spec *spec;
    int (*run)(const args *a);
} command;

extern const args_spec devices_spec, list_spec, bench_spec, compare_spec, explain_spec, report_spec,
    verify_spec, multiply_spec, cache_spec;
int devices_run(const args *a);
int list_run(const args *a);
int bench_run(const args *a);
int compare_run(const args *a);
int verify_run(const args *a);
int explain_run(const args *a);
int report_run(const args *a);
int multiply_run(const args *a);
int cache_run(const args *a);

/* `tessera` with no words; `all` are the commands it names. */
int overview_run(const command *all, int count);
/* What the overview and `devices` say about the peers; `verbose` names every place searched. */
void devices_print_peers(bool verbose);

#endif
