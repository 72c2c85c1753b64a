/* unit_nvrtc.c: every kernel of a GPU compiles, for every type and architecture of its row and as the planner takes it, spills
 * no more than the row says, and has no products of wgmma that wait for one another; and what the run-time compiler promises. No
 * GPU is needed, but NVRTC is: without it these tests are skipped, unless TESSERA_REQUIRE_NVRTC is set. White-box: they call
 * src/cuda/jit.h. */
#include "harness.h"
#include "scratch.h"
#include "../src/cuda/jit.h"
#include "../src/cuda/library.h"
#include "../src/launch.h"
#include "../src/memory.h"
#include "../src/route.h"
#include "unit_h200.h"
#include "unit_planned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int nvrtc_is_here(void) {
    if (library_open(LIBRARY_NVRTC)) return 1;
    const char *required = getenv("TESSERA_REQUIRE_NVRTC");
    if (CHECK(!required || !required[0], "TESSERA_REQUIRE_NVRTC is set, but: %s",
              library_problem(LIBRARY_NVRTC)))
        harness_skip("%s", library_problem(LIBRARY_NVRTC));
    return 0;
}

/* ---- Every kernel ---- */

static const struct {
    tess_type in, out;
} products[] = {
    {TESS_F32, TESS_F32}, {TESS_F64, TESS_F64}, {TESS_I32, TESS_I32},   {TESS_F16, TESS_F16},
    {TESS_F16, TESS_F32}, {TESS_I8, TESS_I32},  {TESS_BF16, TESS_BF16}, {TESS_BF16, TESS_F32},
};
enum { PRODUCTS = sizeof products / sizeof products[0] };

static const int architectures[] = {90, 75, 80, 86, 89, 100, 120};

/* What the documents sweep, beside the defaults, for the first architecture (the long tier: for all). A
 * row without the parameter has no such variant. */
static const struct {
    const char *params, *kernel; /* how its name begins; NULL: any */
} variants[] = {
    {"", NULL},
    {"VEC=1", NULL},
    {"TILE=16", NULL},
    {"TILE=32", NULL},
    {"TM=4", "simt_07_tile1d"},
    {"PAD=5", "simt_10_vectorized"},
    {"COARSE=2", NULL},
    {"AT=1,BT=1", NULL},
    {"VEC=4,CVEC=1,BK=32,ROWS=2,BLOCKS=2", "simt_14"},
    {"VEC=4,BK=32,BLOCKS=2", "simt_14"},
    {"VEC=4,BM=256,BK=32", "simt_14"},
    {"VEC=4,CVEC=1,BM=64,SPLIT=4", "simt_15"},
    {"VEC=4,BM=128,BN=64,SPLIT=4,BK=16,STAGES=3", "simt_15"},
    {"VEC=4,BM=48,BN=96,TM=12,TN=4,SPLIT=4,BK=16,ROWS=3,STAGES=3", "simt_15"},
    {"VEC=4,BM=64,BN=64,BK=32,TM=8,PRODUCTS=1,KUNROLL=1", "simt_16"},
    {"VEC=4,BM=8,BN=8,BK=8,TM=2,PRODUCTS=16", "simt_16"},
    {"KSTEPS=4,STAGES=3", "mma_07"},
    {"BM=96,WM=48,WN=32", "mma_08"},
    {"BM=64,BN=64,WM=32,WN=32,SPLIT=2", "mma_08"},
    {"AT=1", "wgmma_"},
    {"BT=1", "wgmma_"},
    {"STORE=0", "wgmma_"},
    {"BM=192,BN=192,CM=2,TURN=0,BOXES=1,PACE=8", "wgmma_07"},
    {"BM=64,BN=128,STAGES=8,TURN=0", "wgmma_07"},
    {"BM=64,BN=192,STAGES=6,TURN=0", "wgmma_07"},
    {"BM=192,BN=192,TURN=0,BOXES=1,STORE=0", "wgmma_08"},
    {"BM=128,CN=2,STAGES=6,TURN=0,PACE=4", "wgmma_08"},
    {"BM=64,BN=64,STAGES=8,TURN=0", "wgmma_08"},
    {"BM=64,BN=64,STAGES=8,TURN=0,STORE=0", "wgmma_07"},
    {"BM=208,BN=192,CN=2,TURN=1", "wgmma_11"},
    {"BM=216,BN=128,CN=2", "wgmma_11"},
    {"BM=160,BN=256,CM=2,TURN=1", "wgmma_11"},
    {"BM=160,BN=256,TURN=1,STORE=0", "wgmma_11"},
    {"BM=128,CK=2", "wgmma_09"},
    {"BM=128,BN=192,CK=2,STAGES=4", "wgmma_09"},
    {"BN=128,STAGES=6,STORE=0,SHORT=1", "split_01"},
    {"BN=200", "split_01"},
    {"SHARE=1", "split_01"},
    {"BN=128,STAGES=6,CM=1,SHARE=1,STORE=0", "split_01"},
    {"BN=64,STAGES=8,CM=1,PACE=0", "split_02"},
};
enum { VARIANTS = sizeof variants / sizeof variants[0], MOST_WORKERS = 8 };

