/* view.c: a view is arithmetic on a pointer: what the makers, tess_transpose and tess_submatrix say about memory is
 * what tess_get and tess_set then touch. And the names: types, statuses, version. */
#include "problem.h"

#include <stdio.h>
#include <string.h>

static void check_view(tess_matrix M, const void *data, int64_t rows, int64_t cols, int64_t rs, int64_t cs) {
    CHECK(M.data == data && M.rows == rows && M.cols == cols && M.row_stride == rs && M.col_stride == cs,
          "%p %lldx%lld strides %lld %lld, want %p %lldx%lld strides %lld %lld (%s)", M.data,
          (long long)M.rows, (long long)M.cols, (long long)M.row_stride, (long long)M.col_stride, data,
          (long long)rows, (long long)cols, (long long)rs, (long long)cs, tess_error(NULL));
    CHECK(M.place == TESS_HOST, "place is %d", (int)M.place);
}

/* Rows that go backwards from where memory begins, and forwards from where it ends. */
TEST(view_stays_in_the_address_space) {
    const struct {
        uintptr_t address;
        int64_t stride;
    } cases[] = {{4096, -1025}, {UINTPTR_MAX - 4095, 1024}};
    for (int i = 0; i < 2; i++)
        for (int64_t rows = 1; rows <= 2; rows++) {
            int64_t stride = cases[i].stride;
            tess_matrix M = tess_view_strided(TESS_F32, rows, 1, (const void *)cases[i].address, stride, 1);
            CHECK(rows == 1 ? M.rows == 1 : M.rows == -1 && strstr(tess_error(NULL), "the address space"),
                  "%lld rows from %p: %lld; \"%s\"", (long long)rows, (const void *)cases[i].address,
                  (long long)M.rows, tess_error(NULL));
        }
}

TEST(view_makers) {
    float x[64] = {0};
    check_view(tess_view_row_major(TESS_F32, 3, 5, x, 0), x, 3, 5, 5, 1);
    check_view(tess_view_row_major(TESS_F32, 3, 5, x, 7), x, 3, 5, 7, 1);
    check_view(tess_view_col_major(TESS_F32, 3, 5, x, 0), x, 3, 5, 1, 3);
    check_view(tess_view_col_major(TESS_F32, 3, 5, x, 9), x, 3, 5, 1, 9);
    check_view(tess_view_strided(TESS_F32, 3, 5, x + 40, -11, 2), x + 40, 3, 5, -11, 2);
    check_view(tess_view_strided(TESS_F32, 3, 5, x, 0, 0), x, 3, 5, 0, 0);
    CHECK(tess_view_row_major(TESS_I8, 2, 2, x, 0).type == TESS_I8, "the type is not kept");
    tess_matrix empty = tess_view_row_major(TESS_F32, 0, 5, NULL, 0);
    CHECK(empty.rows == 0 && empty.cols == 5, "0x5 is %lldx%lld", (long long)empty.rows,
          (long long)empty.cols);
}

/* Elements are numbered by their place, so that reading one says where it was read. */
TEST(view_transpose_and_submatrix) {
    double x[400];
    for (int i = 0; i < 400; i++) x[i] = i;
    tess_matrix M = tess_view_row_major(TESS_F64, 10, 12, x, 20);
    check_view(tess_transpose(M), x, 12, 10, 1, 20);
    check_view(tess_submatrix(M, 2, 3, 4, 5), x + 43, 4, 5, 20, 1);
    check_view(tess_submatrix(tess_transpose(M), 3, 2, 5, 4), x + 43, 5, 4, 1, 20);
    tess_matrix turned = tess_view_strided(TESS_F64, 10, 12, x + 200, -20, -1);
    check_view(tess_submatrix(turned, 2, 3, 8, 9), x + 157, 8, 9, -20, -1);
    check_view(tess_transpose(tess_transpose(turned)), x + 200, 10, 12, -20, -1);
    CHECK(tess_get(turned, 9, 11) == 9.0, "element (9, 11) is %g, want 9", tess_get(turned, 9, 11));
    tess_matrix part = tess_submatrix(tess_submatrix(turned, 1, 1, 8, 8), 2, 3, 2, 2);
    CHECK(tess_get(part, 1, 1) == 200 - 4 * 20 - 5, "a part of a part: %g, want 115", tess_get(part, 1, 1));
    tess_matrix all = tess_submatrix(M, 0, 0, 10, 12);
    check_view(all, x, 10, 12, 20, 1);
    tess_matrix none = tess_submatrix(M, 10, 12, 0, 0);
    CHECK(none.rows == 0 && none.cols == 0, "an empty part at the end is %lldx%lld", (long long)none.rows,
          (long long)none.cols);
}

/* What every maker refuses: see bad_input.c. Here: that a refused view stays refused. */
TEST(view_invalid_stays_invalid) {
    float x[4] = {0};
    tess_matrix bad = tess_view_row_major(TESS_F32, 2, 2, x, 1);
    CHECK(bad.rows == -1 && bad.cols == -1 && !bad.data, "%lldx%lld at %p", (long long)bad.rows,
          (long long)bad.cols, bad.data);
    CHECK(tess_transpose(bad).rows == -1, "the transpose of an invalid view is valid");
    CHECK(tess_submatrix(bad, 0, 0, 0, 0).rows == -1, "a part of an invalid view is valid");
    CHECK(isnan(tess_get(bad, 0, 0)), "an element of an invalid view is %g", tess_get(bad, 0, 0));
    CHECK(tess_set(bad, 0, 0, 1) == TESS_ERROR_ARGUMENT, "an element of an invalid view was set");
    CHECK(tess_error(NULL)[0], "no sentence");
}

