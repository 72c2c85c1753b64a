/* bad_input_product.c: wrong products. See bad_input.h. */
#include "bad_input.h"

#define HUGE_SIZE (INT64_C(1) << 62)

/* ---- Arguments that are not there ---- */

BAD(gemm_without_context, TESS_ERROR_ARGUMENT, "ctx/context NULL") {
    g->on_thread = 1;
    return tess_gemm(NULL, 1, &g->A, &g->B, 1, &g->C, NULL);
}
BAD(gemm_without_a, TESS_ERROR_ARGUMENT, "A NULL") {
    return tess_gemm(g->ctx, 1, NULL, &g->B, 1, &g->C, NULL);
}
BAD(gemm_without_b, TESS_ERROR_ARGUMENT, "B NULL") {
    return tess_gemm(g->ctx, 1, &g->A, NULL, 1, &g->C, NULL);
}
BAD(gemm_without_c, TESS_ERROR_ARGUMENT, "C NULL") {
    return tess_gemm(g->ctx, 1, &g->A, &g->B, 1, NULL, NULL);
}
BAD(a_without_data, TESS_ERROR_ARGUMENT, "A data NULL") {
    g->A.data = NULL;
    return good_call_gemm(g);
}
BAD(b_without_data, TESS_ERROR_ARGUMENT, "B data NULL") {
    g->B.data = NULL;
    return good_call_gemm(g);
}
BAD(c_without_data, TESS_ERROR_ARGUMENT, "C data NULL") {
    g->C.data = NULL;
    return good_call_gemm(g);
}
BAD(batched_without_batch, TESS_ERROR_ARGUMENT, "batch NULL") {
    return tess_gemm_batched(g->ctx, 1, &g->A, &g->B, 1, &g->C, NULL, NULL);
}

/* ---- Sizes ---- */

BAD(a_with_negative_rows, TESS_ERROR_ARGUMENT, "A -3") {
    g->A.rows = -3;
    return good_call_gemm(g);
}
BAD(b_with_negative_cols, TESS_ERROR_ARGUMENT, "B -5") {
    g->B.cols = -5;
    return good_call_gemm(g);
}
BAD(c_with_negative_rows, TESS_ERROR_ARGUMENT, "C -9223372036854775808") {
    g->C.rows = INT64_MIN;
    return good_call_gemm(g);
}
BAD(a_too_large_for_an_address, TESS_ERROR_ARGUMENT, "A 4611686018427387904") {
    g->A.rows = g->C.rows = HUGE_SIZE;
    return good_call_gemm(g);
}
BAD(b_with_overflowing_stride, TESS_ERROR_ARGUMENT, "B 9223372036854775807") {
    g->B.row_stride = INT64_MAX;
    return good_call_gemm(g);
}
BAD(c_with_most_negative_stride, TESS_ERROR_ARGUMENT, "C -9223372036854775808") {
    g->C.row_stride = INT64_MIN;
    return good_call_gemm(g);
}
BAD(inner_sizes_differ, TESS_ERROR_SHAPE, "A B 3 4") {
    g->A.cols = 3;
    return good_call_gemm(g);
}
BAD(rows_of_c_differ, TESS_ERROR_SHAPE, "A C 2 4") {
    g->C.rows = 2;
    return good_call_gemm(g);
}
BAD(cols_of_c_differ, TESS_ERROR_SHAPE, "B C 3 4") {
    g->C.cols = 3;
    return good_call_gemm(g);
}
BAD(an_invalid_view_is_passed_on, TESS_ERROR_ARGUMENT, "B") {
    g->B = tess_view_row_major(TESS_F32, 4, 4, g->b, 3);
    return good_call_gemm(g);
}

/* ---- Choices ---- */

