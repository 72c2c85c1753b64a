/* masked_words.h: the first one to three words of a vector of four, for instruction sets without masks. What is not there
 * is neither read nor written. */
#ifndef MASKED_WORDS_H
#define MASKED_WORDS_H

#include <stdint.h>

typedef uint32_t word_vector __attribute__((vector_size(16)));
typedef uint32_t word __attribute__((may_alias));
typedef uint64_t word_pair __attribute__((may_alias, aligned(4)));
typedef uint64_t pair_vector __attribute__((vector_size(16)));

/* How many. A branch that goes the same way at every step of depth costs little. */
typedef int word_mask;

static inline word_mask mask_words(int count) {
    return count;
}

/* What is not there is zero, not a copy of what is: a compiler would multiply copies once, by themselves, and not fuse. */
static inline word_vector load_masked(const void *from, word_mask mask) {
    const word *at = from;
    if (mask == 1) return (word_vector){at[0], 0, 0, 0};
    word_pair pair = *(const word_pair *)from;
    word_vector vector = (word_vector)(pair_vector){pair, 0};
    if (mask == 3) vector[2] = at[2];
    return vector;
}

static inline void store_masked(void *to, word_mask mask, word_vector value) {
    word *at = to;
    at[0] = value[0];
    if (mask >= 2) at[1] = value[1];
    if (mask == 3) at[2] = value[2];
}

#endif
