/* cmd_multiply.c: `tessera multiply`: multiplies two NumPy files into a third.
 *
 * Invariant: everything that can be refused from options and headers is refused before anything is computed,
 * and the output's path changes only in the last step.
 */
#include "bench_options.h"
#include "commands.h"
#include "interrupt.h"
#include "multiply_input.h"
#include "multiply_output.h"
#include "multiply_steps.h"
#include "open_device.h"
#include "problem.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

static const args_option options[] = {
    {"output", "FILE", "where C goes; needed"},
    {"alpha", "NUMBER", "the scalar of A*B; default 1"},
    {"beta", "NUMBER", "the scalar of the old C, with --accumulate; default 1 there"},
    {"accumulate", NULL, "add to the array in the output file: C = alpha*A*B + beta*C"},
    {"type", "TYPE", "C's type: f16 or f32 of f16, bf16 or f32 of bf16, else the one there is"},
    {"bf16", NULL, "two-byte elements (u2, V2) are bf16; C is written as u2 if it is bf16"},
    {"order", "C|F", "C's order in the file; default C, or that of the array added to"},
    {"kernel", "NAME", "use this kernel, see list; default the planner's choice"},
    {"params", "NAME=N[,...]", "parameters of the kernel, see list --long"},
    {"compute", "MODE", "how f32 may be computed: f32 (the default), f32-strict, tf32 or bf16"},
    {"threads", "N", "number of threads"},
    ARGS_DEVICE_ROW,
    {"quiet", NULL, "no closing line, no notes and no progress"},
};
const args_spec multiply_spec =
    {"multiply",
     "A.npy B.npy -o C.npy",
     2,
     "Multiply two NumPy files: C = alpha*A*B, or + beta*C",
     "The files are .npy of version 1.0, 2.0 or 3.0, in C or Fortran order and either byte order, of f2, f4, "
     "f8,\ni1 or i4, or u2 with --bf16. A and B have the same type; i1 gives i4. Shapes are those of "
     "numpy.matmul: two\n"
     "sizes are a matrix; one is a row on the left and a column on the right, and is missing from C; three "
     "are a\n"
     "stack of matrices, and one matrix goes with every matrix of a stack. A single number is refused.\n"
     "\nInputs are mapped, not read into memory, unless they have the other byte order or elements that are "
     "not\n"
     "aligned: those are converted into memory first. C is computed in a file beside the output, in this\n"
     "machine's byte order, and takes its place, and its permissions, when it is whole and on the disk: an "
     "existing\n"
     "output is replaced, but after an error or Ctrl-C it is as it was. The output must not be an input.\n",
     options,
     sizeof options / sizeof *options};

typedef struct request {
    const char *path_a, *path_b, *path_c;
    bool accumulate, bf16, quiet;
    int order; /* of C: 0 C, 1 Fortran, -1 not said */
    int64_t threads;
    tess_device_info device;
    multiply_input a, b, c0;
    multiply_output out;
    multiply_job job;
    tess_plan *plan;
} request;

static int read_options(request *r, const args *a) {
    static const char *const orders[] = {"C", "F"};
    *r = (request){.order = -1, .job.alpha = 1, .out.directory = -1, .out.file = -1};
    r->accumulate = args_given(a, "accumulate");
    r->bf16 = args_given(a, "bf16");
    r->quiet = args_given(a, "quiet");
    r->path_c = args_text(a, "output", NULL);
    r->job.beta = r->accumulate ? 1 : 0;
    r->job.options.kernel = args_text(a, "kernel", NULL);
    r->job.options.params = args_text(a, "params", NULL);
    say_quiet(r->quiet);
    if (a->word_count != 2)
        return say_usage("multiply takes two files, but got %zu: tessera multiply A.npy B.npy -o C.npy",
                         a->word_count);
    if (r->path_c == NULL || r->path_c[0] == '\0')
        return say_usage("multiply needs the name of the output: tessera multiply %s %s -o C.npy",
                         a->words[0], a->words[1]);
    r->path_a = a->words[0];
    r->path_b = a->words[1];
    if (!args_real(a, "alpha", -1e308, 1e308, &r->job.alpha) ||
        !args_real(a, "beta", -1e308, 1e308, &r->job.beta) ||
        !args_choice(a, "order", orders, 2, &r->order) || !args_integer(a, "threads", 1, 1024, &r->threads) ||
        !bench_read_compute(a, &r->job.options.compute))
        return EXIT_USAGE;
    if (!r->accumulate && r->job.beta != 0)
        return say_usage("--beta is %g, but there is nothing for it to multiply; --accumulate takes the "
                         "array in the output file",
                         r->job.beta);
    return EXIT_FINE;
}

