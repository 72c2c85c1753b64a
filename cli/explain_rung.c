/* explain_rung.c: counts what a rung does on the simulator, and asks the compiler what it needs of a multiprocessor.
 *
 * Invariant: nothing is run on a GPU, and nothing about a kernel is known here: all of it comes from the library. */
#include "explain.h"
#include "kernels.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool explain_find_kernel(const char *name, tess_kernel_info *kernel) {
    for (int i = 0; i < tess_count_kernels(); i++)
        if (tess_describe_kernel(i, kernel) == TESS_OK && strcmp(kernel->device, "gpu") == 0 &&
            strcmp(kernel->name, name) == 0)
            return true;
    return false;
}

bool explain_before(const explain_rung *rung, tess_kernel_info *before) {
    char name[EXPLAIN_TEXT];
    const char *at = rung->text;
    return explain_story_field(&at, "before", name) && explain_find_kernel(name, before);
}

static char *read_text(const char *kernel) {
    size_t size = 0;
    if (tess_kernel_text(kernel, NULL, &size) != TESS_OK) return NULL;
    char *text = malloc(size);
    if (text != NULL && tess_kernel_text(kernel, text, &size) != TESS_OK) {
        free(text);
        text = NULL;
    }
    return text;
}

static tess_status make_plan(const explain_case *c, const char *kernel, tess_plan **plan) {
    const sizes_shape *s = &c->shape;
    tess_matrix A = tess_view_row_major(c->types.in, s->m, s->k, NULL, 0);
    tess_matrix B = tess_view_row_major(c->types.in, s->k, s->n, NULL, 0);
    tess_matrix C = tess_view_row_major(c->types.out, s->m, s->n, NULL, 0);
    tess_options options = {.kernel = kernel, .params = c->params, .compute = c->compute};
    return tess_plan_gemm(c->ctx, &A, &B, &C, NULL, &options, plan);
}

static tess_status count(explain_rung *r) {
    tess_plan *plan;
    tess_status status = make_plan(r->asked, r->info.name, &plan);
    if (status != TESS_OK) return status;
    snprintf(r->params, sizeof r->params, "%s", tess_plan_params(plan));
    r->line_count = EXPLAIN_LINES;
    status = tess_plan_facts(plan, &r->facts);
    if (status == TESS_OK) status = tess_count(plan, TESS_COUNT_SOURCE, &r->source, NULL, NULL);
    if (status == TESS_OK)
        status = tess_count(plan, TESS_COUNT_COMPILED, &r->compiled, r->lines, &r->line_count);
    if (r->line_count > EXPLAIN_LINES) r->line_count = EXPLAIN_LINES;
    tess_free_plan(plan);
    return status;
}

/* Without a compiler for the card: another architecture's registers, or a guess from the work of a thread. */
static void estimate_registers(explain_rung *r, const char *reason) {
    static const int others[] = {80, 90,
                                 75}; /* first those with as many warps as the cards NVRTC has dropped */
    tess_kernel_facts facts;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (tess_compile_facts(r->info.name, r->params, r->asked->types.in, others[i], &facts) != TESS_OK)
            continue;
        r->facts.registers = facts.registers;
        snprintf(r->registers_from, sizeof r->registers_from, "estimate: NVRTC's for sm_%d", others[i]);
        return;
    }
    const sizes_shape *s = &r->asked->shape;
    double threads = r->compiled.blocks * r->facts.block_threads,
           results = (double)s->m * (double)s->n / threads;
    double words = (double)tess_type_size(r->asked->types.in) / 4;
    int guess = 32 + (int)(1.25 * results * (words < 1 ? 1 : words));
    r->facts.registers = guess > 255 ? 255 : guess;
    snprintf(r->registers_from, sizeof r->registers_from, "guessed from the results of a thread");
    snprintf(r->no_compiler, sizeof r->no_compiler, "%s", reason);
}

static void compile(explain_rung *r) {
    tess_kernel_facts facts;
    int architecture = r->asked->on->architecture;
    if (tess_compile_facts(r->info.name, r->params, r->asked->types.in, architecture, &facts) == TESS_OK) {
        r->facts.registers = facts.registers;
        r->facts.spill_bytes = facts.spill_bytes;
        r->facts.shared_bytes = facts.shared_bytes;
        snprintf(r->registers_from, sizeof r->registers_from, "NVRTC for sm_%d", architecture);
    } else {
        char reason[256];
        snprintf(reason, sizeof reason, "%.*s", (int)strcspn(tess_error(NULL), "\n"), tess_error(NULL));
        estimate_registers(r, reason);
    }
}

/* What is known of a kernel that is not counted: what the compiler says of it. False, after a sentence, if it cannot be
 * compiled with these parameters. */
static bool compile_uncounted(explain_rung *r) {
    const explain_case *c = r->asked;
    int architecture = c->on->architecture;
    snprintf(r->params, sizeof r->params, "%s", c->params != NULL ? c->params : "");
    tess_status status = tess_compile_facts(r->info.name, r->params, c->types.in, architecture, &r->facts);
    if (status == TESS_OK)
        snprintf(r->registers_from, sizeof r->registers_from, "NVRTC for sm_%d", architecture);
    else if (status == TESS_ERROR_DEVICE)
        snprintf(r->no_compiler, sizeof r->no_compiler, "%.*s", (int)strcspn(tess_error(NULL), "\n"),
                 tess_error(NULL));
    else
        say_error("%s", tess_error(NULL));
    occupancy_of(architecture, r->facts.block_threads, r->facts.registers, r->facts.shared_bytes, &r->fit);
    return status == TESS_OK || status == TESS_ERROR_DEVICE;
}

static void predict(explain_rung *r) {
    const explain_case *c = r->asked;
    occupancy_of(c->on->architecture, r->facts.block_threads, r->facts.registers, r->facts.shared_bytes,
                 &r->fit);
    model_input in = {.on = c->on,
                      .type = c->types.in,
                      .counts = &r->compiled,
                      .block_threads = r->facts.block_threads,
                      .fit = r->fit,
                      .m = (double)c->shape.m,
                      .n = (double)c->shape.n,
                      .k = (double)c->shape.k};
    r->predicted = model_predict(&in, &r->model);
}

/* Counters, registers and a rate; without the first and the last for a kernel that the simulator cannot count. */
static bool examine(explain_rung *r) {
    if (count(r) == TESS_OK) {
        compile(r);
        predict(r);
        return true;
    }
    if (kernels_is_counted(&r->info)) {
        say_error("%s", tess_error(r->asked->ctx));
        return false;
    }
    snprintf(r->uncounted, sizeof r->uncounted, "%s", tess_error(r->asked->ctx));
    return compile_uncounted(r);
}

explain_rung *explain_rung_open(const explain_case *asked, const tess_kernel_info *kernel) {
    explain_rung *r = calloc(1, sizeof *r);
    if (r == NULL) {
        say_error("out of memory");
        return NULL;
    }
    r->info = *kernel;
    r->asked = asked;
    r->text = read_text(kernel->name);
    if (r->text == NULL)
        say_error("%s", tess_error(NULL));
    else if (examine(r))
        return r;
    explain_rung_close(r);
    return NULL;
}

void explain_rung_close(explain_rung *r) {
    if (r == NULL) return;
    free(r->text);
    free(r);
}
