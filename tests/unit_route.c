/* unit_route.c: how matrices reach a kernel for tensor cores: every layout and type is turned, copied or taken
 * as it is, lines of whatever is copied at once are aligned, and the plan says what is done. No device is
 * needed. */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "../src/numeric.h"
#include "unit_route.h"

#define ORDER_PARAMS                                                \
    "#ifndef AT\n#define AT 0 /* 1: A lies in columns */\n#endif\n" \
    "#ifndef BT\n#define BT 0 /* 1: B lies in columns */\n#endif\n"

const kernel_row *layout_tensor_row(int k_major) {
    static kernel_source source;
    static kernel_row rows[2];
    static const char text[] = "/* test_01_tensor: for tensor cores */\n" ORDER_PARAMS
                               "#ifndef VEC\n#define VEC 8 /* elements of one copy */\n#endif\n";
    sentence why = {""};
    CHECK(kernel_source_parse("test_01_tensor.cu", text, &source, &why) == TESS_OK, "%s", why.text);
    rows[k_major] = (kernel_row){.info = {"test_01_tensor", "gpu", 900, "",
                                          "f16 f16:f32 bf16 bf16:f32 i8:i32 f32", source.params, "sm_75"},
                                 .architecture = 75,
                                 .block = "32, 1",
                                 .tile = "16, 16",
                                 .tensor = 1,
                                 .k_major = k_major,
                                 .source = &source};
    return &rows[k_major];
}

const kernel_row *layout_tma_row(void) {
    static kernel_source source;
    static kernel_row row;
    static const char text[] = "/* test_02_tma: by TMA */\n" ORDER_PARAMS
                               "#ifndef STORE\n#define STORE 1 /* TMA writes C */\n#endif\n"
                               "#ifndef CM\n#define CM 1 /* blocks of a cluster */\n#endif\n";
    sentence why = {""};
    CHECK(kernel_source_parse("test_02_tma.cu", text, &source, &why) == TESS_OK, "%s", why.text);
    row = *layout_tensor_row(1);
    row.info.name = "test_02_tma", row.info.params = source.params;
    row.architecture = 90, row.source = &source;
    row.box = "128, 32 + 32*BT, 16", row.cluster = "CM, 1, 1";
    return &row;
}

/* The strides of a rows×cols matrix, and the distance of those of a batch. */
static int64_t lay(enum order order, int64_t rows, int64_t cols, int64_t pad, int64_t *row, int64_t *col) {
    *row = order == ROWS ? cols + pad : order == COLUMNS ? 1 : 2 * (cols + pad);
    *col = order == ROWS ? 1 : order == COLUMNS ? rows + pad : 2;
    return order == ROWS ? rows * *row : order == COLUMNS ? cols * *col : rows * *row;
}

static problem problem_of(const layout *l) {
    problem p = {.in = l->in, .out = l->out, .acc = numeric_accumulator(l->in), .compute = l->compute};
    p.m = l->m, p.n = l->n, p.k = l->k;
    p.batch.count = l->count;
    p.batch.stride_a = lay(l->a, l->m, l->k, l->pad, &p.a_row, &p.a_col);
    p.batch.stride_b = lay(l->b, l->k, l->n, l->pad, &p.b_row, &p.b_col);
    p.batch.stride_c = lay(l->c, l->m, l->n, l->pad, &p.c_row, &p.c_col);
    return p;
}

plan layout_plan(const layout *l, const kernel_row *row) {
    plan decided = {.what = problem_of(l), .kernel = row};
    for (int i = 0; i < REGISTRY_PARAMS; i++) decided.params[i] = REGISTRY_UNSET;
    return decided;
}

const char *layout_text(const layout *l) {
    static char text[160];
    static const char *const orders[ORDERS] = {"rows", "columns", "neither"};
    snprintf(text, sizeof text, "%s %lldx%lldx%lld pad %lld batch %lld, A %s, B %s, C %s, compute %d",
             tess_type_name(l->in), (long long)l->m, (long long)l->n, (long long)l->k, (long long)l->pad,
             (long long)l->count, orders[l->a], orders[l->b], orders[l->c], (int)l->compute);
    return text;
}

/* ---- Order ---- */