static bool same_file(const multiply_input *in, const multiply_output *out) {
    return out->exists && in->device == out->device && in->inode == out->inode;
}

/* Opens the files and holds them against each other. */
static bool open_files(request *r) {
    if (!multiply_input_open(&r->a, r->path_a) || !multiply_input_open(&r->b, r->path_b) ||
        !multiply_output_open(&r->out, r->path_c))
        return false;
    if (same_file(&r->a, &r->out) || same_file(&r->b, &r->out)) {
        say_error("the output '%s' is the same file as the input '%s'; C needs a file of its own", r->path_c,
                  same_file(&r->a, &r->out) ? r->path_a : r->path_b);
        return false;
    }
    if (r->accumulate && !r->out.exists) {
        say_error("--accumulate adds to '%s', which does not exist", r->path_c);
        return false;
    }
    return !r->accumulate || multiply_input_open(&r->c0, r->path_c);
}

static bool check_input_type(const request *r, const multiply_input *in) {
    bool is_bf16 = in->header.type == TESS_BF16;
    if (is_bf16 == r->bf16) return true;
    if (is_bf16)
        say_error("'%s' has elements of two bytes (u2); if they are bf16, say so with --bf16", in->path);
    else
        say_error("'%s' is %s; --bf16 is for elements of two bytes (u2)", in->path,
                  tess_type_name(in->header.type));
    return false;
}

/* Which type C gets: --type, else that of the array added to, else the first the library has. */
static int choose_type(const request *r, const args *a, tess_type *out) {
    char list[64] = "";
    tess_type in = r->a.header.type, wanted = in;
    bool found = false, given = args_given(a, "type");
    if (given && tess_find_type(args_text(a, "type", ""), &wanted) != TESS_OK)
        return say_usage("--type is '%s'; it must be one of f32, f64, f16, bf16, i32, i8",
                         args_text(a, "type", ""));
    if (!given && r->accumulate) wanted = r->c0.header.type;
    for (int i = PROBLEM_TYPE_COUNT - 1; i >= 0; i--) {
        problem_types row = problem_all_types[i];
        char before[64];
        if (row.in != in) continue;
        if (!given && !r->accumulate) wanted = row.out;
        found = found || row.out == wanted;
        snprintf(before, sizeof before, "%s", list);
        snprintf(list, sizeof list, "%s%s%.40s", tess_type_name(row.out), before[0] != '\0' ? " or " : "",
                 before);
    }
    *out = wanted;
    if (found) return EXIT_FINE;
    if (given)
        return say_usage("--type is %s, but %s gives %s", tess_type_name(wanted), tess_type_name(in), list);
    say_error("'%s' is %s, but %s gives %s", r->path_c, tess_type_name(wanted), tess_type_name(in), list);
    return EXIT_CHECK;
}

static bool check_types(const request *r) {
    if (!check_input_type(r, &r->a) || !check_input_type(r, &r->b)) return false;
    if (r->a.header.type == r->b.header.type) return true;
    say_error("'%s' is %s but '%s' is %s; a product takes two arrays of one type", r->path_a,
              tess_type_name(r->a.header.type), r->path_b, tess_type_name(r->b.header.type));
    return false;
}

/* The array added to must be what the product is. */
static bool check_old(const request *r) {
    const npy_header *old = &r->c0.header, *new = &r->job.shape.result;
    char old_text[MULTIPLY_TEXT], new_text[MULTIPLY_TEXT];
    if (!r->accumulate ||
        (old->type == new->type &&
         old->dims == new->dims &&memcmp(old->shape, new->shape, (size_t)old->dims * sizeof *old->shape) ==
             0))
        return true;
    say_error("'%s' is %s (%s), but the product is %s (%s); --accumulate needs them alike", r->path_c,
              multiply_shape_text(old, old_text), tess_type_name(old->type),
              multiply_shape_text(new, new_text), tess_type_name(new->type));
    return false;
}

