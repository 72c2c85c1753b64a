/* unit_route_tma.c: how matrices reach a kernel whose tiles TMA moves, and one that takes rows of A apart: lines begin where TMA can
 * take them from, whatever the product is, and the plan says what is done. No device is needed. */
#include "harness.h"

#include <string.h>

#include "unit_route.h"

/* Whatever a product is, what the kernel gets has lines that TMA can move. */
TEST(route_lines_suit_tma) {
    static const tess_type types[][2] = {{TESS_F16, TESS_F32}, {TESS_I8, TESS_I32}, {TESS_F32, TESS_F32}};
    test_rng *rng = test_random();
    int copied = 0, taken = 0, stored = 0, plain = 0;
    for (int i = 0; i < 3000; i++) {
        const tess_type *type = types[i % 3];
        layout l = {type[0],
                    type[1],
                    rng_range(rng, 1, 4),
                    rng_range(rng, 1, 4),
                    rng_range(rng, 1, 40),
                    16 * rng_range(rng, 0, 1) + rng_range(rng, 0, 1),
                    rng_range(rng, 1, 2),
                    (enum order)rng_range(rng, 0, 2),
                    (enum order)rng_range(rng, 0, 2),
                    (enum order)rng_range(rng, 0, 2),
                    type[0] == TESS_F32 ? TESS_COMPUTE_TF32 : TESS_COMPUTE_DEFAULT};
        plan decided = layout_plan(&l, layout_tma_row());
        problem *p = &decided.what;
        int64_t *strides[] = {&p->a_row, &p->a_col, &p->batch.stride_a,
                              &p->b_row, &p->b_col, &p->batch.stride_b};
        for (int s = 0; s < 6; s++) {
            if (rng_range(rng, 0, 3) == 0) *strides[s] = -*strides[s];
            if (rng_range(rng, 0, 3) == 0) *strides[s] *= 16;
            if (rng_range(rng, 0, 9) == 0) *strides[s] = 0;
        }
        route way;
        sentence why;
        CHECK(route_of(p, decided.kernel, decided.params, NULL, &way, &why) == TESS_OK, "%s", why.text);
        const problem *r = &way.run;
        int64_t unit = 16 / (int64_t)tess_type_size(r->in), lines_a = way.a.by_columns ? r->k : r->m,
                lines_b = way.b.by_columns ? r->n : r->k, line_a = way.a.by_columns ? r->a_col : r->a_row,
                line_b = way.b.by_columns ? r->b_col : r->b_row, length_a = way.a.by_columns ? r->m : r->k,
                length_b = way.b.by_columns ? r->k : r->n;
        CHECK(lines_a == 1 || (line_a % unit == 0 && line_a >= length_a), "%s: lines of A are %lld apart",
              layout_text(&l), (long long)line_a);
        CHECK(lines_b == 1 || (line_b % unit == 0 && line_b >= length_b), "%s: lines of B are %lld apart",
              layout_text(&l), (long long)line_b);
        CHECK(l.count == 1 || (r->batch.stride_a % unit == 0 && r->batch.stride_a >= 0 &&
                               r->batch.stride_b % unit == 0 && r->batch.stride_b >= 0),
              "%s: matrices are %lld and %lld apart", layout_text(&l), (long long)r->batch.stride_a,
              (long long)r->batch.stride_b);
        int64_t unit_c = 16 / (int64_t)tess_type_size(r->out);
        int fits = (r->m == 1 || (r->c_row % unit_c == 0 && r->c_row >= r->n)) && r->n % unit_c == 0 &&
                   (l.count == 1 || (r->batch.stride_c % unit_c == 0 && r->batch.stride_c >= 0));
        operands data = {.a = (void *)(uintptr_t)(4096 + 16 * (i % 2)),
                         .b = (void *)(uintptr_t)(4096 + i % 3),
                         .c = (void *)(uintptr_t)(4096 + i % 5),
                         .alpha = 1};
        route with;
        CHECK(route_of(p, decided.kernel, decided.params, &data, &with, &why) == TESS_OK, "%s", why.text);
        int off_a = (uintptr_t)(with.swapped ? data.b : data.a) % 16 != 0,
            off_b = (uintptr_t)(with.swapped ? data.a : data.b) % 16 != 0;
        CHECK(with.a.copied == (way.a.copied || off_a) && with.b.copied == (way.b.copied || off_b),
              "%s: addresses %p and %p, A copied: %d, B copied: %d", layout_text(&l), data.a, data.b,
              with.a.copied, with.b.copied);
        CHECK(route_can_store(&way, &data) == (fits && i % 5 == 0), "%s: C at %p can be stored",
              layout_text(&l), data.c);
        CHECK(route_can_store(&way, NULL) == fits, "%s: C can be stored: %d", layout_text(&l),
              route_can_store(&way, NULL));
        copied += way.a.copied, taken += !way.a.copied, stored += fits, plain += !fits;
    }
    CHECK(copied > 100 && taken > 100 && stored > 100 && plain > 100,
          "%d were copied, %d taken, %d stored, %d not", copied, taken, stored, plain);
}

