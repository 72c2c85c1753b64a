/* cmd_explain.c: `tessera explain`: why a rung is as fast as it is, without a GPU.
 *
 * Invariant: nothing is measured. Counters come from the simulator, registers from the compiler, rates from the model
 * that docs/MODEL.md states. */
#include "bench_options.h"
#include "commands.h"
#include "explain.h"
#include "kernels.h"
#include "output.h"
#include "output_file.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

static const args_option options[] = {
    {"size", "N", "explain an N x N x N product; default 4096"},
    {"shape", "MxNxK", "explain this shape"},
    {"type", "TYPE",
     "f32, f64, i32 and others that the kernel has, such as bf16; default f32, or the kernel's first"},
    {"gpu", "NAME", "predict for this GPU; default H200. An unknown name lists those there are"},
    {"against", "KERNEL", "compare with this kernel instead of the one its header names"},
    {"params", "NAME=VALUE,...", "parameters of the kernel"},
    {"compute", "MODE", "how f32 may be computed: f32 (the default), f32-strict, tf32 or bf16"},
    {"measured", "FILE", "predict every rate in a CSV file, and show the error"},
    ARGS_OUTPUT_ROWS,
    ARGS_QUIET_ROW,
};
const args_spec explain_spec = {"explain",
                                "[KERNEL]",
                                1,
                                "Why a kernel is as fast as it is: counters, occupancy, a model",
                                "Without a KERNEL: the whole ladder, a line for each rung. With one (a "
                                "number or a name): its story, its\n"
                                "counters beside those of the rung before it, what its header expects of "
                                "them, the lines that cost most, the\n"
                                "occupancy, its place on the roofline, and the rate a model predicts for "
                                "--gpu. No GPU is needed or used.\n"
                                "Exit status 1 if an expectation does not hold.\n",
                                options,
                                sizeof options / sizeof *options};

static bool read_shape(const args *a, sizes_shape *shape) {
    sizes_list list = {0};
    const char *squares = args_text(a, "size", NULL), *shapes = args_text(a, "shape", NULL);
    if (squares != NULL && shapes != NULL) {
        say_error("--size and --shape are both given; one product is explained");
        return false;
    }
    bool good = shapes != NULL ? sizes_add_shapes(&list, shapes)
                               : sizes_add_squares(&list, squares != NULL ? squares : "4096");
    if (good && (list.count != 1 || list.batches[0] > 0 || list.shapes[0].m < 1 || list.shapes[0].n < 1 ||
                 list.shapes[0].k < 1)) {
        say_error("one product of at least 1x1x1 is explained, not '%s'", shapes != NULL ? shapes : squares);
        good = false;
    }
    if (good) *shape = list.shapes[0];
    sizes_free(&list);
    return good;
}

static bool read_case(const args *a, explain_case *c) {
    const char *type = args_text(a, "type", "f32");
    c->params = args_text(a, "params", NULL);
    if (!bench_read_compute(a, &c->compute)) return false;
    c->on = cards_find(args_text(a, "gpu", "H200"));
    if (c->on == NULL || !read_shape(a, &c->shape)) return false;
    if (!problem_parse_types(type, &c->types)) {
        say_error("--type is '%s'; it must be f32, f64, i32 or another type of the kernel", type);
        return false;
    }
    if (tess_open(&c->ctx, "sim") == TESS_OK) return true;
    say_error("%s", tess_error(NULL));
    return false;
}

/* A CPU's kernel has no counters, and no model: what there is to say of it is in the registry. */
static bool is_of_cpu(const char *word) {
    tess_kernel_info kernel;
    for (int i = 0; i < tess_count_kernels(); i++) {
        if (tess_describe_kernel(i, &kernel) != TESS_OK || strcmp(kernel.device, "cpu") != 0) continue;
        if (strcmp(kernel.name, word) != 0) continue;
        say_error("%s is a kernel of the CPU, and only a GPU's can be counted and modelled; 'tessera list "
                  "--long %s' says what it does",
                  word, word);
        return true;
    }
    return false;
}

/* One kernel of the ladder by its name or number. */
static bool find_one(const char *word, tess_kernel_info *kernel) {
    kernels_list list = {0};
    if (is_of_cpu(word)) return false;
    bool good = kernels_add(&list, "gpu", word);
    if (good && (list.count != 1 || list.kernels[0].number < 1)) {
        say_error("'%s' is not one kernel of a GPU; 'tessera list --device cuda' shows them", word);
        good = false;
    }
    if (good) *kernel = list.kernels[0];
    kernels_free(&list);
    return good;
}

/* The next of the types that a kernel takes, from `*at` on; false after the last. */
static bool next_types(const char **at, problem_types *types) {
    char word[16];
    size_t length = strcspn(*at, " ");
    if (length == 0) return false;
    snprintf(word, sizeof word, "%.*s", (int)length, *at);
    *at += length + strspn(*at + length, " ");
    return problem_parse_types(word, types);
}

