/* kernel_facts.c: what is told of GPU kernels without a GPU: their text, their formulas, what the compiler makes of
 * them. */
#include "harness.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

TEST(kernel_text_is_that_of_its_file) {
    char text[65536], cut[10] = "?????????";
    size_t size = sizeof text, room = sizeof cut;
    if (!CHECK_STATUS(tess_kernel_text("simt_05_shared", text, &size), TESS_OK, NULL)) return;
    CHECK(strncmp(text, "/* simt_05_shared: ", 19) == 0, "the text begins with \"%.30s\"", text);
    CHECK(size == strlen(text) + 1, "the size is %zu, the text has %zu letters", size, strlen(text));
    CHECK_STATUS(tess_kernel_text("simt_05_shared", cut, &room), TESS_OK, NULL);
    CHECK(room == size && strlen(cut) == 9 && strncmp(cut, text, 9) == 0, "cut to \"%s\", of %zu", cut, room);
    CHECK_STATUS(tess_kernel_text("simt_5", NULL, &size), TESS_ERROR_KERNEL, NULL);
    CHECK_STATUS(tess_kernel_text("cublas", NULL, &size), TESS_ERROR_KERNEL, NULL);
    CHECK_STATUS(tess_kernel_text("simt_05_shared", text, NULL), TESS_ERROR_ARGUMENT, NULL);
    CHECK_STATUS(tess_kernel_text(NULL, text, &size), TESS_ERROR_ARGUMENT, NULL);
}

TEST(evaluate_takes_names_and_refuses_the_rest) {
    const tess_named_value names[] = {{"k", 33}, {"BK", 8}, {"before.barriers", 4}};
    double value = -1;
    CHECK_STATUS(tess_evaluate("2 * ceil(k / BK) + before.barriers", names, 3, &value), TESS_OK, NULL);
    CHECK(value == 14, "2 * ceil(33 / 8) + 4 is %g", value);
    CHECK_STATUS(tess_evaluate("7/2", NULL, 0, &value), TESS_OK, NULL);
    CHECK(value == 3.5, "7/2 is %g", value);
    CHECK(tess_evaluate("k + BM", names, 3, &value) != TESS_OK, "BM is no name, but k + BM is %g", value);
    CHECK(tess_evaluate("k, BK", names, 3, &value) != TESS_OK, "two formulas are not one");
    CHECK_STATUS(tess_evaluate(NULL, names, 3, &value), TESS_ERROR_ARGUMENT, NULL);
    CHECK_STATUS(tess_evaluate("k", NULL, 3, &value), TESS_ERROR_ARGUMENT, NULL);
    CHECK_STATUS(tess_evaluate("k", names, 3, NULL), TESS_ERROR_ARGUMENT, NULL);
}

/* Whatever the program's locale has between a number's whole part and the rest. */
TEST(evaluate_reads_numbers_as_c_does) {
    static const struct {
        const char *formula;
        double value;
    } right[] = {{"min(1,2)", 1},
                 {"max(1,2)", 2},
                 {"3.5", 3.5},
                 {"0.1", 0.1},
                 {"1e3", 1000},
                 {"25e-1 * 2", 5},
                 {"9007199254740993", 0x1p53},
                 {"-(-2)", 2},
                 {"ceil(1.2)", 2},
                 {"floor(1.2) + 1.25e2", 126}};
    static const char *const wrong[] = {"",       "1+",           "1 2",    "1.", ".5",
                                        "min(1)", "ceil(1.2, 5)", "sin(1)", "1e", "(1"};
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
    const tess_named_value nameless = {NULL, 1};
    char *deep = calloc(1, 1000001);
    double value;
    for (int l = 0; l < 3; l++) {
        if (!setlocale(LC_NUMERIC, locales[l])) continue;
        for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
            value = -1;
            CHECK_STATUS(tess_evaluate(right[i].formula, NULL, 0, &value), TESS_OK, NULL);
            CHECK(value == right[i].value, "%s is %.17g in %s", right[i].formula, value, locales[l]);
        }
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            value = -1;
            CHECK_STATUS(tess_evaluate(wrong[i], NULL, 0, &value), TESS_ERROR_ARGUMENT, NULL);
            CHECK(value == -1, "'%s' is refused, but wrote %g", wrong[i], value);
        }
    }
    setlocale(LC_NUMERIC, "C");
    CHECK_STATUS(tess_evaluate("x", &nameless, 1, &value), TESS_ERROR_ARGUMENT, NULL);
    if (!CHECK(deep != NULL, "no memory")) return;
    memset(deep, '(', 1000000);
    CHECK_STATUS(tess_evaluate(deep, NULL, 0, &value), TESS_ERROR_ARGUMENT, NULL);
    memset(deep, '-', 1000000);
    CHECK_STATUS(tess_evaluate(deep, NULL, 0, &value), TESS_ERROR_ARGUMENT, NULL);
    free(deep);
}

TEST(compile_facts_without_a_card) {
    tess_kernel_facts facts;
    CHECK_STATUS(tess_compile_facts(NULL, NULL, TESS_F32, 90, &facts), TESS_ERROR_ARGUMENT, NULL);
    CHECK_STATUS(tess_compile_facts("simt_05_shared", NULL, TESS_F32, 90, NULL), TESS_ERROR_ARGUMENT, NULL);
    CHECK_STATUS(tess_compile_facts("simt_5", NULL, TESS_F32, 90, &facts), TESS_ERROR_KERNEL, NULL);
    CHECK_STATUS(tess_compile_facts("simt_05_shared", NULL, TESS_F16, 90, &facts), TESS_ERROR_TYPE, NULL);
    CHECK_STATUS(tess_compile_facts("simt_05_shared", "TILE=99", TESS_F32, 90, &facts), TESS_ERROR_KERNEL,
                 NULL);
    CHECK_STATUS(tess_compile_facts("simt_12_pipelined", NULL, TESS_F32, 75, &facts), TESS_ERROR_DEVICE,
                 NULL);
    tess_status status = tess_compile_facts("simt_05_shared", "TILE=16", TESS_F32, 90, &facts);
    if (status == TESS_ERROR_DEVICE) {
        harness_skip("%s", tess_error(NULL));
        return;
    }
    CHECK_STATUS(status, TESS_OK, NULL);
    CHECK(facts.registers >= 16 && facts.registers <= 64, "%d registers", facts.registers);
    CHECK(facts.shared_bytes == 2 * 16 * 16 * 4, "%d bytes of shared memory", facts.shared_bytes);
    CHECK(facts.block_threads == 256, "%d threads", facts.block_threads);
}
