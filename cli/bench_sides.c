/* bench_sides.c: times several ways of computing one product.
 *
 * Invariant: all sides are timed in turns, so that what slows the machine slows them all. On device memory
 * the device's own clock is read, elsewhere the host's.
 */
#include "bench_sides.h"
#include "interrupt.h"

#include <math.h>
#include <string.h>

enum { MOST_REPEATS = 1000000, MOST_ON_DEVICE = 1000, MOST_COLD_ON_DEVICE = 10 };
/* A sample is many products if one is shorter than this: the clock's own noise must not show. */
static const double SHORTEST_SAMPLE = 1e-3;
/* After the other side has run, its threads get this long to fall asleep. */
static const double SETTLE = 1e-3;
/* A product shorter than this is called once, untimed, before each sample, to wake its own threads. */
static const double WAKE_BELOW = 5e-3;
/* A product longer than this is warm from being verified: its first call is a sample already. */
static const double WARM_ABOVE = 0.5;
/* How long a device with its own memory idles before a burst. */
static const double IDLE_GAP = 20e-3;
/* How long a sustained sample lasts; its first half heats the device up and is not counted. */
static const double SUSTAINED = 0.5;

static int64_t at_least_one(int64_t ld) {
    return ld > 0 ? ld : 1;
}

static peer_call make_call(const problem *p) {
    const problem_spec *s = &p->spec;
    return (peer_call){.type = s->types.in,
                       .trans_a = (s->layout & 2) != 0,
                       .trans_b = (s->layout & 1) != 0,
                       .m = s->m,
                       .n = s->n,
                       .k = s->k,
                       .lda = at_least_one(p->lda),
                       .ldb = at_least_one(p->ldb),
                       .ldc = at_least_one(p->ldc),
                       .alpha = s->alpha,
                       .beta = s->beta,
                       .a = p->A.data,
                       .b = p->B.data,
                       .c = p->C.data};
}

bool bench_side_takes(const peer *blas, const problem *p) {
    peer_call call = make_call(p);
    return p->spec.types.in == p->spec.types.out && p->spec.layout != PROBLEM_STRIDED &&
           peer_takes(blas, &call);
}

/* Peers have no batched call in common: theirs is a loop. */
static void run_blas(const peer *blas, const problem *p) {
    peer_call call = make_call(p);
    int64_t bytes = (int64_t)tess_type_size(call.type);
    for (int64_t i = 0; i < p->spec.batch; i++) {
        call.a = (const char *)p->A.data + i * p->batch.stride_a * bytes;
        call.b = (const char *)p->B.data + i * p->batch.stride_b * bytes;
        call.c = (char *)p->C.data + i * p->batch.stride_c * bytes;
        peer_gemm(blas, &call);
    }
}

tess_status bench_side_run(const bench_side *s) {
    if (s->plan != NULL) return problem_run(s->p, s->plan);
    run_blas(s->blas, s->p);
    return TESS_OK;
}

void bench_flush(const bench_request *r) {
    static unsigned char mark;
    if (r->flush != NULL) memset(r->flush, ++mark, r->flush_bytes);
}

tess_status bench_side_time(const bench_request *r, const bench_side *s, int64_t repeats, double *seconds) {
    if (bench_on_device(r)) return problem_time(s->p, s->plan, repeats, r->cold, seconds);
    tess_status status = TESS_OK;
    double start = timing_now();
    for (int64_t i = 0; i < repeats && status == TESS_OK; i++) status = bench_side_run(s);
    *seconds = (timing_now() - start) / (double)repeats;
    return status;
}

/* How many products make a sample. The host can empty its caches only before each sample, a device does so before
 * each product, which takes longer than many a product. */
static int64_t choose_repeats(const bench_request *r, double seconds) {
    double sample = fmax(SHORTEST_SAMPLE, r->min_time / 40), most = MOST_REPEATS;
    if (bench_on_device(r))
        most = r->cold ? MOST_COLD_ON_DEVICE : MOST_ON_DEVICE;
    else if (r->cold)
        most = 1;
    double repeats = seconds > 0 ? ceil(sample / seconds) : most;
    return (int64_t)fmin(fmax(repeats, 1), most);
}

/* Runs until the time of one product is known well enough to choose how many make a sample. */
static tess_status calibrate(const bench_request *r, bench_side *s) {
    double cpu = timing_cpu(), start = timing_now(), elapsed = 0, sum = 0, one = 0;
    int64_t calls = 0;
    do {
        tess_status status = bench_side_time(r, s, 1, &one);
        if (status != TESS_OK) return status;
        sum += one;
        calls++;
        elapsed = timing_now() - start;
    } while (elapsed < 2e-3 && calls < 1000);
    s->seconds = sum / (double)calls;
    s->calibration_cpu = timing_cpu() - cpu;
    s->repeats = choose_repeats(r, s->seconds);
    return TESS_OK;
}

