/* bench_left.c: judges the time that is left from the time that was taken.
 *
 * Invariant: only proportions between cases are guessed; the seconds come from the clock, so that the guess
 * corrects itself as the run goes on.
 */
#include "bench_left.h"

#include <math.h>
#include <stdio.h>

/* Verifying, warming up and the fewest samples run a product about so often, at about this rate. */
static const double RUNS = 12, HOST_RATE = 2e10, DEVICE_RATE = 5e12;
/* Planning, filling and checking take this long at least. */
static const double LEAST = 0.02;

static double expect(const bench_request *r, const problem_spec *spec) {
    double rate = r->device.own_memory ? DEVICE_RATE : HOST_RATE;
    double sides = 1 + (double)r->peer_count;
    double sampling = r->samples > 0 ? 0 : r->mode == BENCH_SUSTAINED ? fmax(1.5, r->min_time) : r->min_time;
    return LEAST + sides * (sampling + RUNS * problem_flops(spec) / rate);
}

void bench_left_begin(bench_left *l, const bench_request *r) {
    *l = (bench_left){.began = timing_now()};
    for (size_t i = 0; i < r->sizes.count; i++) {
        problem_spec spec = bench_spec_of(r, i, r->types[0]);
        l->all += expect(r, &spec) * (double)r->variant_count;
    }
    l->all *= (double)(r->type_count * r->threads_count) * (double)r->repeats;
}

void bench_left_take(bench_left *l, const bench_request *r, const problem_spec *spec) {
    l->done += expect(r, spec);
}

void bench_left_show(const bench_left *l, char *out, size_t room) {
    double seconds = (timing_now() - l->began) / l->done * (l->all - l->done);
    out[0] = '\0';
    if (!(l->done > 0) || !(seconds >= 0)) return;
    if (seconds < 100)
        snprintf(out, room, ", %.0f s left", ceil(seconds));
    else if (seconds < 6000)
        snprintf(out, room, ", %.0f min left", seconds / 60);
    else
        snprintf(out, room, ", %.1f h left", seconds / 3600);
}