/* The work of one process: every `of`th compilation, what fails reported as lines. */
typedef struct share {
    int index, of, report;
    int seen; /* compilations so far, its own and others' */
} share;

static void report(const share *s, const char *what, int architecture, const char *params, const char *type,
                   const char *said) {
    char line[4096];
    int length = snprintf(line, sizeof line, "%s %s sm_%d %s: %s", what, type, architecture, params, said);
    for (char *at = line; *at; at++)
        if (*at == '\n') *at = ' ';
    if (length > 1500) length = 1500;
    line[length] = '\n';
    if (write(s->report, line, (size_t)length + 1) < 0) _exit(2);
}

static void compile_one(share *s, const jit_request *r) {
    char params[256] = "", file[64], facts[256];
    sentence why;
    jit_code code;
    if (s->seen++ % s->of != s->index) return;
    snprintf(file, sizeof file, "%s", r->file);
    if (r->row) registry_print_params(r->row, r->params, params, sizeof params);
    if (jit_compile(r, &code, &why) != TESS_OK) {
        report(s, file, r->architecture, params, r->type, why.text);
        return;
    }
    snprintf(facts, sizeof facts, "%d registers, %d bytes of shared memory, %d bytes spilled%s",
             code.registers, code.shared_bytes, code.spill_bytes, code.serialized ? ", serialized" : "");
    if (code.spill_bytes > (r->row ? r->row->spills : 0) || code.serialized || code.registers == 0 ||
        code.is_ptx || code.from_cache)
        report(s, file, r->architecture, params, r->type, facts);
    jit_free(&code);
}

static int has_param(const kernel_row *row, const char *assignment) {
    size_t length = strcspn(assignment, "=");
    const char *name;
    for (int i = 0; (name = registry_param_name(row, i)) != NULL; i++)
        if (strlen(name) == length && strncmp(name, assignment, length) == 0) return 1;
    return 0;
}

/* Whether A and B may lie as AT and BT say. */
static int takes_order(const kernel_row *row, tess_type in, const int64_t *params) {
    int at = registry_find_param(row, "AT");
    return at < 0 || !row->k_major || tess_type_size(in) == 2 || params[at] == 0;
}

/* Variants that a row refuses for this type, or that are its defaults, are passed over. */
static int take_variant(const kernel_row *row, tess_type in, int variant, int64_t params[REGISTRY_PARAMS]) {
    const char *text = variants[variant].params, *kernel = variants[variant].kernel;
    int64_t defaults[REGISTRY_PARAMS];
    launch_shape shape;
    sentence why;
    registry_defaults(row, in, defaults);
    memcpy(params, defaults, sizeof defaults);
    if (text[0] == '\0') return 1;
    return (!kernel || strncmp(kernel, row->info.name, strlen(kernel)) == 0) && has_param(row, text) &&
           registry_parse_params(row, text, params, &why) == TESS_OK &&
           memcmp(params, defaults, sizeof defaults) != 0 && takes_order(row, in, params) &&
           launch_shape_of(row, in, params, &shape, &why) == TESS_OK;
}