/* Large matrices are copied where lines of the cache do not begin with theirs; C is written as it lies. */
TEST(route_large_matrices_for_tma) {
    static const struct {
        int64_t m, n, pad;
        int copied;
    } cases[] = {{4096, 4096, 0, 0},
                 {4096, 4096, 8, 1},
                 {4095, 4096, 8, 0},
                 {4096, 4000, 8, 0},
                 {4096, 4096, 64, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        layout l = {TESS_F16, TESS_F16, cases[i].m, cases[i].n,          256, cases[i].pad, 1,
                    ROWS,     COLUMNS,  ROWS,       TESS_COMPUTE_DEFAULT};
        plan decided = layout_plan(&l, layout_tma_row());
        route way;
        sentence why;
        CHECK(route_of(&decided.what, decided.kernel, decided.params, NULL, &way, &why) == TESS_OK, "%s",
              why.text);
        CHECK(way.a.copied == cases[i].copied && way.b.copied == cases[i].copied,
              "%s: A copied: %d, B copied: %d", layout_text(&l), way.a.copied, way.b.copied);
        CHECK(way.a.realigned == way.a.copied && (!way.a.copied || way.run.a_row % 64 == 0),
              "%s: lines of A are %lld apart", layout_text(&l), (long long)way.run.a_row);
        CHECK(route_can_store(&way, NULL), "%s: C is not stored by TMA", layout_text(&l));
    }
}

TEST(route_says_what_is_done_for_tma) {
    const tess_compute plain = TESS_COMPUTE_DEFAULT, tf32 = TESS_COMPUTE_TF32;
    const kernel_row *row = layout_tma_row();
    layout_expect(&(layout){TESS_F16, TESS_F16, 64, 64, 64, 0, 1, COLUMNS, ROWS, ROWS, plain}, row,
                  "AT=1 BT=0 STORE=1 CM=1", "");
    layout_expect(&(layout){TESS_F16, TESS_F16, 64, 64, 64, 1, 1, ROWS, COLUMNS, ROWS, plain}, row,
                  "AT=0 BT=1 STORE=0 CM=1",
                  "A is copied to aligned rows first; B is copied to aligned columns first");
    layout_expect(&(layout){TESS_I8, TESS_I32, 64, 64, 64, 0, 1, ROWS, ROWS, ROWS, plain}, row,
                  "AT=0 BT=1 STORE=1 CM=1", "B is copied to columns first");
    layout_expect(&(layout){TESS_F32, TESS_F32, 64, 64, 64, 0, 1, ROWS, COLUMNS, ROWS, tf32}, row,
                  "AT=0 BT=1 STORE=1 CM=1", "f32 is multiplied as TF32");
    layout_expect(&(layout){TESS_F32, TESS_F32, 64, 64, 64, 0, 1, ROWS, ROWS, NEITHER, tf32}, row,
                  "AT=0 BT=1 STORE=1 CM=1",
                  "B is copied to columns first; C is copied to rows and back; f32 is multiplied as TF32");
}

TEST(route_architecture_alone) {
    sentence why;
    CHECK(registry_check_architecture(layout_tma_row(), TESS_BF16, 90, "it", &why) == TESS_OK, "%s",
          why.text);
    for (int architecture = 80; architecture <= 120; architecture += 20)
        CHECK(registry_check_architecture(layout_tma_row(), TESS_BF16, architecture, "a card", &why) ==
                      TESS_ERROR_KERNEL &&
                  strstr(why.text, "test_02_tma is for sm_90 alone, but a card is sm_"),
              "%s", why.text);
    CHECK(registry_check_architecture(layout_tensor_row(0), TESS_BF16, 75, "a card", &why) ==
                  TESS_ERROR_KERNEL &&
              strcmp(why.text, "test_01_tensor needs sm_80 for bf16, but a card is sm_75") == 0,
          "%s", why.text);
}

/* Boxes and clusters are formulas of the row. */
TEST(route_shapes_for_tma) {
    kernel_row row = *layout_tma_row();
    int64_t params[REGISTRY_PARAMS];
    launch_shape shape;
    sentence why;
    registry_defaults(&row, TESS_I8, params);
    params[registry_find_param(&row, "CM")] = 2;
    CHECK(launch_shape_of(&row, TESS_I8, params, &shape, &why) == TESS_OK && shape.box_a == 128 &&
              shape.box_b == 64 && shape.box_c == 16 && shape.cluster == 2 && shape.cluster_rows == 2 &&
              shape.cluster_cols == 1,
          "boxes of %d, %d and %d lines, clusters of %d", shape.box_a, shape.box_b, shape.box_c,
          shape.cluster);
    params[registry_find_param(&row, "CM")] = 0;
    CHECK(launch_shape_of(&row, TESS_I8, params, &shape, &why) == TESS_ERROR_KERNEL &&
              strstr(why.text, "make number 1 of \"CM, 1, 1\" 0"),
          "%s", why.text);
    CHECK(launch_shape_of(layout_tensor_row(0), TESS_F16, params, &shape, &why) == TESS_OK &&
              shape.cluster == 1 && shape.box_a == 0,
          "a kernel without boxes has boxes of %d lines, clusters of %d", shape.box_a, shape.cluster);
}

/* ---- Rows of A apart ---- */

/* A row like that which takes rows of A apart. */
static const kernel_row *laced_row(void) {
    static kernel_source source;
    static kernel_row row;
    static const char text[] = "/* test_03_laced: rows apart */\n"
                               "#ifndef STAGES\n#define STAGES 4 /* in flight */\n#endif\n";
    sentence why = {""};
    CHECK(kernel_source_parse("test_03_laced.cu", text, &source, &why) == TESS_OK, "%s", why.text);
    row = *layout_tensor_row(0);
    row.info.name = "test_03_laced", row.info.params = source.params;
    row.architecture = 90, row.source = &source;
    row.box = "128, 64, 64", row.laces = LACES;
    return &row;
}

/* Where A cannot be taken apart as it lies, whatever its rows begin at, it is copied; and where its rows are ahead of one another, so
 * that they begin as they would if its first did so at a multiple of 16 bytes. */
TEST(route_rows_that_are_taken_apart) {
    test_rng *rng = test_random();
    int copied = 0, taken = 0, kept = 0;
    for (int i = 0; i < 2000; i++) {
        layout l = {TESS_BF16,
                    TESS_F32,
                    rng_range(rng, 1, 20),
                    rng_range(rng, 1, 20),
                    rng_range(rng, 1, 100),
                    rng_range(rng, 0, 9),
                    rng_range(rng, 1, 2),
                    (enum order)rng_range(rng, 0, 2),
                    (enum order)rng_range(rng, 0, 2),
                    (enum order)rng_range(rng, 0, 2),
                    TESS_COMPUTE_DEFAULT};
        plan decided = layout_plan(&l, laced_row());
        problem *p = &decided.what;
        int64_t *strides[] = {&p->a_row, &p->batch.stride_a};
        for (int s = 0; s < 2; s++) {
            if (rng_range(rng, 0, 3) == 0) *strides[s] = -*strides[s];
            if (rng_range(rng, 0, 9) == 0) *strides[s] = 0;
        }
        operands data = {.a = (void *)(uintptr_t)(4096 + 2 * (i % 3)),
                         .b = (void *)(uintptr_t)(4096 + 2 * (i % 5)),
                         .c = (void *)(uintptr_t)4096};
        route way, with;
        sentence why;
        CHECK(route_of(p, decided.kernel, decided.params, NULL, &way, &why) == TESS_OK, "%s", why.text);
        CHECK(route_of(p, decided.kernel, decided.params, &data, &with, &why) == TESS_OK, "%s", why.text);
        const problem *r = &way.run, *w = &with.run;
        const void *a = with.swapped ? data.b : data.a;
        int ahead = r->m == 1 || r->a_row >= r->k;
        CHECK(!way.a.by_columns && !way.b.by_columns && (r->a_col == 1 || r->k == 1) && ahead,
              "%s: strides %lld and %lld", layout_text(&l), (long long)r->a_row, (long long)r->a_col);
        CHECK(l.count == 1 || (r->batch.stride_a >= 0 && r->batch.stride_a % 8 == 0),
              "%s: products %lld apart", layout_text(&l), (long long)r->batch.stride_a);
        CHECK(with.a.copied == (way.a.copied || (uintptr_t)a % 16 != 0), "%s: A at %p, copied: %d",
              layout_text(&l), a, with.a.copied);
        CHECK((w->a_row - r->a_row) % 8 == 0 && with.a.anywhere == (with.a.copied && w->a_row % 8 != 0),
              "%s: rows %lld apart, or %lld where A is copied", layout_text(&l), (long long)r->a_row,
              (long long)w->a_row);
        copied += way.a.copied, taken += !way.a.copied, kept += with.a.anywhere;
    }
    CHECK(copied > 100 && taken > 100 && kept > 100, "%d were copied, %d taken, %d copied as they began",
          copied, taken, kept);
}

TEST(route_says_what_is_done_to_the_rim) {
    const tess_compute plain = TESS_COMPUTE_DEFAULT;
    const kernel_row *row = laced_row();
    layout_expect(&(layout){TESS_F16, TESS_F16, 1025, 257, 64, 1, 1, ROWS, ROWS, ROWS, plain}, row,
                  "STAGES=4", "B is copied to aligned rows first; the last row of A is copied, too");
    layout_expect(&(layout){TESS_F16, TESS_F16, 1032, 264, 64, 0, 1, ROWS, ROWS, ROWS, plain}, row,
                  "STAGES=4", "the last 8 rows of A are copied first");
    layout_expect(&(layout){TESS_F16, TESS_F16, 257, 1025, 64, 1, 1, COLUMNS, COLUMNS, COLUMNS, plain}, row,
                  "STAGES=4",
                  "the transposed product is computed; A is copied to aligned columns first; "
                  "the last column of B is copied, too");
    layout_expect(&(layout){TESS_F16, TESS_F16, 1033, 264, 63, 0, 1, ROWS, ROWS, ROWS, plain}, row,
                  "STAGES=4", "");
    layout_expect(&(layout){TESS_F16, TESS_F16, 1025, 264, 64, 0, 1, COLUMNS, COLUMNS, ROWS, plain}, row,
                  "STAGES=4", "A and B are copied to rows first");
}

/* More rows than the rim of one launch is for. */
TEST(route_refuses_too_many_rows_apart) {
    const layout l = {TESS_F16, TESS_F16, (1 << 22) + 1, 8, 8, 0, 1, ROWS, ROWS, ROWS, TESS_COMPUTE_DEFAULT};
    plan decided = layout_plan(&l, laced_row());
    route way;
    sentence why = {""};
    CHECK(route_of(&decided.what, decided.kernel, decided.params, NULL, &way, &why) == TESS_ERROR_KERNEL &&
              strcmp(why.text, "C is 4194305×8; test_03_laced takes at most 4194304 rows and columns") == 0,
          "%s", why.text);
}