/* What the kernel gets lies as AT or BT says. */
static void check_order(const layout *l, const route_part *part, int64_t row, int64_t col) {
    CHECK((part->by_columns ? row : col) == 1, "%s: strides %lld and %lld, by columns: %d", layout_text(l),
          (long long)row, (long long)col, part->by_columns);
}

/* The order of the caller's matrix as the kernel, which may compute the transposed product, names it. */
static enum order turned(enum order order) {
    return order == NEITHER ? NEITHER : order == ROWS ? COLUMNS : ROWS;
}

static void check_layout(const layout *l, const kernel_row *row) {
    plan decided = layout_plan(l, row);
    route way;
    sentence why = {""};
    int swapped = l->c == COLUMNS, along_k = row->k_major && tess_type_size(l->in) != 2;
    int rounded = along_k && l->in == TESS_F32 && !row->box; /* to TF32, which takes a copy */
    enum order a = swapped ? turned(l->b) : l->a, b = swapped ? turned(l->a) : l->b,
               of_b = row->b_rows ? ROWS : COLUMNS;
    if (!CHECK(route_of(&decided.what, row, decided.params, NULL, &way, &why) == TESS_OK, "%s: %s",
               layout_text(l), why.text))
        return;
    CHECK(way.swapped == swapped, "%s: swapped is %d", layout_text(l), way.swapped);
    CHECK(way.c.copied == (l->c == NEITHER) && way.run.c_col == 1, "%s: C copied: %d", layout_text(l),
          way.c.copied);
    CHECK(way.a.copied == (rounded || (along_k ? a != ROWS : a == NEITHER)), "%s: A copied: %d",
          layout_text(l), way.a.copied);
    CHECK(way.b.copied == (rounded || (along_k ? b != of_b : b == NEITHER)), "%s: B copied: %d",
          layout_text(l), way.b.copied);
    CHECK(way.a.by_columns == (!along_k && a == COLUMNS), "%s: AT: %d", layout_text(l), way.a.by_columns);
    CHECK(way.b.by_columns == ((along_k ? of_b : b) == COLUMNS), "%s: BT: %d", layout_text(l),
          way.b.by_columns);
    check_order(l, &way.a, way.run.a_row, way.run.a_col);
    check_order(l, &way.b, way.run.b_row, way.run.b_col);
}

TEST(route_every_layout_of_tensor_kernels) {
    static const tess_type types[][2] = {{TESS_F16, TESS_F16},
                                         {TESS_BF16, TESS_F32},
                                         {TESS_I8, TESS_I32},
                                         {TESS_F32, TESS_F32}};
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < ORDERS * ORDERS * ORDERS; i++)
            for (int k_major = 0; k_major < 2; k_major++) {
                layout l = {types[t][0],
                            types[t][1],
                            32,
                            48,
                            64,
                            16, /* aligned: others are copied */
                            1,
                            (enum order)(i % ORDERS),
                            (enum order)(i / ORDERS % ORDERS),
                            (enum order)(i / ORDERS / ORDERS),
                            TESS_COMPUTE_DEFAULT};
                if (l.in == TESS_F32) l.compute = TESS_COMPUTE_TF32;
                check_layout(&l, layout_tensor_row(k_major));
                check_layout(&l, layout_tma_row());
                kernel_row rows_of_b = *layout_tma_row();
                rows_of_b.b_rows = 1;
                check_layout(&l, &rows_of_b);
            }
}