/* Every type, written and read back at every element of a strided view, leaving the rest alone. */
TEST(view_get_and_set_elements) {
    static const tess_type types[] = {TESS_F32, TESS_F64, TESS_F16, TESS_BF16, TESS_I32, TESS_I8};
    for (int t = 0; t < 6; t++) {
        unsigned char block[8 * 300], before[8 * 300];
        memset(block, 0x33, sizeof block);
        size_t size = tess_type_size(types[t]);
        tess_matrix M = tess_view_strided(types[t], 6, 7, block + 200 * size, -24, 3);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 7; j++) {
                memcpy(before, block, sizeof block);
                CHECK_STATUS(tess_set(M, i, j, i * 10 - j), TESS_OK, NULL);
                CHECK(tess_get(M, i, j) == i * 10 - j, "%s(%d, %d) is %g, want %d", tess_type_name(types[t]),
                      i, j, tess_get(M, i, j), i * 10 - j);
                CHECK(oracle_get(&M, i, j) == i * 10 - j, "%s(%d, %d) lies elsewhere",
                      tess_type_name(types[t]), i, j);
                memcpy(oracle_at(&M, i, j), before + ((unsigned char *)oracle_at(&M, i, j) - block), size);
                CHECK(memcmp(block, before, sizeof block) == 0, "tess_set wrote beside its element");
                oracle_set(&M, i, j, i * 10 - j);
            }
    }
}

/* Beyond 2^31 elements a view is only numbers: no memory is needed to see that none of them is cut. */
TEST(view_offsets_are_64_bit) {
    char base = 0;
    tess_matrix M = tess_view_row_major(TESS_I8, INT64_C(1) << 20, INT64_C(1) << 20, &base, 0);
    tess_matrix part = tess_submatrix(M, (INT64_C(1) << 20) - 1, (INT64_C(1) << 20) - 1, 1, 1);
    CHECK((uintptr_t)part.data - (uintptr_t)&base == (UINT64_C(1) << 40) - 1, "the last of 2^40 is %llu away",
          (unsigned long long)((uintptr_t)part.data - (uintptr_t)&base));
}

TEST(view_type_names) {
    static const struct {
        tess_type type;
        const char *name;
        size_t size;
    } types[] = {{TESS_F32, "f32", 4},   {TESS_F64, "f64", 8}, {TESS_F16, "f16", 2},
                 {TESS_BF16, "bf16", 2}, {TESS_I32, "i32", 4}, {TESS_I8, "i8", 1}};
    for (int i = 0; i < 6; i++) {
        tess_type found = (tess_type)99;
        CHECK(strcmp(tess_type_name(types[i].type), types[i].name) == 0, "%s", tess_type_name(types[i].type));
        CHECK(tess_type_size(types[i].type) == types[i].size, "%s has %zu bytes", types[i].name,
              tess_type_size(types[i].type));
        CHECK_STATUS(tess_find_type(types[i].name, &found), TESS_OK, NULL);
        CHECK(found == types[i].type, "\"%s\" is type %d", types[i].name, (int)found);
    }
    tess_type kept = TESS_F64;
    CHECK(tess_find_type("f33", &kept) == TESS_ERROR_TYPE && kept == TESS_F64,
          "f33 was found or *type changed");
    CHECK(tess_type_size((tess_type)77) == 0, "type 77 has %zu bytes", tess_type_size((tess_type)77));
    CHECK(tess_type_name((tess_type)77) && tess_type_name((tess_type)77)[0], "type 77 has no word at all");
}

TEST(view_status_names_and_version) {
    static const char *const names[] = {"TESS_OK",           "TESS_ERROR_ARGUMENT", "TESS_ERROR_SHAPE",
                                        "TESS_ERROR_TYPE",   "TESS_ERROR_ALIAS",    "TESS_ERROR_KERNEL",
                                        "TESS_ERROR_DEVICE", "TESS_ERROR_MEMORY",   "TESS_ERROR_INTERNAL"};
    for (int i = 0; i < 9; i++)
        CHECK(strcmp(tess_status_name((tess_status)i), names[i]) == 0, "%d is %s", i,
              tess_status_name((tess_status)i));
    CHECK(strcmp(tess_status_name((tess_status)9), "unknown status") == 0, "9 is %s",
          tess_status_name((tess_status)9));
    CHECK(strcmp(tess_status_name((tess_status)-1), "unknown status") == 0, "-1 is %s",
          tess_status_name((tess_status)-1));
    char text[40];
    snprintf(text, sizeof text, "%d.%d.%d", TESS_VERSION_MAJOR, TESS_VERSION_MINOR, TESS_VERSION_PATCH);
    CHECK(strcmp(tess_version(), text) == 0, "tess_version() is %s, the header says %s", tess_version(),
          text);
    CHECK(strcmp(TESS_VERSION_STRING, text) == 0, "the string is %s", TESS_VERSION_STRING);
    CHECK(TESS_VERSION == TESS_VERSION_MAJOR * 10000 + TESS_VERSION_MINOR * 100 + TESS_VERSION_PATCH, "%d",
          TESS_VERSION);
}
