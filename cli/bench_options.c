/* bench_options.c: the options of `tessera bench`, and the request they make.
 *
 * Invariant: whatever can be wrong with a command line is found here, before anything is measured.
 */
#include "bench_options.h"
#include "bench_peers.h"
#include "bench_sides.h"
#include "bench_variants.h"
#include "commands.h"
#include "open_device.h"
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const args_option options[] = {
    {"kernels", "GLOB[,GLOB...]",
     "kernels by name, glob or number; 0 is the peer, auto the planner's choice"},
    {"sizes", "SIZES",
     "square sizes: 128:4096:x2, 1000:3000:500, 64,100,1000; default 128:2048:x2, to 4096 on a GPU"},
    {"shape", "MxNxK[xBATCH][,...]", "shapes; may be given several times"},
    {"shapes", "FILE", "shapes from a file, one a line; or one of square, llm, skinny, deep-k, odd, batched"},
    {"type", "TYPE[,TYPE...]", "f32 f64 f16 bf16 i32 i8, or IN:OUT as bf16:f32; default f32"},
    {"batch", "N", "N products in one call"},
    {"layout", "nn|nt|tn|tt|ss",
     "t: that one of A, B is stored column-major; ss: every second element of a row is used"},
    {"ld-pad", "N", "N unused elements after each row"},
    {"alpha", "NUMBER", "default 1"},
    {"beta", "NUMBER", "default 0"},
    {"params", "NAME=N[,...]", "parameters of the kernel, see list --long"},
    {"tile", "N[,N...]", "a row for each: TILE, or BX and BY, of the kernels that have them"},
    {"sweep", "NAME=N,N:NAME=N,N", "a row for each combination that the kernel takes, the fastest first"},
    {"compute", "MODE", "how f32 may be computed: f32 (the default), f32-strict, tf32 or bf16"},
    {"threads", "N[,N...]", "numbers of threads, for kernels and peers alike; of a CPU only"},
    ARGS_DEVICE_ROW,
    {"peer", "NAME[,NAME...]",
     "auto, none; openblas, blis, mkl, armpl, numpy or /path/to/lib.so; on a GPU cublas, cublaslt"},
    {"transfers", NULL, "matrices in host memory: copies to and from a GPU are part of the time"},
    {"mode", "MODE",
     "burst: idle before each sample; continuous: none; sustained: half a second of one kernel"},
    {"min-time", "SECONDS", "sample each case for at least so long; default 0.3, on a GPU 0.1"},
    {"precision", "PERCENT", "and until the median is known so well; default 1"},
    {"max-time", "SECONDS", "but no longer than this; default 5 times the least"},
    {"samples", "N", "take exactly N samples instead"},
    {"repeat", "N", "measure everything N times, a row each"},
    {"no-verify", NULL, "time without checking the results first"},
    {"seed", "N", "of the random data; default 1"},
    {"cold", NULL, "flush the caches before each run"},
    {"prepared", NULL, "A and B were prepared once, before: a GPU's f32 in parts; the time is without it"},
    ARGS_OUTPUT_ROWS,
    {"append", NULL, "add the rows to the files of --csv and --json instead of replacing them"},
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
    "  tessera bench 'cpu_0[4-6]*' --sizes 1000 --type f32,f64 --csv -\n"
    "  tessera bench 5 --device cuda --tile 16,32 --type f32,i32\n"
    "  tessera bench 15 --sizes 4096 --sweep BM=128,256:BK=8,16:STAGES=3,4\n"
    "  tessera bench 'mma_*' --type bf16     the ladder of tensor cores (f32: --compute tf32)\n\n"
    "Each case is verified, warmed up, and sampled in turns with the peers. Shown are the median time, its\n"
    "share of the device's measured peak (of its bandwidth too, where A or B is a vector), the noise ((90th\n"
    "- 10th percentile) / median) and the ratio, the median of all rounds: above 1 the peer is slower.\n"
    "On a GPU the matrices lie in its memory and its own clock times them, unless --transfers is given.\n",
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
                      "bf16:f32, i32, i8 (which gives i32), or a list of them",
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
static bool add_default_sizes(const args *a, sizes_list *sizes, int64_t last) {
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
    if (r->device.own_memory) {
        say_error("--threads is '%s', but %s is no CPU: a GPU always uses all it has", text, r->device.name);
        return false;
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

bool bench_read_compute(const args *a, tess_compute *compute) {
    int number = TESS_COMPUTE_DEFAULT;
    if (!args_choice(a, "compute", problem_computes, PROBLEM_COMPUTES + 1, &number)) return false;
    *compute = (tess_compute)(number % PROBLEM_COMPUTES);
    return true;
}

static bool read_product(bench_request *r, const args *a) {
    int64_t seed = 1;
    r->base = (problem_spec){.batch = 1, .alpha = 1};
    bool good = args_integer(a, "batch", 1, SIZES_BATCH_LARGEST, &r->base.batch) &&
                args_choice(a, "layout", problem_layouts, PROBLEM_LAYOUTS, &r->base.layout) &&
                args_integer(a, "ld-pad", 0, 1000000, &r->base.ld_pad) &&
                args_real(a, "alpha", -1e30, 1e30, &r->base.alpha) &&
                args_real(a, "beta", -1e30, 1e30, &r->base.beta) && bench_read_compute(a, &r->base.compute) &&
                args_integer(a, "seed", 0, INT64_MAX, &seed);
    r->base.seed = (uint64_t)seed;
    return good;
}

static bool allocate_flush(bench_request *r) {
    if (!r->cold || r->device.own_memory) return true;
    int64_t cache = r->device.l3 > r->device.l2 ? r->device.l3 : r->device.l2 * r->device.cores;
    r->flush_bytes = 2 * (size_t)(cache > 16 << 20 ? cache : 16 << 20);
    r->flush = malloc(r->flush_bytes);
    if (r->flush == NULL) say_error("no memory for the %zu bytes that --cold writes", r->flush_bytes);
    return r->flush != NULL;
}

/* How long each case is sampled, and how often. */
static bool read_effort(bench_request *r, const args *a) {
    double percent = 1;
    r->min_time = r->device.own_memory ? 0.1 : 0.3;
    r->repeats = 1;
    if (!args_real(a, "min-time", 0, 3600, &r->min_time)) return false;
    r->max_time = 5 * r->min_time;
    if (!args_real(a, "max-time", 0, 36000, &r->max_time) || !args_real(a, "precision", 0, 100, &percent) ||
        !args_integer(a, "samples", 1, BENCH_SAMPLES_MAX, &r->samples) ||
        !args_integer(a, "repeat", 1, 100000, &r->repeats))
        return false;
    r->precision = percent / 100;
    if (r->max_time >= r->min_time) return true;
    say_error("--max-time is %g, which is less than the %g seconds of --min-time", r->max_time, r->min_time);
    return false;
}

static bool read_method(bench_request *r, const args *a) {
    int mode = r->device.own_memory ? BENCH_CONTINUOUS : BENCH_BURST;
    r->verify = !args_given(a, "no-verify");
    r->cold = args_given(a, "cold");
    r->transfers = args_given(a, "transfers");
    if (!read_effort(r, a) || !args_choice(a, "mode", bench_modes, BENCH_MODE_COUNT, &mode)) return false;
    r->mode = (bench_mode)mode;
    if (r->transfers && !r->device.own_memory) {
        say_error("--transfers times copies to a device and back, but %s computes in host memory",
                  r->device.name);
        return false;
    }
    r->prepared = args_given(a, "prepared");
    if (r->prepared && (r->cold || !bench_on_device(r))) {
        say_error("--prepared is for matrices in a GPU's memory, and not for --cold or --transfers");
        return false;
    }
    if (r->transfers && r->cold) {
        say_error("--cold and --transfers exclude each other: what was just copied is in no cache");
        return false;
    }
    return allocate_flush(r);
}

/* What the files say of how their rows were made. */
static void describe_method(bench_request *r, const args *a) {
    static const char *const without[] = {"csv", "json", "md", "append", "quiet"};
    static const char *const modes[BENCH_MODE_COUNT] =
        {"burst (idle before each sample)", "continuous (sample after sample)",
         "sustained (half a second each, the second half counts)"};
    char effort[96];
    if (r->samples > 0)
        snprintf(effort, sizeof effort, "%lld samples", (long long)r->samples);
    else
        snprintf(effort, sizeof effort, "%g s of samples, up to %g s until the median is known to %g %%",
                 r->min_time, r->max_time, 100 * r->precision);
    snprintf(r->method, sizeof r->method, "%s; %s; caches %s; %s", modes[r->mode], effort,
             r->cold ? "cold" : "warm", bench_on_device(r) ? "events of the device" : "clock of the host");
    args_show(a, without, sizeof without / sizeof *without, r->command, sizeof r->command);
    r->out.method = r->method;
    r->out.command = r->command;
}

/* Patterns that match nothing are no usage error: the same line works where the kernel exists. */
static int read_kernels(bench_request *r, const args *a) {
    const char *family = r->device.kernels, *patterns = args_text(a, "kernels", NULL);
    bool good = true;
    if (a->word_count > 0) good = kernels_add(&r->kernels, family, a->words[0]);
    if (good && patterns != NULL) good = kernels_add(&r->kernels, family, patterns);
    if (good && a->word_count == 0 && patterns == NULL) good = kernels_add_ladder(&r->kernels, family);
    if (!good) return EXIT_CHECK;
    for (size_t i = 0; i < r->kernels.count; i++) {
        if (!kernels_is_peer(&r->kernels.kernels[i]) || r->peer_count > 0) continue;
        if (r->device.own_memory)
            say_error("kernel 0 is the peer, and there is none: 'tessera devices' says what was not found");
        else
            say_error("kernel 0 is the peer, and there is none; to get one: " PEER_ADVICE);
        return EXIT_CHECK;
    }
    return EXIT_FINE;
}

static bool read_append(output *out, const args *a) {
    out->append = args_given(a, "append");
    if (!out->append || out->csv != NULL || out->json != NULL) return true;
    say_error("--append needs a file to add rows to: --csv FILE or --json FILE");
    return false;
}

int bench_read_options(bench_request *r, const args *a) {
    *r = (bench_request){0};
    say_quiet(args_given(a, "quiet"));
    if (!output_open(&r->out, a) || !read_append(&r->out, a) ||
        !bench_read_types(a, r->types, BENCH_TYPES_MAX, &r->type_count) || !bench_read_sizes(a, &r->sizes) ||
        !read_product(r, a))
        return EXIT_USAGE;
    if (r->sizes.count > 0 && a->word_count > 1)
        return say_usage("MAXSIZE and --sizes or --shape exclude each other; give one");
    if (!open_device(a, &r->ctx, &r->device)) return EXIT_CHECK;
    if (r->sizes.count == 0 && !add_default_sizes(a, &r->sizes, r->device.own_memory ? 4096 : 2048))
        return EXIT_USAGE;
    if (!read_threads(r, a) || !read_method(r, a)) return EXIT_USAGE;
    describe_method(r, a);
    int status = bench_read_peers(r, args_text(a, "peer", NULL));
    if (status == EXIT_FINE) status = read_kernels(r, a);
    return status == EXIT_FINE ? bench_make_variants(r, a) : status;
}

void bench_free_options(bench_request *r) {
    tess_close(r->ctx);
    for (size_t i = 0; i < r->variant_count; i++) free(r->variants[i].params);
    free(r->variants);
    kernels_free(&r->kernels);
    sizes_free(&r->sizes);
    free(r->flush);
}
