/* cmd_verify.c: `tessera verify`: runs kernels on many small products and checks every element.
 *
 * Invariant: a case counts as passed only if it ran on every kind of data there is for it and all checks passed; a
 * kernel and type without a single case is no row.
 */
#include "bench_options.h"
#include "commands.h"
#include "interrupt.h"
#include "open_device.h"
#include "say.h"
#include "verify_accuracy.h"
#include "verify_cases.h"
#include "verify_sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const args_option options[] = {
    {"kernels", "GLOB[,GLOB...]", "kernels by name, glob or number; auto is the planner's choice"},
    {"file", "FILE", "the kernel in this file, on a GPU or the simulator; f32 unless --type is given"},
    {"type", "TYPE[,TYPE...]", "f32 f64 f16 f16:f32 bf16 bf16:f32 i32 i8; default all"},
    {"sizes", "SIZES", "square sizes instead of the built-in shapes, as in bench"},
    {"shape", "MxNxK[,...]", "shapes instead of the built-in ones; may be given several times"},
    {"shapes", "FILE", "shapes from a file, one a line, # begins a comment"},
    {"count", "N", "how many random shapes follow; default 32 after the built-in ones, 0 after others"},
    {"max-size", "N", "largest size of a random shape; default 160"},
    {"layout", "nn|nt|tn|tt", "only this layout"},
    {"ld-pad", "N", "only this many unused elements after each row"},
    {"misalign", "N", "only matrices that begin N elements after an aligned address"},
    {"batch", "N", "only batches of N"},
    {"alpha", "NUMBER", "only this alpha (then beta is 0 unless given)"},
    {"beta", "NUMBER", "only this beta (then alpha is 1 unless given)"},
    {"params", "NAME=N[,...]", "parameters of the kernel, see list --long"},
    {"compute", "MODE", "how f32 may be computed: f32 (the default), f32-strict, tf32 or bf16"},
    {"threads", "N", "number of threads; of a CPU only"},
    {"transfers", NULL, "matrices in host memory, which the library copies to a GPU and back"},
    {"seed", "N", "of shapes and data; default 1"},
    {"accuracy", NULL, "measure errors of f32 against f64, beside a peer's, instead: see above"},
    {"seeds", "N", "with --accuracy: how many seeds are taken together; default 5"},
    {"peer", "NAME",
     "with --accuracy: whom to compare with, as in bench, or a kernel of a GPU; none for nobody"},
    ARGS_DEVICE_ROW,
    ARGS_OUTPUT_ROWS,
    ARGS_QUIET_ROW,
};
const args_spec verify_spec = {
    "verify",
    "[KERNEL...]",
    64,
    "Check kernels on awkward shapes, against a reference and bit for bit",
    "Each case runs twice: on random data, where every element must lie within its error bound, and on\n"
    "integers whose sums are exact, where every bit must be right. Some small ones of floating types, and\n"
    "those of --shape, run once more, on NaN, infinities, zeros of both signs and sums too large for f16 or\n"
    "f32: each must become what IEEE 754 says. C is poisoned with NaN where it must not be read. A failure\n"
    "prints the command that repeats it.\n"
    "Kernels that multiply f32 only as TF32 are allowed to, and the bound then counts that.\n"
    "With --device sim GPU kernels run on the CPU, thread by thread, and every access is checked: races,\n"
    "barriers that not all threads reach, memory out of bounds, misaligned or never written.\n\n"
    "With --accuracy errors are measured instead, on data that shows them, for k from 1 to 65536 (or those "
    "of\n"
    "--shape): relative Frobenius error, the largest of |A||B|, and the mean, kernel by kernel (default: "
    "auto)\n"
    "beside a peer's (cuBLAS, or a BLAS of the host). A row of f32 by parts fails if the Frobenius error is\n"
    "above the peer's (from k = 64 on), any row if an element is off by more than the peer's worst and\n"
    "(k + 8) u, or the mean on U(0,1) is above 4 u, with u = 2^-24. Lines with exact results follow: "
    "integers, A times I, subnormal numbers, "
    "those\n"
    "near the largest, one infinity or NaN.\n",
    options,
    sizeof options / sizeof *options};

