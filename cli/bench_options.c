/* bench_options.c: the options of `tessera bench`, and the request they make.
 *
 * Invariant: whatever can be wrong with a command line is found here, before anything is measured.
 */
#include "bench_options.h"
#include "commands.h"
#include "nearest.h"
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const args_option options[] = {
    {"kernels", "GLOB[,GLOB...]",
     "kernels by name, glob or number; 0 is the peer, auto the planner's choice"},
    {"sizes", "SIZES", "square sizes: 128:4096:x2, 1000:3000:500, 64,100,1000; default 128:2048:x2"},
    {"shape", "MxNxK[,...]", "shapes; may be given several times"},
    {"shapes", "FILE", "shapes from a file, one a line, # begins a comment"},
    {"type", "TYPE[,TYPE...]", "f32 f64 f16 bf16 i32 i8, or IN:OUT as bf16:f32; default f32"},
    {"batch", "N", "N products in one call"},
    {"layout", "nn|nt|tn|tt", "t: that one of A, B is stored column-major"},
    {"ld-pad", "N", "N unused elements after each row"},
    {"alpha", "NUMBER", "default 1"},
    {"beta", "NUMBER", "default 0"},
    {"params", "NAME=N[,...]", "parameters of the kernel, see list --long"},
    {"compute", "MODE", "default, f32-strict, tf32 or bf16"},
    {"threads", "N[,N...]", "numbers of threads, for kernels and peers alike"},
    ARGS_DEVICE_ROW,
    {"peer", "NAME[,NAME...]", "auto, openblas, blis, mkl, armpl, numpy, none or /path/to/lib.so"},
    {"min-time", "SECONDS", "time to sample each case for; default 0.3"},
    {"samples", "N", "take exactly N samples instead"},
    {"no-verify", NULL, "time without checking the results first"},
    {"seed", "N", "of the random data; default 1"},
    {"cold", NULL, "flush the caches before each run"},
    ARGS_OUTPUT_ROWS,
    ARGS_QUIET_ROW,
};

const args_spec bench_spec = {
    "bench",
    "[KERNEL] [MAXSIZE]",
    2,
    "Measure kernels beside a BLAS library; wrong results are never timed",
    "  tessera bench                the whole ladder of the device\n"
    "  tessera bench 3 2048         kernel number 3 on sizes 128, 256 ... 2048\n"
    "  tessera bench 0              the peer alone\n"
    "  tessera bench 'cpu_0[4-6]*' --sizes 1000 --type f32,f64 --csv -\n\n"
    "Each case is verified, warmed up, and sampled in turns with the peers. Shown are the median time, its\n"
    "share of the device's measured peak (of its bandwidth too, where A or B is a vector), the noise ((90th\n"
    "- 10th percentile) / median) and the ratio, the median of all rounds: above 1 the peer is slower.\n",
    options,
    sizeof options / sizeof *options};

bool bench_read_types(const args *a, problem_types *types, size_t most, size_t *count) {
    *count = 0;
    for (const char *item = args_text(a, "type", "f32");; item++) {
        char name[24];
        size_t length = strcspn(item, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, item);
        if (length >= sizeof name || *count == most || !problem_parse_types(name, &types[*count])) {
            say_error("--type '%.*s' is no product; it must be one of f32, f64, f16, f16:f32, bf16, "
                      "bf16:f32, "
                      "i32, i8 (which gives i32), or a list of them",
                      (int)length, item);
            return false;
        }
        (*count)++;
        if (item[length] == '\0') return true;
        item += length;
    }
}

bool bench_read_sizes(const args *a, sizes_list *sizes) {
    size_t at = 0;
    for (const char *text; (text = args_next(a, "sizes", &at)) != NULL;)
        if (!sizes_add_squares(sizes, text)) return false;
    at = 0;
    for (const char *text; (text = args_next(a, "shape", &at)) != NULL;)
        if (!sizes_add_shapes(sizes, text)) return false;
    const char *file = args_text(a, "shapes", NULL);
    return file == NULL || sizes_add_file(sizes, file);
}

/* 128, 256 … up to the MAXSIZE of the short form, which is the last even if it is no power of two. */
static bool add_default_sizes(const args *a, sizes_list *sizes) {
    int64_t last = 2048;
    if (a->word_count > 1 && (!sizes_parse_one(a->words[1], NULL, &last) || last < 1)) {
        say_error("MAXSIZE is '%s'; it must be a size from 1 to %lld", a->words[1], (long long)SIZES_LARGEST);
        return false;
    }
    for (int64_t size = 128; size < last; size *= 2)
        if (!sizes_add(sizes, (sizes_shape){size, size, size})) return false;
    return sizes_add(sizes, (sizes_shape){last, last, last});
}

static bool read_threads(bench_request *r, const args *a) {
    const char *text = args_text(a, "threads", NULL);
    if (text == NULL) {
        r->threads[0] = tess_threads(r->ctx);
        r->threads_count = 1;
        return true;
    }
    for (const char *item = text;; item++) {
        const char *end = item + strcspn(item, ",");
        int64_t number;
        if (!sizes_parse_one(item, end, &number) || number < 1 || number > 1024 ||
            r->threads_count == BENCH_THREADS_MAX) {
            say_error("--threads is '%s'; it must be a list of at most %d numbers from 1 to 1024, as 1,2,4",
                      text, BENCH_THREADS_MAX);
            return false;
        }
        r->threads[r->threads_count++] = (int)number;
        if (*end == '\0') return true;
        item = end;
    }
}

