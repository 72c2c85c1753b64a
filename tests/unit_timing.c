/* unit_timing.c: what bench says of its samples: percentiles, and an interval that holds the true median as often as it
 * promises. */
#include "../cli/timing.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 100, POPULATION = 20001, TRIALS = 1000 };

static double draw_normal(test_rng *rng) {
    double u = (rng_real(rng) + 1) / 2 + 1e-12, v = rng_real(rng);
    return sqrt(-2 * log(u)) * cos(3.141592653589793 * v);
}

/* A sample of a product of one second with 1 % of noise; a share of them is disturbed for up to a second more. */
static double draw_sample(test_rng *rng, double disturbed) {
    double sample = 1 + 0.01 * draw_normal(rng);
    return (rng_real(rng) + 1) / 2 < disturbed ? sample + (rng_real(rng) + 1) / 2 : sample;
}

static double true_median(test_rng *rng, double disturbed) {
    double *all = test_alloc(POPULATION * sizeof *all);
    for (int i = 0; i < POPULATION; i++) all[i] = draw_sample(rng, disturbed);
    double median = timing_summarize(all, POPULATION).median;
    free(all);
    return median;
}

TEST(timing_interval_holds_the_median) {
    static const int counts[] = {2, 3, 5, 7, 10, 20, 30, 100};
    static const double shares[] = {0, 0.2, 0.35};
    test_rng *rng = test_random();
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
        double right = true_median(rng, shares[s]);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            double samples[MOST];
            int held = 0;
            for (int trial = 0; trial < TRIALS; trial++) {
                for (int i = 0; i < counts[c]; i++) samples[i] = draw_sample(rng, shares[s]);
                timing_summary t = timing_summarize(samples, (size_t)counts[c]);
                held += fabs(t.median - right) <= t.interval * t.median;
            }
            CHECK(held >= TRIALS * 92 / 100, "%d samples, %g disturbed: %d of %d intervals hold the median",
                  counts[c], shares[s], held, TRIALS);
        }
    }
}

TEST(timing_far_samples_do_not_widen_the_interval) {
    double quiet[21], disturbed[21];
    for (int i = 0; i < 21; i++) quiet[i] = disturbed[i] = 1 + 0.001 * i;
    for (int i = 18; i < 21; i++) disturbed[i] = 100;
    double narrow = timing_summarize(quiet, 21).interval, wide = timing_summarize(disturbed, 21).interval;
    CHECK(narrow == wide, "the interval is %g, and with three far samples %g", narrow, wide);
    CHECK(narrow > 0 && narrow < 0.01, "the interval is %g", narrow);
}

TEST(timing_percentiles_do_not_depend_on_the_order) {
    double up[11], down[11], one = 3;
    for (int i = 0; i < 11; i++) up[i] = down[10 - i] = i + 1;
    timing_summary a = timing_summarize(up, 11), b = timing_summarize(down, 11);
    CHECK(a.median == 6 && a.p10 == 2 && a.p90 == 10, "%g, %g, %g", a.median, a.p10, a.p90);
    CHECK(memcmp(&a, &b, sizeof a) == 0, "the median is %g, and in another order %g", a.median, b.median);
    CHECK(isinf(timing_summarize(&one, 1).interval), "one sample says nothing of its error");
    CHECK(isnan(timing_summarize(NULL, 0).median), "no samples have no median");
}