enum { KERNEL, TYPE, CASES, FAILED, REL_ERROR, MAX_ERROR, BOUND, RESULT, COMPUTE };
static const table_column columns[] = {
    [KERNEL] = {"kernel", "kernel", TABLE_TEXT, TABLE_IN_FILES, 0},
    [TYPE] = {"type", "type", TABLE_TEXT, TABLE_IN_FILES, 8},
    [CASES] = {"cases", "cases", TABLE_COUNT, TABLE_IN_FILES, 0},
    [FAILED] = {"failed", "failed", TABLE_COUNT, TABLE_IN_FILES, 0},
    [REL_ERROR] = {"rel_error", "rel. error", TABLE_ERROR, TABLE_IN_FILES, 0},
    [MAX_ERROR] = {"max_error", "max. error", TABLE_ERROR, TABLE_IN_FILES, 0},
    [BOUND] = {"bound_pct", "of bound", TABLE_PERCENT, TABLE_IN_FILES, 0},
    [RESULT] = {"result", "result", TABLE_TEXT, TABLE_IN_FILES, 0},
    [COMPUTE] = {"compute", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
};
/* Further failures of one row are counted, not described. */
enum { DESCRIBED = 3 };

typedef struct request {
    tess_context *ctx;
    tess_device_info device;
    kernels_list kernels;
    problem_types types[PROBLEM_TYPE_COUNT];
    size_t type_count;
    verify_choice choice;
    verify_cases cases;
    tess_options options; /* without the kernel; compute is f32's */
    bool compute_given;
    int64_t threads; /* 0: the default */
    bool transfers;
    char file[1024]; /* of --file */
    output out;
    bool passed_over; /* a file that was asked for could not be checked */
} request;

typedef struct tally {
    int64_t cases, failed;
    double rel_error, max_error, used;
    char refusal[PROBLEM_SENTENCE]; /* why the last product left out was */
    char notes[4096];               /* what the device noticed, and has been said */
    bool expected;                  /* a kernel need not take every type */
    bool not_run;                   /* it cannot be compiled, or memory is short */
} tally;

static void print_replay(const request *r, const tess_kernel_info *kernel, const problem_spec *s,
                         const char *why) {
    char type[16];
    problem_show_types(s->types, type);
    say_error("%s is wrong: %s", kernel->name, why);
    fprintf(stderr,
            "  repeat it with: tessera verify %s%s --device %s --type %s --shape %" PRId64 "x%" PRId64
            "x%" PRId64 " --layout %s --ld-pad %" PRId64 " --misalign %" PRId64 " --batch %" PRId64
            " --alpha %.17g --beta %.17g --seed %" PRIu64,
            verify_sim_is_file(kernel) ? "--file " : "", kernel->name, r->device.name, type, s->m, s->n, s->k,
            problem_layouts[s->layout], s->ld_pad, s->misalign, s->batch, s->alpha, s->beta, s->seed);
    if (s->compute != TESS_COMPUTE_DEFAULT) fprintf(stderr, " --compute %s", problem_computes[s->compute]);
    if (!r->device.own_memory) fprintf(stderr, " --threads %d", tess_threads(r->ctx));
    if (r->transfers) fprintf(stderr, " --transfers");
    if (r->options.params != NULL) fprintf(stderr, " --params %s", r->options.params);
    fputc('\n', stderr);
}

/* Runs and checks on one kind of data. *status is the library's: a product it refuses is no wrong one. */
static bool run_data(tess_plan *plan, problem *p, problem_data data, tess_status *status, tally *sum,
                     char why[PROBLEM_SENTENCE]) {
    tess_check check;
    if (!problem_has_data(&p->spec, data)) return true;
    if (!problem_fill(p, data, why)) return false;
    *status = problem_run(p, plan);
    if (*status != TESS_OK) return false;
    bool right = problem_check(p, data, &check, why);
    sum->rel_error = fmax(sum->rel_error, check.rel_error);
    sum->max_error = fmax(sum->max_error, check.max_error);
    sum->used = fmax(sum->used, check.used);
    return right;
}

/* What a kernel does not take it refuses when it is planned; scalars are seen when it runs. Somebody else's library
 * may find out only then. */
static bool is_refusal(const tess_kernel_info *kernel, tess_status status, bool planned) {
    if (status == TESS_ERROR_ARGUMENT) return true;
    if (planned) return status == TESS_ERROR_KERNEL && kernel->number == KERNELS_PEER;
    return status == TESS_ERROR_KERNEL || status == TESS_ERROR_TYPE;
}

static tess_options options_for(const request *r, const tess_kernel_info *kernel, tess_compute compute) {
    tess_options choice = r->options;
    choice.kernel = kernel->number < 0 ? NULL : kernel->name;
    choice.compute = compute;
    return choice;
}

/* Whether the kernel takes some product of f32 in this mode. */
static bool takes_f32(const request *r, const tess_kernel_info *kernel, tess_compute compute) {
    tess_matrix M = tess_view_row_major(TESS_F32, 1, 1, NULL, 0);
    tess_options choice = options_for(r, kernel, compute);
    tess_plan *plan = NULL;
    bool taken = tess_plan_gemm(r->ctx, &M, &M, &M, NULL, &choice, &plan) == TESS_OK;
    tess_free_plan(plan);
    return taken;
}

/* The mode a type is checked in: what was asked for, and only for f32; TF32 where a kernel needs it. */
static tess_compute compute_for(const request *r, const tess_kernel_info *kernel, problem_types types) {
    if (types.in != TESS_F32) return TESS_COMPUTE_DEFAULT;
    if (r->compute_given || takes_f32(r, kernel, TESS_COMPUTE_DEFAULT)) return r->options.compute;
    return takes_f32(r, kernel, TESS_COMPUTE_TF32) ? TESS_COMPUTE_TF32 : TESS_COMPUTE_DEFAULT;
}

/* One product on every kind of data. Returns false only if the run cannot go on. */
static bool run_case(const request *r, const tess_kernel_info *kernel, const problem_spec *spec, tally *sum) {
    problem p;
    tess_plan *plan = NULL;
    char why[PROBLEM_SENTENCE] = "";
    tess_options choice = options_for(r, kernel, spec->compute);
    bool on_device = r->device.own_memory && !r->transfers;
    if (!problem_open(&p, spec, on_device ? r->ctx : NULL)) {
        problem_free(&p);
        return false;
    }
    tess_status status = problem_plan(&p, r->ctx, &choice, &plan);
    bool right = status == TESS_OK && run_data(plan, &p, PROBLEM_RANDOM, &status, sum, why) &&
                 run_data(plan, &p, PROBLEM_EXACT, &status, sum, why) &&
                 run_data(plan, &p, PROBLEM_SPECIAL, &status, sum, why);
    if (status != TESS_OK) snprintf(why, sizeof why, "%s", tess_error(r->ctx));
    if (verify_sim_is_file(kernel)) verify_sim_notes(r->ctx, sum->notes);
    if (interrupt_came()) {
        /* A compiler that was interrupted too says nothing of the kernel. */
    } else if (is_refusal(kernel, status, plan != NULL)) {
        snprintf(sum->refusal, sizeof sum->refusal, "%s", why);
        sum->expected = status == TESS_ERROR_TYPE || status == TESS_ERROR_KERNEL;
    } else {
        sum->cases++;
        sum->not_run = p.undone || status == TESS_ERROR_KERNEL || status == TESS_ERROR_MEMORY;
        if (sum->not_run) /* which tells nothing of its products */
            say_error("%s cannot be %s: %s", kernel->name, p.undone ? "checked" : "run", why);
        else if (!right && sum->failed < DESCRIBED)
            print_replay(r, kernel, spec, why);
        sum->failed += !right;
    }
    tess_free_plan(plan);
    problem_free(&p);
    return true;
}

static void add_row(const request *r, table *t, const tess_kernel_info *kernel, problem_types types,
                    tess_compute compute, const tally *sum) {
    char type[16];
    problem_show_types(types, type);
    if (sum->cases == 0) {
        if (sum->refusal[0] != '\0' && (r->kernels.chosen || !sum->expected) && !verify_sim_is_file(kernel))
            say_note("%s in %s is left out: %s", kernel->name, type, sum->refusal);
        return;
    }
    table_add_row(t);
    table_set_text(t, KERNEL, kernel->name);
    table_set_text(t, TYPE, type);
    table_set_count(t, CASES, sum->cases);
    table_set_count(t, FAILED, sum->failed);
    table_set_real(t, REL_ERROR, sum->rel_error);
    table_set_real(t, MAX_ERROR, sum->max_error);
    table_set_real(t, BOUND, 100 * sum->used);
    table_set_text(t, RESULT, sum->not_run ? "NOT RUN" : sum->failed == 0 ? "PASS" : "FAIL");
    table_set_text(t, COMPUTE, problem_computes[compute]);
    table_set_tone(t, RESULT, sum->failed == 0 ? TABLE_GOOD : TABLE_BAD);
    if (r->out.people) table_print(t, stdout);
}

/* All cases of one kernel and type. Returns whether to go on; an interrupted tally makes no row. */
static bool verify_row(request *r, table *t, const tess_kernel_info *kernel, problem_types types,
                       int64_t *failed, char refusal[PROBLEM_SENTENCE]) {
    tally sum = {0};
    char type[16];
    problem_show_types(types, type);
    say_progress("%s %s: %zu cases", kernel->name, type, r->cases.count);
    tess_compute compute = compute_for(r, kernel, types);
    tess_options choice = options_for(r, kernel, compute);
    verify_sim_settle(&r->ctx, &r->device, types, &choice);
    for (size_t i = 0; i < r->cases.count && !sum.not_run; i++) {
        problem_spec spec = r->cases.specs[i];
        spec.types = types;
        spec.compute = compute;
        if (interrupt_came()) return false;
        if (!run_case(r, kernel, &spec, &sum)) {
            (*failed)++;
            return false;
        }
    }
    *failed += sum.failed;
    add_row(r, t, kernel, types, compute, &sum);
    memcpy(refusal, sum.refusal, PROBLEM_SENTENCE);
    return true;
}

/* All types of one kernel. One that takes none is not passed over in silence. */
static bool verify_kernel(request *r, table *t, const tess_kernel_info *kernel, int64_t *failed) {
    char refusal[PROBLEM_SENTENCE] = "";
    size_t before = t->row_count;
    for (size_t i = 0; i < r->type_count; i++)
        if (!verify_row(r, t, kernel, r->types[i], failed, refusal)) return false;
    if (t->row_count == before && verify_sim_is_file(kernel)) {
        say_error("%s was not checked: %s", kernel->name, refusal);
        r->passed_over = true;
    } else if (t->row_count == before && !r->kernels.chosen) {
        say_note("%s was not checked: %s", kernel->name, refusal);
    }
    return true;
}

static bool read_choice(request *r, const args *a) {
    int64_t seed = 1;
    verify_choice *c = &r->choice;
    *c = (verify_choice){.random = -1,
                         .max_size = 160,
                         .layout = -1,
                         .ld_pad = -1,
                         .misalign = -1,
                         .alpha = 1};
    c->scaled = args_given(a, "alpha") || args_given(a, "beta");
    r->options.params = args_text(a, "params", NULL);
    bool good =
        bench_read_sizes(a, &c->shapes) && args_integer(a, "count", 0, 1000000, &c->random) &&
        args_integer(a, "max-size", 0, 100000, &c->max_size) &&
        args_choice(a, "layout", problem_layouts, PROBLEM_STRIDED, &c->layout) &&
        args_integer(a, "ld-pad", 0, 1000000, &c->ld_pad) &&
        args_integer(a, "misalign", 0, 1000000, &c->misalign) && bench_read_compute(a, &r->options.compute) &&
        args_integer(a, "batch", 1, 1000000, &c->batch) && args_real(a, "alpha", -1e30, 1e30, &c->alpha) &&
        args_real(a, "beta", -1e30, 1e30, &c->beta) && args_integer(a, "threads", 1, 1024, &r->threads) &&
        args_integer(a, "seed", 0, INT64_MAX, &seed);
    if (c->random < 0) c->random = c->shapes.count > 0 ? 0 : 32;
    c->seed = (uint64_t)seed;
    r->compute_given = args_given(a, "compute");
    return good;
}

static bool read_types(request *r, const args *a) {
    if (args_given(a, "type")) return bench_read_types(a, r->types, PROBLEM_TYPE_COUNT, &r->type_count);
    memcpy(r->types, problem_all_types, sizeof problem_all_types);
    r->type_count = args_given(a, "file") ? 1 : PROBLEM_TYPE_COUNT;
    return true;
}

static bool read_kernels(request *r, const args *a) {
    const char *family = r->device.kernels, *patterns = args_text(a, "kernels", NULL);
    for (size_t i = 0; i < a->word_count; i++)
        if (!kernels_add(&r->kernels, family, a->words[i])) return false;
    if (patterns != NULL && !kernels_add(&r->kernels, family, patterns)) return false;
    if (args_given(a, "file") && !verify_sim_add_file(&r->kernels, args_text(a, "file", ""), r->file))
        return false;
    if (!r->kernels.chosen) {
        bool good = kernels_add_ours(&r->kernels, family) && kernels_add_auto(&r->kernels);
        if (strncmp(r->device.name, "sim", 3) == 0) kernels_keep_simulated(&r->kernels);
        return good;
    }
    for (size_t i = 0; i < r->kernels.count; i++) {
        if (!kernels_is_peer(&r->kernels.kernels[i])) continue;
        say_error("kernel 0 is the peer, which verify does not run; bench checks it before it times it");
        return false;
    }
    return true;
}

static int read_options(request *r, const args *a) {
    *r = (request){0};
    say_quiet(args_given(a, "quiet"));
    if (!output_open(&r->out, a) || !read_types(r, a) || !read_choice(r, a)) return EXIT_USAGE;
    if (args_given(a, "file") && !verify_sim_can_read(args_text(a, "file", ""))) return EXIT_CHECK;
    if (!open_device(a, &r->ctx, &r->device)) return EXIT_CHECK;
    verify_sim_open_checked(&r->ctx, &r->device);
    if (args_given(a, "file") && strcmp(r->device.kernels, "gpu") != 0)
        return say_usage("--file is a kernel for a GPU, but the device is %s; give --device cuda, or "
                         "--device sim",
                         r->device.name);
    r->transfers = args_given(a, "transfers");
    if (r->transfers && !r->device.own_memory)
        return say_usage("--transfers copies matrices to a device and back, but %s computes in host memory",
                         r->device.name);
    if (r->threads > 0 && r->device.own_memory)
        return say_usage("--threads is %" PRId64 ", but %s is no CPU: a GPU always uses all it has",
                         r->threads, r->device.name);
    if (r->threads > 0 && tess_set_threads(r->ctx, (int)r->threads) != TESS_OK) {
        say_error("%s", tess_error(r->ctx));
        return EXIT_CHECK;
    }
    return read_kernels(r, a) && verify_cases_make(&r->cases, &r->choice) ? EXIT_FINE : EXIT_CHECK;
}

static int finish(const request *r, table *t, int64_t failed) {
    int caught = interrupt_came();
    bool written = t->row_count == 0 || output_write(&r->out, t, "checks", &r->device, NULL);
    say_progress_end();
    if (caught != 0) {
        say_error("interrupted: the rows shown are complete, the others were not checked");
        return 128 + caught;
    }
    if (t->row_count == 0 && failed == 0 && !r->passed_over)
        say_error("nothing was checked: no kernel takes these products");
    if (r->out.people && failed > 0) printf("%" PRId64 " case%s failed\n", failed, failed == 1 ? "" : "s");
    return failed > 0 || r->passed_over || t->row_count == 0 || !written ? EXIT_CHECK : EXIT_FINE;
}

int verify_run(const args *a) {
    request r;
    if (args_given(a, "accuracy")) return verify_accuracy_run(a);
    if (args_given(a, "seeds") || args_given(a, "peer"))
        return say_usage("--seeds and --peer are for --accuracy, which was not given");
    int status = read_options(&r, a);
    if (status == EXIT_FINE) {
        table t;
        int64_t failed = 0;
        bool go_on = true;
        table_open(&t, columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < r.kernels.count; i++)
            table_widen(&t, KERNEL, strlen(r.kernels.kernels[i].name));
        interrupt_watch();
        for (size_t i = 0; go_on && i < r.kernels.count; i++)
            go_on = verify_kernel(&r, &t, &r.kernels.kernels[i], &failed);
        status = finish(&r, &t, failed);
        table_close(&t);
    }
    tess_close(r.ctx);
    kernels_free(&r.kernels);
    sizes_free(&r.choice.shapes);
    verify_cases_free(&r.cases);
    return status;
}
