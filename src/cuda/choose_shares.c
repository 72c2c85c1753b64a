/* choose_shares.c: how much of k is a share (product.h), where tiles of C are too few for all multiprocessors.
 *
 * So many shares as fill whole rounds of them with tiles; or, of those, a power of two: a k that it divides leaves no
 * remainder, which is a launch of its own. */
#include <math.h>

#include "../numeric.h"
#include "cuda.h"

/* A share is deep enough for what a tile takes to begin; and k is long if it is so many times the edge of a square with as
 * many elements as C. */
enum { LEAST_SHARE = 256, ROUNDS = 2, LONG = 4 };
/* Nanoseconds of the launch that adds them up, and the bytes that it reads in one; those of a launch for the remainder; what
 * shares must save, in all and of each nanosecond, for the models are not exact; and what a product must take to be worth
 * a thought. */
static const double add_start = 2500, add_rate = 1500, left_start = 2000, least_gain = 2000, gain = 0.04,
                    least_time = 6000;

static int64_t power_below(int64_t value) {
    int64_t power = 1;
    while (2 * power <= value) power *= 2;
    return power;
}

/* With shares of that depth. */
static double time_with(const problem *run, const cuda_sharing *by, int64_t share) {
    problem part = *run;
    int64_t count = (run->k + share - 1) / share, left = run->k % share;
    double bytes = (double)(count * run->m * run->n * numeric_size(run->acc));
    part.k = share;
    part.batch = (tess_batch){run->k / share, share * run->a_col, share * run->b_row, run->m * run->n};
    double time = by->time_of(by->with, &part) + add_start + bytes / add_rate;
    part.k = left, part.batch.count = 1;
    return left == 0 ? time : time + left_start + by->time_of(by->with, &part);
}

double cuda_worth_sharing(double time) {
    return time * (1 - gain) - least_gain;
}

int64_t cuda_choose_share(const problem *run, const cuda_sharing *by, double *time) {
    int64_t best = 0;
    if (run->batch.count != 1 || *time < least_time || run->k / LONG * (run->k / LONG) < run->m * run->n)
        return 0;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        int64_t most = (int64_t)((1 + i / 2) * by->sms / by->tiles), deepest = run->k / LEAST_SHARE,
                count = most < deepest ? most : deepest;
        if (i % 2) count = power_below(count);
        if (count < 2) continue;
        int64_t share = run->k / count / by->unit * by->unit;
        double needs = time_with(run, by, share);
        if (needs >= *time) continue;
        best = share, *time = needs;
    }
    return best;
}