static int unknown_peer(const char *name) {
    int near = nearest_name(name, peer_names, peer_name_count);
    if (near >= 0) return say_usage("there is no peer '%s'; did you mean '%s'?", name, peer_names[near]);
    return say_usage("there is no peer '%s'; it must be auto, openblas, blis, mkl, armpl, numpy, none or the "
                     "path of a library (with a slash)",
                     name);
}

/* A peer that was asked for must be there; one that was not is only missed. */
static int add_peer(bench_request *r, const char *name, bool asked) {
    if (!peer_is_name(name)) return unknown_peer(name);
    if (strcmp(name, "none") == 0) return EXIT_FINE;
    if (r->peer_count == BENCH_PEERS_MAX) return say_usage("--peer takes at most %d names", BENCH_PEERS_MAX);
    if (peer_find(&r->peers[r->peer_count], name, NULL)) {
        r->peer_count++;
        return EXIT_FINE;
    }
    if (strchr(name, '/') != NULL) {
        say_error("'%s' could not be opened as a BLAS with a CBLAS interface (cblas_sgemm, cblas_dgemm)",
                  name);
        return EXIT_CHECK;
    }
    if (!asked) {
        say_note("no BLAS library was found to compare with; to get one: " PEER_ADVICE);
        return EXIT_FINE;
    }
    say_error("the peer %s was not found; 'tessera devices --verbose' names the places searched; to get "
              "one: " PEER_ADVICE,
              name);
    return EXIT_CHECK;
}

static int read_peers(bench_request *r, const args *a) {
    const char *text = args_text(a, "peer", getenv("TESSERA_PEER"));
    if (text == NULL || text[0] == '\0') return add_peer(r, "auto", false);
    char *copy = strdup(text), *rest = copy;
    int status = EXIT_FINE;
    for (char *name; status == EXIT_FINE && (name = strsep(&rest, ",")) != NULL;)
        status = add_peer(r, name, strcmp(name, "auto") != 0);
    free(copy);
    return status;
}

static bool read_product(bench_request *r, const args *a) {
    int64_t seed = 1;
    int compute = TESS_COMPUTE_DEFAULT;
    r->base = (problem_spec){.batch = 1, .alpha = 1};
    r->options.params = args_text(a, "params", NULL);
    bool good = args_integer(a, "batch", 1, 1000000, &r->base.batch) &&
                args_choice(a, "layout", problem_layouts, 4, &r->base.layout) &&
                args_integer(a, "ld-pad", 0, 1000000, &r->base.ld_pad) &&
                args_real(a, "alpha", -1e30, 1e30, &r->base.alpha) &&
                args_real(a, "beta", -1e30, 1e30, &r->base.beta) &&
                args_choice(a, "compute", problem_computes, 4, &compute) &&
                args_integer(a, "seed", 0, INT64_MAX, &seed);
    r->options.compute = (tess_compute)compute;
    r->base.seed = (uint64_t)seed;
    return good;
}

static bool read_method(bench_request *r, const args *a) {
    r->min_time = 0.3;
    r->verify = !args_given(a, "no-verify");
    r->cold = args_given(a, "cold");
    if (!args_real(a, "min-time", 0, 3600, &r->min_time) || !args_integer(a, "samples", 1, 2000, &r->samples))
        return false;
    if (!r->cold) return true;
    int64_t cache = r->device.l3 > r->device.l2 ? r->device.l3 : r->device.l2 * r->device.cores;
    r->flush_bytes = 2 * (size_t)(cache > 16 << 20 ? cache : 16 << 20);
    r->flush = malloc(r->flush_bytes);
    if (r->flush == NULL) say_error("no memory for the %zu bytes that --cold writes", r->flush_bytes);
    return r->flush != NULL;
}

/* Patterns that match nothing are no usage error: the same line works where the kernel exists. */
static int read_kernels(bench_request *r, const args *a) {
    const char *device = r->device.name, *patterns = args_text(a, "kernels", NULL);
    bool good = true;
    if (a->word_count > 0) good = kernels_add(&r->kernels, device, a->words[0]);
    if (good && patterns != NULL) good = kernels_add(&r->kernels, device, patterns);
    if (good && a->word_count == 0 && patterns == NULL) good = kernels_add_all(&r->kernels, device);
    if (!good) return EXIT_CHECK;
    for (size_t i = 0; i < r->kernels.count; i++) {
        if (r->kernels.kernels[i].number != KERNELS_PEER || r->peer_count > 0) continue;
        say_error("kernel 0 is the peer, and there is none; to get one: " PEER_ADVICE);
        return EXIT_CHECK;
    }
    return EXIT_FINE;
}

int bench_read_options(bench_request *r, const args *a) {
    *r = (bench_request){0};
    say_quiet(args_given(a, "quiet"));
    if (!output_open(&r->out, a) || !bench_read_types(a, r->types, BENCH_TYPES_MAX, &r->type_count) ||
        !bench_read_sizes(a, &r->sizes) || !read_product(r, a))
        return EXIT_USAGE;
    if (r->sizes.count == 0 ? !add_default_sizes(a, &r->sizes) : a->word_count > 1) {
        if (r->sizes.count > 0) say_error("MAXSIZE and --sizes or --shape exclude each other; give one");
        return EXIT_USAGE;
    }
    if (!commands_open_device(a, &r->ctx, &r->device)) return EXIT_CHECK;
    if (!read_threads(r, a) || !read_method(r, a)) return EXIT_USAGE;
    int status = read_peers(r, a);
    return status == EXIT_FINE ? read_kernels(r, a) : status;
}

void bench_free_options(bench_request *r) {
    tess_close(r->ctx);
    kernels_free(&r->kernels);
    sizes_free(&r->sizes);
    free(r->flush);
}
