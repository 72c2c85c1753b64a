/* bad_input.c: a wrong call returns its status and a sentence of its own that names the argument and the number, and
 * writes nothing: not C, not what lies around it. The calls are in bad_input_product.c and bad_input_other.c.
 * TESSERA_TEST_SENTENCES=1 prints every sentence, to be read as a stranger would. */
#include "bad_input.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 200, OFFSET = 64 };
static bad_call calls[MAX_CALLS];
static int call_count;

void bad_call_register(const char *name, tess_status (*call)(good_call *), tess_status want,
                       const char *words) {
    if (call_count == MAX_CALLS) abort();
    calls[call_count++] = (bad_call){name, call, want, words};
}

int bad_call_count(void) {
    return call_count;
}

const bad_call *bad_call_at(int index) {
    return &calls[index];
}

void good_call_make(good_call *g) {
    tess_context *ctx = g->ctx;
    memset(g, 0, sizeof *g);
    g->ctx = ctx;
    for (int i = 0; i < ROOM; i++) g->a[i] = g->b[i] = g->c[i] = (float)i;
    g->A = tess_view_row_major(TESS_F32, SIDE, SIDE, g->a + OFFSET, 0);
    g->B = tess_view_row_major(TESS_F32, SIDE, SIDE, g->b + OFFSET, 0);
    g->C = tess_view_row_major(TESS_F32, SIDE, SIDE, g->c + OFFSET, 0);
    g->batch = (tess_batch){2, 16, 16, 16};
    g->alpha = 1;
    g->beta = 1;
}

tess_status good_call_gemm(good_call *g) {
    return tess_gemm(g->ctx, g->alpha, &g->A, &g->B, g->beta, &g->C, &g->options);
}

tess_status good_call_batched(good_call *g) {
    return tess_gemm_batched(g->ctx, g->alpha, &g->A, &g->B, g->beta, &g->C, &g->batch, &g->options);
}

tess_status good_call_plan(good_call *g, tess_plan **plan) {
    return tess_plan_gemm(g->ctx, &g->A, &g->B, &g->C, NULL, &g->options, plan);
}

/* Whether `word` stands in `text` as a word: neither a letter nor a digit beside it. */
static int has_word(const char *text, const char *word, size_t length) {
    for (const char *at = text; *at; at++) {
        if (strncmp(at, word, length) != 0) continue;
        int before = at > text && isalnum((unsigned char)at[-1]) && isalnum((unsigned char)word[0]);
        int after = isalnum((unsigned char)at[length]) && isalnum((unsigned char)word[length - 1]);
        if (!before && !after) return 1;
    }
    return 0;
}

/* One of the alternatives "a/b" of the `length` characters at `word`. */
static int has_either(const char *text, const char *word, size_t length) {
    const char *end = word + length;
    while (word < end) {
        size_t part = strcspn(word, "/ ");
        if (word + part > end) part = (size_t)(end - word);
        if (part > 0 && has_word(text, word, part)) return 1;
        word += part + 1;
    }
    return 0;
}

static void check_words(const bad_call *call, const char *sentence) {
    for (const char *word = call->words; *word;) {
        size_t length = strcspn(word, " ");
        CHECK(has_either(sentence, word, length), "%s: \"%s\" does not say %.*s", call->name, sentence,
              (int)length, word);
        word += length;
        while (*word == ' ') word++;
    }
}

static const char *sentence_of(good_call *g) {
    return tess_error(g->on_thread ? NULL : g->ctx);
}

static int buffers_are_good(const good_call *g) {
    for (int i = 0; i < ROOM; i++)
        if (g->a[i] != (float)i || g->b[i] != (float)i || g->c[i] != (float)i) return 0;
    return 1;
}

TEST(bad_input_sentences) {
    static char sentences[MAX_CALLS][1000];
    good_call g = {.ctx = NULL};
    if (!CHECK_STATUS(tess_open(&g.ctx, "cpu"), TESS_OK, NULL)) return;
    CHECK(call_count >= 40, "only %d wrong calls", call_count);
    for (int i = 0; i < call_count; i++) {
        good_call_make(&g);
        tess_status got = calls[i].call(&g);
        const char *sentence = sentence_of(&g);
        snprintf(sentences[i], sizeof sentences[i], "%s", sentence);
        CHECK(got == calls[i].want, "%s: returned %s, want %s (\"%s\")", calls[i].name, tess_status_name(got),
              tess_status_name(calls[i].want), sentence);
        CHECK(buffers_are_good(&g), "%s: something was written", calls[i].name);
        if (!CHECK(sentences[i][0], "%s: no sentence", calls[i].name)) continue;
        check_words(&calls[i], sentences[i]);
        for (int j = 0; j < i; j++)
            CHECK(strcmp(sentences[i], sentences[j]) != 0, "%s and %s share a sentence: \"%s\"",
                  calls[i].name, calls[j].name, sentences[i]);
        if (getenv("TESSERA_TEST_SENTENCES")) printf("%s: %s\n", calls[i].name, sentences[i]);
    }
    CHECK_STATUS(tess_close(g.ctx), TESS_OK, g.ctx);
}

/* After all that the context is as good as new. */
TEST(bad_input_leaves_the_context_usable) {
    good_call g = {.ctx = NULL};
    if (!CHECK_STATUS(tess_open(&g.ctx, "cpu"), TESS_OK, NULL)) return;
    for (int i = 0; i < call_count; i++) {
        good_call_make(&g);
        calls[i].call(&g);
        good_call_make(&g);
        g.alpha = 0;
        if (!CHECK_STATUS(good_call_gemm(&g), TESS_OK, g.ctx)) break;
        if (!CHECK(buffers_are_good(&g), "after %s, 0*A*B + 1*C is not C", calls[i].name)) break;
    }
    CHECK_STATUS(tess_close(g.ctx), TESS_OK, g.ctx);
}