/* Whether it is the first or the last rung with numbers of that hundred; of tensor cores those count that take the type. */
static int ends_ladder(const kernel_row *row, tess_type in, tess_type out) {
    const kernel_row *other;
    int before = 0, after = 0;
    for (int i = 0; (other = registry_row(i)) != NULL; i++) {
        if (!other->block || other->info.number / 100 != row->info.number / 100) continue;
        if (row->tensor && !registry_takes(other, in, out)) continue;
        before += other->info.number < row->info.number;
        after += other->info.number > row->info.number;
    }
    return before == 0 || after == 0;
}

/* A variant of one rung, or of all of a family. */
static int is_of_one_rung(int variant) {
    const char *kernel = variants[variant].kernel;
    return kernel && kernel[strlen(kernel) - 1] != '_';
}

/* Kernels differ little, and architectures of one generation too; compiling takes longer than all other tests. The first
 * and the last rung of a ladder are compiled for every architecture; those for tensor cores in types that differ, and as
 * bf16, f64 or the one type they take in every order, but not for sm_86 and sm_89, whose instructions are those of sm_80;
 * the one that takes vectors alone, elsewhere than on the first architecture, as f32. The rungs between are for the first
 * architecture, with the variants that are theirs alone, and so is i32, which differs from f32 by one instruction, with its
 * own parameters; those that split f32 are for sm_80 too. The long tier spares nothing. */
static int is_spared(const kernel_row *row, tess_type in, tess_type out, int architecture, int variant) {
    if (harness_tier() == TIER_LONG) return 0;
    int whole = ends_ladder(row, in, out), first = architecture == architectures[0];
    if (!row->tensor && in == TESS_I32) return !first || variant > 0;
    if (row->splits) return !first && architecture != 80;
    if (!row->tensor) return !first && (!whole || (row->vector_only && in != TESS_F32));
    tess_type usual = in == TESS_F64                                         ? in
                      : architecture < registry_architecture(row, TESS_BF16) ? TESS_F16
                                                                             : TESS_BF16;
    if (!registry_takes(row, usual, usual)) usual = in;
    int is_usual = in == usual && out == usual;
    if (!first) return !is_usual || !whole || architecture == 86 || architecture == 89;
    if (variant > 0) return !(whole || is_of_one_rung(variant)) || !is_usual;
    return !is_usual && (!whole || in == TESS_F16);
}

static void compile_row(share *s, const kernel_row *row, int architecture) {
    char file[64];
    int64_t params[REGISTRY_PARAMS];
    snprintf(file, sizeof file, "%s.cu", row->info.name);
    for (int p = 0; p < PRODUCTS; p++) {
        if (!registry_takes(row, products[p].in, products[p].out)) continue;
        sentence ignored;
        if (registry_check_architecture(row, products[p].in, architecture, "it", &ignored) != TESS_OK)
            continue;
        int swept = architecture == architectures[0] || harness_tier() == TIER_LONG;
        for (int v = 0; v < (swept ? VARIANTS : 1); v++) {
            if (is_spared(row, products[p].in, products[p].out, architecture, v)) continue;
            if (!take_variant(row, products[p].in, v, params)) continue;
            jit_request r = {.file = file,
                             .type = jit_type_macro(products[p].in, products[p].out),
                             .row = row,
                             .params = params,
                             .architecture = architecture};
            compile_one(s, &r);
        }
    }
}

/* What makes C of sums, from each type of those to each of C. */
static void compile_add(share *s, int architecture) {
    static const char *const types[] = {"F32", "F64", "I32", "F32_F16", "F32_BF16"};
    size_t count =
        architecture == architectures[0] || harness_tier() == TIER_LONG ? sizeof types / sizeof *types : 1;
    for (size_t i = 0; i < count; i++)
        compile_one(s, &(jit_request){.file = "add.cu", .type = types[i], .architecture = architecture});
}