static bool takes(const tess_kernel_info *kernel, problem_types asked) {
    problem_types types;
    for (const char *at = kernel->types; next_types(&at, &types);)
        if (types.in == asked.in && types.out == asked.out) return true;
    return false;
}

/* The type asked for, if the kernel takes it; where none was, the first that it takes if that is not f32. */
static bool settle_type(const args *a, const tess_kernel_info *kernel, explain_case *c) {
    char type[16];
    const char *first = kernel->types;
    if (takes(kernel, c->types)) return true;
    if (!args_given(a, "type")) return next_types(&first, &c->types);
    problem_show_types(c->types, type);
    say_error("%s takes %s, not %s", kernel->name, kernel->types, type);
    return false;
}

/* The rung to compare with: what --against says, else what the header says; NULL if there is none, or it does not
 * take the type. Parameters are the kernel's own. */
static bool open_before(const args *a, const explain_rung *rung, explain_case *asked, explain_rung **before) {
    tess_kernel_info kernel;
    const char *against = args_text(a, "against", NULL);
    *before = NULL;
    if (rung->uncounted[0] != '\0') return true;
    *asked = *rung->asked;
    asked->params = NULL;
    if (against != NULL ? !find_one(against, &kernel) : !explain_before(rung, &kernel))
        return against == NULL;
    if (against == NULL && !takes(&kernel, asked->types)) return true;
    *before = explain_rung_open(asked, &kernel);
    if (*before == NULL || (*before)->uncounted[0] == '\0') return *before != NULL;
    say_error("%s", (*before)->uncounted);
    return false;
}

static int explain_one(const args *a, const output *out, explain_case *asked) {
    tess_kernel_info kernel;
    explain_case asked_before;
    explain_rung *rung = NULL, *before = NULL;
    table t;
    table_open(&t, explain_columns, explain_column_count);
    int status = EXIT_CHECK;
    if (!find_one(a->words[0], &kernel) || !settle_type(a, &kernel, asked)) goto out;
    rung = explain_rung_open(asked, &kernel);
    if (rung == NULL || !open_before(a, rung, &asked_before, &before)) goto out;
    bool good = explain_rows_add(&t, rung, before);
    if (!good) say_error("%s does not do what its header expects", kernel.name);
    if (out->people) explain_rows_print(&t, stdout);
    output files = *out;
    files.people = false;
    tess_device_info device = {0};
    tess_device_facts(asked->ctx, &device);
    if (output_write(&files, &t, "explanation", &device, NULL) && good) status = EXIT_FINE;
out:
    explain_rung_close(rung);
    explain_rung_close(before);
    table_close(&t);
    return status;
}

/* The ladder, or a file of rates: a table either way. */
static int explain_many(const args *a, const output *out, const explain_case *asked) {
    const char *file = args_text(a, "measured", NULL);
    double median = 0, worst = 0;
    table t;
    tess_device_info device = {0};
    tess_device_facts(asked->ctx, &device);
    table_open(&t, file != NULL ? explain_measured_columns : explain_ladder_columns,
               file != NULL ? explain_measured_column_count : explain_ladder_column_count);
    bool good =
        file != NULL ? explain_measured_add(&t, asked, file, &median, &worst) : explain_ladder_add(&t, asked);
    good = good && output_write(out, &t, file != NULL ? "predictions" : "ladder", &device, NULL);
    table_close(&t);
    if (!good) return EXIT_CHECK;
    if (out->people && file != NULL)
        printf("\nError of the model on the %s: median %.1f%%, worst %.1f%%\n", asked->on->name, median,
               worst);
    else if (out->people)
        printf("\nGFLOPS are the model's for the %s at %lldx%lldx%lld; 'tessera explain 9' explains one "
               "rung.\n",
               asked->on->name, (long long)asked->shape.m, (long long)asked->shape.n,
               (long long)asked->shape.k);
    return EXIT_FINE;
}

/* Options that would be passed over in silence. */
static bool check_words(const args *a) {
    static const char *const of_one[] = {"params", "against"};
    bool one = a->word_count > 0, file = args_given(a, "measured");
    for (size_t i = 0; !one && i < sizeof of_one / sizeof *of_one; i++) {
        if (!args_given(a, of_one[i])) continue;
        say_error("--%s is for one kernel; name it: tessera explain KERNEL --%s ...", of_one[i], of_one[i]);
        return false;
    }
    if (file && (one || args_given(a, "size") || args_given(a, "shape") || args_given(a, "type"))) {
        say_error("--measured predicts every row of its file; kernels, sizes and types are in there");
        return false;
    }
    return true;
}

int explain_run(const args *a) {
    output out;
    explain_case asked = {0};
    say_quiet(args_given(a, "quiet"));
    if (!check_words(a) || !output_open(&out, a) ||
        !output_spares("csv", out.csv, args_text(a, "measured", NULL)) ||
        !output_spares("json", out.json, args_text(a, "measured", NULL)) || !read_case(a, &asked))
        return EXIT_USAGE;
    int status = a->word_count > 0 ? explain_one(a, &out, &asked) : explain_many(a, &out, &asked);
    tess_close(asked.ctx);
    return status;
}