/* Copies lie one after the other in the workspace, and their lines at multiples of 16 bytes. */
TEST(route_copies_do_not_overlap) {
    for (int batch = 1; batch <= 3; batch += 2) {
        layout l = {TESS_I8, TESS_I32, 37, 29, 43, 3, batch, COLUMNS, ROWS, NEITHER, TESS_COMPUTE_DEFAULT};
        problem what = problem_of(&l);
        const kernel_row *row = layout_tensor_row(1);
        plan decided = layout_plan(&l, row);
        route way;
        sentence why = {""};
        if (!CHECK(route_of(&what, row, decided.params, NULL, &way, &why) == TESS_OK, "%s", why.text)) return;
        int64_t a = 37 * 48 * batch, b = 29 * 48 * batch, c = 37 * 32 * 4 * batch;
        CHECK(way.run.a_row == 48 && way.run.b_col == 48 && way.run.c_row == 32,
              "lines are %lld, %lld and %lld apart", (long long)way.run.a_row, (long long)way.run.b_col,
              (long long)way.run.c_row);
        CHECK(way.run.batch.stride_a == 37 * 48 && way.run.batch.stride_b == 29 * 48 &&
                  way.run.batch.stride_c == 37 * 32,
              "matrices of the batch are %lld, %lld and %lld apart", (long long)way.run.batch.stride_a,
              (long long)way.run.batch.stride_b, (long long)way.run.batch.stride_c);
        CHECK(way.a.at % 256 == 0 && way.b.at % 256 == 0 && way.c.at % 256 == 0 && way.b.at >= way.a.at + a &&
                  way.c.at >= way.b.at + b && way.workspace >= way.c.at + c,
              "copies at %lld, %lld and %lld of %lld bytes", (long long)way.a.at, (long long)way.b.at,
              (long long)way.c.at, (long long)way.workspace);
    }
}

/* Lines as long as one of the cache begin where one of those does. */
TEST(route_copies_of_long_lines) {
    for (int64_t k = 60; k <= 70; k++) {
        layout l = {TESS_F16, TESS_F16, 3, 5, k, 1, 1, NEITHER, ROWS, ROWS, TESS_COMPUTE_DEFAULT};
        plan decided = layout_plan(&l, layout_tensor_row(1));
        route way;
        sentence why;
        CHECK(route_of(&decided.what, decided.kernel, decided.params, NULL, &way, &why) == TESS_OK, "%s",
              why.text);
        CHECK(way.run.a_row == (k <= 64 ? 64 : 128), "lines of %lld elements are %lld apart", (long long)k,
              (long long)way.run.a_row);
    }
}

/* ---- Alignment ---- */

int layout_begins_at(uintptr_t base, int64_t lines, int64_t distance, int64_t count, int64_t batch,
                     int64_t size, int64_t bytes) {
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < lines; i++)
            if (((int64_t)base + (p * batch + i * distance) * size) % bytes != 0) return 0;
    return 1;
}

static int allows(const route *way, const operands *data, int64_t vec) {
    const problem *p = &way->run;
    int64_t size = numeric_size(p->in);
    return layout_begins_at((uintptr_t)data->a, way->a.by_columns ? p->k : p->m,
                            way->a.by_columns ? p->a_col : p->a_row, p->batch.count, p->batch.stride_a, size,
                            vec * size) &&
           layout_begins_at((uintptr_t)data->b, way->b.by_columns ? p->n : p->k,
                            way->b.by_columns ? p->b_col : p->b_row, p->batch.count, p->batch.stride_b, size,
                            vec * size);
}

/* The widest copies that every line allows, of 16, 8 or 4 bytes or one element, found the long way. */
TEST(route_widest_copies) {
    static const tess_type types[][2] = {{TESS_F16, TESS_F32}, {TESS_I8, TESS_I32}, {TESS_F32, TESS_F32}};
    test_rng *rng = test_random();
    int seen[17] = {0};
    for (int i = 0; i < 2000; i++) {
        const tess_type *type = types[i % 3];
        layout l = {type[0],
                    type[1],
                    rng_range(rng, 1, 5),
                    rng_range(rng, 2, 5),
                    16 * rng_range(rng, 0, 2) + rng_range(rng, 1, 3),
                    0,
                    rng_range(rng, 1, 2),
                    (enum order)rng_range(rng, 0, 1),
                    (enum order)rng_range(rng, 0, 1),
                    ROWS,
                    type[0] == TESS_F32 ? TESS_COMPUTE_TF32 : TESS_COMPUTE_DEFAULT};
        int64_t to = (int64_t)1 << rng_range(rng, 0, 4), off = (int64_t)1 << rng_range(rng, 0, 5),
                longest = l.k > 5 ? l.k : 5;
        plan decided = layout_plan(&l, layout_tensor_row(0));
        problem *p = &decided.what;
        *(l.a == ROWS ? &p->a_row : &p->a_col) = (longest + to - 1) / to * to;
        *(l.b == ROWS ? &p->b_row : &p->b_col) = (longest + to - 1) / to * to;
        p->batch.stride_a = 1024 + ((int64_t)1 << rng_range(rng, 0, 4));
        p->batch.stride_b = 1024 + ((int64_t)1 << rng_range(rng, 3, 4));
        operands data = {.a = (void *)(uintptr_t)(4096 + off * (int64_t)tess_type_size(l.in)),
                         .b = (void *)(uintptr_t)8192,
                         .alpha = 1};
        route way;
        sentence why;
        CHECK(route_of(p, decided.kernel, decided.params, NULL, &way, &why) == TESS_OK, "%s", why.text);
        int64_t size = (int64_t)tess_type_size(l.in), want = 16 / size;
        while (want > 1 && (want * size < 4 || !allows(&way, &data, want)))
            want = want * size > 4 ? want / 2 : 1;
        int got = route_widest(&way, &data);
        CHECK(got == want, "%s: off by %lld elements, lines of %lld: %d elements, not %lld", layout_text(&l),
              (long long)off, (long long)to, got, (long long)want);
        CHECK(route_widest(&way, NULL) >= got, "%s: addresses widen copies", layout_text(&l));
        seen[want]++;
    }
    CHECK(seen[1] && seen[2] && seen[4] && seen[8] && seen[16],
          "widths 1, 2, 4, 8, 16 were met %d, %d, %d, %d, %d times", seen[1], seen[2], seen[4], seen[8],
          seen[16]);
}