/* The files that are no rungs: what goes on beside a product, and measurements. Moves of other architectures differ by
 * the size of elements alone: two are enough. */
static void compile_helpers(share *s, int architecture) {
    for (const kernel_file *f = kernel_files; f->name; f++) {
        int moves = strcmp(f->name, "move.cu") == 0 || strcmp(f->name, "lines.cu") == 0,
            measures = strcmp(f->name, "measure.cu") == 0,
            splits = strcmp(f->name, "split_prepare.cu") == 0 && architecture >= 80 &&
                     (architecture == 80 || architecture == 90 || harness_tier() == TIER_LONG);
        for (int p = 0; p < PRODUCTS; p++) {
            jit_request r = {.file = f->name,
                             .type = jit_type_macro(products[p].in, products[p].out),
                             .architecture = architecture};
            int spared = architecture != architectures[0] && harness_tier() != TIER_LONG && p > 0 &&
                         products[p].in != TESS_I8;
            if ((moves && !spared) || (measures && p < 2) || (splits && p == 0)) compile_one(s, &r);
        }
    }
}

static void compile_share(share *s) {
    size_t count = harness_tier() == TIER_SHORT ? 1 : sizeof architectures / sizeof architectures[0];
    const kernel_row *row;
    for (size_t a = 0; a < count; a++) {
        for (int i = 0; (row = registry_row(i)) != NULL; i++)
            if (row->block && architectures[a] >= row->architecture) compile_row(s, row, architectures[a]);
        compile_helpers(s, architectures[a]);
        compile_add(s, architectures[a]);
    }
}

/* ---- What the planner takes ---- */

/* Kernels that were planned, each once. */
typedef struct planned {
    int count;
    struct {
        const kernel_row *row;
        const char *type;
        int64_t params[REGISTRY_PARAMS];
    } kernels[512];
} planned;
enum { MOST_PLANNED = sizeof((planned *)0)->kernels / sizeof *((planned *)0)->kernels };

static int is_new(planned *so_far, const kernel_row *row, const char *type, const int64_t *params) {
    size_t size = sizeof so_far->kernels[0].params;
    for (int i = 0; i < so_far->count; i++)
        if (so_far->kernels[i].row == row && strcmp(so_far->kernels[i].type, type) == 0 &&
            memcmp(so_far->kernels[i].params, params, size) == 0)
            return 0;
    so_far->kernels[so_far->count].row = row;
    so_far->kernels[so_far->count].type = type;
    memcpy(so_far->kernels[so_far->count++].params, params, size);
    return 1;
}

/* What a card's planner takes of products drawn at random, the same in every worker; `most` kernels, and of those that TMA brings
 * tiles to alone where not `all` are meant: they have the most tiles. */
static void compile_planned_for(share *s, const planned_card *card, int most, int all) {
    const cuda_facts facts = planned_facts(card);
    const cuda_device self = planned_device(&facts);
    planned so_far = {.count = 0};
    for (int i = 0; i < 100 * most && so_far.count < most; i++) {
        char text[256], file[64];
        plan made;
        sentence why = {""};
        if (planned_draw(&self.base, test_random(), &made, text, &why) != TESS_OK) {
            report(s, text, card->architecture, "", "no plan", why.text);
            continue;
        }
        const char *type = jit_type_macro(route_input(&made.what, made.kernel), made.what.out);
        if ((!all && !made.kernel->box) || !is_new(&so_far, made.kernel, type, made.params)) continue;
        snprintf(file, sizeof file, "%s.cu", made.kernel->info.name);
        compile_one(s, &(jit_request){.file = file,
                                      .type = type,
                                      .row = made.kernel,
                                      .params = made.params,
                                      .architecture = card->architecture});
    }
}

/* For an H200; the long tier takes hundreds of kernels of it, and of every other card. */
static void compile_planned(share *s) {
    int all = harness_tier() == TIER_LONG;
    h200_begin();
    for (int i = 0; i < (all ? PLANNED_CARDS : 1); i++)
        compile_planned_for(s, &planned_cards[i], all ? MOST_PLANNED : 20, all);
    h200_end();
}

