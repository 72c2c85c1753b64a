/* report.h: what `tessera report` shows, and where it comes from.
 *
 *   report_files    rates and facts from files
 *   report_fresh    rates and facts from runs made now
 *   report_model    counters from the simulator, rates from the model
 *   report_select   which rates belong to one ladder
 *   report_rates    figures of rates
 *   report_rungs    figures of counters: the roofline, and from one rung to the next
 *   report_command  the commands that make a figure again
 *   report_page     the page
 */
#ifndef REPORT_H
#define REPORT_H

#include "cards.h"
#include "chart.h"
#include "results.h"

#include <stdint.h>

enum { REPORT_NAME = 64, REPORT_TEXT = 1024 };

typedef enum report_origin { REPORT_MEASURED, REPORT_PREDICTED, REPORT_SIMULATED } report_origin;

/* One product on one kernel: a row of a file, or a prediction. NaN and "" where nothing is known. */
typedef struct report_rate {
    report_origin origin;
    char kernel[REPORT_NAME], params[REPORT_NAME], device[32], type[16], compute[16], layout[8], cache[8],
        mode[16];
    char peer[32], throttled[REPORT_NAME];
    bool verified; /* the result was found right before it was timed */
    int threads;
    int64_t m, n, k, batch;
    double alpha, beta;
    double ms, p10_ms, p90_ms, h2d_ms, d2h_ms;
    double gflops, pct_peak, peer_gflops, ratio;
    const char *command; /* what its file says it was made with; "" */
} report_rate;

/* What a rung does to memory, by the simulator, and what the model makes of it. */
typedef struct report_rung {
    char kernel[REPORT_NAME], before[REPORT_NAME];
    tess_counters counts;
    double gflops; /* predicted; NaN: it does not fit the card */
} report_rung;

typedef struct report_fact {
    char *key, *value;
} report_fact;

typedef struct report {
    const char *chart; /* the only figure wanted; NULL: all */
    bool quick;
    char words[REPORT_TEXT]; /* the files as given, for commands; "" for fresh runs */
    report_rate *rates;
    size_t rate_count;
    report_fact *facts;
    size_t fact_count;
    char **commands; /* of the files */
    size_t command_count;
    char *missing;  /* sentences about what is not shown, one a line */
    const card *on; /* whose ceilings and predictions are shown */
    int64_t size;   /* of the rungs' products */
    report_rung *rungs;
    size_t rung_count;
} report;

void report_free(report *r);
/* Whether a figure is wanted: its name is `base`, or begins with it and a dash. */
bool report_wants(const report *r, const char *base);
void report_add_rate(report *r, const report_rate *rate);
/* A fact that is there with another value gets both. */
void report_add_fact(report *r, const char *key, const char *value);
const char *report_fact_of(const report *r, const char *key);
void report_miss(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Memory that cannot be had ends the program with a sentence. */
void *report_grow(void *items, size_t count, size_t size);

/* A file, or all files of results in a directory. False after a sentence. */
bool report_read(report *r, const char *path);
/* Adds what a file of results holds; rows without a rate are left out. Returns how many were added. */
size_t report_add_results(report *r, const results *from);

/* Runs commands of this program on a device and takes their results. False if interrupted. */
bool report_run_fresh(report *r, const char *device);

/* Counts and predicts the ladder for r->on: rungs at r->size, and rates of all sizes, types and tiles if `rates`. */
void report_predict(report *r, bool rates);

/* ---- Which rates ---- */

/* One ladder: the rates that may stand beside each other. */
typedef struct report_group {
    const char *family; /* "gpu" or "cpu" */
    const char *type;
    const report_rate *like; /* device, threads and mode of all */
} report_group;
const char *report_family(const report_rate *rate);
/* A square product, warm, alone, from the kernel's own parameters: what a ladder is made of. */
bool report_is_plain(const report_rate *rate);
/* Of a family and type, those settings that have the most plain rates. False if there are none. */
bool report_find_group(const report *r, const char *family, const char *type, report_group *group);
bool report_in_group(const report_group *group, const report_rate *rate);
/* The size at which most kernels of the group have a rate; of several the largest. */
int64_t report_best_size(const report *r, const report_group *group);
/* The rate of a kernel at a size, of several the first that has a ratio to a peer; NULL if there is none. */
const report_rate *report_find_rate(const report *r, const report_group *group, const char *kernel,
                                    int64_t size);
/* The kernels of the group in the order of the ladder. Free with free(). */
size_t report_list_kernels(const report *r, const report_group *group, const char ***names);
/* The median of a peer's rates at a size (0: at all); NaN if there is none. And the device's peak, as those rates were
 * held against it. */
double report_peer_rate(const report *r, const report_group *group, const char *peer, int64_t size);
double report_peak(const report *r, const report_group *group);
/* The n-th peer of the group; NULL after the last. */
const char *report_peer(const report *r, const report_group *group, size_t index);
bool report_is_peer(const report *r, const report_group *group, const char *kernel);
/* Whether two names are one series: the planner's choice is one, whatever it chose. */
bool report_same_kernel(const char *a, const char *b);
/* "12 pipelined" of "simt_12_pipelined", "mma 1 wmma" of "mma_01_wmma". */
void report_short_name(const char *kernel, char out[CHART_NAME]);

/* ---- Figures ---- */

typedef struct report_figure {
    chart *picture;
    report_origin origin;
    char source[CHART_TEXT]; /* what was measured, simulated or predicted, and on what */
    char caption[REPORT_TEXT];
    char command[REPORT_TEXT]; /* lines */
    bool unrecorded; /* of some of its rates no file names the command, or they are too many to show */
} report_figure;

typedef struct report_figures {
    report_figure *all;
    size_t count;
} report_figures;

/* A figure that stays valid until the next is added; its chart is of that kind and name. */
report_figure *report_add_figure(report_figures *f, chart_kind kind, const char *name, report_origin origin);
void report_make_figures(report *r, report_figures *f);
void report_make_rungs(report *r, report_figures *f);
void report_free_figures(report_figures *f);

/* "tessera bench …" for the plain rates of a group, if files do not name their commands. */
void report_bench_command(const report *r, const report_group *group, report_figure *figure);
/* Appends the line that draws the figure alone. */
void report_draw_command(const report *r, report_figure *figure);

void report_print_page(const report *r, const report_figures *f, FILE *out);

#endif