/* ---- Plans ---- */

void layout_expect(const layout *l, const kernel_row *row, const char *params, const char *route_text) {
    plan decided = layout_plan(l, row);
    sentence why = {""};
    char got[64];
    if (!CHECK(product_prepare(&decided, &why) == TESS_OK, "%s: %s", layout_text(l), why.text)) return;
    registry_print_params(row, decided.params, got, sizeof got);
    CHECK(strcmp(got, params) == 0, "%s: %s, not %s", layout_text(l), got, params);
    CHECK(strcmp(decided.route, route_text) == 0, "%s: \"%s\", not \"%s\"", layout_text(l), decided.route,
          route_text);
}

static void expect(const layout *l, int k_major, const char *params, const char *route_text) {
    layout_expect(l, layout_tensor_row(k_major), params, route_text);
}

TEST(route_says_what_is_done) {
    const tess_compute plain = TESS_COMPUTE_DEFAULT;
    expect(&(layout){TESS_F16, TESS_F16, 64, 64, 64, 0, 1, ROWS, ROWS, ROWS, plain}, 1, "AT=0 BT=0 VEC=8",
           "");
    expect(&(layout){TESS_F16, TESS_F16, 64, 64, 64, 0, 1, COLUMNS, COLUMNS, COLUMNS, plain}, 1,
           "AT=0 BT=0 VEC=8", "the transposed product is computed");
    expect(&(layout){TESS_F16, TESS_F16, 64, 64, 64, 2, 1, ROWS, COLUMNS, ROWS, plain}, 1, "AT=0 BT=1 VEC=8",
           "A is copied to aligned rows first; B is copied to aligned columns first");
    expect(&(layout){TESS_F16, TESS_F16, 9, 8, 5, 1, 1, ROWS, ROWS, ROWS, plain}, 1, "AT=0 BT=0 VEC=8",
           "A and B are copied to aligned rows first");
    expect(&(layout){TESS_F16, TESS_F16, 512, 600, 64, 1, 1, COLUMNS, NEITHER, ROWS, plain}, 1,
           "AT=1 BT=0 VEC=8", "A is copied to aligned columns first; B is copied to rows first");
    expect(&(layout){TESS_I8, TESS_I32, 64, 64, 64, 0, 1, ROWS, ROWS, ROWS, plain}, 1, "AT=0 BT=1 VEC=16",
           "B is copied to columns first");
    expect(&(layout){TESS_I8, TESS_I32, 64, 64, 64, 0, 1, COLUMNS, COLUMNS, NEITHER, plain}, 1,
           "AT=0 BT=1 VEC=16", "A is copied to rows first; C is copied to rows and back");
    expect(&(layout){TESS_I8, TESS_I32, 64, 64, 64, 0, 1, COLUMNS, COLUMNS, COLUMNS, plain}, 1,
           "AT=0 BT=1 VEC=16", "the transposed product is computed; A is copied to rows first");
    expect(&(layout){TESS_I8, TESS_I32, 64, 64, 64, 0, 1, COLUMNS, ROWS, ROWS, plain}, 0, "AT=1 BT=0 VEC=16",
           "");
    expect(&(layout){TESS_F32, TESS_F32, 64, 64, 64, 0, 1, COLUMNS, ROWS, ROWS, TESS_COMPUTE_TF32}, 1,
           "AT=0 BT=1 VEC=4", "A and B are rounded to TF32 first");
    expect(&(layout){TESS_F32, TESS_F32, 64, 64, 64, 0, 1, COLUMNS, ROWS, ROWS, TESS_COMPUTE_TF32}, 0,
           "AT=1 BT=0 VEC=4", "f32 is multiplied as TF32");
    expect(&(layout){TESS_F32, TESS_F32, 64, 64, 64, 1, 1, COLUMNS, ROWS, ROWS, TESS_COMPUTE_BF16}, 1,
           "AT=1 BT=0 VEC=8", "A and B are rounded to bf16 first");
}

