/* bench_watch.c: clocks, power and the reasons why clocks are held back, from look to look.
 *
 * Invariant: a reason that was given once during a case is in its row. Looking never changes how long a case
 * is sampled: a device that stays throttled is marked, not waited for.
 */
#include "bench_watch.h"
#include "environment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Seconds between two looks. */
static const double PAUSE = 40e-3;
/* A clock below this share of the highest seen is held back. */
static const double HELD_BACK = 0.95;

static void note_reason(bench_watch *w, const char *reason, size_t length) {
    char word[sizeof w->reasons];
    snprintf(word, sizeof word, "%.*s", (int)length, reason);
    if (length == 0 || strstr(w->reasons, word) != NULL) return;
    size_t used = strlen(w->reasons);
    if (used + length + 3 > sizeof w->reasons) return;
    snprintf(w->reasons + used, sizeof w->reasons - used, "%s%s", used > 0 ? ", " : "", word);
}

static void note_reasons(bench_watch *w, const char *reasons) {
    for (const char *at = reasons; *at != '\0';) {
        size_t length = strcspn(at, ",");
        note_reason(w, at, length);
        at += length;
        at += strspn(at, ", ");
    }
}

static void look(bench_watch *w, const bench_request *r) {
    double none = (double)NAN;
    tess_device_state now = {none, none, none, none, ""};
    w->last = timing_now();
    if (tess_read_state(r->ctx, &now) != TESS_OK) return;
    if (!r->device.own_memory) now.clock_mhz = environment_clock_mhz();
    if (!isnan(now.clock_mhz)) {
        w->clock_sum += now.clock_mhz;
        w->clocks++;
    }
    if (!isnan(now.power_w)) {
        w->power_sum += now.power_w;
        w->powers++;
    }
    note_reasons(w, now.throttled);
}

void bench_watch_look(bench_watch *w, const bench_request *r) {
    if (timing_now() - w->last >= PAUSE) look(w, r);
}

tess_device_state bench_watch_end(bench_watch *w, const bench_request *r) {
    static double highest;
    double none = (double)NAN;
    if (w->last == 0) look(w, r);
    tess_device_state mean = {w->clocks > 0 ? w->clock_sum / w->clocks : none, none,
                              w->powers > 0 ? w->power_sum / w->powers : none, none, ""};
    highest = fmax(highest, mean.clock_mhz);
    /* The clock of an idle CPU beside the busy one says nothing. */
    if (r->device.own_memory && w->reasons[0] == '\0' && mean.clock_mhz < HELD_BACK * highest)
        snprintf(w->reasons, sizeof w->reasons, "clock at %.0f of %.0f MHz", mean.clock_mhz, highest);
    memcpy(mean.throttled, w->reasons, sizeof mean.throttled);
    return mean;
}