/* ---- Processes ---- */

/* One that compiles its share, without a cache, and exits 0 if it came to the end of it. */
static pid_t start_worker(void (*compile)(share *), int index, int of, int to) {
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) return child;
    share s = {.index = index, .of = of, .report = to};
    setenv("TESSERA_CACHE_DIR", "/dev/null", 1);
    compile(&s);
    _exit(s.seen > 0 ? 0 : 3);
}

/* Prints every line, and returns how many there were. */
static int show_reports(int from) {
    FILE *lines = fdopen(from, "r");
    char line[2048];
    int count = 0;
    for (; lines && fgets(line, sizeof line, lines); count++) printf("not so: %s", line);
    if (lines) fclose(lines);
    return count;
}

static void compile_shared_out(void (*compile)(share *)) {
    int ends[2], workers = (int)sysconf(_SC_NPROCESSORS_ONLN);
    pid_t children[MOST_WORKERS];
    if (!nvrtc_is_here() || !CHECK(pipe(ends) == 0, "no pipe")) return;
    if (workers < 2) workers = 2;
    if (workers > MOST_WORKERS) workers = MOST_WORKERS;
    for (int i = 0; i < workers; i++) children[i] = start_worker(compile, i, workers, ends[1]);
    close(ends[1]);
    int failed = show_reports(ends[0]);
    CHECK(failed == 0,
          "%d compilations failed, spilled too much, were serialized or told nothing of their registers",
          failed);
    for (int i = 0; i < workers; i++) {
        int status = -1;
        waitpid(children[i], &status, 0);
        CHECK(status == 0, "worker %d of %d did not finish: status %d", i, workers, status);
    }
}

TEST(nvrtc_compiles_every_kernel) {
    compile_shared_out(compile_share);
}

TEST(nvrtc_compiles_what_is_chosen) {
    compile_shared_out(compile_planned);
}

/* ---- What the run-time compiler promises ---- */

/* Compiles simt_05_shared for f32 with defaults. */
static tess_status compile_shared(int architecture, jit_code *code, sentence *why) {
    const kernel_row *row = registry_find("gpu", "simt_05_shared", why);
    int64_t params[REGISTRY_PARAMS];
    registry_defaults(row, TESS_F32, params);
    jit_request r = {.file = "simt_05_shared.cu",
                     .type = "F32",
                     .row = row,
                     .params = params,
                     .architecture = architecture};
    return jit_compile(&r, code, why);
}

TEST(nvrtc_second_compilation_comes_from_the_cache) {
    scratch cache;
    sentence why = {""};
    jit_code first, second;
    if (!nvrtc_is_here()) return;
    scratch_enter(&cache, "TESSERA_CACHE_DIR");
    if (CHECK(compile_shared(90, &first, &why) == TESS_OK, "%s", why.text) &&
        CHECK(compile_shared(90, &second, &why) == TESS_OK, "%s", why.text)) {
        CHECK(!first.from_cache && first.compile_ms > 0, "the first came from an empty cache");
        CHECK(second.from_cache && second.compile_ms == 0, "the second was compiled, in %g ms",
              second.compile_ms);
        CHECK(first.size == second.size && memcmp(first.image, second.image, first.size) == 0,
              "the cache gave %zu other bytes for %zu", second.size, first.size);
        CHECK(first.registers == second.registers && first.shared_bytes == second.shared_bytes &&
                  first.spill_bytes == second.spill_bytes && first.is_ptx == second.is_ptx,
              "%d registers became %d, %d bytes of shared memory %d", first.registers, second.registers,
              first.shared_bytes, second.shared_bytes);
        CHECK(first.registers > 0 && first.shared_bytes == 8192, "%d registers, %d bytes of shared memory",
              first.registers, first.shared_bytes);
        jit_free(&first);
        jit_free(&second);
    }
    scratch_leave(&cache);
}

