/* bad_input_other.c: wrong views, contexts, plans and expert calls. See bad_input.h. */
#include "bad_input.h"

#include <stdio.h>
#include <string.h>

/* ---- Views: a refused view has no rows, no columns and no data ---- */

static tess_status refused(good_call *g, tess_matrix M) {
    g->on_thread = 1;
    return M.rows == -1 && M.cols == -1 && !M.data ? TESS_ERROR_ARGUMENT : TESS_OK;
}
BAD(view_of_no_type, TESS_ERROR_ARGUMENT, "type 55") {
    return refused(g, tess_view_row_major((tess_type)55, 2, 2, g->a, 0));
}
BAD(view_with_negative_rows, TESS_ERROR_ARGUMENT, "-11") {
    return refused(g, tess_view_row_major(TESS_F32, -11, 2, g->a, 0));
}
BAD(view_with_negative_cols, TESS_ERROR_ARGUMENT, "-12") {
    return refused(g, tess_view_col_major(TESS_F32, 2, -12, g->a, 0));
}
BAD(view_with_ld_smaller_than_row, TESS_ERROR_ARGUMENT, "ld 6 7") {
    return refused(g, tess_view_row_major(TESS_F32, 2, 7, g->a, 6));
}
BAD(view_with_ld_smaller_than_column, TESS_ERROR_ARGUMENT, "ld 8 9") {
    return refused(g, tess_view_col_major(TESS_F32, 9, 2, g->a, 8));
}
BAD(view_with_negative_ld, TESS_ERROR_ARGUMENT, "ld -4") {
    return refused(g, tess_view_row_major(TESS_F32, 3, 2, g->a, -4));
}
BAD(view_larger_than_memory, TESS_ERROR_ARGUMENT, "3037000500") {
    return refused(g, tess_view_row_major(TESS_F64, INT64_C(3037000500), INT64_C(3037000500), g->a, 0));
}
BAD(view_with_strides_beyond_memory, TESS_ERROR_ARGUMENT, "9223372036854775806") {
    return refused(g, tess_view_strided(TESS_F32, 3, 3, g->a, INT64_MAX - 1, 1));
}
BAD(view_without_data, TESS_ERROR_ARGUMENT, "data NULL") {
    tess_matrix M = tess_view_row_major(TESS_F32, 2, 2, NULL, 0);
    if (M.rows == 2) { /* a view for a plan needs no data; reading an element does */
        g->on_thread = 1;
        return isnan(tess_get(M, 0, 0)) ? TESS_ERROR_ARGUMENT : TESS_OK;
    }
    return refused(g, M);
}
BAD(submatrix_past_the_last_row, TESS_ERROR_ARGUMENT, "3 2 4") {
    return refused(g, tess_submatrix(g->A, 3, 0, 2, 1));
}
BAD(submatrix_past_the_last_col, TESS_ERROR_ARGUMENT, "0 1 4") {
    return refused(g, tess_submatrix(g->A, 0, 1, 1, 4));
}
BAD(submatrix_at_a_negative_row, TESS_ERROR_ARGUMENT, "-1") {
    return refused(g, tess_submatrix(g->A, -1, 0, 1, 1));
}
BAD(submatrix_of_overflowing_size, TESS_ERROR_ARGUMENT, "9223372036854775807") {
    return refused(g, tess_submatrix(g->A, 1, 0, INT64_MAX, 1));
}
BAD(get_past_the_last_row, TESS_ERROR_ARGUMENT, "element 4") {
    g->on_thread = 1;
    return isnan(tess_get(g->A, 4, 0)) ? TESS_ERROR_ARGUMENT : TESS_OK;
}
BAD(get_at_a_negative_col, TESS_ERROR_ARGUMENT, "element -6") {
    g->on_thread = 1;
    return isnan(tess_get(g->A, 0, -6)) ? TESS_ERROR_ARGUMENT : TESS_OK;
}
BAD(set_past_the_last_col, TESS_ERROR_ARGUMENT, "element 77") {
    g->on_thread = 1;
    return tess_set(g->C, 0, 77, 1);
}
BAD(set_device_memory, TESS_ERROR_ARGUMENT, "host/device/TESS_DEVICE") {
    g->on_thread = 1;
    g->C.place = TESS_DEVICE;
    return tess_set(g->C, 0, 0, 1);
}
BAD(set_a_fraction_in_i32, TESS_ERROR_ARGUMENT, "1.5 i32") {
    g->on_thread = 1;
    g->C.type = TESS_I32;
    return tess_set(g->C, 0, 0, 1.5);
}
BAD(set_beyond_i8, TESS_ERROR_ARGUMENT, "128 i8") {
    g->on_thread = 1;
    g->C.type = TESS_I8;
    return tess_set(g->C, 0, 0, 128);
}
BAD(find_type_of_no_name, TESS_ERROR_TYPE, "float32") {
    tess_type type = TESS_F32;
    g->on_thread = 1;
    return tess_find_type("float32", &type);
}

