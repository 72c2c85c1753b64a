/* compare_judge.c: the ratio of two times, its interval, and a verdict.
 *
 * Invariant: everything is done with logarithms, so that exchanging the files turns a ratio into its inverse
 * and "faster" into "slower". A change is only called one where the interval does not hold 1, and "equal" only
 * where the whole interval lies within the threshold.
 *
 * What makes one run differ from the next is taken to be the sum of four things, as variances:
 *   - the error of the median: bench writes an interval of it; for a file without, it is judged from the
 *     number of samples and their percentiles;
 *   - what disturbs a run for longer than it lasts. Below the median the samples of a quiet run differ by
 *     little. Where they differ by LOUD and more, the machine was slowed for most of the run, and then the
 *     next run can differ as much as they do. Samples above the median say nothing of the kind: the median
 *     passes over them;
 *   - CPU time that others took, on one side more than on the other (lost_variance);
 *   - drift, which no sample of one run can show: where memory lies, how warm the device is.
 * Runs that were repeated lessen the first two, and if they differ by more than these say, their own
 * differences count instead.
 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>

const char *const compare_verdicts[COMPARE_VERDICTS] = {"equal",  "faster",   "slower",  "unsure",
                                                        "failed", "only old", "only new"};

/* Half the width of an interval of 95 %, in standard errors. */
static const double WIDTH = 1.96;
/* The deviation of samples below the median, as a share of it, from which on they say how much the next
 * run can differ. */
static const double LOUD = 0.1;

/* The time of a side, the variance of its logarithm, and how much of the time the host's CPUs worked for
 * it; that is NaN where it is not known. */
typedef struct estimate {
    double time, variance, busy;
} estimate;

/* The error of the median of n normal samples is 1.2533 times that of their mean; 80 % of such samples lie
 * within 1.2816 deviations. Few samples understate their deviation: the factor was fitted to simulated
 * ones. */
static double judge_error(const timing_summary *run) {
    if (run->samples < 2) return (double)INFINITY;
    double n = (double)run->samples, few = 1 + 2.4 / (n - 0.7) + 12 / pow(n - 0.8, 3);
    return few * 1.2533 * (run->p90 - run->p10) / (2 * 1.2816 * run->median) / sqrt(n);
}

static double variance_of_run(const timing_summary *run) {
    double error = isnan(run->interval) ? judge_error(run) : run->interval / WIDTH;
    double deviation = (run->median - run->p10) / (1.2816 * run->median);
    double lasting = deviation * fmin(1, deviation / LOUD);
    return error * error + lasting * lasting;
}

/* Of the logarithms of the times, about their own mean; 0 for a single run. */
static double variance_between(const compare_side *side, double mean) {
    double sum = 0;
    for (size_t i = 0; i < side->count; i++) sum += pow(log(side->runs[i].times.median) - mean, 2);
    return side->count > 1 ? sum / (double)(side->count - 1) : 0;
}

static estimate estimate_side(const compare_side *side, double drift) {
    double mean = 0, within = 0, cpu = 0, count = (double)side->count;
    double *times = calloc(side->count, sizeof *times);
    for (size_t i = 0; i < side->count; i++) {
        mean += log(side->runs[i].times.median) / count;
        within += variance_of_run(&side->runs[i].times) / count;
        cpu += side->runs[i].cpu / count;
        if (times != NULL) times[i] = side->runs[i].times.median;
    }
    double middle = times != NULL ? timing_summarize(times, side->count).median : exp(mean);
    free(times);
    double variance = fmax(within, variance_between(side, mean));
    return (estimate){middle, variance / count + drift * drift, cpu / middle};
}

/* Times that agree to the last digit are one measurement, read twice: there is nothing to be unsure of. */
static bool are_same(const compare_side *a, const compare_side *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) same = compare_same_run(&a->runs[i], &b->runs[i]);
    return same;
}

/* A kernel keeps the CPUs as busy in one run as in the next. If it did not, others had them meanwhile,
 * which slows all samples of a run alike and shows in none. */
static double lost_variance(const estimate sides[2]) {
    double lost = log(sides[1].busy / sides[0].busy);
    return isfinite(lost) ? lost * lost : 0;
}

static compare_verdict judge(double change, double width, double threshold) {
    double limit = log1p(threshold);
    if (fabs(change) > limit && fabs(change) > width) return change > 0 ? COMPARE_SLOWER : COMPARE_FASTER;
    return fabs(change) + width <= limit ? COMPARE_EQUAL : COMPARE_UNSURE;
}

compare_change compare_judge(const compare_case *c, const compare_limits *limits) {
    double none = (double)NAN;
    compare_change change = {.times = {none, none}, .ratio = none, .low = none, .high = none};
    estimate sides[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        if (c->sides[i].count == 0) continue;
        sides[i] = estimate_side(&c->sides[i], limits->drift);
        change.times[i] = sides[i].time;
    }
    if (c->sides[1].failed) {
        change.verdict = COMPARE_FAILED;
    } else if (c->sides[0].count == 0 || c->sides[1].count == 0) {
        change.verdict = c->sides[0].count == 0 ? COMPARE_ONLY_NEW : COMPARE_ONLY_OLD;
    } else {
        double difference = log(sides[1].time / sides[0].time);
        double width = WIDTH * sqrt(sides[0].variance + sides[1].variance + lost_variance(sides));
        change.ratio = exp(difference);
        change.low = exp(difference - width);
        change.high = exp(difference + width);
        change.verdict = are_same(&c->sides[0], &c->sides[1]) ? COMPARE_EQUAL
                                                              : judge(difference, width, limits->threshold);
    }
    return change;
}