TEST(nvrtc_gives_ptx_for_a_card_it_does_not_know) {
    scratch cache;
    sentence why = {""};
    jit_code code;
    if (!nvrtc_is_here()) return;
    scratch_enter(&cache, "TESSERA_CACHE_DIR");
    if (CHECK(compile_shared(999, &code, &why) == TESS_OK, "%s", why.text)) {
        const char *text = code.image;
        CHECK(code.is_ptx && strstr(text, ".entry simt_05_shared") != NULL, "no PTX: %.200s", text);
        CHECK(text[code.size - 1] == '\0', "the PTX has no zero byte at its end");
        jit_free(&code);
    }
    CHECK(compile_shared(20, &code, &why) == TESS_ERROR_DEVICE && strstr(why.text, "sm_20"), "%s", why.text);
    scratch_leave(&cache);
}

static void write_text(const scratch *s, const char *name, const char *text) {
    scratch_write(s, name, text, strlen(text));
}

/* Compiles a file without parameters from TESSERA_KERNEL_DIR. */
static tess_status compile_edited(jit_code *code, sentence *why) {
    jit_request r = {.file = "edited.cu", .type = "F32", .architecture = 90};
    return jit_compile(&r, code, why);
}

TEST(nvrtc_compiles_edited_kernels) {
    scratch cache, kernels;
    sentence why = {""};
    jit_code code;
    if (!nvrtc_is_here()) return;
    scratch_enter(&cache, "TESSERA_CACHE_DIR");
    scratch_enter(&kernels, "TESSERA_KERNEL_DIR");
    CHECK(compile_edited(&code, &why) == TESS_ERROR_KERNEL && strstr(why.text, "port.h could not be read"),
          "%s", why.text);
    write_text(&kernels, "port.h", "typedef float in_t;\n");
    CHECK(compile_edited(&code, &why) == TESS_ERROR_KERNEL && strstr(why.text, "edited.cu could not be read"),
          "%s", why.text);
    for (int edit = 0; edit < 2; edit++) {
        write_text(&kernels, "edited.cu",
                   edit ? "extern \"C\" __global__ void second(in_t *c) { *c = 2; }\n"
                        : "extern \"C\" __global__ void first(in_t *c) { *c = 1; }\n");
        if (!CHECK(compile_edited(&code, &why) == TESS_OK, "%s", why.text)) break;
        CHECK(!code.from_cache, "what was edited came from the cache");
        CHECK(memmem(code.image, code.size, edit ? "second" : "first", 5) != NULL,
              "the code is not the edited one's");
        jit_free(&code);
    }
    write_text(&kernels, "edited.cu",
               "int here;\nextern \"C\" __global__ void wrong(in_t *c) { *c = nowhere; }\n");
    CHECK(compile_edited(&code, &why) == TESS_ERROR_KERNEL && strstr(why.text, "edited.cu(2)") &&
              strstr(why.text, "nowhere") && strstr(why.text, "sm_90a"),
          "%s", why.text);
    scratch_leave(&kernels);
    scratch_leave(&cache);
}

/* Each allocation fails in turn: the compilation fails with a sentence, or does without the cache; nothing
 * leaks. */
TEST(nvrtc_survives_failing_allocations) {
    scratch cache;
    sentence why;
    jit_code code;
    if (!nvrtc_is_here()) return;
    scratch_enter(&cache, "TESSERA_CACHE_DIR");
    int64_t live = memory_live();
    int refused = 0, done = 0;
    for (int n = 0; n < 20 && done < 3; n++) {
        strcpy(why.text, "");
        memory_fail_after(n);
        tess_status status = compile_shared(90, &code, &why);
        memory_fail_after(-1);
        CHECK(status == TESS_OK || (status == TESS_ERROR_MEMORY && strstr(why.text, "memory")), "%s: %s",
              tess_status_name(status), why.text);
        refused += status != TESS_OK;
        done += status == TESS_OK;
        if (status == TESS_OK) jit_free(&code);
        CHECK(memory_live() == live, "%lld blocks leak when allocation %d fails",
              (long long)(memory_live() - live), n);
    }
    CHECK(refused >= 3 && done == 3, "%d compilations were refused, %d done", refused, done);
    scratch_leave(&cache);
}