/* ---- Contexts ---- */

static tess_status open_fails(good_call *g, const char *device) {
    tess_context *ctx = (tess_context *)(void *)g; /* anything that is not NULL */
    g->on_thread = 1;
    tess_status status = tess_open(&ctx, device);
    if (status == TESS_OK) tess_close(ctx);
    return ctx ? TESS_OK : status;
}
BAD(unknown_device, TESS_ERROR_DEVICE, "toaster") {
    return open_fails(g, "toaster");
}
BAD(device_spelt_wrong, TESS_ERROR_DEVICE, "cpi cpu") {
    return open_fails(g, "cpi");
}
BAD(open_into_nothing, TESS_ERROR_ARGUMENT, "ctx") {
    g->on_thread = 1;
    return tess_open(NULL, "cpu");
}
BAD(too_many_threads, TESS_ERROR_ARGUMENT, "threads 1025 1024") {
    return tess_set_threads(g->ctx, 1025);
}
BAD(negative_threads, TESS_ERROR_ARGUMENT, "threads -1") {
    return tess_set_threads(g->ctx, -1);
}
BAD(facts_into_nothing, TESS_ERROR_ARGUMENT, "info NULL") {
    return tess_device_facts(g->ctx, NULL);
}
BAD(device_past_the_last, TESS_ERROR_ARGUMENT, "device 1000") {
    tess_device_info info;
    g->on_thread = 1;
    return tess_describe_device(1000, &info);
}
BAD(kernel_before_the_first, TESS_ERROR_ARGUMENT, "kernel -1") {
    tess_kernel_info info;
    g->on_thread = 1;
    return tess_describe_kernel(-1, &info);
}
BAD(close_with_a_live_plan, TESS_ERROR_ARGUMENT, "plan/plans 1") {
    tess_plan *plan;
    if (good_call_plan(g, &plan) != TESS_OK) return TESS_OK;
    tess_status status = tess_close(g->ctx);
    tess_free_plan(plan);
    return status;
}

/* ---- Plans ---- */

static tess_status run_other(good_call *g, void (*spoil)(good_call *)) {
    tess_plan *plan;
    if (good_call_plan(g, &plan) != TESS_OK) return TESS_OK;
    spoil(g);
    tess_status status = tess_run(plan, g->alpha, &g->A, &g->B, g->beta, &g->C);
    tess_free_plan(plan);
    return status;
}
static void other_shape(good_call *g) {
    g->A.rows = g->C.rows = 2;
}
static void other_type(good_call *g) {
    g->A.type = g->B.type = g->C.type = TESS_I32;
}
static void other_stride(good_call *g) {
    g->B.row_stride = 9;
}
static void other_place(good_call *g) {
    g->C.data = g->a + 70;
}
static void no_data(good_call *g) {
    g->C.data = NULL;
}
BAD(run_with_other_shape, TESS_ERROR_SHAPE, "A 2 4 plan/planned") {
    return run_other(g, other_shape);
}
BAD(run_with_other_type, TESS_ERROR_SHAPE, "i32 f32 plan/planned") {
    return run_other(g, other_type);
}
BAD(run_with_other_stride, TESS_ERROR_SHAPE, "B 9 4 plan/planned") {
    return run_other(g, other_stride);
}
BAD(run_over_its_own_input, TESS_ERROR_ALIAS, "A C") {
    return run_other(g, other_place);
}
BAD(run_without_data, TESS_ERROR_ARGUMENT, "C data NULL") {
    g->C.cols = g->B.cols = 3; /* its own numbers, for its own sentence */
    return run_other(g, no_data);
}
BAD(run_of_no_plan, TESS_ERROR_ARGUMENT, "plan NULL") {
    g->on_thread = 1;
    return tess_run(NULL, 1, &g->A, &g->B, 1, &g->C);
}
BAD(plan_into_nothing, TESS_ERROR_ARGUMENT, "plan NULL") {
    return good_call_plan(g, NULL);
}
static tess_status plan_with(good_call *g, const char *kernel, const char *params) {
    tess_plan *plan = (tess_plan *)(void *)g;
    g->options.kernel = kernel;
    g->options.params = params;
    tess_status status = good_call_plan(g, &plan);
    if (status == TESS_OK) tess_free_plan(plan);
    return plan ? TESS_OK : status;
}
BAD(plan_with_unknown_kernel, TESS_ERROR_KERNEL, "cpu_99_magic") {
    return plan_with(g, "cpu_99_magic", NULL);
}