/* What comes before a sample, untimed. */
static tess_status get_ready(const bench_request *r, const bench_side *s, bool others) {
    if (r->device.own_memory) {
        if (r->mode == BENCH_BURST) timing_sleep(IDLE_GAP);
        return TESS_OK;
    }
    if (others && r->mode == BENCH_BURST) timing_sleep(SETTLE);
    tess_status status = others && s->seconds < WAKE_BELOW ? bench_side_run(s) : TESS_OK;
    bench_flush(r);
    return status;
}

/* Seconds of one product in one sample. */
static tess_status measure(const bench_request *r, bench_side *s, double *seconds) {
    double start = timing_now(), elapsed = 0, sum = 0, one = 0;
    int64_t counted = 0;
    do {
        tess_status status = bench_side_time(r, s, s->repeats, &one);
        if (status != TESS_OK) return status;
        s->calls += s->repeats;
        elapsed = timing_now() - start;
        if (elapsed < SUSTAINED / 2) continue;
        sum += one;
        counted++;
    } while (r->mode == BENCH_SUSTAINED && elapsed < SUSTAINED);
    *seconds = counted > 0 ? sum / (double)counted : one;
    return TESS_OK;
}

static tess_status take_sample(const bench_request *r, bench_side *s, size_t index, bool others) {
    /* Emptying the caches can take longer than all else: it counts as time spent. */
    double began = timing_now();
    tess_status status = get_ready(r, s, others);
    double cpu = timing_cpu(), start = r->cold ? began : timing_now();
    if (status == TESS_OK) status = measure(r, s, &s->samples[index]);
    s->spent += timing_now() - start;
    s->cpu += timing_cpu() - cpu;
    tess_staging times = {0};
    if (r->transfers && status == TESS_OK) status = tess_staging_times(r->ctx, &times);
    s->to_device[index] = times.to_device;
    s->to_host[index] = times.to_host;
    return status;
}

/* Fewer samples of what takes seconds: there the clock is not the problem, and patience is. */
static size_t fewest_samples(const bench_request *r, double seconds) {
    return seconds > 3 ? 2 : seconds > 0.5 || r->mode == BENCH_SUSTAINED ? 3 : 7;
}

/* Where all sides take long, calibrating them was a first round. Returns the number of rounds: 0 or 1. */
static size_t keep_calibration(const bench_request *r, bench_side *sides, size_t side_count) {
    for (size_t i = 0; i < side_count; i++)
        if (r->cold || r->transfers || sides[i].seconds < WARM_ABOVE) return 0;
    for (size_t i = 0; i < side_count; i++) {
        sides[i].samples[0] = sides[i].spent = sides[i].seconds;
        sides[i].cpu = sides[i].calibration_cpu;
        sides[i].calls = 1;
    }
    return 1;
}

/* Whether an interval of 95 % about the median is as narrow as was asked for. */
static bool precise(const bench_request *r, const bench_side *own, size_t count) {
    double samples[BENCH_SAMPLES_MAX];
    memcpy(samples, own->samples, count * sizeof *samples);
    return timing_summarize(samples, count).interval <= r->precision;
}

static bool enough(const bench_request *r, const bench_side *own, size_t count) {
    if (r->samples > 0) return count >= (size_t)r->samples;
    if (count == BENCH_SAMPLES_MAX) return true;
    if (own->spent < r->min_time || count < fewest_samples(r, own->seconds)) return false;
    return own->spent >= r->max_time || precise(r, own, count);
}

size_t bench_sides_sample(const bench_request *r, bench_side *sides, size_t side_count, bench_watch *watch,
                          tess_status *status) {
    *status = TESS_OK;
    for (size_t i = 0; i < side_count; i++) {
        if (interrupt_came()) return 0;
        if ((*status = calibrate(r, &sides[i])) != TESS_OK) return 0;
    }
    size_t count = keep_calibration(r, sides, side_count);
    for (; !enough(r, &sides[0], count); count++) {
        for (size_t i = 0; i < side_count; i++) {
            if (interrupt_came()) return 0;
            if ((*status = take_sample(r, &sides[i], count, side_count > 1)) != TESS_OK) return 0;
            if (i == 0) bench_watch_look(watch, r);
        }
    }
    return count;
}