BAD(type_of_a_is_none, TESS_ERROR_TYPE, "A type 42") {
    g->A.type = (tess_type)42;
    return good_call_gemm(g);
}
BAD(type_of_c_is_negative, TESS_ERROR_TYPE, "C type -1") {
    g->C.type = (tess_type)-1;
    return good_call_gemm(g);
}
BAD(place_of_b_is_none, TESS_ERROR_ARGUMENT, "B place 9") {
    g->B.place = (tess_place)9;
    return good_call_gemm(g);
}
BAD(place_of_a_is_the_device, TESS_ERROR_DEVICE, "A TESS_DEVICE/device cpu") {
    g->A.place = TESS_DEVICE;
    return good_call_gemm(g);
}
BAD(compute_mode_is_none, TESS_ERROR_ARGUMENT, "compute 17") {
    g->options.compute = (tess_compute)17;
    return good_call_gemm(g);
}
BAD(compute_mode_for_f64, TESS_ERROR_TYPE, "compute f64") {
    static double x[64];
    g->A = tess_view_row_major(TESS_F64, 2, 2, x, 0);
    g->B = tess_view_row_major(TESS_F64, 2, 2, x + 8, 0);
    g->C = tess_view_row_major(TESS_F64, 2, 2, x + 16, 0);
    g->options.compute = TESS_COMPUTE_TF32;
    return good_call_gemm(g);
}
BAD(mix_of_a_and_b, TESS_ERROR_TYPE, "f32 i32") {
    g->B.type = TESS_I32;
    return good_call_gemm(g);
}
BAD(mix_of_inputs_and_c, TESS_ERROR_TYPE, "f32 i32") {
    g->C.type = TESS_I32;
    return good_call_gemm(g);
}
BAD(i8_results, TESS_ERROR_TYPE, "i8") {
    g->A.type = g->B.type = g->C.type = TESS_I8;
    return good_call_gemm(g);
}

/* ---- Scalars ---- */

BAD(fractional_alpha_for_integers, TESS_ERROR_ARGUMENT, "alpha 0.5") {
    g->A.type = g->B.type = g->C.type = TESS_I32;
    g->alpha = 0.5;
    return good_call_gemm(g);
}
BAD(fractional_beta_for_integers, TESS_ERROR_ARGUMENT, "beta 2.25") {
    g->A.type = g->B.type = g->C.type = TESS_I32;
    g->beta = 2.25;
    return good_call_gemm(g);
}
BAD(nan_alpha_for_integers, TESS_ERROR_ARGUMENT, "alpha nan/NaN") {
    g->A.type = g->B.type = g->C.type = TESS_I32;
    g->alpha = TEST_NAN;
    return good_call_gemm(g);
}
BAD(infinite_beta_for_integers, TESS_ERROR_ARGUMENT, "beta inf/Inf/infinity") {
    g->A.type = g->B.type = g->C.type = TESS_I32;
    g->beta = TEST_INF;
    return good_call_gemm(g);
}
BAD(alpha_beyond_exact_integers, TESS_ERROR_ARGUMENT, "alpha 1.80144e+16 2^53") {
    g->A.type = g->B.type = g->C.type = TESS_I32;
    g->alpha = 0x1p54;
    return good_call_gemm(g);
}
BAD(alpha_beyond_f32, TESS_ERROR_ARGUMENT, "alpha 1e+39/1e39 f32") {
    g->alpha = 1e39;
    return good_call_gemm(g);
}
BAD(beta_beyond_f32, TESS_ERROR_ARGUMENT, "beta -1e+300/-1e300 f32") {
    g->beta = -1e300;
    return good_call_gemm(g);
}

/* ---- Memory ---- */

static void *one_byte_on(void *data) {
    return (char *)data + 1;
}
BAD(data_of_a_is_misaligned, TESS_ERROR_ARGUMENT, "A data f32/4") {
    g->A.data = one_byte_on(g->A.data);
    return good_call_gemm(g);
}
BAD(data_of_c_is_misaligned, TESS_ERROR_ARGUMENT, "C data f32/4") {
    g->C.data = one_byte_on(g->C.data);
    return good_call_gemm(g);
}
BAD(c_is_a, TESS_ERROR_ALIAS, "A C") {
    g->C.data = g->A.data;
    return good_call_gemm(g);
}
BAD(c_is_b, TESS_ERROR_ALIAS, "B C") {
    g->C.data = g->B.data;
    return good_call_gemm(g);
}
BAD(c_shares_the_last_element_of_a, TESS_ERROR_ALIAS, "A C") {
    g->C.data = g->a + 64 + 15;
    return good_call_gemm(g);
}
BAD(c_crosses_b_between_its_columns, TESS_ERROR_ALIAS, "B C") {
    g->B = tess_view_row_major(TESS_F32, SIDE, SIDE, g->b, 16);
    g->C = tess_view_strided(TESS_F32, SIDE, SIDE, g->b + 2, 16, 3);
    return good_call_gemm(g);
}
BAD(c_repeats_one_element, TESS_ERROR_ALIAS, "C 0") {
    g->C.row_stride = g->C.col_stride = 0;
    return good_call_gemm(g);
}
BAD(rows_of_c_overlap, TESS_ERROR_ALIAS, "C 3 1") {
    g->C.row_stride = 3;
    return good_call_gemm(g);
}
BAD(rows_of_c_meet_far_away, TESS_ERROR_ALIAS, "C 2 3") {
    g->C.row_stride = 2;
    g->C.col_stride = 3;
    return good_call_gemm(g);
}
BAD(strides_of_c_cancel, TESS_ERROR_ALIAS, "C 5 -5") {
    g->C.row_stride = 5;
    g->C.col_stride = -5;
    return good_call_gemm(g);
}

