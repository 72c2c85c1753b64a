/* observe.c: sentences about the first block of a launch, and about its size. */
#include "observe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(sim_device *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What does not fit is left out, whole lines at a time. */
static void say(sim_device *self, const char *format, ...) {
    size_t used = strlen(self->observed), room = sizeof self->observed - used;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(self->observed + used, room, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= room) self->observed[used] = '\0';
}

static void observe_banks(sim_device *self, const module *m, const banks_tally *banks) {
    const char *slash = strrchr(m->file, '/');
    for (int i = 0; i < banks->count; i++) {
        const banks_site *site = &banks->sites[i];
        if (site->wavefronts < 2 * site->least) continue;
        say(self,
            "bank conflicts at %s:%d: a %d-byte %s of a warp takes %.1f wavefronts of shared memory instead "
            "of %.1f; "
            "let neighbouring threads access neighbouring elements, or pad the rows of the array by one\n",
            slash ? slash + 1 : m->file, lines_find(&m->where, site->site), site->bytes,
            site->writes ? "write" : "read", (double)site->wavefronts / (double)site->requests,
            (double)site->least / (double)site->requests);
    }
}

/* Half of the warps or more is enough to hide latency with; what shared memory alone takes away is worth a
 * line. */
static void observe_occupancy(sim_device *self, const module *m, const launch_shape *shape) {
    const limits *of = self->limits;
    const char *limit;
    int threads = shape->block_x * shape->block_y, shared = m->shared_bytes + shape->shared;
    int fit = limits_blocks(of, threads, shared, &limit), warps = fit * ((threads + 31) / 32);
    if (strcmp(limit, "shared memory") != 0 || 2 * warps >= of->warps) return;
    say(self,
        "low occupancy: %d bytes of shared memory a block leave %d block%s on a multiprocessor of sm_%d (%d "
        "bytes), %d of %d warps; smaller tiles would leave more\n",
        shared, fit, fit == 1 ? "" : "s", of->architecture, of->shared, warps, of->warps);
}

void observe_launch(sim_device *self, const module *m, const product_launch *launch,
                    const banks_tally *banks) {
    observe_banks(self, m, banks);
    observe_occupancy(self, m, &launch->shape);
}
