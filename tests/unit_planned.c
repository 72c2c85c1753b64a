/* unit_planned.c: whatever product there is, the planner takes a kernel that takes it, with parameters for which everything holds
 * that its row asks for, and that the card has room for. White-box: devices in name only make the plans (unit_h200.h). */
#include "unit_planned.h"

#include <stdio.h>

#include "../src/launch.h"
#include "../src/route.h"
#include "unit_h200.h"

const planned_card planned_cards[PLANNED_CARDS] = {{90, 132, 232448}, {75, 68, 65536},   {80, 108, 166912},
                                                   {86, 82, 101376},  {89, 128, 101376}, {100, 148, 232448},
                                                   {120, 170, 101376}};

cuda_facts planned_facts(const planned_card *card) {
    return (cuda_facts){.architecture = card->architecture,
                        .model = "a card in name only",
                        .gpu = {.sms = card->sms, .shared_per_block_most = card->shared}};
}

cuda_device planned_device(const cuda_facts *facts) {
    return (cuda_device){.base = {&cuda_device_ops}, .facts = facts};
}

/* A side: of any order of magnitude, a multiple of 1, 8 or 64. */
static int64_t draw_side(test_rng *rng) {
    static const int64_t units[] = {1, 8, 64};
    int64_t most = INT64_C(1) << rng_range(rng, 0, 13), unit = units[rng_range(rng, 0, 2)];
    return (rng_range(rng, 1, most) + unit - 1) / unit * unit;
}

/* In rows or columns, with lines that are as long as they must be, or longer. `*distance` is from one matrix of a batch to the
 * next. */
static tess_matrix draw_view(test_rng *rng, tess_type type, int64_t rows, int64_t cols, int may_turn, int nth,
                             int64_t *distance) {
    static const int64_t pads[] = {0, 0, 1, 8, 64};
    int turned = may_turn && rng_range(rng, 0, 1);
    int64_t line = (turned ? rows : cols) + pads[rng_range(rng, 0, 4)], lines = turned ? cols : rows;
    void *far_apart = (void *)((uintptr_t)nth << 44);
    *distance = line * lines;
    return (tess_matrix){far_apart, type, TESS_DEVICE, rows, cols, turned ? 1 : line, turned ? line : 1};
}

static tess_compute draw_compute(test_rng *rng, tess_type in) {
    static const tess_compute modes[] = {TESS_COMPUTE_DEFAULT, TESS_COMPUTE_TF32, TESS_COMPUTE_F32_STRICT};
    return in == TESS_F32 ? modes[rng_range(rng, 0, 2)] : TESS_COMPUTE_DEFAULT;
}

tess_status planned_draw(const device *on, test_rng *rng, plan *out, char text[256], sentence *why) {
    static const tess_type types[][2] = {{TESS_F32, TESS_F32},   {TESS_F64, TESS_F64},  {TESS_I32, TESS_I32},
                                         {TESS_F16, TESS_F16},   {TESS_F16, TESS_F32},  {TESS_I8, TESS_I32},
                                         {TESS_BF16, TESS_BF16}, {TESS_BF16, TESS_F32}, {TESS_F32, TESS_F32}};
    const tess_type *of = types[rng_range(rng, 0, 8)];
    int64_t m = draw_side(rng), n = draw_side(rng), k = draw_side(rng);
    tess_batch batch = {rng_range(rng, 0, 7) ? 1 : rng_range(rng, 2, 20), 0, 0, 0};
    tess_matrix A = draw_view(rng, of[0], m, k, 1, 1, &batch.stride_a),
                B = draw_view(rng, of[0], k, n, 1, 2, &batch.stride_b),
                C = draw_view(rng, of[1], m, n, rng_range(rng, 0, 7) == 0, 3, &batch.stride_c);
    tess_options options = {NULL, NULL, draw_compute(rng, of[0])};
    snprintf(text, 256,
             "%s to %s, mode %d, %lldx%lldx%lldx%lld, rows %lld, %lld, %lld and columns %lld, %lld, %lld "
             "apart",
             tess_type_name(of[0]), tess_type_name(of[1]), (int)options.compute, (long long)m, (long long)n,
             (long long)k, (long long)batch.count, (long long)A.row_stride, (long long)B.row_stride,
             (long long)C.row_stride, (long long)A.col_stride, (long long)B.col_stride,
             (long long)C.col_stride);
    return plan_make(on, &A, &B, &C, &batch, &options, out, why);
}

static void check_kernel(const planned_card *c, const plan *made, const kernel_row *kernel,
                         const int64_t *params, const char *text) {
    launch_shape shape;
    sentence why = {""};
    char values[256];
    registry_print_params(kernel, params, values, sizeof values);
    tess_type in = route_input(&made->what, kernel);
    if (!CHECK(registry_takes(kernel, in, made->what.out) &&
                   registry_check_architecture(kernel, in, c->architecture, "it", &why) == TESS_OK,
               "sm_%d: %s: %s %s", c->architecture, text, kernel->info.name, why.text) ||
        !CHECK(launch_shape_of(kernel, in, params, &shape, &why) == TESS_OK, "sm_%d: %s: %s %s: %s",
               c->architecture, text, kernel->info.name, values, why.text))
        return;
    CHECK(shape.block_x * shape.block_y <= 1024 && shape.shared <= c->shared,
          "sm_%d: %s: %s %s: %d threads, %d bytes of shared memory", c->architecture, text, kernel->info.name,
          values, shape.block_x * shape.block_y, shape.shared);
}

static void check_card(const planned_card *c) {
    const cuda_facts facts = planned_facts(c);
    const cuda_device self = planned_device(&facts);
    for (sampling s = sampling_start(1000, 10000, 1); sampling_next(&s);) {
        char text[256];
        plan made;
        sentence why = {""};
        if (!CHECK(planned_draw(&self.base, test_random(), &made, text, &why) == TESS_OK, "sm_%d: %s: %s",
                   c->architecture, text, why.text))
            continue;
        check_kernel(c, &made, made.kernel, made.params, text);
        if (made.rest.kernel) check_kernel(c, &made, made.rest.kernel, made.rest.params, text);
        CHECK(made.reason[0] != '\0' && made.workspace >= 0, "sm_%d: %s: because '%s', %lld bytes",
              c->architecture, text, made.reason, (long long)made.workspace);
    }
}

TEST(planned_kernels_take_what_they_are_planned_for) {
    h200_begin();
    for (int i = 0; i < PLANNED_CARDS; i++) {
        planned_card smaller = planned_cards[i];
        smaller.sms /= 5;
        check_card(&planned_cards[i]);
        check_card(&smaller);
    }
    h200_end();
}