/* The plan with parameters that were asked for. */
static tess_status prepare_with(plan *decided, const char *params, sentence *why) {
    CHECK(registry_parse_params(decided->kernel, params, decided->params, why) == TESS_OK, "%s", why->text);
    return product_prepare(decided, why);
}

/* Asked for by hand, what cannot be is refused; a narrow VEC is taken, and nothing is copied for a wide one. */
TEST(route_parameters_by_hand) {
    static const struct {
        const char *params, *says;
    } cases[] = {{"AT=1", "AT is 1, but the A that test_01_tensor gets lies in rows"},
                 {"BT=1", "BT is 1, but the B that test_01_tensor gets lies in rows"},
                 {"VEC=16", "VEC is 16, but rows or columns of A and B begin at multiples of 8 elements"},
                 {"VEC=2,AT=0,BT=0", NULL},
                 {"VEC=1", NULL}};
    layout l = {TESS_F16, TESS_F16, 512, 512, 512, 2, 1, ROWS, ROWS, ROWS, TESS_COMPUTE_DEFAULT};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan decided = layout_plan(&l, layout_tensor_row(1));
        sentence why = {""};
        tess_status status = prepare_with(&decided, cases[i].params, &why);
        if (cases[i].says)
            CHECK(status == TESS_ERROR_KERNEL && strstr(why.text, cases[i].says), "%s: %s", cases[i].params,
                  why.text);
        else
            CHECK(status == TESS_OK && decided.workspace == 0 && decided.route[0] == '\0',
                  "%s: \"%s\", %lld bytes of workspace: %s", cases[i].params, decided.route,
                  (long long)decided.workspace, why.text);
    }
}

/* ---- Kernels that store C otherwise than they copy A and B ---- */

static const kernel_row *plain_row(void) {
    static kernel_source source;
    static kernel_row row;
    static const char text[] = "/* test_03_plain: multiply-adds */\n"
                               "#ifndef VEC\n#define VEC 4 /* elements of one copy */\n#endif\n"
                               "#ifndef CVEC\n#define CVEC 4 /* elements of one access to C */\n#endif\n";
    sentence why = {""};
    CHECK(kernel_source_parse("test_03_plain.cu", text, &source, &why) == TESS_OK, "%s", why.text);
    row = (kernel_row){.info = {"test_03_plain", "gpu", 901, "", "f32 f64 i32", source.params, "sm_80"},
                       .architecture = 80,
                       .block = "32, 1",
                       .tile = "16, 16",
                       .wide = "VEC=2,CVEC=2",
                       .source = &source};
    return &row;
}

/* Large ones whose rows are not aligned are copied; whatever k and n are, copies and aligned rows are read by vectors, and C
 * is written as its own rows allow. */
