/* verify_accuracy.c: `tessera verify --accuracy`: how large the errors of f32 products are, kernel by kernel, beside a peer's.
 *
 * Invariant: kernels and peer multiply the same numbers. Errors of several seeds are taken together: squares and means over all
 * of them, maxima of all. */
#include "verify_accuracy.h"
#include "accuracy_rows.h"
#include "bench_options.h"
#include "interrupt.h"
#include "kernels.h"
#include "open_device.h"
#include "output.h"
#include "say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    tess_context *ctx, *cpu; /* cpu: for the reference; NULL: ctx is */
    tess_device_info device;
    kernels_list kernels;
    tess_options options;
    sizes_list shapes;
    int64_t seed, seeds, side; /* side: rows and columns of exact data */
    peer blas;
    accuracy_side peer;
    bool has_peer;
    output out;
    accuracy_rows rows;
    accuracy_tally *ours, *theirs; /* by kind and kernel; by kind */
} request;

/* ---- What was asked for ---- */

static bool is_simulated(const request *r) {
    return strncmp(r->device.name, "sim", 3) == 0;
}

/* Rows and columns of a case: as many as peers take their large tiles for on a GPU; fewer on a CPU, so that no case takes
 * more than a second. */
static int64_t edge_of(const request *r, int64_t k) {
    if (is_simulated(r)) return 32;
    if (r->device.own_memory) return 1024;
    return k > 16384 ? 64 : k > 4096 ? 128 : 256;
}

static bool add_shapes(request *r, const args *a) {
    static const int64_t depths[] = {1, 16, 64, 256, 1024, 4096, 16384, 65536};
    r->side = is_simulated(r) ? 32 : 256;
    if (!bench_read_sizes(a, &r->shapes)) return false;
    if (r->shapes.count > 0) return true;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        int64_t k = depths[i], edge = edge_of(r, k);
        if (is_simulated(r) && k > 256) break;
        if (!sizes_add(&r->shapes, (sizes_shape){edge, edge, k})) return false;
    }
    return true;
}

static bool add_kernels(request *r, const args *a) {
    const char *family = r->device.kernels, *patterns = args_text(a, "kernels", NULL);
    for (size_t i = 0; i < a->word_count; i++)
        if (!kernels_add(&r->kernels, family, a->words[i])) return false;
    if (patterns != NULL && !kernels_add(&r->kernels, family, patterns)) return false;
    return r->kernels.count > 0 || kernels_add_auto(&r->kernels);
}

/* A GPU multiplies in f64 itself. */
static tess_context *reference_of(const request *r) {
    return r->cpu != NULL ? r->cpu : r->ctx;
}

/* Whether the kernel of a GPU's peer runs. */
static bool can_run(request *r) {
    accuracy_case c;
    char planned[64];
    tess_way way;
    bool good = accuracy_open(&c, r->ctx, r->device.own_memory, reference_of(r), 8, 8, 8);
    if (good) accuracy_draw(&c, 1);
    good = good && accuracy_make(&c, &accuracy_kinds[0], 1) &&
           accuracy_multiply(&c, &r->peer, planned, &way) == TESS_OK;
    accuracy_close(&c);
    return good;
}

/* A peer that was asked for must be there. */
static bool find_peer(request *r, const char *asked) {
    bool chosen = asked != NULL && strcmp(asked, "auto") != 0;
    if (chosen && strcmp(asked, "none") == 0) return true;
    if (strncmp(r->device.name, "sim", 3) == 0 && !chosen) return true;
    if (r->device.own_memory) {
        r->peer = (accuracy_side){.name = chosen ? asked : "cublas"};
        r->peer.options.kernel = r->peer.name;
        r->has_peer = can_run(r);
    } else {
        r->has_peer = peer_find(&r->blas, chosen ? asked : "auto", NULL);
        r->peer = (accuracy_side){.name = r->blas.name, .blas = &r->blas};
    }
    const char *why = r->device.own_memory ? tess_error(r->ctx) : PEER_ADVICE;
    if (!r->has_peer && chosen) say_error("the peer %s cannot be used: %s", asked, why);
    if (!r->has_peer && !chosen) say_note("errors stand alone: there is no peer: %s", why);
    return r->has_peer || !chosen;
}

