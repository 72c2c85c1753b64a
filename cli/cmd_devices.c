/* cmd_devices.c: `tessera devices`: the devices of this machine and the BLAS libraries found on it.
 *
 * Invariant: what was not found is named too, with where it was looked for.
 */
#include "commands.h"
#include "output.h"
#include "peer.h"
#include "say.h"

#include <stdio.h>

static const args_option options[] = {
    ARGS_OUTPUT_ROWS,
    {"verbose", NULL, "name every place where a peer was looked for"},
};
const args_spec devices_spec = {"devices",
                                "",
                                0,
                                "The devices of this machine, and the BLAS libraries found",
                                NULL,
                                options,
                                sizeof options / sizeof *options};

enum { NAME, MODEL, ISA, CORES, THREADS, L1D, L2, L3, MEMORY };
static const table_column columns[] = {
    [NAME] = {"name", "device", TABLE_TEXT, TABLE_IN_FILES, 0},
    [MODEL] = {"model", "model", TABLE_TEXT, TABLE_IN_FILES, 0},
    [ISA] = {"isa", "isa", TABLE_TEXT, TABLE_IN_FILES, 0},
    [CORES] = {"cores", "cores", TABLE_COUNT, TABLE_IN_FILES, 0},
    [THREADS] = {"threads", "threads", TABLE_COUNT, TABLE_IN_FILES, 0},
    [L1D] = {"l1d", "L1d", TABLE_BYTES, TABLE_IN_FILES, 0},
    [L2] = {"l2", "L2", TABLE_BYTES, TABLE_IN_FILES, 0},
    [L3] = {"l3", "L3", TABLE_BYTES, TABLE_IN_FILES, 0},
    [MEMORY] = {"memory", "memory", TABLE_BYTES, TABLE_IN_FILES, 0},
};

/* 0 means not known. */
static void set_bytes(table *t, size_t column, int64_t bytes) {
    if (bytes > 0) table_set_count(t, column, bytes);
}

static void add_device(table *t, const tess_device_info *d) {
    table_add_row(t);
    table_set_text(t, NAME, d->name);
    table_set_text(t, MODEL, d->model);
    table_set_text(t, ISA, d->isa);
    table_set_count(t, CORES, d->cores);
    table_set_count(t, THREADS, d->threads);
    set_bytes(t, L1D, d->l1d);
    set_bytes(t, L2, d->l2);
    set_bytes(t, L3, d->l3);
    set_bytes(t, MEMORY, d->memory);
}

static void print_trail(const peer_trail *trail) {
    for (size_t i = 0; i < trail->count; i++) printf("               tried %s\n", trail->paths[i]);
}

void devices_print_peers(bool verbose) {
    char missing[128] = "";
    size_t used = 0, found = 0;
    for (size_t i = 0; i < peer_name_count; i++) {
        peer p;
        peer_trail trail = {0};
        if (peer_find(&p, peer_names[i], &trail)) {
            found++;
            printf("  %-10s %s%s%s\n", p.name, p.path, p.version[0] != '\0' ? ", " : "", p.version);
        } else if (verbose) {
            printf("  %-10s not found\n", peer_names[i]);
        } else {
            used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%s", used > 0 ? ", " : "",
                                     peer_names[i]);
        }
        if (verbose) print_trail(&trail);
        peer_free_trail(&trail);
    }
    if (used > 0) printf("  not found  %s\n", missing);
    if (found == 0) printf("  to get one: " PEER_ADVICE "\n");
}

int devices_run(const args *a) {
    output out;
    table t;
    tess_device_info d, first = {0};
    if (!output_open(&out, a)) return EXIT_USAGE;
    table_open(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < tess_count_devices(); i++) {
        if (tess_describe_device(i, &d) != TESS_OK) continue;
        if (i == 0) first = d;
        add_device(&t, &d);
    }
    bool good = output_write(&out, &t, "devices", &first, NULL);
    bool any = t.row_count > 0;
    table_close(&t);
    if (out.people) {
        printf("\npeers\n");
        devices_print_peers(args_given(a, "verbose"));
    }
    if (!any) say_error("no device was found: %s", tess_error(NULL));
    return good && any ? EXIT_FINE : EXIT_CHECK;
}