TEST(route_of_kernels_with_a_width_for_c) {
    const kernel_row *row = plain_row();
    const tess_compute plain = TESS_COMPUTE_DEFAULT;
    const layout cases[] = {
        {TESS_F32, TESS_F32, 64, 64, 64, 0, 1, ROWS, ROWS, ROWS, plain},
        {TESS_F32, TESS_F32, 60, 63, 61, 0, 1, ROWS, ROWS, ROWS, plain},
        {TESS_F32, TESS_F32, 60, 63, 61, 0, 1, COLUMNS, COLUMNS, ROWS, plain},
        {TESS_F32, TESS_F32, 61, 60, 60, 0, 1, ROWS, ROWS, COLUMNS, plain},
        {TESS_F32, TESS_F32, 60, 60, 61, 0, 1, ROWS, ROWS, ROWS, plain},
        {TESS_F32, TESS_F32, 401, 403, 405, 0, 1, ROWS, ROWS, ROWS, plain},
        {TESS_F32, TESS_F32, 2001, 2004, 2005, 0, 1, ROWS, ROWS, ROWS, plain},
        {TESS_F64, TESS_F64, 2001, 2003, 2005, 1, 1, ROWS, ROWS, ROWS, plain},
        {TESS_F32, TESS_F32, 2001, 61, 9005, 0, 1, ROWS, ROWS, ROWS, plain},
    };
    static const char *const params[] = {"VEC=4 CVEC=4", "VEC=1 CVEC=1", "VEC=4 CVEC=1",
                                         "VEC=4 CVEC=1", "VEC=1 CVEC=4", "VEC=4 CVEC=1",
                                         "VEC=4 CVEC=4", "VEC=2 CVEC=1", "VEC=1 CVEC=1"};
    static const char *const routes[] =
        {"",
         "",
         "A and B are copied to rows first",
         "the transposed product is computed; A and B are copied to columns first",
         "",
         "A and B are copied to aligned rows first",
         "A is copied to aligned rows first",
         "",
         ""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        layout_expect(&cases[i], row, params[i], routes[i]);
}

/* Widths asked for by hand are refused where rows do not allow them; a narrow VEC keeps large ones where they are. */
TEST(route_widths_by_hand) {
    static const struct {
        const char *params, *says;
    } cases[] = {{"VEC=4", "VEC is 4, but rows of A and B do not begin at multiples of 4 elements"},
                 {"CVEC=2", "CVEC is 2, but rows of C do not begin and end at multiples of 2 elements"},
                 {"VEC=1,CVEC=1", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t side = cases[i].says ? 61 : 2001;
        layout l = {TESS_F32, TESS_F32, side, side, side, 0, 1, ROWS, ROWS, ROWS, TESS_COMPUTE_DEFAULT};
        plan decided = layout_plan(&l, plain_row());
        sentence why = {""};
        tess_status status = prepare_with(&decided, cases[i].params, &why);
        if (cases[i].says)
            CHECK(status == TESS_ERROR_KERNEL && strstr(why.text, cases[i].says), "%s: %s", cases[i].params,
                  why.text);
        else
            CHECK(status == TESS_OK && decided.workspace == 0, "%s: %lld bytes of workspace: %s",
                  cases[i].params, (long long)decided.workspace, why.text);
    }
}

/* f32 on tensor cores loses bits: only where that is allowed. */
TEST(route_tf32_has_to_be_allowed) {
    for (int mode = TESS_COMPUTE_DEFAULT; mode <= TESS_COMPUTE_F32_STRICT; mode++) {
        layout l = {TESS_F32, TESS_F32, 8, 8, 8, 0, 1, ROWS, ROWS, ROWS, (tess_compute)mode};
        plan decided = layout_plan(&l, layout_tensor_row(1));
        sentence why = {""};
        CHECK(product_prepare(&decided, &why) == TESS_ERROR_KERNEL && strstr(why.text, "TESS_COMPUTE_TF32") &&
                  strstr(why.text, "--compute tf32"),
              "%s", why.text);
    }
}

TEST(route_architectures_of_types) {
    const kernel_row *row = layout_tensor_row(0);
    CHECK(registry_architecture(row, TESS_F16) == 75 && registry_architecture(row, TESS_I8) == 75,
          "f16 and i8 need sm_%d and sm_%d", registry_architecture(row, TESS_F16),
          registry_architecture(row, TESS_I8));
    CHECK(registry_architecture(row, TESS_BF16) == 80 && registry_architecture(row, TESS_F32) == 80,
          "bf16 and f32 need sm_%d and sm_%d", registry_architecture(row, TESS_BF16),
          registry_architecture(row, TESS_F32));
}