static int read_request(request *r, const args *a) {
    *r = (request){.seed = 1, .seeds = 5};
    say_quiet(args_given(a, "quiet"));
    r->options.params = args_text(a, "params", NULL);
    if (strcmp(args_text(a, "type", "f32"), "f32") != 0)
        return say_usage("--accuracy measures products of f32, but --type is '%s'", args_text(a, "type", ""));
    if (!output_open(&r->out, a) || !bench_read_compute(a, &r->options.compute) ||
        !args_integer(a, "seed", 0, INT64_MAX / 64, &r->seed) ||
        !args_integer(a, "seeds", 1, 1000, &r->seeds))
        return EXIT_USAGE;
    if (!open_device(a, &r->ctx, &r->device)) return EXIT_CHECK;
    if ((!r->device.own_memory || is_simulated(r)) && tess_open(&r->cpu, "cpu") != TESS_OK) {
        say_error("%s", tess_error(NULL));
        return EXIT_CHECK;
    }
    if (!add_shapes(r, a) || !add_kernels(r, a) || !find_peer(r, args_text(a, "peer", NULL)))
        return EXIT_CHECK;
    r->ours = calloc(accuracy_kind_count * r->kernels.count, sizeof *r->ours);
    r->theirs = calloc(accuracy_kind_count, sizeof *r->theirs);
    if (r->ours != NULL && r->theirs != NULL) return EXIT_FINE;
    say_error("out of memory");
    return EXIT_CHECK;
}

static accuracy_side side_of(const request *r, size_t kernel) {
    const tess_kernel_info *info = &r->kernels.kernels[kernel];
    accuracy_side side = {.name = info->name, .options = r->options};
    side.options.kernel = info->number < 0 ? NULL : info->name;
    return side;
}

/* ---- Random data ---- */

/* One side on what the case holds. A kernel that refuses it is left out with a note; whatever else fails, fails. */
static bool measure(request *r, accuracy_case *c, const accuracy_side *side, bool scaled, accuracy_tally *t) {
    tess_way way;
    tess_status status = accuracy_multiply(c, side, t->planned, &way);
    if (status == TESS_OK) {
        t->ways |= 1u << way;
        accuracy_count(t, c, scaled);
        return true;
    }
    t->count = -1;
    if (status == TESS_ERROR_KERNEL || status == TESS_ERROR_TYPE) {
        say_note("%s is left out: %s", side->name, tess_error(r->ctx));
        return true;
    }
    say_error("%s: %s", side->name, tess_error(r->ctx));
    r->rows.failed++;
    return false;
}

static bool measure_kind(request *r, accuracy_case *c, size_t kind, uint64_t seed) {
    bool scaled = accuracy_kinds[kind].scaled;
    if (!accuracy_make(c, &accuracy_kinds[kind], seed)) return false;
    if (r->has_peer && !measure(r, c, &r->peer, scaled, &r->theirs[kind])) return false;
    for (size_t i = 0; i < r->kernels.count; i++) {
        accuracy_side side = side_of(r, i);
        accuracy_tally *t = &r->ours[kind * r->kernels.count + i];
        if (r->ours[i].count < 0) continue; /* it was left out on the first kind, with a note */
        if (!measure(r, c, &side, scaled, t)) return false;
    }
    return true;
}

static bool measure_shape(request *r, accuracy_case *c) {
    memset(r->ours, 0, accuracy_kind_count * r->kernels.count * sizeof *r->ours);
    memset(r->theirs, 0, accuracy_kind_count * sizeof *r->theirs);
    for (int64_t seed = r->seed; seed < r->seed + r->seeds; seed++) {
        say_progress("k = %" PRId64 ", seed %" PRId64, c->k, seed);
        accuracy_draw(c, (uint64_t)seed);
        for (size_t kind = 0; kind < accuracy_kind_count; kind++) {
            if (interrupt_came() || !measure_kind(r, c, kind, (uint64_t)seed)) return false;
        }
    }
    for (size_t kind = 0; kind < accuracy_kind_count; kind++)
        for (size_t i = 0; i < r->kernels.count; i++) {
            const accuracy_tally *t = &r->ours[kind * r->kernels.count + i];
            if (t->count > 0)
                accuracy_add_random(&r->rows, c, &accuracy_kinds[kind], r->seeds, t, &r->theirs[kind]);
        }
    return true;
}