/* Everything that can be known before computing: files, types, shapes, the plan. */
static int prepare(request *r, const args *a) {
    tess_type type = TESS_F32;
    char why[512];
    if (!open_files(r) || !check_types(r)) return EXIT_CHECK;
    int status = choose_type(r, a, &type);
    if (status != EXIT_FINE) return status;
    bool fortran = r->order >= 0 ? r->order == 1 : r->accumulate && r->c0.header.fortran;
    if (!multiply_shape_make(&r->job.shape, &r->a.header, &r->b.header, type, fortran, why, sizeof why)) {
        say_error("cannot multiply '%s' (A) by '%s' (B): %s", r->path_a, r->path_b, why);
        return EXIT_CHECK;
    }
    if (!check_old(r) || !open_device(a, &r->job.ctx, &r->device)) return EXIT_CHECK;
    if (r->threads > 0 && tess_set_threads(r->job.ctx, (int)r->threads) != TESS_OK) {
        say_error("%s", tess_error(r->job.ctx));
        return EXIT_CHECK;
    }
    if (!multiply_steps_plan(&r->job, &r->plan)) return EXIT_CHECK;
    if (say_verbose()) say_note("%s", tess_plan_sentence(r->plan));
    return EXIT_FINE;
}

/* With TESSERA_VERBOSE: what the run took of memory, as the system counts it. */
static void note_memory(void) {
    char line[256], text[200] = "";
    size_t used = 0;
    FILE *stream = say_verbose() ? fopen("/proc/self/status", "re") : NULL;
    if (stream == NULL) return;
    while (fgets(line, sizeof line, stream) != NULL) {
        char name[16];
        long kilobytes;
        if (sscanf(line, "%15[^:]: %ld", name, &kilobytes) != 2) continue;
        if (strcmp(name, "VmHWM") != 0 && strncmp(name, "Rss", 3) != 0) continue;
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, " %s %ld kB", name, kilobytes);
    }
    fclose(stream);
    say_note("memory:%s", text);
}

static multiply_end compute(request *r, double *seconds) {
    char header[NPY_HEADER_ROOM];
    size_t header_size = npy_format(&r->job.shape.result, header);
    if (!multiply_input_load(&r->a) || !multiply_input_load(&r->b) ||
        (r->accumulate && !multiply_input_load(&r->c0)) ||
        !multiply_output_create(&r->out, header_size + r->job.shape.result_size))
        return interrupt_came() ? MULTIPLY_INTERRUPTED : MULTIPLY_FAILED;
    memcpy(r->out.map, header, header_size);
    r->job.a = r->a.data;
    r->job.b = r->b.data;
    r->job.c = (char *)r->out.map + header_size;
    r->job.c0 = r->c0.data;
    r->job.c0_header = r->c0.header;
    return multiply_steps_run(&r->job, seconds);
}

static void print_closing_line(const request *r, double seconds) {
    const multiply_shape *s = &r->job.shape;
    char a[MULTIPLY_TEXT], b[MULTIPLY_TEXT], c[MULTIPLY_TEXT];
    double flops = 2.0 * (double)s->batch.count * (double)s->m * (double)s->n * (double)s->k;
    printf("%s: %s (%s) from %s times %s (%s), %.3g s, %.1f GFLOPS, %s on %s\n", r->path_c,
           multiply_shape_text(&s->result, c), tess_type_name(s->result.type),
           multiply_shape_text(&r->a.header, a), multiply_shape_text(&r->b.header, b),
           tess_type_name(r->a.header.type), seconds, seconds > 0 ? 1e-9 * flops / seconds : 0.0,
           tess_plan_kernel(r->plan), r->device.name);
}

static int multiply(request *r) {
    double seconds = 0;
    multiply_end end = compute(r, &seconds);
    say_progress_end();
    if (end == MULTIPLY_DONE) note_memory();
    if (end == MULTIPLY_DONE && !multiply_output_sync(&r->out)) end = MULTIPLY_FAILED;
    if (end != MULTIPLY_FAILED && interrupt_came()) {
        say_error("interrupted: '%s' %s", r->path_c,
                  r->out.exists ? "is as it was before" : "was not written");
        return 128 + interrupt_came();
    }
    if (end != MULTIPLY_DONE || !multiply_output_publish(&r->out)) return EXIT_CHECK;
    if (!r->quiet) print_closing_line(r, seconds);
    return EXIT_FINE;
}

int multiply_run(const args *a) {
    request r;
    interrupt_watch();
    int status = read_options(&r, a);
    if (status == EXIT_FINE) status = prepare(&r, a);
    if (status == EXIT_FINE) status = multiply(&r);
    multiply_output_close(&r.out);
    tess_free_plan(r.plan);
    tess_close(r.job.ctx);
    multiply_input_close(&r.a);
    multiply_input_close(&r.b);
    multiply_input_close(&r.c0);
    return status;
}