/* The first kernel of the cpu that has parameters, and the name of its first parameter. */
static const char *kernel_with_params(char *param, size_t size) {
    tess_kernel_info info;
    for (int i = 0; tess_describe_kernel(i, &info) == TESS_OK; i++) {
        if (strcmp(info.device, "cpu") != 0 || !strchr(info.params, ':')) continue;
        snprintf(param, size, "%.*s", (int)strcspn(info.params, ":"), info.params);
        return info.name;
    }
    return NULL;
}
static tess_status plan_with_value(good_call *g, const char *format_tail) {
    char param[40], text[100];
    const char *kernel = kernel_with_params(param, sizeof param);
    snprintf(text, sizeof text, "%s%s", param, format_tail);
    return plan_with(g, kernel, text);
}
BAD(kernel_spelt_nearly_right, TESS_ERROR_KERNEL, "mean") {
    char param[40], near[100];
    const char *kernel = kernel_with_params(param, sizeof param);
    snprintf(near, sizeof near, "%sx", kernel ? kernel : "");
    return plan_with(g, near, NULL);
}
BAD(unknown_parameter, TESS_ERROR_KERNEL, "XYZ") {
    char param[40];
    return plan_with(g, kernel_with_params(param, sizeof param), "XYZ=3");
}
BAD(parameter_without_value, TESS_ERROR_KERNEL, "params/parameter") {
    return plan_with_value(g, "");
}
BAD(parameter_with_a_word, TESS_ERROR_KERNEL, "banana") {
    return plan_with_value(g, "=banana");
}
BAD(parameter_of_zero, TESS_ERROR_KERNEL, "0") {
    return plan_with_value(g, "=0");
}
BAD(parameter_beyond_all_numbers, TESS_ERROR_KERNEL, "99999999999999999999") {
    return plan_with_value(g, "=99999999999999999999");
}

/* ---- Expert ---- */

BAD(fill_kind_is_none, TESS_ERROR_ARGUMENT, "kind 12") {
    g->on_thread = 1;
    return tess_fill(&g->C, (tess_fill_kind)12, 1, 0);
}
BAD(fill_of_nothing, TESS_ERROR_ARGUMENT, "M NULL") {
    g->on_thread = 1;
    return tess_fill(NULL, TESS_FILL_UNIFORM, 1, 0);
}
BAD(fill_integers_with_nan, TESS_ERROR_ARGUMENT, "i32 nan/NaN") {
    g->on_thread = 1;
    g->C.type = TESS_I32;
    return tess_fill(&g->C, TESS_FILL_VALUE, TEST_NAN, 0);
}
BAD(check_without_c0, TESS_ERROR_ARGUMENT, "C0 beta") {
    tess_check check;
    g->on_thread = 1;
    return tess_check_gemm(1, &g->A, &g->B, 1, NULL, &g->C, TESS_CHECK_ORACLE, 0, &check);
}
BAD(check_into_nothing, TESS_ERROR_ARGUMENT, "check NULL") {
    g->on_thread = 1;
    return tess_check_gemm(1, &g->A, &g->B, 0, NULL, &g->C, TESS_CHECK_ORACLE, 0, NULL);
}
BAD(check_method_is_none, TESS_ERROR_ARGUMENT, "method 8") {
    tess_check check;
    g->on_thread = 1;
    return tess_check_gemm(1, &g->A, &g->B, 0, NULL, &g->C, (tess_check_method)8, 0, &check);
}
BAD(check_of_other_shapes, TESS_ERROR_SHAPE, "A B 1 4") {
    tess_check check;
    g->on_thread = 1;
    g->A.cols = 1;
    return tess_check_gemm(1, &g->A, &g->B, 0, NULL, &g->C, TESS_CHECK_ORACLE, 0, &check);
}
