/* compare.h: two files of results, case by case.
 *
 *   cmd_compare.c    the options, the table and the exit status
 *   compare_cases.c  which rows of the two files belong together
 *   compare_judge.c  what the times of a case say, and how surely
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "results.h"
#include "timing.h"

/* One measurement, in milliseconds. */
typedef struct compare_timed {
    timing_summary times;
    double cpu; /* of all CPUs of the host; NaN where it is not known */
} compare_timed;

/* The runs of one case in one file, more than one where it was repeated. */
typedef struct compare_side {
    compare_timed *runs;
    size_t count;
    bool failed; /* a row without a time: the result was wrong */
} compare_side;

/* What was measured: the fields that tell one case from another have the same text in all its rows. */
typedef struct compare_case {
    const results *from; /* where to read them, from NEW if it has the case */
    size_t row;
    char *key;             /* those fields */
    compare_side sides[2]; /* in OLD, in NEW */
} compare_case;

typedef struct compare_cases {
    const char **keys; /* the fields that tell cases apart: those that both files have */
    size_t key_count;
    compare_case *cases;
    size_t count;
} compare_cases;

/* Sorts the rows of both files into cases, in the order of NEW, then those that only OLD has. On failure a
 * sentence is said; compare_free is due in any case. The files must outlive the cases. */
bool compare_match(compare_cases *c, const results *before, const results *after);
void compare_free(compare_cases *c);
/* Whether they agree to the last digit: then they are one, read twice. */
bool compare_same_run(const compare_timed *a, const compare_timed *b);
/* The field of a case as it tells it apart: of a kernel the planner chose, "auto". */
void compare_show_key(const compare_case *c, const char *column, char *out, size_t room);

typedef enum compare_verdict {
    COMPARE_EQUAL,
    COMPARE_FASTER,
    COMPARE_SLOWER,
    COMPARE_UNSURE,
    COMPARE_FAILED, /* NEW has no time: the result was wrong */
    COMPARE_ONLY_OLD,
    COMPARE_ONLY_NEW,
    COMPARE_VERDICTS
} compare_verdict;
extern const char *const compare_verdicts[COMPARE_VERDICTS];

/* Shares, not percent. */
typedef struct compare_limits {
    double threshold; /* the smallest change that matters */
    double drift;     /* of one run against the next, beside what the samples show */
} compare_limits;

typedef struct compare_change {
    double times[2];         /* milliseconds; NaN where the side has none */
    double ratio, low, high; /* the new time over the old, and its interval of 95 % */
    compare_verdict verdict;
} compare_change;

compare_change compare_judge(const compare_case *c, const compare_limits *limits);

#endif