/* ---- Exact data ---- */

/* What the peer makes of special values, or without one the reference. */
static bool keep_like(request *r, accuracy_case *c, float *like) {
    accuracy_tally ignored = {0};
    if (r->has_peer && !measure(r, c, &r->peer, false, &ignored)) return false;
    for (int64_t i = 0; i < c->m * c->n; i++) like[i] = r->has_peer ? c->c[i] : (float)c->want[i];
    return true;
}

static bool measure_exact(request *r, accuracy_case *c, accuracy_exact what) {
    float *like = malloc((size_t)(c->m * c->n) * sizeof *like);
    accuracy_draw(c, (uint64_t)r->seed);
    bool good = like != NULL && accuracy_make_exact(c, what, (uint64_t)r->seed) &&
                (!accuracy_is_special(what) || keep_like(r, c, like));
    for (size_t i = 0; good && i < r->kernels.count; i++) {
        accuracy_tally t = {0};
        accuracy_side side = side_of(r, i);
        good = measure(r, c, &side, false, &t);
        if (good && t.count > 0) accuracy_add_exact(&r->rows, c, what, &t, like);
    }
    free(like);
    return good;
}

/* ---- The command ---- */

typedef bool measurement(request *r, accuracy_case *c);

static bool on_case(request *r, int64_t m, int64_t n, int64_t k, measurement *measure_it) {
    accuracy_case c;
    bool good =
        accuracy_open(&c, r->ctx, r->device.own_memory, reference_of(r), m, n, k) && measure_it(r, &c);
    accuracy_close(&c);
    return good;
}

static bool measure_integers(request *r, accuracy_case *c) {
    return measure_exact(r, c, ACCURACY_INTEGERS);
}

static bool measure_identities(request *r, accuracy_case *c) {
    return measure_exact(r, c, ACCURACY_IDENTITY) && measure_exact(r, c, ACCURACY_WIDE_IDENTITY);
}

static bool measure_others(request *r, accuracy_case *c) {
    bool good = true;
    for (int what = ACCURACY_SUBNORMAL; good && what < ACCURACY_EXACTS; what++)
        good = measure_exact(r, c, (accuracy_exact)what);
    return good;
}

static bool measure_all(request *r) {
    bool good = true;
    for (size_t i = 0; good && i < r->shapes.count; i++) {
        sizes_shape s = r->shapes.shapes[i];
        if (s.m < 1 || s.n < 1 || s.k < 1) continue;
        good = on_case(r, s.m, s.n, s.k, measure_shape) && on_case(r, s.m, s.n, s.k, measure_integers);
    }
    return good && on_case(r, r->side, r->side, r->side, measure_identities) &&
           on_case(r, r->side, r->side, 2 * r->side, measure_others);
}

static int finish(request *r, bool complete) {
    int caught = interrupt_came();
    bool written =
        r->rows.t.row_count == 0 || output_write(&r->out, &r->rows.t, "accuracy", &r->device, NULL);
    say_progress_end();
    if (caught != 0) {
        say_error("interrupted: the rows shown are complete, the others were not measured");
        return 128 + caught;
    }
    if (r->rows.t.row_count == 0) say_error("nothing was measured: no kernel takes these products");
    if (r->out.people && r->rows.failed > 0) printf("%" PRId64 " rows failed\n", r->rows.failed);
    return complete && r->rows.failed == 0 && r->rows.t.row_count > 0 && written ? EXIT_FINE : EXIT_CHECK;
}

int verify_accuracy_run(const args *a) {
    request r;
    int status = read_request(&r, a);
    if (status == EXIT_FINE) {
        accuracy_rows_open(&r.rows, r.out.people, r.has_peer ? r.peer.name : NULL);
        interrupt_watch();
        status = finish(&r, measure_all(&r));
        table_close(&r.rows.t);
    }
    free(r.ours);
    free(r.theirs);
    sizes_free(&r.shapes);
    kernels_free(&r.kernels);
    tess_close(r.cpu);
    tess_close(r.ctx);
    return status;
}
