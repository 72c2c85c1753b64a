/* masked_words.h: the first one to three words of a vector of four, for instruction sets without masks. What is not there
 * is neither read nor written. */
#ifndef MASKED_WORDS_H
#define MASKED_WORDS_H

#include <stdint.h>

#define MASK_ALWAYS 0
typedef uint32_t word_vector __attribute__((vector_size(16)));
typedef uint32_t word __attribute__((may_alias));

/* Where the second word and the third are read: where the first is, if they are not there. */
typedef struct word_mask {
    int64_t second, third;
} word_mask;

static inline word_mask mask_words(int count) {
    return (word_mask){count > 1 ? 1 : 0, count > 2 ? 2 : 0};
}

/* Two words are an element of eight bytes, twice: no number that was not there comes about. */
static inline word_vector load_masked(const void *from, word_mask mask) {
    const word *at = from;
    return (word_vector){at[0], at[mask.second], at[mask.third], at[mask.second]};
}

static inline void store_masked(void *to, word_mask mask, word_vector value) {
    word *at = to;
    at[0] = value[0];
    if (mask.second) at[1] = value[1];
    if (mask.third) at[2] = value[2];
}

#endif
