/* explain.h: what `tessera explain` knows of one rung: its file, its counters and what the compiler makes of it.
 *
 *   explain_rung      counts and compiles
 *   explain_story     the header of the kernel's file
 *   explain_expect    its expect: lines, checked
 *   explain_rows      everything about one rung, as rows of a table
 *   explain_ladder    all rungs, a row each
 *   explain_measured  predictions beside rates that somebody measured */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "cards.h"
#include "model.h"
#include "problem.h"
#include "sizes.h"
#include "table.h"

enum { EXPLAIN_LINES = 1024, EXPLAIN_TEXT = 512, EXPLAIN_NAMES = 96 };

/* What is explained, and for which GPU. */
typedef struct explain_case {
    tess_context *ctx; /* of the simulator */
    const card *on;
    problem_types types;
    sizes_shape shape;
    const char *params; /* as in tess_options; NULL: the kernel's own */
    tess_compute compute;
} explain_case;

typedef struct explain_rung {
    tess_kernel_info info;
    const explain_case *asked;
    char *text;       /* of its file */
    char params[256]; /* complete: "BM=128,BN=128" */
    char uncounted
        [256]; /* why the simulator does not run it; "" if it does. Then there are no counters, no model */
    tess_counters source, compiled;
    tess_line_counters lines[EXPLAIN_LINES]; /* as compiled */
    size_t line_count;
    tess_kernel_facts facts;
    char registers_from[64]; /* where their number comes from */
    char no_compiler[256];   /* why they had to be guessed; "" if they were not */
    occupancy fit;
    model_result model;
    bool predicted; /* false: no block fits the card */
} explain_rung;

/* Counts and compiles. On failure says a sentence and returns NULL. */
explain_rung *explain_rung_open(const explain_case *asked, const tess_kernel_info *kernel);
void explain_rung_close(explain_rung *rung);

/* The text of a header's field, its lines joined: of the first "change:" at or after *at, which is moved behind it.
 * *at begins as the file's text. False if there is none. */
bool explain_story_field(const char **at, const char *field, char out[EXPLAIN_TEXT]);
/* A line of a file by its number, without the blanks around it. */
void explain_story_line(const char *text, int line, char out[EXPLAIN_TEXT]);

/* One expect: line. */
typedef struct explain_expect {
    char text[EXPLAIN_TEXT]; /* as written */
    double left, right;
    bool compared; /* false: it is about the rung before, and there is none to compare with */
    bool holds;
} explain_expect;
/* The next expectation of `rung` against `before` (NULL: it has none). 1, or 0 after the last, or -1 if it cannot be
 * evaluated, after a sentence. *at begins as the file's text. */
int explain_expect_next(const char **at, const explain_rung *rung, const explain_rung *before,
                        explain_expect *out);

/* The counters, by the names that headers use. */
typedef struct explain_counter {
    const char *name;
    size_t offset; /* in tess_counters */
} explain_counter;
extern const explain_counter explain_counters[];
extern const size_t explain_counter_count;
double explain_counter_value(const tess_counters *counters, size_t index);

/* Adds everything about a rung to a table of explain_columns. False if an expectation does not hold or cannot be
 * evaluated. */
extern const table_column explain_columns[];
extern const size_t explain_column_count;
bool explain_rows_add(table *t, const explain_rung *rung, const explain_rung *before);
/* The same for people: sections of lines. */
void explain_rows_print(const table *t, FILE *stream);

/* The rung's header names the one it is compared with; false if it names none. */
bool explain_before(const explain_rung *rung, tess_kernel_info *before);
bool explain_find_kernel(const char *name, tess_kernel_info *kernel);

extern const table_column explain_ladder_columns[];
extern const size_t explain_ladder_column_count;
bool explain_ladder_add(table *t, const explain_case *asked);
/* Whether a kernel is a rung of the type asked for that can be counted: kernels that take only vectors are none, and
 * Hopper's are not simulated. */
bool explain_is_rung(const tess_kernel_info *kernel, const explain_case *asked);

extern const table_column explain_measured_columns[];
extern const size_t explain_measured_column_count;
/* Predicts every row of a file of rates (columns kernel, params, type, m, n, k, gflops by name; gpu, where it has one,
 * chooses the card of --gpu). Adds a row for each; *median and *worst are of the errors' sizes. */
bool explain_measured_add(table *t, const explain_case *asked, const char *file, double *median,
                          double *worst);

#endif