/* ---- Batches ---- */

BAD(negative_batch_count, TESS_ERROR_ARGUMENT, "count -2") {
    g->batch.count = -2;
    return good_call_batched(g);
}
BAD(batch_overlaps_in_c, TESS_ERROR_ALIAS, "C 15") {
    g->batch.stride_c = 15;
    return good_call_batched(g);
}
BAD(batch_shares_c, TESS_ERROR_ALIAS, "C 2 0") {
    g->batch.stride_c = 0;
    return good_call_batched(g);
}
BAD(batch_of_c_reaches_a, TESS_ERROR_ALIAS, "A C") {
    g->C.data = g->a;
    g->batch.stride_c = 64;
    return good_call_batched(g);
}
BAD(batch_stride_overflows, TESS_ERROR_ARGUMENT, "stride_a 9223372036854775807") {
    g->batch.stride_a = INT64_MAX;
    return good_call_batched(g);
}

/* ---- Kernels ---- */

BAD(unknown_kernel, TESS_ERROR_KERNEL, "no_such_kernel") {
    g->options.kernel = "no_such_kernel";
    return good_call_gemm(g);
}
BAD(empty_kernel_name, TESS_ERROR_KERNEL, "kernel") {
    g->options.kernel = "";
    return good_call_gemm(g);
}

/* ---- Leading dimensions ---- */

static tess_status sgemm(good_call *g, int layout, int trans_a, int trans_b, const int64_t lds[3]) {
    return tess_sgemm(g->ctx, (tess_layout)layout, (tess_trans)trans_a, (tess_trans)trans_b, 4, 3, 2, 1, g->a,
                      lds[0], g->b, lds[1], 1, g->c, lds[2]);
}
BAD(sgemm_layout_is_none, TESS_ERROR_ARGUMENT, "layout 100") {
    return sgemm(g, 100, TESS_NO_TRANS, TESS_NO_TRANS, (const int64_t[]){4, 4, 4});
}
BAD(sgemm_trans_a_is_none, TESS_ERROR_ARGUMENT, "trans_a 114") {
    return sgemm(g, TESS_ROW_MAJOR, 114, TESS_NO_TRANS, (const int64_t[]){4, 4, 4});
}
BAD(sgemm_trans_b_is_none, TESS_ERROR_ARGUMENT, "trans_b 0") {
    return sgemm(g, TESS_ROW_MAJOR, TESS_TRANS, 0, (const int64_t[]){4, 4, 4});
}
BAD(sgemm_lda_smaller_than_row, TESS_ERROR_SHAPE, "lda 1 2") {
    return sgemm(g, TESS_ROW_MAJOR, TESS_NO_TRANS, TESS_NO_TRANS, (const int64_t[]){1, 4, 4});
}
BAD(sgemm_ldb_smaller_than_column, TESS_ERROR_SHAPE, "ldb 1 2") {
    return sgemm(g, TESS_COL_MAJOR, TESS_NO_TRANS, TESS_NO_TRANS, (const int64_t[]){4, 1, 4});
}
BAD(sgemm_ldc_smaller_than_row, TESS_ERROR_SHAPE, "ldc 2 3") {
    return sgemm(g, TESS_ROW_MAJOR, TESS_NO_TRANS, TESS_NO_TRANS, (const int64_t[]){4, 4, 2});
}
BAD(sgemm_negative_m, TESS_ERROR_ARGUMENT, "m -7") {
    return tess_sgemm(g->ctx, TESS_ROW_MAJOR, TESS_NO_TRANS, TESS_NO_TRANS, -7, 4, 4, 1, g->a, 4, g->b, 4, 1,
                      g->c, 4);
}
BAD(dgemm_without_b, TESS_ERROR_ARGUMENT, "b/B NULL") {
    static double x[32];
    return tess_dgemm(g->ctx, TESS_ROW_MAJOR, TESS_NO_TRANS, TESS_NO_TRANS, 2, 3, 2, 1, x, 2, NULL, 3, 1,
                      x + 16, 3);
}
