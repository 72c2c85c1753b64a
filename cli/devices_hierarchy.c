/* devices_hierarchy.c: size, latency and bandwidth of each level of a GPU's memory.
 *
 * Invariant: a row says where its numbers are from: measured here, or copied from a description of a card,
 * whose authors rounded them. The two are never mixed in one row.
 */
#include "devices.h"
#include "say.h"

#include <string.h>

enum { CARD, SOURCE, LEVEL, BYTES, PER, CYCLES, NANOSECONDS, GBYTES };
const table_column hierarchy_columns[] = {
    [CARD] = {"card", "card", TABLE_TEXT, TABLE_IN_FILES, 0},
    [SOURCE] = {"source", "source", TABLE_TEXT, TABLE_IN_FILES, 0},
    [LEVEL] = {"level", "level", TABLE_TEXT, TABLE_IN_FILES, 0},
    [BYTES] = {"bytes", "size", TABLE_BYTES, TABLE_IN_FILES, 0},
    [PER] = {"per", "of each", TABLE_TEXT, TABLE_IN_FILES, 0},
    [CYCLES] = {"latency_cycles", "cycles", TABLE_RATE, TABLE_IN_FILES, 0},
    [NANOSECONDS] = {"latency_ns", "ns", TABLE_RATE, TABLE_IN_FILES, 0},
    [GBYTES] = {"gbytes_s", "GB/s", TABLE_RATE, TABLE_IN_FILES, 0},
};
const size_t hierarchy_column_count = sizeof hierarchy_columns / sizeof *hierarchy_columns;

#define MEASURED  "measured here"
#define DOCUMENTS "from documents"
#define PER_SM    "multiprocessor"
#define PER_CARD  "card"

enum { LEVELS = TESS_LEVEL_MEMORY + 1 };
static const struct {
    const char *name;
    bool per_sm; /* each multiprocessor has its own */
} levels[LEVELS] = {
    [TESS_LEVEL_REGISTERS] = {"registers", true}, [TESS_LEVEL_SHARED] = {"shared memory", true},
    [TESS_LEVEL_L1] = {"L1 cache", true},         [TESS_LEVEL_L2] = {"L2 cache", false},
    [TESS_LEVEL_MEMORY] = {"memory", false},
};

/* What is commonly written of two cards people learn on. The latencies are rules of thumb; a measured row
 * beside them shows how far they hold. -1: not given. */
static const struct {
    const char *card;
    tess_level level;
    int64_t bytes;
    double cycles, gbytes;
} documents[] = {
    {"Tesla P100", TESS_LEVEL_REGISTERS, 256 << 10, 1, 20000},
    {"Tesla P100", TESS_LEVEL_SHARED, 64 << 10, 5, 15000},
    {"Tesla P100", TESS_LEVEL_L2, 4 << 20, 200, 4000},
    {"Tesla P100", TESS_LEVEL_MEMORY, INT64_C(16) << 30, 400, 732},
    {"GTX 1650", TESS_LEVEL_REGISTERS, 256 << 10, 0, -1},
    {"GTX 1650", TESS_LEVEL_SHARED, 48 << 10, 5, -1},
    {"GTX 1650", TESS_LEVEL_L1, 48 << 10, 20, -1},
    {"GTX 1650", TESS_LEVEL_L2, 1 << 20, 200, -1},
    {"GTX 1650", TESS_LEVEL_MEMORY, INT64_C(4) << 30, 400, -1},
};

static void start_row(table *t, const char *card, const char *source, tess_level level, int64_t bytes) {
    table_add_row(t);
    table_set_text(t, CARD, card);
    table_set_text(t, SOURCE, source);
    table_set_text(t, LEVEL, levels[level].name);
    if (bytes > 0) table_set_count(t, BYTES, bytes);
    table_set_text(t, PER, levels[level].per_sm ? PER_SM : PER_CARD);
}

static void add_documents(table *t) {
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        start_row(t, documents[i].card, DOCUMENTS, documents[i].level, documents[i].bytes);
        table_set_real(t, CYCLES, documents[i].cycles);
        if (documents[i].gbytes > 0) table_set_real(t, GBYTES, documents[i].gbytes);
    }
}

static bool measure_device(table *t, const tess_device_info *d) {
    tess_context *ctx = NULL;
    bool good = tess_open(&ctx, d->name) == TESS_OK;
    for (int level = 0; good && level < LEVELS; level++) {
        tess_level_info found;
        say_progress("%s: measuring %s", d->name, levels[level].name);
        good = tess_measure_level(ctx, (tess_level)level, &found) == TESS_OK;
        if (!good) break;
        int64_t share = levels[level].per_sm && d->cores > 0 ? found.bytes / d->cores : found.bytes;
        start_row(t, d->model, MEASURED, (tess_level)level, share);
        table_set_real(t, CYCLES, found.cycles);
        table_set_real(t, NANOSECONDS, found.nanoseconds);
        table_set_real(t, GBYTES, found.bytes_per_second / 1e9);
    }
    say_progress_end();
    if (!good) say_error("the memory of %s could not be measured: %s", d->name, tess_error(ctx));
    tess_close(ctx);
    return good;
}

bool hierarchy_add_rows(table *t) {
    tess_device_info d;
    tess_gpu_info gpu;
    bool good = true, any = false;
    for (int i = 0; i < tess_count_devices(); i++) {
        if (tess_describe_device(i, &d) != TESS_OK || tess_describe_gpu(i, &gpu) != TESS_OK) continue;
        any = true;
        good = measure_device(t, &d) && good;
    }
    if (!any) say_note("there is no GPU here to measure: only what documents say of others is shown");
    add_documents(t);
    return good;
}
